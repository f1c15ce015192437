//! Comparisons in sentences.

use collbench_analyzer::compare::{
    ComparedSite, Comparison, ComparisonRemark, DifferingSetting, MIN_RUNS, SiteFigures,
};
use collbench_stats::estimate::MIN_INSTANCES;
use collbench_text::inert;
use collbench_text::quantity::{counted, duration};

use crate::words::facts::list;

/// What a trace is called: `A` is the baseline.
pub(crate) fn letter(trace: usize) -> String {
    match u8::try_from(trace).ok().filter(|&n| n < 26) {
        Some(n) => char::from(b'A' + n).to_string(),
        None => format!("T{}", trace + 1),
    }
}

/// What the traces of a comparison are called: `A`, `B`; runs of two sides `A1`, `A2`, `B1`.
pub(crate) fn names(comparison: &Comparison) -> Vec<String> {
    let n_traces = comparison.traces.len();
    let Some(sides) = &comparison.sides else {
        return (0..n_traces).map(letter).collect();
    };
    let n_baseline = sides.baseline.len();
    let of = |trace: usize| match trace.checked_sub(n_baseline) {
        None => format!("A{}", trace + 1),
        Some(at) => format!("B{}", at + 1),
    };
    (0..n_traces).map(of).collect()
}

/// Columns for a place.
const PLACE: usize = 48;

/// How the calls from one place differ: `MPI_Allreduce at a.c:5 (in B a.c:7): 1.2 ms -> 3.4 ms, waiting 0.3 ms ->
/// 2.1 ms`; where one of them has such calls, how long they take: `MPI_Allreduce at a.c:5 (in A only): 1.2 ms, waiting
/// 0.3 ms`.
pub(crate) fn site(site: &ComparedSite) -> String {
    let places = [&site.baseline, &site.other].map(|of| of.as_ref().map(|of| &*of.place));
    let where_ = place_of_both(&letter(site.trace), places[0], places[1]);
    let figures = site.baseline.iter().chain(&site.other);
    let change = |time: fn(&SiteFigures) -> Option<i64>| {
        let times = figures.clone().map(|of| Some(duration(time(of)?)));
        Some(times.collect::<Option<Vec<_>>>()?.join(" -> "))
    };
    let time = change(|of| Some(of.call_time_ns)).unwrap_or_default();
    let waiting = change(|of| of.wait_ns).map(|change| format!(", waiting {change}"));
    format!(
        "{} at {where_}: {time}{}",
        site.operation,
        waiting.unwrap_or_default()
    )
}

/// A place in A and in what is called `other`: `solver.c:12 (in B solver.c:14)`.
pub(crate) fn place_of_both(other: &str, one: Option<&str>, two: Option<&str>) -> String {
    let place = |place: &str| inert::line(place, PLACE);
    match (one, two) {
        (Some(one), Some(two)) if one != two => {
            format!("{} (in {other} {})", place(one), place(two))
        }
        (Some(one), Some(_)) => place(one),
        (Some(one), None) => format!("{} (in A only)", place(one)),
        (None, Some(two)) => format!("{} (in {other} only)", place(two)),
        (None, None) => String::new(),
    }
}

/// A setting's values, each inert and cut.
pub(crate) fn setting_in_words(
    names: &[String],
    setting: &DifferingSetting,
    width: usize,
) -> String {
    let values = setting.values.iter().enumerate();
    values
        .map(|(index, value)| format!("{}: {}", names[index], inert::line(value, width)))
        .collect::<Vec<_>>()
        .join("; ")
}

/// What a remark on a comparison says.
pub(crate) fn remark(names: &[String], remark: &ComparisonRemark) -> String {
    let letters = |traces: &[usize]| {
        let letters: Vec<&str> = traces.iter().map(|&at| &*names[at]).collect();
        letters.join(", ")
    };
    match remark {
        ComparisonRemark::Incomplete { traces } => format!(
            "{} {} incomplete: only what was recorded is compared. Run collbench-analyze on {} \
             alone to see what is missing",
            letters(traces),
            if traces.len() == 1 { "is" } else { "are" },
            if traces.len() == 1 { "it" } else { "each" }
        ),
        ComparisonRemark::ClocksNotAligned { traces } => format!(
            "in {} the clocks of the hosts are not aligned: there, waits are those within each host, \
             and durations are the longest of any host; call times are not affected",
            letters(traces)
        ),
        ComparisonRemark::OtherLayers => {
            "the traces were recorded with different layers: the differences include the cost of \
             recording them; record all runs with the same --layers"
                .to_owned()
        }
        ComparisonRemark::MatchedByName { traces } => format!(
            "some communicators of {} and {} have different members: they are compared by name and kind",
            names[0],
            letters(traces)
        ),
        ComparisonRemark::TooFew { n_differences } => format!(
            "{} without an interval: the operation has fewer than {MIN_INSTANCES} instances, or all of \
             them are close together in time",
            counted(*n_differences as u64, "difference")
        ),
        ComparisonRemark::UnlikeRuns {
            is_baseline, what, ..
        } => {
            let what: Vec<String> = what.iter().map(|what| what.replace('_', " ")).collect();
            format!(
                "the runs of {} differ in {}: how far they lie apart may come from that",
                if *is_baseline { "A" } else { "B" },
                list(what)
            )
        }
        ComparisonRemark::FewRuns { runs } => few_runs(*runs),
        ComparisonRemark::OneRunEach { are_repeated } => format!(
            "the intervals cover variation within a run only, not what differs from run to run \
             (placement, neighbors on the network, other load): {}",
            if *are_repeated {
                "see how far runs of the same command differ here"
            } else {
                "give several runs of each side, with --with before those of the second"
            }
        ),
    }
}

/// What so few runs of both sides can tell.
fn few_runs(runs: [usize; 2]) -> String {
    let single = ["A", "B"].into_iter().zip(runs);
    let single: Vec<String> = single
        .filter(|&(_, n)| n < MIN_RUNS)
        .map(|(name, _)| name.to_owned())
        .collect();
    if single.is_empty() {
        return "with 2 runs of a side only differences are found that are several times as large as those between \
                its runs; 3 or more of each find smaller ones"
            .to_owned();
    }
    format!(
        "how far runs of {} lie apart is not known from one run, so nothing is called a change: record 3 or more of \
         each side",
        list(single)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_analyzer::compare::Change;

    #[test]
    fn a_place_that_one_trace_has_is_told_with_its_time_and_no_change() {
        let figures = |line: u32, ns| SiteFigures {
            place: format!("a.c:{line}"),
            sites: Vec::new(),
            calls: 1,
            call_time_ns: ns,
            wait_ns: Some(ns / 2),
        };
        let words = |baseline, other| {
            site(&ComparedSite {
                trace: 1,
                operation: "MPI_Bcast".into(),
                baseline,
                other,
                call_time_ns: Change {
                    difference: 0,
                    ratio: None,
                },
            })
        };
        let (one, two) = (figures(5, 2_000_000), figures(7, 3_000_000));
        assert_eq!(
            words(Some(one.clone()), Some(two.clone())),
            "MPI_Bcast at a.c:5 (in B a.c:7): 2.00 ms -> 3.00 ms, waiting 1.00 ms -> 1.50 ms"
        );
        assert_eq!(
            words(Some(one), None),
            "MPI_Bcast at a.c:5 (in A only): 2.00 ms, waiting 1.00 ms"
        );
        assert_eq!(
            words(None, Some(two)),
            "MPI_Bcast at a.c:7 (in B only): 3.00 ms, waiting 1.50 ms"
        );
    }
}

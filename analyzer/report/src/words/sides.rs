//! Comparisons of several runs of each side in words.

use collbench_analyzer::compare::{
    Comparison, ComparisonVerdict, Difference, RunsDifference, Sides, SidesOperation, SidesSite,
};
use collbench_text::quantity::{counted, duration};

use crate::words::changes::{Row, advice_on, is_named, name_in_words};
use crate::words::comparison::{names, place_of_both};
use crate::words::difference::{
    NOT_SIGNIFICANT, is_only_alone, signed, signed_percent, verdict_on,
};

/// Runs from which on one of them can be said to lie apart from the others.
const MIN_OTHERS: usize = 2;
/// How many times as far as the others from one another a run lies that is named.
const FAR: i64 = 4;
/// Part of its time by which it differs from the nearest other one, at least: one in so many.
const NOTABLE: i64 = 10;
/// Most runs that somebody is told to record.
const MANY_RUNS: u64 = 30;
/// Sentences on what would tell a difference.
const MAX_OPEN: usize = 2;

/// An operation of both sides with its row.
pub(crate) fn row<'a>(comparison: &'a Comparison, operation: &'a SidesOperation) -> Row<'a> {
    (
        &comparison.operations[operation.row],
        &operation.differences,
    )
}

/// `3 runs against 2`.
pub(crate) fn runs(sides: &Sides) -> String {
    format!(
        "{} against {}",
        counted(sides.baseline.len(), "run"),
        sides.other.len()
    )
}

/// The verdict on a difference, with the interval.
pub(crate) fn verdict(difference: &Difference) -> String {
    match (difference.verdict, difference.ratio) {
        (ComparisonVerdict::TooFew, Some(ratio)) => {
            format!("too few runs ({})", signed_percent(ratio))
        }
        (ComparisonVerdict::TooFew, None) => "too few runs".to_owned(),
        _ => verdict_on(difference),
    }
}

/// The mean of the runs of a side.
fn mean(times: &[i64]) -> String {
    let sum: i128 = times.iter().map(|&ns| i128::from(ns)).sum();
    duration(i64::try_from(sum / times.len().max(1) as i128).unwrap_or(i64::MAX))
}

/// How a time of the runs as a whole differs: `22.9 ms -> 26.5 ms, slower by 16 % (12 to 20 %)`.
pub(crate) fn whole(of: &RunsDifference) -> String {
    let change = format!("{} -> {}", mean(&of.baseline_ns), mean(&of.other_ns));
    let words = verdict(&of.difference);
    match words.strip_prefix("?") {
        Some(interval) => format!("{change}, not distinguishable ({})", interval.trim()),
        None => format!("{change}, {words}"),
    }
}

/// The least and the most of the runs: `21.4..23.1 us`; in how many runs, if not in all.
pub(crate) fn range(times: &[Option<i64>]) -> String {
    let known = || times.iter().flatten().copied();
    let (Some(least), Some(most)) = (known().min(), known().max()) else {
        return "-".to_owned();
    };
    let [least, most] = [least, most].map(duration);
    let both = match (least.split_once(' '), most.split_once(' ')) {
        _ if least == most => least,
        (Some((n, one)), Some((_, two))) if one == two => format!("{n}..{most}"),
        _ => format!("{least}..{most}"),
    };
    match known().count() {
        n if n == times.len() => both,
        n => format!("{both} ({n} of {})", times.len()),
    }
}

/// How many operations have which verdict.
pub(crate) fn counts(sides: &Sides) -> String {
    let n = |verdict| {
        let all = sides.operations.iter();
        all.filter(|of| of.differences.verdict == verdict).count()
    };
    let kinds = [
        (ComparisonVerdict::Slower, "slower"),
        (ComparisonVerdict::Faster, "faster"),
        (
            ComparisonVerdict::NotDistinguishable,
            "not distinguishable (?)",
        ),
        (ComparisonVerdict::TooFew, "with too few runs"),
    ];
    let counts = kinds.map(|(verdict, name)| (n(verdict), name));
    let counts = counts.into_iter().filter(|&(n, _)| n > 0);
    let counts: Vec<String> = counts.map(|(n, name)| format!("{n} {name}")).collect();
    let all = counted(sides.operations.len(), "operation");
    if counts.is_empty() {
        all
    } else {
        format!("{all}: {}", counts.join(", "))
    }
}

/// What differs between the sides and where to look, the largest changes first.
pub(crate) fn changes(comparison: &Comparison, sides: &Sides) -> Vec<String> {
    let all = sides.operations.iter();
    let all = all.filter(|of| is_named(of.differences.verdict));
    let sentences = all.filter_map(|of| change(comparison, sides, of));
    sentences.collect()
}

/// How one operation differs, and where to look.
pub(crate) fn change(
    comparison: &Comparison,
    sides: &Sides,
    of: &SidesOperation,
) -> Option<String> {
    let row = row(comparison, of);
    let figures = |side: &[usize]| {
        let figures = side
            .iter()
            .filter_map(|&trace| row.0.traces[trace].as_ref());
        figures.collect::<Vec<_>>()
    };
    let figures = (figures(&sides.baseline), figures(&sides.other));
    advice_on("B", &row, (&figures.0, &figures.1))
}

/// `2 runs of each side`, `3 runs against 2`: those that have an operation.
fn runs_with(one: &[Option<i64>], two: &[Option<i64>]) -> String {
    match [one, two].map(|times| times.iter().flatten().count()) {
        [n, m] if n == m => format!("{} of each side", counted(n, "run")),
        [n, m] => format!("{} against {m}", counted(n, "run")),
    }
}

/// What would tell the largest differences that are none as far as is known.
pub(crate) fn what_would_tell(comparison: &Comparison, sides: &Sides) -> Vec<String> {
    let open = sides.operations.iter().filter_map(|of| {
        let mean = of.differences.call_time_ns.mean.as_ref()?;
        let is_open = mean.verdict == ComparisonVerdict::NotDistinguishable;
        let needed = mean.runs_needed.filter(|&n| is_open && n <= MANY_RUNS)?;
        Some(format!(
            "{}: {} in the mean of the runs is not significant with {}; {needed} of each side would show a difference \
             of this size",
            name_in_words(&row(comparison, of)),
            mean.ratio
                .map_or_else(|| signed(mean.difference_ns), signed_percent),
            runs_with(&of.baseline_ns, &of.other_ns),
        ))
    });
    open.take(MAX_OPEN).collect()
}

/// How the time in the calls from a place differs: `MPI_Bcast at solver.c:12: 22.9 ms -> 26.5 ms, slower by 16 %`; where
/// one side has such calls, how long they take: `MPI_Bcast at solver.c:12 (in A only): 22.9 ms`.
pub(crate) fn site(site: &SidesSite) -> String {
    let at = place_of_both("B", site.baseline.as_deref(), site.other.as_deref());
    let of = &site.call_time_ns;
    let time = match (&site.baseline, &site.other) {
        (Some(_), None) => mean(&of.baseline_ns),
        (None, Some(_)) => mean(&of.other_ns),
        _ => whole(of),
    };
    format!("{} at {at}: {time}", site.operation)
}

/// A run that lies apart from the others of its side.
pub(crate) fn apart(comparison: &Comparison, sides: &Sides) -> Vec<String> {
    let names = names(comparison);
    let of = |side: &[usize], times: &[i64]| {
        let at = far_from_others(times)?;
        let mut others = times.to_vec();
        let own_ns = others.remove(at);
        let others: Vec<Option<i64>> = others.into_iter().map(Some).collect();
        Some(format!(
            "{} is apart from the other runs of its side: it takes {}, they {}. Look at it alone, or leave it out if \
             something else disturbed it",
            names[side[at]],
            duration(own_ns),
            range(&others)
        ))
    };
    let duration_ns = &sides.duration_ns;
    let both = [
        of(&sides.baseline, &duration_ns.baseline_ns),
        of(&sides.other, &duration_ns.other_ns),
    ];
    both.into_iter().flatten().collect()
}

/// The one of three times or more that is far from all others.
fn far_from_others(times: &[i64]) -> Option<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&at| times[at]);
    let (first, last) = (*order.first()?, *order.last()?);
    if order.len() <= MIN_OTHERS {
        return None;
    }
    let inner = &order[1..order.len() - 1];
    let (second, last_but_one) = (*inner.first()?, *inner.last()?);
    let is_far = |at: usize, nearest: usize, farthest: usize| {
        let gap_ns = times[at].abs_diff(times[nearest]);
        let others_ns = times[nearest].abs_diff(times[farthest]);
        gap_ns > FAR.unsigned_abs().saturating_mul(others_ns)
            && gap_ns.saturating_mul(NOTABLE.unsigned_abs()) >= times[nearest].unsigned_abs()
    };
    if is_far(last, last_but_one, first) {
        Some(last)
    } else {
        is_far(first, second, last).then_some(first)
    }
}

/// What [`NOT_SIGNIFICANT`] means, where a difference is marked so.
pub(crate) fn about_not_significant(sides: &Sides) -> Option<String> {
    let of_calls = sides.operations.iter();
    let of_calls = of_calls.filter_map(|of| of.differences.call_time_ns.mean.as_ref());
    let whole = [&sides.duration_ns, &sides.collectives_ns];
    let whole = whole.into_iter().chain(&sides.wait_ns);
    let mut all = whole.map(|of| &of.difference).chain(of_calls);
    all.any(is_only_alone).then(|| {
        format!(
            "{} not significant after correction for {} (Holm), though this interval alone is without 0",
            NOT_SIGNIFICANT.trim(),
            counted(sides.tests, "comparison")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_runs_have_one_unit_where_they_can() {
        assert_eq!(range(&[Some(21_400), Some(23_100)]), "21.4..23.1 us");
        assert_eq!(range(&[Some(900), Some(1_200)]), "900 ns..1.20 us");
        assert_eq!(range(&[Some(900), Some(900)]), "900 ns");
        assert_eq!(range(&[Some(900), None]), "900 ns (1 of 2)");
        assert_eq!(range(&[None]), "-");
    }

    #[test]
    fn a_place_that_one_side_has_is_told_with_its_time_and_no_change() {
        let words = |baseline: Option<&str>, other: Option<&str>| {
            site(&SidesSite {
                operation: "MPI_Bcast".into(),
                baseline: baseline.map(str::to_owned),
                other: other.map(str::to_owned),
                call_time_ns: RunsDifference {
                    baseline_ns: vec![2_000_000, 4_000_000],
                    other_ns: vec![0, 0],
                    difference: Difference {
                        verdict: ComparisonVerdict::TooFew,
                        difference_ns: -3_000_000,
                        interval_ns: None,
                        ratio: Some(0.0),
                        ratio_interval: None,
                        p: None,
                        resolution_ns: None,
                        instances_needed: None,
                        runs_needed: None,
                    },
                },
            })
        };
        assert_eq!(
            words(Some("a.c:5"), None),
            "MPI_Bcast at a.c:5 (in A only): 3.00 ms"
        );
        assert_eq!(
            words(None, Some("a.c:5")),
            "MPI_Bcast at a.c:5 (in B only): 0 ns"
        );
    }

    #[test]
    fn a_run_is_apart_that_is_far_from_others_that_are_near_one_another() {
        assert_eq!(far_from_others(&[100, 101, 180]), Some(2));
        assert_eq!(far_from_others(&[40, 100, 101, 102]), Some(0));
        // Near in parts of its time, spread like the others, or only two.
        assert_eq!(far_from_others(&[100, 101, 108]), None);
        assert_eq!(far_from_others(&[100, 130, 180]), None);
        assert_eq!(far_from_others(&[100, 180]), None);
    }
}

//! What was found, as lists of sentences: the same on the screen and on the page.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{DamageSummary, Remark};
use collbench_text::{inert, quantity};

use crate::words;
use crate::words::advice;

/// Whether a remark is on calls that contradict one another.
fn is_on_mismatches(remark: &Remark) -> bool {
    matches!(
        remark,
        Remark::Mismatched { .. } | Remark::MismatchedSizes { .. }
    )
}

/// What the program does wrong, also if that had no consequence. Mismatches in a run that hung are
/// described with the hang.
pub(crate) fn errors_of_the_program(analysis: &Analysis) -> Vec<String> {
    let is_error = |remark: &&Remark| {
        matches!(remark, Remark::NeverCompleted { .. })
            || (analysis.hang.is_none() && is_on_mismatches(remark))
    };
    let errors = analysis.remarks.iter().filter(is_error);
    errors
        .map(|remark| words::remarks::remark(analysis, remark))
        .collect()
}

/// Whether a remark says what the screen and the page say in another part.
pub(crate) fn is_said_elsewhere(analysis: &Analysis, remark: &Remark) -> bool {
    is_on_mismatches(remark)
        || words::other_calls::are_in_verdict(analysis, remark)
        || matches!(
            remark,
            Remark::NeverCompleted { .. }
                | Remark::Waiting { .. }
                | Remark::Incomplete { .. }
                | Remark::Restricted
        )
}

/// What is worth knowing beside who is late: periodic disturbances, outliers, groups of ranks, overlap. The first of
/// each kind, which is the worst, comes first, and the number of kinds.
pub(crate) fn also(analysis: &Analysis) -> (Vec<String>, usize) {
    let disturbances = analysis.disturbances.iter();
    let disturbances = disturbances.map(|found| advice::disturbance(analysis, found));
    let kinds = [
        disturbances.collect(),
        advice::outliers(analysis),
        advice::classes(analysis).into_iter().collect(),
        words::overlap::overlaps(analysis),
    ];
    let (mut sentences, mut others) = (Vec::new(), Vec::new());
    for kind in kinds {
        let mut kind: std::vec::IntoIter<String> = kind.into_iter();
        sentences.extend(kind.next());
        others.extend(kind);
    }
    let n_kinds = sentences.len();
    sentences.extend(others);
    (sentences, n_kinds)
}

/// The remarks that are said nowhere else, as `code: sentence`: of each kind the worst, and how many there are.
pub(crate) fn remarks_by_kind(analysis: &Analysis) -> Vec<String> {
    let mut kinds: Vec<Vec<&Remark>> = Vec::new();
    let remarks = analysis.remarks.iter();
    for remark in remarks.filter(|of| !is_said_elsewhere(analysis, of)) {
        match kinds
            .iter_mut()
            .find(|kind| kind[0].code() == remark.code())
        {
            Some(kind) => kind.push(remark),
            None => kinds.push(vec![remark]),
        }
    }
    let sentence = |kind: Vec<&Remark>| {
        let n = kind.len();
        // Of equal ones the first.
        let worst = kind
            .into_iter()
            .rev()
            .max_by_key(|remark| badness(remark))?;
        let sentence = words::remarks::remark(analysis, worst);
        let of = match n {
            1 => String::new(),
            _ => format!(" (the worst of {n} such remarks)"),
        };
        Some(format!("{}: {sentence}{of}", worst.code()))
    };
    kinds.into_iter().filter_map(sentence).collect()
}

/// How bad a remark is among those of its kind, of which there may be several.
fn badness(remark: &Remark) -> i64 {
    match remark {
        Remark::ClockSlewed { ppb, .. } => ppb.saturating_abs(),
        Remark::ClockUneven { step_ns, .. } => step_ns.saturating_abs(),
        Remark::TriangleOpen(triangle) => {
            (triangle.gap_ns.saturating_abs()).saturating_sub(triangle.error_ns)
        }
        _ => 0,
    }
}

/// What the files lack, for all ranks of the same finding together.
pub(crate) fn what_lacks(damage: &[DamageSummary]) -> Vec<String> {
    let mut findings: Vec<(&str, Vec<u32>)> = Vec::new();
    let mut sentences = Vec::new();
    let mut n_others = 0;
    for finding in damage {
        let Some(rank) = finding.rank else {
            sentences.push(inert::line(&finding.what, 300));
            continue;
        };
        // The name of the file, in front, is in the JSON.
        let what = finding
            .what
            .split_once(": ")
            .map_or(&*finding.what, |w| w.1);
        let n_known = findings.len();
        match findings.iter_mut().find(|(known, _)| *known == what) {
            Some((_, ranks)) => ranks.push(rank),
            // Of a badly damaged trace not every offset is worth a look.
            None if n_known < 64 => findings.push((what, vec![rank])),
            None => n_others += 1,
        }
    }
    for (what, mut ranks) in findings {
        ranks.dedup();
        sentences.push(format!(
            "{}: {}",
            inert::ranks(&ranks),
            inert::line(what, 300)
        ));
    }
    if n_others > 0 {
        sentences.push(quantity::counted(n_others, "other finding"));
    }
    sentences
}

/// Sentences that say that the trace is incomplete, and what its latest time stamp is.
pub(crate) fn covers(analysis: &Analysis) -> String {
    let until = match &analysis.hang {
        Some(hang) => format!(" (latest time stamp: {})", quantity::duration(hang.end_ns)),
        None => String::new(),
    };
    format!("{INCOMPLETE} The analysis covers what was recorded{until}.")
}

/// The beginning of what is said of an incomplete trace.
pub(crate) const INCOMPLETE: &str = "The trace is incomplete.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;

    #[test]
    fn of_each_kind_of_remark_the_worst_is_told_and_how_many_there_are() {
        let slewed = |host: &str, ppb| Remark::ClockSlewed {
            host: host.to_owned(),
            ppb,
        };
        let analysis = Analysis {
            remarks: vec![
                Remark::Incomplete { n_findings: 8 },
                slewed("a", 20),
                Remark::NoOffsetAtEnd { n_hosts: 2 },
                slewed("b", -5_000),
                slewed("c", 300),
            ],
            ..nothing()
        };
        let told = remarks_by_kind(&analysis);
        let [slewed, offset] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(slewed.starts_with("clock_slewed: host b: "), "{slewed}");
        assert!(slewed.contains("by -5.00 ppm"), "{slewed}");
        assert!(
            slewed.ends_with(" (the worst of 3 such remarks)"),
            "{slewed}"
        );
        assert!(
            offset.starts_with("no_offset_at_end: the clock offsets of 2 hosts"),
            "{offset}"
        );
    }
}

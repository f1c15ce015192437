//! The part of a run that an analysis is about.

use collbench_analyzer::Analysis;

/// Whether only what happened between two times is known or was asked for.
pub(crate) fn is_span(analysis: &Analysis) -> bool {
    analysis.looked_at.span_ns() < analysis.trace.duration_ns
}

/// What a share of time is of: `of the time of all ranks`, or of those, and of the part, that were asked for.
pub(crate) fn of_its_time(analysis: &Analysis) -> String {
    let asked = analysis.restriction.as_ref();
    let is_of_some = asked.is_some_and(|part| !part.ranks.is_empty());
    let whose = match (is_of_some, analysis.looked_at.time_ns) {
        (true, None) => "these ranks",
        (false, None) => "all ranks",
        (true, Some(_)) => "the threads of these ranks",
        (false, Some(_)) => "all threads in collectives",
    };
    let there = if is_span(analysis) {
        " in this part"
    } else {
        ""
    };
    format!("of the time of {whose}{there}")
}

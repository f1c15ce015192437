//! The part of a run that an analysis is about.

use collbench_analyzer::Analysis;

/// Length of the part of the run that is kept and was asked for, ns.
pub(crate) fn known_ns(analysis: &Analysis) -> i64 {
    let trace = &analysis.trace;
    let kept = trace.window.as_ref().and_then(|window| window.from_ns);
    let asked = analysis.restriction.as_ref();
    let from_ns = kept.max(asked.and_then(|part| part.from_ns));
    let to_ns = asked.and_then(|part| part.to_ns);
    let to_ns = to_ns.map_or(trace.duration_ns, |to_ns| to_ns.min(trace.duration_ns));
    to_ns.saturating_sub(from_ns.unwrap_or(0).max(0)).max(0)
}

/// Whether only what happened between two times is known or was asked for.
pub(crate) fn is_span(analysis: &Analysis) -> bool {
    known_ns(analysis) < analysis.trace.duration_ns
}

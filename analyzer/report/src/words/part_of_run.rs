//! The part of a run that an analysis is about.

use collbench_analyzer::Analysis;

/// Whether only what happened between two times is known or was asked for.
pub(crate) fn is_span(analysis: &Analysis) -> bool {
    analysis.looked_at.span_ns() < analysis.trace.duration_ns
}

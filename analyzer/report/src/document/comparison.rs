//! The document of several traces: `collbench.comparison/1`.

use std::borrow::Cow;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{
    ComparedOperation, ComparedSite, ComparedTrace, Comparison, DifferingSetting, OnlyIn,
    RunDifferences, Sides,
};
use collbench_analyzer::results::{ClockSummary, TraceSummary};
use serde::{Deserialize, Serialize};

use crate::document::{RemarkDocument, analysis};
use crate::words;

/// Name and version of the document's schema.
pub(crate) const COMPARISON_SCHEMA: &str = "collbench.comparison/1";

/// A comparison with its sentences: `comparison.json`.
///
/// The fields are those of [`Comparison`], with the same meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparisonDocument<'a> {
    /// Name and version of the document's schema.
    pub schema: Cow<'a, str>,
    /// The traces in the given order; the first is the baseline.
    pub traces: Vec<ComparedTraceDocument<'a>>,
    /// Differences between the traces apart from times.
    pub differs: Cow<'a, [DifferingSetting]>,
    /// For each trace except the baseline, the differences of the run as a whole.
    pub runs: Cow<'a, [RunDifferences]>,
    /// Operations of the baseline that another trace has too, by the change of their total time.
    pub operations: Cow<'a, [ComparedOperation]>,
    /// Operations that only one of two compared traces has.
    pub only_in: Cow<'a, [OnlyIn]>,
    /// Places from which operations are called, by the change of the time in their calls; none if a trace
    /// has no call sites.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub sites: Cow<'a, [ComparedSite]>,
    /// How two sides of several runs differ; left out where each trace is compared with the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<Cow<'a, Sides>>,
    /// Remarks on the quality of the data.
    pub remarks: Vec<RemarkDocument>,
}

/// One trace, with the remarks of its own analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedTraceDocument<'a> {
    /// The recorded run.
    #[serde(flatten)]
    pub trace: Cow<'a, TraceSummary>,
    /// The clocks of the trace.
    pub clock: Cow<'a, ClockSummary>,
    /// Time of all processes in all collectives, ns.
    pub collectives_ns: i64,
    /// Sum of all known waits, ns; `None` if none is known.
    pub wait_ns: Option<i64>,
    /// Remarks of the trace's own analysis.
    pub remarks: Vec<RemarkDocument>,
}

impl<'a> ComparisonDocument<'a> {
    /// The document of a comparison of these analyses.
    #[must_use]
    pub fn of(comparison: &'a Comparison, analyses: &[Analysis]) -> Self {
        debug_assert_eq!(comparison.traces.len(), analyses.len());
        let traces = comparison.traces.iter().zip(analyses);
        let names = words::comparison::names(comparison);
        let remarks = comparison.remarks.iter().map(|remark| RemarkDocument {
            code: remark.code().into(),
            text: words::comparison::remark(&names, remark),
        });
        Self {
            schema: COMPARISON_SCHEMA.into(),
            traces: traces
                .map(|(trace, analysis)| ComparedTraceDocument::of(trace, analysis))
                .collect(),
            differs: (&comparison.differs[..]).into(),
            runs: (&comparison.runs[..]).into(),
            operations: (&comparison.operations[..]).into(),
            only_in: (&comparison.only_in[..]).into(),
            sites: (&comparison.sites[..]).into(),
            sides: comparison.sides.as_ref().map(Cow::Borrowed),
            remarks: remarks.collect(),
        }
    }
}

impl<'a> ComparedTraceDocument<'a> {
    fn of(compared: &'a ComparedTrace, analysis: &Analysis) -> Self {
        Self {
            trace: Cow::Borrowed(&compared.trace),
            clock: Cow::Borrowed(&compared.clock),
            collectives_ns: compared.collectives_ns,
            wait_ns: compared.wait_ns,
            remarks: analysis::remarks(analysis),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::ComparisonDocument<'_>>(super::COMPARISON_SCHEMA);
    }
}

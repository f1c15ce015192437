//! The document of several traces: `collbench.comparison/1`.

use std::borrow::Cow;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{
    ComparedOperation, ComparedTrace, Comparison, DifferingSetting, OnlyIn, RunDifferences,
};
use collbench_analyzer::results::{ClockSummary, TraceSummary};
use serde::{Deserialize, Serialize};

use crate::document::{RemarkDocument, analysis};
use crate::words;

/// The name of the document's form, and its version.
pub(crate) const COMPARISON_SCHEMA: &str = "collbench.comparison/1";

/// What a comparison has found, with sentences: `comparison.json`.
///
/// Fields are those of [`Comparison`], and mean the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonDocument<'a> {
    /// Name and version of the document's form.
    pub schema: Cow<'a, str>,
    /// The traces as given; the first is the baseline.
    pub traces: Vec<ComparedTraceDocument<'a>>,
    /// What is not the same in all traces, beside times.
    pub differs: Cow<'a, [DifferingSetting]>,
    /// For each trace but the baseline, how the run as a whole differs.
    pub runs: Cow<'a, [RunDifferences]>,
    /// Operations of the baseline that another trace has too, by the change of their total time.
    pub operations: Cow<'a, [ComparedOperation]>,
    /// Operations that one of two traces compared does not have.
    pub only_in: Cow<'a, [OnlyIn]>,
    /// What a reader should know.
    pub remarks: Vec<RemarkDocument>,
}

/// One trace, with the remarks of its own analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedTraceDocument<'a> {
    /// What was recorded.
    #[serde(flatten)]
    pub trace: Cow<'a, TraceSummary>,
    /// Its clocks.
    pub clock: Cow<'a, ClockSummary>,
    /// Time of all processes in all collectives, ns.
    pub collectives_ns: i64,
    /// Sum of all waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
    /// Remarks of its own analysis.
    pub remarks: Vec<RemarkDocument>,
}

impl<'a> ComparisonDocument<'a> {
    /// The document of a comparison of these analyses.
    #[must_use]
    pub fn of(comparison: &'a Comparison, analyses: &[Analysis]) -> Self {
        debug_assert_eq!(comparison.traces.len(), analyses.len());
        let traces = comparison.traces.iter().zip(analyses);
        let remarks = comparison.remarks.iter().map(|remark| RemarkDocument {
            code: remark.code().into(),
            text: words::comparison::remark(remark),
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

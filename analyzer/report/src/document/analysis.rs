//! The document of one trace: `collbench.analysis/1`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    AlgorithmSummary, ClockSummary, Code, CommunicatorSummary, CycleSummary, DetailsSummary,
    DisturbanceSummary, HangSummary, ImbalanceSummary, MarkedPhase, MismatchSummary,
    NeverCompletedSummary, OperationSummary, RankClass, RankEndSummary, RankSummary,
    RunningSummary, Timeline, Total, TraceSummary, UnfinishedSummary,
};
use serde::{Deserialize, Serialize};

use crate::document::RemarkDocument;
use crate::words;

/// The name of the document's form, and its version.
pub(crate) const ANALYSIS_SCHEMA: &str = "collbench.analysis/1";

/// What an analysis has found, with sentences: `analysis.json`.
///
/// Fields are those of [`Analysis`], and mean the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document<'a> {
    /// Name and version of the document's form.
    pub schema: Cow<'a, str>,
    /// What was recorded.
    pub trace: Cow<'a, TraceSummary>,
    /// The clocks and how far they can be trusted.
    pub clock: Cow<'a, ClockSummary>,
    /// The communicators; `id` is the index.
    pub communicators: Cow<'a, [CommunicatorSummary]>,
    /// By name of operation, over all communicators.
    pub totals: Cow<'a, BTreeMap<Code, Total>>,
    /// The processes that there is a file of, by rank.
    pub ranks: Cow<'a, [RankSummary]>,
    /// The operations, by time, the longest first.
    pub operations: Cow<'a, [OperationSummary]>,
    /// Who is late, for each operation on each communicator, the dearest first.
    pub imbalance: Cow<'a, [ImbalanceSummary]>,
    /// What happens in a rhythm, the dearest first.
    pub disturbances: Cow<'a, [DisturbanceSummary]>,
    /// What each process did when.
    pub timeline: Cow<'a, Timeline>,
    /// Processes that behave alike.
    pub classes: Cow<'a, [RankClass]>,
    /// Which of its algorithms the MPI library ran for which operation, of the whole trace; left out
    /// where nobody noted them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<Cow<'a, [AlgorithmSummary]>>,
    /// Whether threads were running before and in long calls, of the whole trace; left out where
    /// nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Cow<'a, [RunningSummary]>>,
    /// The phases that the program marked with `MPI_Pcontrol`, by level.
    pub phases: Cow<'a, [MarkedPhase]>,
    /// Instances that someone was in when the trace ended.
    pub unfinished: Cow<'a, [UnfinishedSummary]>,
    /// What was going on when the trace ended; `None` of a complete one.
    pub hang: Option<HangDocument<'a>>,
    /// Calls that are not one collective though MPI wants them to be, the first of each kind.
    pub mismatches: Cow<'a, [MismatchSummary]>,
    /// Nonblocking collectives that were begun and never completed, the first.
    pub never_completed: Cow<'a, [NeverCompletedSummary]>,
    /// Whether all details are there.
    pub details: Cow<'a, DetailsSummary>,
    /// What a reader should know.
    pub remarks: Vec<RemarkDocument>,
}

/// What was going on when an incomplete trace ended, with sentences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HangDocument<'a> {
    /// The latest stamp or clock reading of any rank, ns since the start of the run.
    pub end_ns: i64,
    /// World ranks that were in an unfinished collective, or in the call that was to complete one.
    pub waiting: Cow<'a, [u32]>,
    /// Ranks that wait for one another in a circle.
    pub cycles: Cow<'a, [CycleSummary]>,
    /// The processes that there is a file of, by rank.
    pub ranks: Cow<'a, [RankEndSummary]>,
    /// The same for people, the most telling first.
    pub in_words: Vec<String>,
}

impl<'a> Document<'a> {
    /// The document of an analysis.
    #[must_use]
    pub fn of(analysis: &'a Analysis) -> Self {
        let hang = analysis.hang.as_ref();
        Self {
            schema: ANALYSIS_SCHEMA.into(),
            trace: Cow::Borrowed(&analysis.trace),
            clock: Cow::Borrowed(&analysis.clock),
            communicators: (&analysis.communicators[..]).into(),
            totals: Cow::Borrowed(&analysis.totals),
            ranks: (&analysis.ranks[..]).into(),
            operations: (&analysis.operations[..]).into(),
            imbalance: (&analysis.imbalance[..]).into(),
            disturbances: (&analysis.disturbances[..]).into(),
            timeline: Cow::Borrowed(&analysis.timeline),
            classes: (&analysis.classes[..]).into(),
            algorithms: analysis.algorithms.as_deref().map(Cow::from),
            running: analysis.running.as_deref().map(Cow::from),
            phases: (&analysis.phases[..]).into(),
            unfinished: (&analysis.unfinished[..]).into(),
            hang: hang.map(|hang| HangDocument::of(hang, words::hang::sentences(analysis))),
            mismatches: (&analysis.mismatches[..]).into(),
            never_completed: (&analysis.never_completed[..]).into(),
            details: Cow::Borrowed(&analysis.details),
            remarks: remarks(analysis),
        }
    }
}

impl<'a> HangDocument<'a> {
    fn of(hang: &'a HangSummary, in_words: Vec<String>) -> Self {
        Self {
            end_ns: hang.end_ns,
            waiting: (&hang.waiting[..]).into(),
            cycles: (&hang.cycles[..]).into(),
            ranks: (&hang.ranks[..]).into(),
            in_words,
        }
    }
}

/// The remarks on an analysis, with their sentences.
pub(super) fn remarks(analysis: &Analysis) -> Vec<RemarkDocument> {
    let remarks = analysis.remarks.iter().map(|remark| RemarkDocument {
        code: remark.code().into(),
        text: words::remarks::remark(analysis, remark),
    });
    remarks.collect()
}

//! The document of one trace: `collbench.analysis/1`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use collbench_analyzer::results::{
    AdaptationSummary, AlgorithmSummary, CallSiteSummary, ClockSummary, Code, CommunicatorSummary,
    CycleSummary, DetailsSummary, DisturbanceSummary, Efficiencies, FasterSummary, HangSummary,
    ImbalanceSummary, LookedAt, MarkedPhase, MismatchSummary, NeverCompletedSummary,
    OperationSummary, OtherCalls, RankClass, RankEndSummary, RankSummary, RunningSummary, Timeline,
    Total, TraceSummary, UnfinishedSummary,
};
use collbench_analyzer::{Analysis, Selection};
use serde::{Deserialize, Serialize};

use crate::document::RemarkDocument;
use crate::document::cause::CauseDocument;
use crate::words;

/// Name and version of the document's schema.
pub(crate) const ANALYSIS_SCHEMA: &str = "collbench.analysis/1";

/// An analysis with its sentences: `analysis.json`.
///
/// The fields are those of [`Analysis`], with the same meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Name and version of the document's schema.
    pub schema: Cow<'a, str>,
    /// The recorded run.
    pub trace: Cow<'a, TraceSummary>,
    /// The part of the run that all else is about; `None` for all of it.
    #[serde(default)]
    pub restriction: Option<Cow<'a, Selection>>,
    /// The time and the number of ranks that all else is about; `None` in a document of an earlier version.
    #[serde(default)]
    pub looked_at: Option<LookedAt>,
    /// The clocks and their accuracy.
    pub clock: Cow<'a, ClockSummary>,
    /// The communicators; `id` is the index.
    pub communicators: Cow<'a, [CommunicatorSummary]>,
    /// Totals by operation, over all communicators.
    pub totals: Cow<'a, BTreeMap<Code, Total>>,
    /// The processes with a file, by rank.
    pub ranks: Cow<'a, [RankSummary]>,
    /// The efficiencies of POP; `None` where a part of the calls is not known.
    #[serde(default)]
    pub efficiencies: Option<Cow<'a, Efficiencies>>,
    /// What MPI calls other than collectives take, the longest first; kinds with at least 1 % of the time of
    /// all ranks.
    #[serde(default)]
    pub other_calls: Cow<'a, [OtherCalls]>,
    /// The operations, the longest total time first; of thousands only the first ones, the others in
    /// sums in `details`.
    pub operations: Cow<'a, [OperationSummary]>,
    /// The places in the program from which collectives were called; `id` is the index. Left out if they
    /// were not recorded.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub sites: Cow<'a, [CallSiteSummary]>,
    /// Why ranks wait, and why collectives take long, by cost, the largest first. The costs of waiting add
    /// up to all waits.
    #[serde(default)]
    pub causes: Vec<CauseDocument>,
    /// What is predicted to make the run faster; left out where nothing is known that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faster: Option<Cow<'a, FasterSummary>>,
    /// Who is late, for each operation on each communicator, the most costly first; of thousands only
    /// the first ones.
    pub imbalance: Cow<'a, [ImbalanceSummary]>,
    /// Periodic disturbances, the most costly first.
    pub disturbances: Cow<'a, [DisturbanceSummary]>,
    /// Activity of each process over time.
    pub timeline: Cow<'a, Timeline>,
    /// Processes that behave alike.
    pub classes: Cow<'a, [RankClass]>,
    /// Algorithms that the MPI library ran for each operation, over the whole trace; left out if
    /// they were not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<Cow<'a, [AlgorithmSummary]>>,
    /// The calls for which a tree file had several candidates, over the whole trace; left out without any.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub adaptations: Cow<'a, [AdaptationSummary]>,
    /// Whether threads were running before and in long calls, over the whole trace; left out if it
    /// was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Cow<'a, [RunningSummary]>>,
    /// The phases that the program marked with `MPI_Pcontrol`, by level.
    pub phases: Cow<'a, [MarkedPhase]>,
    /// Instances that ranks were in when the trace ended.
    pub unfinished: Cow<'a, [UnfinishedSummary]>,
    /// The state of the program when the trace ended; `None` for a complete trace.
    pub hang: Option<HangDocument<'a>>,
    /// Mismatched calls, which MPI requires to be the same collective; the first of each kind.
    pub mismatches: Cow<'a, [MismatchSummary]>,
    /// Nonblocking collectives that were initiated and never completed; the first ones.
    pub never_completed: Cow<'a, [NeverCompletedSummary]>,
    /// Whether all details are included.
    pub details: Cow<'a, DetailsSummary>,
    /// Remarks on the quality of the data.
    pub remarks: Vec<RemarkDocument>,
}

/// The state of the program when an incomplete trace ended, with sentences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HangDocument<'a> {
    /// The latest timestamp or clock reading of any rank, ns since the start of the run.
    pub end_ns: i64,
    /// World ranks in an unfinished collective, or in a call that should complete one.
    pub waiting: Cow<'a, [u32]>,
    /// Cycles of ranks that wait for one another.
    pub cycles: Cow<'a, [CycleSummary]>,
    /// The processes with a file, by rank.
    pub ranks: Cow<'a, [RankEndSummary]>,
    /// The state at the end as sentences, the most important first.
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
            restriction: analysis.restriction.as_ref().map(Cow::Borrowed),
            looked_at: Some(analysis.looked_at),
            clock: Cow::Borrowed(&analysis.clock),
            communicators: (&analysis.communicators[..]).into(),
            totals: Cow::Borrowed(&analysis.totals),
            ranks: (&analysis.ranks[..]).into(),
            efficiencies: analysis.efficiencies.as_ref().map(Cow::Borrowed),
            other_calls: (&analysis.other_calls[..]).into(),
            operations: first(&analysis.operations, analysis.details.operations_listed),
            sites: (&analysis.sites[..]).into(),
            causes: CauseDocument::all(analysis),
            faster: analysis.faster.as_ref().map(Cow::Borrowed),
            imbalance: first(&analysis.imbalance, analysis.details.imbalance_listed),
            disturbances: (&analysis.disturbances[..]).into(),
            timeline: Cow::Borrowed(&analysis.timeline),
            classes: (&analysis.classes[..]).into(),
            algorithms: analysis.algorithms.as_deref().map(Cow::from),
            adaptations: (&analysis.adaptations[..]).into(),
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

/// The first entries, of which there may be fewer.
fn first<T: Clone>(all: &[T], n: usize) -> Cow<'_, [T]> {
    (&all[..all.len().min(n)]).into()
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Document<'_>>(super::ANALYSIS_SCHEMA);
    }
}

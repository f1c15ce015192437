//! The results, as plain types: the fields are those of the JSON document.
//!
//! Times are integers in ns; ranks are world ranks; positions in the lists of an operation index
//! the communicator's `ranks`; unknown is `None` (`null`), never 0.

use std::collections::BTreeMap;

use collbench_clocks::AlignmentMethod;
use collbench_stats::integers::sum_ns;
use serde::{Deserialize, Serialize};

use crate::calls::algorithms::AlgorithmSummary;
use crate::calls::running::RunningSummary;
use crate::remark::Remark;
use crate::results::adaptation::AdaptationSummary;
use crate::results::call_sites::CallSiteSummary;
use crate::results::causes::FoundCause;
use crate::results::clock::ClockSummary;
use crate::results::code::Code;
use crate::results::efficiencies::Efficiencies;
use crate::results::faster::FasterSummary;
use crate::results::hang::{
    HangSummary, MismatchSummary, NeverCompletedSummary, UnfinishedSummary,
};
use crate::results::imbalance::ImbalanceSummary;
use crate::results::looked_at::LookedAt;
use crate::results::operation::OperationSummary;
use crate::results::operation_costs::OperationCosts;
use crate::results::other_calls::OtherCalls;
use crate::results::over_time::{DisturbanceSummary, Timeline};
use crate::results::process::{CommunicatorSummary, RankClass, RankSummary};
use crate::results::shown_instances::ShownInstances;
use crate::results::trace::TraceSummary;
use crate::selection::Selection;

/// Everything that the analysis of one trace found: facts, of which `collbench-report` makes
/// sentences, pictures and the document.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// What was recorded.
    pub trace: TraceSummary,
    /// The part of the run that all else is about, as the user asked for it; `None` for all of it.
    pub restriction: Option<Selection>,
    /// How the clocks of several hosts were to be aligned.
    pub alignment: AlignmentMethod,
    /// The time and the number of ranks that all else is about: of the whole run, or of what was asked for and kept.
    pub looked_at: LookedAt,
    /// The clocks and how far they can be trusted.
    pub clock: ClockSummary,
    /// The communicators; `id` is the index.
    pub communicators: Vec<CommunicatorSummary>,
    /// By name of operation, over all communicators.
    pub totals: BTreeMap<Code, Total>,
    /// The processes that there is a file of, by rank.
    pub ranks: Vec<RankSummary>,
    /// How much of the time is useful; `None` where a part of the calls is not known.
    pub efficiencies: Option<Efficiencies>,
    /// What MPI calls other than collectives take: kinds with at least 1 % of the time of all ranks, by
    /// time, the longest first; empty for a part of a run.
    pub other_calls: Vec<OtherCalls>,
    /// The operations, by time, the longest first.
    pub operations: Vec<OperationSummary>,
    /// Why collectives take longer than they need to.
    pub operation_costs: OperationCosts,
    /// Why ranks wait, and why collectives take long, by cost, the largest first.
    pub causes: Vec<FoundCause>,
    /// What is predicted to make the run faster; `None` where nothing is known that does.
    pub faster: Option<FasterSummary>,
    /// The places in the program from which collectives were called; `id` is the index. Empty where
    /// they were not recorded.
    pub sites: Vec<CallSiteSummary>,
    /// Who is late, for each operation on each communicator, most waiting caused first.
    pub imbalance: Vec<ImbalanceSummary>,
    /// Periodic disturbances, most waiting caused first.
    pub disturbances: Vec<DisturbanceSummary>,
    /// Activity of each process over time.
    pub timeline: Timeline,
    /// Activity of each process over time in up to 512 stretches, each a whole part of one in `timeline`. It is in no
    /// document.
    pub fine_timeline: Timeline,
    /// Single instances in detail. They are in no document.
    pub instances: ShownInstances,
    /// Processes that behave alike.
    pub classes: Vec<RankClass>,
    /// Which algorithms the MPI library ran for which operation, in the whole trace; `None` where
    /// no process recorded them.
    pub algorithms: Option<Vec<AlgorithmSummary>>,
    /// The calls for which a tree file had several candidates, in the whole trace; empty without any.
    pub adaptations: Vec<AdaptationSummary>,
    /// Whether threads were running before and in long calls, in the whole trace; `None` where no
    /// process recorded it.
    pub running: Option<Vec<RunningSummary>>,
    /// The phases that the program marked with `MPI_Pcontrol`, by level.
    pub phases: Vec<MarkedPhase>,
    /// Instances that someone was in when the trace ended.
    pub unfinished: Vec<UnfinishedSummary>,
    /// State of the run when the trace ended; `None` for a complete trace.
    pub hang: Option<HangSummary>,
    /// Calls that are not one collective though MPI wants them to be, the first of each kind.
    pub mismatches: Vec<MismatchSummary>,
    /// Nonblocking collectives that were initiated and never completed; the first ones.
    pub never_completed: Vec<NeverCompletedSummary>,
    /// Which details the document has.
    pub details: DetailsSummary,
    /// What a reader should know.
    pub remarks: Vec<Remark>,
}

/// Which details of operations and verdicts there are; all sums are there in any case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DetailsSummary {
    /// Whether nothing was left out.
    pub complete: bool,
    /// Operations with all of their details.
    pub operations: usize,
    /// Share of those operations in the time of all, 0 to 1; `None` where there is no time.
    pub share_of_time: Option<f64>,
    /// Entries of `imbalance` with all of their details.
    pub imbalance: usize,
    /// The option that gives all details; `None` where nothing was left out.
    pub all_by: Option<Code>,
    /// Operations that the document lists, those with the most time.
    #[serde(default)]
    pub operations_listed: usize,
    /// Sums over the operations that are not listed, by name.
    #[serde(default)]
    pub operations_rest: Vec<OperationsRest>,
    /// Entries of `imbalance` that the document lists, the costliest.
    #[serde(default)]
    pub imbalance_listed: usize,
    /// Sums over the entries of `imbalance` that are not listed; `None` if all are.
    #[serde(default)]
    pub imbalance_rest: Option<ImbalanceRest>,
}

/// Sums over entries of `operations` of one name that the document does not list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationsRest {
    /// The name of the operation.
    pub operation: Code,
    /// Number of entries.
    pub entries: usize,
    /// Number of communicators that they are on.
    pub communicators: usize,
    /// Calls.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Incomplete instances.
    pub incomplete: u64,
    /// Time in those calls that returned, ns; `None` where none did.
    pub call_time_ns: Option<i64>,
    /// Their known waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
}

/// Sums over entries of `imbalance` that the document does not list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImbalanceRest {
    /// Number of entries.
    pub entries: usize,
    /// Complete instances.
    pub instances: u64,
    /// Complete instances of which it is known who arrived last.
    pub resolved: u64,
    /// Waits that somebody's arrival ended, ns, in resolved instances.
    pub all_waits_caused_ns: i64,
}

/// Sums over an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Total {
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Time in those calls that returned, ns.
    pub call_time_ns: i64,
}

/// The phases of one level that the program marked, over all processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkedPhase {
    /// What was given to `MPI_Pcontrol`.
    pub level: i32,
    /// When the first process began it first, ns since the start.
    pub from_ns: i64,
    /// When the last process ended it last.
    pub to_ns: i64,
    /// Processes that were in it.
    pub processes: u64,
    /// How often it was begun, by all of them.
    pub begun: u64,
    /// Time in it, of all of them, ns.
    pub time_ns: i64,
    /// Calls in it, of instances that all their processes entered in it.
    pub calls: u64,
    /// Time in those calls, ns.
    pub call_time_ns: i64,
    /// Their known waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
}

impl Analysis {
    /// Time of all processes in all collectives that returned, ns.
    #[must_use]
    pub fn collectives_ns(&self) -> i64 {
        sum_ns(self.ranks.iter().map(|rank| rank.call_time_ns))
    }
}

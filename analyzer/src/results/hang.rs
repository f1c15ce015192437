//! Where a run was when its trace ended.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::results::code::Code;

/// An instance that someone was in when the trace ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnfinishedSummary {
    /// What those inside called.
    pub operations: Vec<Code>,
    /// Id of the communicator.
    pub communicator: usize,
    /// Position among the calls on it; of a persistent collective the number of the start.
    pub sequence: u64,
    /// Whether it is the start of a persistent collective.
    pub persistent: bool,
    /// Whether it is an internal call of the MPI library.
    pub internal: bool,
    /// World ranks of the roots that are named: one, unless the calls contradict one another.
    pub roots: Vec<u32>,
    /// Least payload of the calls, bytes.
    pub bytes_min: Option<u64>,
    /// Greatest payload of the calls, bytes.
    pub bytes_max: Option<u64>,
    /// World ranks that were inside.
    pub inside: Vec<u32>,
    /// When each of them entered the call that it was in, ns since the start of the run.
    pub inside_since_ns: Vec<i64>,
    /// The calls in which they were completing it, such as `MPI_Wait`; empty for blocking ones.
    pub completing: Vec<Code>,
    /// World ranks that had initiated a nonblocking one, and were in no call that completes it.
    pub begun: Vec<u32>,
    /// When each of them initiated it, ns since the start of the run.
    pub begun_since_ns: Vec<i64>,
    /// World ranks that had left.
    pub left: Vec<u32>,
    /// World ranks that never entered it, as their files show.
    pub never_came: Vec<u32>,
    /// World ranks whose files do not show whether they entered it: recording had ended, or records
    /// are missing.
    pub unknown: Vec<u32>,
    /// Processes of the communicator without a file.
    pub no_file: u64,
    /// Id of the place in the program from which the first of those inside made its call; `None` where that
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<usize>,
}

/// What was going on when an incomplete trace ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HangSummary {
    /// The latest stamp or clock reading of any rank, ns since the start of the run.
    pub end_ns: i64,
    /// World ranks that were in an unfinished collective, or in the call that was to complete one.
    pub waiting: Vec<u32>,
    /// Cycles of ranks that wait for one another.
    pub cycles: Vec<CycleSummary>,
    /// The processes that there is a file of, by rank.
    pub ranks: Vec<RankEndSummary>,
    /// For each of `ranks` the latest that is known of any rank whose clock can be compared with its
    /// own, ns since the start of the run.
    pub known_to_ns: Vec<i64>,
    /// World ranks that were in an internal call of the MPI library.
    pub in_library: BTreeSet<u32>,
}

/// A cycle of waiting: each rank for the next one, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CycleSummary {
    /// World ranks.
    pub ranks: Vec<u32>,
    /// For each of them the index in `unfinished` of what it waits in.
    pub unfinished: Vec<usize>,
}

/// Where one process was at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankEndSummary {
    /// World rank.
    pub rank: u32,
    /// Its state at the end.
    pub state: RankState,
    /// Its last stamp or clock reading, ns since the start of the run.
    pub last_seen_ns: i64,
    /// Indexes in `unfinished` of what it was inside of.
    pub unfinished: Vec<usize>,
    /// The call that it was in, else the one that returned last.
    pub last_call: Option<LastCallSummary>,
    /// Id of the place in the program from which it made the call that it was in; `None` where that is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<usize>,
}

/// Where a process was at the end of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RankState {
    /// In a collective, or in the call that was to complete one.
    Waiting,
    /// In `MPI_Finalize`.
    InFinalize,
    /// In `MPI_Abort`.
    InAbort,
    /// It has left `MPI_Finalize`.
    Finished,
    /// In no collective, and it ended (or was ended) without `MPI_Finalize`.
    Outside,
    /// Its recording had stopped before: what it did afterwards is unknown.
    NotRecorded,
    /// The end of its file is missing or damaged: what it did afterwards is unknown.
    Damaged,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// The last call of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastCallSummary {
    /// What was called, or (with `completing`) completed.
    pub operation: Option<Code>,
    /// The call that was to complete it, such as `MPI_Wait`.
    pub completing: Option<Code>,
    /// Id of the communicator.
    pub communicator: Option<usize>,
    /// Position among the calls on it; of a persistent collective the number of the start.
    pub sequence: Option<u64>,
    /// Whether it is the start of a persistent collective.
    pub persistent: bool,
    /// When it was entered, ns since the start of the run.
    pub enter_ns: i64,
    /// When it was left; `None`: it was under way.
    pub leave_ns: Option<i64>,
    /// Id of the place in the program from which it was made, if it was under way; `None` where that is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<usize>,
}

/// Calls at one position that differ in what they must not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MismatchSummary {
    /// In what: `operations`, `blocking_and_nonblocking`, `roots`, `sizes`.
    pub kind: Code,
    /// Id of the communicator.
    pub communicator: usize,
    /// Position among the calls on it; of a persistent collective the number of the start.
    pub sequence: u64,
    /// Whether it is the start of a persistent collective.
    pub persistent: bool,
    /// Whether all processes entered and left nevertheless.
    pub went_through: bool,
    /// Whether the file of a rank of them is damaged, which may be why.
    pub damaged: bool,
    /// What was called, by whom.
    pub calls: Vec<MismatchedCallSummary>,
}

/// Calls that are alike, of a mismatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MismatchedCallSummary {
    /// What was called.
    pub operation: Code,
    /// World rank of the root that they name.
    pub root: Option<u32>,
    /// Payload, bytes; only where it is what differs.
    pub bytes: Option<u64>,
    /// World ranks.
    pub ranks: Vec<u32>,
}

/// A nonblocking collective that was initiated, and not completed before `MPI_Finalize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeverCompletedSummary {
    /// What was begun.
    pub operation: Code,
    /// Id of the communicator.
    pub communicator: usize,
    /// Position among the calls on it; of a persistent collective the number of the start.
    pub sequence: u64,
    /// Whether it is the start of a persistent collective.
    pub persistent: bool,
    /// World ranks.
    pub ranks: Vec<u32>,
}

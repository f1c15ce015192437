//! How far nonblocking collectives went on while the program did something else.

use collbench_stats::distribution::Summary;
use serde::{Deserialize, Serialize};

/// How far a nonblocking operation went on between its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverlapSummary {
    /// What hinders the overlap.
    pub diagnosis: OverlapDiagnosis,
    /// When its messages were sent; `None` where none was recorded.
    pub sent: Option<SentSummary>,
}

/// When the messages of a nonblocking operation were sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SentSummary {
    /// By the initiating calls.
    pub initiating: u64,
    /// Between initiating and completing calls.
    pub between: u64,
    /// Of `between` those of processes that were in no call of MPI then: sent by a thread of the
    /// MPI library. Of processes that tested, or that called MPI from several threads, that is not
    /// known.
    pub outside_mpi: u64,
    /// By the completing calls.
    pub completing: u64,
    /// The shortest time in an instance from when a process was in its completing call, and all had
    /// initiated the collective, to the first message that it sent there; over the instances in which
    /// completing calls sent messages, and whose processes have a common time.
    pub first_in_completion_ns: Option<Summary>,
}

/// What hinders the overlap of a nonblocking operation with computation.
///
/// A trace has no reference without computation or without communication: whether these were
/// slowed cannot be told from it.
///
/// # Source
/// Denis et al. 2022, section 3.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OverlapDiagnosis {
    /// Messages are sent between the calls as frequently as in the completing calls.
    GoodOverlap,
    /// A part advances between the calls: the first step, whose messages had arrived before the
    /// completing calls, or some of the messages.
    FirstStepOnly,
    /// Next to no messages are sent between the calls, and what the initiating calls had sent had
    /// not arrived before the completing calls.
    NoProgression,
    /// The time between the calls is too short for an overlap.
    LittleBetween,
    /// Messages were not recorded, or do not show when the operation went on.
    NotVisible,
}

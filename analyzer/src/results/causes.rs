//! Why ranks wait, and why collectives take long, by what it costs.

use serde::{Deserialize, Serialize};

use crate::results::course::Course;
use crate::results::operation_costs::{CausePlace, Confidence, OperationCauseKind};

/// One cause, with what it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundCause {
    /// What it is.
    pub kind: CauseKind,
    /// What a late rank or host did; `None` where that is not known, and for other kinds.
    pub by: Option<LateBy>,
    /// Where it arises; `None` where that is nowhere in particular.
    pub place: Option<CausePlace>,
    /// World rank with which a late rank communicated, where that is known.
    pub partner: Option<u32>,
    /// Index of the operation in which it costs the most; `None`: not one of those shown.
    pub operation: Option<usize>,
    /// Id of the communicator of that.
    pub communicator: Option<usize>,
    /// Direct and propagated cost, ns.
    pub cost_ns: i64,
    /// Of what that is.
    pub of: CostOf,
    /// Waits for the rank at which it arises, or the operation time, ns.
    pub direct_ns: i64,
    /// Waits for ranks that waited because of it before, ns.
    pub propagated_ns: i64,
    /// The cost as a part of the time of all ranks, 0 to 1; `None` where that is not known.
    pub share: Option<f64>,
    /// By how much the run can be shorter without it, ns: an upper bound. Only for the eight dearest.
    pub run_shorter_ns: Option<i64>,
    /// How it is distributed over the run; `None` where it is steady, or not known.
    pub course: Option<Course>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Instances with a direct cost.
    pub instances: u64,
    /// The largest cost in one instance, ns, and when that was, ns since the start of the run.
    pub largest: Option<(i64, i64)>,
    /// Index in the [causes of operation time](crate::results::OperationCosts::causes) of what says why.
    pub explained_by: Option<usize>,
    /// Whether it costs enough to be named first: at least 1 % of the time of all collectives.
    pub matters: bool,
}

/// Kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A rank does more of something than the others.
    LateRank,
    /// So do several ranks of one host.
    LateHost,
    /// Messages between two ranks take long.
    SlowHop,
    /// Messages between two hosts take long.
    SlowLink,
    /// The algorithm does not fit.
    Algorithm,
    /// The data cross between sites more often than necessary.
    Placement,
    /// A nonblocking collective does not progress.
    NoProgress,
    /// A node serves others one after another.
    Serialization,
    /// Ranks have different amounts of work, and none stands out.
    Imbalance,
    /// Ranks began at different times.
    Startup,
    /// The recorder paused ranks.
    Recorder,
    /// The waits are below the error of the clocks.
    Unresolved,
    /// The cause lies before what was recorded, or is not retained.
    Unexplained,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    Newer,
}

/// What a late rank or host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateBy {
    /// It computed, or was in code that is not recorded.
    Computing,
    /// It slept, blocked or was stopped.
    Sleeping,
    /// Others got its core.
    Preempted,
    /// It communicated from point to point.
    PointToPoint,
    /// It read or wrote files.
    Io,
    /// It was in one-sided communication.
    Rma,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    Newer,
}

/// Of what a cost is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostOf {
    /// Time that ranks waited for others.
    Waiting,
    /// Time in collectives besides that.
    OperationTime,
}

impl From<OperationCauseKind> for CauseKind {
    fn from(kind: OperationCauseKind) -> Self {
        match kind {
            OperationCauseKind::SlowHop => Self::SlowHop,
            OperationCauseKind::SlowLink => Self::SlowLink,
            OperationCauseKind::Placement => Self::Placement,
            OperationCauseKind::Algorithm => Self::Algorithm,
            OperationCauseKind::Serialization => Self::Serialization,
            OperationCauseKind::NoProgress => Self::NoProgress,
            OperationCauseKind::Newer => Self::Newer,
        }
    }
}

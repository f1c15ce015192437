//! Why ranks wait, and why collectives take long, by what it costs.

use serde::{Deserialize, Serialize};

use crate::results::course::Course;
use crate::results::operation_costs::{CausePlace, Confidence, OperationCauseKind};
use crate::results::over_time::Culprit;

/// One cause, with what it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundCause {
    /// The kind of cause.
    pub kind: CauseKind,
    /// What a late rank or host did; `None` where that is not known, and for other kinds.
    pub by: Option<LateBy>,
    /// Where the cause arises; `None` where that is nowhere in particular.
    pub place: Option<CausePlace>,
    /// The ranks at which it arises together, where these are several, but not all of the communicator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// World rank with which a late rank communicated, where that is known; of imbalance because of point-to-point
    /// communication, the one for which the rank waits that waits longest.
    pub partner: Option<u32>,
    /// World rank for which that partner waited in turn, directly or through others, and which itself waits for nobody
    /// for long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<u32>,
    /// Index of the operation in which most of the cost arises; `None`: not one of those shown, or `MPI_Finalize`.
    pub operation: Option<usize>,
    /// Id of the communicator of that operation.
    pub communicator: Option<usize>,
    /// Whether it is late for the call that completes that operation, a nonblocking one, and not for the one that initiates it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_completing: bool,
    /// Id of the place in the program from which that operation is called where it waits the most (or,
    /// if the cost is operation time, takes the longest); `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<usize>,
    /// Direct and propagated cost, ns.
    pub cost_ns: i64,
    /// What `cost_ns` is a part of.
    pub of: CostOf,
    /// Waits for the rank at which it arises, or the operation time, ns.
    pub direct_ns: i64,
    /// Waits for ranks that waited because of it before, ns.
    pub propagated_ns: i64,
    /// The cost as a part of the time of all ranks in the part of the run that is looked at, 0 to 1; `None` where that is
    /// not known.
    pub share: Option<f64>,
    /// By how much the run can be shorter without it, ns: an upper bound. Only for the eight costliest.
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
    /// Whether it costs enough to be named first: at least 1 % of the time of all ranks.
    pub matters: bool,
}

impl FoundCause {
    /// The world rank at which it arises, if that is one.
    #[must_use]
    pub fn rank(&self) -> Option<u32> {
        match self.place {
            Some(CausePlace::Rank(rank)) => Some(rank),
            _ => None,
        }
    }

    /// Whether it arises at this rank or host: there, at the host of the rank, or at a rank of the host. `host_of`
    /// returns the host of a world rank, where that is known.
    pub fn is_at<'h>(&self, culprit: &Culprit, host_of: impl Fn(u32) -> Option<&'h str>) -> bool {
        match (&self.place, culprit) {
            (Some(CausePlace::Rank(rank)), Culprit::Rank(culprit)) => rank == culprit,
            (Some(CausePlace::Rank(rank)), Culprit::Ranks(culprits)) => culprits.contains(rank),
            (Some(CausePlace::Rank(rank)), Culprit::Host(culprit)) => {
                host_of(*rank) == Some(culprit)
            }
            (Some(CausePlace::Host(host)), Culprit::Rank(culprit)) => {
                host_of(*culprit) == Some(host)
            }
            (Some(CausePlace::Host(host)), Culprit::Host(culprit)) => host == culprit,
            _ => false,
        }
    }
}

/// Kinds of causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// A rank does more of something than the others.
    LateRank,
    /// Several ranks of one host do more of something than the others.
    LateHost,
    /// Messages between two ranks take long.
    SlowHop,
    /// Messages between two hosts take long.
    SlowLink,
    /// The algorithm does not fit.
    Algorithm,
    /// The data cross between sites, or hosts, more often than necessary, and ranks are not in their order.
    Placement,
    /// Most of the time is the transfer of data, and nobody is late.
    Transfer,
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
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// What a late rank or host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LateBy {
    /// The rank computed, or was in code that is not recorded.
    Computing,
    /// The rank slept, blocked or was stopped.
    Sleeping,
    /// Other threads got the core of the rank.
    Preempted,
    /// The rank was in point-to-point communication.
    PointToPoint,
    /// The rank read or wrote files.
    Io,
    /// The rank was in one-sided communication.
    Rma,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// What a cost is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CostOf {
    /// Time that ranks waited for others.
    Waiting,
    /// Time in collectives besides that.
    OperationTime,
    /// Time that ranks waited for others in point-to-point communication.
    PointToPoint,
    /// Time that ranks waited for others in `MPI_Finalize`.
    Finalize,
}

impl From<OperationCauseKind> for CauseKind {
    fn from(kind: OperationCauseKind) -> Self {
        match kind {
            OperationCauseKind::SlowHop => Self::SlowHop,
            OperationCauseKind::SlowLink => Self::SlowLink,
            OperationCauseKind::Placement => Self::Placement,
            OperationCauseKind::Algorithm => Self::Algorithm,
            OperationCauseKind::Serialization => Self::Serialization,
            OperationCauseKind::Transfer => Self::Transfer,
            OperationCauseKind::NoProgress => Self::NoProgress,
            OperationCauseKind::Newer => Self::Newer,
        }
    }
}

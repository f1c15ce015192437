//! Time in MPI calls other than collectives.

use serde::{Deserialize, Serialize};

use crate::results::process::RankSummary;

/// What ranks spent in MPI calls of one kind that are not collectives, or in which it is not known who waits
/// for whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherCalls {
    /// Which calls.
    pub kind: OtherCallKind,
    /// Time in them, all ranks together, ns.
    pub time_ns: i64,
    /// The same as a part of the time of all ranks, 0 to 1; `None` where that is not known.
    pub share: Option<f64>,
    /// Whether collective calls of this kind were recorded one by one; `None` for point-to-point
    /// communication, which is recorded in sums only.
    pub recorded: Option<bool>,
    /// Whether it is more than all ranks waited for others in collectives.
    pub exceeds_waits: bool,
}

/// Kinds of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OtherCallKind {
    /// Point-to-point communication that takes time: sends, receives, probes and waits.
    PointToPoint,
    /// MPI-IO.
    Io,
    /// Calls that synchronize accesses to windows.
    Rma,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

impl OtherCallKind {
    /// The time of a rank in such calls, ns; `None` where that is not known.
    #[must_use]
    pub fn time_ns(self, rank: &RankSummary) -> Option<i64> {
        match self {
            Self::PointToPoint => rank.point_to_point_ns,
            Self::Io => rank.io_ns,
            Self::Rma => rank.rma_ns,
            Self::Newer => None,
        }
    }
}

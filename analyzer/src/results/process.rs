//! The processes, and the communicators that they are in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::code::Code;

/// One communicator, or all those of one process together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommunicatorSummary {
    /// Stable from run to run.
    pub id: usize,
    /// As set by the program, else derived from how it was created.
    pub name: String,
    /// `intra` or `inter`.
    pub kind: Code,
    /// Processes, of both groups together.
    pub size: u64,
    /// How many communicators that a loop made alike it stands for, mostly 1.
    #[serde(default = "one")]
    pub count: usize,
    /// Id of the place in the program that it was made at, or the first of them; `None` where that is not known.
    #[serde(default)]
    pub site: Option<usize>,
    /// World ranks by rank, of both groups one after the other; `None`: no file of it.
    pub ranks: Vec<Option<u32>>,
    /// The two groups of an intercommunicator.
    pub groups: Option<[Vec<Option<u32>>; 2]>,
}

impl CommunicatorSummary {
    /// Its name, without how many it stands for.
    #[must_use]
    pub fn name_of_each(&self) -> &str {
        let suffix = format!(" ({} communicators)", self.count);
        let bare = self.name.strip_suffix(&suffix);
        bare.filter(|_| self.count > 1).unwrap_or(&self.name)
    }
}

fn one() -> usize {
    1
}

/// One process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankSummary {
    /// World rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Calls begun.
    pub calls: u64,
    /// By operation.
    pub calls_by_operation: BTreeMap<Code, u64>,
    /// By operation and class of communicator.
    pub calls_by_class: BTreeMap<String, u64>,
    /// Sum of its waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
    /// Time in calls, ns.
    #[serde(default)]
    pub call_time_ns: i64,
    /// Time in `MPI_Finalize`, without calls in callbacks and what was done before them, ns; `None` where it is not known.
    #[serde(default)]
    pub finalize_ns: Option<i64>,
    /// How long it waited there for the last rank, ns; `None` where it is not known.
    #[serde(default)]
    pub finalize_wait_ns: Option<i64>,
    /// Resolved instances in which it arrived last.
    pub last: u64,
    /// Resolved instances in which it arrived first.
    pub first: u64,
    /// Time for which the recorder paused it, ns.
    #[serde(default)]
    pub recorder_pause_ns: i64,
    /// Time in point-to-point communication between its calls, ns; `None`: not recorded.
    #[serde(default)]
    pub point_to_point_ns: Option<i64>,
    /// Unsuccessful tests and probes between its calls; `None`: not recorded.
    #[serde(default)]
    pub unsuccessful_polls: Option<u64>,
    /// Time in calls of MPI-IO, ns; `None`: not recorded.
    #[serde(default)]
    pub io_ns: Option<i64>,
    /// Time in calls that synchronize accesses to windows (RMA), ns; `None`: not recorded.
    #[serde(default)]
    pub rma_ns: Option<i64>,
}

/// Processes that arrive, wait and leave alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankClass {
    /// `ranks 0-31`, or what they have in common.
    pub name: String,
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// The rank of them that is nearest to their mean.
    pub representative: u32,
    /// Mean wait of a call, ns; `None` where none is known.
    pub mean_wait_ns: Option<i64>,
    /// Mean of last enter minus own, ns; smallest for the latest processes.
    pub mean_lag_ns: Option<i64>,
    /// Mean of own leave minus first leave, ns; `None` without barrier or N x N.
    pub mean_departure_wait_ns: Option<i64>,
    /// Calls in complete instances.
    pub calls: u64,
}

//! The written form of the truth: plain types.

use std::collections::BTreeMap;

use serde::Serialize;

use super::paths::TruePath;
use crate::messages::TrueTree;
use crate::summary::Summary;

/// A communicator; all with one process are counted together.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueCommunicator {
    /// Its name in the scenario.
    pub name: String,
    /// `intra` or `inter`.
    pub kind: &'static str,
    /// World ranks, in the order of the communicator.
    pub ranks: Vec<u32>,
    /// Size of the first group; all ranks of an intracommunicator.
    pub first_group: usize,
}

/// The times of the complete instances of an operation.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueTimes {
    /// Last leave - first enter.
    pub duration_ns: Summary,
    /// Wait of each call.
    pub wait_ns: Summary,
    /// Last enter - own enter.
    pub arrival_lag_ns: Summary,
    /// First leave - last enter; where all wait for all.
    pub core_ns: Summary,
    /// Own leave - first leave; where all wait for all.
    pub departure_wait_ns: Summary,
}

/// True figures of (operation, communicator, root, class of bytes).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueOperation {
    /// The name in the MPI standard.
    pub operation: &'static str,
    /// Index in `communicators`.
    pub communicator: usize,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Class of the largest payload of an instance: 0, or the largest power of two that is at most
    /// the payload.
    pub bytes_class: u64,
    /// Least payload of a call.
    pub bytes_min: u64,
    /// Greatest payload of a call.
    pub bytes_max: u64,
    /// Calls in the trace, including those that had not returned at the end.
    pub calls: u64,
    /// Instances in which all calls were recorded and returned.
    pub instances: u64,
    /// The other instances.
    pub incomplete: u64,
    /// Leave - enter, of each call that returned; of a nonblocking one the initiating call plus its
    /// share of the completing one.
    pub call_time_ns: Summary,
    /// Duration of the initiating call, of each nonblocking call that was completed.
    pub initiation_ns: Summary,
    /// From there to the completing call.
    pub between_ns: Summary,
    /// Its share of the completing call.
    pub completion_ns: Summary,
    /// Initiation, unsuccessful tests, and completion.
    pub exposed_ns: Summary,
    /// The time between initiation and completion without the tests.
    pub overlap_bound_ns: Summary,
    /// Number of unsuccessful tests.
    pub tests: u64,
    /// On the global clock.
    pub global: TrueTimes,
    /// If only processes of one host are compared: the duration is the longest of any host, there
    /// is a core only if all processes are on one host, and the wait of a process that depends on
    /// other hosts only is left out.
    pub within_hosts: TrueTimes,
    /// How often each member was the only last one to arrive, by position in the communicator.
    pub last_arrivals: Vec<u64>,
    /// How often several arrived last together, or there is only one member.
    pub last_tied: u64,
    /// How often each member was the only first one to leave.
    pub first_departures: Vec<u64>,
    /// How often several left first together, or there is only one member.
    pub first_tied: u64,
    /// `[member][position]`: how often it arrived at this position, with no other at the same time.
    pub arrival_order: Vec<Vec<u64>>,
    /// `[member][position]`: how often it left at this position, with no other at the same time.
    pub departure_order: Vec<Vec<u64>>,
    /// Smallest positive difference of two enters, or of two leaves, in an instance.
    pub closest_ns: Option<u64>,
}

/// A call that had not returned when its process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueInFlight {
    /// The name in the MPI standard.
    pub operation: &'static str,
    /// Index in `communicators`; `None` for MPI_Finalize.
    pub communicator: Option<usize>,
    /// Position among the calls of the application on that communicator, from 0.
    pub sequence: Option<u64>,
}

/// True figures of one rank.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueRank {
    /// World rank.
    pub rank: u32,
    /// Name of the rank's host.
    pub host: String,
    /// Number of records in its file.
    pub records: u64,
    /// Calls of the application that are counted, including those that had not returned at the end.
    pub calls: u64,
    /// Internal calls of the MPI library.
    pub internal_calls: u64,
    /// Number of ends of messages.
    pub message_ends: u64,
    /// Number of calls by operation.
    pub calls_by_operation: BTreeMap<String, u64>,
    /// Number of calls by operation and kind of communicator.
    pub calls_by_class: BTreeMap<String, u64>,
    /// Sum of its waits in complete instances.
    pub wait_ns: i128,
    /// Sum of its waits in complete instances if only processes of its own host are compared.
    pub wait_within_hosts_ns: i128,
    /// Number of instances in which it was the only last one to arrive.
    pub last: u64,
    /// Number of instances in which it was the only first one to arrive.
    pub first: u64,
    /// Time in point-to-point communication between its calls.
    pub point_to_point_ns: u64,
    /// Number of unsuccessful tests and probes.
    pub unsuccessful_polls: u64,
    /// Time in calls of MPI-IO.
    pub io_ns: u64,
    /// Time in calls on windows.
    pub rma_ns: u64,
    /// Whether recording ended in MPI_Finalize.
    pub finalized: bool,
    /// The call that had not returned at its end.
    pub in_flight: Option<TrueInFlight>,
}

/// The content of `truth.json`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Truth {
    /// `collbench.truth/1`.
    pub schema: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Time from the end of MPI_Init, the same for all ranks, to the last leave of MPI_Finalize, or
    /// to the last instant at which anything was recorded.
    pub duration_ns: u64,
    /// Number of calls of the application in all files.
    pub calls: u64,
    /// All communicators, in the order of their creation.
    pub communicators: Vec<TrueCommunicator>,
    /// Sorted by operation, communicator, root, class of bytes.
    pub operations: Vec<TrueOperation>,
    /// Number of messages whose sending end is in the trace.
    pub messages: u64,
    /// The operations with messages, sorted like `operations`, then by shape.
    pub trees: Vec<TrueTree>,
    /// The paths through spanning trees of our own, by tree, operation, root and rank.
    pub paths: Vec<TruePath>,
    /// The ranks, sorted by world rank.
    pub ranks: Vec<TrueRank>,
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Truth>("collbench.truth/1");
    }
}

//! The truth as it is written: plain types.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::messages::TrueTree;
use crate::summary::Summary;

/// A communicator; all that have one process are taken together.
#[derive(Debug, Clone, Serialize)]
pub struct TrueCommunicator {
    /// Its name in the scenario.
    pub name: String,
    /// `intra` or `inter`.
    pub kind: &'static str,
    /// World ranks, in the order of the communicator.
    pub ranks: Vec<u32>,
    /// Size of the first group; of all for one group.
    pub first_group: usize,
}

/// The times of the complete instances of an operation.
#[derive(Debug, Clone, Default, Serialize)]
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

/// What is true of (operation, communicator, root, class of bytes).
#[derive(Debug, Clone, Serialize)]
pub struct TrueOperation {
    /// Name of the standard.
    pub operation: &'static str,
    /// Index in `communicators`.
    pub communicator: usize,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Greatest payload of an instance: 0, or the power of two that it is at least.
    pub bytes_class: u64,
    /// Least payload of a call.
    pub bytes_min: u64,
    /// Greatest payload of a call.
    pub bytes_max: u64,
    /// Calls in the trace, those under way at the end included.
    pub calls: u64,
    /// Instances in which all calls were recorded and returned.
    pub instances: u64,
    /// The other instances.
    pub incomplete: u64,
    /// Leave - enter, of each call that returned; of a nonblocking one the initiating call, and
    /// its share of the completing one.
    pub call_time_ns: Summary,
    /// The initiating call, of each nonblocking call that was completed.
    pub initiation_ns: Summary,
    /// From there to the completing call.
    pub between_ns: Summary,
    /// The share of the completing call.
    pub completion_ns: Summary,
    /// Initiation, tests in vain, completion.
    pub exposed_ns: Summary,
    /// Between, without the tests.
    pub overlap_bound_ns: Summary,
    /// Tests in vain.
    pub tests: u64,
    /// As the global clock has them.
    pub global: TrueTimes,
    /// As they are if only processes of one host are compared: the duration is the longest of
    /// any host, there is a core only where all are on one host, and the wait of a process that
    /// depends on other hosts only is left out.
    pub within_hosts: TrueTimes,
    /// How often each member came last, alone. By position in the communicator.
    pub last_arrivals: Vec<u64>,
    /// How often several came last together, or there is but one.
    pub last_tied: u64,
    /// How often each member left first, alone.
    pub first_departures: Vec<u64>,
    /// How often several left first together, or there is but one.
    pub first_tied: u64,
    /// `[member][position]`: how often it came at this position, at no other's time.
    pub arrival_order: Vec<Vec<u64>>,
    /// The same of leaving.
    pub departure_order: Vec<Vec<u64>>,
    /// Least distance of two enters, or two leaves, in an instance that are not equal.
    pub closest_ns: Option<u64>,
}

/// A call that had not returned when its process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrueInFlight {
    /// Name of the standard.
    pub operation: &'static str,
    /// Index in `communicators`; none for MPI_Finalize.
    pub communicator: Option<usize>,
    /// Position among the calls of the application on that communicator, from 0.
    pub sequence: Option<u64>,
}

/// What is true of one rank.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrueRank {
    /// World rank.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// Records in its file.
    pub records: u64,
    /// Calls of the application that are counted, those under way included.
    pub calls: u64,
    /// Calls of the MPI library itself.
    pub internal_calls: u64,
    /// Ends of messages.
    pub message_ends: u64,
    /// Calls by operation.
    pub calls_by_operation: BTreeMap<String, u64>,
    /// Calls by operation and kind of communicator.
    pub calls_by_class: BTreeMap<String, u64>,
    /// Sum of its waits in complete instances.
    pub wait_ns: i128,
    /// The same, if only processes of its own host counted.
    pub wait_within_hosts_ns: i128,
    /// Instances to which it came last, alone.
    pub last: u64,
    /// Instances to which it came first, alone.
    pub first: u64,
    /// Whether recording ended in MPI_Finalize.
    pub finalized: bool,
    /// The call under way at its end.
    pub in_flight: Option<TrueInFlight>,
}

/// What `truth.json` holds.
#[derive(Debug, Clone, Serialize)]
pub struct Truth {
    /// `collbench.truth/1`.
    pub schema: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// From leaving MPI_Init, which all ranks do at once, to the last leaving MPI_Finalize, or to
    /// the last instant at which anything was recorded.
    pub duration_ns: u64,
    /// Calls of the application in all files.
    pub calls: u64,
    /// All communicators, in the order in which they were made.
    pub communicators: Vec<TrueCommunicator>,
    /// Sorted by operation, communicator, root, class.
    pub operations: Vec<TrueOperation>,
    /// Messages that were sent, of which the sending end is in the trace.
    pub messages: u64,
    /// Of those operations that are seen inside; sorted like them, then by shape.
    pub trees: Vec<TrueTree>,
    /// By world rank.
    pub ranks: Vec<TrueRank>,
}

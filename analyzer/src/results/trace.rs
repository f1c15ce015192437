//! What was recorded, and what of it is missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::code::Code;

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceSummary {
    /// Where it is, as given.
    pub directory: String,
    /// What was run.
    pub command: Vec<String>,
    /// The first line of the MPI library's version string.
    pub mpi_library: String,
    /// Processes in the world.
    pub ranks: u32,
    /// Names of the hosts, by the lowest rank on each.
    pub hosts: Vec<String>,
    /// Calls of the application, whatever restriction was asked for.
    pub calls: u64,
    /// Messages that the MPI library sent inside collectives; `None` unless all processes recorded
    /// them.
    pub messages: Option<u64>,
    /// Counts of their ends; `None` where `messages` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_ends: Option<MessageEndCounts>,
    /// Payload of the calls, bytes.
    pub bytes: u64,
    /// From leaving `MPI_Init` (the first) to the last stamp, ns.
    pub duration_ns: i64,
    /// Whether nothing is missing.
    pub complete: bool,
    /// What was recorded and what not, by name.
    pub layers: BTreeMap<String, LayerSummary>,
    /// What is missing.
    pub damage: Vec<DamageSummary>,
    /// What the rings have retained; `None` without rings.
    pub window: Option<WindowSummary>,
    /// Hosts with more ranks than cores that these may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_cores: Vec<SharedCores>,
}

/// Ranks of a host that share fewer cores than they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedCores {
    /// The host.
    pub host: String,
    /// How many ranks.
    pub ranks: u32,
    /// How many cores.
    pub cores: u32,
}

/// Counts of messages by which of their ends are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageEndCounts {
    /// Messages of complete instances, of which both ends are known.
    pub paired: u64,
    /// Among them those received from any process: paired as a set.
    pub from_any: u64,
    /// Of the others, those received before they were sent, on the time of the analysis.
    pub received_before_sent: u64,
    /// Sends inside complete instances that no receive is known of.
    pub unpaired_sends: u64,
    /// Receives inside complete instances that no send is known of.
    pub unpaired_receives: u64,
    /// Sends in collectives that join groups (MPI_Intercomm_create, MPI_Comm_accept, ...) to the
    /// other group, which is an instance of its own.
    pub sends_to_other_groups: u64,
    /// Receives there.
    pub receives_from_other_groups: u64,
    /// Sends in no complete instance.
    pub sends_elsewhere: u64,
    /// Receives in no complete instance.
    pub receives_elsewhere: u64,
}

/// What the rings have retained of the calls (`collbench-record --keep`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowSummary {
    /// Bytes that were asked for, per rank.
    pub keep_bytes: u64,
    /// From when on all calls of all ranks are there, ns since the start; `None`: from the start.
    pub from_ns: Option<i64>,
    /// Records that were overwritten, or are from before the window of their rank.
    pub records_dropped: u64,
    /// Calls of the application among those.
    pub calls_dropped: u64,
    /// Calls of the application in all, dropped or not.
    pub calls_made: u64,
    /// Instances of which the calls of some ranks are retained and those of others overwritten.
    pub instances_cut: u64,
    /// The retained calls of these: counted, but in no figure.
    pub calls_of_cut: u64,
    /// By rank.
    pub ranks: Vec<RankWindow>,
}

/// What the ring of one rank has retained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankWindow {
    /// World rank.
    pub rank: u32,
    /// From when on all of its calls are there, ns since the start; `None`: from the start.
    pub from_ns: Option<i64>,
    /// Records that were overwritten, or are from before the window of their rank.
    pub records_dropped: u64,
    /// Calls of the application among those.
    pub calls_dropped: u64,
    /// Calls of the application in all.
    pub calls_made: u64,
}

/// Whether a layer was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayerSummary {
    /// On in all processes.
    pub on: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// One finding on one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DamageSummary {
    /// The rank; `None` for a file that does not say whose it is.
    pub rank: Option<u32>,
    /// What is missing, with file and offset.
    pub what: String,
    /// The call that was under way.
    pub in_flight: Option<InFlightSummary>,
}

/// A call that was under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InFlightSummary {
    /// What was called.
    pub operation: Code,
    /// The call that was to complete it, such as `MPI_Wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completing: Option<Code>,
    /// Id of the communicator.
    pub communicator: Option<usize>,
    /// Position among the calls on it, from 0.
    pub sequence: Option<u64>,
}

//! Figures of the messages inside collectives, as plain types. Ranks are world ranks, times are in
//! ns. Down is towards the root, up is from the root, as in Bongo et al.

use collbench_stats::distribution::Summary;
use serde::{Deserialize, Serialize};

use crate::measure::critical_path::Doubt;
use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::sums::serialization::SerializationPoint;

/// Whether a one-way time between two hosts is significant, given the errors of their clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OneWayClass {
    /// Both ends read one clock.
    OneClock,
    /// Above 1.5 times the uncertainty.
    Resolved,
    /// Above a third of that.
    Likely,
    /// Below, or without a common time.
    NotResolvable,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

impl OneWayClass {
    /// Class of a one-way time, with the uncertainty of the clocks at both ends, ns.
    ///
    /// # Source
    /// `docs/metrics.md`, "Clocks": resolved above 1.5 times the uncertainty, likely above a third of that.
    #[must_use]
    pub fn of(difference_ns: Option<i64>, uncertainty_ns: Option<i64>) -> Self {
        let (Some(difference), Some(uncertainty)) = (difference_ns, uncertainty_ns) else {
            return Self::NotResolvable;
        };
        let difference = difference.unsigned_abs();
        let uncertainty = uncertainty.unsigned_abs();
        if difference.saturating_mul(2) > uncertainty.saturating_mul(3) {
            Self::Resolved
        } else if difference.saturating_mul(2) > uncertainty {
            Self::Likely
        } else {
            Self::NotResolvable
        }
    }
}

/// Times of the messages over an edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferSummary {
    /// Completion of the receive - max(begin of the send, begin of the receive), per message.
    pub transfer_ns: Option<Summary>,
    /// 10th percentile of the transfer time.
    pub transfer_p10_ns: Option<i64>,
    /// Max(0, begin of the receive - begin of the send), per message. For a nonblocking collective,
    /// a receiver can receive from the enter of the call in which it does.
    pub late_receiver_ns: Option<Summary>,
    /// The part of it in which the receiver, having initiated the collective, was in no call of
    /// MPI, so that nothing progressed there; over the messages for which it is known; `None` for
    /// blocking collectives.
    pub late_progress_ns: Option<Summary>,
    /// Round trip minus the time at the other end, per instance; of an edge used in both
    /// directions. Needs no common time.
    pub two_way_ns: Option<Summary>,
    /// Significance of the median of the transfer time.
    pub one_way_class: OneWayClass,
}

/// What was measured inside the instances of one graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeFigures {
    /// Instances.
    pub n: u64,
    /// The nodes of a tree, by rank; empty for an exchange.
    pub joining_points: Detail<Vec<Join>>,
    /// The load-imbalance graph towards the root, along its heaviest edges: at each node the
    /// contributor that arrived last most often, from the root to the process that caused it. Empty
    /// where nothing goes to the root.
    pub last_path: Vec<LastArrival>,
    /// The rounds of an exchange, by rank; empty for a tree, and above 2,048 of them.
    pub rounds: Detail<Vec<RoundSummary>>,
    /// The paths of the processes' data, in classes, the slowest first.
    pub ways: Detail<Vec<PathClass>>,
    /// The path of each process, for pictures.
    #[serde(skip)]
    pub lines: Vec<PathLine>,
    /// The costliest stage of the slowest paths.
    pub hotspot: Option<Hotspot>,
    /// The critical paths; `None` where none is known.
    pub critical_path: Option<CriticalPathSummary>,
    /// Instances whose critical path is unknown, by reason, most first. They are not in
    /// `critical_path`.
    pub critical_path_unknown: Vec<UnknownPaths>,
    /// Progress of a nonblocking collective.
    pub progress: Option<ProgressSummary>,
}

/// How long a nonblocking collective could not progress because no process was in MPI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgressSummary {
    /// Instances for which it is known when each process was in MPI, and whose hosts have a common
    /// time.
    pub instances: u64,
    /// Sum of their durations.
    pub duration_ns: i64,
    /// Time per instance, between the last initiation and the first completion, in which no process
    /// was in MPI.
    pub nobody_in_mpi_ns: Option<Summary>,
}

/// A node of a tree, where contributors meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Join {
    /// Its process.
    pub rank: u32,
    /// In a spanning tree of our own, its wrappers: indexes in `own.wrappers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrappers: Vec<u32>,
    /// Contributors to data that go to the root: its own process first, then children.
    pub arrivals: Vec<Contributor>,
    /// Receivers of data that come from the root: its own process first, then children.
    pub departures: Vec<Contributor>,
    /// Forwarding time towards the root: send to the parent - last arrival.
    pub down_ns: Option<Summary>,
    /// Forwarding time from the root: first departure - receipt from the parent.
    pub up_ns: Option<Summary>,
    /// At the root: first departure - last arrival.
    pub core_ns: Option<Summary>,
    /// The mean of departure - receiving from the parent, by position in the order of departure.
    pub serialization: Vec<SerializationPoint>,
}

/// A contributor at a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contributor {
    /// Its rank.
    pub rank: u32,
    /// In a spanning tree of our own, its wrappers; none if it is a process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrappers: Vec<u32>,
    /// Last arrival - own; own departure - first.
    pub wait_ns: Option<Summary>,
    /// How often it was at each position, where that is resolved.
    pub order: Vec<u64>,
}

/// Who arrived last most often at a node: a child, or the node's own process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastArrival {
    /// The node.
    pub node: u32,
    /// Who arrived last.
    pub last: u32,
    /// In a spanning tree of our own, the wrappers of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_wrappers: Vec<u32>,
    /// In a spanning tree of our own, the wrappers of who arrived last; none if it is a process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_wrappers: Vec<u32>,
    /// How often.
    pub times: u64,
    /// Instances in which it is resolved who arrived last.
    pub resolved: u64,
}

/// A round of one process in an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundSummary {
    /// The process.
    pub rank: u32,
    /// Which of its rounds, from 0.
    pub round: usize,
    /// The sender whose message arrived last, if it was the same in all instances.
    pub from: Option<u32>,
    /// From the round before (or the enter) to beginning to receive.
    pub local_ns: Option<Summary>,
    /// From there to the partner's sending.
    pub late_sender_ns: Option<Summary>,
    /// End of the receive - max(begin of the send, begin of the receive).
    pub transfer_ns: Option<Summary>,
    /// 10th percentile of the transfer time.
    pub transfer_p10_ns: Option<i64>,
}

/// Kinds of stages of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// From the enter to sending, of a process that waits for nobody before.
    Entry,
    /// At a node, waiting for the last to arrive; where arrivals are unknown, up to the send to the
    /// parent.
    ArrivalWait,
    /// At a node, forwarding towards the root: from the last arrival to the send to the parent.
    NodeDown,
    /// On an edge, the receiver is not ready.
    LateReceiver,
    /// On an edge, the receiver has initiated the collective but is in no call of MPI; without an
    /// edge, the process itself does not check yet whether all is done.
    LateProgress,
    /// On an edge.
    Transfer,
    /// Round trip over an edge, where the two directions cannot be separated.
    TwoWay,
    /// At the root, from the last arrival to the first departure.
    Core,
    /// At a node, from the first departure to the own one: serialization.
    DepartureWait,
    /// At a node, forwarding from the root: from the receipt to the first departure.
    NodeUp,
    /// From the receipt to the leave, of a process that forwards nothing.
    Exit,
    /// In a round of an exchange, before beginning to receive.
    Local,
    /// In a round of an exchange, for the partner.
    LateSender,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// A stage of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStage {
    /// What it is.
    pub kind: StageKind,
    /// At which process; of an edge the receiver's.
    pub node: u32,
    /// Of an edge the sender.
    pub from: Option<u32>,
    /// `down`: towards the root, `up`: from it.
    pub direction: Option<Code>,
    /// In an exchange, from 0.
    pub round: Option<usize>,
    /// Mean over the instances of the path, ns; instances without this stage count as 0.
    pub mean_ns: i64,
    /// Median, ns; of an edge with several messages per instance the mean.
    pub median_ns: i64,
    /// Standard deviation over the instances that have it, ns; `None` for one instance, and for an
    /// edge with several messages per instance.
    #[serde(default)]
    pub sd_ns: Option<i64>,
    /// Instances that have it.
    pub n: u64,
    /// In a spanning tree of our own, the wrappers that it is about: of an edge its proxy, of a node
    /// those between whose event collectors it lies. Indexes in `own.wrappers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrappers: Vec<u32>,
}

/// The path of the data of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLine {
    /// Its rank.
    pub rank: u32,
    /// Its stages, in order.
    pub stages: Vec<PathStage>,
}

/// Paths with equal stages and similar times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathClass {
    /// The processes.
    pub ranks: Vec<u32>,
    /// The process nearest to their mean.
    pub representative: u32,
    /// Time of the whole path of the representative; `None` without a common time.
    pub way_ns: Option<Summary>,
    /// Its stages, in order.
    pub stages: Vec<PathStage>,
    /// Part of the mean of the whole path that is in no stage.
    pub unattributed_ns: Option<i64>,
}

/// The stage with the largest share of the slowest paths. Waits for data of other paths are left
/// out, since they are a cost of those paths: waits for contributors that arrive later at a node,
/// for a parent that is not ready to receive, and for late senders in an exchange. Medians are
/// compared, so a few instances with a long preemption do not hide where all others spend their
/// time; the cost of those is in the critical path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hotspot {
    /// The stage.
    #[serde(flatten)]
    pub stage: PathStage,
    /// Mean of its share of those paths, without these waits, 0 to 1.
    pub share: f64,
    /// Whether the stage, if it is a departure wait, is that of a node from its first send to its leave; `false`
    /// for a child that waits behind its siblings.
    #[serde(default)]
    pub serves: bool,
    /// The processes of those paths.
    pub ranks: Vec<u32>,
}

/// Instances whose critical path is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownPaths {
    /// Why.
    pub reason: Doubt,
    /// Instances.
    pub instances: u64,
}

/// How many critical paths begin elsewhere than at the last process to arrive, in operations in
/// which all wait for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeginsElsewhere {
    /// Instances with a known critical path.
    pub of_instances: u64,
    /// The path begins at another process, and the clocks do not resolve which of the two arrived
    /// last.
    pub unresolved: u64,
    /// When the last process arrived, the path was on a message, which took longer.
    pub on_message: u64,
    /// When the last process arrived, the path was in a process, which took longer.
    pub in_process: u64,
}

/// Where critical paths begin, and their hops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPathSummary {
    /// Instances whose critical path is known.
    pub instances: u64,
    /// Sum of their durations.
    pub duration_ns: i64,
    /// Processes at whose enter paths begin, the most frequent first.
    pub begins: Detail<Vec<BeginSummary>>,
    /// How many begin elsewhere than at the last to arrive; `None` where not all wait for all.
    pub begins_elsewhere: Option<BeginsElsewhere>,
    /// Hops, by time, the longest first.
    pub hops: Detail<Vec<HopSummary>>,
    /// Processes on the paths, by time, the longest first.
    pub stays: Detail<Vec<StaySummary>>,
}

/// A process at which critical paths begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeginSummary {
    /// The process.
    pub rank: u32,
    /// Instances.
    pub instances: u64,
    /// Sum of its enter minus the first enter, ns.
    pub late_ns: i64,
}

/// A hop of critical paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopSummary {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Instances.
    pub instances: u64,
    /// Sum of the time spent on it, ns.
    pub total_ns: i64,
    /// Instances in which it was the longest hop.
    pub longest: u64,
}

/// A process on critical paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StaySummary {
    /// The process.
    pub rank: u32,
    /// Instances.
    pub instances: u64,
    /// Sum of the time spent there between enter, messages and leave, ns.
    pub total_ns: i64,
}

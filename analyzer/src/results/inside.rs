//! What the analysis says of the inside of a tree: plain types. Ranks are world ranks, times ns.

use collbench_stats::distribution::Summary;
use serde::{Deserialize, Serialize};

use crate::measure::critical_path::Doubt;
use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::sums::serialization::SerializationPoint;

/// Whether a difference between the clocks of two hosts means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    Newer,
}

impl OneWayClass {
    /// That of a time one way, with the uncertainty of the clocks at both ends, ns.
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

/// What the messages over an edge took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferSummary {
    /// Completion of the receive - max(begin of the send, begin of the receive), per message.
    pub transfer_ns: Option<Summary>,
    /// A tenth of the messages took less.
    pub transfer_p10_ns: Option<i64>,
    /// Max(0, begin of the receive - begin of the send), per message. Where the collective is
    /// nonblocking, a receiver is there to receive from the begin of the call in which it does.
    pub late_receiver_ns: Option<Summary>,
    /// What of that the receiver, which had begun the collective, was in no call of MPI: nothing
    /// progressed there. Of those messages of which that is known; `None` for blocking collectives.
    pub late_progress_ns: Option<Summary>,
    /// There and back without the stay at the other end, per instance; of an edge towards the root
    /// with one back. Needs no common time.
    pub two_way_ns: Option<Summary>,
    /// What the median of the transfer is worth.
    pub one_way_class: OneWayClass,
}

/// What was measured inside the instances of one graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeFigures {
    /// Instances.
    pub n: u64,
    /// The nodes of a tree, by rank; empty for an exchange.
    pub joining_points: Detail<Vec<Join>>,
    /// The load-imbalance graph of the way down, along its heaviest edges from the root: at each
    /// node who arrived last most often, down to the process that did. Empty where nothing goes
    /// down.
    pub last_path: Vec<LastArrival>,
    /// The rounds of an exchange, by rank; empty for a tree, and above 2,048 of them.
    pub rounds: Detail<Vec<RoundSummary>>,
    /// The ways of the processes' data, alike ones together, the slowest first.
    pub ways: Detail<Vec<PathClass>>,
    /// The way of each process, for pictures.
    #[serde(skip)]
    pub lines: Vec<PathLine>,
    /// Where most of the slowest ways goes.
    pub hotspot: Option<Hotspot>,
    /// What the last to leave waited for; `None` where that is known of no instance.
    pub critical_path: Option<CriticalPathSummary>,
    /// Instances of which it is not known, by why; most first. They are not in `critical_path`.
    pub critical_path_unknown: Vec<UnknownPaths>,
    /// Of a collective that is nonblocking: whether there were any.
    pub progress: Option<ProgressSummary>,
}

/// For how long a collective that was begun could not go on, since no process was in MPI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressSummary {
    /// Instances of which it is known when each process was in MPI, and which have a common time.
    pub instances: u64,
    /// Sum of their durations.
    pub duration_ns: i64,
    /// Per instance, from the last initiation to the first completion: nobody was in MPI.
    pub nobody_in_mpi_ns: Option<Summary>,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Its process.
    pub rank: u32,
    /// Who meets there on the way down: its own process first, then children.
    pub arrivals: Vec<Contributor>,
    /// Who parts there on the way up, likewise.
    pub departures: Vec<Contributor>,
    /// Sending on to the parent - last arrival.
    pub down_ns: Option<Summary>,
    /// First departure - receiving from the parent.
    pub up_ns: Option<Summary>,
    /// At the root: first departure - last arrival.
    pub core_ns: Option<Summary>,
    /// The mean of departure - receiving from the parent, by position in the order of departure.
    pub serialization: Vec<SerializationPoint>,
}

/// One of those who meet at a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contributor {
    /// Its rank.
    pub rank: u32,
    /// Last arrival - own; own departure - first.
    pub wait_ns: Option<Summary>,
    /// How often it was at each position, where that is resolved.
    pub order: Vec<u64>,
}

/// Who arrived last most often at a node: a child, or the node's own process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastArrival {
    /// The node.
    pub node: u32,
    /// Who arrived last.
    pub last: u32,
    /// How often.
    pub times: u64,
    /// Of how many instances in which that is resolved.
    pub resolved: u64,
}

/// A round of one process in an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundSummary {
    /// The process.
    pub rank: u32,
    /// Which of its rounds, from 0.
    pub round: usize,
    /// Who sent what arrived last, if that was always the same.
    pub from: Option<u32>,
    /// From the round before (or the enter) to beginning to receive.
    pub local_ns: Option<Summary>,
    /// From there to the partner's sending.
    pub late_sender_ns: Option<Summary>,
    /// From then on to having it.
    pub transfer_ns: Option<Summary>,
    /// A tenth of these took less.
    pub transfer_p10_ns: Option<i64>,
}

/// What a stage of a way is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// From the enter to sending, of a process that waits for nobody before.
    Entry,
    /// At a node, for the last to arrive; where it is not seen when they do, up to sending on.
    ArrivalWait,
    /// At a node, from the last arrival to sending on.
    NodeDown,
    /// On an edge, the owner at the other end not being ready.
    LateReceiver,
    /// On an edge, the owner at the other end being in no call of MPI though it has begun; without
    /// an edge, a process itself that does not ask yet whether all is done.
    LateProgress,
    /// On an edge.
    Transfer,
    /// On an edge there and back, where the two cannot be distinguished.
    TwoWay,
    /// At the root, from the last arrival to the first departure.
    Core,
    /// At a node, from the first departure to one's own.
    DepartureWait,
    /// At a node, from receiving to the first departure.
    NodeUp,
    /// From having it to the leave, of a process that hands nothing on.
    Exit,
    /// In a round of an exchange, before beginning to receive.
    Local,
    /// In a round of an exchange, for the partner.
    LateSender,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    Newer,
}

/// A stage of a way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The mean over the instances of the way; in those without this stage it takes no time.
    pub mean_ns: i64,
    /// The median; of an edge over which an instance sends several messages the mean.
    pub median_ns: i64,
    /// Instances that have it.
    pub n: u64,
}

/// The way of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLine {
    /// Its rank.
    pub rank: u32,
    /// Its stages, in order.
    pub stages: Vec<PathStage>,
}

/// Ways that are alike: the same stages, about the same times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathClass {
    /// Whose they are.
    pub ranks: Vec<u32>,
    /// The one nearest to their mean.
    pub representative: u32,
    /// How long the way of the representative takes; `None` without a common time.
    pub way_ns: Option<Summary>,
    /// Its stages, in order.
    pub stages: Vec<PathStage>,
    /// What of the mean way is in no stage.
    pub unattributed_ns: Option<i64>,
}

/// The stage with the largest share of the slowest ways. What is spent on a way waiting for what
/// comes on another one is left out: for those who arrive later at a node, for a parent that is not
/// ready yet to receive on the way down, for late senders in an exchange. It is a cost of the others.
/// Medians decide: a few instances in which somebody was descheduled for long do not hide where all
/// others spend their time; what those cost is in the critical path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hotspot {
    /// The stage.
    #[serde(flatten)]
    pub stage: PathStage,
    /// Its share of those ways, without these waits, in the mean of the ways.
    pub share: f64,
    /// Whose ways those are.
    pub ranks: Vec<u32>,
}

/// Instances of which it is not known what the last to leave waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownPaths {
    /// Why.
    pub reason: Doubt,
    /// Instances.
    pub instances: u64,
}

/// How many critical paths begin elsewhere than at the last process to arrive, where all wait for
/// all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginsElsewhere {
    /// Instances in which all wait for all: all that are known.
    pub of_instances: u64,
    /// It begins at another one, and the clocks do not tell which of the two arrived last.
    pub unresolved: u64,
    /// When the last one came, the path was on a message: that took longer.
    pub on_message: u64,
    /// When the last one came, the path was in a process: that took longer.
    pub in_process: u64,
}

/// Where the critical paths from the last leaves begin, and over which hops they go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPathSummary {
    /// Instances of which it is known.
    pub instances: u64,
    /// Sum of their durations.
    pub duration_ns: i64,
    /// By process at whose enter they begin, the most frequent first.
    pub begins: Detail<Vec<BeginSummary>>,
    /// How many begin elsewhere than at the last to arrive; `None` where not all wait for all.
    pub begins_elsewhere: Option<BeginsElsewhere>,
    /// By hop, the dearest first.
    pub hops: Detail<Vec<HopSummary>>,
    /// By process that they go through, the dearest first.
    pub stays: Detail<Vec<StaySummary>>,
}

/// A process at which critical paths begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginSummary {
    /// The process.
    pub rank: u32,
    /// Instances.
    pub instances: u64,
    /// How much later than the first it had entered those, in all.
    pub late_ns: i64,
}

/// A hop of critical paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopSummary {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Instances.
    pub instances: u64,
    /// What it took them, in all.
    pub total_ns: i64,
    /// Instances in which it was the longest hop.
    pub longest: u64,
}

/// A process that critical paths go through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaySummary {
    /// The process.
    pub rank: u32,
    /// Instances.
    pub instances: u64,
    /// What they spent there between enter, messages and leave, in all.
    pub total_ns: i64,
}

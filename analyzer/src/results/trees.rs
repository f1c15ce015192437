//! Results from messages: edges, and the graphs that instances executed.

use collbench_stats::distribution::Summary;
use collbench_stats::estimate::Estimate;
use serde::{Deserialize, Serialize};

use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::results::inside::{PathStage, StageKind, TransferSummary, TreeFigures};
use crate::sums::serialization::SerializationPoint;

/// Messages from one process to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgeSummary {
    /// World rank of the sender.
    pub from: u32,
    /// World rank of the receiver.
    pub to: u32,
    /// Messages, all instances together.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// `down`: towards a root, `up`: from it; `None`: neither can be said.
    pub direction: Option<Code>,
    /// Their times; `None` of nonblocking operations.
    #[serde(flatten)]
    pub measured: Option<TransferSummary>,
}

/// A graph that instances of an operation executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeSummary {
    /// The algorithm with this graph.
    pub algorithm: Option<String>,
    /// Other algorithms with the same graph at this number of processes. Where the graph
    /// contradicts the library's name, the algorithms that fit it.
    pub also: Vec<String>,
    /// The library's name of the algorithm, as in the operation.
    pub library_name: Option<String>,
    /// Whether data moved only along a spanning tree: towards its root, from it, or both.
    pub is_tree: bool,
    /// World rank of its root.
    pub root: Option<u32>,
    /// Edges on the longest path to the root.
    pub height: Option<u32>,
    /// Most children of one process.
    pub fan_out: Option<u32>,
    /// Instances that executed it.
    pub instances: u64,
    /// Smallest payload of a process in these, bytes.
    pub bytes_min: Option<u64>,
    /// Largest payload of a process in these, bytes.
    pub bytes_max: Option<u64>,
    /// Its edges, by sender and receiver.
    pub edges: Detail<Vec<EdgeSummary>>,
    /// What was measured at its nodes; `None` of nonblocking operations.
    #[serde(flatten)]
    pub figures: Option<TreeFigures>,
    /// What it is, if it is a spanning tree of our own. Then there are no messages and no `edges`,
    /// and `figures` are measured by event collectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnTreeSummary>,
}

/// A spanning tree of our own, and what only its event collectors show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnTreeSummary {
    /// Where it stands in the tree file.
    pub name: String,
    /// Ranks of the tree in each process: more than one if threads contribute.
    pub threads: u32,
    /// Instances that are not measured, since passes of event collectors are missing or contradict
    /// one another.
    pub without: u64,
    /// Its wrappers, contributors before their parents.
    pub wrappers: Vec<OwnWrapper>,
    /// Wrappers between which there is no event collector: their times are one sum.
    pub summed: Vec<Vec<u32>>,
    /// What its stages cost all who pass them, in the order of a path: towards the root, at the root,
    /// from the root.
    #[serde(default)]
    pub stages: Vec<TreeStage>,
    /// The subtrees of hosts, each measured as a gred is: all below the last wrapper that only ranks of
    /// one host pass, if these are several.
    #[serde(default)]
    pub subtrees: Vec<SubtreeSummary>,
    /// Times of the proxies with an event collector on both sides.
    pub proxies: Vec<ProxySummary>,
    /// Processes whose path was the slowest, the most frequent first: the longest without waits for
    /// those that arrive later.
    pub slowest: Vec<SlowestPath>,
    /// Instances in which it is known which path was the slowest.
    pub slowest_of: u64,
    /// The path of each process (of each of its threads), by rank.
    pub paths: Detail<Vec<RankPath>>,
}

/// A stage of a spanning tree of our own, over all who pass it: all contributors of a gred, all ranks
/// that enter there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeStage {
    /// What it is.
    pub kind: StageKind,
    /// `down`: towards the root, `up`: from it; `None`: at the root, or both together.
    pub direction: Option<Code>,
    /// The wrappers between whose event collectors it lies, or the proxy that it crosses; of `entry` and
    /// `exit` those that the ranks enter. None at the rank that is the root of the operation.
    pub wrappers: Vec<u32>,
    /// Its time.
    #[serde(flatten)]
    pub time: MeanTime,
}

/// The subtree of a host in a spanning tree of our own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubtreeSummary {
    /// Its last wrappers on the path to the root: between these there is no event collector.
    pub wrappers: Vec<u32>,
    /// The host.
    pub host: String,
    /// World ranks whose data pass it.
    pub ranks: Vec<u32>,
    /// From the arrival of the last of its ranks until it sends; `None` at the root, and where nothing
    /// goes to the root.
    pub down: Option<MeanTime>,
    /// From its receiving (at the root: the last arrival) to the first departure of its ranks; `None`
    /// where nothing comes from the root.
    pub up: Option<MeanTime>,
    /// Own departure - first departure, per rank.
    pub departure_wait: Option<MeanTime>,
    /// The mean of departure - receiving, by position in the order of departure: up latency and
    /// departure wait.
    pub serialization: Vec<SerializationPoint>,
}

/// The mean of some times, with what is known of its error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeanTime {
    /// Number of times.
    pub n: u64,
    /// Mean, ns.
    pub mean_ns: i64,
    /// Their standard deviation, ns; `None` of a single one.
    pub sd_ns: Option<i64>,
    /// 95 % interval of the mean, ns, by batches of consecutive instances; `None` with too few.
    pub interval_ns: Option<(i64, i64)>,
    /// Uncertainty of times between the clocks of two hosts, ns; `None` where one clock is involved.
    pub uncertainty_ns: Option<i64>,
    /// The mean with its standard error, for comparisons.
    #[serde(skip)]
    pub estimate: Option<Estimate>,
}

/// A wrapper of a spanning tree of our own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnWrapper {
    /// `gred`, `proxy`, `core` or `exchange`.
    pub kind: Code,
    /// World rank that acts for it.
    pub owner: u32,
    /// Host of that.
    pub host: String,
    /// What it joins, in the order in which values are combined.
    pub contributors: Vec<OwnContributor>,
    /// Index of the next wrapper on the path to the root; `None` for the bottommost one.
    pub parent: Option<u32>,
}

/// What contributes to a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OwnContributor {
    /// A process: its world rank.
    Rank(u32),
    /// A wrapper: its index.
    Wrapper(u32),
}

/// Times of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProxySummary {
    /// Its index among the wrappers.
    pub wrapper: u32,
    /// World rank that acts for what is before it.
    pub from: u32,
    /// World rank that receives what it sends.
    pub to: u32,
    /// Both directions together, per instance, each end on its own clock: (t4 - t1) - (t3 - t2).
    pub two_way_ns: Option<Summary>,
    /// Towards the bottommost wrapper, on aligned clocks.
    pub down: Option<TransferSummary>,
    /// Back, on aligned clocks.
    pub up: Option<TransferSummary>,
    /// Host of `from`.
    #[serde(default)]
    pub from_host: String,
    /// Host of `to`.
    #[serde(default)]
    pub to_host: String,
    /// The crossings that took longest, if they are outliers: at most 8 of each direction, the longest
    /// first.
    #[serde(default)]
    pub outliers: Vec<ProxyOutlier>,
}

/// A crossing of a proxy that took longer than the upper quartile plus 3 times the interquartile range,
/// and than twice the median.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProxyOutlier {
    /// `down`: towards the root, `up`: from it; `None`: both together, where the hosts have no common
    /// time.
    pub direction: Option<Code>,
    /// How long it took.
    pub ns: i64,
    /// Position of its instance among the calls on the communicator, from 0.
    pub sequence: u64,
    /// The last enter of its instance.
    pub at_ns: i64,
}

/// How often the path of a process was the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowestPath {
    /// World rank.
    pub rank: u32,
    /// Which of its threads, from 0.
    pub thread: u32,
    /// Instances.
    pub instances: u64,
}

/// The path of one process, stage by stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankPath {
    /// World rank.
    pub rank: u32,
    /// Which of its threads, from 0.
    pub thread: u32,
    /// The whole path: own leave - own enter; where data flow only to the root, its leave - own
    /// enter; where they flow only from there, own leave - its enter.
    pub path_ns: Option<Summary>,
    /// The same without waits for those that arrive later; `None` of a root to which data flow, which
    /// waits for the paths of others only.
    #[serde(default)]
    pub without_waits: Option<MeanTime>,
    /// Its stages, in order.
    pub stages: Vec<PathStage>,
    /// Part of the mean of the whole path that is in no stage.
    pub unattributed_ns: Option<i64>,
}

/// Instances of an operation whose messages are in none of its trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideTrees {
    /// Instances of graphs beyond those that are retained.
    pub other_graphs: u64,
    /// Instances in which no message was seen, though there was something to be sent.
    pub opaque: u64,
    /// Ends of messages inside instances whose other end is not known.
    pub unpaired: u64,
}

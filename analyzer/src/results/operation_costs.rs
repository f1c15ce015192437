//! Costs of operation time: what collectives take longer than they need to, with the reason.

use serde::{Deserialize, Serialize};

use crate::measure::critical_path::Doubt;

/// What was found of the operation time of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationCosts {
    /// Reasons, by cost, the largest first; each costs at least 1 % of the time of all ranks, or makes them wait so
    /// long in later operations.
    pub causes: Vec<OperationCause>,
    /// Operations whose operation time is at least 1 % of the time of all ranks, and of which it
    /// is unknown why, by that time, the longest first.
    pub unexplained: Vec<UnexplainedOperation>,
}

/// A reason why collectives take longer than they need to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationCause {
    /// The kind of reason.
    pub kind: OperationCauseKind,
    /// Where the cost arises.
    pub place: CausePlace,
    /// Index of the operation; of a link that several use, the one that it costs most.
    pub operation: usize,
    /// Other operations that it costs something.
    pub others: Vec<usize>,
    /// Operation time of all ranks together that it costs, ns.
    pub cost_ns: i64,
    /// Operation time that it costs on the critical path of an instance of the operation, ns.
    pub per_instance_ns: i64,
    /// Instances of the operation, and of the others.
    pub instances: u64,
    /// By how much the run can be shorter without it, ns: an upper bound.
    #[serde(default)]
    pub run_shorter_ns: i64,
    /// How sure it is.
    pub confidence: Confidence,
    /// The figures behind it.
    pub facts: CostFacts,
}

impl OperationCause {
    /// Puts another one together with it; the costlier one says what it is like.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if other.cost_ns > self.cost_ns {
            std::mem::swap(self, &mut other);
        }
        self.others.push(other.operation);
        self.others.append(&mut other.others);
        self.others.sort_unstable();
        self.others.dedup();
        self.others.retain(|&of| of != self.operation);
        self.cost_ns = self.cost_ns.saturating_add(other.cost_ns);
        self.instances += other.instances;
        self.run_shorter_ns = self.run_shorter_ns.saturating_add(other.run_shorter_ns);
    }
}

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OperationCauseKind {
    /// Messages between two ranks of one host take much longer than those between others.
    SlowHop,
    /// Messages between two hosts take much longer than those between others.
    SlowLink,
    /// The critical path crosses between sites, or hosts, more often than necessary, and ranks are not in their order.
    Placement,
    /// The algorithm needs many more steps than necessary.
    Algorithm,
    /// A node serves many children one after another.
    Serialization,
    /// Most of the time is the transfer of data, and nobody is late.
    Transfer,
    /// A nonblocking collective does not progress between initiation and completion.
    NoProgress,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// Where a cost arises.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CausePlace {
    /// Between two hosts, in either direction.
    Hosts {
        /// The host with the lower rank.
        from: String,
        /// The host with the higher rank.
        to: String,
    },
    /// Between two ranks, in either direction.
    Ranks {
        /// The lower rank.
        from: u32,
        /// The higher rank.
        to: u32,
    },
    /// At a rank that is a node of the tree.
    Node(u32),
    /// On a communicator, by its id.
    Communicator(Option<usize>),
    /// At a rank.
    Rank(u32),
    /// At the ranks of a host.
    Host(String),
}

/// How sure a reason is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The reason rests on an assumption, or on a single kind of evidence.
    Likely,
    /// The reason was measured.
    Sure,
}

/// The figures behind a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostFacts {
    /// Figures of a slow hop or link.
    Link {
        /// Median transfer time of its messages, ns.
        median_ns: i64,
        /// Median of the same class and size between others, ns.
        usual_ns: i64,
        /// Messages behind `median_ns`.
        n: u64,
        /// Smallest round trip of the exchanges between the two hosts; `None` where not measured.
        round_trip_ns: Option<i64>,
        /// Median of the round trips of other hosts of the class; `None` with fewer than two.
        usual_round_trip_ns: Option<i64>,
    },
    /// Figures of needless crossings between sites, or between hosts where there is one site.
    Placement {
        /// Edges between two of them.
        crossings: u64,
        /// As few as there can be.
        fewest: u64,
        /// Crossings on the critical path of an instance, mean.
        on_path: f64,
        /// As many as the operation needs there.
        #[serde(default)]
        needed_on_path: u64,
        /// Time of one crossing, ns.
        crossing_ns: i64,
        /// Whether the same messages would cross less often with the ranks in the order of sites and hosts.
        #[serde(default)]
        is_of_order: bool,
        /// Sites of the ranks of the communicator.
        sites: usize,
        /// Hosts of these ranks.
        #[serde(default)]
        hosts: usize,
        /// Whether a spanning tree of our own can be put in its place, and crosses less often.
        #[serde(default)]
        can_use_tree: bool,
    },
    /// Figures of transfers that take long because of their data.
    Transfer {
        /// Bytes over the link on the critical path of an instance, mean.
        bytes: u64,
        /// What they take, ns.
        transfer_ns: i64,
        /// Bytes per second.
        bytes_per_s: u64,
        /// The most bytes per second of messages between hosts (or sites, or within hosts) in the run.
        most_per_s: u64,
        /// How often the data of one rank cross the link in one direction in an instance, mean; `None` where each
        /// rank has data of its own.
        times: Option<f64>,
        /// Whether the messages are within a host.
        is_in_host: bool,
        /// Whether a spanning tree of our own can be put in its place.
        can_use_tree: bool,
    },
    /// Figures of one rank that receives far more than any other, where each says how much it sends to each.
    Received {
        /// Bytes that it receives in an instance, mean.
        bytes: u64,
        /// Bytes that another rank receives, mean.
        others_bytes: u64,
    },
    /// Figures of an algorithm.
    Algorithm {
        /// What takes the time.
        trouble: AlgorithmTrouble,
        /// Mean time on the critical path of an instance, without slow links and needless
        /// crossings, ns.
        path_ns: i64,
        /// Time that the fewest possible hops would take, ns.
        needed_ns: i64,
        /// Ranks of the communicator.
        ranks: usize,
        /// Largest payload of a rank, bytes.
        bytes: u64,
    },
    /// Figures of a serialization.
    Serialization {
        /// Children that the node serves.
        children: u64,
        /// Mean time between the first and the last child that is served, ns.
        spread_ns: i64,
        /// Mean time on the critical path of an instance, ns.
        path_ns: i64,
        /// Time that the fewest possible hops would take, ns.
        needed_ns: i64,
    },
    /// Figures of a nonblocking collective without progress.
    NoProgress {
        /// Mean time per instance in which no rank was in MPI, between the last initiation and the
        /// first completion, ns; `None` where some rank was in MPI all the time.
        nobody_in_mpi_ns: Option<i64>,
        /// Mean time of a rank between initiation and completion, ns.
        between_ns: i64,
        /// Mean time of the completing call without the wait for ranks that initiate late, ns.
        completion_ns: i64,
    },
}

/// What takes the time in an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlgorithmTrouble {
    /// Each of many hops waits for the one before.
    Depth {
        /// Hops on the critical path of an instance, mean.
        hops: u64,
        /// Fewest possible of them.
        fewest: u64,
    },
    /// One node exchanges messages with all others, one after another.
    Linear {
        /// Ranks that it serves.
        children: u64,
    },
    /// Data go over each edge in many small messages.
    Segments {
        /// Messages per edge and instance.
        n: u64,
        /// Mean size of one, bytes.
        bytes: u64,
    },
}

/// An operation of which it is unknown why it takes that long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexplainedOperation {
    /// Index of the operation.
    pub operation: usize,
    /// Call time of all ranks without waits, ns.
    pub operation_time_ns: i64,
    /// Why it is unknown.
    pub why: WhyUnexplained,
}

/// Why it is unknown what operation time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyUnexplained {
    /// Messages were not recorded.
    NoMessages,
    /// No message was seen, though there was something to be sent.
    Opaque,
    /// The critical paths are not known.
    PathUnknown(Doubt),
}

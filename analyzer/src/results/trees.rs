//! Results from messages: edges, and the graphs that instances executed.

use serde::{Deserialize, Serialize};

use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::results::inside::{TransferSummary, TreeFigures};

/// Messages from one process to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Instances of an operation whose messages are in none of its trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideTrees {
    /// Instances of graphs beyond those that are retained.
    pub other_graphs: u64,
    /// Instances in which no message was seen, though there was something to be sent.
    pub opaque: u64,
    /// Ends of messages inside instances whose other end is not known.
    pub unpaired: u64,
}

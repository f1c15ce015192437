//! The tree of an operation: parents and children, transfer times and waits.
//!
//! Drawn like a listing of folders: one row per process, below its parent and further to the right,
//! so that a tree of a hundred processes can be read like one of eight; of more than
//! [`abbreviate::MAX_ROWS`] processes those are shown whose hops stand out, and those near the root. Children on one host are
//! adjacent, and the host is named once for all of them. Lines are the edges, thicker and darker
//! where a transfer takes longer than is usual within a host or between hosts; the fill of a node is
//! the wait of its process. Figures with bars are beside each row.

mod abbreviate;
mod draw;

use crate::Text;
use crate::timemap::{Heading, StageTime};

/// A process in a tree.
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// Name of the process: `rank 3`.
    pub name: Text,
    /// Host of the process.
    pub host: Text,
    /// Index of its parent in the list of nodes; `None` without a parent.
    pub parent: Option<usize>,
    /// Name of the process that it sends to on the path to the root, if that is not its parent
    /// here.
    pub other_parent: Option<Text>,
    /// Mean transfer time to the parent, or to that other process.
    pub down: Option<StageTime>,
    /// Mean transfer time from the parent.
    pub up: Option<StageTime>,
    /// Messages to the parent, or to that other process, in all instances.
    pub sent_down: Option<Messages>,
    /// Messages from the parent in all instances.
    pub sent_up: Option<Messages>,
    /// Mean wait of its process there, see [`Waits`].
    pub wait: Option<StageTime>,
}

impl TreeNode {
    /// A process of which nothing was measured.
    pub fn unmeasured(name: impl Into<Text>, host: impl Into<Text>, parent: Option<usize>) -> Self {
        Self {
            name: name.into(),
            host: host.into(),
            parent,
            other_parent: None,
            down: None,
            up: None,
            sent_down: None,
            sent_up: None,
            wait: None,
        }
    }
}

/// The messages over a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// Number of messages.
    pub n: u64,
    /// Sum of their bytes.
    pub bytes: u64,
    /// Number of instances that sent them.
    pub instances: u64,
}

/// What processes wait for in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// At their own node, for later arrivals on the path to the root.
    ForOthers,
    /// At the node of their parent behind their siblings, in a tree that only leads from the root.
    ForSiblings,
}

impl Waits {
    fn words(self) -> &'static str {
        match self {
            Self::ForOthers => "wait for others",
            Self::ForSiblings => "wait behind siblings",
        }
    }
}

/// The tree of some instances of an operation.
///
/// # Source
/// Bongo et al. 2004, figure 1: the tree of an allreduce over hosts. Here the observed one is
/// drawn, with its times.
#[derive(Debug, Clone)]
pub struct Tree {
    heading: Heading,
    nodes: Vec<TreeNode>,
    waits: Waits,
    /// Whether it is a tree as it is planned, of which nothing was measured.
    is_plan: bool,
    /// Of a plan, what each node does.
    notes: Vec<Text>,
    /// Rows in the order in which they are drawn.
    rows: Vec<Row>,
    /// Number of processes in the tree.
    n_processes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    node: usize,
    depth: usize,
    /// Row of the parent.
    parent: Option<usize>,
    /// Number of the colour of the slowest hop, for a row that stands for several processes; else `None`.
    rest: Option<usize>,
}

impl Tree {
    /// A tree of these nodes. A parent that does not exist counts as none; nodes that cannot be
    /// reached from a node without a parent are left out.
    pub fn new(heading: Heading, waits: Waits, nodes: Vec<TreeNode>) -> Tree {
        let rows = rows(&nodes);
        Tree {
            heading,
            nodes,
            waits,
            is_plan: false,
            notes: Vec::new(),
            n_processes: rows.len(),
            rows,
        }
    }

    /// A tree of these nodes as it is planned, each with what it does: no times are drawn, and
    /// nothing says that they are not known. `finding` is the title, `operation` what the tree is
    /// for.
    pub fn planned(finding: Text, operation: Text, nodes: Vec<(TreeNode, Text)>) -> Tree {
        let heading = Heading {
            finding,
            operation,
            n_instances: 0,
        };
        let (nodes, notes) = nodes.into_iter().unzip();
        Tree {
            is_plan: true,
            notes,
            ..Self::new(heading, Waits::ForOthers, nodes)
        }
    }
}

fn rows(nodes: &[TreeNode]) -> Vec<Row> {
    let mut children = vec![Vec::new(); nodes.len()];
    let mut open = Vec::new();
    for (node, found) in nodes.iter().enumerate() {
        match found
            .parent
            .filter(|&parent| parent < nodes.len() && parent != node)
        {
            Some(parent) => children[parent].push(node),
            None => open.push((node, 0, None)),
        }
    }
    // Children on the parent's host first, then host by host in the order of their first child.
    for (parent, list) in children.iter_mut().enumerate() {
        let hosts: Vec<&Text> = list.iter().map(|&child| &nodes[child].host).collect();
        let own = &nodes[parent].host;
        let rank_of = |child: usize| {
            let host = &nodes[child].host;
            let first = hosts.iter().position(|other| *other == host);
            (host != own, first)
        };
        let mut sorted = list.clone();
        sorted.sort_by_key(|&child| rank_of(child));
        *list = sorted;
    }
    open.reverse();
    let mut rows: Vec<Row> = Vec::new();
    while let Some((node, depth, parent)) = open.pop() {
        let row = rows.len();
        rows.push(Row {
            node,
            depth,
            parent,
            rest: None,
        });
        let below = children[node].iter().rev();
        open.extend(below.map(|&child| (child, depth + 1, Some(row))));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, parent: Option<usize>) -> TreeNode {
        TreeNode::unmeasured("rank", host, parent)
    }

    #[test]
    fn children_are_below_their_parent_grouped_by_host() {
        let nodes = [
            node("a", None),
            node("b", Some(0)),
            node("a", Some(0)),
            node("b", Some(0)),
            node("b", Some(1)),
        ];
        let found = rows(&nodes);
        let order: Vec<usize> = found.iter().map(|row| row.node).collect();
        assert_eq!(order, [0, 2, 1, 4, 3]);
        let depths: Vec<usize> = found.iter().map(|row| row.depth).collect();
        assert_eq!(depths, [0, 1, 1, 2, 1]);
        assert_eq!(found[3].parent, Some(2));
    }

    #[test]
    fn nodes_that_cannot_be_reached_are_left_out() {
        let nodes = [node("a", Some(7)), node("a", Some(2)), node("a", Some(1))];
        assert_eq!(rows(&nodes).len(), 1);
    }
}

//! The tree itself: who is below whom, what each edge takes and what each node waits.
//!
//! Drawn like a listing of folders: a row for each process, below its parent and further to the
//! right, so that a tree of a hundred processes can be read as one of eight. Children that are on
//! one host stand together, and the host is named once for all of them. Lines are the edges, the
//! thicker and darker the longer a transfer takes; the fill of a node is how long its process
//! waits. Beside each row stand the numbers, with bars.

mod draw;

use crate::Text;
use crate::timemap::{Heading, StageTime};

/// A process in a tree.
#[derive(Debug, Clone)]
pub struct TreeNode {
    /// Name of the process: `rank 3`.
    pub name: Text,
    /// Host it runs on.
    pub host: Text,
    /// Index of its parent in the list of nodes; `None`: it has none.
    pub parent: Option<usize>,
    /// Name of whom it sends to towards the root, if that is not its parent here.
    pub other_parent: Option<Text>,
    /// Mean transfer to the parent, or to that other one.
    pub down: Option<StageTime>,
    /// Mean transfer from the parent.
    pub up: Option<StageTime>,
    /// Mean time that its process waits there, see [`Waits`].
    pub wait: Option<StageTime>,
}

/// What processes wait for in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// At their own node, on the way to the root, for those who come later.
    ForOthers,
    /// At the node of their parent, in a tree that only leads away from the root.
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

/// A tree that instances of an operation went through.
///
/// # Source
/// Bongo et al. 2004, figure 1: the tree of an allreduce over hosts. We draw the one that was seen,
/// with its times.
#[derive(Debug, Clone)]
pub struct Tree {
    heading: Heading,
    nodes: Vec<TreeNode>,
    waits: Waits,
    /// In the order in which they are drawn.
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    node: usize,
    depth: usize,
    /// Row of the parent.
    parent: Option<usize>,
}

impl Tree {
    /// A tree of these nodes. A parent that does not exist is none; nodes that no way leads to from
    /// one without a parent are left out.
    pub fn new(heading: Heading, waits: Waits, nodes: Vec<TreeNode>) -> Tree {
        let rows = rows(&nodes);
        Tree {
            heading,
            nodes,
            waits,
            rows,
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
    // Those on the parent's host first, then host by host as they come.
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
        TreeNode {
            name: "rank".into(),
            host: host.into(),
            parent,
            other_parent: None,
            down: None,
            up: None,
            wait: None,
        }
    }

    #[test]
    fn children_stand_below_their_parent_those_of_one_host_together() {
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
    fn what_hangs_on_nothing_is_left_out() {
        let nodes = [node("a", Some(7)), node("a", Some(2)), node("a", Some(1))];
        assert_eq!(rows(&nodes).len(), 1);
    }
}

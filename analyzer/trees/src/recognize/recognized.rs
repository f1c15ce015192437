//! Results of recognition: names, a tree, and the direction of data along edges.

use serde::{Deserialize, Serialize};

use super::super::algorithm::{Algorithm, Pattern, Rooted};
use super::super::exchanges::{Edge, Edges, Traffic};
use super::super::spanning::SpanningTree;

/// Direction along a tree. As in the papers, the root is at the bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    /// To the root.
    Down,
    /// From the root.
    Up,
}

/// What was recognized in the messages of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognized<Name = Algorithm> {
    /// All names that fit, the most usual first; at least one.
    pub names: Vec<Name>,
    /// The spanning tree along which the data flowed, to its root or from it, if there is one.
    pub tree: Option<TreeFacts>,
    /// Edges with a direction relative to a root; the direction of others is not known.
    pub directed: Vec<(Edge, Direction)>,
}

/// Figures of a spanning tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// Slot of the root.
    pub root: u32,
    /// Edges on the longest path to the root.
    pub height: u32,
    /// Largest number of children of a process.
    pub fan_out: u32,
}

/// What was recognized if all processes are alike.
pub(super) type Flat = Recognized<Pattern>;

impl Flat {
    pub(super) fn exchange(name: Pattern) -> Self {
        Self::exchanges(vec![name])
    }

    pub(super) fn exchanges(names: Vec<Pattern>) -> Self {
        Self {
            names,
            tree: None,
            directed: Vec::new(),
        }
    }

    /// Whether it has no proper name.
    pub(super) fn is_unnamed(&self) -> bool {
        let is_unnamed =
            |part: &Rooted| matches!(part, Rooted::UnnamedTree | Rooted::TreeOfSome(_));
        match &self.names[0] {
            Pattern::Unrecognized => true,
            Pattern::Rooted(part) | Pattern::To(part) | Pattern::From(part) => is_unnamed(part),
            Pattern::ToAndFrom(to, from) => is_unnamed(to) || is_unnamed(from),
            _ => false,
        }
    }
}

impl From<Flat> for Recognized {
    fn from(flat: Flat) -> Self {
        Self {
            names: flat.names.into_iter().map(Algorithm::Flat).collect(),
            tree: flat.tree,
            directed: flat.directed,
        }
    }
}

impl<Name> Recognized<Name> {
    /// Whether data flowed along a tree, and nowhere else.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        self.tree.is_some()
    }
}

/// Hosts and groups of the processes, by slot.
#[derive(Debug, Clone, Copy)]
pub struct Placement<'a> {
    /// Number of the host; any numbers.
    pub hosts: &'a [u32],
    /// Number of the group, on an intercommunicator: 0 or 1.
    pub groups: Option<&'a [u32]>,
}

/// Edges whose ranks are relative to a root, as slots.
pub fn rotated(edges: impl IntoIterator<Item = Edge>, n: u32, root: u32) -> Edges {
    let at = |rank: u32| (rank + root) % n;
    let edges = edges.into_iter();
    edges.map(|(from, to)| (at(from), at(to))).collect()
}

/// The edges in the other direction.
#[must_use]
pub fn reversed(edges: &Edges) -> Edges {
    edges.iter().map(|&(from, to)| (to, from)).collect()
}

/// Data flow along a tree in one direction.
pub(super) fn along(tree: &SpanningTree, direction: Direction) -> Flat {
    let names = tree.names();
    let mut names: Vec<Rooted> = names.into_iter().map(Rooted::Tree).collect();
    if names.is_empty() {
        names.push(Rooted::UnnamedTree);
    }
    let edges = (0..)
        .zip(&tree.parents)
        .filter(|(slot, parent)| slot != *parent);
    Recognized {
        names: names.into_iter().map(Pattern::Rooted).collect(),
        tree: Some(facts(tree)),
        directed: edges
            .map(|(slot, &parent)| match direction {
                Direction::Down => ((slot, parent), direction),
                Direction::Up => ((parent, slot), direction),
            })
            .collect(),
    }
}

fn facts(tree: &SpanningTree) -> TreeFacts {
    TreeFacts {
        root: tree.root,
        height: tree.height(),
        fan_out: tree.fan_out(),
    }
}

/// The tree along which everything flows from its root.
pub(super) fn tree_up(traffic: &Traffic<'_>) -> Option<SpanningTree> {
    SpanningTree::of(traffic.n, traffic.edges().map(|(from, to)| (to, from)))
}

/// The tree along which everything flows to its root.
pub(super) fn tree_down(traffic: &Traffic<'_>) -> Option<SpanningTree> {
    SpanningTree::of(traffic.n, traffic.edges())
}

pub(super) fn rooted(name: Rooted, directed: impl IntoIterator<Item = (Edge, Direction)>) -> Flat {
    Flat {
        names: vec![Pattern::Rooted(name)],
        tree: None,
        directed: directed.into_iter().collect(),
    }
}

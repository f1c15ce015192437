//! What is recognized: names, a tree, and which way data went along edges.

use serde::{Deserialize, Serialize};

use super::super::algorithm::{Algorithm, Pattern, Rooted};
use super::super::exchanges::{Edge, Edges, Traffic};
use super::super::spanning::SpanningTree;

/// Which way along a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    /// Towards the root.
    Down,
    /// From the root.
    Up,
}

/// What was recognized in the messages of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognized<Name = Algorithm> {
    /// All that fit, the most usual first. At least one.
    pub names: Vec<Name>,
    /// Where data went along a spanning tree, towards its root or from it: that tree.
    pub tree: Option<TreeFacts>,
    /// The edges along which it went towards a root, or from it; of others it cannot be said.
    pub directed: Vec<(Edge, Direction)>,
}

/// What is to be said of a spanning tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// Slot of the root.
    pub root: u32,
    /// Edges on the longest way to the root.
    pub height: u32,
    /// Most children of one process.
    pub fan_out: u32,
}

/// What was recognized with all processes alike.
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

    /// Whether nothing better than that is known of it.
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
    /// Whether data went along a tree, and nowhere else.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        self.tree.is_some()
    }
}

/// Where the processes are, by slot.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// On which hosts; any numbers.
    pub hosts: &'a [u32],
    /// In which groups, on an intercommunicator: 0 or 1.
    pub groups: Option<&'a [u32]>,
}

/// Edges relative to a root.
pub fn rotated(edges: impl IntoIterator<Item = Edge>, n: u32, root: u32) -> Edges {
    let at = |rank: u32| (rank + root) % n;
    let edges = edges.into_iter();
    edges.map(|(from, to)| (at(from), at(to))).collect()
}

/// The edges in the other direction.
#[must_use]
pub fn turned(edges: &Edges) -> Edges {
    edges.iter().map(|&(from, to)| (to, from)).collect()
}

/// Along a tree, in a direction.
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

/// The tree along which everything goes from its root.
pub(super) fn tree_up(traffic: &Traffic<'_>) -> Option<SpanningTree> {
    SpanningTree::of(traffic.n, traffic.edges().map(|(from, to)| (to, from)))
}

/// The tree along which everything goes towards its root.
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

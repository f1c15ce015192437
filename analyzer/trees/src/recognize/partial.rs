//! Parts of algorithms in which some processes have nothing to send or to receive: in v-variants
//! with zero counts, if the parts of a result differ in length, and if there are no data at all.
//!
//! In most algorithms a process with nothing to send does not send. So only part of a tree, or of
//! an exchange, is visible. A tree of the processes that take part has the name of the tree of all
//! processes that it is part of; if there is none, its name is the number of these processes.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::{Operation, Semantics};

use super::super::algorithm::{Pattern, Rooted};
use super::super::exchanges::{
    Edges, ExtraRanks, Folded, Traffic, butterfly, by_powers, hypercube, ring,
};
use super::super::spanning::{self, SpanningTree};
use super::recognized::{Direction, Flat, TreeFacts, reversed};

/// Whether each process may have another number of elements, zero included.
fn is_irregular(operation: Operation) -> bool {
    matches!(
        operation.blocking(),
        Operation::Gatherv
            | Operation::Scatterv
            | Operation::Allgatherv
            | Operation::Alltoallv
            | Operation::Alltoallw
            | Operation::ReduceScatter
    )
}

/// In one direction along a tree of some of the processes, or of all; `root`: its root, if that is
/// known.
pub(super) fn partial_tree(
    operation: Operation,
    traffic: &Traffic<'_>,
    root: Option<u32>,
    direction: Direction,
) -> Option<Flat> {
    let all: Edges = traffic.edges().collect();
    let to_parents = match direction {
        Direction::Down => all.clone(),
        Direction::Up => reversed(&all),
    };
    let members: BTreeSet<u32> = all.iter().flat_map(|&(from, to)| [from, to]).collect();
    let members = Vec::from_iter(members);
    let number = |slot: u32| members.partition_point(|&other| other < slot) as u32;
    let numbered = (to_parents.iter()).map(|&(child, parent)| (number(child), number(parent)));
    let tree = SpanningTree::of(members.len() as u32, numbered)?;
    let top = members[tree.root as usize];
    if root.is_some_and(|root| root != top) {
        return None;
    }
    let has_all = members.len() as u32 == traffic.n;
    // If there is no reason to be left out, missing processes indicate another tree.
    let names = if has_all || is_irregular(operation) {
        spanning::with_edges(traffic.n, top, &to_parents)
    } else {
        Vec::new()
    };
    let mut names: Vec<Rooted> = names.into_iter().map(Rooted::Tree).collect();
    if names.is_empty() {
        names.push(if has_all {
            Rooted::UnnamedTree
        } else {
            Rooted::TreeOfSome(members.len() as u32)
        });
    }
    Some(Flat {
        names: names.into_iter().map(Pattern::Rooted).collect(),
        tree: Some(TreeFacts {
            root: top,
            height: tree.height(),
            fan_out: tree.fan_out(),
        }),
        directed: all.into_iter().map(|edge| (edge, direction)).collect(),
    })
}

/// Part of an exchange, or of a tree to its root and back, or, in any order, a tree.
pub(super) fn partial_exchange(operation: Operation, traffic: &Traffic<'_>) -> Option<Flat> {
    match operation.semantics() {
        Semantics::AllToAll | Semantics::Barrier => {}
        Semantics::Neighborhood => return None,
        _ => return loose_tree(traffic),
    }
    let exchanges = if is_irregular(operation) {
        exchanges_containing(operation, traffic)
    } else {
        Vec::new()
    };
    let along = |direction| partial_tree(operation, traffic, None, direction);
    let [down, up] = [Direction::Down, Direction::Up].map(along);
    let is_from_first = |found: &Flat| found.tree.is_some_and(|tree| tree.root == 0);
    // Without a root, it is rank 0.
    let (down, up) = match (down, up) {
        (down, Some(up)) if is_from_first(&up) => (down.filter(is_from_first), Some(up)),
        (Some(down), _) if is_from_first(&down) => (Some(down), None),
        both => both,
    };
    let to = |found: Flat| {
        named(found, |name| match name {
            Pattern::Rooted(part) => Pattern::To(part),
            other => other,
        })
    };
    let from = |found: Flat| {
        named(found, |name| match name {
            Pattern::Rooted(part) => Pattern::From(part),
            other => other,
        })
    };
    let tree = up.map(from).or(down.map(to));
    let is_alltoall = matches!(
        operation.blocking(),
        Operation::Alltoallv | Operation::Alltoallw
    );
    match tree {
        // A tree that begins elsewhere is more likely part of an exchange; and if every process has
        // data of its own for each other one, there is no root.
        Some(tree) if (!is_from_first(&tree) || is_alltoall) && !exchanges.is_empty() => {
            Some(Flat {
                names: exchanges.into_iter().chain(tree.names).collect(),
                tree: None,
                directed: Vec::new(),
            })
        }
        Some(mut tree) => {
            tree.names.extend(exchanges);
            Some(tree)
        }
        None if !exchanges.is_empty() => Some(Flat::exchanges(exchanges)),
        None => loose_tree(traffic),
    }
}

fn named(found: Flat, name: impl Fn(Pattern) -> Pattern) -> Flat {
    Flat {
        names: found.names.into_iter().map(name).collect(),
        ..found
    }
}

/// The exchanges that it may be part of.
fn exchanges_containing(operation: Operation, traffic: &Traffic<'_>) -> Vec<Pattern> {
    let n = traffic.n;
    let is_within = |edges: &Edges| traffic.is_within(edges);
    let mut names = Vec::new();
    let rings = [true, false].map(|is_forward| ring(n, is_forward));
    let is_around = rings.iter().any(is_within);
    match operation.blocking() {
        Operation::ReduceScatter => {
            let folded =
                [ExtraRanks::Even, ExtraRanks::Odd].map(|aside| Folded::new(n, aside).all());
            if folded.iter().any(is_within) {
                names.push(Pattern::RecursiveHalving);
            }
            if butterfly(n).as_ref().is_some_and(is_within) {
                names.push(Pattern::Butterfly);
            }
        }
        Operation::Allgatherv => {
            if n.is_power_of_two() && is_within(&hypercube(n)) {
                names.push(Pattern::RecursiveDoubling);
            }
            let powers = [true, false].map(|is_forward| by_powers(n, is_forward));
            if powers.iter().any(is_within) {
                names.push(Pattern::Bruck);
            }
            if traffic.is_once() && traffic.is_at_once() {
                names.insert(0, Pattern::Linear);
            }
        }
        _ => {
            if traffic.is_once() {
                names.push(if traffic.is_at_once() {
                    Pattern::Linear
                } else {
                    Pattern::LinearSynchronized
                });
            }
            return names;
        }
    }
    if is_around && n > 2 {
        names.push(Pattern::Ring);
    }
    if names.is_empty() && traffic.is_once() && traffic.is_one_by_one() {
        names.push(Pattern::Pairwise);
    }
    names
}

/// Whether the processes that communicate form a tree, regardless of directions.
pub(super) fn loose_tree(traffic: &Traffic<'_>) -> Option<Flat> {
    if traffic.edges().any(|(from, to)| from == to) {
        return None;
    }
    let pairs: Edges = (traffic.edges())
        .map(|(from, to)| (from.min(to), from.max(to)))
        .collect();
    // By slot another one of the same part; in the end the one that represents all of it.
    let mut part: BTreeMap<u32, u32> = BTreeMap::new();
    for slot in pairs.iter().flat_map(|&(one, other)| [one, other]) {
        part.insert(slot, slot);
    }
    for &(one, other) in &pairs {
        let [one, other] = [one, other].map(|slot| representative(&mut part, slot));
        if one == other {
            return None;
        }
        part.insert(one, other);
    }
    if pairs.is_empty() || pairs.len() + 1 != part.len() {
        return None;
    }
    let name = if part.len() as u32 == traffic.n {
        Rooted::UnnamedTree
    } else {
        Rooted::TreeOfSome(part.len() as u32)
    };
    Some(Flat::exchange(Pattern::Rooted(name)))
}

fn representative(part: &mut BTreeMap<u32, u32>, slot: u32) -> u32 {
    let mut at = slot;
    while part[&at] != at {
        let next = part[&part[&at]];
        part.insert(at, next);
        at = next;
    }
    at
}

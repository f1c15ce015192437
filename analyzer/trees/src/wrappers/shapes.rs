//! Shapes of trees: the parent of each place.

use collbench_formats::tree::Shape;

use super::Order;
use crate::spanning::{chains, in_order_binary, k_ary_in_rows, without_last_digit};

/// A tree of n places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    /// The parent of each place; the root is its own parent.
    pub(super) parents: Vec<u32>,
    /// Whether the value of a place comes after those of its children where values are combined,
    /// and not before them.
    pub(super) is_last: bool,
}

impl Tree {
    /// The tree of this shape with `n` places, at least one. In the order of ranks, the places are
    /// numbered so that each subtree is a range of them.
    pub(super) fn of(shape: Shape, n: u32, order: Order) -> Self {
        let each = |parent: &dyn Fn(u32) -> u32| (0..n).map(parent).collect();
        let parents = match shape {
            Shape::Linear | Shape::Exchange => each(&|_| 0),
            // More chains than places are as many as places.
            Shape::Chain(k) => chains(n, k.clamp(1, n)),
            Shape::Kary(k) if order == Order::OfRanks => depth_first(&k_ary_in_rows(n, k.max(1))),
            Shape::Kary(k) => k_ary_in_rows(n, k.max(1)),
            Shape::Knomial(k) => each(&|place| without_last_digit(place, k.max(2))),
            Shape::Binomial => each(&|place| without_last_digit(place, 2)),
            Shape::InOrderBinary => in_order_binary(n),
        };
        Self {
            parents,
            is_last: shape == Shape::InOrderBinary,
        }
    }

    /// The place at the root.
    pub(super) fn root(&self) -> usize {
        if self.is_last {
            self.parents.len() - 1
        } else {
            0
        }
    }
}

/// The same tree, with places numbered in the order in which a walk comes to them that goes into
/// depth first. Place 0 is the root, and parents come before their children.
fn depth_first(parents: &[u32]) -> Vec<u32> {
    let mut children = vec![Vec::new(); parents.len()];
    for (place, &parent) in parents.iter().enumerate().skip(1) {
        children[parent as usize].push(place);
    }
    let mut numbered = Vec::with_capacity(parents.len());
    let mut open = vec![(0, 0)];
    while let Some((place, parent)) = open.pop() {
        let number = numbered.len() as u32;
        numbered.push(parent);
        open.extend(children[place].iter().rev().map(|&child| (child, number)));
    }
    numbered
}

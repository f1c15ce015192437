//! Figures of nodes, by what they are for.
//!
//! The same edges may be used to other ends in other instances: of two processes that exchange
//! something, one may have got what the other sent before it sent anything itself, as a root does.
//! What is measured at the nodes of a tree with one root is nothing to be added to that of another,
//! or to the rounds of an exchange. So they are kept apart, and told of the most frequent.

use super::figures::{Meeting, NodeFigures, RoundFigures};
use super::gauge::Grain;
use super::roles::Roles;
use super::samples::MAX_ROUNDS;
use super::shape::Shape;

/// Roles of a graph that are kept.
const MAX_ROLES: usize = 8;

/// Figures of the nodes in instances with the same roles.
#[derive(Debug, Clone)]
pub struct RoleFigures {
    /// [`Roles::parents`].
    parents: Box<[u32]>,
    /// Instances.
    pub n: u64,
    /// Whether it goes through a tree, down and up; `[false, false]` is an exchange.
    pub has: [bool; 2],
    /// The node without a parent; of an exchange 0.
    pub top: u32,
    /// By slot.
    pub nodes: Vec<NodeFigures>,
}

impl RoleFigures {
    /// Of no instance yet, with all who meet at the nodes of a tree.
    fn new(roles: &Roles, n_nodes: usize, grain: Grain) -> Self {
        let mut own = Self {
            parents: roles.parents().into(),
            n: 0,
            has: [false; 2],
            top: 0,
            nodes: Vec::new(),
        };
        own.nodes.resize_with(n_nodes, || NodeFigures::new(grain));
        let Roles::Tree(tree) = roles else {
            return own;
        };
        (own.has, own.top) = (tree.has, tree.top);
        let meetings: [fn(&mut NodeFigures) -> &mut Vec<Meeting>; 2] =
            [|node| &mut node.arrivals, |node| &mut node.departures];
        for ((is_there, of), parents) in
            (tree.has.into_iter().zip(meetings)).zip(own.parents.chunks_exact(n_nodes))
        {
            if !is_there {
                continue;
            }
            for (slot, node) in (0..).zip(&mut own.nodes) {
                of(node).push(Meeting::new(slot, grain));
            }
            for (slot, &parent) in (0..).zip(parents) {
                if let Some(node) = own.nodes.get_mut(parent as usize) {
                    of(node).push(Meeting::new(slot, grain));
                }
            }
        }
        own
    }
}

/// Figures of the nodes of one graph.
#[derive(Debug, Clone, Default)]
pub(super) struct ByRoles {
    /// By their parents, ascending: those that are kept do not depend on who was met first.
    all: Vec<RoleFigures>,
}

impl ByRoles {
    /// Those of the most instances; of the first ones where several have as many.
    pub(super) fn usual(&self) -> Option<&RoleFigures> {
        self.all.iter().rev().max_by_key(|own| own.n)
    }

    /// The nodes of instances of a shape, of which there are `n` more; `None` where they are not kept.
    pub(super) fn with_more(
        &mut self,
        shape: &Shape,
        n: u64,
        grain: Grain,
    ) -> Option<&mut [NodeFigures]> {
        let n_nodes = shape.receives.len();
        let parents = shape.roles.parents();
        let at = self.place(parents, || RoleFigures::new(&shape.roles, n_nodes, grain))?;
        let own = &mut self.all[at];
        own.n += n;
        if let Roles::Exchange(rounds) = &shape.roles {
            for (at, rounds) in own.nodes.iter_mut().zip(rounds) {
                let n_rounds = at.rounds.len().max(rounds.len().min(MAX_ROUNDS));
                at.rounds.resize_with(n_rounds, || RoundFigures::new(grain));
            }
        }
        Some(&mut own.nodes)
    }

    /// Where those with these parents stand: what is `new`, if they are kept from now on.
    fn place(&mut self, parents: &[u32], new: impl FnOnce() -> RoleFigures) -> Option<usize> {
        match self.all.binary_search_by(|own| (*own.parents).cmp(parents)) {
            Ok(at) => Some(at),
            Err(at) if at == MAX_ROLES => None,
            Err(at) => {
                self.all.insert(at, new());
                self.all.truncate(MAX_ROLES);
                Some(at)
            }
        }
    }

    /// Adds another part.
    pub(super) fn merge(&mut self, other: &Self) {
        for theirs in &other.all {
            let mut is_new = false;
            let at = self.place(&theirs.parents, || {
                is_new = true;
                theirs.clone()
            });
            let (Some(at), false) = (at, is_new) else {
                continue;
            };
            let own = &mut self.all[at];
            own.n += theirs.n;
            for (own, theirs) in own.nodes.iter_mut().zip(&theirs.nodes) {
                own.merge(theirs);
            }
        }
    }
}

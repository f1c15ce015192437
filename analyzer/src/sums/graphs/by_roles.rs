//! Figures of nodes, by the roles of the nodes.
//!
//! Instances with equal edges may use them differently: of two processes that exchange messages,
//! one may have received before it sent, as a root does. Figures of the nodes of a tree must not be
//! added to those of a tree with another root, or to the rounds of an exchange. So they are kept
//! apart by roles, and the results show the most frequent roles.

use collbench_stats::distribution::Precision;
use collbench_stats::first_by_key::{FirstByKey, Keyed};
use collbench_trees::roles::Roles;
use collbench_trees::shape::Shape;
use collbench_trees::stations::Stations;
use serde::{Deserialize, Serialize};

use crate::measure::inside::MAX_ROUNDS;
use crate::sums::graphs::node_figures::{ContributorFigures, NodeFigures, RoundFigures};

/// Roles of a graph that are kept.
const MAX_ROLES: usize = 8;

/// Figures of the nodes in instances with the same roles.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RoleFigures {
    /// [`Roles::parents`].
    parents: Box<[u32]>,
    /// Instances.
    pub n: u64,
    /// Whether it goes through a tree, down and up; `[false, false]` is an exchange.
    pub has: [bool; 2],
    /// The node without a parent; of an exchange 0.
    pub top: u32,
    /// How many nodes, the first ones, are processes.
    pub n_processes: usize,
    /// By slot.
    pub nodes: Vec<NodeFigures>,
}

impl RoleFigures {
    /// Of no instance yet, with all who meet at the nodes of a tree.
    fn new(roles: &Roles, n_nodes: usize, precision: Precision) -> Self {
        let (has, top) = match roles {
            Roles::Tree(tree) => (tree.has, tree.top),
            Roles::Exchange(_) => ([false; 2], 0),
        };
        let mut own = Self {
            parents: roles.parents().into(),
            n: 0,
            has,
            top,
            n_processes: n_nodes,
            nodes: Vec::new(),
        };
        own.add_nodes(n_nodes, precision);
        own
    }

    /// Of no instance yet, for the stations of a spanning tree of our own.
    fn of_stations(stations: &Stations, precision: Precision) -> Self {
        let mut own = Self {
            parents: stations.parents().into(),
            n: 0,
            has: stations.flow.has(),
            top: stations.top,
            n_processes: stations.n_ranks as usize,
            nodes: Vec::new(),
        };
        own.add_nodes(stations.links.len(), precision);
        own
    }

    /// Adds the nodes, with all who meet there if it is a tree.
    fn add_nodes(&mut self, n_nodes: usize, precision: Precision) {
        let own = self;
        own.nodes
            .resize_with(n_nodes, || NodeFigures::new(precision));
        let contributors: [fn(&mut NodeFigures) -> &mut Vec<ContributorFigures>; 2] =
            [|node| &mut node.arrivals, |node| &mut node.departures];
        for ((is_there, of), parents) in
            (own.has.into_iter().zip(contributors)).zip(own.parents.chunks_exact(n_nodes))
        {
            if !is_there {
                continue;
            }
            for (slot, node) in (0..).zip(&mut own.nodes) {
                of(node).push(ContributorFigures::new(slot, precision));
            }
            for (slot, &parent) in (0..).zip(parents) {
                if let Some(node) = own.nodes.get_mut(parent as usize) {
                    of(node).push(ContributorFigures::new(slot, precision));
                }
            }
        }
    }
}

impl Keyed for RoleFigures {
    type Key = [u32];

    fn key(&self) -> &[u32] {
        &self.parents
    }

    fn instances(&self) -> u64 {
        self.n
    }
}

/// Figures of the nodes of one graph.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ByRoles {
    all: FirstByKey<RoleFigures, MAX_ROLES>,
}

impl ByRoles {
    /// Those of the most instances; of the first ones where several have as many.
    pub(crate) fn usual(&self) -> Option<&RoleFigures> {
        self.all.usual()
    }

    /// The nodes of instances of a shape, of which there are `n` more; `None` where they are not kept.
    pub(crate) fn with_more(
        &mut self,
        shape: &Shape,
        n: u64,
        precision: Precision,
    ) -> Option<&mut [NodeFigures]> {
        let n_nodes = shape.receives.len();
        let parents = shape.roles.parents();
        let new = || RoleFigures::new(&shape.roles, n_nodes, precision);
        let own = self.all.of(parents, new)?;
        own.n += n;
        if let Roles::Exchange(rounds) = &shape.roles {
            for (at, rounds) in own.nodes.iter_mut().zip(rounds) {
                let n_rounds = at.rounds.len().max(rounds.len().min(MAX_ROUNDS));
                at.rounds
                    .resize_with(n_rounds, || RoundFigures::new(precision));
                for (number, round) in rounds.iter().enumerate() {
                    if round.partner.is_some() {
                        at.rounds[number.min(MAX_ROUNDS - 1)].see(round.partner, n);
                    }
                }
            }
        }
        Some(&mut own.nodes)
    }

    /// The nodes of an instance on a spanning tree of our own, of which there is one more.
    pub(crate) fn with_one_more(
        &mut self,
        stations: &Stations,
        precision: Precision,
    ) -> Option<&mut [NodeFigures]> {
        let new = || RoleFigures::of_stations(stations, precision);
        let own = self.all.of(&stations.parents(), new)?;
        own.n += 1;
        Some(&mut own.nodes)
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all, |own, theirs| {
            own.n += theirs.n;
            for (own, theirs) in own.nodes.iter_mut().zip(&theirs.nodes) {
                own.merge(theirs);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::Operation;

    use super::*;
    use crate::judge::paths::Paths;
    use crate::sums::graphs::figures::GraphFigures;
    use collbench_trees::exchanges::Sent;
    use collbench_trees::recognize::Placement;
    use collbench_trees::shape::ShapeKey;

    fn on_one_host(hosts: &[u32]) -> Placement<'_> {
        Placement {
            hosts,
            groups: None,
        }
    }

    /// Three processes over the same four edges: 0 has 1 stand in for it, and 1 and 2 exchange, or one
    /// of them has what the other sent before it sends.
    fn shape(step_of_1: u32, step_of_2: u32) -> Shape {
        let of = ShapeKey {
            operation: Operation::Allreduce,
            n_slots: 3,
            root: None,
            hosts: 0,
        };
        let messages = [
            (0, 1, 0, 0),
            (1, 2, step_of_1, 0),
            (1, 0, 2, 0),
            (2, 1, step_of_2, 1),
        ];
        let sent = messages.map(|(from, to, step_of_sender, step_of_receiver)| Sent {
            from,
            to,
            step_of_sender,
            step_of_receiver,
            group: 0,
        });
        Shape::new(of, sent.into(), on_one_host(&[0; 3]))
    }

    #[test]
    fn two_roots_over_the_same_edges_are_not_added_up() {
        let shapes = [shape(1, 0), shape(2, 0), shape(1, 1)];
        let tops = shapes.each_ref().map(|shape| match &shape.roles {
            Roles::Tree(tree) => Some(tree.top),
            Roles::Exchange(_) => None,
        });
        assert_eq!(tops, [None, Some(1), Some(2)]);
        for (usual, times) in [[3, 2, 2], [2, 4, 3], [0, 2, 5]].into_iter().enumerate() {
            let add = |order: [usize; 3]| {
                let mut parts = order.map(|which| {
                    let mut part = ByRoles::default();
                    for _ in 0..times[which] {
                        let nodes = part.with_more(&shapes[which], 1, Precision::Fine).unwrap();
                        nodes[1].path.add_all(&[5]);
                    }
                    part
                });
                let [first, others @ ..] = &mut parts;
                others.iter().for_each(|other| first.merge(other));
                parts[0].clone()
            };
            for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
                let found = add(order);
                let found = found.usual().unwrap();
                assert_eq!(found.n, times[usual] as u64);
                assert_eq!(found.nodes[1].path.n(), found.n);
                assert_eq!(found.has != [false; 2], usual > 0);
                // They lead to the root, and end there.
                let figures = GraphFigures::default();
                let ways = Paths::new(&figures, found, &shapes[usual].edges);
                assert_eq!(ways.all().len(), 3);
            }
        }
    }

    #[test]
    fn which_roles_are_kept_does_not_depend_on_who_was_met_first() {
        // Broadcasts from every rank, which are trees with other parents.
        let n = 12;
        let shapes: Vec<Shape> = (0..n)
            .map(|root| {
                let of = ShapeKey {
                    operation: Operation::Bcast,
                    n_slots: n as usize,
                    root: Some(root as usize),
                    hosts: 0,
                };
                let others = (0..n).filter(|&to| to != root);
                let sent = others.map(|to| Sent {
                    from: root,
                    to,
                    step_of_sender: 0,
                    step_of_receiver: 0,
                    group: 0,
                });
                Shape::new(of, sent.collect(), on_one_host(&[0; 12]))
            })
            .collect();
        let add = |shapes: &mut dyn Iterator<Item = &Shape>| {
            let mut all = ByRoles::default();
            for shape in shapes {
                all.with_more(shape, 1, Precision::Fine);
            }
            all.all.iter().map(|own| own.top).collect::<Vec<_>>()
        };
        let kept = add(&mut shapes.iter());
        assert_eq!(kept.len(), MAX_ROLES);
        assert_eq!(add(&mut shapes.iter().rev()), kept);
    }
}

//! Who waits for whom, and cycles in that graph.
//!
//! A graph of processes: from one that is inside an instance to those it depends on who never
//! arrived. Where many wait for many, a node for the instance is between them, so that the graph is
//! no larger than the lists of who is inside and who is missing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use collbench_formats::Semantics;
use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;

use crate::judge::hang::{Hang, UnfinishedAtEnd};
use crate::results::hang::CycleSummary;

/// Each waits for the next one, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cycle {
    /// Index of the process in the run, and of the instance that it waits in.
    pub(super) steps: Vec<(usize, usize)>,
}

impl Cycle {
    pub(super) fn summary(&self, hang: &Hang<'_>) -> CycleSummary {
        let ranks = self
            .steps
            .iter()
            .map(|(process, _)| hang.processes_at_end[*process].rank);
        CycleSummary {
            ranks: ranks.collect(),
            unfinished: self.steps.iter().map(|(_, instance)| *instance).collect(),
        }
    }
}

/// One shortest cycle of each set of processes that all wait for one another, by the lowest rank
/// in it.
pub(super) fn cycles(hang: &Hang<'_>) -> Vec<Cycle> {
    let n_processes = hang.processes_at_end.len();
    let mut graph = Graph::new(n_processes);
    for (index, instance) in hang.instances.iter().enumerate() {
        graph.add(hang, index, instance);
    }
    let mut cycles = Vec::new();
    for component in kosaraju_scc(&graph.edges) {
        let members: BTreeSet<usize> = component.into_iter().collect();
        let mut processes = members.iter().filter(|&&node| node < n_processes);
        if let (Some(&first), Some(_)) = (processes.next(), processes.next()) {
            cycles.extend(graph.cycle_through(first, &members));
        }
    }
    cycles.sort_by(|a, b| a.steps.cmp(&b.steps));
    cycles
}

/// Nodes are processes of the run, and after them nodes of instances.
struct Graph {
    n_processes: usize,
    n_nodes: usize,
    /// By edge the instance that is waited in.
    edges: DiGraphMap<usize, usize>,
}

impl Graph {
    fn new(n_processes: usize) -> Self {
        Self {
            n_processes,
            n_nodes: n_processes,
            edges: DiGraphMap::new(),
        }
    }

    /// A node for some who never arrived: who waits for it waits for each of them.
    fn together(&mut self, instance: usize, processes: impl Iterator<Item = usize>) -> usize {
        let node = self.n_nodes;
        self.n_nodes += 1;
        for process in processes {
            self.edges.add_edge(node, process, instance);
        }
        node
    }

    fn add(&mut self, hang: &Hang<'_>, index: usize, instance: &UnfinishedAtEnd<'_>) {
        let missing = &instance.never_came;
        if missing.is_empty() || instance.inside.is_empty() {
            return;
        }
        let all = self.together(index, missing.iter().map(|absent| absent.process));
        let semantics = instance.of.semantics();
        let missing_root = match instance.of.roots[..] {
            [root] => missing.iter().find(|absent| absent.rank == root),
            _ => None,
        };
        let is_root = |rank: u32| instance.of.roots == [rank];
        let communicator = &hang.inputs.communicators.list[instance.of.communicator];
        // By slot of those who never arrived: a node for all up to it.
        let mut lower: Vec<(usize, usize)> = Vec::new();
        if semantics == Some(Semantics::Prefix) {
            let mut in_order: Vec<_> = missing.iter().collect();
            in_order.sort_by_key(|absent| absent.slot);
            for absent in in_order {
                let before = lower.last().map(|(_, node)| *node);
                let one = std::iter::once(absent.process);
                lower.push((absent.slot, self.together(index, one.chain(before))));
            }
        }
        for waiter in &instance.inside {
            let to = match (semantics, missing_root) {
                (Some(Semantics::OneToMany), Some(root)) => root.process,
                (Some(Semantics::ManyToOne), Some(root)) if !is_root(waiter.rank) => root.process,
                (Some(Semantics::Prefix), _) => {
                    let n_below = lower.partition_point(|(slot, _)| *slot < waiter.slot);
                    n_below.checked_sub(1).map_or(all, |last| lower[last].1)
                }
                (Some(Semantics::Neighborhood), _) => {
                    let sources = communicator.in_neighbours(waiter.slot).unwrap_or(&[]);
                    let absent = missing.iter().filter(|absent| {
                        u32::try_from(absent.slot)
                            .is_ok_and(|slot| sources.binary_search(&slot).is_ok())
                    });
                    let absent: Vec<usize> = absent.map(|absent| absent.process).collect();
                    if absent.is_empty() {
                        all
                    } else {
                        self.together(index, absent.into_iter())
                    }
                }
                _ => all,
            };
            self.edges.add_edge(waiter.process, to, index);
        }
    }

    /// The shortest cycle through a process, within some nodes.
    fn cycle_through(&self, start: usize, within: &BTreeSet<usize>) -> Option<Cycle> {
        let mut from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(node) = next.pop_front() {
            let mut neighbours: Vec<usize> = self.edges.neighbors(node).collect();
            neighbours.sort_unstable();
            for to in neighbours {
                if to == start {
                    return Some(self.way_back(start, node, &from));
                }
                if within.contains(&to) && !from.contains_key(&to) {
                    from.insert(to, node);
                    next.push_back(to);
                }
            }
        }
        None
    }

    fn way_back(&self, start: usize, last: usize, from: &BTreeMap<usize, usize>) -> Cycle {
        let mut steps = Vec::new();
        let (mut node, mut to) = (last, start);
        loop {
            if node < self.n_processes {
                let instance = self.edges.edge_weight(node, to).copied();
                steps.extend(instance.map(|instance| (node, instance)));
            }
            if node == start {
                break;
            }
            let Some(&before) = from.get(&node) else {
                break;
            };
            (node, to) = (before, node);
        }
        steps.reverse();
        Cycle { steps }
    }
}

//! Sums over the messages of one operation.
//!
//! Instances with the same edges are one graph. The number of graphs is not bounded: receives from
//! any process, or a program's own collective, may create any number. So only a few are retained,
//! the first in the order of their edges, and the others counted: then the result does not depend
//! on which worker has added what.

pub(crate) mod by_roles;
pub(crate) mod crossings;
pub(crate) mod figures;
pub(crate) mod graph_rows;
pub(crate) mod node_figures;
pub(crate) mod own_trees;
mod rows;
pub(crate) mod stages;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use collbench_formats::Semantics;
use collbench_stats::first_by_key::{FirstByKey, Keyed};
use collbench_trees::algorithm::Algorithm;
use collbench_trees::recognize::{Direction, TreeFacts};
use collbench_trees::shape::Shape;
use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::messages::instance_messages::Messages;
use crate::sums::graphs::figures::{GraphFigures, Measuring};
use crate::sums::graphs::graph_rows::GraphRows;

/// Graphs of an operation that are kept.
const MAX_GRAPHS: usize = 16;
/// Readings of a graph that are kept.
const MAX_READINGS: usize = 8;

/// Sums over the messages of one operation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct InsideTally {
    /// Instances in which no message was seen, though there was something to be sent.
    pub n_opaque: u64,
    /// By their edges, from position to position in the communicator's entry, ascending.
    pub graphs: BTreeMap<Box<[(u32, u32)]>, GraphTally>,
    /// Instances of other graphs.
    pub n_others: u64,
    /// Ends of messages whose other end is not known.
    pub n_unpaired: u64,
    /// Instances whose graph is none of the algorithm that the library has named.
    pub n_contradicted: u64,
}

/// What is kept of the instances of one graph.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GraphTally {
    /// Their number.
    pub instances: u64,
    /// What was recognized in instances, by the names. Steps are in question besides edges, so that
    /// instances of one graph may differ.
    readings: FirstByKey<Reading, MAX_READINGS>,
    /// Smallest and largest payload of any process, bytes.
    pub bytes: Option<(u64, u64)>,
    /// By edge.
    pub edges: Vec<EdgeTally>,
    /// What is measured at its edges and nodes, in instances whose slots are the positions.
    pub figures: Box<GraphFigures>,
}

/// What a graph was recognized as, in most of its instances.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recognition<'g> {
    /// How the collective is done so, all names that fit, the most usual first.
    pub names: Vec<Algorithm>,
    /// The spanning tree that it is, if it is one; its root a position.
    pub tree: Option<TreeFacts>,
    /// By edge, whether it leads towards a root, or from it; empty where nothing was recognized.
    pub directions: &'g [Option<Direction>],
}

impl Recognition<'_> {
    /// Direction of an edge, where that was recognized.
    pub(crate) fn direction(&self, edge: usize) -> Option<Direction> {
        self.directions.get(edge).copied().flatten()
    }
}

/// What was recognized in some instances of a graph.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reading {
    names: Vec<Algorithm>,
    instances: u64,
    tree: Option<TreeFacts>,
    /// By edge.
    directions: Box<[Option<Direction>]>,
}

impl Keyed for Reading {
    type Key = [Algorithm];

    fn key(&self) -> &[Algorithm] {
        &self.names
    }

    fn instances(&self) -> u64 {
        self.instances
    }
}

/// What went over an edge.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EdgeTally {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl InsideTally {
    /// Adds an instance; `positions` are those of its slots in the communicator's entry.
    pub(crate) fn add(
        &mut self,
        instance: &CompleteInstance<'_>,
        messages: &Messages<'_>,
        shape: &Arc<Shape>,
        positions: &[usize],
        measuring: &mut Measuring<'_>,
    ) {
        if messages.is_empty() {
            self.n_opaque += u64::from(must_send(instance));
            return;
        }
        self.n_unpaired += messages.n_unpaired_sends + messages.n_unpaired_receives;
        let is_in_order = (positions.iter().enumerate()).all(|(slot, &position)| slot == position);
        if is_in_order && let Some(graph) = self.graphs.get_mut(&shape.edges) {
            graph.add(instance, messages, shape, None, |slot| slot);
            graph.figures.add(instance, messages, shape, measuring);
            return;
        }
        let at = |slot: u32| positions.get(slot as usize).map_or(slot, |&at| at as u32);
        let edges = shape.edges.iter().map(|&(from, to)| (at(from), at(to)));
        let mut edges: Box<[(u32, u32)]> = edges.collect();
        edges.sort_unstable();
        let order: Vec<u32> = (shape.edges.iter())
            .map(|&(from, to)| {
                let edge = (at(from), at(to));
                edges.partition_point(|other| *other < edge) as u32
            })
            .collect();
        let graph = self.graphs.entry(edges);
        let graph = graph.or_insert_with(|| GraphTally::new(order.len()));
        graph.add(instance, messages, shape, Some(&order), at);
        if is_in_order {
            graph.figures.add(instance, messages, shape, measuring);
        }
        self.drop_last(|edges| measuring.rows.forget(edges));
    }

    /// Adds the instances that are in rows to the figures of their graphs.
    pub(crate) fn add_rows(&mut self, rows: GraphRows) {
        for (shape, mut rows) in rows.into_shapes() {
            if let Some(graph) = self.graphs.get_mut(&shape.edges) {
                graph.figures.add_rows(&shape, &mut rows);
            }
        }
    }

    /// Retains the first graphs; calls `forget` with the edges of the others.
    fn drop_last(&mut self, mut forget: impl FnMut(&[(u32, u32)])) {
        while self.graphs.len() > MAX_GRAPHS {
            if let Some((edges, graph)) = self.graphs.pop_last() {
                self.n_others += graph.instances;
                forget(&edges);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.n_opaque += other.n_opaque;
        self.n_others += other.n_others;
        self.n_unpaired += other.n_unpaired;
        self.n_contradicted += other.n_contradicted;
        for (edges, graph) in other.graphs {
            match self.graphs.entry(edges) {
                Entry::Occupied(mut own) => own.get_mut().merge(&graph),
                Entry::Vacant(own) => drop(own.insert(graph)),
            }
        }
        self.drop_last(|_| {});
    }
}

/// Whether an instance needs messages between processes; one that the library refused does not.
fn must_send(instance: &CompleteInstance<'_>) -> bool {
    let has_data = match instance.semantics() {
        Semantics::Barrier => true,
        Semantics::AllToAll | Semantics::OneToMany | Semantics::ManyToOne | Semantics::Prefix => {
            !instance.payloads.are_zero()
        }
        _ => false,
    };
    has_data && instance.n_calls() > 1 && instance.n_failed == 0
}

impl GraphTally {
    /// Of no instance yet.
    fn new(n_edges: usize) -> Self {
        Self {
            instances: 0,
            readings: FirstByKey::default(),
            bytes: None,
            edges: vec![EdgeTally::default(); n_edges],
            figures: Box::default(),
        }
    }

    /// Adds an instance. `order`: for each edge of the shape its number in this graph, if they
    /// differ; `at`: the position of a slot.
    fn add(
        &mut self,
        instance: &CompleteInstance<'_>,
        messages: &Messages<'_>,
        shape: &Shape,
        order: Option<&[u32]>,
        at: impl Fn(u32) -> u32,
    ) {
        self.instances += 1;
        self.see_bytes(instance.payloads.sums(instance.n_calls()).range);
        self.read(shape, order, at);
        for (message, &edge) in messages.paired.iter().zip(&shape.edge_of) {
            let edge = order.map_or(edge, |order| order[edge as usize]);
            let sums = &mut self.edges[edge as usize];
            sums.messages += 1;
            sums.bytes = sums.bytes.saturating_add(message.bytes);
        }
    }

    fn see_bytes(&mut self, range: Option<(u64, u64)>) {
        if let Some((least, most)) = range {
            let (own_least, own_most) = self.bytes.unwrap_or((least, most));
            self.bytes = Some((own_least.min(least), own_most.max(most)));
        }
    }

    /// Notes what was recognized in an instance.
    fn read(&mut self, shape: &Shape, order: Option<&[u32]>, at: impl Fn(u32) -> u32) {
        let Some(found) = &shape.recognized else {
            return;
        };
        let reading = self.readings.of(&found.names, || {
            let mut directions = vec![None; shape.directions.len()];
            for (number, &direction) in shape.directions.iter().enumerate() {
                directions[order.map_or(number, |order| order[number] as usize)] = direction;
            }
            Reading {
                names: found.names.clone(),
                instances: 0,
                tree: found.tree.map(|tree| TreeFacts {
                    root: at(tree.root),
                    ..tree
                }),
                directions: directions.into(),
            }
        });
        if let Some(reading) = reading {
            reading.instances += 1;
        }
    }

    /// Reads the graph as in the most of its instances: with those names that fit all that are read
    /// as the same first of all.
    pub(crate) fn recognition(&self) -> Recognition<'_> {
        let Some(usual) = self.readings.usual() else {
            return Recognition::default();
        };
        let alike = self.readings.iter();
        let alike = alike.filter(|reading| reading.names.first() == usual.names.first());
        let fits = |name: &&Algorithm| alike.clone().all(|reading| reading.names.contains(name));
        Recognition {
            names: usual.names.iter().filter(fits).copied().collect(),
            tree: usual.tree,
            directions: &usual.directions,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.instances += other.instances;
        self.see_bytes(other.bytes);
        let add = |own: &mut Reading, theirs: &Reading| own.instances += theirs.instances;
        self.readings.merge(&other.readings, add);
        self.figures.merge(&other.figures);
        for (own, other) in self.edges.iter_mut().zip(&other.edges) {
            own.merge(other);
        }
    }
}

impl EdgeTally {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

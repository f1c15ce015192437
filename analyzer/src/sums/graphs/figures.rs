//! Sums over the instances of one graph: of each edge, each node and each round.
//!
//! All times of a node are differences on one host's clock. Times between the two ends of a message
//! on different hosts are known only where these have a common time.

use std::sync::Arc;

use collbench_stats::distribution::{Distribution, Precision};
use collbench_stats::moments::Sample;
use collbench_trees::roles::Roles;
use collbench_trees::shape::Shape;
use collbench_trees::stations::Stations;
use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::measure::critical_path::{CriticalPath, Doubt, PathInput};
use crate::measure::critical_tally::CriticalTally;
use crate::measure::inside::{InstanceInGraph, Order, Quantity};
use crate::measure::progress_times::ProgressTimes;
use crate::messages::instance_messages::Messages;
use crate::sums::graphs::by_roles::{ByRoles, RoleFigures};
use crate::sums::graphs::graph_rows::GraphRows;
use crate::sums::graphs::node_figures::{ContributorFigures, NodeFigures, add_at};
use crate::sums::graphs::rows::Rows;
use crate::time::resolution::Resolution;

/// Sums of the instances of one graph.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GraphFigures {
    /// Instances.
    pub n: u64,
    /// By edge of the graph.
    pub edges: Vec<EdgeFigures>,
    /// Those of the nodes.
    by_roles: ByRoles,
    /// Sums over critical paths.
    pub critical: CriticalTally,
    /// Per instance that is nonblocking: for how long nobody was in any, from the last initiation
    /// to the first completion.
    pub nobody_in_mpi: Distribution,
    /// Sum of the durations of these instances, ns.
    pub nobody_in_mpi_durations_ns: i128,
}

/// Sums of one edge; times per message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EdgeFigures {
    /// Number of messages towards the root, and from it.
    pub ways: [u64; 2],
    /// Completion of the receive - max(begin of the send, begin of the receive).
    pub transfer: Distribution,
    /// Max(0, begin of the receive - begin of the send).
    pub late_receiver: Distribution,
    /// The part of `late_receiver` in which the receiver was in no call of MPI, of nonblocking
    /// collectives.
    pub late_progress: Distribution,
    /// Sums over the last message of each instance.
    pub last: LastMessage,
    /// Round trip per instance, of an edge used in both directions: (t4 - t1) - (t3 - t2).
    pub two_way: Distribution,
}

/// Sums of the last message over an edge, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastMessage {
    /// Instances.
    pub n: u64,
    /// Sum of max(0, begin of the receive - begin of the send).
    pub late_receiver_ns: i128,
    /// Sum of end of the receive - max(begin of the send, begin of the receive).
    pub transfer_ns: i128,
    /// Instances of which the late progress is known.
    pub n_progress: u64,
    /// Its sum.
    pub late_progress_ns: i128,
}

/// Buffers that are reused for each instance.
#[derive(Debug, Default)]
pub(crate) struct GraphScratch {
    order: Order,
    path: CriticalPath,
    samples: Vec<(Quantity, i64)>,
    progress_times: ProgressTimes,
}

impl GraphScratch {
    /// Slots on the critical path of an instance, those first in which it stays longest; none where it is unknown.
    pub(crate) fn slots_on_path(
        &mut self,
        instance: &CompleteInstance<'_>,
        shape: &Shape,
        resolution: &Resolution,
    ) -> Vec<u32> {
        let Some(messages) = instance.messages.as_ref().filter(|of| !of.is_empty()) else {
            return Vec::new();
        };
        let is_nonblocking = instance.overlaps.is_some();
        if is_nonblocking {
            self.progress_times
                .find(instance, messages.paired, shape, resolution);
        }
        let of_others = is_nonblocking.then_some(&self.progress_times);
        let path = PathInput {
            instance,
            paired: of_others.map_or(messages.paired, |times| &times.messages),
            shape,
            resolution,
        };
        match follow(&mut self.path, &path, messages, of_others) {
            Ok(()) => self.path.slots(),
            Err(_) => Vec::new(),
        }
    }
}

/// Finds the critical path of an instance with these messages; `progress_times` of a nonblocking one.
///
/// # Errors
/// Why the path is unknown.
fn follow(
    path: &mut CriticalPath,
    seen: &PathInput<'_>,
    messages: &Messages<'_>,
    progress_times: Option<&ProgressTimes>,
) -> Result<(), Doubt> {
    if seen.instance.communicator.times.len() > 1 {
        return Err(Doubt::NoCommonTime);
    }
    if messages.has_unknown_ends() {
        return Err(Doubt::Incomplete);
    }
    match progress_times.and_then(ProgressTimes::doubt) {
        Some(doubt) => Err(doubt),
        None => path.follow(seen),
    }
}

/// Resolution and buffers for measuring the instances of the graphs of one operation.
pub(crate) struct Measuring<'w> {
    pub(crate) resolution: &'w Resolution,
    pub(crate) scratch: &'w mut GraphScratch,
    /// Instances that are still to be added to the figures of their graphs.
    pub(crate) rows: &'w mut GraphRows,
}

impl EdgeFigures {
    fn new(precision: Precision) -> Self {
        Self {
            ways: [0; 2],
            transfer: Distribution::new(precision),
            late_receiver: Distribution::new(precision),
            late_progress: Distribution::new(precision),
            last: LastMessage::default(),
            two_way: Distribution::new(precision),
        }
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in self.ways.iter_mut().zip(other.ways) {
            *own += other;
        }
        self.transfer.merge(&other.transfer);
        self.late_receiver.merge(&other.late_receiver);
        self.late_progress.merge(&other.late_progress);
        self.last.n += other.last.n;
        self.last.late_receiver_ns += other.last.late_receiver_ns;
        self.last.transfer_ns += other.last.transfer_ns;
        self.last.n_progress += other.last.n_progress;
        self.last.late_progress_ns += other.last.late_progress_ns;
        self.two_way.merge(&other.two_way);
    }
}

/// Sum of samples, ns.
fn sum<T: Sample>(samples: &[T]) -> i128 {
    let sample = |&sample: &T| -> i64 { sample.into() };
    // A few 32-bit samples cannot overflow 64 bits.
    if size_of::<T>() < size_of::<i64>() {
        samples.iter().map(sample).sum::<i64>().into()
    } else {
        samples.iter().map(sample).map(i128::from).sum()
    }
}

/// Where to add what is measured in instances of one shape.
struct FigureTargets<'f> {
    edges: &'f mut [EdgeFigures],
    /// `None`: roles that are not kept.
    nodes: Option<&'f mut [NodeFigures]>,
}

impl FigureTargets<'_> {
    /// Adds samples of one quantity.
    fn add<T: Sample>(&mut self, quantity: Quantity, samples: &[T]) {
        let n = samples.len() as u64;
        let edges = &mut *self.edges;
        let nodes: &mut [NodeFigures] = match &mut self.nodes {
            Some(nodes) => nodes,
            None if quantity.is_of_node() => return,
            None => &mut [],
        };
        match quantity {
            Quantity::LateReceiver { edge, is_last } => {
                let edge = &mut edges[edge as usize];
                edge.late_receiver.add_all(samples);
                // Only of messages whose receive time is known, as for the transfer.
                if is_last {
                    edge.last.late_receiver_ns += sum(samples);
                }
            }
            Quantity::LateProgress { edge, is_last } => {
                let edge = &mut edges[edge as usize];
                edge.late_progress.add_all(samples);
                if is_last {
                    edge.last.n_progress += n;
                    edge.last.late_progress_ns += sum(samples);
                }
            }
            Quantity::Transfer { edge, is_last } => {
                let edge = &mut edges[edge as usize];
                edge.transfer.add_all(samples);
                if is_last {
                    edge.last.n += n;
                    edge.last.transfer_ns += sum(samples);
                }
            }
            Quantity::TwoWay { edge } => edges[edge as usize].two_way.add_all(samples),
            Quantity::Wait(of) => ContributorFigures::of(nodes, of).wait.add_all(samples),
            Quantity::Position { of, n } => {
                ContributorFigures::of(nodes, of).add_positions(n as usize, samples);
            }
            Quantity::Departure { node, position } => {
                let list = &mut nodes[node as usize].serialization;
                add_at(list, position as usize, n, sum(samples));
            }
            Quantity::Down { node } => nodes[node as usize].down.add_all(samples),
            Quantity::Up { node } => nodes[node as usize].up.add_all(samples),
            Quantity::Core { node } => nodes[node as usize].core.add_all(samples),
            Quantity::Own { node } => nodes[node as usize].own.add_all(samples),
            Quantity::Away { node } => nodes[node as usize].away.add_all(samples),
            Quantity::Path { node } => nodes[node as usize].path.add_all(samples),
            Quantity::Exit { node } => nodes[node as usize].exit.add_all(samples),
            Quantity::Partner { node, round } => {
                let round = &mut nodes[node as usize].rounds[round as usize];
                for alike in samples.chunk_by(|a, b| a == b) {
                    let slot: i64 = alike[0].into();
                    round.see(Some(slot as u32), alike.len() as u64);
                }
            }
            Quantity::Local { node, round } => {
                let round = &mut nodes[node as usize].rounds[round as usize];
                round.local.add_all(samples);
            }
            Quantity::LateSender { node, round } => {
                let round = &mut nodes[node as usize].rounds[round as usize];
                round.late_sender.add_all(samples);
            }
            Quantity::RoundTransfer { node, round } => {
                let round = &mut nodes[node as usize].rounds[round as usize];
                round.transfer.add_all(samples);
            }
        }
    }
}

impl Default for GraphFigures {
    fn default() -> Self {
        Self {
            n: 0,
            edges: Vec::new(),
            by_roles: ByRoles::default(),
            critical: CriticalTally::default(),
            nobody_in_mpi: Distribution::new(Precision::Fine),
            nobody_in_mpi_durations_ns: 0,
        }
    }
}

impl GraphFigures {
    /// Adds an instance whose slots are the positions of the graph.
    pub(crate) fn add(
        &mut self,
        instance: &CompleteInstance<'_>,
        messages: &Messages<'_>,
        shape: &Arc<Shape>,
        measuring: &mut Measuring<'_>,
    ) {
        let Measuring {
            resolution,
            scratch,
            rows,
        } = measuring;
        let mut progress_times = std::mem::take(&mut scratch.progress_times);
        let is_nonblocking = instance.overlaps.is_some();
        if is_nonblocking {
            progress_times.find(instance, messages.paired, shape, resolution);
        }
        let of_others = is_nonblocking.then_some(&progress_times);
        let seen = InstanceInGraph::new(instance, messages.paired, of_others, shape, resolution);
        let is_one_time = seen.is_one_time;
        self.n += 1;
        let has_all_samples = messages.are_all_known() && is_one_time && !is_nonblocking;
        if !(has_all_samples && self.add_to_rows(&seen, shape, rows, scratch)) {
            self.add_alone(&seen, scratch);
            if has_all_samples {
                let quantities = scratch.samples.iter().map(|&(quantity, _)| quantity);
                let oldest = rows.begin(shape, Rows::new(quantities.collect()));
                if let Some((shape, mut oldest)) = oldest {
                    self.add_rows(&shape, &mut oldest);
                }
            }
        }
        let path = PathInput {
            instance,
            paired: of_others.map_or(messages.paired, |times| &times.messages),
            shape,
            resolution,
        };
        match follow(&mut scratch.path, &path, messages, of_others) {
            Ok(()) => {
                self.critical
                    .add(instance, &scratch.path, shape.edges.len());
                if let Some(elsewhere) = scratch.path.elsewhere(&path) {
                    self.critical.add_all_for_all(elsewhere);
                }
            }
            Err(doubt) => self.critical.add_unknown(doubt),
        }
        if let (Some(time_in_mpi), true) = (instance.time_in_mpi, is_one_time)
            && let Some(nobody_in_mpi) = time_in_mpi.nobody_in_mpi_ns(&mut progress_times.spans)
        {
            self.nobody_in_mpi.add(nobody_in_mpi);
            let extent = &instance.extent;
            self.nobody_in_mpi_durations_ns +=
                i128::from(extent.last_leave) - i128::from(extent.first_enter);
        }
        scratch.progress_times = progress_times;
    }

    /// Adds the samples of an instance on a spanning tree of our own.
    pub(crate) fn add_on_tree(&mut self, stations: &Stations, samples: &[(Quantity, i64)]) {
        self.n += 1;
        let n_edges = stations.hops.len();
        let precision = Precision::of_edges(stations.links.len());
        self.edges
            .resize_with(n_edges, || EdgeFigures::new(precision));
        for link in stations.links.iter().flatten() {
            for (way, hop) in link.hops.iter().enumerate() {
                if let Some(hop) = hop {
                    self.edges[*hop as usize].ways[way] += 1;
                }
            }
        }
        let nodes = self.by_roles.with_one_more(stations, precision);
        let mut targets = FigureTargets {
            edges: &mut self.edges,
            nodes,
        };
        for &(quantity, sample) in samples {
            targets.add(quantity, &[sample]);
        }
    }

    /// Adds the critical path of an instance on a spanning tree of our own with so many hops.
    pub(crate) fn add_path(
        &mut self,
        instance: &CompleteInstance<'_>,
        path: Result<&CriticalPath, Doubt>,
        n_hops: usize,
    ) {
        match path {
            Ok(path) => self.critical.add(instance, path, n_hops),
            Err(doubt) => self.critical.add_unknown(doubt),
        }
    }

    /// Adds the samples of an instance one by one; `scratch` has them then.
    fn add_alone(&mut self, seen: &InstanceInGraph<'_>, scratch: &mut GraphScratch) {
        scratch.samples.clear();
        seen.samples(&mut scratch.order, &mut scratch.samples);
        let mut targets = self.targets(seen.shape, 1);
        for &(quantity, sample) in &scratch.samples {
            targets.add(quantity, &[sample]);
        }
    }

    /// Adds an instance to the rows of its shape; gives whether it did.
    fn add_to_rows(
        &mut self,
        seen: &InstanceInGraph<'_>,
        shape: &Arc<Shape>,
        rows: &mut GraphRows,
        scratch: &mut GraphScratch,
    ) -> bool {
        let Some(rows) = rows.of(shape) else {
            return false;
        };
        let order = &mut scratch.order;
        let is_added = rows.add(|row| seen.samples(order, row));
        if rows.are_full() {
            self.add_rows(shape, rows);
        }
        is_added
    }

    /// Adds up what is in the rows of one shape.
    pub(crate) fn add_rows(&mut self, shape: &Shape, rows: &mut Rows) {
        let mut targets = self.targets(shape, rows.len() as u64);
        rows.drain(|quantity, samples| targets.add(quantity, samples));
    }

    /// Where to add what is measured in `n` instances of a shape, which are counted.
    fn targets(&mut self, shape: &Shape, n: u64) -> FigureTargets<'_> {
        let n_edges = shape.edges.len();
        let precision = Precision::of_edges(n_edges);
        self.edges
            .resize_with(n_edges, || EdgeFigures::new(precision));
        if let Roles::Tree(tree) = &shape.roles {
            for (&edge, &path) in shape.edge_of.iter().zip(&tree.directions) {
                self.edges[edge as usize].ways[path as usize] += n;
            }
        }
        let nodes = self.by_roles.with_more(shape, n, precision);
        FigureTargets {
            edges: &mut self.edges,
            nodes,
        }
    }

    /// Those of the nodes, with the roles that the most instances have; `None` of no instance.
    pub(crate) fn usual_roles(&self) -> Option<&RoleFigures> {
        self.by_roles.usual()
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        self.n += other.n;
        if self.edges.is_empty() {
            self.edges.clone_from(&other.edges);
        } else {
            for (own, other) in self.edges.iter_mut().zip(&other.edges) {
                own.merge(other);
            }
        }
        self.by_roles.merge(&other.by_roles);
        self.critical.merge(&other.critical);
        self.nobody_in_mpi.merge(&other.nobody_in_mpi);
        self.nobody_in_mpi_durations_ns += other.nobody_in_mpi_durations_ns;
    }
}

//! What the costs of operations are computed from: sums in plain types, with world ranks.

use std::collections::BTreeMap;

use collbench_causes::Cause;
use collbench_formats::{Operation, Semantics};
use collbench_stats::integers::{saturate, sum_ns};

use crate::judge::causes::completions::LateToComplete;
use crate::judge::causes::sites::{Sites, is_ready};
use crate::judge::inputs::Inputs;
use crate::judge::operations;
use crate::judge::operations::by_time;
use crate::judge::tree_figures::host_of;
use crate::judge::trees;
use crate::judge::trees::own_trees::OwnTreeHops;
use crate::measure::critical_path::Doubt;
use crate::results::operation_costs::WhyUnexplained;
use crate::results::overlap::OverlapDiagnosis;
use crate::sums::graphs::GraphTally;
use crate::sums::graphs::figures::EdgeFigures;
use crate::sums::instances::operation_key::OperationKey;
use crate::sums::operation::OperationTally;

/// Classes of links by the distance of their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LinkClass {
    /// Within a host.
    InHost,
    /// Between hosts of one site.
    BetweenHosts,
    /// Between sites.
    BetweenSites,
}

impl LinkClass {
    /// All of them, the nearest first.
    pub(crate) const ALL: [Self; 3] = [Self::InHost, Self::BetweenHosts, Self::BetweenSites];

    /// Whether so much lies between two places.
    pub(crate) fn divides(self, a: Location, b: Location) -> bool {
        match self {
            Self::InHost => true,
            Self::BetweenHosts => a.host != b.host,
            Self::BetweenSites => a.site != b.site,
        }
    }
}

/// How data flow in an operation: with a payload that is the same everywhere the fewest hops are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// From the root to all, or from all to the root.
    OneWay,
    /// From all to all.
    BothWays,
    /// From each rank its own data to the root, or from the root to each rank its own.
    Rooted,
    /// Each rank has data of its own for others: more hops may be fewer bytes.
    Other,
}

/// The host and the site of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    /// Index of the host.
    pub(crate) host: usize,
    /// Number of the site; 0 where there are none.
    pub(crate) site: usize,
}

/// What the costs of an operation follow from.
#[derive(Debug, Clone)]
pub(crate) struct OperationFacts {
    /// Index in the results.
    pub(crate) index: usize,
    /// Id of the communicator.
    pub(crate) communicator: Option<usize>,
    pub(crate) flow: Flow,
    /// Whether a spanning tree of our own can be put in its place.
    pub(crate) can_use_tree: bool,
    /// Whether each rank says how much it sends to each.
    pub(crate) has_own_sizes: bool,
    /// Complete instances.
    pub(crate) instances: u64,
    /// The ranks that there is a file of, by position.
    pub(crate) ranks: Vec<u32>,
    /// Where these are.
    pub(crate) locations: Vec<Location>,
    /// Call time of all ranks without waits, ns.
    pub(crate) operation_time_ns: i64,
    /// Call time of the rank with the most, ns.
    pub(crate) longest_ns: i64,
    /// Waits for ranks that left it late, ns.
    pub(crate) waits_caused_ns: i64,
    /// Median by mean of the duration, at most 1: what a few long instances make is left out.
    pub(crate) typical: f64,
    /// The graphs of blocking operations.
    pub(crate) graphs: Vec<GraphFacts>,
    /// Overlap and progress of a nonblocking operation; `None` for others.
    pub(crate) overlap: Option<OverlapFacts>,
    /// Why no critical path is known; `None` where some are.
    pub(crate) unexplained: Option<WhyUnexplained>,
}

/// The instances of one graph.
#[derive(Debug, Clone)]
pub(crate) struct GraphFacts {
    /// Instances, and those whose critical path is known.
    pub(crate) instances: u64,
    pub(crate) known: u64,
    /// Sum of the times on those paths from the enter of the rank that the path begins at, ns.
    pub(crate) path_ns: i128,
    /// Largest payload of a rank, bytes.
    pub(crate) bytes: u64,
    /// Edges from the root to the deepest node; `None` of an exchange.
    pub(crate) height: Option<u64>,
    /// Whether it is a spanning tree of our own, whose shape is chosen by the user.
    pub(crate) is_own: bool,
    pub(crate) edges: Vec<EdgeFacts>,
    /// Nodes with several children.
    pub(crate) nodes: Vec<NodeFacts>,
}

/// One edge of a graph.
#[derive(Debug, Clone)]
pub(crate) struct EdgeFacts {
    /// World ranks of the ends.
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) class: LinkClass,
    /// Hosts of the ends.
    pub(crate) hosts: (usize, usize),
    /// Messages per instance.
    pub(crate) messages: f64,
    /// Mean size of a message, bytes.
    pub(crate) bytes: u64,
    /// Known critical paths that use it.
    pub(crate) on_path: u64,
    /// Sum of the time that they spend on it, ns.
    pub(crate) on_path_ns: i64,
    /// Messages with a known transfer time, its median and 10th percentile, ns.
    pub(crate) n: u64,
    pub(crate) median_ns: i64,
    pub(crate) p10_ns: i64,
    /// Whether receivers were ready for most of the messages; else the transfer time shows less
    /// than the time in transit.
    pub(crate) is_ready: bool,
    /// Two standard deviations of the clocks of both ends, ns; `None` without a common time.
    pub(crate) uncertainty_ns: Option<i64>,
}

/// A node with several children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeFacts {
    /// World rank.
    pub(crate) rank: u32,
    pub(crate) children: u64,
    /// Mean time between the departures of its first and of its last child, ns.
    pub(crate) spread_ns: i64,
    /// Sum of the time that known critical paths spend there, ns.
    pub(crate) stay_ns: i64,
}

/// The calls of a nonblocking operation, all ranks and instances together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OverlapFacts {
    /// Completed calls.
    pub(crate) calls: u64,
    /// Time in completing calls without waits for ranks that initiate late, or come late to their completing call, ns.
    pub(crate) completion_ns: i64,
    /// Time between initiation and completion, without unsuccessful tests, ns.
    pub(crate) between_ns: i64,
    /// Instances of which it is known for how long nobody was in MPI, and the sum of that, ns.
    pub(crate) nobody_n: u64,
    pub(crate) nobody_ns: i64,
    /// Messages whose receiver was late, and of that time the part outside MPI, ns.
    pub(crate) late_receiver_ns: i64,
    pub(crate) late_progress_ns: i64,
    /// Messages behind it.
    pub(crate) late_n: u64,
    /// Whether next to no messages were sent between the calls, though there was time.
    pub(crate) is_sent_late: bool,
}

impl EdgeFacts {
    /// Whether paths wait for its messages: they spend at least half of a transfer on it. Else the
    /// messages had mostly arrived when the path came to them.
    pub(crate) fn is_waited_for(&self) -> bool {
        let paths = self.on_path.cast_signed();
        paths > 0 && self.on_path_ns / paths >= self.median_ns / 2
    }
}

impl GraphFacts {
    /// Mean time between two children that a node serves, ns; 0 where no node has several.
    pub(crate) fn gap_ns(&self) -> i64 {
        let spread_ns: i64 = self.nodes.iter().map(|node| node.spread_ns).sum();
        let children: u64 = self.nodes.iter().map(|node| node.children).sum();
        spread_ns / children.max(1).cast_signed()
    }
}

/// The operations of a run, in the order of the results.
pub(crate) fn operations(
    inputs: &Inputs<'_>,
    sites: Option<&Sites>,
    late_to_complete: &[LateToComplete],
) -> Vec<OperationFacts> {
    let operations = by_time(inputs);
    let facts = operations.into_iter().enumerate();
    let facts = facts.filter_map(|(index, (key, tally))| {
        let mut facts = operation(inputs, sites, index, key, tally)?;
        let mut late = late_to_complete.iter();
        if let (Some(overlap), Some(late)) = (
            &mut facts.overlap,
            late.find(|late| late.operation == index),
        ) {
            let left_ns = overlap
                .completion_ns
                .saturating_sub(late.waited_for.cost_ns);
            overlap.completion_ns = left_ns.max(0);
        }
        Some(facts)
    });
    facts.collect()
}

/// `None` where no time is known, or it is not of several ranks.
fn operation(
    inputs: &Inputs<'_>,
    sites: Option<&Sites>,
    index: usize,
    key: &OperationKey,
    tally: &OperationTally,
) -> Option<OperationFacts> {
    let waits_ns = tally.lags_and_waits.waits().total();
    let operation_time_ns = tally.call_time.total().saturating_sub(waits_ns).max(0);
    let entry = &inputs.communicators.entries[key.entry?];
    let located = |rank: Option<u32>| {
        let host = host_of(inputs, rank?)?;
        let site = sites.map_or(0, |sites| sites.of_host[host]);
        Some(Location { host, site })
    };
    let all = entry.ranks.iter().copied();
    let (ranks, locations): (Vec<u32>, Vec<Location>) =
        all.filter_map(|rank| Some((rank?, located(rank)?))).unzip();
    if locations.len() < 2 || operation_time_ns == 0 || tally.instances == 0 {
        return None;
    }
    let typical = match (tally.duration.quantile(50), tally.duration.mean()) {
        (Some(median), Some(mean)) if mean > 0 => (median as f64 / mean as f64).clamp(0.0, 1.0),
        _ => 1.0,
    };
    let longest_ns = tally.members.iter().map(|member| member.call_ns).max();
    let rank = |position: u32| entry.ranks.get(position as usize).copied().flatten();
    let all = tally.inside.iter().flat_map(|inside| &inside.graphs);
    let own = trees::own_trees::hops(inputs, key, &tally.own_trees).into_iter();
    let own = own.map(|tree| own_tree(inputs, tree, &located));
    let graphs: Vec<GraphFacts> = match tally.overlap {
        Some(_) => Vec::new(),
        None => all
            .filter_map(|(edges, of)| graph(inputs, edges, of, &rank, &located))
            .chain(own)
            .collect(),
    };
    Some(OperationFacts {
        index,
        communicator: key.entry,
        flow: flow(key),
        can_use_tree: can_use_tree(key),
        has_own_sizes: matches!(
            key.operation.blocking(),
            Operation::Alltoallv | Operation::Alltoallw
        ),
        instances: tally.instances,
        ranks,
        locations,
        operation_time_ns,
        longest_ns: longest_ns.unwrap_or(0),
        waits_caused_ns: waits_caused_ns(inputs, key.stable_hash()),
        typical,
        unexplained: unexplained(tally, &graphs),
        graphs,
        overlap: tally.overlap.as_ref().map(|_| overlap(tally, waits_ns)),
    })
}

/// Waits for ranks that left an operation late, ns.
fn waits_caused_ns(inputs: &Inputs<'_>, operation: u64) -> i64 {
    let costs = inputs.findings.wait_causes.costs.iter();
    let of = costs.filter(|((cause, _), _)| *cause == Cause::Operation(operation));
    sum_ns(of.map(|(_, cost)| cost.ns()))
}

/// How data flow in an operation.
fn flow(key: &OperationKey) -> Flow {
    use collbench_formats::Operation::{Allreduce, Barrier, Bcast, Reduce};
    match key.operation.blocking() {
        Bcast | Reduce => Flow::OneWay,
        Allreduce | Barrier => Flow::BothWays,
        _ if key.operation.semantics() == Semantics::Barrier => Flow::BothWays,
        _ => match key.operation.semantics() {
            Semantics::ManyToOne | Semantics::OneToMany => Flow::Rooted,
            _ => Flow::Other,
        },
    }
}

/// Whether a spanning tree of our own can be put in its place.
fn can_use_tree(key: &OperationKey) -> bool {
    use collbench_formats::Operation::{
        Allgather, Allreduce, Barrier, Bcast, Gather, Reduce, Scatter,
    };
    let replaced = [
        Allgather, Allreduce, Barrier, Bcast, Gather, Reduce, Scatter,
    ];
    replaced.contains(&key.operation)
}

/// Why the critical path of no instance is known.
fn unexplained(tally: &OperationTally, graphs: &[GraphFacts]) -> Option<WhyUnexplained> {
    if graphs.iter().any(|graph| graph.known > 0) {
        return None;
    }
    if let Some(of_tree) = tally.own_trees.values().next() {
        let unknown = of_tree.figures.critical.unknown;
        let most = Doubt::ALL.into_iter().zip(unknown).rev();
        let most = most.filter(|&(_, n)| n > 0).max_by_key(|&(_, n)| n);
        return most.map(|(doubt, _)| WhyUnexplained::PathUnknown(doubt));
    }
    let Some(inside) = &tally.inside else {
        return Some(WhyUnexplained::NoMessages);
    };
    if tally.overlap.is_some() && !inside.graphs.is_empty() {
        return None;
    }
    let doubts = inside.graphs.values().flat_map(|graph| {
        let unknown = graph.figures.critical.unknown;
        Doubt::ALL.into_iter().zip(unknown)
    });
    // Of equal ones the first.
    let most = doubts.rev().filter(|&(_, n)| n > 0).max_by_key(|&(_, n)| n);
    Some(match most {
        Some((doubt, _)) => WhyUnexplained::PathUnknown(doubt),
        None => WhyUnexplained::Opaque,
    })
}

/// One graph; `None` where no critical path is known and no message measured.
fn graph(
    inputs: &Inputs<'_>,
    edges: &[(u32, u32)],
    tally: &GraphTally,
    rank: &dyn Fn(u32) -> Option<u32>,
    located: &dyn Fn(Option<u32>) -> Option<Location>,
) -> Option<GraphFacts> {
    let figures = &tally.figures;
    let critical = &figures.critical;
    let roles = figures.usual_roles()?;
    let on_hops: i128 = critical.hops.iter().map(|hop| hop.total_ns).sum();
    let in_ranks: i128 = critical.stays.iter().map(|stay| stay.total_ns).sum();
    let recognition = tally.recognition();
    let of_edge = |(number, (&(from, to), figures)): (usize, (&(u32, u32), _))| {
        let figures: &crate::sums::graphs::figures::EdgeFigures = figures;
        let (from_rank, to_rank) = (rank(from)?, rank(to)?);
        let ends = (located(Some(from_rank))?, located(Some(to_rank))?);
        let sum = &tally.edges[number];
        Some(EdgeFacts {
            from: from_rank,
            to: to_rank,
            class: class(ends),
            hosts: (ends.0.host, ends.1.host),
            messages: sum.messages as f64 / tally.instances.max(1) as f64,
            bytes: sum.bytes / sum.messages.max(1),
            on_path: critical.hops.get(number).map_or(0, |hop| hop.n),
            on_path_ns: critical
                .hops
                .get(number)
                .map_or(0, |hop| saturate(hop.total_ns)),
            n: figures.transfer.n(),
            median_ns: figures.transfer.quantile(50).unwrap_or(0),
            p10_ns: figures.transfer.quantile(10).unwrap_or(0),
            is_ready: is_ready(&figures.late_receiver),
            uncertainty_ns: inputs.clocks.uncertainty_ns(ends.0.host, ends.1.host),
        })
    };
    let nodes = (0u32..).zip(&roles.nodes).filter_map(|(slot, node)| {
        let children = node.arrivals.len().max(node.departures.len());
        let behind = node.departures.iter().filter_map(|child| child.wait.mean());
        if children < 3 {
            return None;
        }
        Some(NodeFacts {
            rank: rank(slot)?,
            // The node's own process is a contributor, too.
            children: children as u64 - 1,
            spread_ns: behind.max().unwrap_or(0),
            stay_ns: (critical.stays.get(slot as usize)).map_or(0, |stay| saturate(stay.total_ns)),
        })
    });
    Some(GraphFacts {
        instances: tally.instances,
        known: critical.n,
        path_ns: on_hops + in_ranks,
        bytes: tally.bytes.map_or(0, |(_, most)| most),
        height: recognition.tree.map(|tree| tree.height.into()),
        is_own: false,
        edges: (edges.iter().zip(&figures.edges).enumerate())
            .filter_map(of_edge)
            .collect(),
        nodes: nodes.collect(),
    })
}

/// A spanning tree of our own.
fn own_tree(
    inputs: &Inputs<'_>,
    tree: OwnTreeHops<'_>,
    located: &dyn Fn(Option<u32>) -> Option<Location>,
) -> GraphFacts {
    let figures = &tree.tally.figures;
    let critical = &figures.critical;
    let on_hops: i128 = critical.hops.iter().map(|hop| hop.total_ns).sum();
    let in_ranks: i128 = critical.stays.iter().map(|stay| stay.total_ns).sum();
    let bytes = tree.tally.bytes.map_or(0, |(_, most)| most);
    let of_hop = |(number, (&(from, to), figures)): (usize, (&(u32, u32), &EdgeFigures))| {
        let ends = (located(Some(from))?, located(Some(to))?);
        let on_path = critical.hops.get(number);
        Some(EdgeFacts {
            from,
            to,
            class: class(ends),
            hosts: (ends.0.host, ends.1.host),
            messages: 1.0,
            bytes,
            on_path: on_path.map_or(0, |hop| hop.n),
            on_path_ns: on_path.map_or(0, |hop| saturate(hop.total_ns)),
            // Where receivers are late, the time in transit is hidden.
            n: if is_ready(&figures.late_receiver) {
                figures.transfer.n()
            } else {
                0
            },
            median_ns: figures.transfer.quantile(50).unwrap_or(0),
            p10_ns: figures.transfer.quantile(10).unwrap_or(0),
            is_ready: is_ready(&figures.late_receiver),
            uncertainty_ns: inputs.clocks.uncertainty_ns(ends.0.host, ends.1.host),
        })
    };
    // Where a rank may only be late to receive there is no proxy, and nothing to cross.
    let hops = tree.hops.iter().zip(&figures.edges).enumerate();
    let crossings = hops.filter_map(of_hop).filter(|edge| edge.from != edge.to);
    GraphFacts {
        instances: tree.tally.instances,
        known: critical.n,
        path_ns: on_hops + in_ranks,
        bytes,
        height: Some(tree.height),
        is_own: true,
        edges: crossings
            .filter(|edge| edge.hosts.0 != edge.hosts.1)
            .collect(),
        nodes: Vec::new(),
    }
}

fn class((a, b): (Location, Location)) -> LinkClass {
    let farthest = LinkClass::ALL.into_iter().rev();
    let mut dividing = farthest.filter(|class| class.divides(a, b));
    dividing.next().unwrap_or(LinkClass::InHost)
}

/// The fewest hops one way from one rank to all: within a host, between the hosts of a site, and
/// between sites, each by a binomial tree of the largest group of that kind.
pub(crate) fn levels(locations: &[Location]) -> [u64; 3] {
    let mut by_host: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for at in locations {
        *by_host.entry((at.site, at.host)).or_default() += 1;
    }
    let mut by_site: BTreeMap<usize, u64> = BTreeMap::new();
    for (site, _) in by_host.keys() {
        *by_site.entry(*site).or_default() += 1;
    }
    let most = |counts: &mut dyn Iterator<Item = u64>| counts.max().unwrap_or(1);
    let hops = |n: u64| u64::from(n.next_power_of_two().ilog2());
    [
        hops(most(&mut by_host.values().copied())),
        hops(most(&mut by_site.values().copied())),
        hops(by_site.len() as u64),
    ]
}

/// The calls of a nonblocking operation.
fn overlap(tally: &OperationTally, waits_ns: i64) -> OverlapFacts {
    let Some(overlap) = &tally.overlap else {
        return OverlapFacts::default();
    };
    let mut found = OverlapFacts {
        calls: overlap.completion.n(),
        completion_ns: overlap.completion.total().saturating_sub(waits_ns).max(0),
        between_ns: overlap.overlap_bound.total(),
        is_sent_late: operations::overlap::overlap(tally)
            .is_some_and(|of| of.diagnosis == OverlapDiagnosis::NoProgression),
        ..OverlapFacts::default()
    };
    for graph in tally
        .inside
        .iter()
        .flat_map(|inside| inside.graphs.values())
    {
        let figures = &graph.figures;
        found.nobody_n += figures.nobody_in_mpi.n();
        let nobody_ns = figures.nobody_in_mpi.total();
        found.nobody_ns = found.nobody_ns.saturating_add(nobody_ns);
        for edge in &figures.edges {
            found.late_n += edge.late_progress.n();
            let late_ns = edge.late_receiver.total();
            found.late_receiver_ns = found.late_receiver_ns.saturating_add(late_ns);
            let progress_ns = edge.late_progress.total();
            found.late_progress_ns = found.late_progress_ns.saturating_add(progress_ns);
        }
    }
    found
}

//! Why collectives take longer than they need to: what operation time costs above the fewest hops
//! and the fewest crossings between sites.
//!
//! The critical path of an instance begins at the enter of the last rank that it waits for. So
//! waiting for a late rank is not in its time, also where that rank is in the middle of a tree. The
//! mean time on the path is divided, in this order:
//!
//! 1. *slow links*: on the path, the median of their messages less that of the same class and size
//!    between others;
//! 2. *placement*: crossings between sites (or hosts) beyond those that are needed, each less a near
//!    message; *algorithm*, where the order of ranks is not to blame for them;
//! 3. of the rest, what exceeds the fewest hops, each of the usual transfer time of its class and
//!    size: *algorithm* or *serialization*, if it is at least as much again, and only as far as many
//!    hops, children or segments explain it;
//! 4. else, *transfer*: the time of large messages, where data and not latency make it; of one rank, where each says how much
//!    it sends to each and that one receives most of it.
//!
//! Where each rank has data of its own for the root, or the root for each (gather, scatter), a root that
//! serves many ranks one after another is a *serialization*, if a binomial tree, whose messages
//! grow from hop to hop, would take half as long at most.
//!
//! A part of the time on the path costs all ranks the same part of their operation time. For
//! nonblocking collectives the time of the completing call counts that could have been overlapped,
//! if nothing progressed.
//!
//! # Source
//! `docs/metrics.md`, "Costs of operation time".

use std::collections::{BTreeMap, BTreeSet};

use collbench_stats::integers::saturate;

use crate::judge::causes::completions::LateToComplete;
use crate::judge::causes::operation_costs::crossings::Crossings;
use crate::judge::causes::operation_costs::facts::{
    EdgeFacts, Flow, GraphFacts, LinkClass, Location, NodeFacts, OperationFacts, OverlapFacts,
    levels,
};
use crate::judge::causes::operation_costs::links::{
    LinkEnds, SlowLink, UsualTime, UsualTimes, Ways, links_of_ends, slow_link, slow_links,
};
use crate::judge::causes::operation_costs::transfer::{Transfer, most_per_s};
use crate::judge::causes::sites::Sites;
use crate::judge::inputs::Inputs;
use crate::results::operation_costs::{
    AlgorithmTrouble, CausePlace, Confidence, CostFacts, OperationCause, OperationCauseKind,
    OperationCosts, UnexplainedOperation,
};

mod crossings;
mod facts;
mod links;
#[cfg(test)]
mod tests;
mod transfer;

/// Instances with a known critical path, at least.
const MIN_INSTANCES: u64 = 5;
/// From how many times the fewest possible the time, or the number of hops, is far above it.
const FAR_ABOVE: f64 = 2.0;
/// Messages per edge and instance from which on segments count as many, and their largest size.
const MANY_SEGMENTS: f64 = 16.0;
const SMALL_SEGMENT: u64 = 1024;
/// Part of the time of all ranks from which on a cost matters: one in so many.
const MATTERS: i128 = 100;
/// Part of it from which on transfers within a host are told, and part of the most bytes per second that they reach, at least:
/// there, processes may wait for a core as well.
const DOMINATES: i128 = 4;
const AT_SPEED: u64 = 8;
/// Latency within a host where it is not known, ns.
const IN_HOST_NS: i64 = 1_000;

/// Round trips between hosts, ns, and the names of hosts.
struct Hosts<'s> {
    names: Vec<&'s str>,
    round_trips_ns: &'s BTreeMap<(usize, usize), i64>,
    site_of: Option<&'s [usize]>,
    are_sites_sure: bool,
}

/// What the messages of a run usually take.
struct Known<'s> {
    operations: &'s [OperationFacts],
    hosts: &'s Hosts<'s>,
    usual: UsualTimes,
    ways: Ways,
}

impl Known<'_> {
    /// What a message without data takes, ns; `None` where that is not known.
    fn latency_ns(&self, edge: &EdgeFacts) -> Option<i64> {
        let small_ns = self.usual.small_ns(edge.class);
        match edge.class {
            LinkClass::InHost => Some(small_ns.unwrap_or(IN_HOST_NS)),
            _ => {
                let trip_ns = self.hosts.round_trips(edge.hosts.0, edge.hosts.1).0;
                trip_ns.map(|ns| ns / 2).or(small_ns)
            }
        }
    }
}

/// What the operation time of a run costs. `rank_ns`: the time of all ranks, ns; `late_to_complete`: those that others
/// wait for in completing calls, which is no time of the operation itself.
pub(crate) fn operation_costs(
    inputs: &Inputs<'_>,
    sites: Option<&Sites>,
    rank_ns: i128,
    late_to_complete: &[LateToComplete],
) -> OperationCosts {
    let hosts = Hosts {
        names: inputs.clocks.hosts.iter().map(|host| &*host.name).collect(),
        round_trips_ns: &inputs.clocks.round_trips_ns,
        site_of: sites.map(|sites| &sites.of_host[..]),
        are_sites_sure: sites.is_some_and(|sites| sites.summary.is_sure),
    };
    let operations = facts::operations(inputs, sites, late_to_complete);
    costs(&operations, &hosts, rank_ns)
}

fn costs(operations: &[OperationFacts], hosts: &Hosts<'_>, rank_ns: i128) -> OperationCosts {
    let ways = hosts.ways();
    let known = Known {
        operations,
        hosts,
        usual: UsualTimes::of(operations, &ways),
        ways,
    };
    let mut links: BTreeMap<LinkEnds, LinkCost> = BTreeMap::new();
    let mut causes: Vec<OperationCause> = Vec::new();
    let mut unexplained = Vec::new();
    let matters = |ns: i64| i128::from(ns) > 0 && i128::from(ns) * MATTERS >= rank_ns;
    for operation in operations {
        for graph in operation
            .graphs
            .iter()
            .filter(|of| of.known >= MIN_INSTANCES)
        {
            let path = PathCosts::of(operation, graph, &known);
            path.add_links(&mut links);
            // The shape of a tree of our own is the choice of the user.
            if !graph.is_own {
                causes.extend(path.placement());
                let shape = match operation.flow {
                    Flow::Rooted => path.serialization_at_root(),
                    _ => path.algorithm(),
                };
                let data = || {
                    path.transfer().filter(|cause| {
                        let CostFacts::Transfer {
                            is_in_host,
                            bytes_per_s,
                            most_per_s,
                            ..
                        } = cause.facts
                        else {
                            return false;
                        };
                        let dominates = i128::from(cause.cost_ns) * DOMINATES >= rank_ns;
                        let is_at_speed = bytes_per_s >= most_per_s / AT_SPEED;
                        !is_in_host || dominates && is_at_speed
                    })
                };
                causes.extend(shape.or_else(|| path.to_one()).or_else(data));
            }
        }
        causes.extend(no_progress(operation));
        if let Some(why) = operation
            .unexplained
            .filter(|_| matters(operation.operation_time_ns))
        {
            unexplained.push(UnexplainedOperation {
                operation: operation.index,
                operation_time_ns: operation.operation_time_ns,
                why,
            });
        }
    }
    let mut causes = merge_placements(causes);
    causes.extend(link_causes(operations, links, hosts));
    let waits_ns = |cause: &OperationCause| {
        let mut all = operations.iter();
        let of = all.find(|of| of.index == cause.operation)?;
        let part = cause.cost_ns as f64 / of.operation_time_ns.max(1) as f64;
        Some((of.waits_caused_ns as f64 * part.clamp(0.0, 1.0)).round() as i64)
    };
    causes.retain(|cause| matters(cause.cost_ns.max(waits_ns(cause).unwrap_or(0))));
    // Stable: causes of equal cost stay in the order of their operations.
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.cost_ns));
    unexplained.sort_by_key(|of| std::cmp::Reverse(of.operation_time_ns));
    OperationCosts {
        causes,
        unexplained,
    }
}

/// The mean time on the critical paths of the instances of a graph, in parts, ns.
struct PathCosts<'a> {
    operation: &'a OperationFacts,
    graph: &'a GraphFacts,
    /// All of it, without what a few long instances make.
    path_ns: f64,
    /// By slow link.
    links_ns: BTreeMap<LinkEnds, (f64, SlowLink)>,
    known: &'a Known<'a>,
    /// Crossings between far places, and the time of those that are not needed.
    crossings: Option<Crossings>,
    placement_ns: f64,
    /// The fewest possible hops by class, and their time; `None` where no time is known.
    fewest_hops: u64,
    needed: Option<UsualTime>,
}

impl<'a> PathCosts<'a> {
    fn of(operation: &'a OperationFacts, graph: &'a GraphFacts, known: &'a Known<'a>) -> Self {
        let n = graph.known as f64;
        let path_ns = graph.path_ns as f64 / n * operation.typical;
        let mut own = Self {
            operation,
            graph,
            known,
            path_ns,
            links_ns: BTreeMap::new(),
            crossings: Crossings::of(operation, graph, &known.usual, &known.ways),
            placement_ns: 0.0,
            fewest_hops: 0,
            needed: None,
        };
        own.find_links();
        let needless_ns = own.crossings.map_or(0.0, |of| of.needless_ns());
        own.placement_ns = (needless_ns * operation.typical).min(own.rest_ns());
        if matches!(operation.flow, Flow::Other | Flow::Rooted) {
            return own;
        }
        let levels = levels(&operation.locations);
        let usual = |class| known.usual.of_message(class, graph.bytes);
        // An exchange of all with all has as many rounds as a tree one way has hops; one that is
        // done by trees in both directions is not said to be far above it.
        let ways = if operation.flow == Flow::BothWays {
            2
        } else {
            1
        };
        own.fewest_hops = levels.iter().sum::<u64>() * ways;
        let hops = LinkClass::ALL
            .into_iter()
            .zip(levels)
            .filter(|&(_, n)| n > 0);
        // A node that sends to several children sends one in each round.
        let gap_ns = graph.gap_ns();
        own.needed = hops
            .map(|(class, n)| usual(class).map(|time| (time, n * ways)))
            .collect::<Option<Vec<_>>>()
            .map(|times| UsualTime {
                ns: times
                    .iter()
                    .map(|&(time, n)| time.ns.max(gap_ns).saturating_mul(n.cast_signed()))
                    .fold(0, i64::saturating_add),
                is_assumed: times.iter().any(|(time, _)| time.is_assumed),
            });
        own
    }

    fn find_links(&mut self) {
        let slow = slow_links(self.graph, |a, b| self.known.hosts.round_trips(a, b).1);
        let n = self.graph.known as f64;
        for edge in self.graph.edges.iter().filter(|edge| edge.on_path > 0) {
            let Some(link) = slow_link(&slow, edge) else {
                continue;
            };
            let longer_ns = (link.median_ns - link.usual_ns) as f64;
            let part_ns = longer_ns * edge.on_path as f64 / n;
            let own = self
                .links_ns
                .entry(LinkEnds::of(edge))
                .or_insert((0.0, *link));
            own.0 += part_ns;
            if link.median_ns > own.1.median_ns {
                own.1 = *link;
            }
        }
        let all_ns: f64 = self.links_ns.values().map(|(ns, _)| ns).sum();
        if all_ns > self.path_ns {
            let part = self.path_ns / all_ns;
            self.links_ns.values_mut().for_each(|(ns, _)| *ns *= part);
        }
    }

    /// Time on the path without slow links and needless crossings.
    fn rest_ns(&self) -> f64 {
        let links_ns: f64 = self.links_ns.values().map(|(ns, _)| ns).sum();
        (self.path_ns - links_ns - self.placement_ns).max(0.0)
    }

    /// What a part of the time on the path costs all ranks together, ns.
    fn cost_ns(&self, part_ns: f64) -> i64 {
        let operation = self.operation;
        if self.path_ns <= 0.0 {
            return 0;
        }
        let share_known = self.graph.known as f64 / operation.instances.max(1) as f64;
        let spent_ns =
            operation.operation_time_ns as f64 * share_known.min(1.0) * operation.typical;
        // Ranks that wait for a late one inside wait no longer than the path from there on.
        let most_ns = self.graph.known as f64 * operation.locations.len() as f64 * self.path_ns;
        (spent_ns.min(most_ns) * (part_ns / self.path_ns).clamp(0.0, 1.0)).round() as i64
    }

    fn cause(
        &self,
        kind: OperationCauseKind,
        place: CausePlace,
        part_ns: f64,
        confidence: Confidence,
        facts: CostFacts,
    ) -> OperationCause {
        OperationCause {
            kind,
            place,
            operation: self.operation.index,
            others: Vec::new(),
            cost_ns: self.cost_ns(part_ns),
            per_instance_ns: part_ns.round() as i64,
            instances: self.graph.known,
            run_shorter_ns: self.run_shorter_ns(part_ns),
            confidence,
            facts,
        }
    }

    fn communicator(&self) -> CausePlace {
        CausePlace::Communicator(self.operation.communicator)
    }

    fn add_links(&self, links: &mut BTreeMap<LinkEnds, LinkCost>) {
        for (&ends, &(part_ns, link)) in &self.links_ns {
            let cost = links.entry(ends).or_default();
            cost.parts.push(LinkPart {
                operation: self.operation.index,
                instances: self.graph.known,
                cost_ns: self.cost_ns(part_ns),
                per_instance_ns: part_ns.round() as i64,
                link,
            });
        }
    }

    /// Crossings that are not needed. Where the ranks are in the order of sites, they are the algorithm's.
    fn placement(&self) -> Option<OperationCause> {
        let of = self.crossings.filter(|_| self.placement_ns > 0.0)?;
        let is_between_sites = of.class == LinkClass::BetweenSites;
        let kind = if is_between_sites && of.are_ranks_in_order {
            OperationCauseKind::Algorithm
        } else {
            OperationCauseKind::Placement
        };
        let edges = self.graph.edges.iter();
        let crossings = edges.filter(|edge| edge.class == of.class).count() as u64;
        let count = |of: &dyn Fn(&Location) -> usize| {
            let places = self.operation.locations.iter().map(of);
            places.collect::<BTreeSet<usize>>().len()
        };
        let (sites, hosts) = (count(&|at| at.site), count(&|at| at.host));
        let ways = match self.operation.flow {
            Flow::OneWay | Flow::Rooted => 1,
            Flow::BothWays | Flow::Other => 2,
        };
        let places = if is_between_sites { sites } else { hosts };
        let is_sure = (self.known.hosts.are_sites_sure || !is_between_sites) && !of.is_assumed;
        let can_use_tree = self.operation.can_use_tree && self.is_tree_better(&of);
        let facts = CostFacts::Placement {
            crossings,
            fewest: (places as u64 - 1) * ways,
            on_path: (of.on_path * 10.0).round() / 10.0,
            needed_on_path: of.fewest.round() as u64,
            crossing_ns: of.each_ns().round() as i64,
            is_of_order: of.are_of_order(),
            sites,
            hosts,
            can_use_tree,
        };
        let cause = self.cause(
            kind,
            self.communicator(),
            self.placement_ns,
            confidence(is_sure),
            facts,
        );
        if !can_use_tree {
            return Some(cause);
        }
        // Another tree may do better in other ways, too: it needs no less than its crossings, though. Where some ranks
        // need not wait for the others, not even these are in their time.
        let way_ns = (self.known.ways.of_class(of.class)).map_or(0, |way| way.least_ns);
        let needed_ns = match self.operation.flow {
            Flow::BothWays | Flow::Other => of.fewest * way_ns as f64,
            Flow::OneWay | Flow::Rooted => 0.0,
        };
        let path_ns = self.graph.path_ns as f64 / self.graph.known as f64;
        Some(OperationCause {
            run_shorter_ns: self.run_shorter_ns((path_ns - needed_ns).max(self.placement_ns)),
            ..cause
        })
    }

    /// Whether a tree by hosts and sites has fewer crossings: between hosts of one site it has as many to the root as
    /// from it.
    fn is_tree_better(&self, of: &Crossings) -> bool {
        let ways = match (of.class, self.operation.flow) {
            (LinkClass::BetweenHosts, Flow::BothWays | Flow::Other) => 2.0,
            _ => 1.0,
        };
        of.on_path > of.fewest * ways
    }

    /// By how much the run can be shorter without a part of the path of each instance, ns: of those whose path is not
    /// known as of the others, and at most by the time of all calls of the rank that they take longest.
    fn run_shorter_ns(&self, part_ns: f64) -> i64 {
        let all_ns = part_ns * self.graph.instances as f64;
        (all_ns.round() as i64).min(self.operation.longest_ns)
    }

    /// Large messages, where their data take most of the path.
    fn transfer(&self) -> Option<OperationCause> {
        let hosts = self.known.hosts;
        let latency_ns = |edge: &EdgeFacts| self.known.latency_ns(edge);
        let is_slow = |edge: &EdgeFacts| self.links_ns.contains_key(&LinkEnds::of(edge));
        let of = Transfer::of(self.operation, self.graph, is_slow, latency_ns)?;
        let part_ns = (of.ns * self.operation.typical).min(self.rest_ns());
        if part_ns < self.path_ns / 2.0 {
            return None;
        }
        let name = |host: usize| hosts.names[host].to_owned();
        let (place, class) = match of.link {
            LinkEnds::Hosts(a, b) => {
                let (from, to) = (name(a), name(b));
                (CausePlace::Hosts { from, to }, hosts.class(a, b))
            }
            LinkEnds::Ranks(from, to) => (CausePlace::Ranks { from, to }, LinkClass::InHost),
        };
        let most_per_s = most_per_s(self.known.operations, class, latency_ns);
        let most_per_s = most_per_s.unwrap_or(0.0).max(of.per_s());
        let facts = CostFacts::Transfer {
            bytes: of.link_bytes.round() as u64,
            transfer_ns: of.link_ns.round() as i64,
            bytes_per_s: of.per_s().round() as u64,
            most_per_s: most_per_s.round() as u64,
            times: of.times.map(|times| (times * 10.0).round() / 10.0),
            is_in_host: of.is_in_host,
            can_use_tree: self.operation.can_use_tree,
        };
        let is_sure = of.per_s() * 2.0 >= most_per_s;
        let kind = OperationCauseKind::Transfer;
        Some(self.cause(kind, place, part_ns, confidence(is_sure), facts))
    }

    /// Many hops, children or segments, where they explain why the rest is far above the fewest
    /// hops.
    fn algorithm(&self) -> Option<OperationCause> {
        let needed = self.needed?;
        let rest_ns = self.rest_ns();
        let needed_ns = needed.ns as f64;
        if rest_ns < FAR_ABOVE * needed_ns || self.fewest_hops == 0 {
            return None;
        }
        let graph = self.graph;
        let n = graph.known as f64;
        let n_ranks = self.operation.locations.len() as u64;
        let on_path = || graph.edges.iter().filter(|edge| edge.on_path > 0);
        let uses = |edge: &EdgeFacts| edge.on_path as f64 / n;
        let waited_for = on_path().filter(|edge| edge.is_waited_for());
        let hops: f64 = waited_for.map(uses).sum();
        let fewest = self.fewest_hops as f64;
        // Each hop takes an equal part.
        let by_hops_ns = rest_ns * (1.0 - fewest / hops.max(fewest));
        let many_hops = hops >= FAR_ABOVE * fewest;
        let nodes = graph.nodes.iter();
        let of_children_ns: f64 = nodes.map(|node| served_ns(node, n, n_ranks)).sum();
        let n_segments = mean(on_path().map(|edge| (edge.messages, uses(edge))));
        let segment = mean(on_path().map(|edge| (edge.bytes as f64, uses(edge)))).unwrap_or(0.0);
        let many_segments =
            n_segments.filter(|&n| n >= MANY_SEGMENTS && segment <= SMALL_SEGMENT as f64);
        let by_segments_ns = many_segments.map_or(0.0, |n| rest_ns * (1.0 - 1.0 / n));
        // Hops on the path of a low tree are those of one node after another.
        let is_low = graph
            .height
            .is_some_and(|height| (height as f64) < FAR_ABOVE * fewest);
        let served_ns = match (many_hops, is_low) {
            (true, true) => by_hops_ns.max(of_children_ns),
            _ => of_children_ns,
        };
        let deep_ns = if many_hops && !is_low {
            by_hops_ns
        } else {
            0.0
        };
        let explained_ns = served_ns.max(deep_ns).max(by_segments_ns);
        let part_ns = explained_ns.min(rest_ns - needed_ns);
        if part_ns < rest_ns / 4.0 {
            return None;
        }
        let confidence = confidence(!needed.is_assumed);
        let algorithm = |trouble| {
            let facts = CostFacts::Algorithm {
                trouble,
                path_ns: rest_ns.round() as i64,
                needed_ns: needed.ns,
                ranks: self.operation.locations.len(),
                bytes: graph.bytes,
            };
            let kind = OperationCauseKind::Algorithm;
            self.cause(kind, self.communicator(), part_ns, confidence, facts)
        };
        if deep_ns >= served_ns && deep_ns > 0.0 {
            // Small segments in a long chain: fewer hops do not help as much as larger segments.
            return Some(match many_segments {
                Some(n) if n > hops => algorithm(AlgorithmTrouble::Segments {
                    n: n.round() as u64,
                    bytes: segment.round() as u64,
                }),
                _ => algorithm(AlgorithmTrouble::Depth {
                    hops: hops.round() as u64,
                    fewest: self.fewest_hops,
                }),
            });
        }
        if by_segments_ns > served_ns {
            let n = many_segments?;
            return Some(algorithm(AlgorithmTrouble::Segments {
                n: n.round() as u64,
                bytes: segment.round() as u64,
            }));
        }
        // Of equal ones the first.
        let busiest = graph.nodes.iter().rev();
        let busiest = busiest.max_by_key(|node| (node.stay_ns, node.children))?;
        if busiest.children + 1 >= n_ranks {
            let children = busiest.children;
            return Some(algorithm(AlgorithmTrouble::Linear { children }));
        }
        let facts = CostFacts::Serialization {
            children: busiest.children,
            spread_ns: busiest.spread_ns,
            path_ns: rest_ns.round() as i64,
            needed_ns: needed.ns,
        };
        let kind = OperationCauseKind::Serialization;
        let place = CausePlace::Node(busiest.rank);
        Some(self.cause(kind, place, part_ns, confidence, facts))
    }
}

impl PathCosts<'_> {
    /// A root that serves many ranks one after another, where each has data of its own.
    fn serialization_at_root(&self) -> Option<OperationCause> {
        let graph = self.graph;
        let n_ranks = self.operation.locations.len() as u64;
        // Of equal ones the first.
        let nodes = graph.nodes.iter().rev();
        let root = nodes.max_by_key(|node| (node.children, node.stay_ns))?;
        let of_root = |edge: &&EdgeFacts| edge.from == root.rank || edge.to == root.rank;
        let edges = || graph.edges.iter().filter(of_root);
        // Receiving takes its time on the hops, sending in the root.
        let on_hops_ns: i64 = edges().map(|edge| edge.on_path_ns).sum();
        let serving_ns = (root.stay_ns + on_hops_ns) as f64 / graph.known as f64;
        let levels = levels(&self.operation.locations);
        let fewest = levels.iter().sum::<u64>();
        if (root.children as f64) < FAR_ABOVE * fewest as f64 {
            return None;
        }
        let all_bytes: f64 = edges().map(|edge| edge.messages * edge.bytes as f64).sum();
        let block = (all_bytes / (n_ranks - 1).max(1) as f64).round() as u64;
        let gap_ns = (serving_ns / root.children as f64).round() as i64;
        let rounds = LinkClass::ALL.into_iter().zip(levels);
        let rounds = rounds.flat_map(|(class, n)| (0..n).map(move |_| class));
        let times = (0..).zip(rounds).map(|(round, class)| {
            let bytes = block.saturating_mul(1_u64.checked_shl(round).unwrap_or(u64::MAX));
            let time = self.known.usual.of_message(class, bytes)?;
            Some(UsualTime {
                ns: time.ns.max(gap_ns),
                ..time
            })
        });
        let times: Vec<UsualTime> = times.collect::<Option<_>>()?;
        let needed_ns = times
            .iter()
            .map(|time| time.ns)
            .fold(0, i64::saturating_add);
        let rest_ns = self.rest_ns();
        let part_ns = serving_ns.min(rest_ns - needed_ns as f64);
        if rest_ns < FAR_ABOVE * needed_ns as f64 || part_ns < rest_ns / 4.0 {
            return None;
        }
        let facts = CostFacts::Serialization {
            children: root.children,
            spread_ns: serving_ns.round() as i64,
            path_ns: rest_ns.round() as i64,
            needed_ns,
        };
        let confidence = confidence(times.iter().all(|time| !time.is_assumed));
        let kind = OperationCauseKind::Serialization;
        let place = CausePlace::Node(root.rank);
        Some(self.cause(kind, place, part_ns, confidence, facts))
    }
}

fn confidence(is_sure: bool) -> Confidence {
    if is_sure {
        Confidence::Sure
    } else {
        Confidence::Likely
    }
}

/// Time on the critical path of an instance, of `n` with a known one, that a node spends on its
/// children, at most, ns.
fn served_ns(node: &NodeFacts, n: f64, n_ranks: u64) -> f64 {
    let stay_ns = node.stay_ns as f64 / n;
    if node.children + 1 >= n_ranks {
        // It stays until the last of all ranks has taken its data, also where they do so at once.
        stay_ns
    } else {
        stay_ns.min(node.spread_ns as f64)
    }
}

/// The mean of values with weights; `None` without weight.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weight) = values.fold((0.0, 0.0), |(sum, all), (value, weight)| {
        (sum + value * weight, all + weight)
    });
    (weight > 0.0).then(|| sum / weight)
}

/// Needless crossings on a communicator are one cause, whatever the operations: one order of ranks is to blame for them.
fn merge_placements(causes: Vec<OperationCause>) -> Vec<OperationCause> {
    let mut merged: Vec<OperationCause> = Vec::new();
    let is_of_crossings =
        |cause: &OperationCause| matches!(cause.facts, CostFacts::Placement { .. });
    for cause in causes {
        let is_alike = |other: &&mut OperationCause| {
            is_of_crossings(other) && (other.kind, &other.place) == (cause.kind, &cause.place)
        };
        let alike = merged.iter_mut().find(is_alike);
        match alike.filter(|_| is_of_crossings(&cause)) {
            Some(other) => other.merge(cause),
            None => merged.push(cause),
        }
    }
    merged
}

/// The slow links of a run, without those whose end is slow or busy: several links of it are slow in
/// one operation or another, and at least half of all that it has.
fn link_causes(
    operations: &[OperationFacts],
    links: BTreeMap<LinkEnds, LinkCost>,
    hosts: &Hosts<'_>,
) -> Vec<OperationCause> {
    let graphs = operations.iter().flat_map(|operation| &operation.graphs);
    let edges = graphs.flat_map(|graph| &graph.edges);
    let known: BTreeSet<LinkEnds> = edges.filter(|edge| edge.n > 0).map(LinkEnds::of).collect();
    let n_all = links_of_ends(known.into_iter());
    let n_slow = links_of_ends(links.keys().copied());
    let cause = |(ends, link): (LinkEnds, LinkCost)| {
        let counts = ends.each().map(|end| (n_slow[&end], n_all[&end]));
        let is_of_an_end = counts
            .iter()
            .any(|&(slow, all)| slow > 1 && 2 * slow >= all);
        let has_others = counts.iter().all(|&(_, all)| all > 1);
        (!is_of_an_end).then(|| link.cause(ends, hosts, has_others))
    };
    links.into_iter().filter_map(cause).collect()
}

/// What a slow link costs, by operation.
#[derive(Debug, Default)]
struct LinkCost {
    parts: Vec<LinkPart>,
}

#[derive(Debug, Clone, Copy)]
struct LinkPart {
    operation: usize,
    instances: u64,
    cost_ns: i64,
    per_instance_ns: i64,
    link: SlowLink,
}

impl LinkPart {
    fn run_shorter_ns(&self) -> i128 {
        i128::from(self.per_instance_ns) * i128::from(self.instances)
    }
}

impl LinkCost {
    /// All parts together. `has_others`: whether both ends have other links, which are not slow; else
    /// it may be an end that is slow.
    fn cause(self, ends: LinkEnds, hosts: &Hosts<'_>, has_others: bool) -> OperationCause {
        // Of equal ones the first operation.
        let costliest = |parts: &[LinkPart]| {
            let first = parts.iter().rev().max_by_key(|part| part.cost_ns);
            first.copied()
        };
        let main = costliest(&self.parts).unwrap_or(LinkPart {
            operation: 0,
            instances: 0,
            cost_ns: 0,
            per_instance_ns: 0,
            link: SlowLink {
                median_ns: 0,
                usual_ns: 0,
                n: 0,
                is_both_ways: false,
            },
        });
        let mut others: Vec<usize> = self.parts.iter().map(|part| part.operation).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|&operation| operation != main.operation);
        let (round_trip_ns, usual_round_trip_ns) = match ends {
            LinkEnds::Hosts(a, b) => hosts.round_trips(a, b),
            LinkEnds::Ranks(..) => (None, None),
        };
        let is_slow_there = (round_trip_ns.zip(usual_round_trip_ns))
            .is_some_and(|(own, usual)| own > usual.saturating_mul(3));
        let is_seen_twice = !others.is_empty() || main.link.is_both_ways;
        let name = |host: usize| hosts.names[host].to_owned();
        OperationCause {
            kind: match ends {
                LinkEnds::Hosts(..) => OperationCauseKind::SlowLink,
                LinkEnds::Ranks(..) => OperationCauseKind::SlowHop,
            },
            place: match ends {
                LinkEnds::Hosts(a, b) => CausePlace::Hosts {
                    from: name(a),
                    to: name(b),
                },
                LinkEnds::Ranks(from, to) => CausePlace::Ranks { from, to },
            },
            operation: main.operation,
            others,
            cost_ns: saturate(self.parts.iter().map(|part| i128::from(part.cost_ns)).sum()),
            per_instance_ns: main.per_instance_ns,
            instances: self.parts.iter().map(|part| part.instances).sum(),
            run_shorter_ns: saturate(self.parts.iter().map(|part| part.run_shorter_ns()).sum()),
            confidence: confidence(is_slow_there || (is_seen_twice && has_others)),
            facts: CostFacts::Link {
                median_ns: main.link.median_ns,
                usual_ns: main.link.usual_ns,
                n: main.link.n,
                round_trip_ns,
                usual_round_trip_ns,
            },
        }
    }
}

impl Hosts<'_> {
    /// Half of the round trips, by class.
    fn ways(&self) -> Ways {
        let trips = self.round_trips_ns.iter();
        Ways::of(trips.map(|(&(a, b), &ns)| (self.class(a, b), ns)))
    }

    /// The class of the link between two hosts.
    fn class(&self, a: usize, b: usize) -> LinkClass {
        match self.site_of {
            Some(of) if of[a] != of[b] => LinkClass::BetweenSites,
            _ => LinkClass::BetweenHosts,
        }
    }

    /// The round trip between two hosts, and the lower median of those between other two of the
    /// same class.
    fn round_trips(&self, a: usize, b: usize) -> (Option<i64>, Option<i64>) {
        let class = self.class(a, b);
        let pair = (a.min(b), a.max(b));
        let others = self.round_trips_ns.iter();
        let mut others: Vec<i64> = others
            .filter(|&(other, _)| *other != pair && self.class(other.0, other.1) == class)
            .map(|(_, &ns)| ns)
            .collect();
        others.sort_unstable();
        let usual = (others.len() > 1).then(|| others[(others.len() - 1) / 2]);
        (self.round_trips_ns.get(&pair).copied(), usual)
    }
}

/// A nonblocking collective that does not progress between initiation and completion, if the time
/// of its completing calls could have been overlapped.
fn no_progress(operation: &OperationFacts) -> Option<OperationCause> {
    let of: &OverlapFacts = operation.overlap.as_ref()?;
    let calls = of.calls.max(1).cast_signed();
    let between_ns = of.between_ns / calls;
    let nobody_ns = (of.nobody_n > 0).then(|| of.nobody_ns / of.nobody_n.max(1).cast_signed());
    // A third: ranks initiate one after the other.
    let is_nobody =
        of.nobody_n >= MIN_INSTANCES && nobody_ns.is_some_and(|ns| ns > 0 && ns >= between_ns / 3);
    let is_late = of.late_n >= MIN_INSTANCES
        && of.late_progress_ns > 0
        && of.late_progress_ns >= of.late_receiver_ns / 2;
    if !is_nobody && !is_late && !of.is_sent_late {
        return None;
    }
    Some(OperationCause {
        kind: OperationCauseKind::NoProgress,
        place: CausePlace::Communicator(operation.communicator),
        operation: operation.index,
        others: Vec::new(),
        cost_ns: of.completion_ns.min(of.between_ns),
        per_instance_ns: (of.completion_ns / calls).min(between_ns),
        instances: operation.instances,
        run_shorter_ns: saturate(
            i128::from((of.completion_ns / calls).min(between_ns))
                * i128::from(operation.instances),
        ),
        confidence: confidence(is_nobody),
        facts: CostFacts::NoProgress {
            nobody_in_mpi_ns: nobody_ns.filter(|&ns| ns > 0),
            between_ns,
            completion_ns: of.completion_ns / calls,
        },
    })
}

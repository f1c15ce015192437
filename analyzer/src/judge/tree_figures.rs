//! From figures of graphs to results: slots to world ranks, sums to summaries.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use collbench_stats::distribution::Summary;
use collbench_stats::integers::saturate;

use crate::judge::inputs::Inputs;
use crate::judge::paths::{Paths, ProcessPath, hotspot};
use crate::measure::critical_path::Doubt;
use crate::results::detail::Detail;
use crate::results::inside::{
    BeginSummary, BeginsElsewhere, Contributor, CriticalPathSummary, HopSummary, Join, LastArrival,
    OneWayClass, PathLine, PathStage, ProgressSummary, RoundSummary, StaySummary, TransferSummary,
    TreeFigures, UnknownPaths,
};
use crate::sums::graphs::by_roles::RoleFigures;
use crate::sums::graphs::figures::{EdgeFigures, GraphFigures};
use crate::sums::graphs::node_figures::{ContributorFigures, NodeFigures};
use crate::sums::serialization::SerializationPoint;
use crate::time::clocks::Clocks;

/// Rounds that are listed one by one.
const MAX_ROUNDS: usize = 2048;

/// The processes of an operation: which rank, and on which host.
pub(crate) struct RanksAndHosts<'s> {
    /// World rank by position.
    pub(crate) rank: &'s dyn Fn(u32) -> u32,
    /// Host of a position; `None` without a file.
    pub(crate) host: &'s dyn Fn(u32) -> Option<usize>,
    /// The wrappers of a position, and of the edge from one to another, in a spanning tree of our
    /// own.
    pub(crate) wrappers: &'s dyn Fn(u32, Option<u32>) -> Vec<u32>,
    pub(crate) clocks: &'s Clocks,
}

impl RanksAndHosts<'_> {
    /// Uncertainty of a difference between stamps of two positions, ns; `None` where they have one
    /// clock, or no common time.
    fn uncertainty_ns(&self, a: u32, b: u32) -> Option<i64> {
        match ((self.host)(a), (self.host)(b)) {
            (Some(a), Some(b)) if a != b => self.clocks.uncertainty_ns(a, b),
            _ => None,
        }
    }

    /// The greatest of any two of so many positions.
    fn worst_uncertainty_ns(&self, n: u32) -> Option<i64> {
        let hosts: BTreeSet<usize> = (0..n).filter_map(self.host).collect();
        let others = |a: usize| hosts.range(a + 1..).map(move |&b| (a, b));
        let pairs = hosts.iter().flat_map(|&a| others(a));
        pairs
            .filter_map(|(a, b)| self.clocks.uncertainty_ns(a, b))
            .max()
    }
}

/// Host of a world rank.
pub(crate) fn host_of(inputs: &Inputs<'_>, rank: u32) -> Option<usize> {
    let process = inputs.run.process_of_rank(rank)?;
    Some(inputs.clocks.processes[process].host)
}

/// Times of the messages over an edge.
pub(crate) fn transfer(
    edge: &EdgeFigures,
    hosts: (Option<usize>, Option<usize>),
    clocks: &Clocks,
) -> TransferSummary {
    let transfer = edge.transfer.summary(None);
    let (class, uncertainty_ns) = match hosts {
        (Some(a), Some(b)) if a == b => (OneWayClass::OneClock, None),
        (Some(a), Some(b)) => {
            // A message received before it was sent proves an error at least as large.
            let proven_ns = (transfer.as_ref()).map_or(0, |transfer| transfer.min.saturating_neg());
            let uncertainty_ns = (clocks.uncertainty_ns(a, b)).map(|stated| stated.max(proven_ns));
            let median = transfer.as_ref().map(|transfer| transfer.median);
            (OneWayClass::of(median, uncertainty_ns), uncertainty_ns)
        }
        _ => (OneWayClass::NotResolvable, None),
    };
    TransferSummary {
        transfer_ns: transfer.map(|transfer| Summary {
            uncertainty_ns,
            ..transfer
        }),
        transfer_p10_ns: edge.transfer.quantile(10),
        late_receiver_ns: edge.late_receiver.summary(uncertainty_ns),
        late_progress_ns: edge.late_progress.summary(uncertainty_ns),
        two_way_ns: edge.two_way.summary(None),
        one_way_class: class,
    }
}

/// Figures of a graph with these edges; `None` without instances.
pub(crate) fn tree_figures(
    figures: &GraphFigures,
    edges: &[(u32, u32)],
    ranks_and_hosts: &RanksAndHosts<'_>,
) -> Option<TreeFigures> {
    let roles = figures.usual_roles()?;
    let rank = ranks_and_hosts.rank;
    let crosses_hosts =
        |from: u32, to: u32| (ranks_and_hosts.host)(from) != (ranks_and_hosts.host)(to);
    let through = Paths::new(figures, roles, edges);
    let ways = through.all();
    let wrappers = ranks_and_hosts.wrappers;
    let in_ranks = |stage: &mut PathStage| {
        stage.wrappers = wrappers(stage.node, stage.from);
        stage.node = rank(stage.node);
        stage.from = stage.from.map(rank);
    };
    let mut classes = through.classes(&ways, &crosses_hosts);
    for class in &mut classes {
        // A path in both directions, or through rounds, ends at the clock where it began.
        if let (Some(way), true) = (&mut class.way_ns, roles.has[0] != roles.has[1]) {
            way.uncertainty_ns = ranks_and_hosts.uncertainty_ns(class.representative, roles.top);
        }
        class.representative = rank(class.representative);
        class.ranks.iter_mut().for_each(|slot| *slot = rank(*slot));
        class.stages.iter_mut().for_each(in_ranks);
    }
    let mut hotspot = hotspot(&ways);
    if let Some(hotspot) = &mut hotspot {
        in_ranks(&mut hotspot.stage);
        hotspot
            .ranks
            .iter_mut()
            .for_each(|slot| *slot = rank(*slot));
    }
    let is_tree = roles.has != [false, false];
    let worst_ns = ranks_and_hosts.worst_uncertainty_ns(roles.nodes.len() as u32);
    let nodes = || (0..).zip(&roles.nodes);
    let n_rounds: usize = roles.nodes.iter().map(|node| node.rounds.len()).sum();
    Some(TreeFigures {
        n: figures.n,
        joining_points: if is_tree {
            let is_join = |slot: u32| {
                let is_of_messages = roles.n_processes == roles.nodes.len();
                is_of_messages || slot as usize >= roles.n_processes
            };
            let joins = nodes().filter(|&(slot, _)| is_join(slot));
            joins
                .map(|(slot, node)| join(slot, node, ranks_and_hosts))
                .collect()
        } else {
            Detail::default()
        },
        last_path: last_path(roles, ranks_and_hosts),
        rounds: if n_rounds > MAX_ROUNDS {
            Detail::default()
        } else {
            nodes()
                .flat_map(|(slot, node)| rounds(slot, node, ranks_and_hosts, worst_ns))
                .collect()
        },
        ways: classes.into(),
        lines: lines(ways, in_ranks, rank),
        hotspot,
        critical_path: critical_path(figures, edges, rank),
        critical_path_unknown: unknown_paths(figures),
        progress: (figures.nobody_in_mpi.n() > 0).then(|| ProgressSummary {
            instances: figures.nobody_in_mpi.n(),
            duration_ns: saturate(figures.nobody_in_mpi_durations_ns),
            nobody_in_mpi_ns: figures.nobody_in_mpi.summary(worst_ns),
        }),
    })
}

fn lines(
    ways: Vec<ProcessPath>,
    in_ranks: impl Fn(&mut PathStage),
    rank: &dyn Fn(u32) -> u32,
) -> Vec<PathLine> {
    let line = |mut way: ProcessPath| {
        way.stages.iter_mut().for_each(&in_ranks);
        PathLine {
            rank: rank(way.slot),
            stages: way.stages,
        }
    };
    ways.into_iter().map(line).collect()
}

/// From the root along the heaviest edges of the load-imbalance graph.
///
/// # Source
/// Bongo et al. 2004, section 3: the weight of an edge is how often that child arrived last.
fn last_path(figures: &RoleFigures, ranks_and_hosts: &RanksAndHosts<'_>) -> Vec<LastArrival> {
    let (rank, wrappers) = (ranks_and_hosts.rank, ranks_and_hosts.wrappers);
    let mut path = Vec::new();
    let mut at = figures.top;
    // A path has no more nodes than the tree.
    while path.len() < figures.nodes.len() {
        let arrivals = &figures.nodes[at as usize].arrivals;
        let positions = arrivals.iter().map(|contributor| contributor.order.len());
        let n = positions.max().unwrap_or(0);
        let lasts = arrivals.iter().map(|contributor| {
            let times = contributor
                .order
                .get(n.wrapping_sub(1))
                .copied()
                .unwrap_or(0);
            (times, Reverse(contributor.slot))
        });
        let Some((times, Reverse(last))) = lasts.clone().max().filter(|&(times, _)| times > 0)
        else {
            break;
        };
        path.push(LastArrival {
            node: rank(at),
            last: rank(last),
            node_wrappers: wrappers(at, None),
            last_wrappers: wrappers(last, None),
            times,
            resolved: lasts.map(|(times, _)| times).sum(),
        });
        if last == at {
            break;
        }
        at = last;
    }
    path
}

fn join(slot: u32, node: &NodeFigures, ranks_and_hosts: &RanksAndHosts<'_>) -> Join {
    let (rank, wrappers) = (ranks_and_hosts.rank, ranks_and_hosts.wrappers);
    let contributors = |contributors: &[ContributorFigures]| {
        let one = |contributor: &ContributorFigures| Contributor {
            rank: rank(contributor.slot),
            wrappers: wrappers(contributor.slot, None),
            wait_ns: contributor.wait.summary(None),
            order: contributor.order.clone(),
        };
        // A station of a tree of our own, which is no process, contributes nothing itself.
        let is_there =
            |of: &&ContributorFigures| of.slot != slot || wrappers(slot, None).is_empty();
        contributors.iter().filter(is_there).map(one).collect()
    };
    let points = node.serialization.iter().enumerate();
    let points = points.map(|(position, &(n, sum))| SerializationPoint {
        position,
        n,
        mean_ns: (sum / i128::from(n.max(1))) as i64,
    });
    Join {
        rank: rank(slot),
        wrappers: wrappers(slot, None),
        arrivals: contributors(&node.arrivals),
        departures: contributors(&node.departures),
        down_ns: node.down.summary(None),
        up_ns: node.up.summary(None),
        core_ns: node.core.summary(None),
        serialization: points.collect(),
    }
}

/// The rounds of a process in an exchange. `worst_ns`: the greatest uncertainty between any two
/// processes.
fn rounds(
    slot: u32,
    node: &NodeFigures,
    ranks_and_hosts: &RanksAndHosts<'_>,
    worst_ns: Option<i64>,
) -> Vec<RoundSummary> {
    let rounds = node.rounds.iter().enumerate();
    rounds
        .map(|(number, round)| {
            let uncertainty_ns = match round.partner {
                Some(partner) => ranks_and_hosts.uncertainty_ns(partner, slot),
                None => worst_ns,
            };
            RoundSummary {
                rank: (ranks_and_hosts.rank)(slot),
                round: number,
                from: round.partner.map(ranks_and_hosts.rank),
                local_ns: round.local.summary(None),
                late_sender_ns: round.late_sender.summary(uncertainty_ns),
                transfer_ns: round.transfer.summary(uncertainty_ns),
                transfer_p10_ns: round.transfer.quantile(10),
            }
        })
        .collect()
}

fn unknown_paths(figures: &GraphFigures) -> Vec<UnknownPaths> {
    let unknown = Doubt::ALL.into_iter().zip(figures.critical.unknown);
    let mut unknown: Vec<UnknownPaths> = unknown
        .filter(|&(_, instances)| instances > 0)
        .map(|(reason, instances)| UnknownPaths { reason, instances })
        .collect();
    unknown.sort_by_key(|paths| (Reverse(paths.instances), paths.reason));
    unknown
}

fn critical_path(
    figures: &GraphFigures,
    edges: &[(u32, u32)],
    rank: &dyn Fn(u32) -> u32,
) -> Option<CriticalPathSummary> {
    let critical = &figures.critical;
    if critical.n == 0 {
        return None;
    }
    let begins = (0..).zip(&critical.begins).filter(|(_, begin)| begin.n > 0);
    let mut begins: Vec<BeginSummary> = begins
        .map(|(slot, begin)| BeginSummary {
            rank: rank(slot),
            instances: begin.n,
            late_ns: saturate(begin.late_ns),
        })
        .collect();
    begins.sort_by_key(|begin| (Reverse(begin.instances), begin.rank));
    let hops = edges.iter().zip(&critical.hops);
    let mut hops: Vec<HopSummary> = hops
        .filter(|(_, hop)| hop.n > 0)
        .map(|(&(from, to), hop)| HopSummary {
            from: rank(from),
            to: rank(to),
            instances: hop.n,
            total_ns: saturate(hop.total_ns),
            longest: hop.n_longest,
        })
        .collect();
    hops.sort_by_key(|hop| (Reverse(hop.total_ns), hop.from, hop.to));
    let stays = (0..).zip(&critical.stays).filter(|(_, stay)| stay.n > 0);
    let mut stays: Vec<StaySummary> = stays
        .map(|(slot, stay)| StaySummary {
            rank: rank(slot),
            instances: stay.n,
            total_ns: saturate(stay.total_ns),
        })
        .collect();
    stays.sort_by_key(|stay| (Reverse(stay.total_ns), stay.rank));
    let all = &critical.all_for_all;
    Some(CriticalPathSummary {
        instances: critical.n,
        duration_ns: saturate(critical.duration_ns),
        begins: begins.into(),
        begins_elsewhere: (all.n > 0).then_some(BeginsElsewhere {
            of_instances: all.n,
            unresolved: all.n_unresolved,
            on_message: all.n_on_message,
            in_process: all.n_in_process,
        }),
        hops: hops.into(),
        stays: stays.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_worth_what_the_page_says() {
        let class = |difference, uncertainty| OneWayClass::of(Some(difference), Some(uncertainty));
        assert_eq!(class(151, 100), OneWayClass::Resolved);
        assert_eq!(class(-150, 100), OneWayClass::Likely);
        assert_eq!(class(51, 100), OneWayClass::Likely);
        assert_eq!(class(50, 100), OneWayClass::NotResolvable);
        assert_eq!(OneWayClass::of(Some(50), None), OneWayClass::NotResolvable);
    }
}

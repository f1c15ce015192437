//! The sites of the hosts of a run, from round trips between them.

use std::collections::BTreeMap;

use collbench_stats::distribution::Distribution;
use collbench_trees::sites;

use crate::judge::inputs::Inputs;
use crate::judge::tree_figures::host_of;
use crate::results::clock::HostSites;

/// Larger messages say more about the bandwidth than about the distance.
const MAX_BYTES: u64 = 4096;
/// With fewer messages a median says little.
const MIN_MESSAGES: u64 = 5;

/// The sites of the hosts of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sites {
    /// By host, numbered from 0 by the first host of each.
    pub(crate) of_host: Vec<usize>,
    /// Number of sites, and the round trips by which they were told apart.
    pub(crate) summary: HostSites,
}

impl Sites {
    /// The sites of a run; `None` where round trips do not divide the hosts.
    pub(crate) fn of(inputs: &Inputs<'_>) -> Option<Self> {
        let n_hosts = inputs.clocks.hosts.len();
        let found = find(n_hosts, &inputs.clocks.round_trips_ns, || {
            round_trips(inputs)
        })?;
        Some(Self {
            summary: HostSites {
                n: found.n,
                within_ns: found.within_ns,
                between_ns: found.between_ns,
                pairs: found.pairs,
                is_sure: found.is_sure,
            },
            of_host: found.of_host,
        })
    }
}

/// Message round trips that divide hosts which exchanges leave together are at least so long, in percent of the
/// shortest between sites; those that connect hosts are at most so long.
const FAR: i64 = 75;
const NEAR: i64 = 20;

/// The sites of hosts by the exchanges that measured the clocks; where these are not enough, also by messages.
///
/// Messages inside of collectives may take much longer than their way, and have the error of the clocks: hosts that
/// exchanges find equally far from others are divided only by messages that take about as long as those between sites.
fn find(
    n_hosts: usize,
    measured: &BTreeMap<(usize, usize), i64>,
    with_messages: impl FnOnce() -> BTreeMap<(usize, usize), i64>,
) -> Option<sites::Sites> {
    let found = sites::Sites::find(n_hosts, measured);
    if found.as_ref().is_some_and(|found| found.is_sure) {
        return found;
    }
    let mut all = with_messages();
    if let Some(assumed) = &found {
        all.retain(|pair, ns| {
            let percent = ns.saturating_mul(100) / assumed.between_ns.max(1);
            let is_near = percent <= NEAR;
            if is_near && !measured.contains_key(pair) {
                *ns = assumed.within_ns.min(*ns);
            }
            is_near || percent >= FAR || measured.contains_key(pair)
        });
    }
    sites::Sites::find(n_hosts, &all).or(found)
}

/// Round trips between hosts: of the exchanges that measured the clocks, and between hosts without one,
/// of messages inside collectives.
fn round_trips(inputs: &Inputs<'_>) -> BTreeMap<(usize, usize), i64> {
    let mut round_trips = inputs.clocks.round_trips_ns.clone();
    let one_way = one_ways(inputs);
    for (&(from, to), &there) in &one_way {
        let pair = (from.min(to), from.max(to));
        if inputs.clocks.round_trips_ns.contains_key(&pair) {
            continue;
        }
        let ns = match one_way.get(&(to, from)) {
            Some(&back) => there.saturating_add(back),
            None => {
                // Two standard deviations are known; a time is resolved above three.
                let error_ns = inputs.clocks.uncertainty_ns(from, to);
                let is_resolved = error_ns.is_some_and(|error| there / 3 > error / 2);
                if !is_resolved {
                    continue;
                }
                there.saturating_mul(2)
            }
        };
        if ns > 0 {
            round_trips.insert(pair, ns);
        }
    }
    round_trips
}

/// From host to host the shortest of the median transfer times of small messages whose receivers
/// were ready, ns. It has the error of the clocks.
fn one_ways(inputs: &Inputs<'_>) -> BTreeMap<(usize, usize), i64> {
    let mut one_ways: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for (key, tally) in inputs.sums.operations() {
        let Some(entry) = key.entry.filter(|_| tally.overlap.is_none()) else {
            continue;
        };
        let ranks = &inputs.communicators.entries[entry].ranks;
        let host = |position: u32| host_of(inputs, (*ranks.get(position as usize)?)?);
        let graphs = tally.inside.iter().flat_map(|inside| &inside.graphs);
        for (edges, graph) in graphs {
            for ((&(from, to), sum), figures) in
                (edges.iter().zip(&graph.edges)).zip(&graph.figures.edges)
            {
                let (Some(from), Some(to)) = (host(from), host(to)) else {
                    continue;
                };
                let is_small = sum.bytes <= sum.messages.saturating_mul(MAX_BYTES);
                if from == to || !is_small || !is_ready(&figures.late_receiver) {
                    continue;
                }
                if let Some(ns) = usual(&figures.transfer) {
                    let least = one_ways.entry((from, to)).or_insert(ns);
                    *least = ns.min(*least);
                }
            }
        }
    }
    one_ways
}

/// Whether receivers were ready for most messages.
pub(crate) fn is_ready(late_receiver: &Distribution) -> bool {
    late_receiver.quantile(50).is_some_and(|ns| ns <= 0)
}

/// The median, where there are enough samples.
fn usual(transfer: &Distribution) -> Option<i64> {
    (transfer.n() >= MIN_MESSAGES).then(|| transfer.quantile(50))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_messages_do_not_divide_hosts_that_are_equally_far_from_others() {
        // Two sites in turn: exchanges of all with the first host, and of neighbours.
        let far = |a: usize, b: usize| (a ^ b) & 1 == 1;
        let trip = |a: usize, b: usize| {
            let ns = if far(a, b) { 4_060_000 } else { 115_000 };
            ((a, b), ns + 100 * (a + 3 * b) as i64)
        };
        let star = (1..8).map(|b| trip(0, b));
        let ring = (1..7).map(|a| trip(a, a + 1));
        let measured: BTreeMap<(usize, usize), i64> = star.chain(ring).collect();
        // Some of a site took as long as a third, or half, of the way to the other.
        let found = find(8, &measured, || {
            let mut all = measured.clone();
            let slow = [((1, 3), 1_409_160), ((2, 6), 131_272), ((5, 7), 2_002_902)];
            all.extend(slow);
            all
        });
        assert_eq!(found.unwrap().of_host, [0, 1, 0, 1, 0, 1, 0, 1]);
        // As long as all the way: those are two sites.
        let found = find(8, &measured, || {
            let mut all = measured.clone();
            all.extend(
                [1, 3]
                    .into_iter()
                    .flat_map(|a| [5, 7].map(|b| ((a, b), 4_100_000))),
            );
            all.extend([((1, 3), 150_000), ((5, 7), 400_000)]);
            all
        });
        assert_eq!(found.unwrap().of_host, [0, 1, 0, 1, 0, 2, 0, 2]);
    }

    #[test]
    fn slow_messages_do_not_divide_a_site_that_exchanges_have_found() {
        // Host by host in turn on two sites, and exchanges as in recursive doubling.
        let pairs = (0..8_usize).flat_map(|a| [1, 2, 4].map(|bit| (a, a ^ bit)));
        let measured = pairs.filter(|(a, b)| a < b).map(|(a, b)| {
            let ns = if (a ^ b) & 1 == 1 { 4_000_000 } else { 120_000 };
            ((a, b), ns + 1000 * (a + b) as i64)
        });
        let measured: BTreeMap<(usize, usize), i64> = measured.collect();
        // All other pairs: seven times as long as in a site, and a third of what it takes to the other.
        let mut with_messages = measured.clone();
        for (a, b) in (0..8).flat_map(|b| (0..b).map(move |a| (a, b))) {
            with_messages.entry((a, b)).or_insert(1_100_000);
        }
        let found = find(8, &measured, || with_messages.clone()).unwrap();
        assert_eq!(found.of_host, [0, 1, 0, 1, 0, 1, 0, 1]);
        // Exchanges of all with one host leave open which of the far ones are together.
        let far = |host: usize| if host % 2 == 1 { 4_000_000 } else { 120_000 };
        let star = (1..8).map(|host| ((0, host), far(host) + 1000 * host as i64));
        let star: BTreeMap<(usize, usize), i64> = star.collect();
        let found = find(8, &star, || {
            let mut all = star.clone();
            all.extend([((1, 3), 120_000), ((3, 5), 121_000), ((5, 7), 122_000)]);
            all
        });
        let found = found.unwrap();
        assert_eq!(found.of_host, [0, 1, 0, 1, 0, 1, 0, 1]);
        assert!(found.is_sure);
    }
}

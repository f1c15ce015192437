//! From round trips between hosts to sites: hosts that are near to one another, and far from all
//! others.
//!
//! Round trips need no common time: an error of the clocks cancels between the two directions. The
//! known ones are sorted; where one is several times the one before it, those below connect the
//! hosts of a site (single linkage), and those above are between sites. So one slow link inside a
//! site does not divide it, since its hosts are connected by way of the others.
//!
//! Not all pairs are measured. Hosts without a known round trip to each other are assumed to be in
//! one site if they are equally far from the hosts that both were measured with. A host that hangs
//! on a single long round trip may as well have one slow link: then nothing is stated.

use std::collections::{BTreeMap, BTreeSet};

use collbench_stats::distribution::Distribution;

use crate::judge::inputs::Inputs;
use crate::judge::tree_figures::host_of;
use crate::results::clock::HostSites;

/// From how many times the next shorter round trip on a round trip is one between sites.
const GAP: f64 = 5.0;
/// Round trips of hosts that are assumed to be in one site differ by no more than this factor.
const ALIKE: f64 = 2.0;
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
        Self::find(inputs.clocks.hosts.len(), &round_trips(inputs))
    }

    /// The sites of `n_hosts` hosts by their round trips, ns: by pair of hosts, ascending.
    pub(crate) fn find(
        n_hosts: usize,
        round_trips: &BTreeMap<(usize, usize), i64>,
    ) -> Option<Self> {
        let mut sorted: Vec<i64> = round_trips.values().map(|&ns| ns.max(1)).collect();
        sorted.sort_unstable();
        let mut gaps: Vec<(i64, i64)> = sorted
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .filter(|&(near, far)| ratio(near, far) >= GAP)
            .collect();
        // The widest first; stable, so that of equal ones the shorter round trips come first.
        gaps.sort_by(|a, b| ratio(b.0, b.1).total_cmp(&ratio(a.0, a.1)));
        gaps.into_iter()
            .find_map(|gap| Self::divided_at(n_hosts, round_trips, gap))
    }

    fn divided_at(
        n_hosts: usize,
        round_trips: &BTreeMap<(usize, usize), i64>,
        (within_ns, between_ns): (i64, i64),
    ) -> Option<Self> {
        let mut of_host: Vec<usize> = (0..n_hosts).collect();
        for (&(a, b), _) in round_trips.iter().filter(|&(_, &ns)| ns <= within_ns) {
            join(&mut of_host, a, b);
        }
        let is_assumed = assume(&mut of_host, round_trips);
        let n = number(&mut of_host);
        // Mostly hosts that are near to nobody: the few short round trips are special, not the
        // long ones.
        if n < 2 || (n > 2 && 2 * n > n_hosts) {
            return None;
        }
        let size = |site: usize| of_host.iter().filter(|&&of| of == site).count();
        for site in 0..n {
            let leads_out =
                |&&(a, b): &&(usize, usize)| (of_host[a] == site) != (of_host[b] == site);
            let n_known = round_trips.keys().filter(leads_out).count();
            let n_possible = size(site) * (n_hosts - size(site));
            if n_known < n_possible.min(2) {
                return None;
            }
        }
        Some(Self {
            summary: HostSites {
                n,
                within_ns,
                between_ns,
                pairs: round_trips.len(),
                is_sure: !is_assumed,
            },
            of_host,
        })
    }
}

fn ratio(near: i64, far: i64) -> f64 {
    far as f64 / near as f64
}

/// Puts the sites of two hosts together.
fn join(of_host: &mut [usize], a: usize, b: usize) {
    let (from, to) = (of_host[a].max(of_host[b]), of_host[a].min(of_host[b]));
    if from == to {
        return;
    }
    for site in of_host.iter_mut().filter(|site| **site == from) {
        *site = to;
    }
}

/// Numbers the sites from 0, by their first host; gives how many there are.
fn number(of_host: &mut [usize]) -> usize {
    let mut numbers: Vec<usize> = Vec::new();
    for site in of_host.iter_mut() {
        let known = numbers.iter().position(|number| number == site);
        *site = known.unwrap_or_else(|| {
            numbers.push(*site);
            numbers.len() - 1
        });
    }
    numbers.len()
}

/// Puts together sites without a known round trip between them whose hosts are equally far from
/// hosts of a third one; gives whether there were any.
fn assume(of_host: &mut [usize], round_trips: &BTreeMap<(usize, usize), i64>) -> bool {
    let mut known: Vec<Vec<(usize, i64)>> = vec![Vec::new(); of_host.len()];
    for (&(a, b), &ns) in round_trips {
        known[a].push((b, ns));
        known[b].push((a, ns));
    }
    known.iter_mut().for_each(|of| of.sort_unstable());
    let mut connected = connections(of_host, round_trips);
    let mut is_assumed = false;
    for host in 0..of_host.len() {
        for other in 0..host {
            let sites = (of_host[host], of_host[other]);
            if sites.0 != sites.1
                && !connected.contains(&sites)
                && are_equally_far(&known[host], &known[other])
            {
                join(of_host, host, other);
                connected = connections(of_host, round_trips);
                is_assumed = true;
            }
        }
    }
    is_assumed
}

/// The pairs of sites with a known round trip between them, in both orders.
fn connections(
    of_host: &[usize],
    round_trips: &BTreeMap<(usize, usize), i64>,
) -> BTreeSet<(usize, usize)> {
    let pairs = round_trips.keys();
    let sites = pairs.map(|&(a, b)| (of_host[a], of_host[b]));
    sites.flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

/// Whether two hosts have round trips to the same hosts, and these are alike; both lists ascending.
fn are_equally_far(one: &[(usize, i64)], other: &[(usize, i64)]) -> bool {
    let mut ratios = one.iter().filter_map(|&(third, a)| {
        let at = other.binary_search_by_key(&third, |&(host, _)| host).ok()?;
        let b = other[at].1;
        Some(ratio(a.min(b).max(1), a.max(b).max(1)))
    });
    ratios.next().is_some_and(|first| first <= ALIKE) && ratios.all(|ratio| ratio <= ALIKE)
}

/// Round trips between hosts: of the exchanges that measured the clocks, and where there are none,
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

    /// Sites of hosts with a round trip of 60 us, or of 4 ms where `is_far`.
    fn sites(n_hosts: usize, is_far: impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
        let pairs = (0..n_hosts).flat_map(|b| (0..b).map(move |a| (a, b)));
        let round_trips = pairs.map(|(a, b)| {
            // No two are equal.
            let more = (1000 * a + 10 * b) as i64;
            let ns = if is_far(a, b) { 4_000_000 } else { 60_000 };
            ((a, b), ns + more)
        });
        Sites::find(n_hosts, &round_trips.collect()).map(|sites| sites.of_host)
    }

    #[test]
    fn hosts_far_from_one_another_are_two_sites() {
        assert_eq!(
            sites(8, |a, b| (a < 4) != (b < 4)).unwrap(),
            [0, 0, 0, 0, 1, 1, 1, 1]
        );
        // In any order, and as three.
        assert_eq!(
            sites(9, |a, b| a % 3 != b % 3).unwrap(),
            [0, 1, 2, 0, 1, 2, 0, 1, 2]
        );
        assert_eq!(sites(3, |_, b| b == 2).unwrap(), [0, 0, 1]);
    }

    #[test]
    fn equally_near_hosts_and_one_slow_link_are_no_sites() {
        assert_eq!(sites(8, |_, _| false), None);
        assert_eq!(sites(8, |_, _| true), None);
        assert_eq!(sites(6, |a, b| (a, b) == (2, 4)), None);
        assert_eq!(sites(2, |_, _| true), None);
        assert_eq!(Sites::find(1, &BTreeMap::new()), None);
    }

    #[test]
    fn two_hosts_nearer_than_all_others_do_not_make_sites_of_these() {
        assert_eq!(sites(6, |a, b| (a, b) != (0, 1)), None);
    }

    #[test]
    fn hosts_measured_with_one_host_only_are_assumed_to_be_together() {
        let far = 4_000_000;
        // Hosts 1 and 2 near host 0, hosts 3 to 5 far from it; nothing else is known.
        let star = [
            (1, 60_000),
            (2, 61_000),
            (3, far),
            (4, far + 9),
            (5, far + 5),
        ];
        let star: BTreeMap<(usize, usize), i64> =
            star.into_iter().map(|(host, ns)| ((0, host), ns)).collect();
        let found = Sites::find(6, &star).unwrap();
        assert_eq!(found.of_host, [0, 0, 0, 1, 1, 1]);
        assert!(!found.summary.is_sure);
        assert_eq!(found.summary.within_ns, 61_000);
        assert_eq!(found.summary.between_ns, far);
        // One host on one long round trip: a slow link, perhaps.
        let one: BTreeMap<(usize, usize), i64> = star
            .into_iter()
            .filter(|((_, host), _)| *host < 4)
            .collect();
        assert_eq!(Sites::find(4, &one), None);
    }
}

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

/// From how many times the next shorter round trip on a round trip is one between sites.
const GAP: f64 = 5.0;
/// Round trips of hosts that are assumed to be in one site differ by no more than this factor.
const ALIKE: f64 = 2.0;

/// The sites of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sites {
    /// By host, numbered from 0 by the first host of each.
    pub of_host: Vec<usize>,
    /// Number of sites, at least 2.
    pub n: usize,
    /// Longest round trip that keeps two hosts in one site, ns.
    pub within_ns: i64,
    /// Shortest round trip between two sites, ns.
    pub between_ns: i64,
    /// Pairs of hosts whose round trip is known.
    pub pairs: usize,
    /// Whether each site is connected by known round trips; else some hosts are assumed to be in
    /// one site, since they are equally far from the others.
    pub is_sure: bool,
}

impl Sites {
    /// The sites of `n_hosts` hosts by their round trips, ns: by pair of hosts, ascending. `None`
    /// where round trips do not divide the hosts.
    #[must_use]
    pub fn find(n_hosts: usize, round_trips: &BTreeMap<(usize, usize), i64>) -> Option<Self> {
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
            of_host,
            n,
            within_ns,
            between_ns,
            pairs: round_trips.len(),
            is_sure: !is_assumed,
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
        assert!(!found.is_sure);
        assert_eq!(found.within_ns, 61_000);
        assert_eq!(found.between_ns, far);
        // One host on one long round trip: a slow link, perhaps.
        let one: BTreeMap<(usize, usize), i64> = star
            .into_iter()
            .filter(|((_, host), _)| *host < 4)
            .collect();
        assert_eq!(Sites::find(4, &one), None);
    }
}

//! Groups of hosts that measurements connect, and the path to the reference of each host.

use std::collections::{BTreeMap, BTreeSet};

use crate::correction::Correction;
use crate::exchange::{self, Burst, Knot};
use crate::method::AlignmentMethod;

/// Offsets of the bursts between two hosts, by (local, reference); both directions are present.
pub type Edges = BTreeMap<(usize, usize), Vec<Knot>>;

/// Offsets of all bursts, ascending in time.
pub fn edges(bursts: &[Burst]) -> Edges {
    let mut edges = Edges::new();
    for burst in bursts {
        let (local, reference) = (burst.local_host, burst.reference_host);
        if local != reference
            && let Some(knot) = exchange::knot(&burst.stamps)
        {
            edges.entry((local, reference)).or_default().push(knot);
            edges
                .entry((reference, local))
                .or_default()
                .push(knot.reversed());
        }
    }
    for knots in edges.values_mut() {
        knots.sort_by_key(|knot| (knot.at_ns, knot.offset_ns));
        knots.dedup_by_key(|knot| knot.at_ns);
        remove_widest(knots);
    }
    edges
}

/// A burst whose bound exceeds the smallest of its pair by more than this factor says less than
/// those before and after it.
const WIDE: i64 = 8;

/// Removes bursts, except the first and the last, that had no undisturbed exchange.
fn remove_widest(knots: &mut Vec<Knot>) {
    let least_ns = knots.iter().map(|knot| knot.bound_ns).min().unwrap_or(0);
    let last = knots.len().saturating_sub(1);
    let mut index = 0;
    knots.retain(|knot| {
        let is_end = index == 0 || index == last;
        index += 1;
        is_end || knot.bound_ns / WIDE <= least_ns
    });
}

/// The clocks of all hosts, in groups that share one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// By host: number of its group.
    pub group_of: Vec<usize>,
    /// By host: its correction; `None` for the first host of a group, which is its reference.
    pub corrections: Vec<Option<Correction>>,
    /// By host: the host that it was measured against; `None` for references.
    pub parents: Vec<Option<usize>>,
}

impl Alignment {
    /// Aligns `n_hosts` hosts by the offsets between them. For [`AlignmentMethod::Smooth`] this is
    /// the initial value of the smoother: straight lines from burst to burst.
    #[must_use]
    pub fn of(n_hosts: usize, edges: &Edges, method: AlignmentMethod) -> Self {
        let mut alignment = Self {
            group_of: vec![usize::MAX; n_hosts],
            corrections: vec![None; n_hosts],
            parents: vec![None; n_hosts],
        };
        let mut n_groups = 0;
        for first in 0..n_hosts {
            if alignment.group_of[first] == usize::MAX {
                alignment.reach_from(first, n_groups, edges, method);
                n_groups += 1;
            }
        }
        alignment
    }

    /// Reaches all hosts that exchanges connect with the reference `first`, over the path with the
    /// least sum of bounds and uncertainties. A path whose hops were all measured more than once is
    /// preferred.
    fn reach_from(&mut self, first: usize, group: usize, edges: &Edges, method: AlignmentMethod) {
        // Whether a hop was measured only once, sum of bounds, host, the host before it on the
        // path.
        let mut next = BTreeSet::from([(false, 0i64, first, first)]);
        while let Some((is_single, bound_ns, host, parent)) = next.pop_first() {
            if self.group_of[host] != usize::MAX {
                continue;
            }
            self.group_of[host] = group;
            if host != first {
                let hop = Correction::through(&edges[&(host, parent)], method);
                self.corrections[host] = Some(match &self.corrections[parent] {
                    None => hop,
                    Some(beyond) => hop.then(beyond),
                });
                self.parents[host] = Some(parent);
            }
            // Both directions of an edge are present.
            for (&(_, other), knots) in edges.range((host, 0)..=(host, usize::MAX)) {
                if self.group_of[other] == usize::MAX {
                    let width = |knot: &Knot| knot.bound_ns.saturating_add(2 * knot.sd_ns as i64);
                    let widest = knots.iter().map(width).max().unwrap_or(0);
                    let is_single = is_single || knots.len() < 2;
                    next.insert((is_single, bound_ns.saturating_add(widest), other, host));
                }
            }
        }
    }

    /// Sets the groups of hosts after some have left theirs because their offsets cannot be true.
    pub fn set_groups(&mut self, group_of: Vec<usize>) {
        for (host, group) in group_of.iter().enumerate() {
            if *group != self.group_of[host] {
                self.corrections[host] = None;
                self.parents[host] = None;
            }
        }
        self.group_of = group_of;
    }

    /// Number of groups; more than one if hosts have no common time.
    #[must_use]
    pub fn n_groups(&self) -> usize {
        self.group_of.iter().max().map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(n_hosts: usize, bursts: &[Burst]) -> Alignment {
        Alignment::of(n_hosts, &edges(bursts), AlignmentMethod::Piecewise)
    }

    /// A burst whose best exchange took 2 * `one_way_ns`, at `at_ns` of the local clock.
    fn burst(hosts: (usize, usize), at_ns: i64, offset_ns: i64, one_way_ns: i64) -> Burst {
        let exchange = |i: i64| {
            let t2 = at_ns + 1_000 * i;
            let there = one_way_ns + 10 * i;
            let t1 = t2 - offset_ns - there;
            [t1, t2, t2 + 30, t2 + 30 - offset_ns + one_way_ns]
        };
        Burst {
            local_host: hosts.0,
            reference_host: hosts.1,
            stamps: (0..20).map(exchange).collect(),
        }
    }

    #[test]
    fn two_bursts_give_the_offset_at_all_times() {
        // 10 ppm over a second.
        let bursts = [
            burst((1, 0), 5_000, 7_000, 400),
            burst((1, 0), 1_000_005_000, 17_000, 400),
        ];
        let alignment = aligned(2, &bursts);
        assert_eq!(alignment.group_of, [0, 0]);
        let correction = alignment.corrections[1].as_ref().unwrap();
        for (at_ns, offset_ns) in [
            (5_000, 7_000),
            (500_005_000, 12_000),
            (1_000_005_000, 17_000),
        ] {
            assert!(correction.at(at_ns + 15).offset_ns.abs_diff(offset_ns) <= 1);
        }
        assert!((correction.drift_ppm().unwrap() - 10.0).abs() < 1e-6);
        for at_ns in [5_015, 1_000_005_015] {
            let knot = correction.at(at_ns);
            assert!((400..450).contains(&knot.bound_ns), "{}", knot.bound_ns);
            let uncertainty_ns = 2.0 * knot.sd_ns;
            assert!((20.0..=80.0).contains(&uncertainty_ns), "{uncertainty_ns}");
        }
    }

    #[test]
    fn hosts_are_reached_over_others_in_either_direction_and_bounds_add() {
        // 1 against 0; 2 measured as the reference of 1; 3 alone.
        let bursts = [
            burst((1, 0), 1_000_000, 500, 100),
            burst((1, 2), 1_000_000, -300, 50),
        ];
        let alignment = aligned(4, &bursts);
        assert_eq!(alignment.group_of, [0, 0, 0, 1]);
        assert_eq!(alignment.n_groups(), 2);
        // local 1 = reference + 500; local 1 = local 2 - 300; so local 2 = reference + 800.
        let at = alignment.corrections[2].as_ref().unwrap().at(1_000_300);
        assert!(at.offset_ns.abs_diff(800) <= 1, "{}", at.offset_ns);
        assert!((152..=156).contains(&at.bound_ns), "{}", at.bound_ns);
    }

    #[test]
    fn the_path_with_the_least_sum_of_bounds_is_taken() {
        // 2 was measured against 0 under load, and undisturbed over 1.
        let bursts = [
            burst((1, 0), 1_000_000, 500, 100),
            burst((2, 1), 1_000_000, 300, 100),
            burst((2, 0), 1_000_000, 900, 5_000),
        ];
        let alignment = aligned(3, &bursts);
        assert_eq!(alignment.parents, [None, Some(0), Some(1)]);
        let at = alignment.corrections[2].as_ref().unwrap().at(1_000_000);
        assert!(at.offset_ns.abs_diff(800) <= 1, "{}", at.offset_ns);
    }

    #[test]
    fn a_burst_in_between_without_a_quiet_moment_is_left_out() {
        let bursts = [
            burst((1, 0), 0, 500, 100),
            burst((1, 0), 1_000_000, 20_500, 40_000),
            burst((1, 0), 2_000_000, 500, 100),
        ];
        let alignment = aligned(2, &bursts);
        let at = alignment.corrections[1].as_ref().unwrap().at(1_000_000);
        assert!(at.offset_ns.abs_diff(500) <= 1, "{}", at.offset_ns);
        assert!(at.bound_ns < 150, "{}", at.bound_ns);
    }

    #[test]
    fn impossible_exchanges_are_ignored() {
        let stamps = vec![[0, i64::MAX, i64::MIN, 5], [10, 5, 4, 20], [10, 5, 50, 20]];
        let burst = Burst {
            local_host: 1,
            reference_host: 0,
            stamps,
        };
        assert_eq!(aligned(2, &[burst]).n_groups(), 2);
    }

    #[test]
    fn with_one_burst_the_error_grows_with_time() {
        let alignment = aligned(2, &[burst((1, 0), 0, 5, 100)]);
        let correction = alignment.corrections[1].as_ref().unwrap();
        assert_eq!(correction.drift_ppm(), None);
        let (near, far) = (correction.at(1_000), correction.at(1_000_000_000));
        assert!(far.bound_ns >= near.bound_ns + 99_000);
        assert!(far.sd_ns > 50_000.0);
    }
}

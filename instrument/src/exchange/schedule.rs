//! Which hosts exchange stamps, and in which order: the same list on every host, computed from
//! their number alone.
//!
//! Each host goes through the rounds in order, and takes part in at most one pair of each. So a
//! host only waits for a host in the same round or an earlier one, and the hosts in the earliest
//! round wait for none: a schedule of this form cannot deadlock.

use crate::settings::Scheme;

/// Two hosts that exchange stamps, by their numbers in the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The host that sends questions, and whose clock is the reference; the lower number.
    pub reference: usize,
    /// The host that answers.
    pub local: usize,
}

/// Up to this many hosts, each is also measured against host 0 directly.
const FEW_HOSTS: usize = 16;

/// The rounds in which `n_hosts` hosts are all connected with host 0.
///
/// For [`Scheme::Rounds`], with t the largest power of two up to H: in round r (from 1) host i with
/// i mod 2^r = 0 is the reference of i + 2^(r-1), both below t; in a last round host i >= t has
/// i - t as its reference.
///
/// # Source
/// Hoefler et al. 2007, section 3.2 and figure 7. Our reference is their client.
#[must_use]
pub fn rounds(n_hosts: usize, scheme: Scheme) -> Vec<Vec<Pair>> {
    let pair = |reference, local| Pair { reference, local };
    match scheme {
        Scheme::Linear => (1..n_hosts).map(|local| vec![pair(0, local)]).collect(),
        Scheme::Rounds => {
            let first_group = match n_hosts {
                0 => 0,
                n => 1 << n.ilog2(),
            };
            let mut rounds = Vec::new();
            let mut distance = 1;
            while distance < first_group {
                let references = (0..first_group).step_by(2 * distance);
                rounds.push(references.map(|i| pair(i, i + distance)).collect());
                distance *= 2;
            }
            if first_group < n_hosts {
                let second_group = first_group..n_hosts;
                rounds.push(second_group.map(|i| pair(i - first_group, i)).collect());
            }
            rounds
        }
    }
}

/// Further rounds, for short exchanges: pairs that [`rounds`] leaves out and that close triangles,
/// so that contradictions show.
///
/// Neighbours first. Then, with few hosts, each host that [`rounds`] does not pair with host 0,
/// together with host 0; with more hosts, some hosts at distance two.
#[must_use]
pub fn closing_rounds(n_hosts: usize, scheme: Scheme) -> Vec<Vec<Pair>> {
    let known: Vec<Pair> = rounds(n_hosts, scheme).concat();
    let is_new = |pair: &Pair| !known.contains(pair);
    let at_distance = |distance: usize, first: usize, step: usize| -> Vec<Pair> {
        (first..n_hosts.saturating_sub(distance))
            .step_by(step)
            .map(|i| Pair {
                reference: i,
                local: i + distance,
            })
            .filter(is_new)
            .collect()
    };
    let mut closing = vec![at_distance(1, 1, 2)];
    if n_hosts <= FEW_HOSTS {
        closing.extend((1..n_hosts).map(|local| {
            let with_first = Pair {
                reference: 0,
                local,
            };
            Some(with_first).filter(is_new).into_iter().collect()
        }));
    } else {
        closing.push(at_distance(2, 1, 4));
    }
    closing.retain(|round| !round.is_empty());
    closing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rounds_as_the_logarithm_says() {
        for n_hosts in 1..=300 {
            let rounds = rounds(n_hosts, Scheme::Rounds);
            let expected = n_hosts.next_power_of_two().ilog2() as usize;
            assert_eq!(rounds.len(), expected, "{n_hosts} hosts");
        }
        assert_eq!(rounds(9, Scheme::Linear).len(), 8);
        assert!(rounds(0, Scheme::Rounds).is_empty());
    }

    #[test]
    fn every_host_is_in_at_most_one_pair_of_a_round_and_all_are_connected_with_the_first() {
        for scheme in [Scheme::Rounds, Scheme::Linear] {
            for n_hosts in 1..=300 {
                let to_first = rounds(n_hosts, scheme);
                assert_eq!(
                    to_first.concat().len(),
                    n_hosts - 1,
                    "{n_hosts} hosts: no pair too many"
                );
                let mut group: Vec<usize> = (0..n_hosts).collect();
                for pair in to_first.iter().flatten() {
                    let (joins, joined) = (group[pair.reference], group[pair.local]);
                    assert_ne!(joins, joined, "{pair:?}");
                    group
                        .iter_mut()
                        .filter(|g| **g == joined)
                        .for_each(|g| *g = joins);
                }
                assert!(group.iter().all(|&group| group == 0));

                for round in to_first.iter().chain(&closing_rounds(n_hosts, scheme)) {
                    let mut busy = vec![false; n_hosts];
                    for pair in round {
                        assert!(pair.reference < pair.local && pair.local < n_hosts);
                        for host in [pair.reference, pair.local] {
                            assert!(!std::mem::replace(&mut busy[host], true), "{round:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_example_of_the_paper_with_seven_processes() {
        let of = |pairs: &[(usize, usize)]| -> Vec<Pair> {
            let pair = |&(reference, local)| Pair { reference, local };
            pairs.iter().map(pair).collect()
        };
        assert_eq!(
            rounds(7, Scheme::Rounds),
            [
                of(&[(0, 1), (2, 3)]),
                of(&[(0, 2)]),
                of(&[(0, 4), (1, 5), (2, 6)]),
            ]
        );
    }

    #[test]
    fn every_host_of_three_or_more_is_on_a_closed_path() {
        for scheme in [Scheme::Rounds, Scheme::Linear] {
            for n_hosts in 3..=100 {
                let mut edges = rounds(n_hosts, scheme).concat();
                edges.extend(closing_rounds(n_hosts, scheme).concat());
                // What is left after removing hosts with one edge, again and again, is closed. A
                // host that is removed depends on one measurement alone.
                let mut hanging = Vec::new();
                loop {
                    let degree = |host: usize| {
                        let has = |pair: &&Pair| pair.reference == host || pair.local == host;
                        edges.iter().filter(has).count()
                    };
                    let Some(host) = (0..n_hosts).find(|&host| degree(host) == 1) else {
                        break;
                    };
                    hanging.push(host);
                    edges.retain(|pair| pair.reference != host && pair.local != host);
                }
                assert!(
                    hanging.len() <= 1,
                    "{n_hosts} hosts, {scheme:?}: {hanging:?}"
                );
            }
        }
    }
}

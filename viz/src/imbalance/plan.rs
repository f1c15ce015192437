//! Which ranks and hosts are drawn separately in a load-imbalance graph, and which share a place.

use std::cmp::Reverse;

use super::{Host, Imbalance, LateRank};

/// Up to this many ranks all are drawn separately.
const MAX_SINGLE_RANKS: usize = 16;
/// With more ranks, at most this many are drawn separately in addition to the heaviest.
const MAX_STANDING_OUT: usize = 8;
/// Up to this many hosts all are drawn separately; with more, at most this many.
const MAX_HOSTS: usize = 10;
/// Least number of hosts that are drawn separately, for comparison.
const MIN_HOSTS: usize = 3;

/// One host, or several that share a place.
pub(super) struct HostNode<'a> {
    pub(super) hosts: Vec<&'a Host>,
    pub(super) leaves: Vec<Leaf<'a>>,
    pub(super) is_heaviest: bool,
}

/// One rank, or several that share a place.
pub(super) struct Leaf<'a> {
    pub(super) ranks: Vec<&'a LateRank>,
    pub(super) is_heaviest: bool,
}

impl Leaf<'_> {
    pub(super) fn last(&self) -> u64 {
        super::sum(self.ranks.iter().map(|rank| rank.last))
    }

    pub(super) fn wait_caused_ns(&self) -> i64 {
        super::wait_caused(self.ranks.iter().copied())
    }
}

impl HostNode<'_> {
    pub(super) fn last(&self) -> u64 {
        super::sum(self.hosts.iter().map(|host| host.last))
    }

    pub(super) fn n_ranks(&self) -> usize {
        self.hosts.iter().map(|host| host.ranks.len()).sum()
    }
}

impl Imbalance {
    pub(super) fn plan(&self) -> Vec<HostNode<'_>> {
        let heaviest = self.heaviest();
        let standing_out = self.standing_out();
        let order = self.hosts_to_draw(&standing_out);
        let mut nodes: Vec<HostNode<'_>> = order
            .iter()
            .map(|&idx| {
                let host = &self.hosts[idx];
                let is_single = |rank| standing_out.contains(&(idx, rank));
                HostNode {
                    hosts: vec![host],
                    leaves: leaves(host, &is_single, |rank| heaviest == Some((idx, rank))),
                    is_heaviest: heaviest.is_some_and(|(of, _)| of == idx),
                }
            })
            .collect();
        let others = self.hosts.iter().enumerate();
        let others = others.filter(|(idx, _)| order.binary_search(idx).is_err());
        let others: Vec<&Host> = others.map(|(_, host)| host).collect();
        if !others.is_empty() {
            let ranks = others.iter().flat_map(|host| &host.ranks).collect();
            nodes.push(HostNode {
                hosts: others,
                leaves: vec![Leaf {
                    ranks,
                    is_heaviest: false,
                }],
                is_heaviest: false,
            });
        }
        nodes
    }

    /// The hosts to draw separately, in their order: all if they are few; else the heaviest, those
    /// with ranks that stand out, and those that arrived last at least twice as often as their fair
    /// share.
    fn hosts_to_draw(&self, standing_out: &[(usize, usize)]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        if self.hosts.len() <= MAX_HOSTS {
            return order;
        }
        let heaviest = self.heaviest().map(|(host, _)| host);
        let weight = |&host: &usize| {
            let has_single = standing_out.iter().any(|&(of, _)| of == host);
            let node = &self.hosts[host];
            let is_often = self.is_often(node.last, node.ranks.len());
            (heaviest == Some(host), has_single, is_often, node.last)
        };
        order.sort_by_key(|host| (Reverse(weight(host)), *host));
        let matters = |host: &&usize| {
            let (is_heaviest, has_single, is_often, _) = weight(host);
            is_heaviest || has_single || is_often
        };
        let n_that_matter = order.iter().filter(matters).count();
        order.truncate(n_that_matter.clamp(MIN_HOSTS, MAX_HOSTS));
        order.sort_unstable();
        order
    }

    /// Whether this number of ranks arrived last at least twice as often as their fair share, and
    /// significantly so: by chance a few of a thousand ranks arrive last twice.
    fn is_often(&self, last: u64, n_ranks: usize) -> bool {
        let fair = self.resolved as f64 * n_ranks as f64 / self.n_ranks.max(1) as f64;
        let last = last as f64;
        last >= 2.0 * fair && last >= fair + 5.0 * fair.sqrt() + 3.0
    }

    /// Host and rank of those to draw separately: all if they are few; else the end of the heaviest
    /// path, and the ranks that arrived last at least twice as often as their fair share, the most
    /// frequent first.
    fn standing_out(&self) -> Vec<(usize, usize)> {
        let all = self.hosts.iter().enumerate().flat_map(|(host_idx, host)| {
            let ranks = host.ranks.iter().enumerate();
            ranks.map(move |(rank_idx, rank)| ((host_idx, rank_idx), rank.last))
        });
        if self.n_ranks <= MAX_SINGLE_RANKS {
            return all.map(|(place, _)| place).collect();
        }
        let mut often: Vec<_> = all.filter(|&(_, last)| self.is_often(last, 1)).collect();
        often.sort_by_key(|&(place, last)| (Reverse(last), place));
        often.truncate(MAX_STANDING_OUT);
        let mut places: Vec<_> = often.into_iter().map(|(place, _)| place).collect();
        places.extend(
            self.heaviest()
                .filter(|heaviest| !places.contains(heaviest)),
        );
        places
    }
}

/// The ranks of a host that are drawn separately, and one leaf for the others.
fn leaves<'a>(
    host: &'a Host,
    is_single: &dyn Fn(usize) -> bool,
    is_heaviest: impl Fn(usize) -> bool,
) -> Vec<Leaf<'a>> {
    let n_single = (0..host.ranks.len()).filter(|&idx| is_single(idx)).count();
    // A band of one rank is that rank.
    let is_alone = n_single + 1 == host.ranks.len();
    let mut leaves = Vec::new();
    let mut others = Vec::new();
    for (idx, rank) in host.ranks.iter().enumerate() {
        if is_single(idx) || is_alone {
            leaves.push(Leaf {
                ranks: vec![rank],
                is_heaviest: is_heaviest(idx),
            });
        } else {
            others.push(rank);
        }
    }
    if !others.is_empty() {
        leaves.push(Leaf {
            ranks: others,
            is_heaviest: false,
        });
    }
    leaves
}

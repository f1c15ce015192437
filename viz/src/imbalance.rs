//! The load-imbalance graph: where the last to arrive comes from.
//!
//! From left to right the communicator, its hosts, their ranks. The width of an edge is how often
//! the last to arrive came from there. The heaviest path, from the communicator always to the
//! heaviest, leads to the suspect.
//!
//! Many ranks are not drawn one by one: on each host those that came last much more often than
//! their fair share, and one band for its other ranks; hosts beyond a number share a band too.

mod draw;
mod plan;

use std::cmp::Reverse;

use crate::Text;
use crate::timemap::Heading;

/// What one rank did to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateRank {
    /// World rank.
    pub rank: u32,
    /// How often it came last.
    pub last: u64,
    /// What the others waited in all that its coming ended, ns.
    pub wait_caused_ns: i64,
}

/// Who is to blame: never anyone but what lies on the heaviest path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// Nobody in particular.
    Nobody,
    /// The host on the heaviest path as a whole.
    Host,
    /// The rank at the end of the heaviest path.
    Rank,
}

/// The load-imbalance graph of one operation on one communicator.
///
/// # Source
/// Bongo et al. 2004, section 3. We differ: seen from outside, the joining points between
/// communicator and ranks are the hosts.
#[derive(Debug, Clone)]
pub struct Imbalance {
    heading: Heading,
    communicator: Text,
    blame: Blame,
    hosts: Vec<Host>,
    /// How often it is known who came last.
    resolved: u64,
    n_ranks: usize,
}

#[derive(Debug, Clone)]
struct Host {
    name: Text,
    ranks: Vec<LateRank>,
    /// How often one of them came last.
    last: u64,
}

impl Imbalance {
    /// A graph without hosts yet. `heading.n_instances` counts all instances; those of which it is
    /// known who came last are the sum of [`LateRank::last`].
    pub fn new(heading: Heading, communicator: Text, blame: Blame) -> Imbalance {
        Imbalance {
            heading,
            communicator,
            blame,
            hosts: Vec::new(),
            resolved: 0,
            n_ranks: 0,
        }
    }

    /// Adds a host with its ranks. Of hosts and of ranks that weigh the same the one that comes
    /// first here is on the heaviest path.
    pub fn push(&mut self, name: Text, ranks: impl IntoIterator<Item = LateRank>) {
        let ranks: Vec<LateRank> = ranks.into_iter().collect();
        let last = sum(ranks.iter().map(|rank| rank.last));
        self.resolved = self.resolved.saturating_add(last);
        self.n_ranks += ranks.len();
        self.hosts.push(Host { name, ranks, last });
    }

    /// Index of the heaviest host, and of its heaviest rank; `None` if nobody was ever last.
    fn heaviest(&self) -> Option<(usize, usize)> {
        let host = first_most(self.hosts.iter().map(|host| host.last))?;
        let rank = first_most(self.hosts[host].ranks.iter().map(|rank| rank.last))?;
        Some((host, rank))
    }
}

impl Host {
    fn wait_caused_ns(&self) -> i64 {
        wait_caused(&self.ranks)
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn wait_caused<'a>(ranks: impl IntoIterator<Item = &'a LateRank>) -> i64 {
    let waits = ranks.into_iter().map(|rank| rank.wait_caused_ns);
    waits.fold(0, i64::saturating_add)
}

/// Index of the first of the greatest, unless all are 0.
fn first_most(weights: impl Iterator<Item = u64>) -> Option<usize> {
    let heaviest = weights
        .enumerate()
        .max_by_key(|&(idx, weight)| (weight, Reverse(idx)))?;
    (heaviest.1 > 0).then_some(heaviest.0)
}

//! The load-imbalance graph: where the rank that arrives last is.
//!
//! From left to right: the communicator, its hosts, their ranks. The width of an edge is how often
//! the last arrival came from there. The heaviest path, which follows the widest edge at each node,
//! leads to the suspect.
//!
//! Many ranks are not drawn one by one: each host shows the ranks that arrive last much more often
//! than their fair share, and one band for its other ranks; hosts beyond a number share a band too.

mod draw;
mod plan;

use std::cmp::Reverse;

use crate::Text;
use crate::timemap::Heading;

/// How often a rank arrived last, and what that cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateRank {
    /// World rank.
    pub rank: u32,
    /// How often it arrived last.
    pub last: u64,
    /// Sum of the waits of the others in these instances, ns.
    pub wait_caused_ns: i64,
}

/// What the graph marks as the cause; always on the heaviest path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// No single rank or host.
    Nobody,
    /// The host on the heaviest path as a whole.
    Host,
    /// The rank at the end of the heaviest path.
    Rank,
}

/// The load-imbalance graph of one operation on one communicator.
///
/// # Source
/// Bongo et al. 2004, section 3. Difference: without messages inside the collective, the joins
/// between communicator and ranks are the hosts.
#[derive(Debug, Clone)]
pub struct Imbalance {
    heading: Heading,
    communicator: Text,
    blame: Blame,
    hosts: Vec<Host>,
    /// Number of instances whose last rank is known.
    resolved: u64,
    n_ranks: usize,
}

#[derive(Debug, Clone)]
struct Host {
    name: Text,
    ranks: Vec<LateRank>,
    /// How often one of its ranks arrived last.
    last: u64,
}

impl Imbalance {
    /// A graph without hosts yet. `heading.n_instances` counts all instances; the sum of
    /// [`LateRank::last`] counts those whose last rank is known.
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

    /// Adds a host with its ranks. Of equally heavy hosts or ranks, the one added first is on the
    /// heaviest path.
    pub fn push(&mut self, name: Text, ranks: impl IntoIterator<Item = LateRank>) {
        let ranks: Vec<LateRank> = ranks.into_iter().collect();
        let last = sum(ranks.iter().map(|rank| rank.last));
        self.resolved = self.resolved.saturating_add(last);
        self.n_ranks += ranks.len();
        self.hosts.push(Host { name, ranks, last });
    }

    /// Index of the heaviest host, and of its heaviest rank; `None` if no rank was ever last.
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

/// Index of the first maximum, unless all are 0.
fn first_most(weights: impl Iterator<Item = u64>) -> Option<usize> {
    let heaviest = weights
        .enumerate()
        .max_by_key(|&(idx, weight)| (weight, Reverse(idx)))?;
    (heaviest.1 > 0).then_some(heaviest.0)
}

//! Single late arrivals, retained to find periodic disturbances.
//!
//! Two bounded sets for each operation on each communicator: the arrivals that were latest; and a
//! sample of all instances as background, those whose position has the smallest hash. Both do not
//! depend on which worker has seen what.
//!
//! The measure is the larger of the enter of the last minus the enter before it, and the mean wait
//! that its arrival ended: of several processes that are late together, as those of a host that all
//! are interrupted at once, none is much later than the one before it, but all others wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use collbench_stats::random::Random;
use serde::{Deserialize, Serialize, Serializer};

/// Most late arrivals kept.
pub(crate) const MAX_LATEST: usize = 256;
/// Most instances in the sample.
const MAX_SAMPLED: usize = 256;

/// One late arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LateArrival {
    /// How late it was, as it is measured for all instances, ns.
    pub lateness_ns: i64,
    /// How much later it was than the last of those that were not late together with it, ns.
    pub excess_ns: i64,
    /// Its enter, ns since the start.
    pub at_ns: i64,
    /// Position in the communicator's entry of who arrived last.
    pub position: usize,
    /// Position of the instance among the calls on its communicator.
    pub sequence: u64,
    /// Waits that the arrival ended, ns.
    pub caused_ns: i64,
    /// Processes that were late together with it; 1 if it was late alone.
    pub n_late: u32,
    /// Whether all of them are on its host.
    pub is_on_one_host: bool,
    /// The positions in the communicator's entry of all of them, one bit each; 0 where they are not below 64.
    pub together: u64,
}

impl LateArrival {
    /// The measure of a last arrival that came so much later than the one before it, and that ended
    /// such waits of `n` other processes.
    #[must_use]
    #[inline]
    pub(crate) fn lateness_ns(excess_ns: i64, caused_ns: i64, n: usize) -> i64 {
        excess_ns.max(caused_ns / (n as i64).max(1))
    }

    /// Since when the others were there, ns since the start.
    #[must_use]
    pub(crate) fn since_ns(&self) -> i64 {
        self.at_ns.saturating_sub(self.excess_ns)
    }
}

/// One instance of the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sampled {
    hash: u64,
    /// Its last enter, ns since the start.
    pub at_ns: i64,
    /// How late its last arrival was, ns; 0 where it is not resolved.
    pub lateness_ns: i64,
    /// Position of the instance among the calls on its communicator.
    pub sequence: u64,
    /// Waits that its last arrival ended, ns; 0 where it is not resolved.
    pub caused_ns: i64,
}

/// The latest arrivals of an operation, and a sample of all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LateArrivals {
    /// The least late is at the top.
    #[serde(serialize_with = "write_in_order")]
    latest: BinaryHeap<Reverse<LateArrival>>,
    #[serde(serialize_with = "write_in_order")]
    sample: BinaryHeap<Sampled>,
}

impl LateArrivals {
    /// Looks at an instance: its position among the calls, its last enter, how late that was, and the waits that it
    /// ended; 0 where it is not resolved.
    #[inline]
    pub fn add(&mut self, sequence: u64, at_ns: i64, (lateness_ns, caused_ns): (i64, i64)) {
        self.sample(Sampled {
            hash: hash(sequence),
            at_ns,
            lateness_ns,
            sequence,
            caused_ns,
        });
    }

    /// Whether an arrival that was so late may be kept.
    #[inline]
    pub fn may_keep(&self, lateness_ns: i64) -> bool {
        let least = self.latest.peek();
        self.latest.len() < MAX_LATEST
            || least.is_none_or(|least| lateness_ns >= least.0.lateness_ns)
    }

    /// Looks at an arrival.
    pub fn keep(&mut self, arrival: LateArrival) {
        keep_least(&mut self.latest, Reverse(arrival), MAX_LATEST);
    }

    fn sample(&mut self, instance: Sampled) {
        keep_least(&mut self.sample, instance, MAX_SAMPLED);
    }

    /// Adds those of another part of the instances.
    pub fn merge(&mut self, other: &Self) {
        other.latest.iter().for_each(|arrival| self.keep(arrival.0));
        other
            .sample
            .iter()
            .for_each(|&instance| self.sample(instance));
    }

    /// The latest arrivals, the latest first.
    #[must_use]
    pub fn latest(&self) -> Vec<LateArrival> {
        let ascending = self.latest.clone().into_sorted_vec();
        ascending.into_iter().map(|arrival| arrival.0).collect()
    }

    /// How many instances are in the sample.
    #[must_use]
    pub fn n_sampled(&self) -> usize {
        self.sample.len()
    }

    /// The sample of all instances, in no order that means anything.
    #[must_use]
    pub fn sampled(&self) -> Vec<Sampled> {
        self.sample.clone().into_sorted_vec()
    }
}

/// Looks at one more of which the least are kept, `most` of them.
#[inline]
fn keep_least<T: Ord>(kept: &mut BinaryHeap<T>, one: T, most: usize) {
    if kept.len() < most {
        kept.push(one);
    } else if let Some(mut greatest) = kept.peek_mut()
        && one < *greatest
    {
        *greatest = one;
    }
}

/// Writes them in an order that does not depend on who was met first.
fn write_in_order<T: Ord + Clone + Serialize, S: Serializer>(
    kept: &BinaryHeap<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    kept.clone().into_sorted_vec().serialize(serializer)
}

/// A number that shows no trace of the order of sequences.
fn hash(sequence: u64) -> u64 {
    Random::from_state(sequence).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sets_are_those_of_sorting_all_whoever_looked_at_which_part() {
        let arrival = |sequence: u64| LateArrival {
            lateness_ns: (hash(sequence ^ 77) % 500).cast_signed(),
            excess_ns: 1,
            at_ns: 1_000 * sequence.cast_signed(),
            position: (sequence % 4) as usize,
            sequence,
            caused_ns: 3,
            n_late: 1,
            is_on_one_host: true,
            together: 1,
        };
        let (mut even, mut odd) = (LateArrivals::default(), LateArrivals::default());
        for sequence in 0..2_000 {
            let part = if sequence % 2 == 0 {
                &mut even
            } else {
                &mut odd
            };
            let arrival = arrival(sequence);
            part.add(sequence, arrival.at_ns, (arrival.lateness_ns, 3));
            // Every fifth is not resolved.
            if sequence % 5 > 0 && part.may_keep(arrival.lateness_ns) {
                part.keep(arrival);
            }
        }
        odd.merge(&even);
        let resolved = (0..2_000).filter(|sequence| sequence % 5 > 0);
        let mut latest: Vec<LateArrival> = resolved.map(arrival).collect();
        latest.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(odd.latest(), &latest[..MAX_LATEST]);
        let mut by_hash: Vec<(u64, i64)> =
            (0..2_000u64).map(|s| (hash(s), 1_000 * s as i64)).collect();
        by_hash.sort_unstable();
        let sampled: Vec<(u64, i64)> = odd.sampled().iter().map(|s| (s.hash, s.at_ns)).collect();
        assert_eq!(sampled, by_hash[..MAX_SAMPLED]);
        // The sample is of the whole run: about as many of each quarter.
        for quarter in 0..4 {
            let inside = |s: &&Sampled| s.at_ns / 500_000 == quarter;
            let n = odd.sampled().iter().filter(inside).count();
            assert!((40..90).contains(&n), "{n}");
        }
    }
}

//! The order in which the processes of an instance entered or left it, and which positions in it are resolved.

use std::ops::RangeInclusive;

use collbench_clocks::timestamp::{Global, Timestamp};

use crate::communicators::Communicator;
use crate::time::resolution::Resolution;

/// A slot that no communicator has.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Slots by time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// Ascending.
    pub(super) times: Vec<i64>,
    /// The slot of each time.
    pub(super) slots: Vec<u32>,
    keys: Vec<u64>,
    buckets: Buckets,
}

impl Order {
    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.slots.clear();
    }

    /// Sorts stamps, of which the least and the greatest are known; at least one.
    pub(super) fn sort(&mut self, stamps: &[Timestamp<Global>], within: RangeInclusive<i64>) {
        self.clear();
        let (first, last) = within.into_inner();
        let span = last.abs_diff(first) | 1;
        // Time and slot in one integer sort in half the time: the times in the upper bits.
        let slot_bits = stamps.len().ilog2() + 1;
        let n_buckets = MAX_BUCKETS.min(1 << slot_bits);
        let shift = (span.leading_zeros() + n_buckets.ilog2()).saturating_sub(BUCKET_BITS);
        if shift < slot_bits {
            let times = stamps.iter().map(|stamp| stamp.ns());
            let mut order: Vec<(i64, u32)> = times.zip(0..).collect();
            order.sort_unstable();
            (self.times, self.slots) = order.into_iter().unzip();
            return;
        }
        let keys = stamps.iter().zip(0u64..);
        let keys = keys.map(|(stamp, slot)| ((stamp.ns() - first) as u64) << shift | slot);
        if stamps.len() <= FEW {
            let sorted = sorted_few(keys);
            self.set(&sorted[..stamps.len()], first, (shift, slot_bits));
            return;
        }
        self.keys.clear();
        self.keys.extend(keys);
        let mut buckets = std::mem::take(&mut self.buckets);
        let mut keys = std::mem::take(&mut self.keys);
        match buckets.sorted(&keys, n_buckets) {
            Some(sorted) => self.set(sorted, first, (shift, slot_bits)),
            None => {
                keys.sort_unstable();
                self.set(&keys, first, (shift, slot_bits));
            }
        }
        (self.buckets, self.keys) = (buckets, keys);
    }

    /// The slots of the last stamps, of which several may be equal: descending.
    pub(super) fn last_ones(&self) -> impl Iterator<Item = usize> {
        let n = self.slots.len();
        let from_behind = self.times.iter().rev().zip(self.slots.iter().rev());
        let last = from_behind.take_while(move |&(time, _)| *time == self.times[n - 1]);
        last.map(|(_, &slot)| slot as usize)
    }

    /// Sets times and slots from keys in their order: times since `first` from a bit on, slots in the lowest bits.
    fn set(&mut self, keys: &[u64], first: i64, (shift, slot_bits): (u32, u32)) {
        let times = keys.iter();
        self.times
            .extend(times.map(|key| first + (key >> shift) as i64));
        let slot_mask = (1 << slot_bits) - 1;
        let slots = keys.iter().map(|key| *key as u32 & slot_mask);
        self.slots.extend(slots);
    }
}

/// So few keys are sorted by a network.
const FEW: usize = 8;

/// Sorts up to [`FEW`] keys, with the greatest integers behind them.
///
/// # Source
/// Knuth, The Art of Computer Programming, volume 3, section 5.3.4: no network for eight has fewer than 19 comparators.
fn sorted_few(few: impl Iterator<Item = u64>) -> [u64; FEW] {
    let mut keys = [u64::MAX; FEW];
    keys.iter_mut().zip(few).for_each(|(key, one)| *key = one);
    let mut order = |&[a, b]: &[usize; 2]| {
        (keys[a], keys[b]) = (keys[a].min(keys[b]), keys[a].max(keys[b]));
    };
    [[0, 2], [1, 3], [4, 6], [5, 7]].iter().for_each(&mut order);
    [[0, 4], [1, 5], [2, 6], [3, 7]].iter().for_each(&mut order);
    [[0, 1], [2, 3], [4, 5], [6, 7]].iter().for_each(&mut order);
    [[2, 4], [3, 5]].iter().for_each(&mut order);
    [[1, 4], [3, 6]].iter().for_each(&mut order);
    [[1, 2], [3, 4], [5, 6]].iter().for_each(&mut order);
    keys
}

/// Fewer keys are sorted by comparing them.
const MIN_IN_BUCKETS: usize = 20;
/// Upper bits of a key that are the number of its bucket.
const BUCKET_BITS: u32 = 8;
/// Most buckets.
const MAX_BUCKETS: usize = 1 << BUCKET_BITS;
/// More keys than fit into this are sorted by comparing them: so an index of 16 bits is never beyond it. Memory is used for
/// as many as there are.
const SORTED: usize = 1 << u16::BITS;

/// Sorts keys by distributing them to buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Buckets {
    /// The keys in their order, behind a 0.
    sorted: Option<Box<[u64; SORTED]>>,
}

impl Buckets {
    /// Sorts keys: distributes them to buckets by their upper bits, and puts each before the few that are greater. `None` if these
    /// are too many, or the keys too few or too many.
    fn sorted(&mut self, keys: &[u64], n_buckets: usize) -> Option<&[u64]> {
        if !(MIN_IN_BUCKETS..SORTED).contains(&keys.len()) {
            return None;
        }
        let bucket = |key: u64| (key >> (u64::BITS - BUCKET_BITS)) as usize;
        let mut places = Places::default();
        for &key in keys {
            places.take(bucket(key));
        }
        places.add_up(n_buckets);
        if self.sorted.is_none() {
            self.sorted = vec![0; SORTED].try_into().ok();
        }
        let sorted = self.sorted.as_mut()?;
        sorted[..=keys.len()].fill(0);
        let mut most_moves = 4 * keys.len();
        for &key in keys {
            let mut before = places.take(bucket(key));
            let mut place = before.wrapping_add(1);
            while sorted[usize::from(before)] > key {
                sorted[usize::from(place)] = sorted[usize::from(before)];
                (before, place) = (before.wrapping_sub(1), before);
                most_moves = most_moves.checked_sub(1)?;
            }
            sorted[usize::from(place)] = key;
        }
        Some(&sorted[1..=keys.len()])
    }
}

/// By bucket first how many there are, and then how many are before the next one: integers of 16 bits, of which four at a time
/// are added up.
struct Places([[u8; 2]; MAX_BUCKETS]);

impl Default for Places {
    fn default() -> Self {
        Self([[0; 2]; MAX_BUCKETS])
    }
}

impl Places {
    /// Counts one more in a bucket, and gives the count before.
    #[inline]
    fn take(&mut self, bucket: usize) -> u16 {
        let place = u16::from_le_bytes(self.0[bucket]);
        self.0[bucket] = place.wrapping_add(1).to_le_bytes();
        place
    }

    /// Replaces the count of each of the first `n` buckets, a multiple of four, by that of all before it.
    fn add_up(&mut self, n: usize) {
        const EACH: u64 = 0x0001_0001_0001_0001;
        let mut n_before = 0;
        for four in self.0[..n].as_flattened_mut().as_chunks_mut().0 {
            // The product has in each place the sum up to there.
            let sums = u64::from_le_bytes(*four).wrapping_mul(EACH);
            *four = (sums << u16::BITS)
                .wrapping_add(n_before * EACH)
                .to_le_bytes();
            n_before += sums >> (3 * u16::BITS);
        }
    }
}

/// How far apart stamps of the processes of a communicator must be to be ordered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Apart<'m> {
    /// All are on one host: more than this, ns.
    Everywhere(i64),
    /// It depends on the hosts.
    ByHosts {
        communicator: &'m Communicator,
        resolution: &'m Resolution,
        /// What is enough for any two of them.
        widest: i64,
    },
}

impl<'m> Apart<'m> {
    /// For processes that have a common time.
    pub(super) fn of(communicator: &'m Communicator, resolution: &'m Resolution) -> Self {
        let hosts = &communicator.hosts;
        let host = |slots: &Vec<usize>| communicator.members[slots[0]].host;
        let between = |a, b| resolution.between(a, b).unwrap_or(i64::MAX);
        if let [only] = &hosts[..] {
            return Self::Everywhere(between(host(only), host(only)));
        }
        let hosts = || hosts.iter().map(host);
        let pairs = hosts().flat_map(|a| hosts().map(move |b| between(a, b)));
        Self::ByHosts {
            communicator,
            resolution,
            widest: pairs.max().unwrap_or(i64::MAX),
        }
    }

    /// Whether it is likely that nobody else was at this position; on one clock it is certain or
    /// not known.
    pub(super) fn is_likely(self, order: &Order, position: usize) -> bool {
        match self {
            Self::Everywhere(_) => false,
            Self::ByHosts { .. } => self.is_alone(order, position, Resolution::likely_between),
        }
    }

    /// Whether nobody else can have been at this position.
    pub(super) fn is_resolved(self, order: &Order, position: usize) -> bool {
        self.is_alone(order, position, Resolution::between)
    }

    /// Whether all others are further away than this.
    fn is_alone(
        self,
        order: &Order,
        position: usize,
        between: fn(&Resolution, usize, usize) -> Option<i64>,
    ) -> bool {
        let Order { times, slots, .. } = order;
        let time = times[position];
        let (before, behind) = (&times[..position], &times[position + 1..]);
        match self {
            // Who is further away than a neighbour is further away.
            Self::Everywhere(apart) => {
                before.last().is_none_or(|before| time - before > apart)
                    && behind.first().is_none_or(|behind| behind - time > apart)
            }
            Self::ByHosts {
                communicator,
                resolution,
                widest,
            } => {
                let host = |position: usize| communicator.members[slots[position] as usize].host;
                let is_near = |other: &usize| time.abs_diff(times[*other]) <= widest as u64;
                let before = (0..position).rev().take_while(is_near);
                let behind = (position + 1..times.len()).take_while(is_near);
                let near = before.chain(behind);
                near.map(|other| {
                    let apart = between(resolution, host(position), host(other));
                    (time.abs_diff(times[other]), apart)
                })
                .all(|(gap, apart)| apart.is_some_and(|apart| gap > apart as u64))
            }
        }
    }

    /// Finds by position the slot, or [`NOBODY`] where that is not resolved.
    pub(super) fn resolved(self, order: &Order, resolved: &mut Vec<u32>) {
        resolved.clone_from(&order.slots);
        let Self::Everywhere(apart) = self else {
            for (position, slot) in resolved.iter_mut().enumerate() {
                if !self.is_resolved(order, position) {
                    *slot = NOBODY;
                }
            }
            return;
        };
        let mut is_apart_before = true;
        for (slot, pair) in resolved.iter_mut().zip(order.times.windows(2)) {
            let is_apart_behind = pair[1] - pair[0] > apart;
            if !(is_apart_before & is_apart_behind) {
                *slot = NOBODY;
            }
            is_apart_before = is_apart_behind;
        }
        if let Some(last) = resolved.last_mut().filter(|_| !is_apart_before) {
            *last = NOBODY;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_network_that_sorts_zeros_and_ones_sorts_all() {
        for bits in 0..1_u32 << FEW {
            let sorted = sorted_few((0..FEW).map(|at| u64::from(bits >> at & 1)));
            assert_eq!(sorted.iter().sum::<u64>(), u64::from(bits.count_ones()));
            assert!(sorted.is_sorted(), "{bits:b}");
        }
    }

    proptest! {
        #[test]
        fn stamps_are_in_order_and_who_is_not_apart_from_others_is_nobody(
            stamps in prop::collection::vec((0u32..61, any::<i64>()), 1..400),
            most_bits in 0u32..61,
            apart in 0i64..100,
        ) {
            let stamp = |&(bits, any): &(u32, i64)| any & ((1 << bits.min(most_bits)) - 1);
            let stamps: Vec<i64> = stamps.iter().map(stamp).collect();
            let mut expected: Vec<(i64, u32)> = stamps.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let (times, slots): (Vec<i64>, Vec<u32>) = expected.into_iter().unzip();
            let stamps: Vec<_> = stamps.iter().map(|&ns| Timestamp::from_ns(ns)).collect();
            let mut order = Order::default();
            for n in [stamps.len().min(FEW), stamps.len()] {
                let stamps = &stamps[..n];
                let ns = || stamps.iter().map(|stamp| stamp.ns());
                let within = ns().min().unwrap()..=ns().max().unwrap();
                order.sort(stamps, within);
            }
            prop_assert_eq!((&order.times, &order.slots), (&times, &slots));
            if times.len() > 1 {
                let is_apart = |at: usize| times[at + 1] - times[at] > apart;
                let mut resolved = Vec::new();
                Apart::Everywhere(apart).resolved(&order, &mut resolved);
                for (at, &slot) in slots.iter().enumerate() {
                    let is_resolved = (at == 0 || is_apart(at - 1))
                        && (at + 1 == slots.len() || is_apart(at));
                    prop_assert_eq!(resolved[at], if is_resolved { slot } else { NOBODY });
                }
            }
        }
    }
}

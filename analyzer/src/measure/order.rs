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
    by_bucket: Vec<u64>,
}

/// Fewer stamps are sorted by comparing them.
const MIN_IN_BUCKETS: usize = 20;
/// Most buckets, a power of two.
const MAX_BUCKETS: usize = 256;

impl Order {
    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.slots.clear();
    }

    /// Sorts stamps, of which the least and the greatest are known; at least one.
    pub(super) fn sort(&mut self, stamps: &[Timestamp<Global>], within: RangeInclusive<i64>) {
        self.clear();
        let (first, last) = within.into_inner();
        // Time and slot in one integer sort in half the time.
        let slot_bits = stamps.len().ilog2() + 1;
        let span = last.abs_diff(first);
        if span.leading_zeros() < slot_bits {
            let times = stamps.iter().map(|stamp| stamp.ns());
            let mut order: Vec<(i64, u32)> = times.zip(0..).collect();
            order.sort_unstable();
            (self.times, self.slots) = order.into_iter().unzip();
            return;
        }
        self.keys.clear();
        let keys = stamps.iter().zip(0u64..);
        let keys = keys.map(|(stamp, slot)| ((stamp.ns() - first) as u64) << slot_bits | slot);
        self.keys.extend(keys);
        if stamps.len() < MIN_IN_BUCKETS || !self.sort_in_buckets(span, slot_bits) {
            self.keys.sort_unstable();
        }
        let times = self.keys.iter();
        let times = times.map(|key| first + (key >> slot_bits) as i64);
        self.times.extend(times);
        let slot_mask = (1 << slot_bits) - 1;
        let slots = self.keys.iter().map(|key| *key as u32 & slot_mask);
        self.slots.extend(slots);
    }

    /// Sorts keys, times up to `span` above the bits of their slots: distributes them to buckets of equal width, more than there
    /// are times if there are few, and then moves each past the few that are greater. `false` if these are too many.
    fn sort_in_buckets(&mut self, span: u64, slot_bits: u32) -> bool {
        let n_buckets = MAX_BUCKETS.min(1 << slot_bits);
        let width_bits = (u64::BITS - span.leading_zeros()).saturating_sub(n_buckets.ilog2());
        let shift = slot_bits + width_bits;
        // No bucket is beyond them.
        let bucket = |key: u64| (key >> shift) as usize % MAX_BUCKETS;
        // By bucket how many there are, and then where the next one belongs.
        let mut places = [0u32; MAX_BUCKETS];
        for &key in &self.keys {
            places[bucket(key)] += 1;
        }
        let mut n_before = 0;
        for place in &mut places[..n_buckets] {
            let n_in_bucket = std::mem::replace(place, n_before);
            n_before += n_in_bucket;
        }
        self.by_bucket.resize(self.keys.len(), 0);
        let sorted = &mut self.by_bucket[..];
        for &key in &self.keys {
            let place = &mut places[bucket(key)];
            sorted[*place as usize] = key;
            *place += 1;
        }
        let mut most_moves = 4 * sorted.len();
        let mut greatest = 0;
        for from in 0..sorted.len() {
            let key = sorted[from];
            if key > greatest {
                greatest = key;
                continue;
            }
            let mut at = from;
            while at > 0 && sorted[at - 1] > key {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = key;
            if from - at > most_moves {
                return false;
            }
            most_moves -= from - at;
        }
        std::mem::swap(&mut self.keys, &mut self.by_bucket);
        true
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

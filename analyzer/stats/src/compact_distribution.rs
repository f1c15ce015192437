//! Times of one place inside a tree, in little memory.
//!
//! A tree of a hundred processes has a thousand places, each with several quantities; what suffices
//! for an operation as a whole ([`Distribution`](crate::distribution::Distribution)) would be too much for each
//! of those. n, total, least, greatest and deviation are exact. Quantiles are exact up to some
//! hundred samples, and are then those of a histogram that begins and ends where the samples do:
//! within 0.1 %, within 0.8 % in graphs of many edges, or within 3.2 % in those of very many. Nothing
//! depends on who has seen what.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::distribution::Summary;
use crate::integers::{rounded_div, saturate};

mod written;

/// How finely a gauge tells times apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grain {
    /// Quantiles within 0.1 %.
    #[default]
    Fine,
    /// Within 0.8 %, in an eighth of the memory.
    Medium,
    /// Within 3.2 %, in less than a thirtieth.
    Coarse,
}

/// Graphs with more edges are kept less finely.
const MAX_FINE_EDGES: usize = 512;
/// Graphs with more edges are kept coarsely.
const MAX_MEDIUM_EDGES: usize = 2048;

impl Grain {
    /// That of the places in a graph of so many edges.
    pub fn of_edges(n_edges: usize) -> Self {
        match n_edges {
            n if n <= MAX_FINE_EDGES => Self::Fine,
            n if n <= MAX_MEDIUM_EDGES => Self::Medium,
            _ => Self::Coarse,
        }
    }

    /// Samples that are kept as they are.
    fn max_listed(self) -> usize {
        match self {
            Self::Fine => 256,
            Self::Medium => 64,
            Self::Coarse => 32,
        }
    }

    /// Buckets for each doubling, as a power of two.
    fn bits(self) -> u32 {
        match self {
            Self::Fine => 9,
            Self::Medium => 6,
            Self::Coarse => 4,
        }
    }

    /// The bucket of a magnitude. Those below the number of buckets of a doubling have one of
    /// their own.
    #[inline]
    fn bucket(self, magnitude: u64) -> i32 {
        let bits = self.bits();
        let shift = (magnitude | 1).ilog2().saturating_sub(bits);
        ((shift << bits) as i32) + (magnitude >> shift) as i32
    }

    /// The bucket of a magnitude below 2^31, by the bits of a floating-point number: its exponent,
    /// and those behind its leading one.
    #[inline]
    fn bucket_of_short(self, magnitude: u32) -> u32 {
        const FRACTION_BITS: u32 = 52;
        let bits = self.bits();
        let leading = (f64::from(magnitude as i32).to_bits() >> (FRACTION_BITS - bits)) as u32;
        // That of 2^bits, whose bucket is the first that is found so.
        let first = (1023 + bits) << bits;
        if magnitude < 1 << bits {
            magnitude
        } else {
            leading.wrapping_sub(first).wrapping_add(1 << bits)
        }
    }

    /// The middle of a bucket.
    fn middle(self, bucket: i32) -> u64 {
        let bits = self.bits();
        let bucket = bucket as u64;
        if bucket < 2 << bits {
            return bucket;
        }
        let shift = (bucket >> bits) - 1;
        let mantissa = bucket - (shift << bits);
        (mantissa << shift) + (1 << shift) / 2
    }

    #[inline]
    fn signed_bucket(self, sample: i64) -> i32 {
        let bucket = self.bucket(sample.unsigned_abs());
        if sample < 0 { -bucket } else { bucket }
    }

    fn signed_middle(self, bucket: i32) -> i64 {
        let middle = self.middle(bucket.abs()) as i64;
        if bucket < 0 { -middle } else { middle }
    }
}

/// What is exact of any number of samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Moments {
    n: u64,
    total: i128,
    /// Sum of squares; `None` once it left its integer.
    squares: Option<u128>,
    min: i64,
    max: i64,
}

impl Moments {
    const OF_NOTHING: Self = Self {
        n: 0,
        total: 0,
        squares: Some(0),
        min: i64::MAX,
        max: i64::MIN,
    };

    fn of<T: Sample>(samples: &[T]) -> Self {
        let Some((&first, others)) = samples.split_first() else {
            return Self::OF_NOTHING;
        };
        let (mut min, mut max) = (first, first);
        for &sample in others {
            min = min.min(sample);
            max = max.max(sample);
        }
        let (min, max): (i64, i64) = (min.into(), max.into());
        let are_short = |bits: u32| samples.len() <= 256 && min > -(1 << bits) && max < 1 << bits;
        let each = || samples.iter().map(|&sample| -> i64 { sample.into() });
        // No sum of few short times leaves its integer, and that of shorter ones no exact number in
        // floating point, of which a vector instruction adds several.
        let (total, squares) = if are_short(22) {
            let (total, squares) = exact_sums(samples);
            (total.into(), Some(squares.into()))
        } else if are_short(27) {
            let squares: i64 = each().map(|sample| sample * sample).sum();
            (each().sum::<i64>().into(), Some(squares as u128))
        } else {
            let mut squares = each().map(|sample| u128::from(sample.unsigned_abs()).pow(2));
            let squares = squares.try_fold(0, u128::checked_add);
            (each().map(i128::from).sum(), squares)
        };
        Self {
            n: samples.len() as u64,
            total,
            squares,
            min,
            max,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.total += other.total;
        let both = self.squares.zip(other.squares);
        self.squares = both.and_then(|(a, b)| a.checked_add(b));
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// Sum of some samples below 2^22 in magnitude, no more than 256, and that of their squares.
fn exact_sums<T: Sample>(samples: &[T]) -> (i64, u64) {
    const LANES: usize = 4;
    let exact = |sample: T| f64::from(Into::<i64>::into(sample) as i32);
    let (mut totals, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let (parts, rest) = samples.as_chunks::<LANES>();
    for part in parts {
        for ((total, squares), &sample) in totals.iter_mut().zip(&mut squares).zip(part) {
            *total += exact(sample);
            *squares += exact(sample) * exact(sample);
        }
    }
    for &sample in rest {
        totals[0] += exact(sample);
        squares[0] += exact(sample) * exact(sample);
    }
    let (total, squares): (f64, f64) = (totals.iter().sum(), squares.iter().sum());
    (total as i64, squares as u64)
}

/// What samples are handed on in: ns, of which few need more than 32 bits.
pub trait Sample: Copy + Ord + Into<i64> {}

impl Sample for i32 {}
impl Sample for i64 {}

/// Samples of one quantity, ns. Parts can be merged.
///
/// Adding a sample is keeping it, in a list; those of a full list are counted together. So what a
/// sample takes is small, and the counts, which of all gauges together are larger than any cache,
/// are asked for by many samples at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "written::Gauge", from = "written::Gauge")]
pub struct Gauge {
    grain: Grain,
    /// Samples that are not counted.
    list: Vec<i64>,
    counts: Option<Box<Counts>>,
}

/// What is known of samples that are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counts {
    moments: Moments,
    /// Bucket of the first count.
    first: i32,
    counts: Numbers,
}

/// How many samples a bucket has, for some that follow one another. The counts of all gauges
/// together are larger than any cache: few samples take half of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Numbers {
    /// Of no more than 65,535 samples in all.
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Self::Short(counts) => counts.len(),
            Self::Long(counts) => counts.len(),
        }
    }

    /// Has room for counts of `n` samples in all.
    fn make_long(&mut self, n: u64) {
        if let Self::Short(counts) = self
            && n > u16::MAX.into()
        {
            *self = Self::Long(counts.iter().copied().map(u32::from).collect());
        }
    }

    /// Has `before` more counts in front, and is `n` long at least.
    fn make_room(&mut self, before: usize, n: usize) {
        fn make_room<T: Copy + Default>(counts: &mut Vec<T>, before: usize, n: usize) {
            if before > 0 {
                counts.splice(0..0, std::iter::repeat_n(T::default(), before));
            }
            if n > counts.len() {
                // The greatest sample is seldom exceeded: room in advance would mostly stay empty.
                counts.reserve_exact(n - counts.len());
                counts.resize(n, T::default());
            }
        }
        match self {
            Self::Short(counts) => make_room(counts, before, n),
            Self::Long(counts) => make_room(counts, before, n),
        }
    }

    /// Adds one to each of some counts; there is room for all of them.
    fn add(&mut self, places: &[u32]) {
        match self {
            // It cannot be more than there are samples.
            Self::Short(counts) => places.iter().for_each(|&at| counts[at as usize] += 1),
            Self::Long(counts) => {
                for &at in places {
                    let count = &mut counts[at as usize];
                    *count = count.saturating_add(1);
                }
            }
        }
    }

    /// Adds other counts to those from a place on.
    fn merge(&mut self, at: usize, other: &Self) {
        match (self, other) {
            (Self::Short(own), Self::Short(other)) => {
                for (own, other) in own[at..].iter_mut().zip(other) {
                    *own += other;
                }
            }
            (Self::Long(own), other) => {
                for (own, other) in own[at..].iter_mut().zip(other.iter()) {
                    *own = own.saturating_add(other);
                }
            }
            (Self::Short(_), Self::Long(_)) => {
                unreachable!("together there are no fewer samples than in one part")
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (short, long) = match self {
            Self::Short(counts) => (&counts[..], &[][..]),
            Self::Long(counts) => (&[][..], &counts[..]),
        };
        short
            .iter()
            .copied()
            .map(u32::from)
            .chain(long.iter().copied())
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Self::new(Grain::Fine)
    }
}

impl Gauge {
    /// Without samples.
    #[must_use]
    pub fn new(grain: Grain) -> Self {
        Self {
            grain,
            list: Vec::new(),
            counts: None,
        }
    }

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        if self.list.len() >= self.grain.max_listed() {
            self.count_list();
        }
        self.list.push(sample);
    }

    /// Adds samples.
    pub fn add_all<T: Sample>(&mut self, samples: &[T]) {
        if let &[sample] = samples {
            return self.add(sample.into());
        }
        let is_few = self.list.len() + samples.len() <= self.grain.max_listed();
        if is_few && self.counts.is_none() {
            self.list
                .extend(samples.iter().map(|&sample| sample.into()));
            return;
        }
        if !self.list.is_empty() {
            self.count_list();
            self.list = Vec::new();
        }
        let counts = self.counts.get_or_insert_default();
        counts.add(samples, self.grain);
    }

    /// Turns the list into counts.
    #[cold]
    fn count_list(&mut self) {
        let counts = self.counts.get_or_insert_default();
        counts.add(&self.list, self.grain);
        self.list.clear();
    }

    /// What is exact of all samples.
    fn moments(&self) -> Moments {
        let mut moments = Moments::of(&self.list);
        if let Some(counts) = &self.counts {
            moments.merge(&counts.moments);
        }
        moments
    }

    /// Adds the samples of another part.
    pub fn merge(&mut self, other: &Self) {
        let n_listed = self.list.len() + other.list.len();
        let is_few = n_listed <= self.grain.max_listed();
        if !is_few || self.counts.is_some() || other.counts.is_some() {
            self.count_list();
        }
        if let (Some(own), Some(others)) = (&mut self.counts, &other.counts) {
            own.merge(others);
        }
        match &mut self.counts {
            Some(counts) => counts.add(&other.list, self.grain),
            None => self.list.extend_from_slice(&other.list),
        }
    }

    /// How finely it tells times apart.
    #[must_use]
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// Number of samples.
    #[must_use]
    pub fn n(&self) -> u64 {
        let n_counted = self.counts.as_ref().map_or(0, |counts| counts.moments.n);
        n_counted + self.list.len() as u64
    }

    /// total / n, to the nearest ns; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        self.moments().mean()
    }

    /// The value below which so many per cent of the samples lie, at (n - 1) percent / 100 between
    /// neighbours; `None` without samples.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<i64> {
        self.quantiles([percent]).map(|[quantile]| quantile)
    }

    /// `percents` ascending.
    fn quantiles<const N: usize>(&self, percents: [u64; N]) -> Option<[i64; N]> {
        let last = self.n().checked_sub(1)?;
        let scaled = percents.map(|percent| u128::from(last) * u128::from(percent));
        let lower = scaled.map(|scaled| (scaled / 100) as u64);
        let neighbours = self.at(lower.map(|lower| [lower, (lower + 1).min(last)]));
        let mut parts = scaled.iter().map(|scaled| (scaled % 100) as i128);
        Some(neighbours.map(|[low, high]| {
            let parts = parts.next().unwrap_or(0);
            let step = rounded_div((i128::from(high) - i128::from(low)) * parts, 100);
            saturate(i128::from(low) + step)
        }))
    }

    /// The samples with so many others before them, of which there are that many; ascending.
    fn at<const N: usize>(&self, positions: [[u64; 2]; N]) -> [[i64; 2]; N] {
        let Some(counts) = &self.counts else {
            let mut sorted = self.list.clone();
            sorted.sort_unstable();
            return positions.map(|pair| pair.map(|position| sorted[position as usize]));
        };
        let mut counts = Cow::Borrowed(&**counts);
        if !self.list.is_empty() {
            counts.to_mut().add(&self.list, self.grain);
        }
        let Moments { min, max, .. } = counts.moments;
        let mut found = [[max; 2]; N];
        counts.find(positions.as_flattened(), |nth, bucket| {
            found.as_flattened_mut()[nth] = self.grain.signed_middle(bucket).clamp(min, max);
        });
        found
    }

    /// In figures; `None` without samples. `uncertainty_ns`: see [`Summary`].
    #[must_use]
    pub fn summary(&self, uncertainty_ns: Option<i64>) -> Option<Summary> {
        let [p01, median, p99] = self.quantiles([1, 50, 99])?;
        let moments = self.moments();
        Some(Summary {
            n: moments.n,
            total: saturate(moments.total),
            min: moments.min,
            p01,
            median,
            mean: moments.mean()?,
            sd: moments.sd(),
            p99,
            max: moments.max,
            uncertainty_ns,
        })
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            moments: Moments::OF_NOTHING,
            first: 0,
            counts: Numbers::Short(Vec::new()),
        }
    }
}

impl Counts {
    fn add<T: Sample>(&mut self, samples: &[T], grain: Grain) {
        let moments = Moments::of(samples);
        if moments.n == 0 {
            return;
        }
        let ends = [moments.min, moments.max].map(|end| grain.signed_bucket(end));
        self.make_room(ends[0], ends[1]);
        self.moments.merge(&moments);
        self.counts.make_long(self.moments.n);
        let are_short = moments.min >= 0 && moments.max <= i32::MAX.into();
        // The buckets of some samples at a time: vector instructions find them.
        let mut places = [0u32; 64];
        for part in samples.chunks(places.len()) {
            if are_short {
                let first = self.first as u32;
                for (place, &sample) in places.iter_mut().zip(part) {
                    let magnitude = Into::<i64>::into(sample) as u32;
                    *place = grain.bucket_of_short(magnitude).wrapping_sub(first);
                }
            } else {
                for (place, &sample) in places.iter_mut().zip(part) {
                    *place = (grain.signed_bucket(sample.into()) - self.first) as u32;
                }
            }
            self.counts.add(&places[..part.len()]);
        }
    }

    /// Hands on for each of some positions, ascending, the bucket in which the sample there is.
    fn find(&self, positions: &[u64], mut found: impl FnMut(usize, i32)) {
        let found = |nth, bucket: usize| found(nth, self.first + bucket as i32);
        match &self.counts {
            // All of them together have no more samples than their integer can tell.
            Numbers::Short(counts) => {
                find(counts, positions, found, |part| {
                    part.iter().sum::<u16>().into()
                });
            }
            Numbers::Long(counts) => find(counts, positions, found, |part| {
                part.iter().map(|&n| u64::from(n)).sum()
            }),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        if other.counts.len() == 0 {
            return;
        }
        self.counts.make_long(self.moments.n);
        self.make_room(other.first, other.first + (other.counts.len() - 1) as i32);
        let at = (other.first - self.first) as usize;
        self.counts.merge(at, &other.counts);
    }

    /// Has counts for the buckets from one to another one.
    fn make_room(&mut self, least: i32, greatest: i32) {
        if self.counts.len() == 0 {
            self.first = least;
        }
        let before = (self.first - least).max(0);
        self.first -= before;
        let n = (greatest - self.first) as usize + 1;
        self.counts.make_room(before as usize, n);
    }
}

/// Counts that are added up before it is looked which of them is asked for.
const PART: usize = 64;

/// Hands on for each of some positions, ascending, the place of the count that reaches beyond it.
/// Mostly nothing is asked for in a part: its `sum` is all that is looked at.
fn find<T: Copy + Into<u64>>(
    counts: &[T],
    positions: &[u64],
    mut found: impl FnMut(usize, usize),
    sum: impl Fn(&[T]) -> u64,
) {
    let mut positions = positions.iter().enumerate().peekable();
    let mut n = 0;
    for (first, part) in (0..).step_by(PART).zip(counts.chunks(PART)) {
        let behind = n + sum(part);
        if positions.peek().is_some_and(|&(_, &at)| at < behind) {
            for (place, &times) in (first..).zip(part) {
                n += times.into();
                while let Some((nth, _)) = positions.next_if(|&(_, &at)| at < n) {
                    found(nth, place);
                }
            }
        }
        n = behind;
    }
}

impl Moments {
    fn mean(&self) -> Option<i64> {
        (self.n > 0).then(|| saturate(rounded_div(self.total, i128::from(self.n))))
    }

    fn sd(&self) -> Option<i64> {
        let squares = self.squares?;
        if self.n < 2 {
            return None;
        }
        let n = self.n as f64;
        // The integers are exact; what cancels is taken away before they are rounded.
        let total = self.total.unsigned_abs();
        let sum = total.checked_mul(total);
        let of_mean = match sum {
            Some(square) => square as f64 / n,
            None => (total as f64).powi(2) / n,
        };
        let variance = match sum.map(|square| square / u128::from(self.n)) {
            Some(of_mean) if of_mean <= squares => (squares - of_mean) as f64,
            _ => (squares as f64 - of_mean).max(0.0),
        };
        Some((variance / (n - 1.0)).sqrt().round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::distribution::Distribution;

    fn gauge(grain: Grain, samples: &[i64]) -> Gauge {
        let mut gauge = Gauge::new(grain);
        samples.iter().for_each(|&sample| gauge.add(sample));
        gauge
    }

    #[test]
    fn the_middle_of_a_bucket_lies_in_it_and_near_all_of_it() {
        for (grain, parts) in [
            (Grain::Fine, 1000),
            (Grain::Medium, 125),
            (Grain::Coarse, 31),
        ] {
            let mut magnitude = 0u64;
            let mut last = -1;
            while magnitude < 1 << 62 {
                let bucket = grain.bucket(magnitude);
                assert!(bucket >= last, "{magnitude}");
                last = bucket;
                let middle = grain.middle(bucket);
                assert_eq!(grain.bucket(middle), bucket, "{magnitude}");
                assert!(
                    middle.abs_diff(magnitude) <= magnitude / parts,
                    "{magnitude}"
                );
                magnitude += 1 + magnitude / 700;
            }
        }
    }

    #[test]
    fn buckets_of_short_samples_are_those_of_all() {
        for grain in [Grain::Fine, Grain::Medium, Grain::Coarse] {
            let powers = (0..31).flat_map(|bit| (1u32 << bit) - 1..(1 << bit) + 3);
            let spread = (0..200_000).map(|n| n * 10_007);
            let all = (0..5_000).chain(powers).chain(spread);
            for magnitude in all.chain([i32::MAX as u32]) {
                let short = grain.bucket_of_short(magnitude);
                assert_eq!(short as i32, grain.bucket(magnitude.into()), "{magnitude}");
            }
        }
    }

    #[test]
    fn more_samples_than_a_short_count_can_tell_are_counted() {
        let samples = [40; 100];
        let mut part = Gauge::default();
        (0..400).for_each(|_| part.add_all(&samples));
        let mut whole = part.clone();
        whole.add_all(&[-7, 1_000_000_007]);
        whole.merge(&part);
        (0..400).for_each(|_| whole.add_all(&samples));
        let summary = whole.summary(None).unwrap();
        let found = (summary.n, summary.p01, summary.median, summary.p99);
        assert_eq!(found, (120_002, 40, 40, 40));
        assert_eq!((summary.min, summary.max), (-7, 1_000_000_007));
        let counts = whole.counts.unwrap();
        assert_eq!(counts.counts.iter().max(), Some(120_000));
    }

    #[test]
    fn a_mean_between_two_times_is_the_later_one_as_in_distributions() {
        for samples in [[-460_489, -7_638], [-1, 0], [1, 2]] {
            let mut all = Distribution::default();
            all.add_all(&samples);
            let expected = all.summary().unwrap().mean;
            assert_eq!(gauge(Grain::Fine, &samples).mean(), Some(expected));
        }
    }

    #[test]
    fn a_graph_of_more_edges_takes_less_for_each() {
        // Exponential times.
        let samples: Vec<i64> = (1..900)
            .map(|n| (-20_000.0 * (f64::from(n) / 900.0).ln()) as i64)
            .collect();
        let room = |n_edges: usize| {
            let mut found = Gauge::new(Grain::of_edges(n_edges));
            found.add_all(&samples);
            found.counts.unwrap().counts.len()
        };
        assert!(room(512) > 4000 && room(1023) * 5 < room(512) && room(10_240) * 3 < room(1023));
    }

    proptest! {
        #[test]
        fn a_gauge_says_what_a_distribution_does(
            samples in prop::collection::vec(-2_000_000i64..50_000_000, 1..900),
            cut in 0usize..900,
        ) {
            let mut whole = Distribution::default();
            whole.add_all(&samples);
            let expected = whole.summary().unwrap();
            let cut = cut.min(samples.len());
            let mut found = gauge(Grain::Fine, &samples[..cut]);
            found.merge(&gauge(Grain::Fine, &samples[cut..]));
            prop_assert_eq!(everything(&found), everything(&gauge(Grain::Fine, &samples)));
            let found = found.summary(None).unwrap();
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            for (percent, found, expected) in [
                (1, found.p01, expected.p01),
                (50, found.median, expected.median),
                (99, found.p99, expected.p99),
            ] {
                // Between two samples, of which one may lie below zero and the other one above.
                let at = (samples.len() - 1) * percent / 100;
                let next = (at + 1).min(samples.len() - 1);
                let largest = sorted[at].abs().max(sorted[next].abs());
                prop_assert!((found - expected).abs() <= 1 + largest / 990);
            }
            let exact = |s: &Summary| (s.n, s.total, s.min, s.max, s.mean, s.sd);
            prop_assert_eq!(exact(&found), exact(&expected));
        }
    }

    /// What a gauge holds: moments, samples in order, and counts.
    fn everything(gauge: &Gauge) -> (Moments, Vec<i64>, Option<Counts>) {
        let mut gauge = gauge.clone();
        gauge.list.sort_unstable();
        if gauge.counts.is_some() {
            gauge.count_list();
        }
        (
            gauge.moments(),
            gauge.list,
            gauge.counts.map(|counts| *counts),
        )
    }

    #[test]
    fn few_samples_are_exact_and_none_say_nothing() {
        assert_eq!(Gauge::default().summary(None), None);
        assert_eq!(Gauge::default().quantile(10), None);
        let found = gauge(Grain::Coarse, &[30, -10, 20]);
        assert_eq!((found.mean(), found.quantile(50)), (Some(13), Some(20)));
        assert_eq!(found.quantile(10), Some(-4));
    }
}

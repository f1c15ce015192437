//! Distributions of times: exact while there are few samples, a histogram beyond.
//!
//! n, total, least, greatest, mean and deviation are exact for any number of samples, in
//! integers, so that neither the order of the samples nor the number of threads shows. Quantiles
//! are exact up to 4096 samples and within 0.1 % beyond: a histogram of three digits, which has
//! buckets of at most 1/1024 of the value and is read at their middles.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::buckets::{Bucket, buckets};
use crate::integers::{rounded_div, saturate};

mod written;

/// Quantiles of so many samples are exact.
const MAX_EXACT: u64 = 4096;
/// Samples kept as they are; beyond, a histogram takes less. More than are exact, since the
/// parts of a distribution cannot know how many there are in all.
const MAX_LISTED: usize = 8192;

/// Samples of one quantity, ns. Parts of it, added up by different workers, can be merged: the
/// figures depend on the samples alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "written::Distribution", from = "written::Distribution")]
pub struct Distribution {
    n: u64,
    total: i128,
    /// Sum of squares; `None` once it left its integer.
    squares: Option<u128>,
    min: i64,
    max: i64,
    samples: Samples,
}

/// Every operation has several of these, and a program may have thousands of operations: few
/// samples must take little.
#[derive(Debug, Clone)]
enum Samples {
    /// Within two seconds, as most are.
    Short(Vec<i32>),
    Long(Vec<i64>),
    Rough(Box<Rough>),
}

/// Counts of magnitudes.
#[derive(Debug, Clone, Default)]
struct Rough {
    positive: Counts,
    /// Empty until the first sample below zero comes.
    negative: Counts,
    /// Samples that are still to be counted. An operation has several histograms, and a program
    /// many operations: counting some thousand samples at a time lets one histogram at a time
    /// stay in the nearest cache.
    pending: Vec<i32>,
}

/// Counts by the buckets of a histogram of three digits, up to the greatest that was met. Filled
/// here and read as a [`Histogram`], which takes three times as long to count a sample.
#[derive(Debug, Clone, Default)]
struct Counts(Vec<u32>);

/// A distribution in figures; times in ns.
///
/// Quantiles are interpolated between neighbours, at (n - 1) q (type 7 of Hyndman and Fan, as
/// most programs do): the median of an even number is the mean of the middle two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Number of samples, > 0.
    pub n: u64,
    /// Their sum.
    pub total: i64,
    /// The least.
    pub min: i64,
    /// The first hundredth.
    pub p01: i64,
    /// The middle.
    pub median: i64,
    /// total / n, to the nearest ns.
    pub mean: i64,
    /// Sample standard deviation (n - 1); `None` for a single sample.
    pub sd: Option<i64>,
    /// The last hundredth.
    pub p99: i64,
    /// The greatest.
    pub max: i64,
    /// Error by the alignment of clocks; `None` where one clock is involved, as always in this
    /// version.
    pub uncertainty_ns: Option<i64>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self {
            n: 0,
            total: 0,
            squares: Some(0),
            min: i64::MAX,
            max: i64::MIN,
            samples: Samples::Short(Vec::new()),
        }
    }
}

impl Distribution {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        self.add_all(&[sample]);
    }

    /// Adds samples; gives their sum.
    pub fn add_all(&mut self, samples: &[i64]) -> i64 {
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        let (mut total, mut squares) = (0i64, 0u64);
        for &sample in samples {
            min = min.min(sample);
            max = max.max(sample);
            total = total.wrapping_add(sample);
            squares = squares.wrapping_add(sample.wrapping_mul(sample) as u64);
        }
        self.n += samples.len() as u64;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        // No sum of a few thousand short times leaves its integer; others are added up again.
        if min > -(1 << 25) && max < 1 << 25 && samples.len() <= 1 << 13 {
            self.add_sums(total.into(), Some(squares.into()));
            self.samples.add_all(samples);
            total
        } else {
            let square = |&s: &i64| u128::from(s.unsigned_abs()).pow(2);
            let mut squares = samples.iter().map(square);
            let total = samples.iter().copied().map(i128::from).sum();
            self.add_sums(total, squares.try_fold(0, u128::checked_add));
            self.samples.add_all(samples);
            saturate(total)
        }
    }

    fn add_sums(&mut self, total: i128, squares: Option<u128>) {
        self.total += total;
        let of_both = self.squares.zip(squares);
        self.squares = of_both.and_then(|(a, b)| a.checked_add(b));
    }

    /// Adds the samples of another part.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.add_sums(other.total, other.squares);
        self.samples.merge(&other.samples);
    }

    /// Number of samples.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Sum of the samples.
    #[must_use]
    pub fn total(&self) -> i64 {
        saturate(self.total)
    }

    /// In figures; `None` without samples.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        if self.n == 0 {
            return None;
        }
        let samples = self.ordered();
        let quantile = |percent: u64| {
            // At (n - 1) percent / 100, between two neighbours.
            let scaled = u128::from(self.n - 1) * u128::from(percent);
            let (lower, parts) = ((scaled / 100) as u64, (scaled % 100) as i128);
            let upper = (lower + 1).min(self.n - 1);
            let (low, high) = (self.at(&samples, lower), self.at(&samples, upper));
            let step = rounded_div((i128::from(high) - i128::from(low)) * parts, 100);
            saturate(i128::from(low) + step)
        };
        Some(Summary {
            n: self.n,
            total: self.total(),
            min: self.min,
            p01: quantile(1),
            median: quantile(50),
            mean: saturate(rounded_div(self.total, i128::from(self.n))),
            sd: self.sd(),
            p99: quantile(99),
            max: self.max,
            uncertainty_ns: None,
        })
    }

    /// How many samples were how large, in eight steps for each doubling. The borders of the
    /// steps are borders of the histogram's buckets too: the counts are exact for any number.
    #[must_use]
    pub fn buckets(&self) -> Vec<Bucket> {
        match &self.samples {
            Samples::Short(list) => buckets(list.iter().map(|&sample| (sample.into(), 1))),
            Samples::Long(list) => buckets(list.iter().map(|&sample| (sample, 1))),
            Samples::Rough(rough) => {
                let rough = rough.counted();
                let positive = rough.positive.histogram();
                let counts = positive
                    .iter_recorded()
                    .map(|bucket| (bucket.value_iterated_to() as i64, bucket.count_at_value()));
                let below_zero = rough.negative.histogram().len();
                let below_zero = (below_zero > 0).then_some((0, below_zero));
                buckets(counts.chain(below_zero))
            }
        }
    }

    /// The samples that these parts of the others, from 0 to 1, lie below; interpolated as the
    /// quantiles of the summary are. `None` without samples.
    #[must_use]
    pub fn quantiles<const N: usize>(&self, parts: [f64; N]) -> Option<[i64; N]> {
        let last = self.n.checked_sub(1)?;
        let samples = self.ordered();
        Some(parts.map(|part| {
            let place = part.clamp(0.0, 1.0) * last as f64;
            let low = self.at(&samples, place.floor() as u64);
            let high = self.at(&samples, place.ceil() as u64);
            low + ((high - low) as f64 * place.fract()).round() as i64
        }))
    }

    /// How far a quantile near this value may be from the truth by being read from a histogram,
    /// ns; 0 where it is exact.
    #[must_use]
    pub fn quantile_error(&self, value: i64) -> i64 {
        if self.n <= MAX_EXACT {
            0
        } else {
            value.abs() / 1000
        }
    }

    fn ordered(&self) -> Ordered {
        if self.n <= MAX_EXACT {
            Ordered::Exact(self.samples.sorted())
        } else {
            Ordered::Rough(self.samples.in_buckets())
        }
    }

    /// The sample with `index` others before it.
    fn at(&self, samples: &Ordered, index: u64) -> i64 {
        match samples {
            Ordered::Exact(sorted) => sorted[index as usize],
            Ordered::Rough(buckets) => middle_of(buckets, index).clamp(self.min, self.max),
        }
    }

    /// Sample standard deviation, to the nearest ns.
    fn sd(&self) -> Option<i64> {
        if self.n < 2 {
            return None;
        }
        // squares - total^2 / n, without a product that could overflow.
        let (n, total) = (u128::from(self.n), self.total.unsigned_abs());
        let (whole, rest) = (total / n, total % n);
        let mean_part = total
            .checked_mul(whole)?
            .checked_add(total.checked_mul(rest)? / n)?;
        let deviation = self.squares?.saturating_sub(mean_part);
        let variance = deviation as f64 / (self.n - 1) as f64;
        Some(variance.sqrt().round() as i64)
    }
}

/// Samples in order, as far as they are known.
enum Ordered {
    Exact(Vec<i64>),
    /// Middle of each bucket, and number of samples in it, ascending.
    Rough(Vec<(i64, u64)>),
}

fn middle_of(buckets: &[(i64, u64)], index: u64) -> i64 {
    let mut before = 0;
    let found = buckets.iter().find(|(_, n)| {
        before += n;
        before > index
    });
    found.map_or(0, |(middle, _)| *middle)
}

impl Samples {
    fn add_all(&mut self, samples: &[i64]) {
        match self {
            Self::Rough(rough) => rough.record_all(samples),
            Self::Short(list) => {
                if list.len() + samples.len() > MAX_LISTED {
                    self.become_rough().add_all(samples);
                } else if samples.iter().all(|&s| i32::try_from(s).is_ok()) {
                    make_room(list, samples.len());
                    list.extend(samples.iter().map(|&s| s as i32));
                } else {
                    let mut long: Vec<i64> = list.iter().copied().map(i64::from).collect();
                    long.extend_from_slice(samples);
                    *self = Self::Long(long);
                }
            }
            Self::Long(list) if list.len() + samples.len() > MAX_LISTED => {
                self.become_rough().add_all(samples);
            }
            Self::Long(list) => {
                make_room(list, samples.len());
                list.extend_from_slice(samples);
            }
        }
    }

    fn become_rough(&mut self) -> &mut Self {
        let mut rough = Box::new(Rough::default());
        match self {
            Self::Short(list) => list.iter().for_each(|&s| rough.record(s.into())),
            Self::Long(list) => list.iter().for_each(|&s| rough.record(s)),
            Self::Rough(_) => return self,
        }
        *self = Self::Rough(rough);
        self
    }

    fn merge(&mut self, other: &Self) {
        match other {
            Self::Short(list) => {
                let long: Vec<i64> = list.iter().copied().map(i64::from).collect();
                self.add_all(&long);
            }
            Self::Long(list) => self.add_all(list),
            Self::Rough(others) => {
                if let Self::Rough(own) = self.become_rough() {
                    own.merge(others);
                }
            }
        }
    }

    /// All samples, of which no more than are listed.
    fn sorted(&self) -> Vec<i64> {
        let mut sorted: Vec<i64> = match self {
            Self::Short(list) => list.iter().copied().map(i64::from).collect(),
            Self::Long(list) => list.clone(),
            Self::Rough(_) => Vec::new(),
        };
        sorted.sort_unstable();
        sorted
    }

    fn in_buckets(&self) -> Vec<(i64, u64)> {
        let mut rough = self.clone();
        rough.become_rough();
        match &rough {
            Self::Rough(rough) => rough.counted().buckets(),
            Self::Short(_) | Self::Long(_) => Vec::new(),
        }
    }
}

/// By a quarter, not to twice as much: there may be many lists.
fn make_room<T>(list: &mut Vec<T>, n: usize) {
    if list.capacity() - list.len() < n {
        list.reserve_exact(n.max(list.len() / 4).max(16));
    }
}

impl Rough {
    /// Samples that wait to be counted, at most.
    const MAX_PENDING: usize = 4096;

    fn record_all(&mut self, samples: &[i64]) {
        let is_short = |&s: &i64| i32::try_from(s).is_ok();
        if samples.len() > Self::MAX_PENDING || !samples.iter().all(is_short) {
            samples.iter().for_each(|&sample| self.record(sample));
            return;
        }
        if self.pending.len() + samples.len() > Self::MAX_PENDING {
            self.count_pending();
        }
        self.pending
            .extend(samples.iter().map(|&sample| sample as i32));
    }

    fn count_pending(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        self.count_all(&pending);
        pending.clear();
        self.pending = pending;
    }

    fn count_all(&mut self, samples: &[i32]) {
        let all = samples.iter().fold(0, |all, sample| all | sample);
        if all < 0 {
            samples
                .iter()
                .for_each(|&sample| self.record(sample.into()));
            return;
        }
        // No sample has a bit that is not in `all`, so none comes behind its bucket.
        let buckets = self.positive.up_to(all.unsigned_abs().into());
        // Adding to one bucket again and again takes as long as the memory does. Only those who
        // need not wait are as many as that, and all of them are of one value.
        let n_zeros = samples.iter().filter(|&&sample| sample == 0).count();
        let is_counted_apart = n_zeros * 4 >= samples.len();
        // The buckets of some samples at a time: vector instructions find them.
        let mut places = [0u32; 64];
        for part in samples.chunks(places.len()) {
            for (place, &sample) in places.iter_mut().zip(part) {
                *place = bucket_of_short(sample);
            }
            for &place in &places[..part.len()] {
                if place > 0 || !is_counted_apart {
                    buckets[place as usize] += 1;
                }
            }
        }
        if is_counted_apart {
            buckets[0] += n_zeros as u32;
        }
    }

    #[inline]
    fn record(&mut self, sample: i64) {
        if sample < 0 {
            self.negative.add(sample.unsigned_abs())
        } else {
            self.positive.add(sample.unsigned_abs())
        }
    }

    fn merge(&mut self, other: &Self) {
        self.positive.merge(&other.positive);
        self.negative.merge(&other.negative);
        self.count_all(&other.pending);
    }

    /// The same, with nothing to be counted.
    fn counted(&self) -> Self {
        let mut all = Self {
            pending: Vec::new(),
            ..self.clone()
        };
        all.count_all(&self.pending);
        all
    }

    /// The greatest magnitude of the negative ones comes first.
    fn buckets(&self) -> Vec<(i64, u64)> {
        let middles = |counts: &Counts, sign: i64| {
            let histogram = counts.histogram();
            let recorded = histogram.iter_recorded();
            let middle = recorded.map(|bucket| {
                let value = histogram.median_equivalent(bucket.value_iterated_to());
                (sign * value as i64, bucket.count_at_value())
            });
            middle.collect::<Vec<_>>()
        };
        let mut buckets = middles(&self.negative, -1);
        buckets.reverse();
        buckets.extend(middles(&self.positive, 1));
        buckets
    }
}

/// A histogram of three digits tells values of up to so many bits apart, and this many leading
/// bits of the others.
const LEADING_BITS: u32 = 11;

#[inline]
fn bucket_of(value: u64) -> usize {
    let shift = (u64::BITS - (value | 1).leading_zeros()).saturating_sub(LEADING_BITS);
    ((shift as usize) << (LEADING_BITS - 1)) + (value >> shift) as usize
}

/// The same of a value >= 0, by the bits of a floating-point number: its exponent, and the ten
/// bits behind the leading one.
#[inline]
fn bucket_of_short(value: i32) -> u32 {
    const FRACTION_BITS: u32 = 52;
    let bits = (f64::from(value).to_bits() >> (FRACTION_BITS - (LEADING_BITS - 1))) as u32;
    // That of 2^10, whose bucket is the first that is found so.
    let first = 1033 << (LEADING_BITS - 1);
    if value < 1 << (LEADING_BITS - 1) {
        value as u32
    } else {
        bits - first + (1 << (LEADING_BITS - 1))
    }
}

impl Counts {
    #[inline]
    fn add(&mut self, value: u64) {
        let n = &mut self.up_to(value)[bucket_of(value)];
        *n = n.saturating_add(1);
    }

    /// The buckets, up to that of a value at least.
    #[inline]
    fn up_to(&mut self, value: u64) -> &mut [u32] {
        let bucket = bucket_of(value);
        if bucket >= self.0.len() {
            self.0.resize(bucket + 1, 0);
        }
        &mut self.0
    }

    fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = own.saturating_add(*other);
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut histogram =
            Histogram::new(3).expect("three digits are among those that are allowed");
        let per_shift = 1 << (LEADING_BITS - 1);
        for (bucket, &n) in self.0.iter().enumerate().filter(|(_, n)| **n > 0) {
            let shift = (bucket / per_shift).saturating_sub(1);
            let least = ((bucket - shift * per_shift) as u64) << shift;
            // Only a value beyond the range of a histogram's integers could be refused, and no
            // sample is: they are differences of stamps within 2^60 ns.
            let refused = histogram.record_n(least.min(1 << 62), n.into());
            debug_assert!(refused.is_ok());
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same figures by the textbook, in floating point, from all samples.
    fn brute_force(samples: &[i64]) -> [f64; 5] {
        let mut sorted: Vec<f64> = samples.iter().map(|&s| s as f64).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let quantile = |q: f64| {
            let h = (n - 1.0) * q;
            let (low, high) = (sorted[h.floor() as usize], sorted[h.ceil() as usize]);
            low + (high - low) * (h - h.floor())
        };
        let mean = sorted.iter().sum::<f64>() / n;
        let squares: f64 = sorted.iter().map(|s| (s - mean).powi(2)).sum();
        let sd = (squares / (n - 1.0)).sqrt();
        [quantile(0.01), quantile(0.5), quantile(0.99), mean, sd]
    }

    fn distribution(samples: &[i64]) -> Distribution {
        let mut distribution = Distribution::default();
        samples.iter().for_each(|&s| distribution.add(s));
        distribution
    }

    #[test]
    fn no_sample_is_no_summary_and_one_sample_has_no_deviation() {
        assert_eq!(Distribution::default().summary(), None);
        let one = distribution(&[-7]).summary().unwrap();
        assert_eq!((one.n, one.total, one.min, one.max), (1, -7, -7, -7));
        assert_eq!((one.p01, one.median, one.p99, one.mean), (-7, -7, -7, -7));
        assert_eq!(one.sd, None);
    }

    #[test]
    fn the_largest_samples_neither_panic_nor_wrap() {
        let extreme = 1i64 << 61;
        let samples = vec![extreme; 5000]
            .into_iter()
            .chain(vec![-extreme; 5000])
            .collect::<Vec<_>>();
        let summary = distribution(&samples).summary().unwrap();
        assert_eq!((summary.min, summary.max), (-extreme, extreme));
        assert_eq!(summary.total, 0);
        assert_eq!(summary.p99, extreme);
    }

    #[test]
    fn buckets_of_short_samples_are_those_of_all() {
        let values = (0..5_000).chain((0..31).flat_map(|bit| {
            let power = 1i64 << bit;
            (power - 3..power + 3).filter(|&value| value >= 0)
        }));
        for value in values.chain([i64::from(i32::MAX)]) {
            let short = bucket_of_short(i32::try_from(value).unwrap());
            assert_eq!(short as usize, bucket_of(value as u64), "{value}");
        }
    }

    #[test]
    fn buckets_are_the_same_before_and_after_the_histogram() {
        let samples: Vec<i64> = (0..9000).map(|n: i64| n * n * n / 7 - 40).collect();
        let counts = samples.iter().map(|&sample| (sample, 1));
        assert_eq!(distribution(&samples).buckets(), buckets(counts));
    }

    /// By 97 at a time, in parts of which every third sample is in the first.
    fn in_parts(samples: &[i64]) -> Distribution {
        let part = |is_first: bool| {
            let mut distribution = Distribution::default();
            for run in samples.chunks(97) {
                let own = run.iter().filter(|&&s| (s % 3 == 0) == is_first);
                distribution.add_all(&own.copied().collect::<Vec<_>>());
            }
            distribution
        };
        let mut whole = part(true);
        whole.merge(&part(false));
        whole
    }

    #[test]
    fn whether_quantiles_are_exact_is_decided_by_all_parts_together() {
        let samples: Vec<i64> = (0..5000).map(|s| 1_000_003 * s).collect();
        for n in [4095, 4096, 4097, 5000] {
            let whole = distribution(&samples[..n]).summary().unwrap();
            assert_eq!(in_parts(&samples[..n]).summary().unwrap(), whole);
        }
    }

    proptest! {
        #[test]
        fn parts_give_the_figures_of_the_whole(
            samples in prop::collection::vec(-3_000_000_000i64..3_000_000_000, 1..400),
            n_times in 1usize..40,
            extreme in prop::option::of(any::<i64>()),
        ) {
            let few: Vec<i64> = samples.iter().map(|s| s >> (s & 31)).collect();
            let mut all = few.repeat(n_times);
            all.extend(extreme.map(|e| e >> 4));
            prop_assert_eq!(in_parts(&all).summary(), distribution(&all).summary());
        }

        #[test]
        fn few_samples_give_the_figures_of_the_textbook(
            samples in prop::collection::vec(-1_000_000i64..1_000_000_000, 2..300),
        ) {
            let summary = distribution(&samples).summary().unwrap();
            let [p01, median, p99, mean, sd] = brute_force(&samples);
            prop_assert_eq!(summary.total, samples.iter().sum::<i64>());
            prop_assert_eq!(summary.min, *samples.iter().min().unwrap());
            prop_assert_eq!(summary.max, *samples.iter().max().unwrap());
            for (found, expected) in [
                (summary.p01, p01),
                (summary.median, median),
                (summary.p99, p99),
                (summary.mean, mean),
                (summary.sd.unwrap(), sd),
            ] {
                prop_assert!((found as f64 - expected).abs() <= 0.51, "{} {}", found, expected);
            }
        }

        #[test]
        fn many_samples_give_quantiles_within_a_thousandth(
            seed in any::<u64>(), spread in 1u32..40,
        ) {
            let mut state = seed | 1;
            let samples: Vec<i64> = (0..6000)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let bits = (state >> 33) % u64::from(spread);
                    ((state >> 20) & ((1 << bits) | ((1 << bits) - 1))) as i64 - 50
                })
                .collect();
            let summary = distribution(&samples).summary().unwrap();
            let [p01, median, p99, mean, _] = brute_force(&samples);
            for (found, expected) in [(summary.p01, p01), (summary.median, median), (summary.p99, p99)] {
                let error = (found as f64 - expected).abs();
                prop_assert!(error <= 0.51 + expected.abs() / 1000.0, "{} {}", found, expected);
            }
            prop_assert!((summary.mean as f64 - mean).abs() <= 0.51);
        }
    }
}

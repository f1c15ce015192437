//! Times of one place inside a tree, in little memory.
//!
//! A tree of a hundred processes has a thousand places, each with several quantities; what suffices
//! for an operation as a whole ([`Distribution`](crate::Distribution)) would be too much for each
//! of those. n, total, least, greatest and deviation are exact. Quantiles are exact up to some
//! hundred samples, and are then those of a histogram that begins and ends where the samples do:
//! within 0.1 %, or within 3.2 % in graphs of very many edges. Nothing depends on who has seen
//! what.

use crate::distribution::Summary;

/// How finely a gauge tells times apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grain {
    /// Quantiles within 0.1 %.
    #[default]
    Fine,
    /// Within 3.2 %, in a tenth of the memory.
    Coarse,
}

impl Grain {
    /// Samples that are kept as they are.
    fn max_listed(self) -> usize {
        match self {
            Self::Fine => 256,
            Self::Coarse => 32,
        }
    }

    /// Buckets for each doubling, as a power of two.
    fn bits(self) -> u32 {
        match self {
            Self::Fine => 9,
            Self::Coarse => 4,
        }
    }

    /// The bucket of a magnitude. Those below the number of buckets of a doubling have one of
    /// their own.
    fn bucket(self, magnitude: u64) -> i32 {
        let bits = self.bits();
        let exponent = (magnitude | 1).ilog2();
        if exponent <= bits {
            return magnitude as i32;
        }
        let shift = exponent - bits;
        ((shift << bits) as i32) + (magnitude >> shift) as i32
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

    fn signed_bucket(self, sample: i64) -> i32 {
        let bucket = self.bucket(sample.unsigned_abs());
        if sample < 0 { -bucket } else { bucket }
    }

    fn signed_middle(self, bucket: i32) -> i64 {
        let middle = self.middle(bucket.abs()) as i64;
        if bucket < 0 { -middle } else { middle }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Samples {
    List(Vec<i64>),
    /// Counts of the buckets from `first` on.
    Counts {
        first: i32,
        counts: Vec<u32>,
    },
}

/// Samples of one quantity, ns. Parts can be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gauge {
    grain: Grain,
    n: u64,
    total: i128,
    /// Sum of squares; `None` once it left its integer.
    squares: Option<u128>,
    min: i64,
    max: i64,
    samples: Samples,
    /// Buckets of the last samples, which are still to be counted: see [`Gauge::count_recent`].
    recent: Vec<i32>,
}

/// Samples that are counted together.
const MAX_RECENT: usize = 64;

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
            n: 0,
            total: 0,
            squares: Some(0),
            min: i64::MAX,
            max: i64::MIN,
            samples: Samples::List(Vec::new()),
            recent: Vec::new(),
        }
    }

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        self.n += 1;
        self.total += i128::from(sample);
        let square = u128::from(sample.unsigned_abs()).pow(2);
        self.squares = self.squares.and_then(|squares| squares.checked_add(square));
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        if let Samples::List(list) = &mut self.samples {
            if list.len() < self.grain.max_listed() {
                list.push(sample);
                return;
            }
            self.count_list();
        }
        self.recent.push(self.grain.signed_bucket(sample));
        if self.recent.len() >= MAX_RECENT {
            self.count_recent();
        }
    }

    /// Counts the last samples. The counts of all gauges together are larger than any cache: of
    /// samples that are counted one behind the other in one gauge, the processor waits for the
    /// memory of several at a time.
    fn count_recent(&mut self) {
        let ends = (self.recent.iter().copied()).fold(None, |ends, bucket: i32| {
            let (least, most) = ends.unwrap_or((bucket, bucket));
            Some((bucket.min(least), bucket.max(most)))
        });
        let Some((least, most)) = ends else { return };
        self.count(least, 0);
        self.count(most, 0);
        if let Samples::Counts { first, counts } = &mut self.samples {
            for bucket in self.recent.drain(..) {
                let count = &mut counts[(bucket - *first) as usize];
                *count = count.saturating_add(1);
            }
        }
    }

    /// The same with all samples counted.
    fn counted(&self) -> Self {
        let mut counted = self.clone();
        counted.count_recent();
        counted
    }

    /// Turns the list into counts.
    fn count_list(&mut self) {
        let counts = Samples::Counts {
            first: 0,
            counts: Vec::new(),
        };
        if let Samples::List(list) = std::mem::replace(&mut self.samples, counts) {
            for sample in list {
                self.count(self.grain.signed_bucket(sample), 1);
            }
        }
    }

    fn count(&mut self, bucket: i32, times: u32) {
        let Samples::Counts { first, counts } = &mut self.samples else {
            return;
        };
        if counts.is_empty() {
            *first = bucket;
        }
        if bucket < *first {
            let more = (*first - bucket) as usize;
            counts.splice(0..0, std::iter::repeat_n(0, more));
            *first = bucket;
        }
        let at = (bucket - *first) as usize;
        if at >= counts.len() {
            counts.resize(at + 1, 0);
        }
        counts[at] = counts[at].saturating_add(times);
    }

    /// Adds the samples of another part.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.total += other.total;
        let both = self.squares.zip(other.squares);
        self.squares = both.and_then(|(a, b)| a.checked_add(b));
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if let (Samples::List(own), Samples::List(others)) = (&mut self.samples, &other.samples)
            && own.len() + others.len() <= self.grain.max_listed()
        {
            own.extend_from_slice(others);
            return;
        }
        if let Samples::List(_) = self.samples {
            self.count_list();
        }
        self.count_recent();
        for &bucket in &other.recent {
            self.count(bucket, 1);
        }
        match &other.samples {
            Samples::List(list) => {
                for &sample in list {
                    self.count(self.grain.signed_bucket(sample), 1);
                }
            }
            Samples::Counts { first, counts } => {
                for (bucket, &times) in (*first..).zip(counts) {
                    if times > 0 {
                        self.count(bucket, times);
                    }
                }
            }
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
        self.n
    }

    /// total / n, to the nearest ns; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        (self.n > 0).then(|| saturate(rounded_div(self.total, i128::from(self.n))))
    }

    /// The value below which so many per cent of the samples lie, at (n - 1) percent / 100 between
    /// neighbours; `None` without samples.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<i64> {
        self.quantiles([percent]).map(|[quantile]| quantile)
    }

    fn quantiles<const N: usize>(&self, percents: [u64; N]) -> Option<[i64; N]> {
        if self.n == 0 {
            return None;
        }
        if !self.recent.is_empty() {
            return self.counted().quantiles(percents);
        }
        let sorted = match &self.samples {
            Samples::List(list) => {
                let mut sorted = list.clone();
                sorted.sort_unstable();
                Some(sorted)
            }
            Samples::Counts { .. } => None,
        };
        let at = |position: u64| match (&sorted, &self.samples) {
            (Some(sorted), _) => sorted[position as usize],
            (None, Samples::Counts { first, counts }) => {
                let mut before = 0;
                let bucket = (*first..).zip(counts).find(|&(_, &times)| {
                    before += u64::from(times);
                    before > position
                });
                let middle =
                    bucket.map_or(self.max, |(bucket, _)| self.grain.signed_middle(bucket));
                middle.clamp(self.min, self.max)
            }
            (None, Samples::List(_)) => self.max,
        };
        Some(percents.map(|percent| {
            let scaled = u128::from(self.n - 1) * u128::from(percent);
            let (lower, parts) = ((scaled / 100) as u64, (scaled % 100) as i128);
            let low = at(lower);
            if parts == 0 {
                return low;
            }
            let high = at((lower + 1).min(self.n - 1));
            let step = rounded_div((i128::from(high) - i128::from(low)) * parts, 100);
            saturate(i128::from(low) + step)
        }))
    }

    /// In figures; `None` without samples. `uncertainty_ns`: see [`Summary`].
    #[must_use]
    pub fn summary(&self, uncertainty_ns: Option<i64>) -> Option<Summary> {
        let [p01, median, p99] = self.quantiles([1, 50, 99])?;
        Some(Summary {
            n: self.n,
            total: saturate(self.total),
            min: self.min,
            p01,
            median,
            mean: self.mean()?,
            sd: self.sd(),
            p99,
            max: self.max,
            uncertainty_ns,
        })
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

fn saturate(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// To the nearest, halves away from zero; `by` > 0.
fn rounded_div(value: i128, by: i128) -> i128 {
    let half = by / 2;
    match value < 0 {
        true => (value - half) / by,
        false => (value + half) / by,
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
        for (grain, parts) in [(Grain::Fine, 1000), (Grain::Coarse, 31)] {
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
            prop_assert_eq!(found.counted(), gauge_in_order(&samples, &found).counted());
            let found = found.summary(None).unwrap();
            for (found, expected) in [
                (found.p01, expected.p01),
                (found.median, expected.median),
                (found.p99, expected.p99),
            ] {
                prop_assert!((found - expected).abs() <= 1 + expected.abs() / 990);
            }
            let exact = |s: &Summary| (s.n, s.total, s.min, s.max, s.mean, s.sd);
            prop_assert_eq!(exact(&found), exact(&expected));
        }
    }

    /// The same samples, one after the other; a list in the order of the other one.
    fn gauge_in_order(samples: &[i64], other: &Gauge) -> Gauge {
        let mut own = gauge(other.grain, samples);
        if let (Samples::List(own), Samples::List(other)) = (&mut own.samples, &other.samples) {
            let mut sorted = [own.clone(), other.clone()];
            sorted.iter_mut().for_each(|list| list.sort_unstable());
            assert_eq!(sorted[0], sorted[1]);
            own.clone_from(other);
        }
        own
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

//! Distributions of times: exact while there are few samples, a histogram beyond.
//!
//! n, total, least, greatest, mean and deviation are exact for any number of samples, in
//! integers, so that neither the order of the samples nor the number of threads shows. Quantiles
//! are exact up to 4096 samples and within 0.1 % beyond: a histogram of three digits, which has
//! buckets of at most 1/1024 of the value and is read at their middles.

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::buckets::{Bucket, buckets};

/// Samples kept as they are; beyond, a histogram takes less.
const MAX_EXACT: usize = 4096;

/// Samples of one quantity, ns.
#[derive(Debug, Clone)]
pub struct Distribution {
    n: u64,
    total: i128,
    /// Sum of squares; `None` once it left its integer.
    squares: Option<u128>,
    min: i64,
    max: i64,
    samples: Samples,
}

#[derive(Debug, Clone)]
enum Samples {
    Exact(Vec<i64>),
    /// Negative values by their magnitude, and the others. The histograms grow by themselves.
    Rough(Box<(Histogram<u64>, Histogram<u64>)>),
}

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
            samples: Samples::Exact(Vec::new()),
        }
    }
}

impl Distribution {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        self.n += 1;
        self.total += i128::from(sample);
        let magnitude = u128::from(sample.unsigned_abs());
        self.squares = self
            .squares
            .and_then(|squares| squares.checked_add(magnitude * magnitude));
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        match &mut self.samples {
            Samples::Exact(samples) if samples.len() < MAX_EXACT => samples.push(sample),
            Samples::Exact(samples) => {
                let mut rough = Box::new((new_histogram(), new_histogram()));
                for &kept in samples.iter() {
                    record(&mut rough, kept);
                }
                record(&mut rough, sample);
                self.samples = Samples::Rough(rough);
            }
            Samples::Rough(rough) => record(rough, sample),
        }
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
        let mut sorted = match &self.samples {
            Samples::Exact(samples) => samples.clone(),
            Samples::Rough(_) => Vec::new(),
        };
        sorted.sort_unstable();
        let quantile = |percent: u64| {
            // At (n - 1) percent / 100, between two neighbours.
            let scaled = u128::from(self.n - 1) * u128::from(percent);
            let (lower, parts) = ((scaled / 100) as u64, (scaled % 100) as i128);
            let upper = (lower + 1).min(self.n - 1);
            let (low, high) = match &self.samples {
                Samples::Exact(_) => (sorted[lower as usize], sorted[upper as usize]),
                Samples::Rough(rough) => (
                    self.rough_order_statistic(rough, lower),
                    self.rough_order_statistic(rough, upper),
                ),
            };
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
            Samples::Exact(samples) => buckets(samples.iter().map(|&sample| (sample, 1))),
            Samples::Rough(rough) => {
                let (negative, positive) = &**rough;
                let below_zero = negative.len();
                let counts = positive.iter_recorded();
                let counts = counts
                    .map(|bucket| (bucket.value_iterated_to() as i64, bucket.count_at_value()));
                let below_zero = (below_zero > 0).then_some((0, below_zero));
                buckets(counts.chain(below_zero))
            }
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

    /// The sample with `index` others before it, to the middle of its bucket.
    fn rough_order_statistic(&self, rough: &(Histogram<u64>, Histogram<u64>), index: u64) -> i64 {
        let (negative, positive) = rough;
        let value = match index.checked_sub(negative.len()) {
            // Among the negative ones the greatest magnitude comes first.
            None => -bucket_middle(negative, negative.len() - 1 - index),
            Some(index) => bucket_middle(positive, index),
        };
        value.clamp(self.min, self.max)
    }
}

fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are among those allowed")
}

fn record(rough: &mut (Histogram<u64>, Histogram<u64>), sample: i64) {
    let histogram = if sample < 0 {
        &mut rough.0
    } else {
        &mut rough.1
    };
    // Only a value beyond the range of a histogram's integers could be refused, and no sample
    // is: they are differences of stamps within 2^60 ns.
    let refused = histogram.record(sample.unsigned_abs().min(1 << 62));
    debug_assert!(refused.is_ok());
}

fn bucket_middle(histogram: &Histogram<u64>, index: u64) -> i64 {
    let mut before = 0;
    for bucket in histogram.iter_recorded() {
        before += bucket.count_at_value();
        if before > index {
            let value = bucket.value_iterated_to();
            return histogram.median_equivalent(value) as i64;
        }
    }
    histogram.max() as i64
}

fn rounded_div(numerator: i128, denominator: i128) -> i128 {
    (2 * numerator + denominator).div_euclid(2 * denominator)
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
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
    fn buckets_are_the_same_before_and_after_the_histogram() {
        let samples: Vec<i64> = (0..5000).map(|n: i64| n * n * n / 7 - 40).collect();
        let counts = samples.iter().map(|&sample| (sample, 1));
        assert_eq!(distribution(&samples).buckets(), buckets(counts));
    }

    proptest! {
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

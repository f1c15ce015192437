//! Distributions of times: exact for few samples, a histogram for more.
//!
//! n, total, minimum, maximum, mean and standard deviation are exact for any number of samples, in
//! integers. Quantiles are exact up to some number of samples and approximate beyond; the
//! [`Precision`] states both. A program may have thousands of operations, and a tree of a hundred
//! processes has a thousand nodes and edges, each with several distributions: the memory that
//! suffices for an operation as a whole would be too much for each of those. The figures depend
//! neither on the order of the samples nor on who added up which part of them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::buckets::{Bucket, PARTS, buckets, parts_of};
use crate::integers::{rounded_div, saturate};
use crate::moments::{Moments, Sample};
use histogram::Histogram;
use sample_list::SampleList;

mod bucket_counts;
mod histogram;
mod precision;
mod sample_list;
mod written;

pub use precision::Precision;

/// Distribution of one quantity, ns. Parts that different workers added up can be merged: the
/// figures depend on the samples alone.
///
/// Adding a sample appends it to a list; a full list is counted at once. So adding is cheap, and
/// the histograms, which together are larger than any cache, are accessed for many samples at a
/// time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "written::Distribution", try_from = "written::Distribution")]
pub struct Distribution {
    precision: Precision,
    /// Samples that are not counted yet.
    list: SampleList,
    /// The other samples, once there are more than the list holds.
    histogram: Option<Box<Histogram>>,
}

/// Figures of a distribution, ns.
///
/// Quantiles are interpolated between neighbours, at position (n - 1) q (type 7 of Hyndman and Fan
/// 1996, as in most programs): the median of an even number of samples is the mean of the middle
/// two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of samples, > 0.
    pub n: u64,
    /// Sum of the samples.
    pub total: i64,
    /// Minimum.
    pub min: i64,
    /// 1st percentile.
    pub p01: i64,
    /// Median.
    pub median: i64,
    /// Mean: total / n, to the nearest ns.
    pub mean: i64,
    /// Sample standard deviation (n - 1); `None` for a single sample.
    pub sd: Option<i64>,
    /// 99th percentile.
    pub p99: i64,
    /// Maximum.
    pub max: i64,
    /// Uncertainty because of the alignment of clocks; `None` if only one clock is involved, which
    /// is always so in this version.
    pub uncertainty_ns: Option<i64>,
}

impl Distribution {
    /// A distribution without samples.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self {
            precision,
            ..Self::default()
        }
    }

    /// Adds a sample, ns.
    #[inline]
    pub fn add(&mut self, sample: i64) {
        if self.list.len() >= self.precision.max_exact() {
            self.count_list();
        }
        self.list.push(sample);
    }

    /// Adds samples, ns.
    pub fn add_all<T: Sample>(&mut self, samples: &[T]) {
        self.add_and_sum(samples);
    }

    /// Adds samples, ns; returns their sum.
    pub fn add_and_sum<T: Sample>(&mut self, samples: &[T]) -> i64 {
        if let &[sample] = samples {
            self.add(sample.into());
            return sample.into();
        }
        if self.list.len() + samples.len() <= self.precision.max_exact() && self.lists_several() {
            return self.list.extend(samples);
        }
        self.count_list();
        if samples.len() <= self.precision.max_exact() && self.lists_several() {
            return self.list.extend(samples);
        }
        // From now on samples are counted, not listed.
        self.list = SampleList::default();
        self.histogram().add(samples)
    }

    /// Whether several samples at a time are listed before they are counted. An operation has
    /// several distributions, and a program many operations: counting some thousand samples at once
    /// keeps one histogram at a time in the nearest cache. The nodes and edges of a tree get some
    /// hundred samples at once, and their lists would take as much memory as their histograms.
    #[inline]
    fn lists_several(&self) -> bool {
        self.histogram.is_none() || self.precision == Precision::Whole
    }

    fn histogram(&mut self) -> &mut Histogram {
        let precision = self.precision;
        let new = || Box::new(Histogram::new(precision));
        self.histogram.get_or_insert_with(new)
    }

    /// Moves the samples of the list into the histogram.
    #[cold]
    fn count_list(&mut self) {
        let list = std::mem::take(&mut self.list);
        let is_first = self.histogram.is_none();
        list.count(self.histogram());
        // The next samples take as long a list.
        if !is_first || self.precision == Precision::Whole {
            self.list = list.emptied();
        }
    }

    /// Counts all samples, if there is a histogram: quantiles are then found sooner.
    pub fn settle(&mut self) {
        if self.histogram.is_some() {
            self.count_list();
        }
    }

    /// Adds the samples of another part, of the same precision.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.precision, other.precision);
        if let Some(histogram) = &other.histogram {
            if self.histogram.is_none() {
                self.count_list();
            }
            self.histogram().merge(histogram);
        }
        match &other.list {
            SampleList::Short(list) => self.add_all(list),
            SampleList::Long(list) => self.add_all(list),
        }
    }

    /// How precise its quantiles are.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Number of samples.
    #[must_use]
    pub fn n(&self) -> u64 {
        let n_counted = self
            .histogram
            .as_ref()
            .map_or(0, |histogram| histogram.moments().n());
        n_counted + self.list.len() as u64
    }

    /// Sum of the samples, ns.
    #[must_use]
    pub fn total(&self) -> i64 {
        let counted = self.histogram.iter();
        let counted = counted.map(|histogram| histogram.moments().whole_total_ns());
        saturate(self.list.total() + counted.sum::<i128>())
    }

    /// Mean: total / n, to the nearest ns; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        self.exact().0.mean_ns()
    }

    /// Moments of all samples, and their minimum and maximum.
    fn exact(&self) -> (Moments, [i64; 2]) {
        let (mut moments, [mut min, mut max]) = self.list.exact();
        if let Some(histogram) = &self.histogram {
            moments.merge(histogram.moments());
            let range = histogram.range();
            (min, max) = (min.min(range[0]), max.max(range[1]));
        }
        (moments, [min, max])
    }

    /// The figures; `None` without samples. `uncertainty_ns`: see [`Summary`].
    #[must_use]
    pub fn summary(&self, uncertainty_ns: Option<i64>) -> Option<Summary> {
        let [p01, median, p99] = self.percentiles([1, 50, 99])?;
        let (moments, [min, max]) = self.exact();
        Some(Summary {
            n: moments.n(),
            total: moments.total_ns(),
            min,
            p01,
            median,
            mean: moments.mean_ns()?,
            sd: moments.standard_deviation_ns(),
            p99,
            max,
            uncertainty_ns,
        })
    }

    /// Histogram in eight buckets per doubling. The bounds of these buckets are bounds of the
    /// internal ones too, so the counts are exact.
    #[must_use]
    pub fn buckets(&self) -> Vec<Bucket> {
        buckets(self.counts())
    }

    /// How many samples are in each part of these buckets, which are those of [`Self::buckets`].
    #[must_use]
    pub fn parts_of(&self, buckets: &[Bucket]) -> Vec<[u64; PARTS]> {
        parts_of(buckets, self.counts())
    }

    /// Samples, some of them to the precision of the histogram, with their number.
    fn counts(&self) -> impl Iterator<Item = (i64, u64)> {
        let listed = self.list.iter().map(|sample| (sample, 1));
        let histogram = self.histogram.iter();
        listed.chain(histogram.flat_map(|histogram| histogram.middles()))
    }

    /// The percentile `percent`, interpolated like those of the summary; `None` without samples.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<i64> {
        self.percentiles([percent]).map(|[quantile]| quantile)
    }

    fn percentiles<const N: usize>(&self, percents: [u64; N]) -> Option<[i64; N]> {
        let last = self.n().checked_sub(1)?;
        // Position (n - 1) percent / 100, between two neighbours.
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

    /// The quantiles at `parts`, each from 0 to 1, interpolated like those of the summary; `None`
    /// without samples.
    #[must_use]
    pub fn quantiles<const N: usize>(&self, parts: [f64; N]) -> Option<[i64; N]> {
        let last = self.n().checked_sub(1)?;
        let places = parts.map(|part| part.clamp(0.0, 1.0) * last as f64);
        let neighbours = self.at(places.map(|place| [place.floor() as u64, place.ceil() as u64]));
        let mut fractions = places.iter().map(|place| place.fract());
        Some(neighbours.map(|[low, high]| {
            let fraction = fractions.next().unwrap_or(0.0);
            low + ((high - low) as f64 * fraction).round() as i64
        }))
    }

    /// Largest error of a quantile near this value because it is read from a histogram, ns; 0 where
    /// quantiles are exact.
    #[must_use]
    pub fn quantile_error(&self, value: i64) -> i64 {
        if self.is_exact() {
            0
        } else {
            value.abs() / self.precision.parts()
        }
    }

    /// Whether quantiles are exact.
    fn is_exact(&self) -> bool {
        self.n() <= self.precision.max_exact() as u64
    }

    /// The samples at these positions in sorted order.
    fn at<const N: usize>(&self, positions: [[u64; 2]; N]) -> [[i64; 2]; N] {
        if self.is_exact() {
            // So few samples are not counted.
            let sorted = self.list.sorted();
            return positions.map(|pair| pair.map(|position| sorted[position as usize]));
        }
        let mut histogram = match &self.histogram {
            Some(histogram) => Cow::Borrowed(&**histogram),
            None => Cow::Owned(Histogram::new(self.precision)),
        };
        if self.list.len() > 0 {
            self.list.count(histogram.to_mut());
        }
        let mut found = [[0; 2]; N];
        let numbered = positions.as_flattened().iter().copied().zip(0..);
        let mut ascending: Vec<(u64, usize)> = numbered.collect();
        ascending.sort_unstable();
        histogram.find(&ascending, |which, sample| {
            found.as_flattened_mut()[which] = sample;
        });
        found
    }
}

impl PartialEq for Distribution {
    /// Whether both have the same samples, as far as they are known.
    fn eq(&self, other: &Self) -> bool {
        written::Distribution::from(self.clone()) == written::Distribution::from(other.clone())
    }
}

#[cfg(test)]
mod tests;

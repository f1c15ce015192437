//! Histograms of samples that are not listed one by one.

use crate::distribution::bucket_counts::BucketCounts;
use crate::distribution::precision::Precision;
use crate::moments::{LONG_NS, Moments, Sample};

/// Moments, minimum, maximum and bucket counts of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Histogram {
    precision: Precision,
    moments: Moments,
    min: i64,
    max: i64,
    /// Index of the first bucket: that of the minimum. The last is that of the maximum.
    first: i32,
    counts: BucketCounts,
}

/// Minimum and maximum; `None` without samples.
pub(super) fn range<T: Sample>(samples: &[T]) -> Option<[i64; 2]> {
    let (&first, others) = samples.split_first()?;
    let (mut min, mut max) = (first, first);
    for &sample in others {
        min = min.min(sample);
        max = max.max(sample);
    }
    Some([min.into(), max.into()])
}

impl Histogram {
    /// A histogram without samples.
    pub(super) fn new(precision: Precision) -> Self {
        Self {
            precision,
            moments: Moments::default(),
            min: i64::MAX,
            max: i64::MIN,
            first: 0,
            counts: BucketCounts::default(),
        }
    }

    /// A histogram from its written parts; `None` if they contradict one another. `buckets`: index
    /// and count of the buckets that are not empty, ascending.
    pub(super) fn of_buckets(
        precision: Precision,
        moments: Moments,
        range: [i64; 2],
        buckets: &[(i32, u32)],
    ) -> Option<Self> {
        let ends = [buckets.first()?.0, buckets.last()?.0];
        let n: u64 = buckets.iter().map(|&(_, n)| u64::from(n)).sum();
        // A count stops at the largest integer.
        let are_all = n == moments.n() || n < moments.n() && n >= u32::MAX.into();
        let is_ascending = buckets.is_sorted_by(|a, b| a.0 < b.0);
        if !are_all || !is_ascending || ends != range.map(|end| precision.signed_bucket(end)) {
            return None;
        }
        let mut all = Self::new(precision);
        all.note_range(moments, range);
        for &(bucket, n) in buckets {
            let place = (bucket - all.first).cast_unsigned();
            all.counts.add(std::iter::once(place), n);
        }
        Some(all)
    }

    /// Exact moments of the samples.
    pub(super) fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Minimum and maximum.
    pub(super) fn range(&self) -> [i64; 2] {
        [self.min, self.max]
    }

    /// Index and count of the buckets that are not empty, ascending.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (i32, u32)> {
        (self.first..)
            .zip(self.counts.iter())
            .filter(|&(_, n)| n > 0)
    }

    /// Middle and count of the buckets that are not empty, ascending.
    pub(super) fn middles(&self) -> impl Iterator<Item = (i64, u64)> {
        let middle = |(bucket, n): (i32, u32)| (self.precision.signed_middle(bucket), n.into());
        self.buckets().map(middle)
    }

    /// Counts samples; returns their sum.
    pub(super) fn add<T: Sample>(&mut self, samples: &[T]) -> i64 {
        let known = self.range();
        let is_known = known[1] < LONG_NS && T::are_within(samples, known);
        let Some([min, max]) = is_known.then_some(known).or_else(|| range(samples)) else {
            return 0;
        };
        let moments = Moments::of(samples, min, max);
        self.note_range(moments, [min, max]);
        self.count(samples, min >= 0 && max <= i32::MAX.into());
        moments.total_ns()
    }

    fn count<T: Sample>(&mut self, samples: &[T], are_short: bool) {
        let (precision, first) = (self.precision, self.first);
        if are_short {
            let mut buckets = [0; 64];
            for part in samples.chunks(buckets.len()) {
                precision.buckets_of_short(part, first.cast_unsigned(), &mut buckets);
                self.counts.count(&buckets[..part.len()]);
            }
        } else {
            let buckets = samples
                .iter()
                .map(|&sample| precision.signed_bucket(sample.into()));
            let places = buckets.map(|bucket| (bucket - first).cast_unsigned());
            self.counts.add(places, 1);
        }
    }

    /// Adds the samples of another part.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.moments.n() > 0 {
            self.note_range(other.moments, other.range());
            let at = (other.first - self.first) as usize;
            self.counts.merge(at, &other.counts);
        }
    }

    /// Updates the exact figures with more samples, and makes room for their counts.
    fn note_range(&mut self, moments: Moments, [min, max]: [i64; 2]) {
        self.moments.merge(&moments);
        self.counts.make_long(self.moments.n());
        if min >= self.min && max <= self.max {
            return;
        }
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        let [least, greatest] = self.range().map(|end| self.precision.signed_bucket(end));
        let n_before = if self.counts.len() == 0 {
            0
        } else {
            self.first - least
        };
        self.first = least;
        self.counts
            .make_room(n_before as usize, (greatest - least) as usize + 1);
    }

    /// For each of some positions in sorted order, ascending, calls `found` with the value given
    /// beside the position and with the sample there, to the precision of the histogram.
    pub(super) fn find(&self, positions: &[(u64, usize)], mut found: impl FnMut(usize, i64)) {
        self.counts.find(positions, |which, place| {
            let middle = self.precision.signed_middle(self.first + place as i32);
            found(which, middle.clamp(self.min, self.max));
        });
    }
}

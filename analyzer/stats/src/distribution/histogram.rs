//! Histogram of samples by size, for those that are not kept.

use crate::distribution::bucket_counts::BucketCounts;
use crate::distribution::precision::Precision;
use crate::moments::{Moments, Sample};

/// What is known of samples that are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Histogram {
    precision: Precision,
    moments: Moments,
    min: i64,
    max: i64,
    /// Bucket of the first count: that of the least sample. The last is that of the greatest.
    first: i32,
    counts: BucketCounts,
}

/// The least and the greatest sample; `None` of none.
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
    /// Of no sample.
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

    /// Those of samples of which this is known, and how many are in each bucket, by bucket, where
    /// there are some; `None` if that cannot be.
    pub(super) fn of_buckets(
        precision: Precision,
        moments: Moments,
        range: [i64; 2],
        buckets: &[(i32, u32)],
    ) -> Option<Self> {
        let ends = [buckets.first()?.0, buckets.last()?.0];
        let n: u64 = buckets.iter().map(|&(_, n)| u64::from(n)).sum();
        // A count stops at the largest.
        let are_all = n == moments.n() || n < moments.n() && n >= u32::MAX.into();
        let is_ascending = buckets.is_sorted_by(|a, b| a.0 < b.0);
        if !are_all || !is_ascending || ends != range.map(|end| precision.signed_bucket(end)) {
            return None;
        }
        let mut all = Self::new(precision);
        all.note_range(moments, range);
        for &(bucket, n) in buckets {
            all.counts.add(std::iter::once(bucket - all.first), n);
        }
        Some(all)
    }

    /// What is exact of them.
    pub(super) fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The least and the greatest.
    pub(super) fn range(&self) -> [i64; 2] {
        [self.min, self.max]
    }

    /// Buckets and how many samples are in each, by bucket, where there are some.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (i32, u32)> {
        (self.first..)
            .zip(self.counts.iter())
            .filter(|&(_, n)| n > 0)
    }

    /// Middles of buckets and how many samples are in each, by bucket, where there are some.
    pub(super) fn middles(&self) -> impl Iterator<Item = (i64, u64)> {
        let middle = |(bucket, n): (i32, u32)| (self.precision.signed_middle(bucket), n.into());
        self.buckets().map(middle)
    }

    /// Histogram samples; gives their sum.
    pub(super) fn add<T: Sample>(&mut self, samples: &[T]) -> i64 {
        let Some([min, max]) = range(samples) else {
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
                precision.buckets_of_short(part, &mut buckets);
                let buckets = buckets[..part.len()].iter();
                self.counts
                    .add(buckets.map(|&bucket| bucket.cast_signed() - first), 1);
            }
        } else {
            let buckets = samples
                .iter()
                .map(|&sample| precision.signed_bucket(sample.into()));
            self.counts.add(buckets.map(|bucket| bucket - first), 1);
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

    /// Notes what is exact of more samples, and has room for their counts.
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

    /// Hands on for each of some positions, ascending, about what the sample there is, and at what
    /// place its position is handed over.
    pub(super) fn find(&self, positions: &[(u64, usize)], mut found: impl FnMut(usize, i64)) {
        self.counts.find(positions, |which, place| {
            let middle = self.precision.signed_middle(self.first + place as i32);
            found(which, middle.clamp(self.min, self.max));
        });
    }
}

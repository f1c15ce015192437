//! Histograms of durations on a logarithmic scale, for pictures.

use serde::{Deserialize, Serialize};

/// Buckets per doubling, as a power of two.
const PER_OCTAVE_BITS: u32 = 3;

/// Parts of a bucket in [`parts_of`].
pub const PARTS: usize = 8;

/// Number of samples in [`from_ns`, `to_ns`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    /// Lower bound, ns, inclusive.
    pub from_ns: i64,
    /// Upper bound, ns, exclusive.
    pub to_ns: i64,
    /// Number of samples.
    pub n: u64,
}

/// Counts values (value, count) in eight buckets per doubling (below 8 ns: one per ns), from the
/// first to the last bucket that is not empty. Values below zero count as zero.
pub fn buckets(counts: impl Iterator<Item = (i64, u64)>) -> Vec<Bucket> {
    let mut by_index: Vec<u64> = Vec::new();
    for (value, n) in counts {
        let index = index_of(value) as usize;
        if index >= by_index.len() {
            by_index.resize(index + 1, 0);
        }
        by_index[index] += n;
    }
    let buckets = (0..).zip(by_index).skip_while(|(_, n)| *n == 0);
    let bucket = |(index, n)| Bucket {
        from_ns: least_of(index),
        to_ns: least_of(index + 1),
        n,
    };
    buckets.map(bucket).collect()
}

/// Counts the same values in parts of buckets, of equal width. A bucket of less than [`PARTS`] ns has them all
/// in its first part.
pub fn parts_of(buckets: &[Bucket], counts: impl Iterator<Item = (i64, u64)>) -> Vec<[u64; PARTS]> {
    let mut parts = vec![[0; PARTS]; buckets.len()];
    let Some(first) = buckets.first() else {
        return parts;
    };
    let first = index_of(first.from_ns);
    for (value, n) in counts {
        let at = index_of(value).saturating_sub(first) as usize;
        if let (Some(bucket), Some(parts)) = (buckets.get(at), parts.get_mut(at)) {
            let width = (bucket.to_ns - bucket.from_ns) / PARTS as i64;
            let part = value.saturating_sub(bucket.from_ns).checked_div(width);
            let part = part.unwrap_or(0).clamp(0, PARTS as i64 - 1);
            parts[part as usize] += n;
        }
    }
    parts
}

fn index_of(value: i64) -> u32 {
    let value = u64::try_from(value).unwrap_or(0);
    let exponent = value.max(1).ilog2();
    match exponent.checked_sub(PER_OCTAVE_BITS) {
        None => value as u32,
        Some(shift) => (shift << PER_OCTAVE_BITS) + (value >> shift) as u32,
    }
}

/// The least value in the bucket with this index; the largest integer beyond the last.
fn least_of(index: u32) -> i64 {
    let steps = 1u32 << PER_OCTAVE_BITS;
    let Some(shift) = (index / steps).checked_sub(1) else {
        return index.into();
    };
    let value = u128::from(steps + index % steps) << shift;
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn buckets_have_eight_steps_for_each_doubling() {
        let edges: Vec<i64> = (0..26).map(least_of).collect();
        assert_eq!(
            edges,
            [
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28,
                30, 32, 36
            ]
        );
        assert_eq!(buckets([].into_iter()), []);
        let largest = buckets([(i64::MAX, 1)].into_iter())[0];
        assert!(largest.from_ns > i64::MAX / 2 && largest.to_ns == i64::MAX);
    }

    proptest! {
        #[test]
        fn every_value_is_counted_in_the_bucket_that_holds_it(
            values in prop::collection::vec((0u32..63, any::<u32>()), 1..50),
        ) {
            let values: Vec<i64> = values
                .iter()
                .map(|&(bits, low)| ((1u64 << bits) | (u64::from(low) & ((1 << bits) - 1))) as i64)
                .collect();
            let found = buckets(values.iter().map(|&value| (value, 1)));
            for bucket in &found {
                let inside = |value: &&i64| (bucket.from_ns..bucket.to_ns).contains(*value);
                prop_assert_eq!(bucket.n, values.iter().filter(inside).count() as u64);
                prop_assert!(bucket.to_ns - bucket.from_ns <= (bucket.from_ns / 8).max(1));
            }
            prop_assert_eq!(found.iter().map(|b| b.n).sum::<u64>(), values.len() as u64);
            let parts = parts_of(&found, values.iter().map(|&value| (value, 1)));
            prop_assert_eq!(parts.len(), found.len());
            for (bucket, parts) in found.iter().zip(parts) {
                prop_assert_eq!(parts.iter().sum::<u64>(), bucket.n);
                let width = (bucket.to_ns - bucket.from_ns) / PARTS as i64;
                for (i, n) in parts.into_iter().enumerate().filter(|_| width > 0) {
                    let from = bucket.from_ns + i as i64 * width;
                    let is_last = i + 1 == PARTS;
                    let to = if is_last { bucket.to_ns } else { from + width };
                    let inside = |value: &&i64| (from..to).contains(*value);
                    prop_assert_eq!(n, values.iter().filter(inside).count() as u64);
                }
            }
            prop_assert!(found[0].n > 0 && found[found.len() - 1].n > 0);
        }
    }
}

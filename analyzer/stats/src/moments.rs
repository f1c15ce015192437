//! Sums from which mean and standard deviation follow.

use serde::{Deserialize, Serialize};

use crate::integers::{rounded_div, saturate};

/// n, sum and sum of squares of times. Exact, so the figures depend neither on the order of the
/// times nor on who added up which part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    n: u64,
    total_ns: i128,
    /// ns^2; saturates.
    squares: u128,
}

/// Of few times shorter than this neither the sum nor the sum of squares overflows 64 bits.
pub(crate) const LONG_NS: i64 = 1 << 27;

/// A time in ns, in 32 or 64 bits; few times need more than 32.
pub trait Sample: Copy + Ord + Into<i64> {
    /// Whether all are within a range; `false` may be a mistake.
    fn are_within(samples: &[Self], range: [i64; 2]) -> bool;
}

impl Sample for i32 {
    fn are_within(samples: &[Self], range: [i64; 2]) -> bool {
        let [Ok(min @ 0..), Ok(max)] = range.map(i32::try_from) else {
            return false;
        };
        // The sign of a difference, as vector instructions compute several at a time.
        let outside = |&sample: &i32| sample | sample.wrapping_sub(min) | max.wrapping_sub(sample);
        samples.iter().fold(0, |any, sample| any | outside(sample)) >= 0
    }
}

impl Sample for i64 {
    fn are_within(_: &[Self], _: [i64; 2]) -> bool {
        false
    }
}

impl Moments {
    /// Moments of `n` times with this sum (ns) and sum of squares (ns^2).
    pub fn of_sums(n: u64, total_ns: i128, squares: u128) -> Self {
        Self {
            n,
            total_ns,
            squares,
        }
    }

    /// Moments of times that all lie in `min..=max`.
    pub(crate) fn of<T: Sample>(samples: &[T], min: i64, max: i64) -> Self {
        /// Number of times that are summed before the sums are widened.
        const TOGETHER: usize = 256;
        let mut all = Self::default();
        for part in samples.chunks(TOGETHER) {
            let n = part.len() as u64;
            let each = || part.iter().map(|&sample| -> i64 { sample.into() });
            // The sum of few short times does not overflow.
            all.merge(&if min >= 0 && max < LONG_NS {
                // Of 32 bits, so that vector instructions multiply.
                let (total, squares) = each().fold((0, 0), |(total, squares), sample| {
                    let short = u64::from(sample as u32);
                    (total + short, squares + short * short)
                });
                Self::of_sums(n, total.into(), squares.into())
            } else if min > -LONG_NS && max < LONG_NS {
                let squares: i64 = each().map(|sample| sample * sample).sum();
                Self::of_sums(n, each().sum::<i64>().into(), squares as u128)
            } else {
                let squares = each().map(|sample| u128::from(sample.unsigned_abs()).pow(2));
                let squares = squares.fold(0, u128::saturating_add);
                Self::of_sums(n, each().map(i128::from).sum(), squares)
            });
        }
        all
    }

    /// Adds a time, ns.
    #[inline]
    pub fn add(&mut self, time_ns: i64) {
        self.n += 1;
        self.total_ns += i128::from(time_ns);
        let magnitude = u128::from(time_ns.unsigned_abs());
        self.squares = self.squares.saturating_add(magnitude * magnitude);
    }

    /// Adds the moments of another part.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.total_ns += other.total_ns;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Number of times.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Sum of the times, ns.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        saturate(self.total_ns)
    }

    /// Sum of the times, ns, beyond what 64 bits hold.
    pub(crate) fn whole_total_ns(&self) -> i128 {
        self.total_ns
    }

    /// Mean, to the nearest ns; `None` without times.
    #[must_use]
    pub fn mean_ns(&self) -> Option<i64> {
        (self.n > 0).then(|| saturate(rounded_div(self.total_ns, i128::from(self.n))))
    }

    /// Sample standard deviation (n - 1), to the nearest ns; `None` for fewer than two times.
    #[must_use]
    pub fn standard_deviation_ns(&self) -> Option<i64> {
        if self.n < 2 || self.squares == u128::MAX {
            return None;
        }
        // squares - total^2 / n, without a product that could overflow. The integers are exact:
        // what cancels is subtracted before rounding.
        let (n, total) = (u128::from(self.n), self.total_ns.unsigned_abs());
        let (whole, rest) = (total / n, total % n);
        let of_mean = total
            .checked_mul(whole)?
            .checked_add(total.checked_mul(rest)? / n)?;
        let variance = self.squares.saturating_sub(of_mean) as f64 / (self.n - 1) as f64;
        Some(variance.sqrt().round() as i64)
    }

    /// Standard error of the mean, ns, as if the times were independent; `None` for fewer than two
    /// times.
    #[must_use]
    pub fn standard_error_ns(&self) -> Option<f64> {
        if self.n < 2 {
            return None;
        }
        let n = self.n as f64;
        let mean = self.total_ns as f64 / n;
        let variance = (self.squares as f64 / n - mean * mean).max(0.0);
        Some((variance / (n - 1.0)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn moments_are_those_of_the_textbook_whoever_summed_which_part(
            times in prop::collection::vec(-1_000_000i64..1_000_000_000, 2..50),
            cut in 0usize..50,
        ) {
            let sum = |times: &[i64]| {
                let mut moments = Moments::default();
                times.iter().for_each(|&time| moments.add(time));
                moments
            };
            let (first, second) = times.split_at(cut.min(times.len()));
            let mut merged = sum(second);
            merged.merge(&sum(first));
            prop_assert_eq!(merged, sum(&times));

            let n = times.len() as f64;
            let mean = times.iter().sum::<i64>() as f64 / n;
            let squares: f64 = times.iter().map(|&time| (time as f64 - mean).powi(2)).sum();
            let error = (squares / (n - 1.0) / n).sqrt();
            prop_assert!((merged.mean_ns().unwrap() as f64 - mean).abs() <= 0.51);
            let found = merged.standard_error_ns().unwrap();
            prop_assert!((found - error).abs() <= 1e-6 * error + 1e-3 * mean.abs().sqrt(), "{found} {error}");
        }
    }
}

//! Sums from which a mean and its deviation follow.

use serde::{Deserialize, Serialize};

use crate::integers::add_ns;

/// Sums from which mean and deviation follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    n: u64,
    total_ns: i64,
    /// ns^2; stops at the largest.
    squares: u128,
}

impl Moments {
    /// Those of `n` times, of which sum (ns) and sum of squares (ns^2) are known.
    pub fn of_sums(n: u64, total_ns: i64, squares: u128) -> Self {
        Self {
            n,
            total_ns,
            squares,
        }
    }

    /// Adds a time, ns.
    #[inline]
    pub fn add(&mut self, time_ns: i64) {
        self.n += 1;
        add_ns(&mut self.total_ns, time_ns);
        let magnitude = u128::from(time_ns.unsigned_abs());
        self.squares = self.squares.saturating_add(magnitude * magnitude);
    }

    /// Adds what another part of the times came to.
    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        add_ns(&mut self.total_ns, other.total_ns);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// How many times were added.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Their mean, to the nearest ns; `None` of nothing.
    #[must_use]
    pub fn mean_ns(&self) -> Option<i64> {
        let (total, n) = (i128::from(self.total_ns), i128::from(self.n));
        (n > 0).then(|| ((2 * total + n).div_euclid(2 * n)) as i64)
    }

    /// Standard deviation of the mean, ns, as if each time were independent of the others;
    /// `None` of fewer than two.
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

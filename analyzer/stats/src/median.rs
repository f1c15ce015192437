//! Medians with intervals that need no assumption about the distribution.

use serde::Serialize;

use crate::chance::binomial_tail;

/// The median of some measurements, in their unit, with a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Median {
    /// Number of measurements, > 0.
    pub n: usize,
    /// Median.
    pub value: f64,
    /// Interval that contains the median of the distribution with a probability of at least 95 %,
    /// least and greatest; `None` with fewer than six measurements, of which none does.
    pub interval: Option<(f64, f64)>,
}

/// Probability that the median is below the interval, and that it is above, at most.
const EACH_TAIL: f64 = 0.025;

impl Median {
    /// The median of `values`, all of them finite; `None` without values.
    ///
    /// The interval reaches from the k-th least to the k-th greatest value, with the greatest k for
    /// which fewer than k of n values are below the median with a probability of at most 2.5 %. How
    /// many are is binomial with p = 1/2. The values are taken as independent.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (low, high) = (*sorted.get(n.checked_sub(1)? / 2)?, *sorted.get(n / 2)?);
        // P(X < k) = P(X > n - k).
        let is_outside = |k: usize| binomial_tail(n as u64, (n - k + 1) as u64, 0.5) <= EACH_TAIL;
        let k = (1..=n / 2).take_while(|&k| is_outside(k)).last();
        Some(Self {
            n,
            value: low + (high - low) / 2.0,
            interval: k.map(|k| (sorted[k - 1], sorted[n - k])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn intervals_are_those_of_tables_of_order_statistics() {
        // Conover, Practical Nonparametric Statistics: n = 6 has the first and the last, n = 10 the
        // second and the ninth, n = 25 the eighth and the eighteenth, n = 100 the 40th and the 61st.
        for (n, k) in [(6, 1), (10, 2), (25, 8), (100, 40)] {
            let median = Median::of((1..=n).map(f64::from)).unwrap();
            let expected = (f64::from(k), f64::from(n + 1 - k));
            assert_eq!(median.interval, Some(expected), "{n}");
            assert_eq!(median.value, f64::from(n + 1) / 2.0);
        }
        assert_eq!(Median::of((1..=5).map(f64::from)).unwrap().interval, None);
        assert_eq!(Median::of([]), None);
    }

    #[test]
    fn nineteen_of_twenty_intervals_contain_the_median() {
        let mut random = Random::from_state(11);
        let median = 5_000.0 * f64::ln(2.0);
        let contains = (0..2_000).filter(|_| {
            let values = (0..31).map(|_| random.exponential_real(5_000.0));
            let (low, high) = Median::of(values).unwrap().interval.unwrap();
            (low..=high).contains(&median)
        });
        let share = contains.count() as f64 / 2_000.0;
        assert!((0.94..0.99).contains(&share), "{share}");
    }
}

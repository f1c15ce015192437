//! Median, quartiles and range of repeated measurements.

use serde::{Deserialize, Serialize};

/// Five-number summary of some measurements, in their unit.
///
/// Medians and quartiles instead of means: a batch with an interrupt in it is then one value among
/// many and does not shift the result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Number of measurements, > 0.
    pub n: usize,
    /// Minimum.
    pub min: f64,
    /// 25th percentile.
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// 75th percentile.
    pub upper_quartile: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`, all of them finite; `None` without values.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Self {
            n: sorted.len(),
            min,
            lower_quartile: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper_quartile: quantile(&sorted, 0.75),
            max,
        })
    }
}

/// The quantile `share`, from 0 to 1, interpolated linearly (R's type 7). `sorted` is ascending and
/// not empty.
///
/// # Panics
/// Without a value.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_that_r_gives() {
        // quantile(c(7, 1, 3, 10, 2, 40), c(.25, .5, .75)) = 2.25, 5.00, 9.25
        let spread = Spread::of([7.0, 1.0, 3.0, 10.0, 2.0, 40.0]).unwrap();
        assert_eq!(spread.n, 6);
        assert_eq!((spread.min, spread.max), (1.0, 40.0));
        assert_eq!(
            (spread.lower_quartile, spread.median, spread.upper_quartile),
            (2.25, 5.0, 9.25)
        );
    }

    #[test]
    fn one_value_is_its_own_spread_and_none_has_no_spread() {
        let spread = Spread::of([4.0]).unwrap();
        assert_eq!((spread.lower_quartile, spread.upper_quartile), (4.0, 4.0));
        assert_eq!(Spread::of([]), None);
    }
}

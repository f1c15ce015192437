//! How repeated measurements of one quantity spread.

use serde::Serialize;

/// The middle and the width of some measurements, in their unit.
///
/// Medians and quartiles, not means: a batch that an interrupt fell into is one value among
/// many then, and does not move the result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Number of measurements, > 0.
    pub n: usize,
    /// The least.
    pub min: f64,
    /// A quarter lies below.
    pub lower_quartile: f64,
    /// A half lies below.
    pub median: f64,
    /// A quarter lies above.
    pub upper_quartile: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`, all of them finite; `None` for no values.
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

/// Between the two values nearest to the place, linearly (R's type 7). `sorted` is not empty.
fn quantile(sorted: &[f64], share: f64) -> f64 {
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

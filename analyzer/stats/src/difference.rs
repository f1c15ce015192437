//! From two estimates to a difference, and from many differences to verdicts.

use serde::{Deserialize, Serialize};

use crate::estimate::{ALPHA, Estimate};
use crate::student;

/// Verdict on a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Longer than in the baseline.
    Slower,
    /// Shorter than in the baseline.
    Faster,
    /// The difference may well be chance.
    NotDistinguishable,
    /// Too few instances in one of the traces.
    TooFew,
    /// Smaller than the clocks can resolve.
    NotResolvable,
    /// A verdict of a newer version; only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// Difference and ratio of two estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Second minus first, ns.
    pub difference: f64,
    /// Its 95 % interval, ns.
    pub interval: (f64, f64),
    /// Second divided by first, with its 95 % interval, which does not reach below 0; `None` where the first may well be
    /// 0, or the second is below it.
    pub ratio: Option<(f64, (f64, f64))>,
    /// Probability of a difference at least as large if there is none.
    pub p: f64,
}

impl Contrast {
    /// Compares `other` with `baseline`.
    ///
    /// # Source
    /// Intervals from those of the two estimates (MOVER): Zou and Donner 2008 for the difference,
    /// Donner and Zou 2012 for the ratio. If the errors are symmetric, as those of means are, these
    /// are Welch's interval and Fieller's. Of the latter we take the part that is possible: a time is not negative, so a
    /// limit below 0 says no more than 0 does. Nothing that is true is lost by that, so it is still an interval of 95 %, and
    /// it still excludes 1 exactly where the difference has a `p` below 5 %. One on a logarithmic scale would not.
    pub fn new(baseline: &Estimate, other: &Estimate) -> Self {
        let difference = other.value - baseline.value;
        // A larger difference needs an `other` above or a baseline below its estimate.
        let low = CombinedError::new((other.below, other.df), (baseline.above, baseline.df));
        let high = CombinedError::new((other.above, other.df), (baseline.below, baseline.df));
        let towards_zero = if difference > 0.0 { &low } else { &high };
        Self {
            difference,
            interval: (
                difference - low.half_width(),
                difference + high.half_width(),
            ),
            ratio: ratio(baseline, other, low.t, high.t),
            p: if difference == 0.0 {
                1.0
            } else {
                student::two_sided_p(difference / towards_zero.error, towards_zero.df)
            },
        }
    }

    /// By how many times the number of instances would have to grow until the interval is as wide
    /// as the difference.
    pub fn times_needed(&self) -> Option<f64> {
        let half_width = if self.difference > 0.0 {
            self.difference - self.interval.0
        } else {
            self.interval.1 - self.difference
        };
        (self.difference != 0.0).then(|| (half_width / self.difference).powi(2))
    }
}

/// Standard error of a sum of two independent errors, with Welch's degrees of freedom.
struct CombinedError {
    error: f64,
    df: f64,
    t: f64,
}

impl CombinedError {
    fn new(first: (f64, f64), second: (f64, f64)) -> Self {
        let variances = [first.0.powi(2), second.0.powi(2)];
        let sum = variances[0] + variances[1];
        let df = if sum > 0.0 {
            sum.powi(2) / (variances[0].powi(2) / first.1 + variances[1].powi(2) / second.1)
        } else {
            first.1.min(second.1)
        };
        Self {
            error: sum.sqrt(),
            df,
            t: student::two_sided_quantile(ALPHA, df),
        }
    }

    /// Half the width of an interval.
    fn half_width(&self) -> f64 {
        self.t * self.error
    }
}

fn ratio(
    baseline: &Estimate,
    other: &Estimate,
    t_low: f64,
    t_high: f64,
) -> Option<(f64, (f64, f64))> {
    if baseline.value <= 0.0 || other.value < 0.0 {
        return None;
    }
    // One limit; `sign` is the sign of the square root.
    let limit = |of_other: f64, of_baseline: f64, sign: f64| {
        let (one, two) = (other.value, baseline.value);
        let product = one * two;
        let spread = of_other * of_baseline * (2.0 * one - of_other) * (2.0 * two - of_baseline);
        let divisor = of_baseline * (2.0 * two - of_baseline);
        let root = (product * product - spread).max(0.0).sqrt();
        (divisor > 0.0).then(|| (product + sign * root) / divisor)
    };
    let low = limit(
        other.value - t_low * other.below,
        baseline.value + t_low * baseline.above,
        -1.0,
    )?;
    let high = limit(
        other.value + t_high * other.above,
        baseline.value - t_high * baseline.below,
        1.0,
    )?;
    Some((other.value / baseline.value, (low.max(0.0), high)))
}

/// Which of these p-values are significant, corrected for the number of comparisons: in 19 of 20
/// comparisons of two equal runs no difference is reported at all.
///
/// # Source
/// Holm 1979: the smallest p is compared with alpha / m, the next with alpha / (m - 1), and so on
/// until one is larger.
pub fn holm(chances: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&a, &b| chances[a].total_cmp(&chances[b]).then(a.cmp(&b)));
    let mut stands = vec![false; chances.len()];
    for (n_before, &index) in order.iter().enumerate() {
        if chances[index] > ALPHA / (chances.len() - n_before) as f64 {
            break;
        }
        stands[index] = true;
    }
    stands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, error: f64, df: f64) -> Estimate {
        Estimate {
            value,
            below: error,
            above: error,
            df,
        }
    }

    #[test]
    fn the_difference_of_two_means_is_that_of_welch() {
        // Means 20.6 and 22.6 of 10 samples each, variances 1.47 and 12.5 (sd 1.212, 3.536).
        let a = estimate(20.6, (1.47f64 / 10.0).sqrt(), 9.0);
        let b = estimate(22.6, (12.5f64 / 10.0).sqrt(), 9.0);
        let contrast = Contrast::new(&a, &b);
        // By hand: t = 2 / sqrt(1.397) = 1.692, df = 1.397^2 / ((0.147^2 + 1.25^2) / 9) = 11.09.
        let t = 2.0 / 1.397f64.sqrt();
        let df = 1.397f64.powi(2) / ((0.147f64.powi(2) + 1.25f64.powi(2)) / 9.0);
        assert!((df - 11.09).abs() < 0.01);
        assert!((contrast.p - student::two_sided_p(t, df)).abs() < 1e-12);
        let half_width = student::two_sided_quantile(0.05, df) * 1.397f64.sqrt();
        assert!((contrast.interval.0 - (2.0 - half_width)).abs() < 1e-9);
        assert!((contrast.interval.1 - (2.0 + half_width)).abs() < 1e-9);
    }

    #[test]
    fn the_ratio_of_two_means_is_that_of_fieller() {
        let (a, b) = (estimate(100.0, 4.0, 30.0), estimate(130.0, 6.0, 25.0));
        let contrast = Contrast::new(&a, &b);
        let (ratio, (low, high)) = contrast.ratio.unwrap();
        assert!((ratio - 1.3).abs() < 1e-12);
        // Fieller: where b - r a is t standard errors away from 0.
        let t = CombinedError::new((4.0, 30.0), (6.0, 25.0)).t;
        for r in [low, high] {
            let away = (130.0 - r * 100.0).abs() / (36.0 + r * r * 16.0f64).sqrt();
            assert!((away - t).abs() < 1e-9, "{r}: {away}");
        }
        assert!(low < ratio && ratio < high);
        let of_nothing = Contrast::new(&estimate(1.0, 4.0, 30.0), &b);
        assert_eq!(of_nothing.ratio, None, "the baseline may be 0");
        let below_zero = Contrast::new(&estimate(-100.0, 4.0, 30.0), &b);
        assert_eq!(below_zero.ratio, None);
        assert_eq!(Contrast::new(&a, &estimate(-1.0, 4.0, 30.0)).ratio, None);
    }

    #[test]
    fn the_ratio_of_two_times_is_not_below_0() {
        // Two runs each, of 11.1 s and 1.5 s on average.
        let contrast = Contrast::new(&estimate(11.1, 0.5, 1.0), &estimate(1.5, 0.7, 1.0));
        assert!(contrast.p < 0.05);
        let (ratio, (low, high)) = contrast.ratio.unwrap();
        assert_eq!(low, 0.0);
        assert!(ratio < high && high < 1.0, "{high}");
    }

    #[test]
    fn interval_ratio_and_chance_agree_on_what_is_a_difference() {
        for (value, error) in [(104.0, 2.0), (97.0, 1.0), (100.0, 3.0), (120.0, 1.0)] {
            let baseline = Estimate {
                value: 100.0,
                below: 1.0,
                above: 2.5,
                df: 20.0,
            };
            let contrast = Contrast::new(&baseline, &estimate(value, error, 12.0));
            let excludes = |interval: (f64, f64), none| interval.0 > none || interval.1 < none;
            let is_difference = contrast.p < 0.05;
            assert_eq!(excludes(contrast.interval, 0.0), is_difference, "{value}");
            let ratio = contrast.ratio.unwrap();
            assert_eq!(excludes(ratio.1, 1.0), is_difference, "{value}");
        }
    }

    #[test]
    fn what_does_not_vary_differs_surely_or_not_at_all() {
        let constant = |value| estimate(value, 0.0, 20.0);
        let equal = Contrast::new(&constant(5.0), &constant(5.0));
        assert_eq!((equal.p, equal.interval), (1.0, (0.0, 0.0)));
        let other = Contrast::new(&constant(5.0), &constant(6.0));
        assert_eq!((other.p, other.interval), (0.0, (1.0, 1.0)));
        assert_eq!(other.ratio, Some((1.2, (1.2, 1.2))));
    }

    #[test]
    fn four_times_the_instances_halve_an_interval() {
        let contrast = Contrast::new(&estimate(100.0, 5.0, 1e6), &estimate(110.0, 5.0, 1e6));
        let times = contrast.times_needed().unwrap();
        let narrower = (5.0 / times.sqrt(), 1e6);
        let joint = CombinedError::new(narrower, narrower);
        assert!((joint.half_width() - 10.0).abs() < 1e-6);
        assert_eq!(
            Contrast::new(&estimate(1.0, 1.0, 9.0), &estimate(1.0, 1.0, 9.0)).times_needed(),
            None
        );
    }

    #[test]
    fn of_many_p_values_only_the_small_ones_are_significant() {
        // Holm's own kind of example: 0.01 <= 0.05/4, 0.015 <= 0.05/3, 0.03 > 0.05/2: stop.
        assert_eq!(holm(&[0.03, 0.01, 0.04, 0.015]), [false, true, false, true]);
        assert_eq!(holm(&[0.04]), [true]);
        assert_eq!(holm(&[]), [] as [bool; 0]);
        assert_eq!(holm(&[0.03; 3]), [false; 3]);
    }
}

//! Times with their errors.

use collbench_stats::spread::Spread;
use collbench_stats::student;
use serde::Serialize;

/// Probability that an interval misses the true value.
const ALPHA: f64 = 0.05;

/// A time with its 95 % confidence interval, which reaches from `ns - error_ns` to `ns + error_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Estimate {
    /// ns.
    pub(in crate::logp) ns: f64,
    /// Half the width of the interval, ns, >= 0.
    pub(in crate::logp) error_ns: f64,
}

impl Estimate {
    /// Zero, without an error.
    pub(in crate::logp) const ZERO: Self = Self {
        ns: 0.0,
        error_ns: 0.0,
    };

    /// The mean of times that are independent of one another, with the interval of Student's t;
    /// `None` for fewer than two.
    pub(in crate::logp) fn mean(times: &[f64]) -> Option<Self> {
        if times.len() < 2 {
            return None;
        }
        let n = times.len() as f64;
        let ns = times.iter().sum::<f64>() / n;
        let squares: f64 = times.iter().map(|time| (time - ns).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        Some(Self {
            ns,
            error_ns: student::two_sided_quantile(ALPHA, n - 1.0) * standard_error,
        })
    }

    /// The sum of independent estimates, each times its factor.
    pub(in crate::logp) fn sum(terms: impl IntoIterator<Item = (f64, Self)>) -> Self {
        let (ns, square) = terms
            .into_iter()
            .fold((0.0, 0.0), |(ns, square), (k, term)| {
                (ns + k * term.ns, square + (k * term.error_ns).powi(2))
            });
        Self {
            ns,
            error_ns: square.sqrt(),
        }
    }

    /// The estimate times a factor.
    pub(in crate::logp) fn times(self, factor: f64) -> Self {
        Self::sum([(factor, self)])
    }

    /// The difference of independent estimates.
    pub(in crate::logp) fn minus(self, other: Self) -> Self {
        Self::sum([(1.0, self), (-1.0, other)])
    }

    /// The slope of a least-squares line through (x, y); `None` for fewer than two different x.
    pub(in crate::logp) fn slope(points: &[(f64, Self)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = points.iter().map(|(x, _)| x).sum::<f64>() / n;
        let spread: f64 = points.iter().map(|(x, _)| (x - mean).powi(2)).sum();
        (spread > 0.0).then(|| Self::sum(points.iter().map(|(x, y)| ((x - mean) / spread, *y))))
    }
}

/// Repetitions of one measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Cost {
    /// Mean of the medians of all batches.
    #[serde(flatten)]
    pub(in crate::logp) mean: Estimate,
    /// The shortest repetition, ns.
    pub(in crate::logp) min_ns: f64,
    /// Repetitions.
    pub(in crate::logp) n: usize,
    /// Batches.
    pub(in crate::logp) batches: usize,
    /// Whether the interval is as narrow as was asked for.
    pub(in crate::logp) is_precise: bool,
}

/// When there are enough repetitions.
///
/// # Source
/// Culler et al. 1996, "Small-message empirical results": batches of 50, until 5 % at 95 %
/// confidence. We take the median of each batch: a batch in which a process lost its core then
/// counts like any other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::logp) struct Precision {
    /// Repetitions in a batch.
    pub(in crate::logp) batch: usize,
    /// Half the width of the interval, as a part of the mean.
    pub(in crate::logp) relative: f64,
    /// Least number of batches, >= 2.
    pub(in crate::logp) least: usize,
    /// Greatest number of batches.
    pub(in crate::logp) most: usize,
    /// Time, ns, after which there are no more batches than an interval needs.
    pub(in crate::logp) longest_ns: f64,
}

impl Cost {
    /// Of batches of repetitions, each ns; `None` for fewer batches than two.
    pub(in crate::logp) fn of(batches: &[Vec<f64>], precision: Precision) -> Option<Self> {
        let spreads: Vec<Spread> = batches
            .iter()
            .filter_map(|batch| Spread::of(batch.iter().copied()))
            .collect();
        let medians: Vec<f64> = spreads.iter().map(|spread| spread.median).collect();
        let mean = Estimate::mean(&medians)?;
        Some(Self {
            mean,
            min_ns: spreads
                .iter()
                .map(|spread| spread.min)
                .fold(f64::MAX, f64::min),
            n: spreads.iter().map(|spread| spread.n).sum(),
            batches: spreads.len(),
            is_precise: mean.error_ns <= precision.relative * mean.ns.abs(),
        })
    }
}

impl Cost {
    /// The mean of the costs in several processes; `None` without any.
    pub(in crate::logp) fn mean(costs: &[Self]) -> Option<Self> {
        let part = 1.0 / costs.len() as f64;
        Some(Self {
            mean: Estimate::sum(costs.iter().map(|cost| (part, cost.mean))),
            min_ns: costs.iter().map(|cost| cost.min_ns).reduce(f64::min)?,
            n: costs.iter().map(|cost| cost.n).sum(),
            batches: costs.iter().map(|cost| cost.batches).sum(),
            is_precise: costs.iter().all(|cost| cost.is_precise),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_textbook() {
        // mean 5, standard deviation 2, n = 4: t(0.05, 3) = 3.182, and 3.182 * 2 / 2.
        let mean = Estimate::mean(&[3.0, 4.0, 6.0, 7.0]).unwrap();
        let deviation = (10.0f64 / 3.0).sqrt();
        assert_eq!(mean.ns, 5.0);
        assert!((mean.error_ns - 3.182_45 * deviation / 2.0).abs() < 1e-3);
        assert_eq!(Estimate::mean(&[3.0]), None);
    }

    #[test]
    fn a_slope_has_the_error_of_its_ends() {
        let at = |ns, error_ns| Estimate { ns, error_ns };
        let two = Estimate::slope(&[(1.0, at(10.0, 3.0)), (3.0, at(16.0, 4.0))]).unwrap();
        assert_eq!((two.ns, two.error_ns), (3.0, 2.5));
        let three = [
            (1.0, at(1.0, 0.0)),
            (2.0, at(3.0, 0.0)),
            (3.0, at(5.0, 0.0)),
        ];
        assert_eq!(Estimate::slope(&three).unwrap().ns, 2.0);
        assert_eq!(Estimate::slope(&three[..1]), None);
    }

    #[test]
    fn a_batch_with_an_interruption_in_it_counts_like_the_others() {
        let precision = Precision {
            batch: 5,
            relative: 0.05,
            least: 2,
            most: 4,
            longest_ns: f64::INFINITY,
        };
        let batches = [vec![10.0, 10.0, 10.0, 10.0, 1e6], vec![10.0; 5]];
        let cost = Cost::of(&batches, precision).unwrap();
        assert_eq!((cost.mean.ns, cost.mean.error_ns), (10.0, 0.0));
        assert!(cost.is_precise);
        assert_eq!((cost.n, cost.batches, cost.min_ns), (10, 2, 10.0));
        let apart = [vec![10.0; 5], vec![12.0; 5]];
        assert!(!Cost::of(&apart, precision).unwrap().is_precise);
    }
}

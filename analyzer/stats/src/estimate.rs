//! From batches to estimates: a mean or a median with its standard error.

use crate::batch_table::BatchTable;
use crate::batches::{Batch, Batches, Sum};
use crate::distribution::Distribution;
use crate::student;

/// Most batches from which a mean is estimated: long batches are nearly independent of one another,
/// and with this many Student's t widens the interval by 4 % only.
const BATCHES: usize = 32;
/// With fewer instances nothing is estimated.
pub const MIN_INSTANCES: u64 = 10;
/// Probability that an interval misses the true value.
pub const ALPHA: f64 = 0.05;

/// A value with its standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// ns.
    pub value: f64,
    /// Standard error towards smaller values, ns.
    pub below: f64,
    /// Standard error towards larger values, ns.
    pub above: f64,
    /// Degrees of freedom of both.
    pub df: f64,
}

impl Estimate {
    /// The 95 % interval of the value, ns.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        let t = student::two_sided_quantile(ALPHA, self.df);
        (self.value - t * self.below, self.value + t * self.above)
    }
}

/// Estimates of one quantity of one operation, from one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimates {
    /// Mean; `None` with fewer than [`MIN_INSTANCES`] instances or batches.
    pub mean: Option<Estimate>,
    /// Median; `None` with fewer than [`MIN_INSTANCES`] instances, and for quantities whose median
    /// is not compared.
    pub median: Option<Estimate>,
}

/// The quantities by which two traces are compared, for one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// Last leave minus first enter.
    pub duration: Estimates,
    /// First leave minus last enter.
    pub core: Estimates,
    /// Leave minus enter of each call. Its median is not compared: the calls of an instance are not
    /// independent.
    pub call_time: Estimates,
    /// Wait of each call. Its median is not compared: the calls of an instance are not independent.
    pub wait: Estimates,
}

impl Evidence {
    /// Estimates from the batches of an operation and the distributions of its instances.
    pub fn new(batches: &Batches, duration: &Distribution, core: &Distribution) -> Self {
        let [duration_squares, core_squares] = batches.squares();
        let batches = batches.at_most(BATCHES);
        let of_calls = |pick: fn(&Batch) -> Sum| Estimates {
            mean: mean(&batches, pick),
            median: None,
        };
        let durations = Instances {
            batches: &batches,
            sum: |batch| batch.duration,
            magnitudes: |batch| batch.duration_magnitudes,
            squares: duration_squares,
            distribution: duration,
        };
        let cores = Instances {
            sum: |batch| batch.core,
            magnitudes: |batch| batch.core_magnitudes,
            squares: core_squares,
            distribution: core,
            ..durations
        };
        Self {
            duration: durations.estimates(),
            core: cores.estimates(),
            call_time: of_calls(|batch| batch.call),
            wait: of_calls(|batch| batch.wait),
        }
    }
}

/// A quantity with one sample per instance.
struct Instances<'a> {
    batches: &'a [Batch],
    sum: fn(&Batch) -> Sum,
    magnitudes: fn(&Batch) -> i64,
    /// Sum of squares of the magnitudes.
    squares: u64,
    distribution: &'a Distribution,
}

impl Instances<'_> {
    fn estimates(&self) -> Estimates {
        let mean = mean(self.batches, self.sum);
        let median = mean.and_then(|_| self.median());
        Estimates { mean, median }
    }

    /// The median, with errors from order statistics: the samples at both ends of the 95 % interval
    /// of its rank, where n is the effective number of independent instances.
    fn median(&self) -> Option<Estimate> {
        let magnitudes = mean(self.batches, |batch| Sum {
            n: (self.sum)(batch).n,
            total: (self.magnitudes)(batch).into(),
        })?;
        let n = self.distribution.n() as f64;
        let variance = (self.squares as f64 / n - magnitudes.value.powi(2)).max(0.0);
        let n_effective = if magnitudes.below > 0.0 {
            (variance / magnitudes.below.powi(2)).clamp(1.0, n)
        } else {
            n
        };
        let t = student::two_sided_quantile(ALPHA, magnitudes.df);
        let reach = t * 0.5 / n_effective.sqrt();
        if reach >= 0.5 {
            return None;
        }
        let parts = [0.5 - reach, 0.5, 0.5 + reach];
        let [low, value, high] = self.distribution.quantiles(parts)?;
        let error = self.distribution.quantile_error(value);
        let below = (value - low).max(error);
        let above = (high - value).max(error);
        Some(Estimate {
            value: value as f64,
            below: below as f64 / t,
            above: above as f64 / t,
            df: magnitudes.df,
        })
    }
}

/// The mean over all batches of a quantity of a table; as [`Estimates::mean`].
#[must_use]
pub fn mean_of_column(table: &BatchTable, quantity: usize) -> Option<Estimate> {
    mean_of_sums(table.column(quantity))
}

/// A table in as many batches as [`mean_of_column`] estimates from.
#[must_use]
pub fn few_batches(table: &BatchTable) -> BatchTable {
    table.at_most(BATCHES)
}

fn mean(batches: &[Batch], pick: impl Fn(&Batch) -> Sum) -> Option<Estimate> {
    mean_of_sums(batches.iter().map(pick))
}

/// The mean over all batches, and its standard error from the variation between batches.
///
/// Batches may differ in size, so the mean is a ratio of two sums and its error is that of a ratio.
/// Batches of a slowly changing quantity are still correlated: with the correlation r of
/// neighbours, as of a first-order process, the variance grows by (1 + r) / (1 - r), and there are
/// fewer degrees of freedom.
///
/// # Source
/// Batch means: Law and Kelton, Simulation Modeling and Analysis, 9.5.3; ratio of sums: Cochran,
/// Sampling Techniques, 6.4.
fn mean_of_sums(sums: impl Iterator<Item = Sum>) -> Option<Estimate> {
    /// With a larger correlation of neighbours the run is too short for an estimate.
    const MAX_CORRELATION: f64 = 0.9;
    let sums: Vec<Sum> = sums.filter(|sum| sum.n > 0).collect();
    let n: f64 = sums.iter().map(|sum| sum.n as f64).sum();
    let squares: f64 = sums.iter().map(|sum| (sum.n as f64).powi(2)).sum();
    if (sums.len() as u64) < MIN_INSTANCES {
        return None;
    }
    let total: i128 = sums.iter().map(|sum| sum.total).sum();
    let value = total as f64 / n;
    let residuals: Vec<f64> = sums
        .iter()
        .map(|sum| sum.total as f64 - value * sum.n as f64)
        .collect();
    let residual_squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let n_batches = sums.len() as f64;
    let mut variance = n_batches / (n_batches - 1.0) * residual_squares / (n * n);
    let mut df = n * n / squares - 1.0;
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Residuals from a common mean correlate by -1 / batches where the batches do not.
    let correlation = products / residual_squares + 1.0 / n_batches;
    if correlation > 0.0 {
        let r = correlation.min(MAX_CORRELATION);
        variance *= (1.0 + r) / (1.0 - r);
        df *= (1.0 - r * r) / (1.0 + r * r);
    }
    let error = variance.sqrt();
    Some(Estimate {
        value,
        below: error,
        above: error,
        df: df.max(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batches::InstanceSums;
    use crate::difference::Contrast;

    /// A stream of normally distributed numbers.
    struct Normal(u64);

    impl Normal {
        fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        }

        fn draw(&mut self) -> f64 {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            radius * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }

    /// How the instances of a simulated run vary.
    #[derive(Debug, Clone, Copy)]
    struct Kind {
        /// Correlation of each instance with the one before.
        correlation: f64,
        instances: u64,
        /// Positions of other operations between two instances.
        between: u64,
    }

    /// Durations around 100 us with an exponential tail.
    fn run(kind: Kind, normal: &mut Normal, factor: f64) -> Evidence {
        let (mut batches, mut durations) = (Batches::default(), Distribution::default());
        let mut state = normal.draw();
        for n in 0..kind.instances {
            let rest = (1.0 - kind.correlation * kind.correlation).sqrt();
            state = kind.correlation * state + rest * normal.draw();
            let duration = (factor * 100_000.0 * (0.3 * state).exp()) as i64;
            durations.add(duration);
            let sums = InstanceSums {
                duration,
                n_calls: 4,
                call_ns: 2 * duration,
                n_waits: 4,
                wait_ns: duration,
                ..InstanceSums::default()
            };
            batches.add(n * kind.between + n * n % kind.between, &sums);
        }
        Evidence::new(&batches, &durations, &Distribution::default())
    }

    const KINDS: [Kind; 6] = [
        Kind {
            correlation: 0.0,
            instances: 40,
            between: 1,
        },
        Kind {
            correlation: 0.0,
            instances: 1000,
            between: 7,
        },
        Kind {
            correlation: 0.5,
            instances: 300,
            between: 3,
        },
        Kind {
            correlation: 0.9,
            instances: 1000,
            between: 1,
        },
        Kind {
            correlation: 0.97,
            instances: 5000,
            between: 5,
        },
        Kind {
            correlation: 0.99,
            instances: 6000,
            between: 1,
        },
    ];

    #[test]
    fn intervals_contain_the_true_value_for_any_correlation() {
        const PAIRS: u32 = 200;
        let mut normal = Normal(88_172_645_463_325_252);
        for kind in KINDS {
            let (mut of_means, mut of_medians) = (0, 0);
            for _ in 0..PAIRS {
                // For two equal runs: whether the interval of the difference contains 0.
                let [one, two] = [1.0, 1.0].map(|factor| run(kind, &mut normal, factor).duration);
                // A median that is reported as unknown is not wrong.
                let holds = |one: Option<Estimate>, two: Option<Estimate>| {
                    let both = one.zip(two);
                    let interval = both.map(|(one, two)| Contrast::new(&one, &two).interval);
                    u32::from(interval.is_none_or(|(low, high)| low <= 0.0 && high >= 0.0))
                };
                of_means += holds(one.mean, two.mean);
                of_medians += holds(one.median, two.median);
            }
            for holding in [of_means, of_medians] {
                let coverage = 100.0 * f64::from(holding) / f64::from(PAIRS);
                assert!((90.0..=99.0).contains(&coverage), "{kind:?}: {coverage} %");
            }
        }
    }

    #[test]
    fn without_correlation_the_error_is_that_of_the_textbook() {
        let kind = Kind {
            correlation: 0.0,
            instances: 4000,
            between: 1,
        };
        let evidence = run(kind, &mut Normal(1), 1.0);
        let mean = evidence.duration.mean.unwrap();
        // Lognormal: mean exp(0.045), standard deviation mean sqrt(exp(0.09) - 1), in 100 us.
        let expected = 1e5 * f64::exp(0.045);
        let error = expected * f64::exp_m1(0.09).sqrt() / f64::sqrt(4000.0);
        assert!((mean.value - expected).abs() < 4.0 * error);
        assert!((0.6..1.7).contains(&(mean.below / error)), "{mean:?}");
        let median = evidence.duration.median.unwrap();
        // Standard error of a median: 1 / (2 f sqrt(n)), f = 1 / (0.3 sqrt(2 pi)) at 1.
        let error = 1e5 * 0.3 * (std::f64::consts::TAU).sqrt() / (2.0 * f64::sqrt(4000.0));
        assert!((median.value - 1e5).abs() < 4.0 * error, "{median:?}");
        assert!((0.6..1.7).contains(&(median.above / error)), "{median:?}");
    }

    #[test]
    fn calls_of_an_instance_are_no_independent_samples() {
        let kind = Kind {
            correlation: 0.0,
            instances: 500,
            between: 1,
        };
        let evidence = run(kind, &mut Normal(5), 1.0);
        let (calls, durations) = (
            evidence.call_time.mean.unwrap(),
            evidence.duration.mean.unwrap(),
        );
        // Four calls make half the duration each: half the error, not a quarter.
        assert!((calls.below / durations.below - 0.5).abs() < 1e-3);
        assert_eq!(evidence.core, Estimates::default());
        assert_eq!(evidence.wait.median, None);
    }

    #[test]
    fn too_few_instances_have_no_estimate() {
        let few = Kind {
            correlation: 0.0,
            instances: MIN_INSTANCES - 1,
            between: 1,
        };
        assert_eq!(run(few, &mut Normal(3), 1.0).duration, Estimates::default());
        let enough = Kind {
            instances: MIN_INSTANCES,
            ..few
        };
        assert!(run(enough, &mut Normal(3), 1.0).duration.mean.is_some());
    }

    #[test]
    fn what_never_varies_has_no_error() {
        let mut batches = Batches::default();
        let mut durations = Distribution::default();
        for position in 0..100 {
            let sums = InstanceSums {
                duration: 700,
                ..InstanceSums::default()
            };
            batches.add(position, &sums);
            durations.add(700);
        }
        let evidence = Evidence::new(&batches, &durations, &Distribution::default());
        for estimate in [evidence.duration.mean, evidence.duration.median] {
            let estimate = estimate.unwrap();
            assert_eq!(
                (estimate.value, estimate.below, estimate.above),
                (700.0, 0.0, 0.0)
            );
        }
    }
}

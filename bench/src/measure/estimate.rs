//! Repetitions to one time with its error, and when there are enough of them.
//!
//! # Source
//! Reussner et al. 1999, section 3.1: the mean without the fastest and the slowest quarter, repeated
//! until its standard error is small enough, between a least and a greatest number of repetitions.

use collbench_stats::spread::quantile;
use collbench_stats::student;
use serde::{Deserialize, Serialize};

/// Probability that the interval around a mean misses the true value.
const ALPHA: f64 = 0.05;

/// Which standard deviation the standard error of a trimmed mean is computed from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorOf {
    /// Of all repetitions, with those trimmed moved to the nearest one that is kept
    #[default]
    Winsorized,
    /// Of the repetitions that are kept, as in the paper, which understates the error
    Kept,
}

/// Mean without the fastest and the slowest quarter, with its standard errors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrimmedMean {
    /// Mean of the repetitions that are kept, ns.
    pub mean_ns: f64,
    /// Number of repetitions that are kept: n - 2 floor(n / 4).
    pub n_kept: usize,
    /// Standard error by the paper: standard deviation of those kept over sqrt(their number), ns.
    pub kept_error_ns: f64,
    /// Standard error by winsorizing, ns: s_w sqrt(n) / h, where s_w is the standard deviation (over
    /// n - 1) after each trimmed value has been replaced by the nearest one kept, and h the number
    /// kept.
    ///
    /// # Source
    /// Tukey and McLaughlin, Less vulnerable confidence and significance procedures, 1963.
    pub winsorized_error_ns: f64,
}

impl TrimmedMean {
    /// Of these times, ns; `None` for fewer than two.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Self> {
        if times.len() < 2 {
            return None;
        }
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let trimmed = n / 4;
        let kept = &sorted[trimmed..n - trimmed];
        let h = kept.len() as f64;
        let mean_ns = kept.iter().sum::<f64>() / h;
        let squares: f64 = kept.iter().map(|x| (x - mean_ns).powi(2)).sum();
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let ends = trimmed as f64;
        let winsorized_mean = (h * mean_ns + ends * (low + high)) / n as f64;
        let winsorized_squares: f64 = kept
            .iter()
            .map(|x| (x - winsorized_mean).powi(2))
            .sum::<f64>()
            + ends * ((low - winsorized_mean).powi(2) + (high - winsorized_mean).powi(2));
        let n = n as f64;
        let winsorized_sd = (winsorized_squares / (n - 1.0)).sqrt();
        Some(Self {
            mean_ns,
            n_kept: kept.len(),
            kept_error_ns: (squares / h).sqrt() / h.sqrt(),
            winsorized_error_ns: winsorized_sd * n.sqrt() / h,
        })
    }

    /// The standard error of this kind, ns.
    #[must_use]
    pub fn error_ns(&self, kind: ErrorOf) -> f64 {
        match kind {
            ErrorOf::Winsorized => self.winsorized_error_ns,
            ErrorOf::Kept => self.kept_error_ns,
        }
    }

    /// Half the width of the 95 % interval, ns: standard error times Student's t with one degree of
    /// freedom less than repetitions are kept.
    #[must_use]
    pub fn half_width_ns(&self, kind: ErrorOf) -> f64 {
        let df = (self.n_kept - 1).max(1) as f64;
        self.error_ns(kind) * student::two_sided_quantile(ALPHA, df)
    }
}

/// When a measurement is precise enough, and when it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Precision {
    /// Greatest half width of the 95 % interval of the trimmed mean, over that mean.
    pub relative: f64,
    /// Which standard error the interval is made of.
    pub error: ErrorOf,
    /// Least number of valid repetitions.
    pub least: usize,
    /// Greatest number of repetitions, invalid ones included.
    pub most: usize,
}

impl Default for Precision {
    fn default() -> Self {
        Self {
            relative: 0.03,
            error: ErrorOf::default(),
            least: 10,
            most: 2_000,
        }
    }
}

/// Of an error that cannot be changed, a part that does not matter beside it: both together are 6 %
/// larger.
const SMALL_PART: f64 = 1.0 / 3.0;

/// What follows from the repetitions so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The precision is reached.
    Precise,
    /// The greatest number of repetitions is reached first.
    GivenUp,
    /// So many more repetitions are likely to be needed, at least one.
    Repeat(usize),
}

impl Precision {
    /// What follows from `valid` times (ns) of `n_made` repetitions, on a clock of this step (ns).
    ///
    /// Besides the error, the total time must be at least the step of the clock over the precision.
    /// `given_ns` is half the width of the interval of what was subtracted from all times, which more
    /// repetitions do not change: where it leaves no room, they are given up when it is most of the
    /// error.
    #[must_use]
    pub fn next(&self, valid: &[f64], n_made: usize, step_ns: f64, given_ns: f64) -> Next {
        let left = self.most.saturating_sub(n_made);
        let n = valid.len();
        let wanted = match TrimmedMean::of(valid) {
            None => self.least,
            Some(_) if n < self.least => self.least - n,
            Some(found) => {
                let wanted_ns = self.relative * found.mean_ns.abs();
                let room_ns = (wanted_ns.powi(2) - given_ns.powi(2)).max(0.0).sqrt();
                let goal_ns = room_ns.max(given_ns * SMALL_PART);
                let ratio = found.half_width_ns(self.error) / goal_ns;
                let total_ns = found.mean_ns.abs() * n as f64;
                let for_step = step_ns / self.relative / total_ns;
                if ratio <= 1.0 && for_step <= 1.0 {
                    let is_precise = goal_ns <= room_ns;
                    return if is_precise {
                        Next::Precise
                    } else {
                        Next::GivenUp
                    };
                }
                // The error falls with the square root of the number.
                let factor = ratio.powi(2).max(for_step).min(2.0);
                ((factor - 1.0) * n as f64).ceil().max(1.0) as usize
            }
        };
        match wanted.max(self.least / 2).min(left) {
            0 => Next::GivenUp,
            more => Next::Repeat(more),
        }
    }
}

/// Repetitions of one measurement in figures, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of valid repetitions.
    pub n: usize,
    /// Fastest.
    pub min: f64,
    /// 1st percentile.
    pub p01: f64,
    /// 25th percentile.
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// 75th percentile.
    pub upper_quartile: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Slowest.
    pub max: f64,
    /// Mean of all.
    pub mean: f64,
    /// Standard deviation (over n - 1); `None` for one repetition.
    pub sd: Option<f64>,
    /// Mean of the half in the middle, with its errors; `None` for one repetition.
    pub trimmed: Option<TrimmedMean>,
}

impl Summary {
    /// Of these times; `None` without any.
    #[must_use]
    pub fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
        Some(Self {
            n,
            min,
            p01: quantile(&sorted, 0.01),
            lower_quartile: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper_quartile: quantile(&sorted, 0.75),
            p99: quantile(&sorted, 0.99),
            max,
            mean,
            sd: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()),
            trimmed: TrimmedMean::of(&sorted),
        })
    }

    /// The figure that stands for all repetitions.
    #[must_use]
    pub fn figure(&self, of: Figure) -> f64 {
        match of {
            Figure::Median => self.median,
            Figure::TrimmedMean => self.trimmed.map_or(self.mean, |trimmed| trimmed.mean_ns),
            Figure::Mean => self.mean,
            Figure::Min => self.min,
            Figure::Max => self.max,
        }
    }
}

/// The figure that stands for all repetitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Median
    #[default]
    Median,
    /// Mean of the half in the middle
    TrimmedMean,
    /// Mean
    Mean,
    /// Fastest
    Min,
    /// Slowest
    Max,
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    /// Some 20 us with a tail, and one outlier of milliseconds in twenty.
    fn draw(random: &mut Random) -> f64 {
        let time = random.normal(20_000, 1_000) as f64 + random.exponential_real(500.0);
        if random.unit() < 0.05 {
            time + random.pareto_real(1e6, 1.5)
        } else {
            time
        }
    }

    #[test]
    fn a_trimmed_mean_is_that_of_the_middle_half_found_by_ranks() {
        let mut random = Random::from_state(3);
        for n in 2..60 {
            let times: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            // By counting instead of sorting: kept is what has at least n/4 on either side.
            let rank = |i: usize| {
                let below = (0..n).filter(|&j| (times[j], j) < (times[i], i));
                below.count()
            };
            let kept: Vec<f64> = (0..n)
                .filter(|&i| (n / 4..n - n / 4).contains(&rank(i)))
                .map(|i| times[i])
                .collect();
            let found = TrimmedMean::of(&times).unwrap();
            assert_eq!(found.n_kept, kept.len());
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            assert!((found.mean_ns - mean).abs() < 1e-6 * mean);
            let mean_square = kept.iter().map(|x| x * x).sum::<f64>() / kept.len() as f64;
            let error = ((mean_square - mean * mean).max(0.0) / kept.len() as f64).sqrt();
            assert!((found.kept_error_ns - error).abs() < 1e-3 * mean, "{n}");
        }
        assert_eq!(TrimmedMean::of(&[1.0]), None);
    }

    #[test]
    fn winsorized_errors_are_those_of_a_worked_example() {
        // Trimmed: 1, 2 and 40, 90. Winsorized: 3 3 3 4 5 6 7 7 7 (mean 5, squares 26).
        let times = [90.0, 1.0, 3.0, 5.0, 2.0, 4.0, 7.0, 40.0, 6.0];
        let found = TrimmedMean::of(&times).unwrap();
        assert_eq!((found.mean_ns, found.n_kept), (5.0, 5));
        assert!((found.kept_error_ns - (2.0f64 / 5.0).sqrt()).abs() < 1e-12);
        let error = (26.0f64 / 8.0).sqrt() * 3.0 / 5.0;
        assert!((found.winsorized_error_ns - error).abs() < 1e-12);
    }

    #[test]
    fn the_winsorized_error_is_the_deviation_of_many_means_and_the_kept_one_is_too_small() {
        let mut random = Random::from_state(17);
        let means: Vec<TrimmedMean> = (0..4_000)
            .map(|_| {
                let times: Vec<f64> = (0..40).map(|_| draw(&mut random)).collect();
                TrimmedMean::of(&times).unwrap()
            })
            .collect();
        let n = means.len() as f64;
        let center = means.iter().map(|m| m.mean_ns).sum::<f64>() / n;
        let variance = means
            .iter()
            .map(|m| (m.mean_ns - center).powi(2))
            .sum::<f64>()
            / n;
        let truth = variance.sqrt();
        let stated =
            |kind| (means.iter().map(|m| m.error_ns(kind).powi(2)).sum::<f64>() / n).sqrt();
        let winsorized = stated(ErrorOf::Winsorized) / truth;
        assert!((0.93..1.1).contains(&winsorized), "{winsorized}");
        let kept = stated(ErrorOf::Kept) / truth;
        assert!(kept < 0.75, "{kept}");
        // An interval of 95 % misses the center that many times in a hundred.
        let missed = means
            .iter()
            .filter(|m| (m.mean_ns - center).abs() > m.half_width_ns(ErrorOf::Winsorized));
        let missed = missed.count() as f64 / n;
        assert!((0.03..0.075).contains(&missed), "{missed}");
    }

    #[test]
    fn repetitions_end_when_the_interval_is_narrow_enough_or_there_are_too_many() {
        let precision = Precision::default();
        let mut random = Random::from_state(9);
        let mut times: Vec<f64> = Vec::new();
        while let Next::Repeat(more) = precision.next(&times, times.len(), 1.0, 0.0) {
            times.extend((0..more).map(|_| draw(&mut random)));
        }
        let found = TrimmedMean::of(&times).unwrap();
        assert!(found.half_width_ns(ErrorOf::Winsorized) <= 0.03 * found.mean_ns);
        assert!((10..200).contains(&times.len()), "{}", times.len());
        let noisy: Vec<f64> = (0..20).map(|i| f64::from(1 << i)).collect();
        assert_eq!(precision.next(&noisy, 2_000, 1.0, 0.0), Next::GivenUp);
        assert_eq!(precision.next(&noisy, 1_998, 1.0, 0.0), Next::Repeat(2));
    }

    #[test]
    fn without_a_valid_repetition_the_attempts_are_bounded_too() {
        let precision = Precision::default();
        assert_eq!(precision.next(&[], 0, 1.0, 0.0), Next::Repeat(10));
        assert_eq!(precision.next(&[], 2_000, 1.0, 0.0), Next::GivenUp);
        assert_eq!(precision.next(&[5.0; 3], 40, 1.0, 0.0), Next::Repeat(7));
    }

    #[test]
    fn a_coarse_clock_needs_a_longer_total() {
        let precision = Precision::default();
        let same = [100.0; 20];
        assert_eq!(precision.next(&same, 20, 1.0, 0.0), Next::Precise);
        // 1,000 ns / 0.03 is 33 us, and 20 times 100 ns are 2 us.
        assert!(matches!(precision.next(&same, 20, 1_000.0, 0.0), Next::Repeat(n) if n > 0));
        let long = [100_000.0; 20];
        assert_eq!(precision.next(&long, 20, 1_000.0, 0.0), Next::Precise);
    }

    #[test]
    fn what_was_subtracted_leaves_less_room_for_the_error_of_repetitions() {
        let precision = Precision::default();
        let mut random = Random::from_state(4);
        let mut repetitions = |given_ns: f64| {
            let mut times: Vec<f64> = Vec::new();
            let ended = loop {
                match precision.next(&times, times.len(), 1.0, given_ns) {
                    Next::Repeat(more) => times.extend((0..more).map(|_| draw(&mut random))),
                    ended => break ended,
                }
            };
            let found = TrimmedMean::of(&times).unwrap();
            let half_ns = found.half_width_ns(ErrorOf::Winsorized);
            (ended, times.len(), half_ns / found.mean_ns, found.mean_ns)
        };
        let (ended, few, error, mean_ns) = repetitions(0.0);
        assert_eq!(ended, Next::Precise);
        assert!(error <= 0.03, "{error}");
        // 0.027 of the mean leave 0.013.
        let (ended, many, error, _) = repetitions(0.027 * mean_ns);
        assert_eq!(ended, Next::Precise);
        assert!(error <= 0.014 && many > 2 * few, "{error} {many}");
        // More repetitions cannot help, and are not made to no end.
        let (ended, n, ..) = repetitions(0.1 * mean_ns);
        assert_eq!(ended, Next::GivenUp);
        assert!(n < precision.most / 2, "{n}");
    }

    #[test]
    fn a_summary_has_the_quantiles_that_r_gives() {
        let found = Summary::of(&[7.0, 1.0, 3.0, 10.0, 2.0, 40.0]).unwrap();
        assert_eq!((found.min, found.median, found.max), (1.0, 5.0, 40.0));
        assert_eq!((found.lower_quartile, found.upper_quartile), (2.25, 9.25));
        assert!((found.p01 - 1.05).abs() < 1e-12 && (found.p99 - 38.5).abs() < 1e-12);
        assert_eq!(found.mean, 10.5);
        let sd = (12.25f64 + 90.25 + 56.25 + 0.25 + 72.25 + 870.25).sqrt() / 5f64.sqrt();
        assert!((found.sd.unwrap() - sd).abs() < 1e-12);
        // Kept are 2, 3, 7, 10.
        assert_eq!(found.figure(Figure::TrimmedMean), 5.5);
        assert_eq!(found.figure(Figure::Max), 40.0);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(
            Summary::of(&[4.0]).unwrap().figure(Figure::TrimmedMean),
            4.0
        );
    }
}

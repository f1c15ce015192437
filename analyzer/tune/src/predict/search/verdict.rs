//! Whether a choice is better than what ran, by instances that did not choose it.

use collbench_stats::estimate::ALPHA;
use collbench_stats::student::two_sided_quantile;
use serde::Serialize;

use super::objective::mean;

/// What is faster by less is not proposed.
pub(in crate::predict) const LEAST_GAIN: f64 = 0.03;
/// Blocks of instances that follow one another, at most: what disturbs one instance disturbs the next one.
const BLOCKS: usize = 20;
/// Instances of a block, at least.
const LEAST_OF_BLOCK: usize = 4;

/// The part of the time that a choice saves, with its 95 % interval; below 0 where it takes longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gain {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Gain {
    /// Of classes of calls as (number of instances, times of what ran, times of the choice, ns), instance by instance in the
    /// order of time.
    pub(super) fn of(classes: &[(f64, &[f64], &[f64])]) -> Self {
        let n: f64 = classes.iter().map(|(weight, ..)| weight).sum();
        let (mut saved, mut variance, mut before, mut df) = (0.0, 0.0, 0.0, f64::INFINITY);
        for (weight, ran, chosen) in classes {
            let weight = weight / n;
            let saved_ns: Vec<f64> = ran.iter().zip(*chosen).map(|(a, b)| a - b).collect();
            let n_blocks = (saved_ns.len() / LEAST_OF_BLOCK).clamp(2, BLOCKS);
            let of_block = saved_ns.len().div_ceil(n_blocks).max(1);
            let blocks: Vec<f64> = saved_ns.chunks(of_block).map(mean).collect();
            let least_df = blocks.len().saturating_sub(1).max(1) as f64;
            let middle = mean(&saved_ns);
            let squares: f64 = blocks.iter().map(|of| (of - middle).powi(2)).sum();
            saved += weight * middle;
            before += weight * mean(ran);
            variance += weight * weight * squares / (least_df * blocks.len() as f64);
            df = df.min(least_df);
        }
        let half = two_sided_quantile(ALPHA, df.clamp(1.0, 1e6)) * variance.sqrt();
        let before = before.max(1.0);
        Self {
            mean: saved / before,
            low: (saved - half) / before,
            high: (saved + half) / before,
        }
    }

    /// Why nothing is proposed for it, where what ran is predicted wrongly by such a part; `None` where it is.
    pub(super) fn why_not(&self, error: f64) -> Option<String> {
        let percent = |part: f64| format!("{:+.1} %", 0.0 - 100.0 * part);
        if self.high < 0.0 {
            return Some("slower than what ran".to_owned());
        }
        if self.low <= 0.0 {
            return Some("not distinguishable from what ran".to_owned());
        }
        if self.mean <= LEAST_GAIN {
            return Some(format!(
                "{}, less than {:.0} %",
                percent(self.mean),
                100.0 * LEAST_GAIN
            ));
        }
        (self.mean <= error).then(|| {
            format!(
                "{}, and what ran is predicted wrongly by {:.1} %",
                percent(self.mean),
                100.0 * error
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    #[test]
    fn what_is_equal_but_for_chance_is_hardly_ever_accepted() {
        let random = &mut Random::of(&[4]);
        let mut times = || -> Vec<f64> {
            let times = (0..200).map(|_| 1000.0 + random.exponential_real(300.0));
            times.collect()
        };
        let mut accepted = 0;
        for _ in 0..1000 {
            let (ran, chosen) = (times(), times());
            let gain = Gain::of(&[(200.0, &ran, &chosen)]);
            accepted += u32::from(gain.why_not(0.0).is_none());
        }
        assert!(accepted < 40, "{accepted} of 1000");
        let ran = times();
        let gain = Gain::of(&[(200.0, &ran, &ran)]);
        assert_eq!((gain.mean, gain.low, gain.high), (0.0, 0.0, 0.0));
        assert!(gain.why_not(0.0).is_some());
    }

    #[test]
    fn a_gain_is_accepted_if_it_is_larger_than_the_error_of_the_model() {
        let random = &mut Random::of(&[5]);
        let ran: Vec<f64> = (0..100)
            .map(|_| random.uniform_real(900.0, 1100.0))
            .collect();
        let chosen: Vec<f64> = ran.iter().map(|ns| ns * 0.96).collect();
        let gain = Gain::of(&[(100.0, &ran, &chosen)]);
        assert!(
            (gain.mean - 0.04).abs() < 1e-9 && gain.low > 0.03,
            "{gain:?}"
        );
        assert_eq!(gain.why_not(0.02), None);
        assert!(gain.why_not(0.045).is_some_and(|why| why.contains("4.5 %")));
        let chosen: Vec<f64> = ran.iter().map(|ns| ns * 0.98).collect();
        let gain = Gain::of(&[(100.0, &ran, &chosen)]);
        assert!(
            gain.why_not(0.0)
                .is_some_and(|why| why.contains("less than 3 %"))
        );
    }
}

//! Times of runs, and what follows from them.

use collbench_stats::blocks::BlockedRatio;
use collbench_stats::median::Median;

use super::plan::{least_rounds, tail};

/// With a smaller one a proposal is decided before all rounds were run.
const EARLY: f64 = 0.001;
/// Rounds before which nothing is stopped.
const LEAST_BEFORE_STOP: usize = 5;

/// Times of runs by round, s.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds {
    /// Of both runs of the program as it is.
    pub baselines: Vec<[f64; 2]>,
    /// By proposal; fewer than rounds where it was given up.
    pub proposals: Vec<Vec<f64>>,
}

/// How much equal runs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaselinePair {
    /// The median ratio of the second to the first run of each round.
    pub ratio: f64,
    /// Its 95 % interval; with less than six rounds, for which there is none, the least and the greatest ratio.
    pub interval: (f64, f64),
    /// The standard deviation of the time of a run within its round, as a part of it, from the median difference.
    pub deviation: f64,
}

/// What is to be said of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The program takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// It is as may well be chance.
    NoGain,
    /// Too few rounds were run for any other verdict.
    TooFew,
}

/// A proposal's times against those of the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The ratio of the times; the intervals of all proposals hold together with 95 %.
    pub ratio: BlockedRatio,
    /// What follows.
    pub verdict: Verdict,
    /// Whether further rounds would hardly change it.
    pub is_decided: bool,
}

/// Why no more rounds are run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// All proposals are decided.
    Decided,
    /// Equal runs differ by more than any proposal would gain.
    TooNoisy {
        /// The least gain that can be told from chance in all rounds.
        detectable: f64,
        /// The largest one that is predicted.
        predicted: f64,
        /// Rounds that would show it.
        n_rounds: u64,
    },
    /// The time that was announced is over.
    Time,
    /// A signal asked to end.
    Interrupted,
    /// No proposal is left: none was applied, or all failed.
    NoneLeft,
}

impl Rounds {
    /// No rounds yet, for so many proposals.
    #[must_use]
    pub fn new(n_proposals: usize) -> Self {
        Self {
            baselines: Vec::new(),
            proposals: vec![Vec::new(); n_proposals],
        }
    }

    /// Adds a complete round.
    pub fn add(&mut self, baselines: [f64; 2], proposals: &[(usize, f64)]) {
        self.baselines.push(baselines);
        for (idx, time) in proposals {
            self.proposals[*idx].push(*time);
        }
    }

    /// How many rounds there are.
    #[must_use]
    pub fn n(&self) -> usize {
        self.baselines.len()
    }

    /// How much equal runs differ; `None` without rounds.
    #[must_use]
    pub fn baseline_pair(&self) -> Option<BaselinePair> {
        let ratios = || self.baselines.iter().map(|[first, second]| second / first);
        let median = Median::of(ratios())?;
        let range = || {
            let least = ratios().fold(f64::INFINITY, f64::min);
            (least, ratios().fold(0.0, f64::max))
        };
        let differences = ratios().map(|ratio| ratio.ln().abs());
        // Of a normal distribution the median of magnitudes is 0.6745 standard deviations; a difference has twice the variance.
        let deviation = Median::of(differences)?.value / 0.6745 / f64::sqrt(2.0);
        Some(BaselinePair {
            ratio: median.value,
            interval: median.interval.unwrap_or_else(range),
            deviation,
        })
    }

    /// What is to be said of a proposal; `None` if it has no times.
    #[must_use]
    pub fn judge(&self, proposal: usize) -> Option<Judged> {
        let times = self.proposals.get(proposal)?.iter().copied();
        let blocks: Vec<(f64, [f64; 2])> = times.zip(self.baselines.iter().copied()).collect();
        let n_proposals = self.proposals.len();
        let ratio = BlockedRatio::of(&blocks, tail(n_proposals))?;
        let differ = self.baseline_pair()?.ratio;
        let is_clear = (ratio.value.ln()).abs() > differ.ln().abs();
        let verdict = match ratio.interval {
            None => Verdict::TooFew,
            Some((_, high)) if high < 1.0 && is_clear => Verdict::Faster,
            Some((low, _)) if low > 1.0 && is_clear => Verdict::Slower,
            Some(_) => Verdict::NoGain,
        };
        let early = EARLY / n_proposals as f64;
        Some(Judged {
            ratio,
            verdict,
            is_decided: blocks.len() >= LEAST_BEFORE_STOP
                && matches!(verdict, Verdict::Faster | Verdict::Slower)
                && ratio.p_less.min(ratio.p_more) <= early,
        })
    }

    /// Whether to run no more rounds. `predicted` is by proposal that is still run the largest part of the time that it is
    /// predicted to save, where that is predicted.
    #[must_use]
    pub fn stop(&self, n_rounds: usize, predicted: &[(usize, Option<f64>)]) -> Option<Stop> {
        if predicted.is_empty() {
            return Some(Stop::NoneLeft);
        }
        let judged = || predicted.iter().map(|(idx, _)| self.judge(*idx));
        if judged().all(|of| of.is_some_and(|of| of.is_decided)) {
            return Some(Stop::Decided);
        }
        if self.n() < LEAST_BEFORE_STOP {
            return None;
        }
        let is_open = |of: Option<Judged>| {
            of.is_none_or(|of| matches!(of.verdict, Verdict::NoGain | Verdict::TooFew))
        };
        let largest = predicted.iter().map(|(_, gain)| *gain);
        let largest = largest.collect::<Option<Vec<f64>>>()?;
        let largest = largest.into_iter().fold(0.0, f64::max);
        let detectable = self.detectable(n_rounds)?;
        let is_too_noisy = judged().all(is_open) && largest < detectable;
        is_too_noisy.then(|| Stop::TooNoisy {
            detectable,
            predicted: largest,
            n_rounds: (n_rounds as f64 * (detectable / largest.max(1e-3)).powi(2)).ceil() as u64,
        })
    }

    /// The least part of the time that a proposal must save to be told from chance in so many rounds, about.
    fn detectable(&self, n_rounds: usize) -> Option<f64> {
        let deviation = self.baseline_pair()?.deviation;
        // The error of a proposal's time against the mean of two.
        let error = deviation * (1.5 / n_rounds.max(least_rounds(1)) as f64).sqrt();
        Some(2.0 * error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_stats::random::Random;

    /// Rounds of a program with this deviation, and proposals that take these parts of its time; outliers are twice as
    /// long, and the machine becomes slower.
    fn rounds(
        random: &mut Random,
        n: usize,
        deviation: f64,
        outliers: f64,
        parts: &[f64],
    ) -> Rounds {
        let mut rounds = Rounds::new(parts.len());
        for round in 0..n {
            let mut time = |part: f64| {
                let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                let outlier = if random.unit() < outliers { 2.0 } else { 1.0 };
                part * outlier * (1.0 + deviation * normal) * (1.0 + 0.02 * round as f64)
            };
            let baselines = [time(1.0), time(1.0)];
            let of_proposals = parts.iter().enumerate();
            let of_proposals: Vec<_> = of_proposals.map(|(idx, part)| (idx, time(*part))).collect();
            rounds.add(baselines, &of_proposals);
        }
        rounds
    }

    /// As the command does it: it stops when all is decided.
    fn stopped(all: &Rounds) -> Rounds {
        let n_proposals = all.proposals.len();
        let mut seen = Rounds::new(n_proposals);
        for round in 0..all.n() {
            let times: Vec<_> = (0..n_proposals)
                .filter(|&idx| !seen.judge(idx).is_some_and(|of| of.is_decided))
                .map(|idx| (idx, all.proposals[idx][round]))
                .collect();
            if times.is_empty() {
                break;
            }
            seen.add(all.baselines[round], &times);
        }
        seen
    }

    #[test]
    fn a_planted_gain_is_found_and_its_interval_contains_it() {
        let mut random = Random::of(&[1]);
        let (mut found, mut contain) = (0, 0);
        for _ in 0..200 {
            let judged = rounds(&mut random, 10, 0.02, 0.05, &[0.9])
                .judge(0)
                .unwrap();
            found += u32::from(judged.verdict == Verdict::Faster);
            let (low, high) = judged.ratio.interval.unwrap();
            contain += u32::from(low <= 0.9 && 0.9 <= high);
        }
        assert!(found >= 190, "{found}");
        assert!(contain >= 185, "{contain}");
        let slower = rounds(&mut random, 10, 0.01, 0.0, &[1.1]).judge(0).unwrap();
        assert_eq!(slower.verdict, Verdict::Slower);
    }

    #[test]
    fn of_a_thousand_programs_that_gain_nothing_at_most_fifty_are_said_to() {
        for (n_proposals, outliers, seed) in [(1, 0.0, 2), (1, 0.2, 3), (2, 0.1, 4), (5, 0.1, 5)] {
            let mut random = Random::of(&[seed]);
            let mut n_wrong = 0;
            for _ in 0..1000 {
                let all = rounds(&mut random, 12, 0.03, outliers, &vec![1.0; n_proposals]);
                let seen = stopped(&all);
                n_wrong += u32::from((0..n_proposals).any(|idx| {
                    seen.judge(idx)
                        .is_some_and(|of| of.verdict == Verdict::Faster)
                }));
            }
            assert!(n_wrong <= 50, "{n_proposals} proposals: {n_wrong}");
        }
    }

    #[test]
    fn a_clear_gain_ends_early_and_an_unclear_one_does_not() {
        let mut random = Random::of(&[6]);
        let clear = rounds(&mut random, 10, 0.005, 0.0, &[0.9]);
        assert_eq!(stopped(&clear).n(), 7, "one of 2,187 is chance");
        let unclear = rounds(&mut random, 10, 0.03, 0.0, &[0.99]);
        assert_eq!(stopped(&unclear).n(), 10);
        let seen = stopped(&clear);
        assert_eq!(seen.stop(10, &[(0, Some(0.1))]), Some(Stop::Decided));
        assert_eq!(seen.stop(10, &[]), Some(Stop::NoneLeft));
    }

    #[test]
    fn where_equal_runs_differ_by_more_than_the_gain_it_ends_after_five_rounds() {
        let mut random = Random::of(&[8]);
        let noisy = rounds(&mut random, 5, 0.2, 0.0, &[1.0]);
        let Some(Stop::TooNoisy {
            detectable,
            predicted,
            n_rounds,
        }) = noisy.stop(10, &[(0, Some(0.02))])
        else {
            panic!("it goes on");
        };
        assert!(
            detectable > predicted && n_rounds > 10,
            "{detectable} {n_rounds}"
        );
        let calm = rounds(&mut random, 5, 0.002, 0.0, &[1.0]);
        assert_eq!(calm.stop(10, &[(0, Some(0.02))]), None);
        let few = rounds(&mut random, 4, 0.2, 0.0, &[1.0]);
        assert_eq!(few.stop(10, &[(0, Some(0.02))]), None);
        assert_eq!(
            noisy.stop(10, &[(0, None)]),
            None,
            "nothing is predicted to be compared with"
        );
    }

    #[test]
    fn three_rounds_tell_nothing() {
        let rounds = rounds(&mut Random::of(&[9]), 3, 0.001, 0.0, &[0.5]);
        assert_eq!(rounds.judge(0).unwrap().verdict, Verdict::TooFew);
        let differ = rounds.baseline_pair().unwrap();
        assert!(differ.interval.0 <= differ.ratio && differ.ratio <= differ.interval.1);
        assert_eq!(Rounds::new(1).judge(0), None);
        assert_eq!(Rounds::new(1).baseline_pair(), None);
    }
}

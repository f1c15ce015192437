//! Whether the times of the candidate in use have changed.
//!
//! A cumulative sum of the deviations from its own past (CUSUM; Page, "Continuous inspection schemes", 1954), to both
//! sides: one that becomes faster may have fallen behind others all the same.
//!
//! Where its past varies much, the sum notices even a large change late or, since what deviates becomes part of the past,
//! never. So it is a change, too, when several times in a row are all far beyond the whole past.

use std::collections::VecDeque;

use crate::evidence::ways_to_mix;

/// The past is of so many times at most.
const MAX_PAST: usize = 32;
/// With fewer times nothing is known of what is usual.
const MIN_PAST: usize = 3;
/// Times are assumed to vary by this share at least.
const LEAST_DEVIATION: f64 = 0.03;
/// What a time may deviate without counting, and the sum at which a change is reported; standard deviations.
const SLACK: f64 = 0.5;
const THRESHOLD: f64 = 6.0;
/// A change by this logarithm of a ratio, one half, is reported at once; of a smaller one no time counts for more
/// than so many standard deviations.
const LARGE: f64 = 0.405;
const MOST_OF_ONE: f64 = 4.0;
/// The last times are all beyond those before by chance once in so many cases at least.
const LEAST_CHANCES: f64 = 10_000.0;

/// What the times of the candidate in use have been.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Logarithms of ns.
    past: VecDeque<f64>,
    above: f64,
    below: f64,
    /// By what the threshold is multiplied; the power of the least chances.
    caution: i32,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            past: VecDeque::new(),
            above: 0.0,
            below: 0.0,
            caution: 1,
        }
    }
}

impl Watch {
    /// Adds a time, ns; returns whether they have changed.
    pub(crate) fn add(&mut self, time: f64) -> bool {
        let time = time.ln();
        let n = self.past.len();
        if n >= MIN_PAST {
            let mean = self.past.iter().sum::<f64>() / n as f64;
            let squares: f64 = self.past.iter().map(|of| (of - mean).powi(2)).sum();
            // The mean of a few is uncertain as well.
            let variance = squares / (n - 1) as f64 * (1.0 + 4.0 / n as f64);
            let mut deviation = (time - mean) / variance.sqrt().max(LEAST_DEVIATION);
            if (time - mean).abs() < LARGE {
                // One disturbed block is no change.
                deviation = deviation.clamp(-MOST_OF_ONE, MOST_OF_ONE);
            }
            self.above = (self.above + deviation - SLACK).max(0.0);
            self.below = (self.below - deviation - SLACK).max(0.0);
            if self.above.max(self.below) > THRESHOLD * f64::from(self.caution) {
                return true;
            }
        }
        self.past.push_back(time);
        if n == MAX_PAST {
            self.past.pop_front();
        }
        self.is_beyond()
    }

    /// Whether the last times, however many, are all far above those before, or far below, where so many of both are not
    /// by chance.
    fn is_beyond(&self) -> bool {
        let n = self.past.len();
        let middle = |(least, most): (f64, f64)| (least + most) / 2.0;
        let least_chances = LEAST_CHANCES.powi(self.caution);
        let before = extremes(self.past.iter());
        let last = extremes(self.past.iter().rev()).collect::<Vec<_>>();
        before.enumerate().take(n - 1).any(|(nth, before)| {
            let n_last = n - 1 - nth;
            let last = last[n_last - 1];
            let is_large = (middle(last) - middle(before)).abs() > LARGE;
            (last.0 > before.1 || last.1 < before.0)
                && is_large
                && ways_to_mix(n - n_last, n_last) >= least_chances
        })
    }

    /// Begins a new past: another candidate is in use, or the times are others now.
    pub(crate) fn begin_again(&mut self) {
        self.past.clear();
        (self.above, self.below) = (0.0, 0.0);
    }

    /// A change has changed nothing about which candidate is best: the next one must be twice as clear.
    pub(crate) fn was_false(&mut self) {
        self.caution = self.caution.saturating_mul(2);
    }

    /// A change has led to another candidate.
    pub(crate) fn was_true(&mut self) {
        self.caution = 1;
    }
}

/// The least and the greatest of the first time, of the first two, and so on.
fn extremes<'t>(times: impl Iterator<Item = &'t f64>) -> impl Iterator<Item = (f64, f64)> {
    times.scan((f64::INFINITY, f64::NEG_INFINITY), |(least, most), time| {
        (*least, *most) = (least.min(*time), most.max(*time));
        Some((*least, *most))
    })
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    #[test]
    fn noise_is_no_change_and_a_factor_is_one_at_once() {
        let mut random = Random::of(&[1]);
        let mut watch = Watch::default();
        let mut noise = || random.normal(10_000, 500) as f64;
        assert!((0..200).all(|_| !watch.add(noise())));
        assert!(watch.add(16_000.0));
        watch.begin_again();
        assert!((0..200).all(|_| !watch.add(16_000.0)));
        assert!(watch.add(9_000.0), "faster is a change, too");
        watch.begin_again();
        assert!((0..30).all(|_| !watch.add(9_000.0)));
        assert!(
            !watch.add(12_000.0) && !watch.add(9_000.0),
            "one disturbed block"
        );
        assert!(watch.add(12_000.0), "a second one, soon after");
    }

    #[test]
    fn a_change_beyond_a_past_of_all_kinds_is_noticed_within_few_times() {
        let mut random = Random::of(&[2]);
        for _ in 0..200 {
            let mut watch = Watch::default();
            let mut time = |factor: f64| (random.unit() * 2.0).exp() * factor;
            if (0..20).any(|_| watch.add(time(1.0))) {
                continue;
            }
            assert!((0..8).any(|_| watch.add(time(8.0))));
        }
        // As often as chance has it, and no more.
        let mut n_false = 0;
        for _ in 0..2_000 {
            let mut watch = Watch::default();
            n_false += usize::from((0..100).any(|_| {
                watch.add((random.unit() * 2.0).exp());
                watch.is_beyond()
            }));
        }
        assert!((1..60).contains(&n_false), "{n_false}");
    }

    #[test]
    fn a_small_shift_is_noticed_when_it_lasts_and_later_after_a_false_alarm() {
        let noticed = |watch: &mut Watch| {
            assert!((0..30).all(|_| !watch.add(100.0)));
            let n = (1..100).find(|_| watch.add(106.0)).unwrap();
            watch.begin_again();
            n
        };
        let mut watch = Watch::default();
        let before = noticed(&mut watch);
        watch.was_false();
        let after = noticed(&mut watch);
        assert!(
            (2..10).contains(&before) && after > before,
            "{before} {after}"
        );
        watch.was_true();
        assert_eq!(noticed(&mut watch), before);
    }
}

//! How much better one candidate is than another, from blocks in turns.
//!
//! In a round each candidate that is tried has a block, so lateness of processes and drift fall on all alike. Of each
//! pair of blocks of a round the logarithm of the ratio of their times is taken; the mean of these has a
//! Student's t interval.

use std::collections::VecDeque;
use std::sync::OnceLock;

use collbench_stats::student::two_sided_quantile;

use crate::figures::BlockFigures;
use crate::plan::MAX_CANDIDATES;

/// Most pairs of blocks that are kept.
const MAX_ROWS: usize = 32;
/// Fewer pairs have no interval.
const MIN_PAIRS: usize = 3;
/// Most times of the first trials that are kept of a candidate.
const MAX_FIRST: usize = 8;
/// The chance that a gain lies outside of its interval. It is this small because each control point looks at it
/// anew, for each candidate.
const CHANCE: f64 = 0.002;

/// How much longer calls of a candidate take than those of another, as a share of these: -0.2 is a fifth less. With the
/// interval in which it lies with a probability of 99.8 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Pairs of blocks from which it is.
    pub pairs: u32,
}

/// The times of a block, as logarithms of ns.
#[derive(Debug, Clone, Copy)]
struct Times {
    total: f64,
    least: f64,
}

type Row = [Option<Times>; MAX_CANDIDATES];

/// What blocks in turns have shown.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    rows: VecDeque<Row>,
    first: [Vec<(f64, f64)>; MAX_CANDIDATES],
}

impl Evidence {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the times of single calls of a candidate, until there are some.
    pub(crate) fn add_calls(&mut self, block: &BlockFigures) {
        let first = &mut self.first[block.candidate];
        let (totals, least) = block.settled();
        let times = totals.iter().zip(least);
        let n_missing = MAX_FIRST.saturating_sub(first.len());
        first.extend(times.map(|(&total, &least)| (total, least)).take(n_missing));
    }

    /// Adds the blocks of a round.
    pub(crate) fn add_round<'b>(&mut self, blocks: impl Iterator<Item = &'b BlockFigures>) {
        let mut rows: Vec<Row> = Vec::new();
        for block in blocks {
            let (Some(total), Some(least)) = (block.settled_total(), block.typical_least()) else {
                continue;
            };
            let times = Times {
                total: total.ln(),
                least: least.ln(),
            };
            let free = rows.iter_mut().find(|row| row[block.candidate].is_none());
            match free {
                Some(row) => row[block.candidate] = Some(times),
                None => {
                    let mut row = [None; MAX_CANDIDATES];
                    row[block.candidate] = Some(times);
                    rows.push(row);
                }
            }
        }
        self.rows.extend(rows);
        let n_surplus = self.rows.len().saturating_sub(MAX_ROWS);
        self.rows.drain(..n_surplus);
    }

    fn gain(&self, of: usize, than: usize, time: impl Fn(&Times) -> f64) -> Option<Gain> {
        let pairs = self.rows.iter();
        let differences: Vec<f64> = pairs
            .filter_map(|row| Some(time(row[of].as_ref()?) - time(row[than].as_ref()?)))
            .collect();
        let n = differences.len();
        if n < MIN_PAIRS {
            return None;
        }
        let mean = differences.iter().sum::<f64>() / n as f64;
        let squares = differences
            .iter()
            .map(|of| (of - mean).powi(2))
            .sum::<f64>();
        let df = (n - 1) as f64;
        let error = (squares / df / n as f64).sqrt();
        let half = quantile(n) * error;
        Some(Gain {
            estimate: mean.exp_m1(),
            lower: (mean - half).exp_m1(),
            upper: (mean + half).exp_m1(),
            pairs: n as u32,
        })
    }

    /// How much longer the calls of a candidate take than those of another, over all processes.
    pub(crate) fn of_totals(&self, of: usize, than: usize) -> Option<Gain> {
        self.gain(of, than, |times| times.total)
    }

    /// How much longer the last to arrive is in a call of a candidate than in one of another.
    pub(crate) fn of_least(&self, of: usize, than: usize) -> Option<Gain> {
        self.gain(of, than, |times| times.least)
    }

    /// Whether each of the first calls of a candidate took less than half as long as each of those of another, of two of each
    /// at least, or less than a quarter, in all figures that count. If both were the same, so many calls would be apart like
    /// that by chance once in `chance`, even if times were arbitrarily far apart; `None` asks for no more calls.
    pub(crate) fn is_far_better(
        &self,
        of: usize,
        than: usize,
        by_least: bool,
        chance: Option<f64>,
    ) -> bool {
        let (n, m) = (self.first[of].len(), self.first[than].len());
        let is_by_chance = chance.is_some_and(|least| ways_to_mix(n, m) < least);
        let is_apart = |apart| self.are_apart(of, than, by_least, apart);
        !is_by_chance && (is_apart((2.0, 2)) || is_apart((4.0, 1)))
    }

    /// Whether the first calls of a candidate, of so many of both at least, took less than those of another by a factor.
    fn are_apart(
        &self,
        of: usize,
        than: usize,
        by_least: bool,
        (factor, calls): (f64, usize),
    ) -> bool {
        let (ones, others) = (&self.first[of], &self.first[than]);
        if ones.len() < calls || others.len() < calls {
            return false;
        }
        let is_apart = |time: fn(&(f64, f64)) -> f64| {
            let most = ones.iter().map(time).fold(0.0, f64::max);
            let least = others.iter().map(time).fold(f64::INFINITY, f64::min);
            factor * most < least
        };
        is_apart(|times| times.0) && (!by_least || is_apart(|times| times.1))
    }
}

/// By how many standard errors the mean of `n` values, at most [`MAX_ROWS`], may miss.
fn quantile(n: usize) -> f64 {
    static QUANTILES: OnceLock<[f64; MAX_ROWS + 1]> = OnceLock::new();
    let all = QUANTILES.get_or_init(|| {
        std::array::from_fn(|n| match n {
            0 | 1 => f64::INFINITY,
            _ => two_sided_quantile(CHANCE, (n - 1) as f64),
        })
    });
    all[n]
}

/// In how many orders `n` and `m` equal things can be mixed.
pub(crate) fn ways_to_mix(n: usize, m: usize) -> f64 {
    (1..=m).map(|nth| (n + nth) as f64 / nth as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(candidate: usize, total: f64, least: f64) -> BlockFigures {
        BlockFigures {
            candidate,
            calls: 20,
            is_impossible: false,
            totals: vec![total; 2],
            least: vec![least; 2],
            n_interrupted: 0,
        }
    }

    #[test]
    fn a_gain_is_that_of_blocks_of_the_same_round_whatever_drifts_between_rounds() {
        let mut evidence = Evidence::default();
        assert_eq!(evidence.of_totals(1, 0), None);
        for drift in [1.0, 5.0, 2.0, 40.0] {
            let noise = 1.0 + drift / 1_000.0;
            let blocks = [
                block(0, 100.0 * drift, 10.0),
                block(1, 80.0 * drift * noise, 10.0),
            ];
            evidence.add_round(blocks.iter());
        }
        // Only one of both is in it.
        evidence.add_round([block(1, 1.0, 1.0)].iter());
        let gain = evidence.of_totals(1, 0).unwrap();
        assert!((gain.estimate + 0.19).abs() < 0.02, "{gain:?}");
        assert!(gain.lower < gain.estimate && gain.estimate < gain.upper && gain.upper < 0.0);
        assert_eq!(gain.pairs, 4);
        assert_eq!(evidence.of_least(1, 0).unwrap().estimate, 0.0);
        assert!(evidence.of_totals(0, 1).unwrap().lower > 0.0);
    }

    #[test]
    fn far_better_is_who_is_far_better_in_each_of_its_first_calls() {
        let mut evidence = Evidence::default();
        evidence.add_calls(&block(0, 100.0, 10.0));
        evidence.add_calls(&block(1, 40.0, 4.0));
        evidence.add_calls(&block(2, 40.0, 6.0));
        assert!(evidence.is_far_better(1, 0, true, None));
        assert!(
            !evidence.is_far_better(2, 0, true, None) && evidence.is_far_better(2, 0, false, None)
        );
        assert!(
            !evidence.is_far_better(1, 0, true, Some(1_000.0)),
            "two calls can be that by chance"
        );
        for _ in 0..2 {
            evidence.add_calls(&block(0, 100.0, 10.0));
            evidence.add_calls(&block(1, 40.0, 4.0));
        }
        assert!(!evidence.is_far_better(1, 0, true, Some(1_000.0)));
        evidence.add_calls(&block(0, 100.0, 10.0));
        evidence.add_calls(&block(1, 40.0, 4.0));
        assert!(evidence.is_far_better(1, 0, true, Some(1_000.0)));
        evidence.clear();
        assert!(!evidence.is_far_better(1, 0, true, None));
    }

    #[test]
    fn equal_things_mix_in_as_many_orders_as_the_binomial_coefficient_says() {
        assert!((ways_to_mix(2, 2) - 6.0).abs() < 1e-9);
        assert!((ways_to_mix(6, 6) - 924.0).abs() < 1e-6);
    }
}

//! Finds the size for which something takes a wanted time.
//!
//! Sizes and times are compared by their logarithms, in which a power law is a straight line. The
//! next size is where the parabola through the three known points nearest to the wanted time has
//! that time. A size outside of the known bracket, or one that is known already, is replaced by the
//! geometric middle of the bracket.
//!
//! # Source
//! Denis et al. 2022, section 5.1: an iterative method with quadratic interpolation, which has
//! converged when the error is below 10 %. Where it does not converge, the paper measures 0 bytes;
//! here nothing is measured.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Largest difference of the time found from the time wanted.
pub(super) const TOLERANCE: f64 = 0.1;
/// At most this many sizes are tried.
const MOST_TRIES: usize = 30;
/// At most this often a search starts again without what it knows, since measurements before may have
/// been disturbed.
const MOST_RESTARTS: u32 = 3;
/// A bracket is closed if its sizes differ by less than this factor: a time between theirs is then
/// one that varies or jumps.
const CLOSED: f64 = 1.02;
/// A size is at most this many times the largest known one, so that no try takes far too long.
const GROWTH: f64 = 16.0;

/// Where a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// At a size whose time is within the tolerance.
    Found(u64),
    /// The smallest size takes longer.
    SmallestTakesLonger,
    /// The largest size, for which there is memory, is faster.
    LargestIsFaster,
    /// At no size: times jump over the wanted one, or vary too much.
    NotConverged,
}

/// Searches the size that takes `wanted_ns`.
///
/// `known` are sizes with their times, in any order, from earlier searches; the search adds to them.
/// `exponent` is that of the power law that times are expected to follow.
///
/// # Errors
/// Those of `measure`, which returns the time of a size in ns, > 0.
pub(super) fn search(
    wanted_ns: f64,
    sizes: RangeInclusive<u64>,
    exponent: f64,
    known: &mut Vec<(u64, f64)>,
    mut measure: impl FnMut(u64) -> anyhow::Result<f64>,
) -> anyhow::Result<Outcome> {
    let (smallest, largest) = (*sizes.start(), *sizes.end());
    let is_near = |ns: f64| (ns / wanted_ns - 1.0).abs() <= TOLERANCE;
    let mut n_tries = 0;
    let mut restarts_left = MOST_RESTARTS;
    loop {
        let nearest = known.iter().min_by(|a, b| {
            let distance = |point: &(u64, f64)| (point.1 / wanted_ns).ln().abs();
            distance(a).total_cmp(&distance(b))
        });
        match nearest {
            Some(&(size, ns)) if is_near(ns) => return Ok(Outcome::Found(size)),
            _ if n_tries >= MOST_TRIES => return Ok(Outcome::NotConverged),
            _ => {}
        }
        let bracket = Bracket::of(known, wanted_ns);
        if bracket.above == Some(smallest) && bracket.below.is_none() {
            return Ok(Outcome::SmallestTakesLonger);
        }
        if bracket.below == Some(largest) && bracket.above.is_none() {
            return Ok(Outcome::LargestIsFaster);
        }
        let next = bracket.next(known, wanted_ns, exponent);
        let next = (next.round() as u64).clamp(smallest, largest);
        let next = if bracket.is_closed() {
            None
        } else if known.iter().any(|(size, _)| *size == next) {
            bracket.middle(smallest, largest)
        } else {
            Some(next)
        };
        match next {
            Some(size) => {
                let ns = measure(size)?.max(1.0);
                known.retain(|(tried, _)| *tried != size);
                known.push((size, ns));
            }
            // The bracket is closed: by a jump, or by a disturbed measurement of before.
            None if restarts_left == 0 => return Ok(Outcome::NotConverged),
            None => {
                restarts_left -= 1;
                known.clear();
                let size = bracket.below.or(bracket.above).unwrap_or(smallest);
                known.push((size, measure(size)?.max(1.0)));
            }
        }
        n_tries += 1;
    }
}

/// The known sizes next to the one that is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bracket {
    /// The largest size that is faster than wanted, of those below `above`.
    below: Option<u64>,
    /// The smallest size that takes longer.
    above: Option<u64>,
}

impl Bracket {
    fn of(known: &[(u64, f64)], wanted_ns: f64) -> Self {
        let slower = known.iter().filter(|(_, ns)| *ns > wanted_ns);
        let above = slower.map(|(size, _)| *size).min();
        let faster = known
            .iter()
            .filter(|(size, ns)| *ns <= wanted_ns && above.is_none_or(|above| *size < above));
        let below = faster.map(|(size, _)| *size).max();
        Self { below, above }
    }

    /// The next size to try, by interpolation within the bracket.
    fn next(self, known: &[(u64, f64)], wanted_ns: f64, exponent: f64) -> f64 {
        let wanted = wanted_ns.ln();
        let mut points: Vec<(f64, f64)> = known
            .iter()
            .map(|(size, ns)| (ns.ln(), (*size as f64).max(0.5).ln()))
            .collect();
        points.sort_by(|a, b| (a.0 - wanted).abs().total_cmp(&(b.0 - wanted).abs()));
        // Equal times have no parabola.
        points.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-9);
        let guess = match points[..] {
            [] => return 1_024.0_f64.powf(1.0 / exponent),
            [(time, size)] => size + (wanted - time) / exponent,
            [a, b] => through([a, b], wanted),
            [a, b, c, ..] => through([a, b, c], wanted),
        };
        let largest = known.iter().map(|(size, _)| *size).max().unwrap_or(1) as f64;
        let guess = guess.exp().clamp(0.0, largest.max(1.0) * GROWTH);
        match (self.below, self.above) {
            (Some(below), _) if guess <= below as f64 => self.inside(),
            (_, Some(above)) if guess >= above as f64 => self.inside(),
            _ => guess,
        }
    }

    /// A size inside the bracket, or beyond it where one side is open.
    fn inside(self) -> f64 {
        match (self.below, self.above) {
            (Some(below), Some(above)) => (below.max(1) as f64 * above as f64).sqrt(),
            (Some(below), None) => below.max(1) as f64 * 2.0,
            (None, Some(above)) => above as f64 / 2.0,
            (None, None) => 1.0,
        }
    }

    fn is_closed(self) -> bool {
        let sizes = self.below.zip(self.above);
        sizes.is_some_and(|(below, above)| (above as f64) < below as f64 * CLOSED)
    }

    /// The geometric middle of the bracket; `None` where it is closed.
    fn middle(self, smallest: u64, largest: u64) -> Option<u64> {
        let middle = (self.inside().round() as u64).clamp(smallest, largest);
        let is_known = Some(middle) == self.below || Some(middle) == self.above;
        (!is_known).then_some(middle)
    }
}

/// The polynomial through points of different x, at `x` (Lagrange).
fn through<const N: usize>(points: [(f64, f64); N], x: f64) -> f64 {
    let terms = points.iter().enumerate().map(|(i, (own, y))| {
        let others = points.iter().enumerate().filter(|(j, _)| *j != i);
        others.fold(*y, |product, (_, (other, _))| {
            product * (x - other) / (own - other)
        })
    });
    terms.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(wanted_ns: f64, largest: u64, time: impl Fn(u64) -> f64) -> (Outcome, usize) {
        let mut n_measured = 0;
        let outcome = search(wanted_ns, 1..=largest, 1.0, &mut Vec::new(), |size| {
            n_measured += 1;
            Ok(time(size))
        });
        (outcome.unwrap(), n_measured)
    }

    #[test]
    fn a_parabola_is_met_at_each_of_its_points() {
        let parabola = |x: f64| 2.0 - 3.0 * x + 0.5 * x * x;
        let points = [-1.0, 0.5, 4.0].map(|x| (x, parabola(x)));
        for x in [-2.0, 0.5, 3.0, 10.0] {
            assert!((through(points, x) - parabola(x)).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn a_size_is_found_in_a_few_tries_whatever_the_law() {
        let laws: [fn(f64) -> f64; 4] = [
            |n| 2_000.0 + 0.8 * n,
            |n| 0.5 * n.powi(3),
            |n| 20_000.0 + 3.0 * n + 1e-6 * n * n,
            // Two protocols.
            |n| {
                if n < 65_536.0 {
                    1_000.0 + n
                } else {
                    30_000.0 + 0.7 * n
                }
            },
        ];
        for (idx, law) in laws.into_iter().enumerate() {
            for wanted in [5e5, 3e6, 2e7, 1e9] {
                let (outcome, n_measured) = find(wanted, 1 << 40, |size| law(size as f64));
                let Outcome::Found(size) = outcome else {
                    panic!("law {idx}, {wanted}: {outcome:?}");
                };
                let error = law(size as f64) / wanted - 1.0;
                assert!(error.abs() <= TOLERANCE, "law {idx}, {wanted}: {error}");
                assert!(n_measured <= 14, "law {idx}, {wanted}: {n_measured}");
            }
        }
    }

    #[test]
    fn points_of_earlier_searches_spare_measurements() {
        let mut known = vec![(1_000, 1_000.0), (8_000, 8_000.0), (32_000, 32_000.0)];
        let outcome = search(16_000.0, 1..=1 << 30, 1.0, &mut known, |size| {
            Ok(size as f64)
        });
        assert_eq!(outcome.unwrap(), Outcome::Found(16_000));
        assert_eq!(known.len(), 4);
        let outcome = search(8_300.0, 1..=1 << 30, 1.0, &mut known, |_| {
            panic!("is known")
        });
        assert_eq!(outcome.unwrap(), Outcome::Found(8_000));
    }

    #[test]
    fn a_time_outside_of_the_sizes_is_not_found_and_it_is_said_on_which_side() {
        let time = |size: u64| 1_000.0 + size as f64;
        assert_eq!(find(1e9, 1 << 20, time).0, Outcome::LargestIsFaster);
        assert_eq!(find(500.0, 1 << 20, time).0, Outcome::SmallestTakesLonger);
    }

    #[test]
    fn a_jump_over_the_wanted_time_does_not_converge() {
        let jump = |size: u64| {
            if size < 5_000 {
                100.0 + size as f64
            } else {
                1e6 + size as f64
            }
        };
        let (outcome, n_measured) = find(100_000.0, 1 << 30, jump);
        assert_eq!(outcome, Outcome::NotConverged);
        assert!(n_measured <= 2 * MOST_TRIES);
    }

    #[test]
    fn times_that_vary_are_found_within_the_tolerance_of_what_was_measured() {
        let mut state = 7u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            0.96 + 0.08 * (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let mut known = Vec::new();
        for wanted in [5e5, 1e6, 2e6, 4e6, 8e6, 2e7] {
            let outcome = search(wanted, 1..=1 << 40, 1.0, &mut known, |size| {
                Ok((2_000.0 + size as f64) * noise())
            });
            let Outcome::Found(size) = outcome.unwrap() else {
                panic!("{wanted}");
            };
            let error = (2_000.0 + size as f64) / wanted - 1.0;
            assert!(error.abs() <= TOLERANCE + 0.05, "{wanted}: {error}");
        }
    }

    #[test]
    fn a_measurement_that_was_disturbed_does_not_end_a_search() {
        for disturbed in 0..12 {
            let mut n_measured = 0;
            let outcome = search(5e6, 1..=1 << 40, 1.0, &mut Vec::new(), |size| {
                n_measured += 1;
                let factor = if n_measured == disturbed + 1 {
                    30.0
                } else {
                    1.0
                };
                Ok((2_000.0 + size as f64) * factor)
            });
            let Outcome::Found(size) = outcome.unwrap() else {
                panic!("disturbed at {disturbed}");
            };
            let time = 2_000.0 + size as f64;
            assert!((time / 5e6 - 1.0).abs() <= TOLERANCE, "{disturbed}: {time}");
        }
    }
}

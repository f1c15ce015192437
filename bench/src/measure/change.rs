//! Whether times changed within a measurement.

use collbench_stats::spread::Spread;
use collbench_stats::student;
use serde::{Deserialize, Serialize};

/// Chance of the difference between both halves above which nothing is said.
const P: f64 = 0.001;
/// With fewer repetitions in either half, nothing is said.
const LEAST: usize = 10;

/// Times of the second half of the repetitions, compared with those of the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Change {
    /// Median of the first half, ns.
    pub first_ns: f64,
    /// Median of the second half, ns.
    pub second_ns: f64,
    /// Chance of so large a difference of ranks if nothing changed.
    pub p: f64,
}

impl Change {
    /// Of times in the order in which they were measured; `None` if both halves may be alike, or
    /// their medians differ by at most `relative` of the first.
    #[must_use]
    pub fn within(times: &[f64], relative: f64) -> Option<Self> {
        let (first, second) = times.split_at(times.len() / 2);
        if first.len() < LEAST {
            return None;
        }
        let median = |half: &[f64]| Spread::of(half.iter().copied()).map(|spread| spread.median);
        let (first_ns, second_ns) = (median(first)?, median(second)?);
        let p = mann_whitney_p(first, second);
        let is_large = (second_ns - first_ns).abs() > relative * first_ns.abs();
        (p < P && is_large).then_some(Self {
            first_ns,
            second_ns,
            p,
        })
    }
}

/// P of the rank sum test of Mann and Whitney, two-sided, with the correction for ties; 1 if all
/// values are equal. Student's t with n - 2 degrees of freedom stands for the normal distribution,
/// which for few values would give too small a P.
#[must_use]
fn mann_whitney_p(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = a.iter().map(|&x| (x, true)).collect();
    all.extend(b.iter().map(|&x| (x, false)));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut rank_sum, mut ties, mut before) = (0.0, 0.0, 0.0);
    for same in all.chunk_by(|x, y| x.0 == y.0) {
        let n = same.len() as f64;
        let of_a = same.iter().filter(|(_, is_a)| *is_a).count() as f64;
        rank_sum += of_a * (before + (n + 1.0) / 2.0);
        ties += n * n * n - n;
        before += n;
    }
    let (n_a, n_b, n) = (a.len() as f64, b.len() as f64, all.len() as f64);
    let mean = n_a * (n + 1.0) / 2.0;
    let variance = n_a * n_b / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
    if variance > 0.0 {
        student::two_sided_p((rank_sum - mean) / variance.sqrt(), n - 2.0)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    #[test]
    fn p_is_near_the_share_of_all_divisions_that_differ_as_much() {
        let values = [
            3.1, 4.0, 4.0, 5.5, 6.0, 7.2, 7.2, 8.1, 9.0, 10.0, 11.0, 12.5,
        ];
        let sum_of = |mask: u32| {
            // Ranks by counting.
            let rank = |i: usize| {
                let less = values.iter().filter(|v| **v < values[i]).count() as f64;
                let same = values.iter().filter(|v| **v == values[i]).count() as f64;
                less + (same + 1.0) / 2.0
            };
            let of_mask = (0..12).filter(|i| mask >> i & 1 == 1);
            of_mask.map(rank).sum::<f64>()
        };
        let divisions: Vec<u32> = (0..1 << 12).filter(|m: &u32| m.count_ones() == 6).collect();
        let distance = |mask: u32| (sum_of(mask) - 39.0).abs();
        for mask in [0b0000_0011_1111, 0b0001_0101_0111, 0b1010_1010_1010] {
            let part = |is_a: bool| -> Vec<f64> {
                let mine = (0..12).filter(|i| (mask >> i & 1 == 1) == is_a);
                mine.map(|i| values[i]).collect()
            };
            let p = mann_whitney_p(&part(true), &part(false));
            let farther = divisions.iter().filter(|&&m| distance(m) >= distance(mask));
            let exact = farther.count() as f64 / divisions.len() as f64;
            assert!((p - exact).abs() < 0.06, "{mask:b}: {p}, exactly {exact}");
        }
        assert_eq!(mann_whitney_p(&[1.0; 5], &[1.0; 5]), 1.0);
    }

    #[test]
    fn a_step_is_found_and_noise_with_outliers_is_not() {
        let mut random = Random::from_state(2);
        let mut found = 0;
        for _ in 0..500 {
            let mut times: Vec<f64> = (0..80)
                .map(|_| {
                    let time = random.normal(10_000, 400) as f64;
                    if random.unit() < 0.05 {
                        50.0 * time
                    } else {
                        time
                    }
                })
                .collect();
            found += usize::from(Change::within(&times, 0.0).is_some());
            times[40..].iter_mut().for_each(|time| *time *= 1.1);
            let change = Change::within(&times, 0.03).unwrap();
            let ratio = change.second_ns / change.first_ns;
            assert!((1.05..1.15).contains(&ratio), "{change:?}");
            assert_eq!(Change::within(&times, 0.2), None);
        }
        assert!(found <= 4, "{found} of 500 at p < 0.001");
        assert_eq!(Change::within(&[1.0, 9.0], 0.0), None);
    }
}

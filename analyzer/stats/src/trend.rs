//! Whether a value grows or shrinks over time, by how much, and whether steadily.
//!
//! The slope is that of Theil and Sen: the median of the slopes between all pairs of points, which
//! single outliers do not move. It is significant by the test of Mann and Kendall on the same
//! pairs, with its exact distribution.

/// Most points: the distribution takes their cube.
const MAX_POINTS: usize = 64;

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change of y for a change of x by 1.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// Probability of pairs that agree so much in direction where y does not depend on x,
    /// two-sided.
    pub p: f64,
    /// Whether the points are at least as close to the line as to a step from one level to another
    /// (by the sum of distances).
    pub is_steady: bool,
}

impl Trend {
    /// The line at x.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// The line through points (x, y), ascending by x, each x once; `None` for fewer than three or
    /// more than 64.
    #[must_use]
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        if !(3..=MAX_POINTS).contains(&points.len()) {
            return None;
        }
        let pairs = (1..points.len()).flat_map(|j| (0..j).map(move |i| (points[i], points[j])));
        let mut slopes: Vec<f64> = pairs.map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect();
        let n_rising = slopes.iter().filter(|slope| **slope > 0.0).count();
        let n_falling = slopes.iter().filter(|slope| **slope < 0.0).count();
        let slope = median(&mut slopes);
        let mut offsets: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
        let intercept = median(&mut offsets);
        let to_line = |(x, y): &(f64, f64)| (y - intercept - slope * x).abs();
        let distance: f64 = points.iter().map(to_line).sum();
        Some(Self {
            slope,
            intercept,
            p: kendall_p(points.len(), n_rising.abs_diff(n_falling)),
            is_steady: distance <= distance_from_step(points),
        })
    }
}

/// Median of at least one number.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        numbers[middle]
    } else {
        f64::midpoint(numbers[middle - 1], numbers[middle])
    }
}

/// Sum of the distances of points from the step that is closest to them.
fn distance_from_step(points: &[(f64, f64)]) -> f64 {
    let from_level = |points: &[(f64, f64)]| -> f64 {
        let mut values: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
        let level = median(&mut values);
        values.iter().map(|value| (value - level).abs()).sum()
    };
    let steps = (1..points.len()).map(|at| {
        let (before, after) = points.split_at(at);
        from_level(before) + from_level(after)
    });
    steps.fold(f64::MAX, f64::min)
}

/// Probability that of the pairs of `n` points in random order those that rise and those that fall
/// differ in number by `difference` or more, two-sided.
fn kendall_p(n: usize, difference: usize) -> f64 {
    // The distribution of the number of pairs that fall, built up point by point: the next point is
    // below 0 to all of those before it, each with the same probability.
    let mut chances = vec![1.0f64];
    for n_before in 1..n {
        let mut next = vec![0.0; chances.len() + n_before];
        for (n_falling, chance) in chances.iter().enumerate() {
            for more in 0..=n_before {
                next[n_falling + more] += chance / (n_before + 1) as f64;
            }
        }
        chances = next;
    }
    let n_pairs = chances.len() - 1;
    let most_falling = n_pairs.saturating_sub(difference) / 2;
    let tail: f64 = chances[..=most_falling].iter().sum();
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// 24 points of a value, with noise, and every eighth far above.
    fn points(seed: u64, value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let random = &mut Random::from_state(seed);
        let points = (0..24).map(|n| {
            let outlier = if n % 8 == 5 { 20.0 } else { 0.0 };
            let x = f64::from(n);
            (x, value(x) + random.unit() - 0.5 + outlier)
        });
        points.collect()
    }

    #[test]
    fn a_line_is_found_in_spite_of_outliers() {
        for seed in 0..100 {
            let found = Trend::through(&points(seed, |x| 3.0 + 0.5 * x)).unwrap();
            assert!((found.slope - 0.5).abs() < 0.1, "seed {seed}: {found:?}");
            assert!((found.at(12.0) - 9.0).abs() < 1.0, "seed {seed}: {found:?}");
            assert!(found.p < 1e-5 && found.is_steady, "seed {seed}: {found:?}");
            let falling = Trend::through(&points(seed, |x| -0.5 * x)).unwrap();
            assert!(
                (falling.slope + 0.5).abs() < 0.1,
                "seed {seed}: {falling:?}"
            );
        }
    }

    #[test]
    fn a_step_is_no_line_and_noise_is_nothing() {
        let mut n_significant = 0;
        for seed in 0..1_000 {
            let step = |x: f64| if x < 10.0 { 0.0 } else { 8.0 };
            let found = Trend::through(&points(seed, step)).unwrap();
            assert!(!found.is_steady, "seed {seed}: {found:?}");
            let random = &mut Random::from_state(seed);
            let noise: Vec<(f64, f64)> = (0..24).map(|x| (x.into(), random.unit())).collect();
            let noise = Trend::through(&noise).unwrap();
            n_significant += u32::from(noise.p < 0.05);
        }
        assert!((30..=70).contains(&n_significant), "{n_significant}");
    }

    #[test]
    fn probabilities_are_those_of_all_orders() {
        // Of the 24 orders of four points 1, 3, 5, 6, 5, 3, 1 have 0, 1, 2 ... pairs that fall.
        for (difference, n_orders) in [(6, 2.0), (5, 2.0), (4, 8.0), (2, 18.0), (0, 24.0)] {
            let p = kendall_p(4, difference);
            assert!((p - n_orders / 24.0).abs() < 1e-12, "{difference}: {p}");
        }
        assert_eq!(Trend::through(&[(0.0, 1.0), (1.0, 2.0)]), None);
    }
}

//! Straight lines through times over sizes, and where one line does not fit all sizes.

use serde::Serialize;

use super::estimate::Estimate;

/// A time over the size of messages: `ns = intercept_ns + ns_per_byte * bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::logp) struct Line {
    /// Least and greatest size of the points, bytes.
    pub(in crate::logp) from_bytes: usize,
    pub(in crate::logp) to_bytes: usize,
    /// Time at 0 bytes, ns; may be negative.
    pub(in crate::logp) intercept_ns: f64,
    /// ns per byte.
    pub(in crate::logp) ns_per_byte: f64,
    /// Number of points.
    pub(in crate::logp) n: usize,
}

/// A size, bytes, and a time > 0.
pub(in crate::logp) type Sized = (usize, Estimate);

/// Fewest points of a line.
const FEWEST: usize = 3;
/// Standard deviation of a point from the line, as a part of its time, at which a line fits, beside
/// that of its own error.
const DEVIATION: f64 = 0.05;

/// Standard deviation of a point from the line that fits it, ns. The error of an estimate is about
/// two of its own.
fn deviation_ns(time: Estimate) -> f64 {
    (DEVIATION * time.ns).hypot(time.error_ns / 2.0)
}

impl Line {
    /// The least-squares line through at least two points of different sizes, whose squares have
    /// these weights.
    fn weighted(points: &[Sized], weight: impl Fn(Estimate) -> f64) -> Option<Self> {
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            let terms = points.iter();
            terms.map(|&(x, y)| weight(y) * of(x as f64, y.ns)).sum()
        };
        let all = sum(&|_, _| 1.0);
        let (x_mean, y_mean) = (sum(&|x, _| x) / all, sum(&|_, y| y) / all);
        let spread = sum(&|x, _| (x - x_mean).powi(2));
        if points.len() < 2 || spread <= 0.0 {
            return None;
        }
        let ns_per_byte = sum(&|x, y| (x - x_mean) * (y - y_mean)) / spread;
        Some(Self {
            from_bytes: points.iter().map(|point| point.0).min()?,
            to_bytes: points.iter().map(|point| point.0).max()?,
            intercept_ns: y_mean - ns_per_byte * x_mean,
            ns_per_byte,
            n: points.len(),
        })
    }

    /// The line with the least sum of squares of distances, to which the longest times matter most.
    pub(in crate::logp) fn of_times(points: &[Sized]) -> Option<Self> {
        Self::weighted(points, |_| 1.0)
    }

    /// The line with the least sum of squares of distances, each in standard deviations.
    fn of_deviations(points: &[Sized]) -> Option<Self> {
        Self::weighted(points, |y| deviation_ns(y).powi(-2))
    }

    fn at(&self, bytes: usize) -> f64 {
        self.intercept_ns + self.ns_per_byte * bytes as f64
    }

    /// Sum of the squares of distances, each in standard deviations.
    fn misfit(&self, points: &[Sized]) -> f64 {
        let squares = points.iter();
        let squares = squares.map(|&(x, y)| ((y.ns - self.at(x)) / deviation_ns(y)).powi(2));
        squares.sum()
    }

    /// As few lines as fit points, ascending by size: a protocol switches where one ends.
    ///
    /// Of all partitions the one with the least misfit, where each line more must lessen it by
    /// 3 ln n (the Bayesian information criterion: a line has two parameters and an end).
    pub(in crate::logp) fn segments(points: &[Sized]) -> Vec<Self> {
        let n = points.len();
        let penalty = 3.0 * (n.max(1) as f64).ln();
        // Of the points before each index: the least misfit, and the lines with it.
        let mut best: Vec<Option<(f64, Vec<Self>)>> = vec![Some((0.0, Vec::new()))];
        for end in 1..=n {
            let mut found: Option<(f64, Vec<Self>)> = None;
            for begin in 0..=end.saturating_sub(FEWEST.min(n)) {
                let part = &points[begin..end];
                let Some(((before, lines), line)) =
                    best[begin].as_ref().zip(Self::of_deviations(part))
                else {
                    continue;
                };
                let misfit = before + line.misfit(part) + penalty;
                if found.as_ref().is_none_or(|(least, _)| misfit < *least) {
                    found = Some((misfit, [&lines[..], &[line]].concat()));
                }
            }
            best.push(found);
        }
        best.pop()
            .flatten()
            .map_or_else(Vec::new, |(_, lines)| lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(time: impl Fn(f64) -> f64) -> Vec<Sized> {
        (3..=20)
            .map(|exponent| 1 << exponent)
            .map(|bytes| (bytes, exact(time(bytes as f64))))
            .collect()
    }

    fn exact(ns: f64) -> Estimate {
        Estimate { ns, error_ns: 0.0 }
    }

    #[test]
    fn one_line_is_enough_for_a_line() {
        let lines = Line::segments(&points(|x| 5_000.0 + 0.08 * x));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!((lines[0].intercept_ns - 5_000.0).abs() < 1e-6);
        assert!((lines[0].ns_per_byte - 0.08).abs() < 1e-12);
    }

    #[test]
    fn another_protocol_from_some_size_on_is_found_there() {
        let switched = |x: f64| if x < 65_536.0 { 0.0 } else { 40_000.0 };
        let lines = Line::segments(&points(|x| 5_000.0 + 0.08 * x + switched(x)));
        let ends: Vec<_> = lines
            .iter()
            .map(|line| (line.from_bytes, line.to_bytes))
            .collect();
        assert_eq!(ends, [(8, 32_768), (65_536, 1 << 20)]);
        assert!((lines[1].intercept_ns - 45_000.0).abs() < 1e-3);
        // Another rate only.
        let copied = |x: f64| if x < 4_096.0 { 1.2 } else { 0.1 };
        let lines = Line::segments(&points(|x| 1_000.0 + copied(x) * x));
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0].to_bytes, 2_048);
    }

    #[test]
    fn noise_of_a_few_percent_is_no_protocol() {
        let mut random = collbench_stats::random::Random::from_state(3);
        let noisy: Vec<Sized> = points(|x| 5_000.0 + 0.08 * x)
            .into_iter()
            .map(|(x, y)| (x, y.times(random.uniform_real(0.95, 1.05))))
            .collect();
        assert_eq!(Line::segments(&noisy).len(), 1);
    }

    #[test]
    fn few_points_have_one_line_or_none() {
        assert_eq!(Line::segments(&[]), []);
        let [first, second] = [(8, exact(10.0)), (16, exact(12.0))];
        assert_eq!(Line::segments(&[first]), []);
        assert_eq!(Line::segments(&[first, second]).len(), 1);
    }

    #[test]
    fn uncertain_times_hardly_move_a_line() {
        let mut points = points(|x| 80.0 * x);
        for (bytes, time) in &mut points {
            if [1 << 18, 1 << 19].contains(bytes) {
                time.ns *= 1.15;
                time.error_ns = 0.3 * time.ns;
            }
        }
        // The last four only, as if larger messages alone were measured.
        let lines = Line::segments(&points[points.len() - 4..]);
        assert_eq!(lines.len(), 1);
        let off = lines[0].ns_per_byte / 80.0 - 1.0;
        assert!(off.abs() < 0.02, "{off}");
    }
}

//! The knots of piecewise linear functions, and lines through points.

/// What is known of the time of hosts in advance.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// By host: time x of its measured offsets and the correction there, ascending; empty for the
    /// first host.
    pub(crate) points: Vec<Vec<(f64, f64)>>,
}

/// Evenly spaced knots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Knots {
    pub(crate) begin_ns: f64,
    pub(crate) step_ns: f64,
    pub(crate) n: usize,
}

impl Knots {
    /// Knots for a run from `begin_ns` to `end_ns` with this number of hosts.
    pub(crate) fn of(begin_ns: i64, end_ns: i64, n_hosts: usize) -> Self {
        let length = (end_ns.saturating_sub(begin_ns)).max(1) as f64;
        let most = (8_000 / n_hosts.max(1)).clamp(64, 1_000) as f64;
        let step = (length / 100.0).clamp(1e8, 5e9).max(length / most);
        Self {
            begin_ns: begin_ns as f64,
            step_ns: step,
            n: (length / step).ceil() as usize + 1,
        }
    }

    pub(crate) fn at(&self, knot: usize) -> f64 {
        self.begin_ns + knot as f64 * self.step_ns
    }

    pub(crate) fn nearest(&self, x: f64) -> usize {
        let knot = ((x - self.begin_ns) / self.step_ns).round();
        (knot.max(0.0) as usize).min(self.n - 1)
    }

    /// Value at a knot minus value at `x` of the line with these values at the knots.
    pub(crate) fn change(&self, values: &[f64], x: f64, knot: usize) -> f64 {
        values[knot] - self.value(values, x)
    }

    /// Value at `x` of the line with these values at the knots, extrapolated beyond them.
    pub(crate) fn value(&self, values: &[f64], x: f64) -> f64 {
        let at = (x - self.begin_ns) / self.step_ns;
        let left = (at.max(0.0) as usize).min(self.n.saturating_sub(2));
        let [a, b] = values[left..left + 2] else {
            return values[0];
        };
        a + (b - a) * (at - left as f64)
    }
}

/// Value at `x` of straight lines from point to point, extrapolated at both ends; 0 without points.
pub(crate) fn line_through(points: &[(f64, f64)], x: f64) -> f64 {
    match points {
        [] => 0.0,
        [(_, only)] => *only,
        _ => {
            let behind = points.partition_point(|point| point.0 <= x);
            let left = behind.saturating_sub(1).min(points.len() - 2);
            let ((x0, y0), (x1, y1)) = (points[left], points[left + 1]);
            if x1 > x0 {
                y0 + (y1 - y0) * (x - x0) / (x1 - x0)
            } else {
                y0
            }
        }
    }
}

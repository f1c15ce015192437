//! The knots between which corrections are straight lines, and lines through points.

/// What is known of the time of hosts before.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// By host: the time x of measured offsets, and the correction there, ascending; of the
    /// first host nothing.
    pub(crate) points: Vec<Vec<(f64, f64)>>,
}

/// The knots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Knots {
    pub(crate) begin_ns: f64,
    pub(crate) step_ns: f64,
    pub(crate) n: usize,
}

impl Knots {
    /// For a run from `begin_ns` to `end_ns` with so many hosts.
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

    /// By how much such a line is higher at a knot than at `x`.
    pub(crate) fn change(&self, values: &[f64], x: f64, knot: usize) -> f64 {
        values[knot] - self.value(values, x)
    }

    /// The value of a line with these values at the knots; beyond them it goes on.
    pub(crate) fn value(&self, values: &[f64], x: f64) -> f64 {
        let at = (x - self.begin_ns) / self.step_ns;
        let left = (at.max(0.0) as usize).min(self.n.saturating_sub(2));
        let [a, b] = values[left..left + 2] else {
            return values[0];
        };
        a + (b - a) * (at - left as f64)
    }
}

/// The value at `x` of straight lines from point to point, which go on before the first and behind
/// the last; 0 without points.
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

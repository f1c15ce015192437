//! Errors of the offsets between hosts over the run.

use std::ops::RangeInclusive;

/// Errors of the offsets between the clocks of all hosts, at some times of the run.
///
/// Stored against the reference of each group; with few hosts also their covariances: two hosts
/// that were measured by the same exchanges have correlated errors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OffsetErrors {
    at_ns: Vec<i64>,
    n_hosts: usize,
    /// Variances by time and host, ns^2.
    variances: Vec<f64>,
    /// Bounds by time and host, ns.
    bounds_ns: Vec<i64>,
    /// Covariances by time and pair of hosts, ns^2; empty if errors are assumed independent.
    covariances: Vec<f64>,
}

/// Number of equal intervals of the run at whose ends errors are stored.
const PARTS: usize = 32;
/// Up to this many hosts covariances are stored.
pub const MAX_WITH_COVARIANCES: usize = 32;

impl OffsetErrors {
    /// Zero errors for this number of hosts in a run of this length, ns.
    pub fn none(n_hosts: usize, end_ns: i64) -> Self {
        let parts = PARTS as i128;
        let at = |part| (i128::from(end_ns.max(0)) * part / parts) as i64;
        let n_times = PARTS + 1;
        let has_covariances = n_hosts <= MAX_WITH_COVARIANCES;
        let n_pairs = if has_covariances {
            n_hosts * n_hosts
        } else {
            0
        };
        Self {
            at_ns: (0..=parts).map(at).collect(),
            n_hosts,
            variances: vec![0.0; n_times * n_hosts],
            bounds_ns: vec![0; n_times * n_hosts],
            covariances: vec![0.0; n_times * n_pairs],
        }
    }

    /// The times, ns since the start of the run, ascending.
    #[must_use]
    pub fn at_ns(&self) -> &[i64] {
        &self.at_ns
    }

    /// Sets the variance, ns^2, and the bound, ns, of a host against its reference.
    pub fn set(&mut self, time: usize, host: usize, variance: f64, bound_ns: i64) {
        self.variances[time * self.n_hosts + host] = variance;
        self.bounds_ns[time * self.n_hosts + host] = bound_ns;
    }

    /// Sets the covariance of the errors of two hosts, ns^2.
    pub fn set_common(&mut self, time: usize, hosts: [usize; 2], covariance: f64) {
        let (n, [a, b]) = (self.n_hosts, hosts);
        if !self.covariances.is_empty() {
            self.covariances[(time * n + a) * n + b] = covariance;
            self.covariances[(time * n + b) * n + a] = covariance;
        }
    }

    /// Uncertainty, two standard deviations, of the difference of timestamps of two hosts of one
    /// group at one of the times, ns; 0 on one host.
    #[must_use]
    pub fn uncertainty_ns(&self, a: usize, b: usize, time: usize) -> i64 {
        if a == b {
            return 0;
        }
        let n = self.n_hosts;
        let of = |host: usize| self.variances[time * n + host];
        let common = if self.covariances.is_empty() {
            0.0
        } else {
            self.covariances[(time * n + a) * n + b]
        };
        let variance = (of(a) + of(b) - 2.0 * common).max(0.0);
        (2.0 * variance.sqrt()).ceil() as i64
    }

    /// Bound on the error of such a difference of timestamps of two hosts, ns; 0 on one host.
    #[must_use]
    pub fn bound_ns(&self, a: usize, b: usize, time: usize) -> i64 {
        let of = |host: usize| self.bounds_ns[time * self.n_hosts + host];
        if a == b {
            0
        } else {
            of(a).saturating_add(of(b))
        }
    }

    /// [`OffsetErrors::uncertainty_ns`] at any time, ns since the start of the run: the greater of
    /// those at the stored times around it. Errors grow quickly after a burst of exchanges, so the
    /// error at one of the times says nothing about the moments after it.
    #[must_use]
    pub fn uncertainty_at_ns(&self, a: usize, b: usize, at_ns: i64) -> i64 {
        let around = self
            .around(at_ns)
            .map(|time| self.uncertainty_ns(a, b, time));
        around.max().unwrap_or(0)
    }

    /// [`OffsetErrors::bound_ns`] at any time, ns since the start of the run: the greater of those
    /// at the times around it.
    #[must_use]
    pub fn bound_at_ns(&self, a: usize, b: usize, at_ns: i64) -> i64 {
        let around = self.around(at_ns).map(|time| self.bound_ns(a, b, time));
        around.max().unwrap_or(0)
    }

    /// The stored times just before and after an instant.
    fn around(&self, at_ns: i64) -> RangeInclusive<usize> {
        let last = self.at_ns.len().saturating_sub(1);
        let before = self.at_ns.partition_point(|&at| at <= at_ns);
        let behind = self.at_ns.partition_point(|&at| at < at_ns);
        before.saturating_sub(1).min(last)..=behind.min(last)
    }

    /// The greatest uncertainty of the run between two hosts, ns.
    pub fn worst_uncertainty_ns(&self, a: usize, b: usize) -> i64 {
        let times = 0..self.at_ns.len();
        times
            .map(|time| self.uncertainty_ns(a, b, time))
            .max()
            .unwrap_or(0)
    }

    /// The greatest bound of the run between two hosts, ns.
    pub fn worst_bound_ns(&self, a: usize, b: usize) -> i64 {
        let times = 0..self.at_ns.len();
        times
            .map(|time| self.bound_ns(a, b, time))
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_times_the_greater_error_counts() {
        let mut errors = OffsetErrors::none(2, 32_000);
        for (time, sd) in [(0, 10.0), (1, 50.0), (2, 20.0)] {
            errors.set(time, 1, sd * sd, 1_000 + sd as i64);
        }
        for (at_ns, uncertainty_ns, bound_ns) in [
            (-5, 20, 1_010),
            (0, 20, 1_010),
            (1, 100, 1_050),
            (1_000, 100, 1_050),
            (1_999, 100, 1_050),
            (2_000, 40, 1_020),
            (2_001, 40, 1_020),
            (99_000, 0, 0),
        ] {
            assert_eq!(
                errors.uncertainty_at_ns(0, 1, at_ns),
                uncertainty_ns,
                "at {at_ns}"
            );
            assert_eq!(errors.bound_at_ns(1, 0, at_ns), bound_ns, "at {at_ns}");
        }
    }
}

//! Which differences between time stamps are significant.

use crate::time::clocks::Clocks;

/// Which differences between time stamps are significant: three standard deviations of the clocks,
/// at least their granularity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// By pair of hosts, one row after the other; `None`: they have no common time.
    apart_ns: Vec<Option<i64>>,
    /// By pair of hosts, the difference above which an order is likely: one standard deviation.
    likely_ns: Vec<Option<i64>>,
    n_hosts: usize,
}

impl Resolution {
    /// The resolution of the clocks of a run.
    #[must_use]
    pub fn of(clocks: &Clocks) -> Self {
        let n_hosts = clocks.hosts.len();
        let granularity_ns = |host: usize| clocks.hosts[host].granularity_ns;
        // So many standard deviations; the uncertainty is two.
        let apart_ns = |(a, b): (usize, usize), deviations: i64| {
            let error_ns = clocks.uncertainty_ns(a, b)?.saturating_mul(deviations) / 2;
            Some(granularity_ns(a).max(granularity_ns(b)).max(error_ns))
        };
        let pairs = || (0..n_hosts).flat_map(|a| (0..n_hosts).map(move |b| (a, b)));
        Self {
            apart_ns: pairs().map(|pair| apart_ns(pair, 3)).collect(),
            likely_ns: pairs().map(|pair| apart_ns(pair, 1)).collect(),
            n_hosts,
        }
    }

    /// A stamp of host `a` and one of host `b` are ordered if they are further apart than this, ns;
    /// `None`: never.
    #[must_use]
    pub fn between(&self, a: usize, b: usize) -> Option<i64> {
        self.apart_ns[a * self.n_hosts + b]
    }

    /// The order of a stamp of host `a` and one of host `b` is likely if they are further apart
    /// than this, ns (one standard deviation); `None`: never.
    #[must_use]
    pub fn likely_between(&self, a: usize, b: usize) -> Option<i64> {
        self.likely_ns[a * self.n_hosts + b]
    }
}

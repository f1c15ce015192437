//! Which differences of stamps mean something, in one place.

use crate::clock::Clocks;

/// Which differences of stamps mean something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// By host: the smallest difference of two stamps that means something, ns.
    granularity_ns: Vec<i64>,
}

impl Resolution {
    /// That of the clocks of a run.
    #[must_use]
    pub fn of(clocks: &Clocks) -> Self {
        let hosts = clocks.hosts.iter();
        Self {
            granularity_ns: hosts.map(|host| host.granularity_ns).collect(),
        }
    }

    /// A stamp of host `a` and one of host `b` tell which came first if they lie further apart
    /// than this, ns; `None`: never.
    #[must_use]
    pub fn between(&self, a: usize, b: usize) -> Option<i64> {
        (a == b).then(|| self.granularity_ns[a])
    }
}

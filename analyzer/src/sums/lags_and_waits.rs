//! Lags and waits of the calls of one operation.

use collbench_stats::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// Lags (last enter minus own) and waits, ns per call.
///
/// Where all wait for the last and left after it arrived, each wait equals the lag. These samples,
/// mostly the majority, are stored once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LagsAndWaits {
    /// Lags that are no waits.
    lags: Distribution,
    /// Waits that are no lags.
    waits: Distribution,
    /// Samples that are both.
    both: Distribution,
}

impl LagsAndWaits {
    /// Adds lags.
    pub(crate) fn add_lags(&mut self, samples: &[i64]) {
        self.lags.add_all(samples);
    }

    /// Adds waits; gives their sum, ns.
    pub(crate) fn add_waits(&mut self, samples: &[i64]) -> i64 {
        self.waits.add_and_sum(samples)
    }

    /// Adds samples that are both; gives their sum, ns.
    pub(crate) fn add_both(&mut self, samples: &[i64]) -> i64 {
        self.both.add_and_sum(samples)
    }

    /// All lags.
    #[must_use]
    pub fn lags(&self) -> Distribution {
        with(self.lags.clone(), &self.both)
    }

    /// All waits.
    #[must_use]
    pub fn waits(&self) -> Distribution {
        with(self.waits.clone(), &self.both)
    }

    /// Its distributions.
    pub(crate) fn distributions(&mut self) -> [&mut Distribution; 3] {
        [&mut self.lags, &mut self.waits, &mut self.both]
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.lags.merge(&other.lags);
        self.waits.merge(&other.waits);
        self.both.merge(&other.both);
    }
}

fn with(mut all: Distribution, more: &Distribution) -> Distribution {
    all.merge(more);
    all
}

//! Usual behaviour of a process: mean and scatter of its lags and waits.

use collbench_stats::moments::Moments;
use serde::{Deserialize, Serialize};

use crate::measure::outside::Figures;

/// Lags and waits of one process over all its calls in complete instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behaviour {
    /// Known waits.
    pub wait: Moments,
    /// Last enter minus own.
    pub lag: Moments,
    /// Own leave minus first leave.
    pub departure_wait: Moments,
}

impl Behaviour {
    /// Adds the call of a slot.
    #[inline]
    pub fn add(&mut self, figures: &Figures, slot: usize) {
        self.lag.add(figures.lags[slot]);
        if let Some(wait) = figures.wait(slot) {
            self.wait.add(wait);
        }
        if let Some(&departure_wait) = figures.departure_waits.get(slot) {
            self.departure_wait.add(departure_wait);
        }
    }

    /// Adds what another part of the same process's calls came to.
    pub fn merge(&mut self, other: &Self) {
        self.wait.merge(&other.wait);
        self.lag.merge(&other.lag);
        self.departure_wait.merge(&other.departure_wait);
    }
}

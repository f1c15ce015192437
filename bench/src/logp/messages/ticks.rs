//! A clock that counts ticks, as a clock in ns.

use collbench_instrument::exchange::TickLength;
use collbench_instrument::{Clock, measure_clock};

/// Time over which the rate of the clock is measured, ns: to within some 10 ppm.
const RATE_NS: u64 = 20_000_000;

/// A clock with the length of its ticks.
#[derive(Debug, Clone, Copy)]
pub(in crate::logp) struct Ticks {
    clock: Clock,
    ns_per_tick: f64,
    /// The time that one reading takes, ns.
    pub(in crate::logp) reading_ns: f64,
}

impl Ticks {
    /// Measures the rate of a clock.
    pub(in crate::logp) fn of(clock: Clock) -> Self {
        let identity = measure_clock(clock);
        let now = || -> [u64; 5] { clock.anchor().into() };
        let (begin, mut end) = (now(), now());
        while end[1] - begin[1] < RATE_NS {
            end = now();
        }
        let ticks = end[0] - begin[0];
        let ns_per_tick =
            TickLength::of(ticks, end[1] - begin[1]).ns(1 << 32) as f64 / (1u64 << 32) as f64;
        Self {
            clock,
            ns_per_tick,
            reading_ns: identity.read_cost_milliticks as f64 * ns_per_tick / 1e3,
        }
    }

    /// Reads the clock, ns since any instant.
    #[inline]
    pub(in crate::logp) fn now_ns(&self) -> f64 {
        self.clock.now() as f64 * self.ns_per_tick
    }

    /// Computes for this time.
    pub(in crate::logp) fn compute(&self, ns: f64) {
        let end = self.clock.now() + (ns / self.ns_per_tick) as u64;
        while self.clock.now() < end {
            std::hint::spin_loop();
        }
    }
}

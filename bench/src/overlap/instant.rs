//! The local clock, CLOCK_MONOTONIC_RAW, and waiting for one of its instants.

use std::time::Duration;

use collbench_formats::ClockSource;
use collbench_instrument::Clock;

/// The last part of a wait is spent on the core, ns: a sleeping process wakes up late.
const AWAKE: i64 = 1_500_000;

/// Which clock this is.
pub(super) const SOURCE: ClockSource = ClockSource::MonotonicRaw;

/// The clock; every machine has it.
pub(super) fn clock() -> Clock {
    Clock::of(SOURCE).unwrap_or_else(Clock::of_this_machine)
}

/// Now, ns of the local clock.
pub(super) fn now() -> i64 {
    clock().now() as i64
}

/// Returns at this time of the local clock; at once if it has passed.
pub(super) fn wait_for(at: i64) {
    let left = at - now() - AWAKE;
    if left > 0 {
        std::thread::sleep(Duration::from_nanos(left as u64));
    }
    while now() < at {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_after_its_instant_and_not_at_all_begins_for_one_that_has_passed() {
        let at = now() + 3_000_000;
        wait_for(at);
        assert!(now() >= at);
        wait_for(at - 1_000_000_000);
    }
}

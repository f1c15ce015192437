//! The clock that stamps records, and its anchors to the system's clocks.
//!
//! Stamps are raw ticks; nothing is scaled or calibrated here. Anchors (several clocks read
//! together) let the analyzer do that with data of the whole run. No clock crate is used: those
//! scale at the call and hide the ticks.

use collbench_formats::{Anchor, ClockIdentity, ClockSource};

/// A clock of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    source: ClockSource,
}

impl Clock {
    /// The default clock of this machine: the time stamp counter if it is invariant and the kernel
    /// itself trusts it, otherwise `CLOCK_MONOTONIC_RAW`.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let source = if tsc_is_invariant() {
            ClockSource::Tsc
        } else {
            ClockSource::MonotonicRaw
        };
        Self { source }
    }

    /// The clock with this source, whether or not it is the default; `None` for a time stamp
    /// counter that cannot be trusted.
    #[must_use]
    pub fn of(source: ClockSource) -> Option<Self> {
        (source != ClockSource::Tsc || tsc_is_invariant()).then_some(Self { source })
    }

    /// Which clock it is.
    #[must_use]
    pub fn source(self) -> ClockSource {
        self.source
    }

    /// The time, in ticks, > 0.
    #[must_use]
    #[inline]
    pub fn now(self) -> u64 {
        match self.source {
            ClockSource::Tsc => read_tsc(),
            ClockSource::MonotonicRaw => read_ns(libc::CLOCK_MONOTONIC_RAW),
            ClockSource::Monotonic => read_ns(libc::CLOCK_MONOTONIC),
        }
    }

    /// Reads this clock and the system's clocks together: the reading with the smallest width of a
    /// few tries.
    #[must_use]
    pub fn anchor(self) -> Anchor {
        let mut best: Option<[u64; 5]> = None;
        for _ in 0..8 {
            let before = self.now();
            let raw = read_ns(libc::CLOCK_MONOTONIC_RAW);
            let after = self.now();
            let width = after.saturating_sub(before);
            if best.is_none_or(|found| width < found[4]) {
                let monotonic = read_ns(libc::CLOCK_MONOTONIC);
                let realtime = read_ns(libc::CLOCK_REALTIME);
                best = Some([before + width / 2, raw, monotonic, realtime, width]);
            }
        }
        best.map_or(Anchor::NONE, Anchor::from)
    }
}

/// Measures the step and the cost of a clock, with some eight thousand readings.
///
/// The step is the lower quartile of the differences of successive readings that differ. The
/// smallest difference would be wrong: a counter that advances in steps of 26 ticks (as on some
/// virtual machines) shows one in sixteen of them as 25 and 1.
#[must_use]
pub fn measure_clock(clock: Clock) -> ClockIdentity {
    const READINGS: usize = 2048;
    const ROUNDS: usize = 4;
    let mut steps = Vec::with_capacity(READINGS * ROUNDS);
    let mut cheapest = u64::MAX;
    let mut readings = [0; READINGS];
    for _ in 0..ROUNDS {
        for reading in &mut readings {
            *reading = clock.now();
        }
        steps.extend(
            readings
                .windows(2)
                .map(|pair| pair[1].saturating_sub(pair[0])),
        );
        let span = readings[READINGS - 1].saturating_sub(readings[0]);
        cheapest = cheapest.min(span * 1000 / (READINGS as u64 - 1));
    }
    steps.retain(|&step| step > 0);
    steps.sort_unstable();
    ClockIdentity {
        source: clock.source(),
        granularity_ticks: steps.get(steps.len() / 4).copied().unwrap_or(1),
        read_cost_milliticks: cheapest,
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_tsc() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and does not access memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn read_tsc() -> u64 {
    // `Clock::of` does not return this clock where `tsc_is_invariant` is false.
    read_ns(libc::CLOCK_MONOTONIC_RAW)
}

#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    let has_leaf = core::arch::x86_64::__cpuid(0x8000_0000).eax >= 0x8000_0007;
    let is_invariant = has_leaf && core::arch::x86_64::__cpuid(0x8000_0007).edx & (1 << 8) != 0;
    let trusted_by_kernel =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|name| name.trim() == "tsc");
    is_invariant && trusted_by_kernel
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the call to write. The call goes through the C
    // library, so that it uses the vDSO, and so that a library that interposes it takes effect.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_advances_and_agrees_with_its_anchor() {
        for source in [
            ClockSource::Tsc,
            ClockSource::MonotonicRaw,
            ClockSource::Monotonic,
        ] {
            let Some(clock) = Clock::of(source) else {
                continue;
            };
            let before = clock.now();
            let anchor = clock.anchor();
            let after = clock.now();
            assert!(
                before <= anchor.ticks.get() && anchor.ticks.get() <= after,
                "{source:?}"
            );
            assert!(anchor.realtime_ns.get() > 1_600_000_000_000_000_000);
            if source == ClockSource::MonotonicRaw {
                assert!(
                    anchor.raw_ns.get().abs_diff(anchor.ticks.get()) <= anchor.width_ticks.get()
                );
            }
        }
    }

    #[test]
    fn the_measured_step_of_a_clock_is_not_larger_than_its_cost_allows() {
        let identity = measure_clock(Clock::of_this_machine());
        assert!(identity.granularity_ticks >= 1);
        assert!(identity.read_cost_milliticks > 0);
    }
}

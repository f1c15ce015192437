//! Whether a thread ran on a core or not, where much time has passed.
//!
//! Asking the kernel costs some 300 ns, so this is only done before a call that follows a long gap,
//! and after a long call. A note has the differences from the previous sample, of which at most
//! [`LONGEST_NS`] are in calls and gaps that were short.

use std::cell::Cell;

use collbench_formats::{Anchor, Running};

use super::local::Local;
use super::nesting::CallScope;
use super::recorder::Recorder;
use crate::file::Slot;

/// If the last sample is older than this, the kernel is asked after any call.
const LONGEST_NS: u64 = 1_000_000;

/// Unsuccessful polls that are at most this far apart are in a row.
const POLLS_APART_NS: u64 = 10_000;

/// The begin of a long gap if nothing is sampled.
const NEVER: u64 = u64::MAX;

/// A thread's data between samples.
pub(super) struct GapWatch {
    /// The gap after the last call is long from this time on, ticks.
    long_from: Cell<u64>,
    last: Cell<Sample>,
}

/// Counters of the kernel for the calling thread.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ticks: u64,
    on_core_us: u64,
    n_blocked: u64,
    n_preempted: u64,
}

/// [`Running::LONG_NS`], [`LONGEST_NS`] and [`POLLS_APART_NS`] in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thresholds {
    long_ticks: u64,
    longest_ticks: u64,
    /// [`POLLS_APART_NS`] in ticks.
    pub(super) poll_ticks: u64,
}

impl Thresholds {
    /// For a clock whose rate follows from two readings.
    pub(crate) fn between(first: &Anchor, last: &Anchor) -> Self {
        let span = |of: fn(&Anchor) -> u64| of(last).saturating_sub(of(first));
        let (ticks, ns) = (span(|at| at.ticks.get()), span(|at| at.raw_ns.get()));
        Self::of(ticks as f64 * 1e3 / ns.max(1) as f64)
    }

    /// For a clock with this rate.
    fn of(ticks_per_us: f64) -> Self {
        let ticks = |ns: u64| (ns as f64 * ticks_per_us / 1e3) as u64;
        Self {
            long_ticks: ticks(Running::LONG_NS),
            longest_ticks: ticks(LONGEST_NS),
            poll_ticks: ticks(POLLS_APART_NS),
        }
    }
}

/// What the kernel has counted for this thread; `None` if it does not say.
pub(crate) fn usage_of_this_thread() -> Option<libc::rusage> {
    // SAFETY: rusage is a plain struct of numbers, for which all zeros is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the struct is valid for writing.
    let code = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    (code == 0).then_some(usage)
}

impl Sample {
    const NONE: Self = Self {
        ticks: 0,
        on_core_us: 0,
        n_blocked: 0,
        n_preempted: 0,
    };

    fn take(now: u64) -> Option<Self> {
        let usage = usage_of_this_thread()?;
        let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        Some(Self {
            ticks: now,
            on_core_us: us(usage.ru_utime).wrapping_add(us(usage.ru_stime)),
            n_blocked: usage.ru_nvcsw as u64,
            n_preempted: usage.ru_nivcsw as u64,
        })
    }

    fn since(self, before: Self) -> Running {
        let less = |of: fn(&Self) -> u64| of(&self).saturating_sub(of(&before));
        Running {
            elapsed_ticks: less(|sample| sample.ticks),
            on_core_us: less(|sample| sample.on_core_us)
                .try_into()
                .unwrap_or(u32::MAX),
            n_blocked: less(|sample| sample.n_blocked)
                .try_into()
                .unwrap_or(u16::MAX),
            n_preempted: less(|sample| sample.n_preempted)
                .try_into()
                .unwrap_or(u16::MAX),
        }
    }
}

impl GapWatch {
    pub(super) const fn new() -> Self {
        Self {
            long_from: Cell::new(NEVER),
            last: Cell::new(Sample::NONE),
        }
    }
}

impl Local {
    /// Begins to sample this thread, if the layer is on.
    pub(super) fn begin_gap_watch(&self, recorder: &Recorder) {
        let now = recorder.clock.now();
        if let (Some(thresholds), Some(sample)) = (recorder.thresholds, Sample::take(now)) {
            self.gap_watch.last.set(sample);
            self.gap_watch
                .long_from
                .set(now.saturating_add(thresholds.long_ticks));
        }
    }

    /// Whether the gap before a call that is entered `now` is long.
    #[inline]
    pub(super) fn follows_long_gap(&self, now: u64) -> bool {
        now >= self.gap_watch.long_from.get()
    }

    /// To be called after a call has left.
    #[inline]
    pub(super) fn watch_gap_after(
        &self,
        recorder: &'static Recorder,
        slot: Slot,
        leave: u64,
        inside: &CallScope<'_>,
    ) {
        if self.gap_watch.long_from.get() != NEVER && inside.is_outermost() {
            self.sample_after(recorder, slot, leave);
        }
    }

    #[inline(never)]
    fn sample_after(&self, recorder: &'static Recorder, slot: Slot, leave: u64) {
        let Some(thresholds) = recorder.thresholds else {
            return;
        };
        let is_long = leave.saturating_sub(slot.enter_ticks()) >= thresholds.long_ticks
            || leave.saturating_sub(self.gap_watch.last.get().ticks) >= thresholds.longest_ticks;
        let mut now = leave;
        if is_long {
            self.note_running(recorder);
            now = recorder.clock.now();
        }
        self.gap_watch
            .long_from
            .set(now.saturating_add(thresholds.long_ticks));
    }

    /// To be called before a call that follows a long gap.
    #[cold]
    pub(super) fn note_gap(&self, recorder: &'static Recorder, is_outermost: bool) {
        // Inside another call, the time belongs to that call.
        if is_outermost {
            self.note_running(recorder);
        }
    }

    /// Takes a sample and records it, if the chunk has a free slot: otherwise a chunk would be
    /// opened inside a call of which nothing is stored yet.
    fn note_running(&self, recorder: &'static Recorder) {
        let Some(slot) = self.next_slot() else {
            return;
        };
        let now = recorder.clock.now();
        let Some(sample) = Sample::take(now) else {
            return;
        };
        slot.write(sample.since(self.gap_watch.last.replace(sample)).words());
        slot.stamp(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ticks: u64, on_core_us: u64, n_blocked: u64, n_preempted: u64) -> Sample {
        Sample {
            ticks,
            on_core_us,
            n_blocked,
            n_preempted,
        }
    }

    #[test]
    fn what_is_noted_is_the_difference_and_stays_in_its_field() {
        let before = sample(100, 7, 3, 4);
        let expected = Running {
            elapsed_ticks: 400,
            on_core_us: 13,
            n_blocked: 1,
            n_preempted: 0,
        };
        assert_eq!(sample(500, 20, 4, 4).since(before), expected);
        let much = sample(600, 1 << 40, 1 << 20, 1 << 20).since(before);
        assert_eq!((much.on_core_us, much.n_blocked), (u32::MAX, u16::MAX));
        assert_eq!(much.n_preempted, u16::MAX);
    }

    #[test]
    fn a_thread_that_sleeps_is_off_its_core_and_one_that_computes_is_on_it() {
        let begin = Sample::take(1).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let slept = Sample::take(2).unwrap();
        while Sample::take(3).unwrap().on_core_us < slept.on_core_us + 3000 {}
        let computed = Sample::take(3).unwrap();
        assert!(slept.since(begin).n_blocked >= 1 && slept.since(begin).on_core_us < 5000);
        assert!(computed.since(slept).on_core_us >= 3000);
    }

    #[test]
    fn thresholds_are_in_ticks_of_the_clock() {
        let thresholds = Thresholds::of(2600.0);
        assert_eq!(
            (thresholds.long_ticks, thresholds.longest_ticks),
            (260_000, 2_600_000)
        );
    }
}

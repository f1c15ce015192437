//! Whether the clocks of a host ran at a constant rate, as far as its anchors show.
//!
//! An anchor reads several clocks at one instant. `CLOCK_MONOTONIC` against
//! `CLOCK_MONOTONIC_RAW` shows what a daemon does to its rate; ticks against
//! `CLOCK_MONOTONIC_RAW` show a time stamp counter that is not invariant, and a clock that stepped.

use collbench_formats::{Anchor, ClockSource};

use crate::remark::Remark;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// A rate that a daemon changed by less than this is ignored, ppm.
const SLEWED_PPM: f64 = 0.05;
/// Readings that are off by more than their width plus this are not reading errors, ns.
const STEP_NS: f64 = 20_000.0;

impl Clocks {
    /// Remarks on hosts whose clocks did not run at a constant rate.
    pub(super) fn unsteady(&self, run: &Run<'_>) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for (host, clock) in self.hosts.iter().enumerate() {
            let members = || (0..run.processes.len()).filter(|&p| self.processes[p].host == host);
            let source = |process: usize| run.processes[process].trace.identity.clock.source;
            let slewed = members()
                .filter(|&process| source(process) == ClockSource::Monotonic)
                .filter_map(|process| rate_change_ppm(&run.processes[process].trace.anchors))
                .fold(0.0, f64::max);
            if slewed > SLEWED_PPM {
                let host = clock.name.clone();
                let ppb = (1e3 * slewed).round() as i64;
                remarks.push(Remark::ClockSlewed { host, ppb });
            }
            let steps = members()
                .filter(|&process| source(process) == ClockSource::Tsc && !clock.is_unscaled)
                .map(|process| {
                    let anchors = run.processes[process].trace.anchors.iter();
                    let off = anchors.map(|anchor| self.off_line_ns(process, anchor));
                    off.fold(0.0, f64::max)
                });
            let step_ns = steps.fold(0.0, f64::max);
            if step_ns > STEP_NS {
                let host = clock.name.clone();
                let step_ns = step_ns as i64;
                remarks.push(Remark::ClockUneven { host, step_ns });
            }
        }
        remarks
    }

    /// By how much a reading of an anchor lies off the line of its host, less what its width and
    /// the error of the rate explain, ns.
    fn off_line_ns(&self, process: usize, anchor: &Anchor) -> f64 {
        let clock = &self.processes[process];
        let (Ok(ticks), Ok(raw_ns)) = (
            i64::try_from(anchor.ticks.get()),
            i64::try_from(anchor.raw_ns.get()),
        ) else {
            return 0.0;
        };
        if ticks == 0 || raw_ns == 0 {
            return 0.0;
        }
        let off_ns = clock.scale().ns(ticks).abs_diff(raw_ns) as f64;
        let span_ns = raw_ns.abs_diff(clock.scale().origin_ns) as f64;
        let rate_ppm = self.hosts[clock.host].rate_error_ppm.unwrap_or(0.0) + 0.1;
        let width_ns = clock.span_ns(anchor.width_ticks.get()) as f64;
        off_ns - width_ns - 1e-6 * rate_ppm * span_ns
    }
}

/// By how much the rate of `CLOCK_MONOTONIC` against `CLOCK_MONOTONIC_RAW` changed between the
/// parts of a run, ppm; `None` where anchors are too few or too near one another.
fn rate_change_ppm(anchors: &[Anchor]) -> Option<f64> {
    const LEAST_SPAN_NS: u64 = 100_000_000;
    let ahead = |anchor: &Anchor| anchor.monotonic_ns.get() as f64 - anchor.raw_ns.get() as f64;
    let mut rates: Vec<f64> = Vec::new();
    let mut from = anchors.first()?;
    for to in anchors {
        let span_ns = to.raw_ns.get().saturating_sub(from.raw_ns.get());
        if span_ns >= LEAST_SPAN_NS {
            // What reading takes is an error of the rate.
            let error_ns = from.width_ticks.get() as f64 + to.width_ticks.get() as f64;
            let rate = (ahead(to) - ahead(from)) / span_ns as f64;
            if error_ns / (span_ns as f64) < 1e-8 {
                rates.push(1e6 * rate);
            }
            from = to;
        }
    }
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most >= least).then_some(most - least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(raw_ns: u64, ahead_ns: u64, width_ticks: u64) -> Anchor {
        [raw_ns, raw_ns, raw_ns + ahead_ns, 1, width_ticks].into()
    }

    #[test]
    fn a_rate_that_changes_is_told_from_anchors_that_are_narrow_enough() {
        let second = 1_000_000_000;
        let anchors = |width: u64| {
            [
                anchor(second, 0, 1),
                anchor(2 * second, 1000, 1),
                anchor(3 * second, 4000, width),
            ]
        };
        assert_eq!(rate_change_ppm(&anchors(1)), Some(2.0));
        assert_eq!(rate_change_ppm(&anchors(100)), Some(0.0));
        // Of a damaged file a width may be of any size.
        assert_eq!(rate_change_ppm(&anchors(u64::MAX)), Some(0.0));
    }
}

//! From global time to the readings of a host's clocks.

use collbench_formats::{Anchor, ClockSource};
use collbench_stats::random::Random;

/// The clocks of one host, as functions of global time: the only place where a generated trace
/// departs from it.
///
/// `t` is ns since the start of the run, on the global clock. Then, with offset = local -
/// reference: `raw(t) = uptime + t + offset + drift t`, in ns; ticks are `raw(t)` times the tick
/// rate, rounded, then rounded down to the granularity. A clock that wanders has one more term in
/// `raw`.
#[derive(Debug, Clone)]
pub(crate) struct HostClock {
    pub(crate) source: ClockSource,
    /// Ticks per ms; 1,000,000 for the clocks that count ns.
    pub(crate) rate_khz: u64,
    pub(crate) granularity_ticks: u64,
    /// Reading of the reference clock at the start of the run.
    pub(crate) uptime_ns: u64,
    pub(crate) offset_ns: i64,
    pub(crate) drift_ppb: i64,
    /// Changes of its rate in addition to that.
    pub(crate) wander: Wander,
    /// Time of day at the start of the run, ns since 1970.
    pub(crate) started_unix_ns: u64,
    /// Duration of reading one anchor.
    pub(crate) anchor_width_ns: u64,
    /// Largest distance of the readings of the system clocks from the middle of an anchor.
    pub(crate) anchor_jitter_ns: u64,
}

/// Changes of a clock's rate: a wave, and steps as a daemon makes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wander {
    /// Amplitude of the triangle wave of the rate.
    pub(crate) amplitude_ppb: i64,
    /// Period of the wave; 0: none.
    pub(crate) period_ns: u64,
    /// (time, change of the rate in ppb from then on).
    pub(crate) steps: Vec<(u64, i64)>,
}

impl Wander {
    /// Time that the changes have added until `t`, ns.
    fn ns(&self, t: u64) -> i128 {
        let steps = self.steps.iter().map(|&(from, ppb)| {
            let length = i128::from(t.saturating_sub(from));
            round_div(length * i128::from(ppb), 1_000_000_000)
        });
        let steps: i128 = steps.sum();
        let period = i128::from(self.period_ns);
        if period == 0 {
            return steps;
        }
        // Four quarters: the rate rises from 0, falls through 0, and rises to it again. In units of
        // 1/8: a quarter adds the amplitude times an eighth of the period.
        let in_wave = i128::from(t) % period;
        let quarters = match (4 * in_wave) / period {
            0 => 16 * in_wave * in_wave,
            3 => {
                let left = period - in_wave;
                16 * left * left
            }
            _ => {
                let from_middle = 2 * in_wave - period;
                2 * period * period - 4 * from_middle * from_middle
            }
        };
        let at_full_rate = round_div(quarters, 8 * period);
        steps + round_div(i128::from(self.amplitude_ppb) * at_full_rate, 1_000_000_000)
    }
}

/// Difference between CLOCK_MONOTONIC and CLOCK_MONOTONIC_RAW, which are never equal.
const MONOTONIC_AHEAD_NS: u64 = 1_234_567;

impl HostClock {
    /// Reading of CLOCK_MONOTONIC_RAW, ns.
    pub(crate) fn raw_ns(&self, t: u64) -> u64 {
        let drift = round_div(i128::from(t) * i128::from(self.drift_ppb), 1_000_000_000);
        let raw = i128::from(self.uptime_ns) + i128::from(t) + i128::from(self.offset_ns) + drift;
        let raw = raw + self.wander.ns(t);
        // The scenario was checked: no clock is set before its zero.
        u64::try_from(raw).unwrap_or(0)
    }

    /// Reading of CLOCK_MONOTONIC, ns.
    pub(crate) fn monotonic_ns(&self, t: u64) -> u64 {
        self.raw_ns(t) + MONOTONIC_AHEAD_NS
    }

    /// Timestamp in a record for this instant, ticks.
    pub(crate) fn ticks(&self, t: u64) -> u64 {
        let ticks = match self.source {
            ClockSource::Tsc => {
                let scaled = i128::from(self.raw_ns(t)) * i128::from(self.rate_khz);
                round_div(scaled, 1_000_000) as u64
            }
            ClockSource::MonotonicRaw => self.raw_ns(t),
            ClockSource::Monotonic => self.monotonic_ns(t),
        };
        ticks - ticks % self.granularity_ticks
    }

    /// The anchor of a recorder that reads all clocks at `t`. `name` identifies the reading, for
    /// its random jitter.
    pub(crate) fn anchor(&self, t: u64, name: &[u64]) -> Anchor {
        let jitter = self.anchor_jitter_ns.min(self.anchor_width_ns / 2);
        let read_at = match jitter {
            0 => t,
            _ => (t + Random::of(name).uniform(0, 2 * jitter)).saturating_sub(jitter),
        };
        let width = i128::from(self.anchor_width_ns) * i128::from(self.rate_khz);
        [
            self.ticks(t),
            self.raw_ns(read_at),
            self.monotonic_ns(read_at),
            self.started_unix_ns + read_at,
            round_div(width, 1_000_000) as u64,
        ]
        .into()
    }
}

/// Quotient to the nearest integer, halves away from zero.
fn round_div(value: i128, by: i128) -> i128 {
    (value + value.signum() * by / 2) / by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> HostClock {
        HostClock {
            source: ClockSource::Tsc,
            rate_khz: 2_500_000,
            granularity_ticks: 1,
            uptime_ns: 3_000_000_000_000_000,
            offset_ns: -4_000,
            drift_ppb: 20_000,
            started_unix_ns: 1_700_000_000_000_000_000,
            anchor_width_ns: 100,
            anchor_jitter_ns: 0,
            wander: Wander::default(),
        }
    }

    #[test]
    fn a_wave_of_the_rate_adds_up_to_nothing_and_to_most_in_its_middle() {
        let wander = Wander {
            amplitude_ppb: 1_000,
            period_ns: 8_000_000_000,
            steps: Vec::new(),
        };
        // The mean rate of half a wave is half the amplitude: 0.5 ppm of 4 s.
        assert_eq!(wander.ns(4_000_000_000), 2_000);
        assert_eq!(wander.ns(8_000_000_000), 0);
        for (t, ns) in [
            (1, 250),
            (2, 1_000),
            (3, 1_750),
            (5, 1_750),
            (6, 1_000),
            (7, 250),
        ] {
            assert_eq!(wander.ns(t * 1_000_000_000), ns, "at {t} s");
        }
    }

    #[test]
    fn a_step_of_the_rate_counts_from_its_time_on() {
        let wander = Wander {
            steps: vec![(2_000_000_000, 500), (3_000_000_000, -500)],
            ..Wander::default()
        };
        let at_s = [1, 2, 3, 4].map(|t| wander.ns(t * 1_000_000_000));
        assert_eq!(at_s, [0, 0, 500, 500]);
    }

    #[test]
    fn a_clock_shows_its_offset_at_the_start_and_its_drift_later() {
        let clock = clock();
        assert_eq!(clock.raw_ns(0), 3_000_000_000_000_000 - 4_000);
        // 20 ppm over 10 s are 200 us.
        assert_eq!(
            clock.raw_ns(10_000_000_000),
            3_000_000_000_000_000 + 10_000_000_000 - 4_000 + 200_000
        );
    }

    #[test]
    fn even_ns_are_whole_ticks_at_two_and_a_half_gigahertz() {
        let clock = HostClock {
            drift_ppb: 0,
            ..clock()
        };
        for t in (0..1000).step_by(2) {
            assert_eq!(clock.ticks(t) * 2, clock.raw_ns(t) * 5);
        }
    }

    #[test]
    fn ticks_never_go_back_and_keep_their_granularity() {
        let clock = HostClock {
            granularity_ticks: 26,
            ..clock()
        };
        let ticks: Vec<u64> = (0..1000).map(|t| clock.ticks(t)).collect();
        assert!(ticks.is_sorted());
        assert!(ticks.iter().all(|ticks| ticks % 26 == 0));
    }

    #[test]
    fn the_system_clocks_of_an_anchor_are_read_within_its_width() {
        let clock = HostClock {
            anchor_jitter_ns: 1_000,
            drift_ppb: 0,
            ..clock()
        };
        let mut differs = false;
        for i in 0..100 {
            let anchor = clock.anchor(1_000_000, &[i]);
            assert_eq!(anchor.ticks.get(), clock.ticks(1_000_000));
            assert_eq!(anchor.width_ticks.get(), 250);
            let away = anchor.raw_ns.get().abs_diff(clock.raw_ns(1_000_000));
            assert!(away <= 50, "{away}");
            differs |= away > 0;
        }
        assert!(differs);
    }
}

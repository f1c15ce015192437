//! One time for all processes of a job, in ns since its reference began.
//!
//! The clock of each host is measured against that of the first, again and again during a run:
//! exchanges until the smallest round trip has not improved for 100 of them, in ceil(log2 H)
//! rounds; between measurements the line through them is extrapolated. Processes of one host share
//! its clock.
//!
//! # Source
//! Hoefler et al. 2007, sections 3.1 and 3.2.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Context;
use collbench_formats::{ClockSource, OffsetSample};
use collbench_instrument::exchange::{
    Pair, StopRule, TickLength, Transport, WORDS, answer, ask, rounds,
};
use collbench_instrument::{Clock, Scheme, measure_clock};
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{Communicator, Root};
use serde::{Deserialize, Serialize};

use crate::job::{self, Group};

/// How long the time stamp counter of the reference is compared with the system's clock.
const CALIBRATION: Duration = Duration::from_millis(100);
/// How long the first two measurements of other hosts are apart, so that there is a line to
/// extrapolate.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Measurements older than this do not count for the rate of a clock, ns.
const RATE_FROM_NS: f64 = 60e9;
/// The rate of a clock is taken from measurements if they give it with a smaller error than this;
/// until then it is that of the host's own system clock.
const RATE_ERROR: f64 = 20e-6;
/// A measurement is disturbed if its round trip is longer than the shortest one by this factor.
const DISTURBED: f64 = 1.5;
/// Assumed difference of a path's two directions, as a part of the round trip.
const ASYMMETRY: f64 = 0.05;

/// From ticks of this process to global time: a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    ticks: u64,
    ns: f64,
    ns_per_tick: f64,
}

impl Line {
    /// Global time of a reading, ns.
    pub(crate) fn ns(&self, ticks: u64) -> f64 {
        let since = ticks.wrapping_sub(self.ticks) as i64;
        self.ns + since as f64 * self.ns_per_tick
    }

    /// A span of ticks, ns.
    pub(crate) fn span_ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.ns_per_tick
    }

    /// The first reading at or after a global time.
    pub(crate) fn ticks(&self, ns: f64) -> u64 {
        let since = ((ns - self.ns) / self.ns_per_tick).ceil() as i64;
        self.ticks.wrapping_add_signed(since)
    }
}

/// How far the global time of a process may be wrong, ns. All zero on the clock of the reference.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClockError {
    /// Half the smallest round trip, summed over the hosts up to the reference.
    pub bound_ns: f64,
    /// Two standard deviations, if paths differ by 5 % of the round trip between their directions,
    /// and `extrapolation_ns`.
    pub uncertainty_ns: f64,
    /// Largest distance of a later measurement from the extrapolation of those before it, without
    /// disturbed ones.
    pub extrapolation_ns: f64,
}

impl ClockError {
    /// The larger of both, figure by figure.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            bound_ns: self.bound_ns.max(other.bound_ns),
            uncertainty_ns: self.uncertainty_ns.max(other.uncertainty_ns),
            extrapolation_ns: self.extrapolation_ns.max(other.extrapolation_ns),
        }
    }
}

/// One measurement of a clock.
#[derive(Debug, Clone, Copy)]
struct Knot {
    ticks: u64,
    ns: f64,
    error_ns: f64,
}

/// Global time in one process, and what measures it.
pub(crate) struct GlobalClock {
    clock: Clock,
    /// The time stamp counter of the processors, if it is invariant, and its anchor at the start.
    counter: Option<(Clock, [u64; 5])>,
    line: Line,
    error: ClockError,
    knots: Knots,
    begin: [u64; 5],
    /// Step of the clock, ns.
    step_ns: f64,
    /// All processes with this clock; the first of them exchanges stamps.
    of_host: SimpleCommunicator,
    /// The first processes of all hosts, in those processes.
    leaders: Option<Group>,
    n_clocks: usize,
}

impl GlobalClock {
    /// Measures the clocks of all processes of `world`; collective.
    ///
    /// Returns `None` if another process cannot read this clock: that one reports why.
    ///
    /// # Errors
    /// This process cannot.
    pub(crate) fn start(
        world: &SimpleCommunicator,
        source: ClockSource,
    ) -> anyhow::Result<Option<Self>> {
        let clock = Clock::of(source).context(
            "--clock tsc: the time stamp counter of this machine is not invariant; use raw",
        );
        let Some((processes, clock)) = job::gather(world, source, clock)? else {
            return Ok(None);
        };
        let begin: [u64; 5] = clock.anchor().into();
        let counter = Clock::of(ClockSource::Tsc).map(|counter| (counter, counter.anchor().into()));
        std::thread::sleep(CALIBRATION);
        let clocks = job::clocks(&processes);
        let first = clocks[world.rank() as usize] as i32;
        let of_host = world
            .split_by_color(Color::with_value(first))
            .context("MPI_Comm_split returned no communicator")?;
        let color = if first == world.rank() {
            Color::with_value(0)
        } else {
            Color::undefined()
        };
        let leaders = world.split_by_color(color);
        let line = Line {
            ticks: begin[0],
            ns: 0.0,
            ns_per_tick: own_rate(source, begin, clock.anchor().into()),
        };
        let mut global = Self {
            clock,
            counter,
            step_ns: measure_clock(clock).granularity_ticks as f64 * line.ns_per_tick,
            line,
            error: ClockError::default(),
            knots: Knots::default(),
            begin,
            of_host,
            leaders: leaders.map(|comm| Group { clock, comm }),
            n_clocks: (0..)
                .zip(&clocks)
                .filter(|&(rank, &first)| rank == first)
                .count(),
        };
        global.measure();
        if global.n_clocks > 1 {
            std::thread::sleep(FIRST_PAUSE);
            global.measure();
        }
        Ok(Some(global))
    }

    /// The clock that is read.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// The time stamp counter as it is read, without conversion; 0 if it is not invariant. Processes
    /// of one machine share it, even if their clocks differ.
    pub(crate) fn counter(&self) -> u64 {
        self.counter.map_or(0, |(counter, _)| counter.now())
    }

    /// Length of a tick of that counter, ns; `None` without it.
    pub(crate) fn counter_tick_ns(&self) -> Option<f64> {
        let (counter, begin) = self.counter?;
        let tick_ns = own_rate(ClockSource::Tsc, begin, counter.anchor().into());
        Some(tick_ns).filter(|ns| *ns > 0.0)
    }

    /// From its ticks to global time, as of the last measurement.
    pub(crate) fn line(&self) -> Line {
        self.line
    }

    /// Global time now, ns.
    pub(crate) fn now(&self) -> f64 {
        self.line.ns(self.clock.now())
    }

    /// Smallest difference of two readings, ns.
    pub(crate) fn step_ns(&self) -> f64 {
        self.step_ns
    }

    /// How far [`line`](Self::line) may be wrong.
    pub(crate) fn error(&self) -> ClockError {
        self.error
    }

    /// Number of different clocks in the job.
    pub(crate) fn n_clocks(&self) -> usize {
        self.n_clocks
    }

    /// Measures the clocks again; collective over all processes of the job.
    pub(crate) fn measure(&mut self) {
        if self.leaders.is_some() && self.n_clocks > 1 {
            self.measure_leader();
        }
        let Line {
            ticks,
            ns,
            ns_per_tick,
        } = self.line;
        let error = self.error;
        let floats = [
            ns,
            ns_per_tick,
            error.bound_ns,
            error.uncertainty_ns,
            error.extrapolation_ns,
        ];
        let mut words = [ticks, 0, 0, 0, 0, 0];
        for (word, float) in words[1..].iter_mut().zip(floats) {
            *word = float.to_bits();
        }
        self.of_host.process_at_rank(0).broadcast_into(&mut words);
        let [ns, ns_per_tick, bound_ns, uncertainty_ns, extrapolation_ns] =
            [1, 2, 3, 4, 5].map(|i| f64::from_bits(words[i]));
        self.line = Line {
            ticks: words[0],
            ns,
            ns_per_tick,
        };
        self.error = ClockError {
            bound_ns,
            uncertainty_ns,
            extrapolation_ns,
        };
    }

    /// The part of the first process of a host. Lines are handed down after the exchanges: a host's
    /// reference knows its own global time only then.
    fn measure_leader(&mut self) {
        let Some(mut group) = self.leaders.take() else {
            return;
        };
        let (own, n) = (group.comm.rank() as usize, group.comm.size() as usize);
        let tick = match self.clock.source() {
            ClockSource::Tsc => TickLength::of(
                1 << 40,
                (self.line.ns_per_tick * (1u64 << 40) as f64) as u64,
            ),
            ClockSource::MonotonicRaw | ClockSource::Monotonic => TickLength::NANOSECOND,
        };
        let rounds = rounds(n, Scheme::Rounds);
        let mut samples = Vec::new();
        for &Pair { reference, local } in rounds.iter().flatten() {
            if own == reference {
                let Ok(_) = ask(&mut group, local, StopRule::THOROUGH, tick);
            } else if own == local {
                let Ok(answered) = answer(&mut group, reference, tick);
                samples = answered;
            }
        }
        let (of_powers, rest) = rounds.split_at(n.ilog2() as usize);
        for &Pair { reference, local } in of_powers.iter().rev().chain(rest).flatten() {
            if own == reference {
                let Line {
                    ticks,
                    ns,
                    ns_per_tick,
                } = self.line;
                let words = [
                    ticks,
                    ns.to_bits(),
                    ns_per_tick.to_bits(),
                    self.error.bound_ns.to_bits(),
                ];
                let Ok(()) = group.send(local, words);
            } else if own == local {
                let Ok(words) = group.receive(reference);
                self.add_measurement(&samples, words);
            }
        }
        self.leaders = Some(group);
    }

    fn add_measurement(
        &mut self,
        samples: &[OffsetSample],
        [ticks, ns, rate, bound]: [u64; WORDS],
    ) {
        let reference = Line {
            ticks,
            ns: f64::from_bits(ns),
            ns_per_tick: f64::from_bits(rate),
        };
        let Some((mut knot, rtt_ns)) = shortest(samples, reference, self.line.ns_per_tick) else {
            return;
        };
        knot.error_ns += f64::from_bits(bound);
        // The first line has no measured rate yet.
        let has_rate = self.knots.0.len() > 1;
        self.knots.add(knot);
        let is_undisturbed = self.knots.limit_ns() >= knot.error_ns;
        if has_rate && is_undisturbed {
            let missed = (self.line.ns(knot.ticks) - knot.ns).abs();
            self.error.extrapolation_ns = self.error.extrapolation_ns.max(missed);
        }
        if is_undisturbed || !has_rate {
            let asymmetry_ns = ASYMMETRY * rtt_ns + 2.0 * ASYMMETRY * f64::from_bits(bound);
            self.error.bound_ns = knot.error_ns;
            self.error.uncertainty_ns = asymmetry_ns + self.error.extrapolation_ns;
        }
        let own = own_rate(self.clock.source(), self.begin, self.clock.anchor().into());
        self.line = self.knots.line(own).unwrap_or(self.line);
    }
}

/// Measurements of one clock, in order.
#[derive(Debug, Default)]
struct Knots(VecDeque<Knot>);

impl Knots {
    fn add(&mut self, knot: Knot) {
        self.0.push_back(knot);
        while self.0.len() > 2 && knot.ns - self.0[0].ns > RATE_FROM_NS {
            self.0.pop_front();
        }
    }

    /// A measurement with a larger error is disturbed, and not used, ns.
    fn limit_ns(&self) -> f64 {
        let least = self.0.iter().map(|knot| knot.error_ns);
        DISTURBED * least.fold(f64::INFINITY, f64::min)
    }

    /// The line through the measurements that are not disturbed, by least squares; with fewer than
    /// two, or too short a span, through the last one at the rate `own`, ns per tick. `None`
    /// without measurements.
    fn line(&self, own: f64) -> Option<Line> {
        let limit_ns = self.limit_ns();
        let used: Vec<Knot> = self
            .0
            .iter()
            .copied()
            .filter(|knot| knot.error_ns <= limit_ns)
            .collect();
        let (&first, &last) = (used.first()?, used.last()?);
        if !has_rate(first, last) {
            return Some(Line {
                ticks: last.ticks,
                ns: last.ns,
                ns_per_tick: own,
            });
        }
        // Relative to the last one, where the line is extrapolated from.
        let n = used.len() as f64;
        let ticks = |knot: &Knot| -(last.ticks.wrapping_sub(knot.ticks) as f64);
        let ns = |knot: &Knot| knot.ns - last.ns;
        let mean_ticks = used.iter().map(ticks).sum::<f64>() / n;
        let mean_ns = used.iter().map(ns).sum::<f64>() / n;
        let products = used
            .iter()
            .map(|knot| (ticks(knot) - mean_ticks) * (ns(knot) - mean_ns));
        let squares = used.iter().map(|knot| (ticks(knot) - mean_ticks).powi(2));
        let ns_per_tick = products.sum::<f64>() / squares.sum::<f64>();
        Some(Line {
            ticks: last.ticks,
            ns: last.ns + mean_ns - ns_per_tick * mean_ticks,
            ns_per_tick,
        })
    }
}

/// The exchange with the smallest round trip: its middle on both clocks, with half the round trip
/// as the error, and the round trip in ns.
fn shortest(samples: &[OffsetSample], reference: Line, own_rate: f64) -> Option<(Knot, f64)> {
    let rtt = |s: &OffsetSample| {
        s.t4.wrapping_sub(s.t1) as i64 as f64 * reference.ns_per_tick
            - s.t3.wrapping_sub(s.t2) as i64 as f64 * own_rate
    };
    // The first exchange meets a partner that may be busy with another one.
    let best = samples
        .iter()
        .skip(1)
        .min_by(|a, b| rtt(a).total_cmp(&rtt(b)))?;
    let rtt_ns = rtt(best).max(0.0);
    let knot = Knot {
        ticks: best.t2 + best.t3.wrapping_sub(best.t2) / 2,
        ns: (reference.ns(best.t1) + reference.ns(best.t4)) / 2.0,
        error_ns: rtt_ns / 2.0,
    };
    Some((knot, rtt_ns))
}

/// Whether two measurements are far enough apart for their errors to give a rate.
fn has_rate(first: Knot, last: Knot) -> bool {
    let span_ns = last.ns - first.ns;
    let error_ns = 2.0 * ASYMMETRY * (first.error_ns + last.error_ns);
    span_ns > 0.0 && error_ns / span_ns < RATE_ERROR
}

/// Ns of the system's clock per tick, between two anchors.
fn own_rate(source: ClockSource, begin: [u64; 5], end: [u64; 5]) -> f64 {
    match source {
        ClockSource::Tsc => {
            let ticks = end[0].saturating_sub(begin[0]).max(1);
            end[1].saturating_sub(begin[1]) as f64 / ticks as f64
        }
        ClockSource::MonotonicRaw | ClockSource::Monotonic => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    #[test]
    fn a_line_leads_there_and_back() {
        let line = Line {
            ticks: 1 << 50,
            ns: 12_345.0,
            ns_per_tick: 0.4,
        };
        for ns in [-3e9, 0.0, 12_345.0, 7.7e12] {
            let ticks = line.ticks(ns);
            assert!((0.0..=0.4 + 1e-3).contains(&(line.ns(ticks) - ns)), "{ns}");
        }
    }

    #[test]
    fn the_shortest_exchange_gives_the_offset_within_half_its_round_trip() {
        let reference = Line {
            ticks: 1_000,
            ns: 0.0,
            ns_per_tick: 0.5,
        };
        // The other clock is 1 << 40 ticks of 1 ns ahead; 300 ns there, 200 ns back in the second.
        let exchange = |t1: u64, there: u64, back: u64| OffsetSample {
            t1: 1_000 + 2 * t1,
            t2: (1 << 40) + t1 + there,
            t3: (1 << 40) + t1 + there + 50,
            t4: 1_000 + 2 * (t1 + there + 50 + back),
        };
        let samples = [
            exchange(0, 1, 1),
            exchange(10_000, 9_000, 400),
            exchange(50_000, 300, 200),
            exchange(90_000, 350, 2_000),
        ];
        let (knot, rtt) = shortest(&samples, reference, 1.0).unwrap();
        assert_eq!((rtt, knot.error_ns), (500.0, 250.0));
        let offset = (knot.ticks - (1 << 40)) as f64 - knot.ns;
        assert!((offset - 50.0).abs() < 1.0, "{offset}");
        assert!(shortest(&samples[..1], reference, 1.0).is_none());
    }

    fn knot(ticks: u64, ns: f64, error_ns: f64) -> Knot {
        Knot {
            ticks,
            ns,
            error_ns,
        }
    }

    #[test]
    fn a_rate_needs_a_span_that_is_long_for_the_errors() {
        let first = knot(0, 0.0, 20_000.0);
        let mut knots = Knots::default();
        assert_eq!(knots.line(1.0), None);
        knots.add(first);
        knots.add(knot(100_000_000, 1e8, 20_000.0));
        assert_eq!(knots.line(0.9).unwrap().ns_per_tick, 0.9);
        knots.add(knot(1_000_000_000, 1e9 + 30_000.0, 20_000.0));
        let rate = knots.line(0.9).unwrap().ns_per_tick;
        assert!((rate - 1.000_03).abs() < 5e-6, "{rate}");
    }

    #[test]
    fn disturbed_measurements_do_not_move_the_line_and_many_make_it_better_than_one() {
        let mut random = Random::from_state(6);
        let (rate, mut knots) = (1.000_012, Knots::default());
        let (mut errors, mut single) = (0.0f64, 0.0f64);
        for i in 0..40u64 {
            let ticks = (1 << 45) + i * 5_000_000_000;
            let truth = |ticks: u64| (ticks - (1 << 45)) as f64 * rate + 1e6;
            let noise = random.uniform_real(-5_000.0, 5_000.0);
            if i % 7 == 3 {
                // Both directions were delayed by milliseconds, one of them more.
                knots.add(knot(ticks, truth(ticks) + 1_700_000.0, 2_000_000.0));
            } else {
                knots.add(knot(ticks, truth(ticks) + noise, 120_000.0));
            }
            if i > 10 {
                // As it is extrapolated until the next measurement.
                let line = knots.line(1.0).unwrap();
                let later = ticks + 5_000_000_000;
                errors = errors.max((line.ns(later) - truth(later)).abs());
                single = single.max(noise.abs());
            }
        }
        assert!(errors < 2.0 * single, "{errors} {single}");
        assert!(knots.0.len() <= 14, "{}", knots.0.len());
    }
}

//! Whether events that are periodic are so in time, or in steps of a program.
//!
//! A timer does not know the steps of the program. Its events happen in whichever step its time
//! falls into, and they deviate from regular times by less than a step, or by errors of their own
//! that do not add up. How many steps are between two of them varies, unless the period is a
//! multiple of the step to less than a step over the whole run, or all processes wait for the
//! interrupted one and go on together, so that the steps follow the timer.
//!
//! Events of the program are a constant number of steps apart. They deviate from regular times by
//! as much as the durations of the steps add up to. Where steps are so regular that the sum is less
//! than a step, both fit, and the basis is unknown.

use std::collections::BTreeMap;

use crate::periods::Line;

/// Part of the events that must be the same number of steps apart to be steps of the program.
const MIN_IN_STEP: f64 = 0.9;
/// Fewest events of a series for which that is counted.
const MIN_IN_SERIES: usize = 3;
/// The least mean square of the differences of deviations, in variances, if these do not add up. It
/// is 2 if they are independent. If they add up it is about 15 divided by their number, and in one
/// of a hundred cases above 52 divided by that, found by simulation.
const MIN_VARIANCES: f64 = 1.3;
const MIN_VARIANCES_TIMES_N: f64 = 52.0;
/// A period is in time if its scatter in steps is longer than that in time so many times.
const MIN_RATIO: f64 = 2.0;

/// One of several periodic events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteppedEvent {
    /// The number of its cycle.
    pub cycle: i64,
    /// Time of the event, ns.
    pub time_ns: i64,
    /// The series of steps in which it happened.
    pub series: usize,
    /// The step of that series in which it happened.
    pub step: u64,
}

/// Events that are multiples of a number of steps apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepPeriod {
    /// The series of steps.
    pub series: usize,
    /// Steps in a cycle; at least 1.
    pub steps: u64,
    /// The step in the cycle, below `steps`.
    pub phase: u64,
    /// Number of its events.
    pub n: usize,
}

impl StepPeriod {
    /// Whether an event belongs to it.
    #[must_use]
    pub fn holds(&self, series: usize, step: u64) -> bool {
        self.series == series && step % self.steps == self.phase
    }
}

/// Whether events are periodic in time or in steps of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Periodic in time.
    Time,
    /// Periodic in steps of a series: of several series, the one with most of the events.
    Steps(StepPeriod),
    /// Not known. With a period in steps: both fit.
    Unknown(Option<StepPeriod>),
}

/// Whether events, at most one in a cycle, are periodic in time or in steps; `step_ns` is how much later than a timer
/// the end of a step of a series may be, ns, where a period in steps is known or not.
pub fn basis(
    events: &[SteppedEvent],
    step_ns: &dyn Fn(usize, Option<&StepPeriod>) -> f64,
) -> Basis {
    let mut events = events.to_vec();
    events.sort_unstable_by_key(|event| event.cycle);
    let periods = step_periods(&events);
    let n_in_step: usize = periods.iter().map(|period| period.n).sum();
    let most = periods.iter().rev().max_by_key(|period| period.n);
    if let Some(&most) = most
        && n_in_step as f64 >= MIN_IN_STEP * events.len() as f64
    {
        let is_in_step = |event: &SteppedEvent| {
            let mut periods = periods.iter();
            periods.any(|period| period.holds(event.series, event.step))
        };
        let in_step: Vec<SteppedEvent> = events.into_iter().filter(is_in_step).collect();
        let longest_ns = periods
            .iter()
            .map(|period| step_ns(period.series, Some(period)))
            .fold(0.0, f64::max);
        return match Residuals::of(&in_step, |event| event.time_ns as f64) {
            Some(times) if times.range() > longest_ns => Basis::Steps(most),
            Some(times) if times.do_not_add_up() => Basis::Time,
            _ => Basis::Unknown(Some(most)),
        };
    }
    let Some(times) = Residuals::of(&events, |event| event.time_ns as f64) else {
        return Basis::Unknown(None);
    };
    let longest_ns = events
        .iter()
        .map(|event| step_ns(event.series, None))
        .fold(0.0, f64::max);
    let is_of_timer = times.deviation() <= longest_ns
        || times.do_not_add_up()
        || times.deviation() * MIN_RATIO <= scatter_in_steps_ns(&events);
    if is_of_timer {
        Basis::Time
    } else {
        Basis::Unknown(None)
    }
}

/// For each series the number of steps that most of its events are multiples of apart; events
/// ascending by cycle.
pub fn step_periods(events: &[SteppedEvent]) -> Vec<StepPeriod> {
    let mut by_series: BTreeMap<usize, Vec<&SteppedEvent>> = BTreeMap::new();
    for event in events {
        by_series.entry(event.series).or_default().push(event);
    }
    let periods = by_series.into_iter().filter_map(|(series, events)| {
        let per_cycle = events.windows(2).filter_map(|pair| {
            let n_cycles = u64::try_from(pair[1].cycle - pair[0].cycle).ok()?;
            let n_steps = pair[1].step.checked_sub(pair[0].step)?;
            (n_cycles > 0 && n_steps > 0 && n_steps % n_cycles == 0).then(|| n_steps / n_cycles)
        });
        let (steps, _) = most_frequent(per_cycle)?;
        let (phase, n) = most_frequent(events.iter().map(|event| event.step % steps))?;
        (n >= MIN_IN_SERIES).then_some(StepPeriod {
            series,
            steps,
            phase,
            n,
        })
    });
    periods.collect()
}

/// The most frequent number, and how often it is there; among equals the smallest.
fn most_frequent(numbers: impl Iterator<Item = u64>) -> Option<(u64, usize)> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    numbers.for_each(|number| *counts.entry(number).or_default() += 1);
    counts.into_iter().rev().max_by_key(|(_, n)| *n)
}

/// Standard deviation of the steps of events from periodic ones, in mean times of a step, ns; in
/// the series of most events.
fn scatter_in_steps_ns(events: &[SteppedEvent]) -> f64 {
    let series = most_frequent(events.iter().map(|event| event.series as u64));
    let of_series = |event: &&SteppedEvent| series.is_some_and(|s| event.series as u64 == s.0);
    let own: Vec<SteppedEvent> = events.iter().filter(of_series).copied().collect();
    let times = Residuals::of(&own, |event| event.time_ns as f64);
    let steps = Residuals::of(&own, |event| event.step as f64);
    match (times, steps) {
        (Some(times), Some(steps)) if steps.per_cycle > 0.0 => {
            steps.deviation() * times.per_cycle / steps.per_cycle
        }
        _ => 0.0,
    }
}

/// Deviations of events from a straight line over the number of their cycle.
struct Residuals {
    /// Slope of the line.
    per_cycle: f64,
    /// Ascending by cycle.
    values: Vec<f64>,
}

impl Residuals {
    fn of(events: &[SteppedEvent], value: impl Fn(&SteppedEvent) -> f64) -> Option<Self> {
        let first = events.first()?;
        // Differences, since the times themselves are so large that squares would lose digits.
        let point = |event: &SteppedEvent| {
            let cycle = (event.cycle - first.cycle) as f64;
            (cycle, value(event) - value(first))
        };
        let points: Vec<(f64, f64)> = events.iter().map(point).collect();
        let line = Line::through(&points)?;
        Some(Self {
            per_cycle: line.period_ns,
            values: points.iter().map(|&(c, v)| line.residual(c, v)).collect(),
        })
    }

    fn range(&self) -> f64 {
        let values = || self.values.iter().copied();
        values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min)
    }

    fn squares(&self) -> f64 {
        self.values.iter().map(|value| value * value).sum()
    }

    fn deviation(&self) -> f64 {
        (self.squares() / self.values.len() as f64).sqrt()
    }

    /// Whether each deviates by itself: the ratio of von Neumann.
    fn do_not_add_up(&self) -> bool {
        let differences = self.values.windows(2).map(|pair| pair[1] - pair[0]);
        let squares: f64 = differences.map(|difference| difference.powi(2)).sum();
        let least = MIN_VARIANCES.max(MIN_VARIANCES_TIMES_N / self.values.len() as f64);
        squares > 0.0 && squares >= least * self.squares()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const STEP: f64 = 1e6;

    /// A program whose steps of 1 ms vary by a part of that, and its begin of each step.
    fn steps(random: &mut Random, part: f64) -> Vec<f64> {
        let mut now = 0.0;
        let begins = (0..3_000).map(|_| {
            now += STEP * (1.0 - part + 2.0 * part * random.unit());
            now
        });
        begins.collect()
    }

    /// The steps that a timer interrupts, which itself has a jitter.
    fn of_timer(
        random: &mut Random,
        begins: &[f64],
        period: f64,
        jitter: f64,
    ) -> Vec<SteppedEvent> {
        let end = begins[begins.len() - 1];
        let ticks = (1..).map(|cycle| f64::from(cycle) * period);
        let events = (1..).zip(ticks).map_while(|(cycle, tick)| {
            let tick = tick + jitter * (random.unit() - 0.5);
            let step = begins.iter().position(|&begin| begin > tick)?;
            (tick < end).then(|| event(begins, cycle, step))
        });
        events.collect()
    }

    fn event(begins: &[f64], cycle: i64, step: usize) -> SteppedEvent {
        SteppedEvent {
            cycle,
            time_ns: begins[step] as i64,
            series: 0,
            step: 3 * step as u64 + 1,
        }
    }

    /// Every 50th step.
    fn of_program(begins: &[f64]) -> Vec<SteppedEvent> {
        (1..59).map(|n| event(begins, n, 50 * n as usize)).collect()
    }

    fn judge(events: &[SteppedEvent]) -> Basis {
        basis(events, &|_, steps| {
            if steps.is_some() { 2.0 * STEP } else { STEP }
        })
    }

    #[test]
    fn a_timer_is_told_from_the_program() {
        for seed in 0..50 {
            let random = &mut Random::from_state(seed);
            let irregular = steps(random, 0.5);
            let Basis::Steps(found) = judge(&of_program(&irregular)) else {
                panic!("seed {seed}: {:?}", judge(&of_program(&irregular)));
            };
            assert_eq!((found.steps, found.phase, found.n), (150, 1, 58));
            for (part, period, jitter) in [
                (0.5, 50.0, 0.0),
                (0.5, 50.0, 5.0),
                (0.02, 50.4, 0.0),
                (0.0, 48.7, 0.0),
                (0.0, 48.7, 6.0),
            ] {
                let begins = steps(random, part);
                let events = of_timer(random, &begins, period * STEP, jitter * STEP);
                assert_eq!(judge(&events), Basis::Time, "seed {seed}: {part} {period}");
            }
        }
    }

    #[test]
    fn steps_that_follow_a_timer_do_not_hide_it() {
        for seed in 0..50 {
            let random = &mut Random::from_state(seed);
            // All wait until an interruption of 3 ms is over; 47 steps follow, then the next.
            let events = (0..60).map(|cycle| SteppedEvent {
                cycle,
                time_ns: ((50.0 * cycle as f64 + 0.3 * random.unit()) * STEP) as i64,
                series: 0,
                step: 47 * cycle.unsigned_abs(),
            });
            let events: Vec<SteppedEvent> = events.collect();
            assert_eq!(judge(&events), Basis::Time, "seed {seed}");
        }
    }

    #[test]
    fn where_both_fit_nothing_is_claimed() {
        let random = &mut Random::from_state(1);
        let begins = steps(random, 0.0);
        let both = |events: &[SteppedEvent]| match judge(events) {
            Basis::Unknown(Some(found)) => found.steps,
            other => panic!("{other:?}"),
        };
        assert_eq!(both(&of_program(&begins)), 150);
        assert_eq!(both(&of_timer(random, &begins, 50.0 * STEP, 0.0)), 150);
        // Parts of the program whose steps vary in number and in duration.
        for seed in 0..50 {
            let random = &mut Random::from_state(seed);
            let begins = steps(random, 0.5);
            let mut step = 0;
            let events = (1..50).map(|cycle| {
                step += 40 + (random.bits() % 20) as usize;
                event(&begins, cycle, step)
            });
            let events: Vec<SteppedEvent> = events.collect();
            assert_eq!(judge(&events), Basis::Unknown(None), "seed {seed}");
        }
    }

    #[test]
    fn few_events_have_no_basis() {
        let begins = steps(&mut Random::from_state(1), 0.5);
        for n in 0..3 {
            let events = &of_program(&begins)[..n];
            assert_eq!(judge(events), Basis::Unknown(None), "{n}");
        }
    }
}

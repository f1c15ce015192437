//! Finds a period in the times of events, if there is one beyond that of the program itself.
//!
//! The Rayleigh periodogram: each event is a unit vector that rotates once per period, and R is the
//! length of their mean. For n events without a period n R^2 exceeds x with probability exp(-x).
//! Frequencies are tried in steps of a quarter of what the length of the run resolves, and the
//! probability is multiplied by their number. Often only the largest events are periodic, so the
//! sums are tested after 16, 32, 64 ... events, the largest first.
//!
//! Events can happen only where there are instances, and instances are periodic themselves because
//! of the program's loops. So the mean vector at the same frequency of the instances of the same
//! operation and part of the run is subtracted; the rest must still be significant. The period must
//! hold in both halves of the run and in most cycles.

use std::collections::BTreeSet;
use std::f64::consts::TAU;

/// Largest p-value of a period that is reported.
const MAX_P: f64 = 1e-3;
/// Fewest events, and fewest cycles of the longest period.
const MIN_EVENTS: usize = 8;
const MIN_CYCLES: f64 = 5.0;
/// Most cycles of the shortest period.
const MAX_CYCLES: f64 = 4096.0;
/// Frequencies tried between two that the length of the run resolves.
const OVERSAMPLING: f64 = 4.0;
/// Shortest period, in intervals between instances.
const MIN_INTERVALS: f64 = 4.0;
/// Number of peaks that are refined.
const MAX_PEAKS: usize = 64;
/// Least R: with less, too few events are periodic.
const MIN_R: f64 = 0.6;
/// Share of R that a multiple of the period keeps if that multiple is the true period: one event in
/// ten may by chance be where only the shorter period has a cycle.
const KEPT_BY_MULTIPLE: f64 = 0.8;
/// Least share of the cycles that contain an event.
const MIN_PART_OF_CYCLES: f64 = 0.3;

/// Events and the instances among which they happened.
#[derive(Debug, Clone)]
pub struct EventTimes<'a> {
    /// Time, ns, and group of each event, the most extreme first.
    pub events: &'a [(i64, usize)],
    /// By group: times of a random sample of its instances, ns.
    pub background: &'a [Vec<i64>],
    /// Begin and end of the time in which there were instances, ns.
    pub range_ns: (i64, i64),
    /// Mean time between instances of the operation that was called most often, ns.
    pub interval_ns: f64,
}

/// A period in the times of events.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// Length of the period, ns.
    pub period_ns: f64,
    /// Standard error of the period, ns.
    pub period_error_ns: f64,
    /// Standard deviation of the events from the periodic times, ns.
    pub scatter_ns: f64,
    /// The periodic events, ascending by index: of each cycle the most extreme one. A cycle counts
    /// if its periodic time is within the range, so there are at most length / period + 1.
    pub events: Vec<PeriodicEvent>,
    /// Indexes of further events at a periodic time, ascending: of a cycle that has one already, or
    /// of one whose periodic time is just outside the range.
    pub further: Vec<usize>,
    /// Probability of a period as strong by chance, at most.
    pub p: f64,
}

/// An event that belongs to a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicEvent {
    /// Index in the list of events.
    pub index: usize,
    /// The number of its cycle.
    pub cycle: i64,
}

/// A mean of unit vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Vector {
    x: f64,
    y: f64,
}

impl Vector {
    fn at(time: f64, frequency: f64) -> Self {
        // Only the fraction of a rotation counts; whole ones would cost precision.
        let turns = (time * frequency).fract();
        let (y, x) = (TAU * turns).sin_cos();
        Self { x, y }
    }

    fn mean(times: impl Iterator<Item = f64>, frequency: f64) -> Self {
        let (mut sum, mut n) = (Self::default(), 0.0);
        for time in times {
            sum = sum.plus(Self::at(time, frequency));
            n += 1.0;
        }
        sum.times(1.0 / f64::max(n, 1.0))
    }

    fn plus(self, other: Self) -> Self {
        Self {
            x: self.x + other.x,
            y: self.y + other.y,
        }
    }

    fn times(self, factor: f64) -> Self {
        Self {
            x: self.x * factor,
            y: self.y * factor,
        }
    }

    fn rotated_by(self, other: Self) -> Self {
        Self {
            x: self.x * other.x - self.y * other.y,
            y: self.x * other.y + self.y * other.x,
        }
    }

    fn square(self) -> f64 {
        self.x * self.x + self.y * self.y
    }
}

/// A frequency at which some of the events agree in phase.
#[derive(Debug, Clone, Copy)]
struct Peak {
    strength: f64,
    frequency: f64,
    n_events: usize,
}

/// The most significant period of the events.
pub fn find_period(times: &EventTimes<'_>) -> Option<Period> {
    let (begin, end) = times.range_ns;
    let length = end.checked_sub(begin)? as f64;
    if times.events.len() < MIN_EVENTS || length <= 0.0 {
        return None;
    }
    let search = Search {
        times,
        length,
        begin: begin as f64,
        lowest: MIN_CYCLES / length,
        step: 1.0 / (OVERSAMPLING * length),
        n_frequencies: {
            let highest = (MAX_CYCLES / length).min(1.0 / (MIN_INTERVALS * times.interval_ns));
            ((highest - MIN_CYCLES / length) * OVERSAMPLING * length).floor()
        },
    };
    if search.n_frequencies < 1.0 {
        return None;
    }
    let peaks = search.peaks();
    peaks.iter().find_map(|peak| search.refine(peak))
}

struct Search<'a> {
    times: &'a EventTimes<'a>,
    begin: f64,
    length: f64,
    lowest: f64,
    step: f64,
    n_frequencies: f64,
}

impl Search<'_> {
    /// Time of an event since the begin of the range, ns.
    fn event(&self, index: usize) -> f64 {
        self.times.events[index].0 as f64 - self.begin
    }

    /// Numbers of events after which the sums are tested.
    fn sizes(&self) -> Vec<usize> {
        let n = self.times.events.len();
        let sizes = (4..).map(|bits| 1 << bits).take_while(|size| *size < n);
        sizes.chain([n]).collect()
    }

    /// Number of tests, by which a probability is multiplied.
    fn n_trials(&self) -> f64 {
        self.n_frequencies * self.sizes().len() as f64
    }

    fn exceeds_chance(&self, strength: f64) -> bool {
        self.n_trials() * (-strength).exp() < MAX_P
    }

    /// The strongest significant peaks of the periodogram.
    fn peaks(&self) -> Vec<Peak> {
        let sizes = self.sizes();
        let n = self.times.events.len();
        let mut vectors: Vec<Vector> = (0..n)
            .map(|e| Vector::at(self.event(e), self.lowest))
            .collect();
        let turns: Vec<Vector> = (0..n)
            .map(|e| Vector::at(self.event(e), self.step))
            .collect();
        // The last two frequencies of each size: a value is a peak if the next is lower.
        let mut before = vec![[0.0f64; 2]; sizes.len()];
        let mut peaks = Vec::new();
        for index in 0..=self.n_frequencies as usize {
            let frequency = self.lowest + index as f64 * self.step;
            let mut sum = Vector::default();
            let mut from = 0;
            for (&n_events, before) in sizes.iter().zip(&mut before) {
                for vector in &vectors[from..n_events] {
                    sum = sum.plus(*vector);
                }
                from = n_events;
                let strength = sum.square() / n_events as f64;
                let [first, second] = *before;
                if second > first && second >= strength && self.exceeds_chance(second) {
                    peaks.push(Peak {
                        strength: second,
                        frequency: frequency - self.step,
                        n_events,
                    });
                }
                *before = [second, strength];
            }
            // Recomputed now and then, since repeated rotation accumulates rounding errors.
            match (index + 1) % 64 {
                0 => {
                    let next = frequency + self.step;
                    for (e, vector) in vectors.iter_mut().enumerate() {
                        *vector = Vector::at(self.event(e), next);
                    }
                }
                _ => {
                    for (vector, turn) in vectors.iter_mut().zip(&turns) {
                        *vector = vector.rotated_by(*turn);
                    }
                }
            }
        }
        peaks.sort_by(|a, b| b.strength.total_cmp(&a.strength));
        peaks.truncate(MAX_PEAKS);
        peaks
    }

    fn refine(&self, peak: &Peak) -> Option<Period> {
        let n_events = peak.n_events;
        let sharp = self.sharpen(peak.frequency, n_events);
        let r = self.r(sharp, n_events);
        // Of a period and its harmonics, takes the longest one that all events have.
        let mut frequency = sharp;
        while let Some(lower) = (2..=8)
            .rev()
            .map(|multiple| frequency / f64::from(multiple))
            .filter(|&lower| lower >= self.lowest)
            .map(|lower| self.sharpen(lower, n_events))
            .find(|&lower| self.r(lower, n_events) >= KEPT_BY_MULTIPLE * r)
        {
            frequency = lower;
        }
        let r = self.r(frequency, n_events);
        let strength = self.strength_beyond_program(frequency, n_events);
        let n_cycles = self.length * frequency;
        let is_real = r >= MIN_R
            && self.exceeds_chance(strength)
            && self.holds_in_both_halves(frequency, n_events);
        if !is_real {
            return None;
        }
        let rhythm = self.fit(frequency, n_events, strength)?;
        let is_frequent = rhythm.events.len() as f64 >= MIN_PART_OF_CYCLES * n_cycles;
        (is_frequent && rhythm.events.len() >= MIN_EVENTS).then_some(rhythm)
    }

    fn mean(&self, frequency: f64, n_events: usize) -> Vector {
        Vector::mean((0..n_events).map(|e| self.event(e)), frequency)
    }

    fn r(&self, frequency: f64, n_events: usize) -> f64 {
        self.mean(frequency, n_events).square().sqrt()
    }

    /// The strongest frequency within a step of this one.
    fn sharpen(&self, frequency: f64, n_events: usize) -> f64 {
        let (mut best, mut width) = (frequency, self.step);
        for _ in 0..3 {
            let around = (-8..=8).map(|k| best + f64::from(k) / 8.0 * width);
            let strengths = around.map(|frequency| (self.r(frequency, n_events), frequency));
            best = strengths
                .reduce(|best, next| if next.0 > best.0 { next } else { best })
                .map_or(best, |(_, frequency)| frequency);
            width /= 8.0;
        }
        best
    }

    /// n R^2 of the events after the mean vector of the instances among which they happened is
    /// subtracted.
    fn strength_beyond_program(&self, frequency: f64, n_events: usize) -> f64 {
        // Parts of the run of two cycles or more: in shorter ones the instances around an event
        // would have its period.
        let n_parts = (self.length * frequency / 2.0).floor().clamp(1.0, 8.0);
        let part_of =
            |time: f64| ((time / self.length * n_parts) as usize).min(n_parts as usize - 1);
        let n_groups = self.times.background.len();
        let mut counts = vec![vec![0u32; n_parts as usize]; n_groups];
        for e in 0..n_events {
            counts[self.times.events[e].1][part_of(self.event(e))] += 1;
        }
        let n = n_events as f64;
        let (mut program, mut error) = (Vector::default(), 1.0 / n);
        for (group, counts) in counts.iter().enumerate() {
            let instances = || {
                let times = self.times.background[group].iter();
                times.map(|&time| time as f64 - self.begin)
            };
            for (part, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let here = || instances().filter(|&time| part_of(time) == part);
                let (mean, m) = match here().count() {
                    0 => (Vector::mean(instances(), frequency), instances().count()),
                    m => (Vector::mean(here(), frequency), m),
                };
                let share = f64::from(count) / n;
                program = program.plus(mean.times(share));
                error += share * share / m.max(1) as f64;
            }
        }
        let left = self.mean(frequency, n_events).plus(program.times(-1.0));
        let scatter = (1.0 - program.square()).max(1e-3);
        left.square() / (scatter * error)
    }

    /// Whether the events of each half of the time have the period, with the same phase.
    fn holds_in_both_halves(&self, frequency: f64, n_events: usize) -> bool {
        let mut times: Vec<f64> = (0..n_events).map(|e| self.event(e)).collect();
        times.sort_unstable_by(f64::total_cmp);
        let (first, second) = times.split_at(times.len() / 2);
        let [first, second] =
            [first, second].map(|half| Vector::mean(half.iter().copied(), frequency));
        let both = first.x * second.x + first.y * second.y;
        let lengths = (first.square() * second.square()).sqrt();
        // The phases differ by at most a sixth of a period.
        first.square().min(second.square()) >= (MIN_R * MIN_R / 2.0) && both >= 0.5 * lengths
    }

    /// Fits the times of the events to a line over the number of their cycle.
    fn fit(&self, frequency: f64, n_events: usize, strength: f64) -> Option<Period> {
        let mean = self.mean(frequency, n_events);
        let beat = mean.y.atan2(mean.x) / TAU;
        let period = 1.0 / frequency;
        let cycle = |time: f64| (time * frequency - beat).round();
        let off = |time: f64| (time - (cycle(time) + beat) * period).abs();
        let mut near: Vec<(f64, f64)> = (0..n_events)
            .map(|e| self.event(e))
            .filter(|&time| off(time) < period / 5.0)
            .map(|time| (cycle(time), time))
            .collect();
        let mut line = Line::through(&near)?;
        // Events that are there by chance are far from the line; without them the fit becomes
        // closer.
        for _ in 0..4 {
            let allowed = line.allowed_ns(&near);
            near.retain(|&(cycle, time)| line.residual(cycle, time).abs() <= allowed);
            line = Line::through(&near)?;
        }
        let allowed = line.allowed_ns(&near);
        let n = near.len() as f64;
        let scatter: f64 = near.iter().map(|&(c, t)| line.residual(c, t).powi(2)).sum();
        let scatter_ns = (scatter / (n - 2.0)).sqrt();
        let (mut events, mut further) = (Vec::new(), Vec::new());
        let mut cycles = BTreeSet::new();
        for index in 0..self.times.events.len() {
            let time = self.event(index);
            let cycle = cycle(time);
            if line.residual(cycle, time).abs() > allowed {
                continue;
            }
            let is_within = (0.0..=self.length).contains(&line.time(cycle));
            let cycle = cycle as i64;
            if is_within && cycles.insert(cycle) {
                events.push(PeriodicEvent { index, cycle });
            } else {
                further.push(index);
            }
        }
        Some(Period {
            period_ns: line.period_ns,
            period_error_ns: scatter_ns / line.squares.sqrt(),
            scatter_ns,
            events,
            further,
            p: (self.n_trials() * (-strength).exp()).min(1.0),
        })
    }
}

/// Least-squares line through the times of events, over the number of their cycle.
pub(crate) struct Line {
    mean_cycle: f64,
    mean_time: f64,
    /// Time between cycles, ns.
    pub(crate) period_ns: f64,
    /// Sum of squared distances of the cycles from their mean.
    squares: f64,
}

impl Line {
    /// The line through (cycle, time); `None` for fewer than three events, and for one cycle.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean_cycle = points.iter().map(|(cycle, _)| cycle).sum::<f64>() / n;
        let mean_time = points.iter().map(|(_, time)| time).sum::<f64>() / n;
        let squares: f64 = points.iter().map(|(c, _)| (c - mean_cycle).powi(2)).sum();
        let products = points
            .iter()
            .map(|(c, t)| (c - mean_cycle) * (t - mean_time));
        (points.len() > 2 && squares > 0.0).then(|| Self {
            mean_cycle,
            mean_time,
            period_ns: products.sum::<f64>() / squares,
            squares,
        })
    }

    /// The periodic time of a cycle.
    fn time(&self, cycle: f64) -> f64 {
        self.mean_time + self.period_ns * (cycle - self.mean_cycle)
    }

    /// By how much later than the periodic time of its cycle an event is.
    pub(crate) fn residual(&self, cycle: f64, time: f64) -> f64 {
        time - self.time(cycle)
    }

    /// Largest residual of a periodic event: six times the median residual, which is four standard
    /// deviations, but at least a hundredth and at most a fifth of the period.
    fn allowed_ns(&self, points: &[(f64, f64)]) -> f64 {
        let mut distances: Vec<f64> = points
            .iter()
            .map(|&(c, t)| self.residual(c, t).abs())
            .collect();
        distances.sort_unstable_by(f64::total_cmp);
        let middle = distances.get(distances.len() / 2).copied().unwrap_or(0.0);
        (6.0 * middle).clamp(self.period_ns / 100.0, self.period_ns / 5.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers in 0..1, the same in every run.
    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    const SECOND: f64 = 1e9;

    /// Instances about every 10 ms for a minute.
    fn instances(random: &mut impl FnMut() -> f64) -> Vec<i64> {
        let mut now = 0.0;
        let mut times = Vec::new();
        while now < 60.0 * SECOND {
            now += 0.01 * SECOND * (0.9 + 0.2 * random());
            times.push(now as i64);
        }
        times
    }

    fn search(events: &[i64], instances: &[i64]) -> Option<Period> {
        let events: Vec<(i64, usize)> = events.iter().map(|&time| (time, 0)).collect();
        let background = instances.iter().step_by(23).copied().collect();
        find_period(&EventTimes {
            events: &events,
            background: &[background],
            range_ns: (instances[0], instances[instances.len() - 1]),
            interval_ns: 0.01 * SECOND,
        })
    }

    /// The first instance after each time.
    fn next_after(times: impl Iterator<Item = f64>, instances: &[i64]) -> Vec<i64> {
        times
            .filter_map(|time| instances.iter().find(|&&i| i as f64 > time).copied())
            .collect()
    }

    #[test]
    fn events_every_second_among_others_have_that_period() {
        for seed in 0..10 {
            let mut random = random(seed);
            let instances = instances(&mut random);
            let beats = (0..59).map(|n| (0.3 + f64::from(n)) * SECOND);
            let mut events = next_after(beats, &instances);
            for _ in 0..60 {
                events.push(instances[(random() * instances.len() as f64) as usize]);
            }
            let found = search(&events, &instances).expect("there is a rhythm");
            let error = (found.period_ns / SECOND - 1.0).abs();
            assert!(error < 1e-3, "seed {seed}: {found:?}");
            assert!(
                error * SECOND < 5.0 * found.period_error_ns,
                "seed {seed}: {found:?}"
            );
            // Once in each cycle, and few of those that are there by chance.
            let n_own = found.events.iter().filter(|e| e.index < 59).count();
            let n = found.events.len() + found.further.len();
            assert!(n_own >= 57 && found.events.len() <= 60, "{n_own} {found:?}");
            assert!(n < 70, "{n}");
        }
    }

    #[test]
    fn random_events_have_no_period_even_if_the_program_has_one() {
        for seed in 0..16 {
            let mut random = random(1000 + seed);
            let mut instances = instances(&mut random);
            if seed % 2 == 1 {
                // A program that calls in bursts, in half of every second.
                instances.retain(|&time| time % 1_000_000_000 < 500_000_000);
            }
            // Late in one part of the run only, as when lateness moves from rank to rank.
            let from = (seed % 4) as f64 * 0.1;
            let events: Vec<i64> = (0..200)
                .map(|_| {
                    let place = from + (1.0 - 2.0 * from) * random();
                    instances[(place * instances.len() as f64) as usize]
                })
                .collect();
            assert_eq!(search(&events, &instances), None, "seed {seed}");
        }
    }

    #[test]
    fn of_several_events_in_a_cycle_one_counts() {
        for seed in 0..20 {
            let mut random = random(2000 + seed);
            let instances = instances(&mut random);
            // Of an interruption up to four late arrivals are seen, and the run begins and ends in one.
            let beats = (0..61).map(|n| f64::from(n) * SECOND);
            let mut times: Vec<f64> = Vec::new();
            for beat in beats {
                let n = 1 + (random() * 4.0) as u32;
                times.extend((0..n).map(|n| beat + 0.025 * f64::from(n) * SECOND));
            }
            let events = next_after(times.into_iter(), &instances);
            let found = search(&events, &instances).expect("there is a rhythm");
            let length = (instances[instances.len() - 1] - instances[0]) as f64;
            let most = length / found.period_ns + 1.0;
            assert!(found.events.len() as f64 <= most, "seed {seed}: {found:?}");
            let mut cycles: Vec<i64> = found.events.iter().map(|event| event.cycle).collect();
            cycles.sort_unstable();
            cycles.dedup();
            assert_eq!(cycles.len(), found.events.len(), "seed {seed}");
            assert!(cycles.len() >= 50 && found.further.len() > 20, "{found:?}");
        }
    }

    #[test]
    fn a_few_events_or_none_have_no_period() {
        let mut random = random(9);
        let instances = instances(&mut random);
        assert_eq!(search(&[], &instances), None);
        let beats = (0..7).map(|n| (0.3 + f64::from(n)) * SECOND);
        assert_eq!(search(&next_after(beats, &instances), &instances), None);
    }
}

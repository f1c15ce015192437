//! Finds a period in the times of events, if there is one beyond that of the program itself.
//!
//! The Rayleigh periodogram: each event is a unit vector that rotates once per period, and R is the
//! length of their mean. For n events without a period n R^2 exceeds x with probability exp(-x).
//! Frequencies are tried in steps of a quarter of what the length of the run resolves, and the
//! probability is multiplied by their number. Often only the largest events are periodic, so the
//! sums are tested after 8, 12, 16, 24 ... events, the largest first.
//!
//! Events can happen only where there are instances, and instances are periodic themselves because
//! of the program's loops. So the mean vector at the same frequency of the instances of the same
//! operation and part of the run is subtracted; the rest must still be significant. The period must
//! hold in both halves of the run and in most cycles.
//!
//! A few exact events are not enough for that test, which knows them by their mean only. A second one
//! counts how many of them are at the regular times, against as many as by chance (binomial): that
//! chance is the part of the cycle, or of the instances, that these times make up.
//!
//! Fewer events than are needed for a periodogram are searched for times that nearly all cycles have an event at: of few
//! cycles there are few frequencies to be tried.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

use crate::chance::binomial_tail;

/// Largest p-value of a period that is reported.
const MAX_P: f64 = 1e-3;
/// Fewest events, and fewest cycles of the longest period.
const MIN_EVENTS: usize = 8;
const MIN_CYCLES: f64 = 5.0;
/// The same where nearly all cycles have an event.
const FEWEST_EVENTS: usize = 5;
const FEW_CYCLES: f64 = 4.0;
/// The least share of the cycles from the first event to the last one that is nearly all, how many events are searched, and the
/// least distance from the regular times that is allowed, in parts of the period.
const NEARLY_ALL_CYCLES: f64 = 0.7;
const NUMBERS_OF_FEW: [usize; 5] = [5, 6, 8, 10, 12];
const LEAST_ALLOWED: f64 = 0.005;
/// Events among which a few are looked for, at most, and how much the phases of these agree, at least, near their frequency.
const MOST_WITH_FEW: usize = 64;
const LEAST_RESULTANT: f64 = 0.5;
/// Most cycles of the shortest period.
const MAX_CYCLES: f64 = 4096.0;
/// And most cycles for each event: where fewer have one, it is no rhythm.
const CYCLES_PER_EVENT: f64 = 16.0;
/// Frequencies tried between two that the length of the run resolves.
const OVERSAMPLING: f64 = 4.0;
/// Shortest period, in intervals between instances: below two, a period cannot be told from others.
const MIN_INTERVALS: f64 = 2.5;
/// Part of R that is left at a frequency between two that are tried, at least.
const LEFT_BETWEEN: f64 = 0.97;
/// Number of peaks that are refined.
const MAX_PEAKS: usize = 64;
/// Most events of which a few exact ones are searched, and the part of the evidence that their mean must be: one in so
/// many.
const MAX_EXACT: usize = 64;
const EXACT: f64 = 3.0;
/// Least R: with less, too few events are periodic.
const MIN_R: f64 = 0.6;
/// Share of R that a multiple of the period keeps if that multiple is the true period: one event in
/// ten may by chance be where only the shorter period has a cycle.
const KEPT_BY_MULTIPLE: f64 = 0.8;
/// Longest multiple of a period that is looked at.
const MAX_MULTIPLE: u32 = 32;
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
    if times.events.len() < FEWEST_EVENTS || length <= 0.0 {
        return None;
    }
    let search = Search {
        times,
        length,
        begin: begin as f64,
        lowest: MIN_CYCLES / length,
        step: 1.0 / (OVERSAMPLING * length),
        n_frequencies: {
            let most_cycles = MAX_CYCLES.min(CYCLES_PER_EVENT * times.events.len() as f64);
            let highest = (most_cycles / length).min(1.0 / (MIN_INTERVALS * times.interval_ns));
            ((highest - MIN_CYCLES / length) * OVERSAMPLING * length).floor()
        },
    };
    search.by_peaks().or_else(|| search.of_few())
}
/// A significant period.
struct Found {
    period: Period,
    /// The probability of it by chance is at most exp(-strength).
    strength: f64,
    /// Whether the mean vector of its events tells, rather than how exact they are.
    is_by_mean: bool,
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
    /// The most significant period of the periodogram.
    fn by_peaks(&self) -> Option<Period> {
        if self.times.events.len() < MIN_EVENTS || self.n_frequencies < 1.0 {
            return None;
        }
        let peaks = self.peaks();
        let found: Vec<Found> = peaks.iter().filter_map(|peak| self.refine(peak)).collect();
        // The strongest peak; without one, among equals the first.
        let by_mean = found.iter().find(|found| found.is_by_mean);
        let exact = || {
            let found = found.iter();
            found.reduce(|most, next| {
                if next.strength > most.strength {
                    next
                } else {
                    most
                }
            })
        };
        by_mean.or_else(exact).map(|found| found.period.clone())
    }

    /// The most significant period of a few of the events, of which nearly all cycles have one.
    fn of_few(&self) -> Option<Period> {
        let n = self.times.events.len();
        if n > MOST_WITH_FEW {
            return None;
        }
        let sizes = NUMBERS_OF_FEW.into_iter().filter(|&n_events| n_events <= n);
        let n_sizes = sizes.clone().count() as f64;
        let tried = sizes.flat_map(|n_events| {
            let most = n_events as f64 / NEARLY_ALL_CYCLES;
            let n_frequencies = ((most - FEW_CYCLES) * OVERSAMPLING).floor();
            let n_trials = n_frequencies * n_sizes;
            let frequencies = (0..=n_frequencies as usize)
                .map(move |index| FEW_CYCLES / self.length + index as f64 * self.step);
            frequencies.filter_map(move |frequency| {
                let (beats, strength) = self.nearly_all_at_beats(frequency, n_events)?;
                let p = n_trials * (-strength).exp();
                (p < MAX_P).then_some((p, beats))
            })
        });
        let (p, beats) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Period {
            p,
            ..self.period(&beats, 0.0)
        })
    }

    /// The regular times at about a frequency at which some of a few events are, in nearly all cycles from the first of them to
    /// the last; and the evidence.
    fn nearly_all_at_beats(&self, frequency: f64, n_events: usize) -> Option<(Beats, f64)> {
        if self.r(frequency, n_events) < LEAST_RESULTANT {
            return None;
        }
        let frequency = self.sharpen(frequency, n_events);
        let mut beats = self.beats(frequency, n_events)?;
        let times = (0..n_events).map(|e| self.event(e));
        let at_beats = times.map(|time| (beats.cycle(time), time));
        let at_beats: Vec<(f64, f64)> = at_beats
            .filter(|&(cycle, time)| beats.has(cycle, time))
            .collect();
        let farthest = at_beats
            .iter()
            .map(|&(c, t)| beats.line.residual(c, t).abs());
        let period = beats.line.period_ns;
        beats.allowed_ns = farthest.fold(period * LEAST_ALLOWED, f64::max);
        let cycles: BTreeSet<i64> = at_beats.iter().map(|&(cycle, _)| cycle as i64).collect();
        let n_cycles = cycles.last()? - cycles.first()? + 1;
        let are_nearly_all = cycles.len() as f64 >= NEARLY_ALL_CYCLES * n_cycles as f64;
        let is_long = period >= MIN_INTERVALS * self.times.interval_ns;
        (cycles.len() >= FEWEST_EVENTS && are_nearly_all && is_long).then(|| {
            let strength = self.strength_at_beats(&beats, frequency, n_events);
            (beats, strength)
        })
    }

    /// Time of an event since the begin of the range, ns.
    fn event(&self, index: usize) -> f64 {
        self.times.events[index].0 as f64 - self.begin
    }

    /// Numbers of events after which the sums are tested.
    fn sizes(&self) -> Vec<usize> {
        let n = self.times.events.len();
        let sizes = (2..).flat_map(|bits| [2 << bits, 3 << bits]);
        let sizes = sizes.take_while(|size| *size < n);
        sizes.chain([n]).collect()
    }

    /// Number of tests, by which a probability is multiplied.
    fn n_trials(&self) -> f64 {
        self.n_frequencies * self.sizes().len() as f64
    }

    fn exceeds_chance(&self, strength: f64) -> bool {
        self.n_trials() * (-strength).exp() < MAX_P
    }

    /// Whether events may be periodic beyond chance: all of them, or, of a few, those that are exact.
    fn may_exceed_chance(&self, strength: f64, n_events: usize) -> bool {
        self.exceeds_chance(strength)
            || n_events <= MAX_EXACT && self.exceeds_chance(EXACT * strength)
    }

    /// The strongest peaks of the periodogram that may be significant.
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
                let least = (LEFT_BETWEEN * MIN_R).powi(2) * n_events as f64;
                let [first, second] = *before;
                let is_peak = second > first && second >= strength && second >= least;
                if is_peak && self.may_exceed_chance(second, n_events) {
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

    /// The period at a peak.
    fn refine(&self, peak: &Peak) -> Option<Found> {
        let n_events = peak.n_events;
        let sharp = self.sharpen(peak.frequency, n_events);
        let r = self.r(sharp, n_events);
        if r < MIN_R {
            return None;
        }
        if !self.exceeds_chance(peak.strength) {
            let beats = self.beats(sharp, n_events)?;
            if !self.exceeds_chance(self.strength_at_beats(&beats, sharp, n_events)) {
                return None;
            }
        }
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
        let mut beats = self.beats(frequency, n_events)?;
        // Of some exact ones among others, only they have the longer one.
        while let Some(lower) = (2..=MAX_MULTIPLE)
            .rev()
            .filter(|&multiple| self.is_multiple(&beats, multiple, n_events))
            .map(|multiple| self.sharpen(frequency / f64::from(multiple), n_events))
            .find(|&lower| lower >= self.lowest)
        {
            frequency = lower;
            beats = self.beats(frequency, n_events)?;
        }
        let r = self.r(frequency, n_events);
        let n_cycles = self.length * frequency;
        if r < MIN_R || !self.holds_in_both_halves(frequency, n_events) {
            return None;
        }
        let of_mean = self.strength_beyond_program(frequency, n_events);
        let strength = of_mean.max(self.strength_at_beats(&beats, frequency, n_events));
        if !self.exceeds_chance(strength) {
            return None;
        }
        let rhythm = self.period(&beats, strength);
        let is_frequent = rhythm.events.len() as f64 >= MIN_PART_OF_CYCLES * n_cycles;
        (is_frequent && rhythm.events.len() >= MIN_EVENTS).then_some(Found {
            period: rhythm,
            strength,
            is_by_mean: self.exceeds_chance(of_mean),
        })
    }

    /// Whether the events at the beats are so many cycles apart, or a multiple of that.
    fn is_multiple(&self, beats: &Beats, multiple: u32, n_events: usize) -> bool {
        let times = (0..n_events).map(|e| self.event(e));
        let at_beat = times.map(|time| (beats.cycle(time), time));
        let mut counts = vec![0_usize; multiple as usize];
        for (cycle, _) in at_beat.filter(|&(cycle, time)| beats.has(cycle, time)) {
            counts[(cycle as i64).rem_euclid(i64::from(multiple)) as usize] += 1;
        }
        let most = counts.iter().max().copied().unwrap_or(0);
        most > 0 && most as f64 >= KEPT_BY_MULTIPLE * counts.iter().sum::<usize>() as f64
    }

    fn mean(&self, frequency: f64, n_events: usize) -> Vector {
        Vector::mean((0..n_events).map(|e| self.event(e)), frequency)
    }

    /// How much the phases of some events agree at a frequency: from 0, not at all, to 1.
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

    /// Parts of the run of two cycles or more, within which events are compared with instances: in
    /// shorter ones the instances around an event would have its period.
    fn parts(&self, frequency: f64) -> Parts<'_> {
        Parts {
            search: self,
            n: (self.length * frequency / 2.0).floor().clamp(1.0, 8.0),
        }
    }

    /// n R^2 of the events after the mean vector of the instances among which they happened is
    /// subtracted.
    fn strength_beyond_program(&self, frequency: f64, n_events: usize) -> f64 {
        let (mut program, mut error) = (Vector::default(), 1.0 / n_events as f64);
        for Occasion { share, times } in self.parts(frequency).occasions(n_events) {
            error += share * share / times.len().max(1) as f64;
            let mean = Vector::mean(times.into_iter(), frequency);
            program = program.plus(mean.times(share));
        }
        let left = self.mean(frequency, n_events).plus(program.times(-1.0));
        let scatter = (1.0 - program.square()).max(1e-3);
        left.square() / (scatter * error)
    }

    /// Evidence that more events than by chance are at the beats, at most so likely as exp(-strength):
    /// a few exact ones among others that are anywhere.
    fn strength_at_beats(&self, beats: &Beats, frequency: f64, n_events: usize) -> f64 {
        let is_at_beat = |time: &f64| beats.has(beats.cycle(*time), *time);
        let n_at_beat = (0..n_events).filter(|&e| is_at_beat(&self.event(e)));
        let n_at_beat = n_at_beat.count() as u64;
        let window = (2.0 * beats.allowed_ns / beats.line.period_ns).min(0.5);
        let occasions = self.parts(frequency).occasions(n_events);
        let by_program = occasions.iter().map(|Occasion { share, times }| {
            let n_at_beat = times.iter().filter(|time| is_at_beat(time)).count();
            share * (n_at_beat + 1) as f64 / (times.len() + 2) as f64
        });
        let chance = by_program.sum::<f64>().clamp(window, 0.99);
        let tail = binomial_tail(n_events as u64, n_at_beat, chance).max(f64::MIN_POSITIVE);
        // Phases, and frequencies between those that are tried, are as many as windows fit.
        (-tail.ln() + 2.0 * window.ln()).max(0.0)
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
    fn beats(&self, frequency: f64, n_events: usize) -> Option<Beats> {
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
        let allowed_ns = line.allowed_ns(&near);
        let n = near.len() as f64;
        let scatter: f64 = near.iter().map(|&(c, t)| line.residual(c, t).powi(2)).sum();
        let scatter_ns = (scatter / (n - 2.0)).sqrt();
        Some(Beats {
            frequency,
            beat,
            line,
            allowed_ns,
            scatter_ns,
        })
    }

    /// The events at the beats.
    fn period(&self, beats: &Beats, strength: f64) -> Period {
        let (mut events, mut further) = (Vec::new(), Vec::new());
        let mut cycles = BTreeSet::new();
        for index in 0..self.times.events.len() {
            let time = self.event(index);
            let cycle = beats.cycle(time);
            if !beats.has(cycle, time) {
                continue;
            }
            let is_within = (0.0..=self.length).contains(&beats.line.time(cycle));
            let cycle = cycle as i64;
            if is_within && cycles.insert(cycle) {
                events.push(PeriodicEvent { index, cycle });
            } else {
                further.push(index);
            }
        }
        Period {
            period_ns: beats.line.period_ns,
            period_error_ns: beats.scatter_ns / beats.line.squares.sqrt(),
            scatter_ns: beats.scatter_ns,
            events,
            further,
            p: (self.n_trials() * (-strength).exp()).min(1.0),
        }
    }
}

/// Parts of the run.
struct Parts<'a> {
    search: &'a Search<'a>,
    n: f64,
}

/// The instances of a group in a part of the run in which it has events.
struct Occasion {
    /// Part of the events that it has.
    share: f64,
    /// Times of a sample of its instances since the begin of the range, ns.
    times: Vec<f64>,
}

impl Parts<'_> {
    fn of(&self, time: f64) -> usize {
        ((time / self.search.length * self.n) as usize).min(self.n as usize - 1)
    }

    /// Where the first events happened: each group in each part; of a part in which no instance was
    /// sampled, the instances of all parts.
    fn occasions(&self, n_events: usize) -> Vec<Occasion> {
        let mut counts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for e in 0..n_events {
            let group = self.search.times.events[e].1;
            let part = self.of(self.search.event(e));
            *counts.entry((group, part)).or_default() += 1;
        }
        let occasion = |((group, part), count): ((usize, usize), u32)| {
            let times = self.search.times.background[group].iter();
            let all: Vec<f64> = times.map(|&time| time as f64 - self.search.begin).collect();
            let here = all.iter().copied().filter(|&time| self.of(time) == part);
            let here: Vec<f64> = here.collect();
            Occasion {
                share: f64::from(count) / n_events as f64,
                times: if here.is_empty() { all } else { here },
            }
        };
        counts.into_iter().map(occasion).collect()
    }
}

/// Regular times, and how far from them an event may be.
struct Beats {
    frequency: f64,
    /// The phase, in cycles.
    beat: f64,
    line: Line,
    allowed_ns: f64,
    /// Standard deviation of the events from these times, ns.
    scatter_ns: f64,
}

impl Beats {
    fn cycle(&self, time: f64) -> f64 {
        (time * self.frequency - self.beat).round()
    }

    fn has(&self, cycle: f64, time: f64) -> bool {
        self.line.residual(cycle, time).abs() <= self.allowed_ns
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
mod tests;

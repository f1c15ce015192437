//! From interruptions to rhythms: periods in time, or in steps of the program.
//!
//! A period is searched in the times of interruptions. It is the program's own if the interruptions
//! are as many calls apart in each cycle, and deviate more in time than a timer can: see
//! [`basis`](collbench_stats::basis). Without a period in time one is searched in the positions of
//! the calls: steps that vary in duration hide it. The step of a program is a call on a
//! communicator, or an iteration of a loop of several, if the operations show one.
//!
//! Without either, and first of all where late arrivals are many, the sampled instances are searched for steps at which
//! most are late: of a long run too few late arrivals are retained to show a period themselves.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::Operation;
use collbench_stats::basis::{Basis, StepPeriod, SteppedEvent, basis, step_periods};
use collbench_stats::periods::{EventTimes, Period, find_period};
use collbench_stats::recurrence::recurrence;

use crate::judge::disturbances::interruptions::Interruption;
use crate::results::over_time::{InStep, PeriodBasis};
use crate::sums::late_arrivals::LateArrival;
use crate::sums::lateness::Lateness;

/// Interruptions of one process that are searched for a period, at most.
const MOST_OF_ONE: usize = 64;
/// Part of the interruptions of a period in calls that must be the same number of them apart.
const MIN_IN_STEP: f64 = 0.9;
/// How much later than a timer an interrupted call may be, in mean iterations of the loop; without a
/// loop, in mean times between calls of the operation, of which an iteration may have several.
const ITERATIONS_OF_TIMER: f64 = 1.25;
const CALLS_OF_TIMER: f64 = 2.0;
/// A loop explains the operation at so many of the sampled calls.
const MIN_EXPLAINED: f64 = 0.95;
/// Fewest interruptions at the steps at which most sampled instances are late.
const MIN_RECURRENT: usize = 8;
/// Fewest sampled calls for each call of a loop.
const MIN_SAMPLED: usize = 3;

/// An operation on a communicator, and its lateness.
pub(crate) type Group<'a> = (&'a (usize, Operation), &'a Lateness);

/// The operations in which there were interruptions, and when their instances were.
pub(crate) struct Occasions<'a> {
    /// All that are judged.
    pub(crate) groups: &'a [Group<'a>],
    /// By group: times of a sample of its instances, ns, ascending.
    times: Vec<Vec<i64>>,
}

/// Interruptions at regular intervals.
#[derive(Debug, Clone)]
pub(crate) struct Rhythm {
    /// Time between them in the mean, ns.
    pub(crate) period_ns: f64,
    /// Standard error of that, ns.
    pub(crate) period_error_ns: f64,
    /// Standard deviation of the interruptions from regular times, ns.
    pub(crate) scatter_ns: f64,
    /// Indexes of its interruptions, one in a cycle at most.
    pub(crate) own: Vec<usize>,
    /// Indexes of further interruptions at the same time in a cycle.
    pub(crate) further: Vec<usize>,
    /// Whether the intervals are regular in time or in steps of the program; `None`: it is unknown.
    pub(crate) basis: Option<PeriodBasis>,
    /// Steps of the program that it follows, or might follow.
    pub(crate) in_step: Option<InStep>,
    /// The steps at which most sampled instances are late, where these were searched.
    pub(crate) recurrence: Option<StepPeriod>,
    /// The process of which all of them are, where those of one were searched.
    pub(crate) process: Option<usize>,
}

impl<'a> Occasions<'a> {
    pub(crate) fn new(groups: &'a [Group<'a>]) -> Self {
        let times = groups.iter().map(|(_, lateness)| {
            let sampled = lateness.arrivals.sampled().into_iter();
            let mut times: Vec<i64> = sampled.map(|instance| instance.at_ns).collect();
            times.sort_unstable();
            times
        });
        Self {
            times: times.collect(),
            groups,
        }
    }

    /// The most significant rhythm of the interruptions, the longest of them first; `usual_ns`: by group the
    /// lateness above which an arrival is one. `are_many`: of so many, steps tell more than times.
    pub(crate) fn rhythm(
        &self,
        interruptions: &[Interruption],
        usual_ns: &[i64],
        are_many: bool,
    ) -> Option<Rhythm> {
        let recurrent = || self.recurrent(interruptions, usual_ns);
        let first = if are_many { recurrent() } else { None };
        first
            .or_else(|| self.in_time(interruptions))
            .or_else(|| self.in_calls(interruptions))
            .or_else(|| if are_many { None } else { recurrent() })
            .or_else(|| self.of_one(interruptions))
    }

    /// A period in time of the interruptions of the process that has most of them, at least twice as many as the others have on
    /// average.
    fn of_one(&self, interruptions: &[Interruption]) -> Option<Rhythm> {
        let mut by_process: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, interruption) in interruptions.iter().enumerate() {
            let members = &self.groups[interruption.group()].1.members;
            if let Some(process) = members[interruption.arrival().position].process {
                by_process.entry(process).or_default().push(index);
            }
        }
        let (process, mut indexes) = by_process
            .into_iter()
            .rev()
            .max_by_key(|(_, indexes)| indexes.len())?;
        let n_others = interruptions.len() - indexes.len();
        let members = interruptions
            .iter()
            .map(|of| self.groups[of.group()].1.members.len());
        let n_members = members.max().unwrap_or(0);
        if indexes.len() * n_members.saturating_sub(1) < 2 * n_others {
            return None;
        }
        // The largest come first.
        indexes.truncate(MOST_OF_ONE);
        let own = indexes.iter().map(|&index| interruptions[index].clone());
        let found = self.in_time(&own.collect::<Vec<_>>());
        // Of the many that follow the steps of the program, one has most of them anyway.
        let found = found.filter(|found| found.basis == Some(PeriodBasis::Time))?;
        let of_all = |own: Vec<usize>| own.into_iter().map(|at| indexes[at]).collect();
        Some(Rhythm {
            own: of_all(found.own),
            further: of_all(found.further),
            process: Some(process),
            ..found
        })
    }

    /// A rhythm in steps at which most of the sampled instances of an operation are late: of the operation with most
    /// interruptions.
    fn recurrent(&self, interruptions: &[Interruption], usual_ns: &[i64]) -> Option<Rhythm> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for interruption in interruptions {
            *counts.entry(interruption.group()).or_default() += 1;
        }
        let (group, n) = counts.into_iter().rev().max_by_key(|(_, n)| *n)?;
        let (key, lateness) = self.groups[group];
        let sampled = lateness.arrivals.sampled().into_iter();
        let sampled = sampled.map(|of| (of.sequence, of.lateness_ns > usual_ns[group]));
        let found = recurrence(&sampled.collect::<Vec<_>>(), self.groups.len())?;
        let steps = StepPeriod {
            series: key.0,
            steps: found.steps,
            phase: found.phase,
            n,
        };
        let rhythm = self.in_steps(interruptions, &steps)?;
        let own = || rhythm.own.iter().map(|&index| &interruptions[index]);
        if own().count() < MIN_RECURRENT {
            return None;
        }
        let stepped = own().map(|interruption| {
            let cycle = (interruption.arrival().sequence / steps.steps).cast_signed();
            self.stepped(interruption, cycle)
        });
        let found = basis(&stepped.collect::<Vec<_>>(), &|communicator, steps| {
            self.step_ns(
                communicator,
                steps,
                (rhythm.period_ns, &rhythm.own),
                interruptions,
            )
        });
        let recurrence = Some(steps);
        Some(match found {
            Basis::Steps(_) => Rhythm {
                recurrence,
                ..rhythm
            },
            // A timer may be in step with the program too.
            Basis::Time | Basis::Unknown(_) => Rhythm {
                recurrence,
                basis: None,
                ..rhythm
            },
        })
    }

    /// A period in time, unless it is that of the program's steps.
    fn in_time(&self, interruptions: &[Interruption]) -> Option<Rhythm> {
        let events: Vec<(i64, usize)> = interruptions
            .iter()
            .map(|interruption| (interruption.arrival().since_ns(), interruption.group()))
            .collect();
        let times = || events.iter().map(|(time, _)| time);
        let all = || self.times.iter().flatten().chain(times());
        let (&begin, &end) = (all().min()?, all().max()?);
        let most = self.groups.iter().map(|(_, lateness)| lateness.instances);
        let period = find_period(&EventTimes {
            events: &events,
            background: &self.times,
            range_ns: (begin, end),
            interval_ns: end.saturating_sub(begin) as f64 / most.max()? as f64,
        })?;
        let stepped: Vec<SteppedEvent> = period
            .events
            .iter()
            .map(|event| self.stepped(&interruptions[event.index], event.cycle))
            .collect();
        let found = basis(&stepped, &|communicator, steps| {
            let events: Vec<usize> = period.events.iter().map(|event| event.index).collect();
            self.step_ns(
                communicator,
                steps,
                (period.period_ns, &events),
                interruptions,
            )
        });
        match found {
            Basis::Steps(steps) => self.in_steps(interruptions, &steps),
            Basis::Time => Some(in_cycles(&period, Some(PeriodBasis::Time), None)),
            Basis::Unknown(Some(steps)) if steps.steps == 1 => None,
            Basis::Unknown(steps) => {
                let steps = steps.and_then(|steps| self.in_step(interruptions, &steps));
                Some(in_cycles(&period, None, steps))
            }
        }
    }

    /// A period in calls on the communicator with the most interruptions.
    fn in_calls(&self, interruptions: &[Interruption]) -> Option<Rhythm> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for interruption in interruptions {
            *counts.entry(self.communicator(interruption)).or_default() += 1;
        }
        let (communicator, _) = counts.into_iter().rev().max_by_key(|(_, n)| *n)?;
        let own: Vec<usize> = (0..interruptions.len())
            .filter(|&index| self.communicator(&interruptions[index]) == communicator)
            .collect();
        let position = |index: &usize| interruptions[*index].arrival().sequence.cast_signed();
        let events: Vec<(i64, usize)> = own
            .iter()
            .map(|index| (position(index), interruptions[*index].group()))
            .collect();
        let background: Vec<Vec<i64>> = self
            .groups
            .iter()
            .map(|(key, lateness)| {
                let sampled = lateness.arrivals.sampled().into_iter();
                let own = sampled.filter(|_| key.0 == communicator);
                own.map(|instance| instance.sequence.cast_signed())
                    .collect()
            })
            .collect();
        let all = || {
            background
                .iter()
                .flatten()
                .copied()
                .chain(own.iter().map(position))
        };
        let (begin, end) = (all().min()?, all().max()?);
        let of_communicator = self.groups.iter().filter(|(key, _)| key.0 == communicator);
        let most = of_communicator
            .map(|(_, lateness)| lateness.instances)
            .max()?;
        let period = find_period(&EventTimes {
            events: &events,
            background: &background,
            range_ns: (begin, end),
            interval_ns: end.saturating_sub(begin) as f64 / most as f64,
        })?;
        let mut stepped: Vec<SteppedEvent> = period
            .events
            .iter()
            .map(|event| self.stepped(&interruptions[own[event.index]], event.cycle))
            .collect();
        stepped.sort_unstable_by_key(|event| event.cycle);
        let [steps] = step_periods(&stepped)[..] else {
            return None;
        };
        let are_in_step = steps.n as f64 >= MIN_IN_STEP * stepped.len() as f64;
        are_in_step.then(|| self.in_steps(interruptions, &steps))?
    }

    /// The rhythm of all interruptions that are at a step of the program; `None` if that is each step: who is late
    /// at all of them is imbalanced.
    fn in_steps(&self, interruptions: &[Interruption], steps: &StepPeriod) -> Option<Rhythm> {
        if steps.steps == 1 {
            return None;
        }
        let mut cycles = BTreeSet::new();
        let (mut own, mut further, mut events) = (Vec::new(), Vec::new(), Vec::new());
        for (index, interruption) in interruptions.iter().enumerate() {
            let sequence = interruption.arrival().sequence;
            if !steps.holds(self.communicator(interruption), sequence) {
                continue;
            }
            let cycle = sequence / steps.steps;
            if cycles.insert(cycle) {
                events.push((cycle, interruption.arrival().since_ns()));
                own.push(index);
            } else {
                further.push(index);
            }
        }
        events.sort_unstable();
        let (&(first_cycle, first_ns), &(last_cycle, last_ns)) = (events.first()?, events.last()?);
        let n_cycles = (last_cycle - first_cycle) as f64;
        let period_ns = last_ns.saturating_sub(first_ns) as f64 / n_cycles;
        if period_ns.is_nan() || period_ns <= 0.0 {
            return None;
        }
        let off = |(cycle, time): &(u64, i64)| {
            time.saturating_sub(first_ns) as f64 - period_ns * (cycle - first_cycle) as f64
        };
        let offs: Vec<f64> = events.iter().map(off).collect();
        let mean = offs.iter().sum::<f64>() / offs.len() as f64;
        let squares: f64 = offs.iter().map(|off| (off - mean).powi(2)).sum();
        // Of a mean of durations that are independent.
        let differences = offs.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
        Some(Rhythm {
            period_ns,
            period_error_ns: differences.sum::<f64>().sqrt() / n_cycles,
            scatter_ns: (squares / offs.len() as f64).sqrt(),
            own,
            further,
            basis: Some(PeriodBasis::Steps),
            in_step: self.in_step(interruptions, steps),
            recurrence: None,
            process: None,
        })
    }

    fn communicator(&self, interruption: &Interruption) -> usize {
        self.groups[interruption.group()].0.0
    }

    fn stepped(&self, interruption: &Interruption, cycle: i64) -> SteppedEvent {
        let arrival: &LateArrival = interruption.arrival();
        SteppedEvent {
            cycle,
            time_ns: arrival.since_ns(),
            series: self.communicator(interruption),
            step: arrival.sequence,
        }
    }

    /// How much later than a timer calls on a communicator may be, ns: the longest mean time between
    /// calls of an operation that was interrupted, and with a period in steps what their loop takes.
    fn step_ns(
        &self,
        communicator: usize,
        steps: Option<&StepPeriod>,
        (period_ns, events): (f64, &[usize]),
        interruptions: &[Interruption],
    ) -> f64 {
        let groups: BTreeSet<usize> = events
            .iter()
            .map(|&event| interruptions[event].group())
            .filter(|&group| self.groups[group].0.0 == communicator)
            .collect();
        let between_calls = groups.iter().map(|&group| {
            let times = &self.times[group];
            let length = times
                .last()
                .zip(times.first())
                .map_or(0, |(last, first)| last.saturating_sub(*first));
            length as f64 / self.groups[group].1.instances as f64
        });
        let between_calls = between_calls.fold(0.0, f64::max);
        let Some(steps) = steps else {
            return between_calls;
        };
        match self.calls_per_iteration(interruptions, steps) {
            None | Some(1) => CALLS_OF_TIMER * between_calls,
            Some(calls) => {
                let iterations = steps.steps as f64 / calls as f64;
                ITERATIONS_OF_TIMER * period_ns / iterations
            }
        }
    }

    /// The steps in calls of the program.
    fn in_step(&self, interruptions: &[Interruption], steps: &StepPeriod) -> Option<InStep> {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for interruption in self.held(interruptions, steps) {
            *counts.entry(interruption.group()).or_default() += 1;
        }
        let (group, _) = counts.into_iter().rev().max_by_key(|(_, n)| *n)?;
        let calls_per_iteration = self.calls_per_iteration(interruptions, steps);
        Some(InStep {
            communicator: steps.series,
            operation: self.groups[group].0.1.name().into(),
            every: steps.steps / calls_per_iteration.unwrap_or(1),
            calls_per_iteration,
        })
    }

    fn held<'i>(
        &self,
        interruptions: &'i [Interruption],
        steps: &StepPeriod,
    ) -> impl Iterator<Item = &'i Interruption> {
        interruptions.iter().filter(|interruption| {
            steps.holds(
                self.communicator(interruption),
                interruption.arrival().sequence,
            )
        })
    }

    /// Calls on the communicator in one iteration of the program's loop: the fewest after which the
    /// same operations follow; they divide the number of steps. `None` if none do.
    fn calls_per_iteration(
        &self,
        interruptions: &[Interruption],
        steps: &StepPeriod,
    ) -> Option<u64> {
        let sequences = || {
            let held = self.held(interruptions, steps);
            held.map(|interruption| interruption.arrival().sequence)
        };
        let during = sequences().min()?..=sequences().max()?;
        let groups = self.groups.iter().enumerate();
        let calls: Vec<(u64, usize)> = groups
            .filter(|(_, (key, _))| key.0 == steps.series)
            .flat_map(|(group, (_, lateness))| {
                let sampled = lateness.arrivals.sampled().into_iter();
                sampled.map(move |instance| (instance.sequence, group))
            })
            .filter(|(sequence, _)| during.contains(sequence))
            .collect();
        let most = (calls.len() / MIN_SAMPLED) as u64;
        (1..=most.min(steps.steps))
            .filter(|&length| steps.steps.is_multiple_of(length))
            .find(|&length| is_loop(&calls, length))
    }
}

/// Whether the operation of a call follows from its position in a loop of so many.
fn is_loop(calls: &[(u64, usize)], length: u64) -> bool {
    let mut counts: BTreeMap<u64, BTreeMap<usize, usize>> = BTreeMap::new();
    for &(sequence, group) in calls {
        let at = counts.entry(sequence % length).or_default();
        *at.entry(group).or_default() += 1;
    }
    let explained: usize = counts.values().filter_map(|at| at.values().max()).sum();
    !calls.is_empty() && explained as f64 >= MIN_EXPLAINED * calls.len() as f64
}

fn in_cycles(period: &Period, basis: Option<PeriodBasis>, in_step: Option<InStep>) -> Rhythm {
    Rhythm {
        period_ns: period.period_ns,
        period_error_ns: period.period_error_ns,
        scatter_ns: period.scatter_ns,
        own: period.events.iter().map(|event| event.index).collect(),
        further: period.further.clone(),
        basis,
        in_step,
        recurrence: None,
        process: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_the_fewest_calls_after_which_the_same_operations_follow() {
        let loop_of = |operations: &[usize]| {
            let calls = (0..400u64).map(|n| (n, operations[n as usize % operations.len()]));
            let calls: Vec<(u64, usize)> = calls.collect();
            (1..=12).find(|&length| is_loop(&calls, length))
        };
        assert_eq!(loop_of(&[0]), Some(1));
        assert_eq!(loop_of(&[0, 1]), Some(2));
        assert_eq!(loop_of(&[0, 0, 1]), Some(3));
        assert_eq!(loop_of(&[0, 1, 0, 1, 2]), Some(5));
        assert!(!is_loop(&[], 1));
    }
}

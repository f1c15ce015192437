//! One point: repetitions until its time is precise, as process 0 asks for them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use collbench_formats::encode_meta;
use collbench_formats::tree::Wrappers;
use collbench_stats::spread::Spread;

use super::algorithms::{Algorithm, By};
use super::arrivals::Call;
use super::job::{Job, Setting};
use super::members::Members;
use super::operation::{Operation, Pattern, PingPong, Simple};
use super::own_trees::TreeFiles;
use super::plan::{Method, Series};
use super::results::{Point, Sample, words};
use crate::measure::change::Change;
use crate::measure::estimate::{ErrorOf, Next, Precision, Summary, TrimmedMean};
use crate::measure::reduction::{Reduction, Times, start_skew_ns};
use crate::measure::start::{Batch, GIVEN_UP_AFTER, Parts, Repetition, StartScheme};
use crate::measure::window::{StartState, Window};

/// Repetitions before the measurement: for caches, connections, and the first window.
const WARM_UP: usize = 3;
/// Least number of empty measurements.
const LEAST_EMPTY: usize = 100;
/// Calls without a partner in a repetition.
const SIMPLE_CALLS: usize = 1_000;
/// Most repetitions of a batch: a process that loses its core misses all starts that are left.
const MOST_IN_BATCH: usize = 50;
/// Longest time of a batch, ns.
const LONGEST_BATCH: i64 = 500_000_000;
/// From the command of a batch to its first start at first, ns.
const FIRST_LEAD: f64 = 1e6;
const LONGEST_LEAD: f64 = 1e8;

/// Repetitions of one point so far.
#[derive(Debug, Default)]
pub(super) struct Repetitions {
    /// Valid ones, by process.
    pub(super) valid: Vec<Vec<Times>>,
    /// Of the valid ones, by process.
    pub(super) parts: Vec<Vec<Parts>>,
    /// Of the valid ones, latest start less earliest, less the delays that were intended, ns.
    skews_ns: Vec<i64>,
    samples: Vec<Sample>,
    pub(super) made: usize,
    pub(super) missed: usize,
    pub(super) delayed: usize,
}

/// How samples are kept.
#[derive(Debug, Clone, Copy)]
struct Keeps {
    /// Length of a tick of the time stamp counter, ns; `None` without one.
    counter_tick_ns: Option<f64>,
}

/// What a batch says about its windows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Added {
    /// Starts at its begin that were missed because a process got the command too late.
    behind: usize,
    /// Starts after these that were missed; several in a row count once, since one long repetition
    /// makes a process miss all that follow until it is through.
    overruns: usize,
    /// Repetitions after those at the begin, without the second and later missed ones in a row.
    counted: usize,
    /// 90th percentile of the time from the first start to the last end of valid repetitions, ns.
    ended_ns: Option<i64>,
}

/// Calls in a repetition.
fn calls(operation: Operation, start: StartScheme, method: &Method) -> usize {
    match operation {
        // One is shorter than the step of most clocks.
        Operation::Simple(_) if start.is_loop() => SIMPLE_CALLS,
        _ if start.is_loop() => method.loop_length,
        _ => 1,
    }
}

/// Whether an operation has messages that may lie in caches.
fn uses_caches(operation: Operation) -> bool {
    !matches!(operation, Operation::Simple(_))
}

/// How a repetition is reduced, when no reduction is asked for.
fn usual_reduction(operation: Operation, start: StartScheme) -> Reduction {
    match (operation, start) {
        // What is subtracted is the time of a barrier there.
        (_, StartScheme::BarrierSubtracted) => Reduction::Process0,
        // Both send at once: the message of the other may be there before this one begins.
        (Operation::PingPong(PingPong::Sendrecv | PingPong::SendrecvReplace), _) => Reduction::Max,
        // The partner's time is that of the one who measures; calls without a partner do not wait.
        (Operation::PingPong(_) | Operation::MasterWorker(_), _) => Reduction::Process0,
        (Operation::Simple(_), _) => Reduction::Median,
        (_, StartScheme::LoopMpptest | StartScheme::LoopMpbench) => Reduction::Process0,
        (_, StartScheme::LoopImb) => Reduction::Max,
        _ => Reduction::Span,
    }
}

/// A point that is to be measured, with what is the same for all of its repetitions.
struct Candidate<'s> {
    series: &'s Series,
    operation: Operation,
    bytes: Option<u64>,
    reduction: Reduction,
    /// Whether no other reduction makes sense.
    is_fixed: bool,
    /// Of repetitions in turn, by process.
    delays_ns: Vec<Vec<i64>>,
    calls: usize,
    subtracted: Subtracted,
    setting: Setting,
}

/// What an empty measurement takes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Subtracted {
    /// The median over repetitions, ns.
    ns: f64,
    /// Half the width of the 95 % interval, ns; infinite if it is unknown.
    error_ns: f64,
}

impl Subtracted {
    const NOTHING: Self = Self {
        ns: 0.0,
        error_ns: 0.0,
    };

    /// Of the times of empty repetitions, ns.
    fn of(times: &[f64], error: ErrorOf) -> Self {
        let Some(found) = Summary::of(times) else {
            return Self {
                error_ns: f64::INFINITY,
                ..Self::NOTHING
            };
        };
        let half_width = found.trimmed.map(|of| of.half_width_ns(error));
        Self {
            ns: found.median,
            error_ns: half_width.unwrap_or(f64::INFINITY),
        }
    }
}

/// The time of a repetition by the times of its processes.
type Value<'a> = Box<dyn Fn(&[Times]) -> f64 + 'a>;

/// What is repeated, one batch at a time.
struct Turn<'a> {
    /// Index among the operations that are ready.
    ready: usize,
    scheme: StartScheme,
    /// Calls in a repetition of a loop.
    calls: usize,
    /// Of repetitions in turn, by process.
    delays_ns: &'a [Vec<i64>],
    /// Whether caches are invalidated, if they are to be cold.
    invalidates: bool,
    /// Half the width of the interval of what was subtracted in that time, ns.
    given_ns: f64,
    /// The time that is to be precise, ns.
    value: Value<'a>,
}

/// How far the repetitions of a turn are.
struct Course {
    repetitions: Repetitions,
    window: Window,
    /// From the command of a batch to its first start, ns.
    lead_ns: f64,
    /// Time of all batches.
    spent: Duration,
    has_ended: bool,
}

impl Course {
    /// For repetitions that take about this long, ns.
    fn begin(duration_ns: i64) -> Self {
        Self {
            repetitions: Repetitions::default(),
            window: Window::for_duration(duration_ns),
            lead_ns: FIRST_LEAD,
            spent: Duration::ZERO,
            has_ended: false,
        }
    }
}

impl Candidate<'_> {
    /// The time of one repetition, ns.
    fn value(&self, times: &[Times], reduction: Reduction) -> f64 {
        (reduction.of(times) - self.subtracted.ns) / self.calls as f64
    }

    /// Half the width of the interval of what is subtracted from the time of one call, ns.
    fn given_ns(&self) -> f64 {
        self.subtracted.error_ns / self.calls as f64
    }

    /// Half the width of the interval of the times and of what was subtracted from them, over the
    /// time; `None` if it is unknown.
    fn relative_error(&self, times: TrimmedMean, error: ErrorOf) -> Option<f64> {
        let half_ns = times.half_width_ns(error).hypot(self.given_ns());
        Some(half_ns / times.mean_ns.abs()).filter(|error| error.is_finite())
    }

    /// The point that its repetitions are.
    fn point(
        self,
        repetitions: Repetitions,
        window: Window,
        method: &Method,
        keeps_samples: bool,
    ) -> Point {
        let (series, scheme) = (self.series, self.series.start);
        let times_of = |reduction: Reduction| -> Vec<f64> {
            let valid = repetitions.valid.iter();
            valid.map(|times| self.value(times, reduction)).collect()
        };
        let reductions: BTreeMap<String, Summary> = Reduction::ALL
            .into_iter()
            .filter(|one| !self.is_fixed || *one == self.reduction)
            .filter_map(|one| Some((one.word().to_owned(), Summary::of(&times_of(one))?)))
            .collect();
        let chosen = reductions.get(self.reduction.word());
        let trimmed = chosen.and_then(|summary| summary.trimmed);
        let relative_error = trimmed.and_then(|of| self.relative_error(of, method.precision.error));
        let skews = repetitions.skews_ns.iter().map(|ns| *ns as f64);
        Point {
            operation: series.operation.clone(),
            pattern: self.operation.pattern(),
            bytes: self.bytes,
            processes: series.processes,
            pair: match self.setting.members {
                Members::Pair(partner) => Some([0, partner]),
                Members::First(_) | Members::Listed(_) => None,
            },
            hosts: series.on_hosts.as_ref().map(|on| on.hosts),
            root: series.root,
            pieces: series.pieces,
            algorithm: series
                .algorithm
                .as_ref()
                .map(|algorithm| algorithm.name.clone()),
            start: scheme,
            start_asked: series.start_asked,
            arrivals: series
                .arrivals
                .as_ref()
                .map(|of| words(&of.pattern, of.delay_ns)),
            reduction: self.reduction,
            time_ns: chosen.map(|summary| summary.figure(method.figure)),
            relative_error,
            is_precise: relative_error.is_some_and(|error| error <= method.precision.relative),
            subtracted_ns: self.subtracted.ns,
            subtracted_error_ns: Some(self.subtracted.error_ns).filter(|ns| ns.is_finite()),
            made: repetitions.made,
            missed: repetitions.missed,
            delayed: repetitions.delayed,
            window_ns: scheme.has_instants().then_some(window.length_ns()),
            loop_length: scheme.is_loop().then_some(self.calls),
            skew_ns: Spread::of(skews).filter(|_| series.processes > 1),
            change: Change::within(&times_of(self.reduction), method.precision.relative),
            is_refined: false,
            samples: keeps_samples.then_some(repetitions.samples),
            delays_ns: mean_delays_ns(&self.delays_ns),
            delays_in_turn: Some(self.delays_ns.len()).filter(|n| *n > 1),
            reductions,
        }
    }
}

/// What measuring points needs besides the job.
pub(super) struct Measurement<'a> {
    pub(super) job: &'a mut Job,
    pub(super) method: &'a Method,
    pub(super) keeps_samples: bool,
    /// By processes, operation, calls, and whether caches are invalidated.
    empty: BTreeMap<(Members, &'static str, usize, bool), Subtracted>,
    /// The partner of process 0 in ping-pongs.
    partner: Option<usize>,
    /// What invalidating the caches takes before each repetition, ns.
    invalidation_ns: i64,
    /// The tree files of series that are measured over trees.
    trees: Option<&'a TreeFiles>,
}

impl<'a> Measurement<'a> {
    pub(super) fn new(
        job: &'a mut Job,
        method: &'a Method,
        trees: Option<&'a TreeFiles>,
        keeps_samples: bool,
    ) -> Self {
        let invalidation_ns = job.invalidation_ns();
        Self {
            job,
            method,
            keeps_samples,
            empty: BTreeMap::new(),
            partner: None,
            invalidation_ns,
            trees,
        }
    }

    /// Measures one length of series that differ in how they start or in the algorithm, in turns;
    /// `None` for an operation without lengths.
    ///
    /// # Errors
    /// States which operation cannot be called, or which file of delays cannot be read.
    pub(super) fn measure(
        &mut self,
        series: &[&Series],
        bytes: Option<u64>,
    ) -> anyhow::Result<Vec<Point>> {
        let candidates = series.iter().map(|one| self.candidate(one, bytes));
        let candidates: Vec<Candidate<'_>> = candidates.collect::<Result<_, _>>()?;
        // Candidates that differ in their start share an operation with its buffers.
        let mut settings: Vec<Setting> = Vec::new();
        let turns = candidates.iter().map(|candidate| {
            let known = settings.iter().position(|one| *one == candidate.setting);
            let ready = known.unwrap_or(settings.len());
            if known.is_none() {
                settings.push(candidate.setting.clone());
            }
            Turn {
                ready,
                scheme: candidate.series.start,
                calls: candidate.calls,
                delays_ns: &candidate.delays_ns,
                invalidates: uses_caches(candidate.operation),
                given_ns: candidate.given_ns(),
                value: Box::new(|times| candidate.value(times, candidate.reduction)),
            }
        });
        let turns: Vec<Turn<'_>> = turns.collect();
        self.job.prepare_all(settings)?;
        let measured = self.repeat_in_turns(&turns, self.method.precision)?;
        drop(turns);
        let all = candidates.into_iter().zip(measured);
        let keeps_samples = self.keeps_samples;
        Ok(all
            .map(|(candidate, (repetitions, window))| {
                candidate.point(repetitions, window, self.method, keeps_samples)
            })
            .collect())
    }

    /// What is measured of a series.
    fn candidate<'s>(
        &mut self,
        series: &'s Series,
        bytes: Option<u64>,
    ) -> anyhow::Result<Candidate<'s>> {
        let operation = Operation::of_name(&series.operation)
            .ok_or_else(|| anyhow::anyhow!("{}: unknown operation", series.operation))?;
        let members = self.members(operation, series)?;
        let method = self.method;
        let is_fixed = operation.pattern() != Pattern::Collective
            || series.start == StartScheme::BarrierSubtracted;
        let asked = method.reduction.filter(|_| !is_fixed);
        let delays_ns = match &series.arrivals {
            Some(of) => {
                let call = Call {
                    operation: &series.operation,
                    bytes,
                };
                of.pattern.delays_ns(series.processes, of.delay_ns, call)?
            }
            None => Vec::new(),
        };
        let calls = calls(operation, series.start, method);
        let tree = self.tree(series, bytes);
        let subtracted = match operation {
            Operation::Simple(Simple::Empty) => Subtracted::NOTHING,
            _ => self.empty(members.clone(), series.start, calls, uses_caches(operation))?,
        };
        Ok(Candidate {
            series,
            operation,
            bytes,
            reduction: asked.unwrap_or(usual_reduction(operation, series.start)),
            is_fixed,
            delays_ns,
            calls,
            subtracted,
            setting: Setting {
                operation: series.operation.clone(),
                bytes: bytes.unwrap_or(0),
                members,
                root: series.root.unwrap_or(0),
                element: method.element,
                pieces: series.pieces.unwrap_or(0),
                algorithm: series.algorithm.as_ref().and_then(|of| of.by.number()),
                tree: tree.map(|tree| encode_meta(&tree)).transpose()?,
                overlap: None,
            },
        })
    }

    /// Whether a series can be measured with this length: of one over trees, whether a tree fits.
    pub(super) fn can_measure(&self, series: &Series, bytes: Option<u64>) -> bool {
        let of_trees = |of: &Algorithm| matches!(of.by, By::TreeFile(_));
        !series.algorithm.as_ref().is_some_and(of_trees) || self.tree(series, bytes).is_some()
    }

    fn tree(&self, series: &Series, bytes: Option<u64>) -> Option<Wrappers> {
        self.trees.as_ref()?.tree(series, bytes.unwrap_or(0))
    }

    fn members(&mut self, operation: Operation, series: &Series) -> anyhow::Result<Members> {
        if !matches!(operation, Operation::PingPong(_)) {
            return Ok(Members::of(series));
        }
        let partner = match self.partner {
            Some(partner) => partner,
            None => *self.partner.insert(self.job.farthest()?),
        };
        Ok(Members::Pair(partner))
    }

    /// What the measurement itself takes: the median over repetitions of an empty operation, and
    /// over processes; for barrier-subtracted that of a barrier at process 0.
    fn empty(
        &mut self,
        members: Members,
        scheme: StartScheme,
        calls: usize,
        invalidates: bool,
    ) -> anyhow::Result<Subtracted> {
        let (operation, reduction, scheme) = match scheme {
            StartScheme::BarrierSubtracted => {
                ("MPI_Barrier", Reduction::Process0, StartScheme::None)
            }
            _ if calls > 1 => ("empty", Reduction::Median, StartScheme::LoopMpbench),
            _ => ("empty", Reduction::Median, StartScheme::None),
        };
        let key = (members.clone(), operation, calls, invalidates);
        if let Some(&known) = self.empty.get(&key) {
            return Ok(known);
        }
        self.job.prepare(Setting {
            element: self.method.element,
            ..Setting::of(operation, 0, members)
        })?;
        let precision = Precision {
            least: LEAST_EMPTY,
            // Its error is part of that of all times from which it is subtracted.
            relative: self.method.precision.relative / 2.0,
            ..self.method.precision
        };
        let value = |times: &[Times]| reduction.of(times);
        let turn = Turn {
            ready: 0,
            scheme,
            calls,
            delays_ns: &[],
            invalidates,
            given_ns: 0.0,
            value: Box::new(value),
        };
        let (repetitions, _) = self.repeat_turn(&turn, precision)?;
        let times = repetitions.valid.iter().map(|times| value(times));
        let times: Vec<f64> = times.collect();
        let found = Subtracted::of(&times, self.method.precision.error);
        self.empty.insert(key, found);
        Ok(found)
    }

    /// Batches of the operation that is ready, of so many calls in each repetition of a loop, until
    /// `value` is precise or its limits are reached.
    ///
    /// # Errors
    /// As of [`Job::prepare`].
    pub(super) fn repeat(
        &mut self,
        scheme: StartScheme,
        calls: usize,
        delays_ns: &[Vec<i64>],
        precision: Precision,
        value: impl Fn(&[Times]) -> f64,
    ) -> anyhow::Result<(Repetitions, Window)> {
        self.repeat_turn(
            &Turn {
                ready: 0,
                scheme,
                calls,
                delays_ns,
                invalidates: true,
                given_ns: 0.0,
                value: Box::new(value),
            },
            precision,
        )
    }

    fn repeat_turn(
        &mut self,
        turn: &Turn<'_>,
        precision: Precision,
    ) -> anyhow::Result<(Repetitions, Window)> {
        let mut course = Course::begin(self.warm_up(turn)?);
        while !course.has_ended {
            self.add_batch(turn, &mut course, precision)?;
        }
        Ok((course.repetitions, course.window))
    }

    /// Batches of what is ready, one of each in turn, until the value of each is precise or its
    /// limits are reached. The first of a round changes from round to round.
    ///
    /// # Errors
    /// As of [`Job::prepare`].
    fn repeat_in_turns(
        &mut self,
        turns: &[Turn<'_>],
        precision: Precision,
    ) -> anyhow::Result<Vec<(Repetitions, Window)>> {
        let courses = turns
            .iter()
            .map(|turn| Ok(Course::begin(self.warm_up(turn)?)));
        let mut courses: Vec<Course> = courses.collect::<anyhow::Result<_>>()?;
        for round in 0.. {
            for i in 0..turns.len() {
                let idx = (round + i) % turns.len();
                if !courses[idx].has_ended {
                    self.add_batch(&turns[idx], &mut courses[idx], precision)?;
                }
            }
            if courses.iter().all(|course| course.has_ended) {
                break;
            }
        }
        let ended = courses.into_iter();
        Ok(ended
            .map(|course| (course.repetitions, course.window))
            .collect())
    }

    /// Adds a batch to a course, or ends it if no more repetitions are needed or allowed.
    fn add_batch(
        &mut self,
        turn: &Turn<'_>,
        course: &mut Course,
        precision: Precision,
    ) -> anyhow::Result<()> {
        let begin = Instant::now();
        let valid = course.repetitions.valid.iter();
        let times: Vec<f64> = valid.map(|times| (turn.value)(times)).collect();
        let made = course.repetitions.made;
        let step_ns = self.job.global().step_ns();
        let next = precision.next(&times, made, step_ns, turn.given_ns);
        let is_late = course.spent.as_secs_f64() > self.method.seconds && made > 0;
        let left = match course.repetitions.valid.len() {
            0 => GIVEN_UP_AFTER.saturating_sub(made),
            _ => usize::MAX,
        };
        let Next::Repeat(n) = next else {
            course.has_ended = true;
            return Ok(());
        };
        if is_late || left == 0 {
            course.has_ended = true;
            return Ok(());
        }
        self.job.keep_clocks()?;
        let most = (LONGEST_BATCH / course.window.length_ns()).max(1) as usize;
        let n = n.min(most).min(MOST_IN_BATCH).min(left);
        let in_turn = turn
            .delays_ns
            .iter()
            .cycle()
            .skip(made % turn.delays_ns.len().max(1));
        let delays_ns: Vec<Vec<i64>> = in_turn.take(n.min(turn.delays_ns.len())).cloned().collect();
        let batch = Batch {
            scheme: turn.scheme,
            n,
            loop_length: turn.calls,
            first_ns: self.job.global().now() + course.lead_ns,
            window_ns: course.window.length_ns(),
            // Nobody can start together better than the clocks agree.
            tolerance_ns: (self.method.tolerance_ns)
                .max(self.job.clock_error().uncertainty_ns as i64),
            delays_ns: delays_ns.clone(),
            invalidates: turn.invalidates,
        };
        let batch = self.job.measure(turn.ready, batch)?;
        let counter_tick_ns = self.job.global().counter_tick_ns();
        let keeps = self.keeps_samples.then_some(Keeps { counter_tick_ns });
        let added = course.repetitions.add(&batch, &delays_ns, keeps);
        if added.behind > 0 {
            course.lead_ns = (course.lead_ns * 2.0).min(LONGEST_LEAD);
        }
        let Added {
            counted,
            overruns,
            ended_ns,
            ..
        } = added;
        // Within a window caches are invalidated, too.
        let ended_ns = ended_ns.map(|ended_ns| ended_ns + self.invalidation_ns);
        course.window.adapt(counted, overruns, ended_ns);
        course.spent += begin.elapsed();
        Ok(())
    }

    /// The longest time of a process in a few repetitions but the first, with the delays, ns.
    fn warm_up(&mut self, turn: &Turn<'_>) -> anyhow::Result<i64> {
        let batch = self
            .job
            .measure(turn.ready, Batch::unsynchronized(WARM_UP))?;
        let of_process = batch.iter().map(|of| of.iter().skip(1));
        let longest = of_process
            .flatten()
            .map(|one| one.times.leave - one.times.enter)
            .max();
        let delays = turn.delays_ns.iter().flatten().copied();
        let delay = delays.max().unwrap_or(0);
        Ok(longest.unwrap_or(0) + delay + self.invalidation_ns)
    }
}

impl Repetitions {
    /// Adds a batch, by process, whose repetitions took these delays in turn.
    fn add(
        &mut self,
        batch: &[Vec<Repetition>],
        delays_ns: &[Vec<i64>],
        keeps: Option<Keeps>,
    ) -> Added {
        let n = batch.first().map_or(0, Vec::len);
        let (mut added, mut ended) = (Added::default(), Vec::new());
        let mut has_missed = true;
        for i in 0..n {
            let state = StartState::of_all(batch.iter().map(|process| process[i].state));
            let times: Vec<Times> = batch.iter().map(|process| process[i].times).collect();
            if let Some(keeps) = keeps {
                let counters: Vec<u64> = batch.iter().map(|process| process[i].counter).collect();
                let counter_ns = keeps.counter_tick_ns.map(|ns| since_first(&counters, ns));
                let is_valid = state == StartState::InTime;
                self.samples.push(Sample::of(&times, counter_ns, is_valid));
            }
            match state {
                StartState::InTime => {
                    ended.push(Reduction::Span.of(&times) as i64);
                    let delays_ns = delays_ns.get(i % delays_ns.len().max(1));
                    let delays_ns = delays_ns.map_or(&[][..], Vec::as_slice);
                    self.skews_ns.push(start_skew_ns(&times, delays_ns));
                    self.valid.push(times);
                    let parts = batch.iter().map(|process| process[i].parts);
                    self.parts.push(parts.collect());
                }
                StartState::Missed => {
                    self.missed += 1;
                    added.behind += usize::from(added.behind == i);
                    added.overruns += usize::from(!has_missed);
                }
                StartState::Delayed => self.delayed += 1,
            }
            let is_missed = state == StartState::Missed;
            added.counted += usize::from(!(is_missed && has_missed));
            has_missed = is_missed;
        }
        self.made += n;
        ended.sort_unstable();
        added.ended_ns = ended.get(ended.len() * 9 / 10).copied();
        added
    }
}

/// By process the mean of its delays, ns.
fn mean_delays_ns(delays_ns: &[Vec<i64>]) -> Vec<i64> {
    let n = delays_ns.len().max(1) as i64;
    let processes = delays_ns.first().map_or(0, Vec::len);
    let sum = |rank: usize| delays_ns.iter().map(|of| of[rank]).sum::<i64>();
    (0..processes).map(|rank| sum(rank) / n).collect()
}

/// Readings of one counter as ns since the first.
fn since_first(counters: &[u64], tick_ns: f64) -> Vec<i64> {
    let first = counters.iter().copied().min().unwrap_or(0);
    let ns = |counter: &u64| ((counter - first) as f64 * tick_ns).round() as i64;
    counters.iter().map(ns).collect()
}

impl Sample {
    fn of(times: &[Times], counter_ns: Option<Vec<i64>>, is_valid: bool) -> Self {
        let first = times.iter().map(|times| times.enter).min().unwrap_or(0);
        Self {
            enter_ns: times.iter().map(|times| times.enter - first).collect(),
            leave_ns: times.iter().map(|times| times.leave - first).collect(),
            counter_ns,
            is_valid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::plan::Lengths;

    fn repetition(enter: i64, leave: i64, state: StartState) -> Repetition {
        Repetition {
            times: Times { enter, leave },
            state,
            // Half a nanosecond a tick, from some instant on.
            counter: (1 << 40) + 2 * enter as u64,
            parts: Parts::default(),
        }
    }

    #[test]
    fn invalid_repetitions_are_counted_by_their_worst_process_and_not_used() {
        use StartState::{Delayed, InTime, Missed};
        let of_process = |states: [StartState; 5], leave: i64| -> Vec<Repetition> {
            let starts = (0..).map(|i| 100 * i);
            starts
                .zip(states)
                .map(|(start, state)| repetition(start, start + leave, state))
                .collect()
        };
        let mut repetitions = Repetitions::default();
        let batch = [
            of_process([Missed, InTime, InTime, Missed, InTime], 10),
            of_process([InTime, InTime, Delayed, Delayed, InTime], 30),
        ];
        let keeps = Keeps {
            counter_tick_ns: Some(0.5),
        };
        let added = repetitions.add(&batch, &[], Some(keeps));
        let expected = Added {
            behind: 1,
            overruns: 1,
            counted: 4,
            ended_ns: Some(30),
        };
        assert_eq!(added, expected);
        let counts = (repetitions.made, repetitions.missed, repetitions.delayed);
        assert_eq!(counts, (5, 2, 1));
        let valid = repetitions.valid.iter();
        let spans: Vec<f64> = valid.map(|times| Reduction::Span.of(times)).collect();
        assert_eq!(spans, [30.0, 30.0]);
        let valid = repetitions.samples.iter().filter(|sample| sample.is_valid);
        assert_eq!(valid.count(), 2);
        assert_eq!(repetitions.samples[1].leave_ns, [10, 30]);
        assert_eq!(repetitions.samples[1].counter_ns, Some(vec![0, 0]));
        assert_eq!(since_first(&[1 << 63, (1 << 63) + 9], 2.0), [0, 18]);
    }

    #[test]
    fn the_error_of_what_is_subtracted_is_part_of_that_of_the_time() {
        let barrier: Vec<f64> = (0..100).map(|i| 900.0 + 2.0 * f64::from(i)).collect();
        let subtracted = Subtracted::of(&barrier, ErrorOf::Winsorized);
        assert_eq!(subtracted.ns, 999.0);
        assert!((5.0..50.0).contains(&subtracted.error_ns), "{subtracted:?}");
        let series = Series {
            start: StartScheme::BarrierSubtracted,
            ..Series::example("MPI_Bcast", Lengths::List(vec![8]), 2)
        };
        let candidate = |subtracted, calls| Candidate {
            series: &series,
            operation: Operation::of_name("MPI_Bcast").unwrap(),
            bytes: Some(8),
            reduction: Reduction::Process0,
            is_fixed: true,
            delays_ns: Vec::new(),
            calls,
            subtracted,
            setting: Setting::of("MPI_Bcast", 8, Members::First(2)),
        };
        // Of 100 ns that are left, no repetition differs from the others.
        let times = TrimmedMean::of(&[100.0; 20]).unwrap();
        let error = |of: Candidate<'_>| of.relative_error(times, ErrorOf::Winsorized);
        let expected = subtracted.error_ns / 100.0;
        assert_eq!(error(candidate(subtracted, 1)), Some(expected));
        // In a loop it is divided among all calls.
        let found = error(candidate(subtracted, 20)).unwrap();
        assert!((found - expected / 20.0).abs() < 1e-12);
        assert_eq!(error(candidate(Subtracted::NOTHING, 1)), Some(0.0));
        let unknown = Subtracted::of(&[5.0], ErrorOf::Winsorized);
        assert_eq!(error(candidate(unknown, 1)), None);
    }
}

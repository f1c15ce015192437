//! Repetitions until a time is known precisely enough.

use super::super::messages::{Job, Pattern, Timed, Transfer, Work};
use super::super::model::{Cost, Precision};
use super::progress::Progress;

/// Repetitions by which the length of batches is chosen.
const FIRST: usize = 3;
/// Least number of repetitions in a batch of long bursts.
const FEWEST: usize = 3;
/// Time that a batch may take, ns: of long bursts it has fewer repetitions.
const LONGEST_BATCH_NS: f64 = 1e8;
/// Fewest batches, of which there is an interval.
const FEWEST_BATCHES: usize = 2;
/// Fewest batches of bursts so long that there is one in each: intervals of two are wide.
const FEWEST_BURSTS: usize = 3;

/// Of costs that are subtracted from one another, intervals are narrower by this factor.
const NARROWER: f64 = 5.0;

/// Measures costs of a job.
pub(in crate::logp) struct Sampler<'a, J> {
    pub(in crate::logp) job: &'a mut J,
    pub(in crate::logp) precision: Precision,
    /// Told of each cost that was measured.
    pub(in crate::logp) progress: Progress,
}

/// What is repeated: [`Work`] without the number of repetitions.
#[derive(Debug, Clone, Copy)]
pub(in crate::logp) struct Repeated {
    pub(in crate::logp) pattern: Pattern,
    pub(in crate::logp) transfer: Transfer,
    pub(in crate::logp) window: usize,
}

impl<J: Job> Sampler<'_, J> {
    /// The cost in each process that sends requests, ascending; `relative` is the wanted half width
    /// of its interval.
    fn costs(&mut self, repeated: Repeated, timed: Timed, relative: f64) -> Vec<Cost> {
        let precision = Precision {
            relative,
            ..self.precision
        };
        let mut work = Work {
            pattern: repeated.pattern,
            transfer: repeated.transfer,
            timed,
            window: repeated.window,
            repetitions: 1,
            warms_up: true,
        };
        let begin_ns = self.job.elapsed_ns();
        let longest_ns = LONGEST_BATCH_NS.min(precision.longest_ns);
        let mut times = self.job.execute(&work);
        let mut repetition_ns = (self.job.elapsed_ns() - begin_ns) / work.made() as f64;
        let is_long = repetition_ns > longest_ns;
        if !is_long {
            // The first ones set up connections, and say little about how long others take.
            work.repetitions = FIRST;
            let begin_ns = self.job.elapsed_ns();
            times = self.job.execute(&work);
            repetition_ns = (self.job.elapsed_ns() - begin_ns) / work.made() as f64;
        }
        let fitting = (longest_ns / repetition_ns.max(1.0)) as usize;
        let fewest = if is_long { 1 } else { FEWEST };
        work.repetitions = fitting.clamp(fewest.min(precision.batch), precision.batch);
        let mut batches: Vec<Vec<Vec<f64>>> = vec![Vec::new(); times.len()];
        if is_long {
            // So long a burst counts as a batch of its own, the first one, too.
            work.warms_up = false;
            for (of_one, times) in batches.iter_mut().zip(times) {
                of_one.push(times);
            }
        }
        loop {
            for (of_one, times) in batches.iter_mut().zip(self.job.execute(&work)) {
                of_one.push(times);
            }
            let n = batches.first().map_or(precision.most, Vec::len);
            let has_no_time_left = self.job.elapsed_ns() - begin_ns > precision.longest_ns;
            let least = match (work.repetitions, has_no_time_left) {
                (1, true) => FEWEST_BURSTS,
                (_, true) => FEWEST_BATCHES,
                (_, false) => precision.least,
            };
            if n < least {
                continue;
            }
            let costs = batches
                .iter()
                .filter_map(|of_one| Cost::of(of_one, precision));
            let costs: Vec<Cost> = costs.collect();
            let is_precise = costs.iter().all(|cost| cost.is_precise);
            if n >= precision.most || has_no_time_left || is_precise {
                self.progress.measured(self.job.elapsed_ns());
                return costs;
            }
        }
    }

    /// The shortest of so many repetitions, ns, in any process that sends requests; `None` where none
    /// sends any.
    pub(in crate::logp) fn shortest_ns(
        &mut self,
        repeated: Repeated,
        timed: Timed,
        repetitions: usize,
    ) -> Option<f64> {
        let times = self.job.execute(&Work {
            pattern: repeated.pattern,
            transfer: repeated.transfer,
            timed,
            window: repeated.window,
            repetitions,
            warms_up: true,
        });
        times.into_iter().flatten().reduce(f64::min)
    }

    /// The mean cost of all processes that send requests, at the wanted precision of the whole
    /// benchmark; `None` where none sends any.
    pub(in crate::logp) fn cost(&mut self, repeated: Repeated, timed: Timed) -> Option<Cost> {
        self.cost_within(repeated, timed, self.precision.relative)
    }

    /// The mean cost of all processes that send requests, precise enough to be subtracted from
    /// another; `None` where none sends any.
    pub(in crate::logp) fn differing(&mut self, repeated: Repeated, timed: Timed) -> Option<Cost> {
        self.cost_within(repeated, timed, self.precision.relative / NARROWER)
    }

    /// The mean cost of all processes that send requests, with this wanted half width of its
    /// interval; `None` where none sends any.
    fn cost_within(&mut self, repeated: Repeated, timed: Timed, relative: f64) -> Option<Cost> {
        Cost::mean(&self.costs(repeated, timed, relative))
    }
}

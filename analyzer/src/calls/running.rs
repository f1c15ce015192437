//! Whether processes were running: what the kernel reported of their threads before and in long
//! calls.

use std::borrow::Cow;
use std::collections::BTreeMap;

use collbench_formats::{Layer, Operation, Record, Running};
use serde::{Deserialize, Serialize};

use crate::communicators::Communicators;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// From this part of the time on a thread counts as running, in percent.
pub const MOSTLY_RUNNING: i64 = 80;

/// What a thread did with its time in front of the calls of one operation, or in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunningSummary {
    /// World rank.
    pub rank: u32,
    /// Id of the communicator; `None` where that is not known.
    pub communicator: Option<usize>,
    /// Name of the operation.
    pub operation: Cow<'static, str>,
    /// `before`: in the gap in front of the call; `inside`: in it.
    pub place: Cow<'static, str>,
    /// How often the kernel was asked: only where much time had passed.
    pub samples: u64,
    /// The time that these samples are about, ns.
    pub elapsed_ns: i64,
    /// For how much of it the thread was on a core, ns, in steps of 1 us for each sample.
    pub on_core_ns: i64,
    /// How often it left the core voluntarily: it waited, slept, or was stopped.
    pub blocked: u64,
    /// How often another thread got its core while it could have gone on: it was preempted, or called
    /// `sched_yield`.
    pub preempted: u64,
}

/// Samples added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    n: u64,
    elapsed_ticks: u64,
    on_core_us: u64,
    n_blocked: u64,
    n_preempted: u64,
}

impl Sum {
    fn add(&mut self, running: Running) {
        self.n += 1;
        self.elapsed_ticks = self.elapsed_ticks.saturating_add(running.elapsed_ticks);
        self.on_core_us += u64::from(running.on_core_us);
        self.n_blocked += u64::from(running.n_blocked);
        self.n_preempted += u64::from(running.n_preempted);
    }

    fn merge(&mut self, other: Self) {
        self.n += other.n;
        self.elapsed_ticks = self.elapsed_ticks.saturating_add(other.elapsed_ticks);
        self.on_core_us += other.on_core_us;
        self.n_blocked += other.n_blocked;
        self.n_preempted += other.n_preempted;
    }
}

/// Where a sample was taken, relative to its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SampledAt {
    Before,
    Inside,
}

/// The samples of a process: by number of the operation, and index of its communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunningCounts(BTreeMap<(u16, u32, SampledAt), Sum>);

impl RunningCounts {
    /// Counts a sample that is after the record of `call`.
    pub(crate) fn count(&mut self, running: Running, sample: &Record, call: &Record) {
        let place = if sample.enter.get() <= call.enter.get() {
            SampledAt::Before
        } else {
            SampledAt::Inside
        };
        let key = (call.word().number(), call.communicator.get(), place);
        self.0.entry(key).or_default().add(running);
    }
}

/// Rank, communicator, operation.
type Key = (u32, Option<usize>, &'static str, SampledAt);

/// All samples, by rank, communicator and operation; `None` where the layer was off in all
/// processes. `counts` are those of each process of the run.
pub(crate) fn running<'c>(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    counts: impl IntoIterator<Item = &'c RunningCounts>,
) -> Option<Vec<RunningSummary>> {
    let processes = &run.processes;
    if !processes.iter().any(|file| file.has_layer(Layer::Switches)) {
        return None;
    }
    let mut sums: BTreeMap<Key, (Sum, i64)> = BTreeMap::new();
    for (process, (file, counts)) in processes.iter().zip(counts).enumerate() {
        for (&(code, index, place), &sum) in &counts.0 {
            let Some(operation) = Operation::from_code(code) else {
                continue;
            };
            let bound = communicators.local_comm(process, index).map(|local_comm| {
                let local_comm = &communicators.local_comms[process][local_comm];
                communicators.list[local_comm.communicator as usize].entry
            });
            let key = (file.rank(), bound, operation.name(), place);
            let (total, elapsed_ns) = sums.entry(key).or_default();
            total.merge(sum);
            let clock = &clocks.processes[process];
            *elapsed_ns = elapsed_ns.saturating_add(clock.span_ns(sum.elapsed_ticks));
        }
    }
    let summaries = sums.into_iter().map(|(key, (sum, elapsed_ns))| {
        let (rank, communicator, operation, place) = key;
        RunningSummary {
            rank,
            communicator,
            operation: operation.into(),
            place: match place {
                SampledAt::Before => "before".into(),
                SampledAt::Inside => "inside".into(),
            },
            samples: sum.n,
            elapsed_ns,
            on_core_ns: i64::try_from(sum.on_core_us.saturating_mul(1000)).unwrap_or(i64::MAX),
            blocked: sum.n_blocked,
            preempted: sum.n_preempted,
        }
    });
    Some(summaries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_at_or_before_the_enter_of_its_call_is_about_the_gap() {
        let call = Record::call(Operation::Barrier, 0, 3, -1, 0, 1000, 2000);
        let running = Running {
            elapsed_ticks: 500,
            on_core_us: 2,
            n_blocked: 1,
            n_preempted: 4,
        };
        let sampled = |enter: u64| Record {
            enter: enter.into(),
            ..Record::FREE
        };
        let mut counts = RunningCounts::default();
        for enter in [900, 1000, 2001] {
            counts.count(running, &sampled(enter), &call);
        }
        let key = |place| (Operation::Barrier.code(), 3, place);
        assert_eq!(counts.0[&key(SampledAt::Before)].n, 2);
        assert_eq!(counts.0[&key(SampledAt::Before)].n_preempted, 8);
        assert_eq!(counts.0[&key(SampledAt::Inside)].elapsed_ticks, 500);
    }
}

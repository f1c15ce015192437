//! State of a run: ranks and communicators, and what every step does with them.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use collbench_formats::{Definition, Operation};
use collbench_stats::random::Random;

use super::delay::{Amount, Delay};
use super::group::Members;
use super::messages::InstanceMessages;
use super::outstanding::Outstanding;
use super::own_trees::OnTree;
use super::rank_file::{Body, NewRecord, RankFile, Stop};
use super::scenario::{Action, Call, Fault, Scenario, ScenarioError, Step, StepKind};
use super::semantics::{Release, with_noise};
use super::truth::{Seen, TruthBuilder};

/// A simulated communicator: its members, and its indexes in their files.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) members: Members,
    pub(super) id: u64,
    /// By position: index in the member's file.
    pub(super) indexes: Vec<u32>,
    /// Calls of the application that have begun on it.
    pub(super) calls: u64,
    /// Persistent collectives that have been created on it.
    pub(super) persistents: u64,
    /// Its index in the truth.
    pub(super) in_truth: usize,
}

/// The current meaning of a name of the program.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) groups: Vec<Group>,
    pub(super) thread: u32,
}

#[derive(Debug)]
pub(super) struct Rank {
    /// By thread of the scenario: when its last call returned.
    pub(super) cursors: Vec<u64>,
    /// Calls of the application so far, in the trace or not.
    pub(super) calls: u64,
    /// Number of records so far.
    pub(super) records: u64,
    pub(super) next_index: u32,
    pub(super) next_persistent: u32,
    pub(super) is_running: bool,
    pub(super) stop: Option<Stop>,
    /// What it did in calls without records since its last record, by thread.
    pub(super) gaps: Vec<NewRecord>,
}

/// Writing failed.
#[derive(Debug)]
pub(crate) struct FileError {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Why a simulation ended early.
#[derive(Debug)]
pub(crate) enum SimulationError {
    File(FileError),
    Scenario(ScenarioError),
}

impl From<FileError> for SimulationError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Latest time of a run (9 years): ticks of any clock and sums of times then fit into their
/// integers.
pub(super) const END_OF_TIME_NS: u64 = 1 << 58;

/// One pass through a scenario.
#[derive(Debug)]
pub(crate) struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) seed: u64,
    /// By world rank; `None`: nothing is written.
    pub(super) files: Vec<Option<RankFile>>,
    /// By world rank: which records do not get into the trace, or are lost from it.
    pub(super) lost: Vec<Range<u64>>,
    pub(super) named: BTreeMap<String, Named>,
    pub(super) ranks: Vec<Rank>,
    pub(super) truth: TruthBuilder,
    pub(super) outstanding: Outstanding,
    /// By step: how often it was executed.
    pub(super) executed: Vec<u64>,
    /// Number of constructors by groups and tag of an intercommunicator.
    pub(super) over_groups: BTreeMap<u64, u64>,
    /// By spanning tree of our own: how many calls it has executed.
    pub(super) over_trees: Vec<u64>,
    /// Whether the latest time was reached.
    pub(super) is_over: bool,
    pub(super) scratch: Scratch,
}

/// Data of one instance, by position among its callers.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) seen: Vec<Seen>,
    /// The enters that other members wait for.
    pub(super) heard: Vec<Option<u64>>,
    pub(super) releases: Vec<Option<Release>>,
    pub(super) payloads: Vec<u64>,
    /// Simulated messages, if any.
    pub(super) simulated: InstanceMessages,
    /// What happens over a spanning tree of our own, if the instance has one.
    pub(super) on_tree: OnTree,
}

/// One execution of a step of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Execution<'a> {
    pub(super) call: &'a Call,
    pub(super) operation: Operation,
    /// How often the step was executed before.
    pub(super) instance: u64,
    pub(super) thread: u32,
}

impl Execution<'_> {
    /// Position of the root; `None` if the operation has none.
    pub(super) fn root(&self, members: &Members) -> Option<usize> {
        let is_rooted = self.operation.semantics().is_rooted();
        is_rooted.then(|| members.root_position(self.call, self.instance))
    }
}

impl<'a> Simulation<'a> {
    /// `files` and `lost` (records, counted from that of MPI_Init) by world rank.
    pub(crate) fn new(
        scenario: &'a Scenario,
        seed: u64,
        files: Vec<Option<RankFile>>,
        lost: Vec<Range<u64>>,
    ) -> Self {
        let host_names: Vec<&str> = scenario
            .hosts
            .iter()
            .map(|host| host.name.as_str())
            .collect();
        let n_threads = scenario
            .threads
            .values()
            .max()
            .map_or(1, |&last| last as usize + 1)
            .max(1 + last_thread(&scenario.program) as usize);
        let ranks = (0..scenario.n_ranks()).map(|_| Rank {
            cursors: vec![0; n_threads],
            calls: 0,
            records: 0,
            next_index: 0,
            next_persistent: 0,
            is_running: true,
            stop: None,
            gaps: Vec::new(),
        });
        Self {
            scenario,
            seed,
            files,
            lost,
            named: BTreeMap::new(),
            ranks: ranks.collect(),
            truth: TruthBuilder::new(
                scenario.truth,
                &scenario.host_of,
                &host_names,
                scenario.init_ns.next_multiple_of(scenario.grid_ns),
            ),
            executed: vec![0; count_calls(&scenario.program)],
            over_groups: BTreeMap::new(),
            over_trees: vec![0; scenario.trees.len()],
            is_over: false,
            outstanding: Outstanding::new(scenario.n_ranks()),
            scratch: Scratch::default(),
        }
    }

    /// Whether the rank is killed in its next call: `true` inside it, `false` before it.
    pub(super) fn is_killed_now(&self, rank: u32) -> Option<bool> {
        match self.scenario.faults[rank as usize] {
            Fault::Killed {
                after_calls,
                in_flight,
            } if self.ranks[rank as usize].calls >= after_calls => Some(in_flight),
            _ => None,
        }
    }

    pub(super) fn define(
        &mut self,
        rank: u32,
        definition: Definition,
        at: u64,
    ) -> Result<(), FileError> {
        if self.ranks[rank as usize].stop.is_some() {
            return Ok(());
        }
        match &mut self.files[rank as usize] {
            None => Ok(()),
            Some(file) => file.define(definition, at).map_err(|error| FileError {
                path: file.path().to_owned(),
                error,
            }),
        }
    }

    /// Writes a record, behind notes on what its thread did before it, unless recording has ended;
    /// returns whether it is in the trace.
    pub(super) fn write(&mut self, rank: u32, record: NewRecord) -> Result<bool, FileError> {
        let gaps = &mut self.ranks[rank as usize].gaps;
        let of_thread = gaps.extract_if(.., |gap| gap.thread == record.thread);
        for gap in of_thread.collect::<Vec<_>>() {
            if self.write_record(rank, gap)?
                && let Body::Gap { in_calls, ns } = gap.body
            {
                self.truth.besides(rank, gap.enter, in_calls, ns);
            }
        }
        self.write_record(rank, record)
    }

    fn write_record(&mut self, rank: u32, record: NewRecord) -> Result<bool, FileError> {
        let state = &mut self.ranks[rank as usize];
        let is_call = record.body.is_counted();
        if let Fault::SizeReached { after_calls } = self.scenario.faults[rank as usize]
            && (state.calls >= after_calls || state.stop.is_some())
        {
            let stop = state.stop.get_or_insert(Stop {
                at: record.enter,
                calls_after: 0,
            });
            stop.calls_after += u64::from(is_call);
            return Ok(false);
        }
        state.records += 1;
        if self.lost[rank as usize].contains(&(state.records - 1)) {
            return Ok(false);
        }
        if let Some(file) = &mut self.files[rank as usize] {
            file.push(record).map_err(|error| FileError {
                path: file.path().to_owned(),
                error,
            })?;
        }
        Ok(true)
    }

    /// Work of one rank before a call; returns the time at which it is done, if the rank is still
    /// running.
    pub(super) fn work(
        &mut self,
        call: &Call,
        instance: u64,
        rank: u32,
        thread: u32,
    ) -> Option<u64> {
        let state = &self.ranks[rank as usize];
        if !state.is_running {
            return None;
        }
        let from = state.cursors[thread as usize];
        let mut until = from;
        for delay in &call.work {
            if let Amount::Noise {
                period_ns,
                length_ns,
            } = delay.amount
            {
                if self.applies(delay, instance, rank) {
                    until = with_noise(from, until, period_ns, length_ns);
                }
            } else {
                let ns = self.delay_ns(delay, instance, rank);
                until = until.saturating_add(ns);
                if let Some(in_calls) = delay.spent_in.filter(|_| ns > 0) {
                    self.ranks[rank as usize].gaps.push(NewRecord {
                        thread,
                        enter: until.min(END_OF_TIME_NS),
                        leave: None,
                        body: Body::Gap { in_calls, ns },
                    });
                }
            }
        }
        self.is_over |= until > END_OF_TIME_NS;
        let until = self.snap(until);
        self.ranks[rank as usize].cursors[thread as usize] = until;
        Some(until)
    }

    fn applies(&self, delay: &Delay, instance: u64, rank: u32) -> bool {
        if delay
            .ranks
            .as_ref()
            .is_some_and(|named| !named[rank as usize])
        {
            return false;
        }
        if let Some(every) = delay.moves_every {
            let execution = (instance / every) % delay.moves_over.len() as u64;
            if delay.moves_over[execution as usize] != rank {
                return false;
            }
        }
        delay.share >= 1.0
            || Random::of(&[self.seed, delay.id, instance, u64::MAX]).unit() < delay.share
    }

    pub(super) fn delay_ns(&self, delay: &Delay, instance: u64, rank: u32) -> u64 {
        if !self.applies(delay, instance, rank) {
            return 0;
        }
        let random = || Random::of(&[self.seed, delay.id, instance, u64::from(rank)]);
        match &delay.amount {
            Amount::Constant(ns) => *ns,
            Amount::Uniform(low, high) => random().uniform(*low, *high),
            Amount::Exponential(mean) => random().exponential(*mean),
            Amount::Normal(mean, sd) => random().normal(*mean, *sd),
            Amount::Each(list) => list[rank as usize],
            Amount::Noise { .. } => 0,
        }
    }

    /// Rounds up to the grid.
    pub(super) fn snap(&self, t: u64) -> u64 {
        t.min(END_OF_TIME_NS)
            .next_multiple_of(self.scenario.grid_ns)
    }
}

fn count_calls(steps: &[Step]) -> usize {
    let count = |step: &Step| match &step.action {
        Action::Block(steps) => count_calls(steps),
        Action::Call(_) => 1,
    };
    steps.iter().map(count).sum()
}

/// The last thread that completes anything.
fn last_thread(steps: &[Step]) -> u32 {
    let of_step = |step: &Step| match &step.action {
        Action::Block(steps) => last_thread(steps),
        Action::Call(call) => match &call.kind {
            StepKind::Complete(step) => step.thread,
            _ => 0,
        },
    };
    steps.iter().map(of_step).max().unwrap_or(0)
}

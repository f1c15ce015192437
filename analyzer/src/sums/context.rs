//! What is needed to add up instances: the run, communicators and the selection.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{Operation, Record};

use crate::communicators::{Communicator, Communicators};
use crate::instances::complete::CompleteInstance;
use crate::selection::Resolved;
use crate::sums::shown_at::{PositionsOfRanks, ShownAt};
use crate::time::clocks::{Clocks, HostOffset};
use crate::time::resolution::Resolution;
use crate::trace::run::Run;

/// A run, and what is wanted of it.
pub(crate) struct Context<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) communicators: &'a Communicators,
    pub(crate) selection: &'a Resolved,
    pub(crate) resolution: Resolution,
    /// When recording stopped early, by process: calls up to there are in the trace, but the messages of
    /// the last one need not be.
    stops: BTreeMap<usize, Timestamp<Global>>,
    /// By process when it entered `MPI_Finalize`; looked up where messages are missing.
    finalizes: OnceLock<Vec<Option<Timestamp<Global>>>>,
    clocks: &'a Clocks,
    /// By host the offset of its clock.
    offsets: &'a [HostOffset],
    /// The process of each world rank, if it is one.
    processes_by_rank: BTreeMap<u32, Option<u32>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        run: &'a Run<'a>,
        clocks: &'a Clocks,
        communicators: &'a Communicators,
        selection: &'a Resolved,
    ) -> Self {
        Self {
            run,
            communicators,
            selection,
            resolution: Resolution::of(clocks),
            stops: stops(run, clocks),
            finalizes: OnceLock::new(),
            clocks,
            offsets: clocks.offsets(),
            processes_by_rank: processes_by_rank(run),
        }
    }

    /// Index of the process with a world rank; `None` without one, and where several have it.
    pub(crate) fn process_of(&self, rank: u32) -> Option<u32> {
        self.processes_by_rank.get(&rank).copied().flatten()
    }

    /// Whether recording had stopped when one of its processes left an instance.
    pub(crate) fn has_stopped_in(&self, instance: &CompleteInstance<'_>) -> bool {
        self.stops.iter().any(|(&process, stop)| {
            let slot = instance.communicator.slot_of(process);
            slot.is_some_and(|slot| instance.leaves[slot] >= *stop)
        })
    }

    /// Whether an instance was called in callbacks of `MPI_Finalize`, in which messages are not recorded any more.
    pub(crate) fn is_in_finalize(&self, instance: &CompleteInstance<'_>) -> bool {
        let finalizes = (self.finalizes).get_or_init(|| finalizes(self.run, self.clocks));
        let first = instance
            .communicator
            .members
            .first()
            .zip(instance.enters.first());
        first.is_some_and(|(member, enter)| {
            finalizes[member.process].is_some_and(|finalize| *enter >= finalize)
        })
    }

    /// What the own clock of a host showed at a time, ns.
    pub(crate) fn local_ns(&self, host: usize, time_ns: i64) -> i64 {
        match self.offsets.get(host) {
            Some(offset) => offset.local_ns(time_ns),
            None => time_ns,
        }
    }

    /// Positions in a communicator's entry; 0 where it is not known.
    pub(crate) fn n_positions(&self, entry: Option<usize>) -> usize {
        entry.map_or(0, |entry| self.communicators.entries[entry].ranks.len())
    }

    /// Entry, class and positions with which an instance is shown.
    pub(crate) fn shown_at<'m>(
        &self,
        communicator: &'m Communicator,
        called_on: Option<usize>,
    ) -> ShownAt<'m> {
        let Some(parent) = called_on else {
            return ShownAt {
                entry: communicator.entry,
                scope: communicator.scope,
                positions: Cow::Borrowed(&communicator.positions),
            };
        };
        let parent = &self.communicators.list[parent];
        let ranks = &self.communicators.entries[parent.entry].ranks;
        let members = communicator.members.iter();
        let mut positions_of_ranks = PositionsOfRanks::new(ranks);
        ShownAt {
            entry: parent.entry,
            scope: parent.scope,
            positions: members
                .map(|member| positions_of_ranks.of(member.world_rank))
                .collect(),
        }
    }
}

fn processes_by_rank(run: &Run<'_>) -> BTreeMap<u32, Option<u32>> {
    let mut processes = BTreeMap::new();
    for (process, file) in (0..).zip(&run.processes) {
        let found = processes.entry(file.rank()).or_insert(Some(process));
        if *found != Some(process) {
            *found = None;
        }
    }
    processes
}

/// When each process entered `MPI_Finalize`, behind which there are few calls, if any.
fn finalizes(run: &Run<'_>, clocks: &Clocks) -> Vec<Option<Timestamp<Global>>> {
    let processes = run.processes.iter().zip(&clocks.processes);
    let finalizes = processes.map(|(file, clock)| {
        let threads = file.trace.chunks.chunk_by(|a, b| a.thread == b.thread);
        let mut last = threads.filter_map(|chunks| chunks.last());
        let is_finalize = |record: &Record| record.operation() == Some(Operation::Finalize);
        let record = last.find_map(|chunk| chunk.records.iter().rev().find(is_finalize));
        record.map(|record| clock.global(Timestamp::from_ticks(record.enter.get())))
    });
    finalizes.collect()
}

/// When recording stopped early, of processes of which it did.
fn stops(run: &Run<'_>, clocks: &Clocks) -> BTreeMap<usize, Timestamp<Global>> {
    let stops = run.processes.iter().zip(&clocks.processes).enumerate();
    let stops = stops.filter_map(|(process, (file, clock))| {
        let ticks = file.trace.header.stop_ticks.get();
        (ticks != 0).then(|| (process, clock.global(Timestamp::from_ticks(ticks))))
    });
    stops.collect()
}

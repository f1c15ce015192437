//! Communicators: the definitions of all processes, combined.
//!
//! The definition of one process states its own rank in the communicator; the members are found by
//! putting the definitions with one `id` together. Handles and indexes mean something within one
//! process only.
//!
//! Communicators of one process (`MPI_COMM_SELF` and others) are one entry of the results
//! together, except `MPI_COMM_WORLD` in a job of one process. Files and windows have an order of
//! calls each, and so are communicators here; in the results their calls are on the communicator
//! that they were opened on.

mod agree;
mod draft;
mod entries;
mod names;
pub(crate) mod persistent;
pub(crate) mod spanning_trees;

use std::sync::Arc;

use collbench_formats::tree::Wrappers;
use collbench_formats::{CommunicatorKind, NO_RANK, SequenceEntry};
use collbench_stats::numbering::mix;
use serde::{Deserialize, Serialize};

use crate::communicators::spanning_trees::OwnTrees;
use crate::remark::Remark;

/// How a communicator compares to the job, for counting calls by class.
///
/// The rule, first match wins: an intercommunicator is [`Scope::Inter`]; one as large as the job
/// is [`Scope::Job`] (so `MPI_COMM_SELF` in a job of one process is); one of one process is
/// [`Scope::Own`]; any other is [`Scope::Sub`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// As large as the job, or larger; also calls on a communicator that is not known.
    Job,
    /// Smaller than the job.
    Sub,
    /// Of one process.
    Own,
    /// An intercommunicator.
    Inter,
}

impl Scope {
    /// The suffix of an operation's name in counts by class.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Job => "",
            Self::Sub => ":sub",
            Self::Own => ":self",
            Self::Inter => ":inter",
        }
    }
}

/// One process in a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// 0 or 1; 0 on intracommunicators. Group 0 is the one with the smaller first world rank.
    pub group: u8,
    /// Rank in its group.
    pub rank: u32,
    /// World rank.
    pub world_rank: u32,
    /// Index of the process in the run.
    pub process: usize,
    /// Index of its host clock.
    pub host: usize,
}

/// One communicator, as matching needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// One group or two.
    pub kind: CommunicatorKind,
    /// How it compares to the job.
    pub scope: Scope,
    /// The members that there is a file of, by group and rank. A *slot* is an index in this list.
    pub members: Vec<Member>,
    /// Their processes, by slot.
    pub processes: Arc<[u32]>,
    /// Whether there is a file of every member.
    pub is_whole: bool,
    /// Slots by host, each list ascending, by host index.
    pub hosts: Vec<Vec<usize>>,
    /// Slots whose clocks have a common time, by group of hosts, each list ascending: one list
    /// where all stamps can be compared.
    pub times: Vec<Vec<usize>>,
    /// Index of its entry in [`Communicators::entries`].
    pub entry: usize,
    /// For each slot the index in [`CommunicatorEntry::ranks`].
    pub positions: Vec<usize>,
    /// For each slot those that it receives from in the communicator's topology, ascending, each
    /// once; `None`: not known. Empty where no process recorded a topology.
    pub in_neighbours: Vec<Option<Box<[u32]>>>,
}

impl Communicator {
    /// A hash of the host of each slot, and on an intercommunicator of its group; 0 where all are
    /// on one host and in one group.
    pub(crate) fn host_map(&self) -> u64 {
        if self.hosts.len() < 2 && self.kind == CommunicatorKind::Intra {
            return 0;
        }
        let places = self.members.iter();
        let places = places.map(|member| (member.host as u64) << 1 | u64::from(member.group));
        places.fold(1, mix)
    }

    /// The group of each slot of an intercommunicator.
    pub(crate) fn groups(&self) -> Option<Vec<u32>> {
        let groups = || self.members.iter().map(|member| member.group.into());
        (self.kind == CommunicatorKind::Inter).then(|| groups().collect())
    }

    /// The slot of a process of the run.
    pub(crate) fn slot_of(&self, process: usize) -> Option<usize> {
        self.members
            .iter()
            .position(|member| member.process == process)
    }

    /// The slots that a slot receives from in the communicator's topology, ascending; `None`
    /// where there is none, or it is not known.
    #[must_use]
    pub fn in_neighbours(&self, slot: usize) -> Option<&[u32]> {
        if self.is_own() {
            // At most itself.
            return Some(&[]);
        }
        self.in_neighbours.get(slot)?.as_deref()
    }

    /// Stores the in-neighbours of a slot, given as ranks. If one of them has no file, they stay
    /// unknown: nobody knows when the slot was released.
    fn set_in_neighbours(&mut self, slot: usize, ranks: &[u32]) {
        if self.in_neighbours.is_empty() {
            self.in_neighbours = vec![None; self.members.len()];
        }
        let members = &self.members;
        let ranks = ranks.iter().filter(|&&rank| rank != NO_RANK);
        let slots = ranks.map(|&rank| {
            let found = members.binary_search_by_key(&(0, rank), |m| (m.group, m.rank));
            found.ok().map(|slot| slot as u32)
        });
        let Some(mut slots) = slots.collect::<Option<Vec<u32>>>() else {
            return;
        };
        slots.sort_unstable();
        slots.dedup();
        self.in_neighbours[slot].get_or_insert(slots.into_boxed_slice());
    }

    /// Whether it has one process only. Such a process waits for no other; several such
    /// communicators, each with its own order of calls, may be shown as one.
    pub(crate) fn is_own(&self) -> bool {
        self.members.len() == 1 && self.is_whole
    }
}

/// One communicator, as the results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommunicatorEntry {
    /// As set by the program, else derived from how it was created.
    pub name: String,
    /// One group or two.
    pub kind: CommunicatorKind,
    /// Processes in it, both groups together; 1 for the entry of all one-process communicators.
    pub size: u64,
    /// How many communicators that were made alike it stands for.
    pub count: usize,
    /// Number of the place in the program that it was made at; `None` where that is not known.
    pub made_at: Option<u32>,
    /// World ranks by rank, both groups one after the other; `None`: there is no file of it.
    pub ranks: Vec<Option<u32>>,
    /// Length of the first group, on intercommunicators.
    pub first_group: usize,
}

/// A communicator as one process knows it: its local index, and the communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalComm {
    /// The index that the process's records use.
    pub index: u32,
    /// Index in [`Communicators::list`].
    pub communicator: u32,
}

/// All communicators of a run.
#[derive(Debug, Default)]
pub struct Communicators {
    /// As matching needs them. Those that are one entry of the results together, made alike by a
    /// loop, are one.
    pub list: Vec<Arc<Communicator>>,
    /// The local indexes that the members' records use, by slot, one communicator after the other.
    indexes: Vec<u32>,
    /// For each communicator where its indexes begin.
    first_index: Vec<usize>,
    /// As the results show them; the index is the `id` in JSON.
    pub entries: Vec<CommunicatorEntry>,
    /// For each process of the run its communicators, by local index.
    pub local_comms: Vec<Vec<LocalComm>>,
    /// What a reader should know about them.
    pub remarks: Vec<Remark>,
    /// Definitions that contradict an earlier one: the process, and its index.
    pub conflicts: Vec<(usize, u32)>,
    /// Spanning trees of our own.
    pub(crate) trees: OwnTrees,
}

impl Communicators {
    /// How many spanning trees of our own there are.
    #[must_use]
    pub fn n_own_trees(&self) -> u32 {
        self.trees.list.len() as u32
    }

    /// The name of a spanning tree of our own, and what it is, by its number; `None` for one whose ranks
    /// are threads.
    #[must_use]
    pub fn own_tree(&self, number: u32) -> Option<(&str, &Wrappers)> {
        let tree = self.trees.list.get(number as usize)?;
        (tree.threads == 1).then_some((&tree.name, &tree.wrappers))
    }

    /// Position in `local_comms` of the communicator with this local index; `None` where it has no
    /// (usable) definition.
    #[must_use]
    #[inline]
    pub fn local_comm(&self, process: usize, index: u32) -> Option<usize> {
        let local_comms = &self.local_comms[process];
        // Indexes count up from 0, so mostly the position is the index.
        match local_comms.get(index as usize) {
            Some(local_comm) if local_comm.index == index => Some(index as usize),
            _ => local_comms.binary_search_by_key(&index, |b| b.index).ok(),
        }
    }

    /// The processes of a communicator by slot, each with the position of the communicator in its
    /// `local_comms`.
    pub fn with_local_comms(
        &self,
        communicator: usize,
    ) -> impl Iterator<Item = (usize, usize)> + '_ {
        let indexes = self.indexes[self.first_index[communicator]..].iter();
        let members = self.list[communicator].members.iter().zip(indexes);
        members.filter_map(|(member, &index)| {
            Some((member.process, self.local_comm(member.process, index)?))
        })
    }

    /// The entries of a chunk's sequence table, each with the position of its communicator in
    /// `local_comms`.
    pub fn resolve<'s>(
        &'s self,
        process: usize,
        table: &'s [SequenceEntry],
    ) -> impl Iterator<Item = (usize, &'s SequenceEntry)> + 's {
        table.iter().filter_map(move |entry| {
            Some((self.local_comm(process, entry.communicator.get())?, entry))
        })
    }
}

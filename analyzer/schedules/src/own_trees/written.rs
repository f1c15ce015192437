//! What a process does, written down with the tags of its messages.

use std::collections::BTreeMap;

use super::{HEADER_BYTES, NoSchedule};
use crate::program::Program;
use crate::schedule::Schedule;

/// The tag of values that processes of one host take from its memory. What a process puts there for itself is not
/// written down.
pub(super) const IN_MEMORY: u32 = u32::MAX;

/// How a value in the memory of a host gets from one process to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InMemory {
    /// How many values meet where it is brought to, or where it comes back from.
    pub contributors: usize,
    /// Whether it is brought there; else it comes back.
    pub is_brought: bool,
}

/// What a process does, and the tags of its messages by other process and in order.
#[derive(Debug)]
pub(super) struct Written {
    program: Program,
    is_reduction: bool,
    sent: BTreeMap<usize, Vec<u32>>,
    received: BTreeMap<usize, Vec<u32>>,
    in_memory: BTreeMap<usize, InMemory>,
}

impl Written {
    pub(super) fn new(rank: usize, is_reduction: bool) -> Self {
        Self {
            program: Program::new(rank),
            is_reduction,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            in_memory: BTreeMap::new(),
        }
    }

    /// The rank of the process.
    pub(super) fn rank(&self) -> u32 {
        self.program.rank() as u32
    }

    /// Sends a value, and waits for nothing: the library keeps a copy of it.
    pub(super) fn send(&mut self, to: u32, tag: u32, bytes: u64) {
        self.sent.entry(to as usize).or_default().push(tag);
        self.program.isend(to as usize, HEADER_BYTES + bytes);
    }

    /// Puts a value into the memory of its host, where another process takes it.
    pub(super) fn put(&mut self, to: u32, how: InMemory, bytes: u64) {
        if to == self.rank() {
            return;
        }
        self.in_memory.insert(to as usize, how);
        self.sent.entry(to as usize).or_default().push(IN_MEMORY);
        self.program.isend(to as usize, bytes);
    }

    /// Waits for some values, each by sender and tag, whichever comes first.
    pub(super) fn receive_all(&mut self, values: impl IntoIterator<Item = (u32, u32)>) {
        let me = self.rank();
        let mut requests = Vec::new();
        for (from, tag) in values.into_iter().filter(|(from, _)| *from != me) {
            self.received.entry(from as usize).or_default().push(tag);
            requests.push(self.program.irecv(from as usize));
        }
        self.program.wait_all(requests);
    }

    /// Combines so many values, each so long, if they are combined.
    pub(super) fn combine(&mut self, n_values: usize, bytes: u64) {
        if self.is_reduction && n_values > 1 {
            self.program.combine((n_values as u64 - 1) * bytes);
        }
    }
}

/// A collective over a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeSchedule {
    /// What each process does.
    pub schedule: Schedule,
    /// Which processes exchange values in the memory of their host: by sender and receiver. Where that is at several
    /// joins, of one of them.
    pub in_memory: BTreeMap<(usize, usize), InMemory>,
}

/// The schedule of all processes, by rank: it tells the messages between two of them apart by their order only.
pub(super) fn in_order(processes: Vec<Written>) -> Result<TreeSchedule, NoSchedule> {
    for (from, of) in processes.iter().enumerate() {
        for (&to, tags) in &of.sent {
            if processes[to].received.get(&from) != Some(tags) {
                return Err(NoSchedule::Overtaking { from, to });
            }
        }
    }
    let mut in_memory = BTreeMap::new();
    let processes = processes.into_iter().enumerate().map(|(from, of)| {
        in_memory.extend(of.in_memory.into_iter().map(|(to, how)| ((from, to), how)));
        of.program.finish()
    });
    let processes = processes.collect();
    Ok(TreeSchedule {
        schedule: Schedule { processes },
        in_memory,
    })
}

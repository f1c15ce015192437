//! Outstanding operations: initiated and not completed.

use std::collections::BTreeMap;

use collbench_formats::{Initiation, Operation};

use super::group::Members;
use super::messages::{InstanceMessages, ProgressCalls};
use super::scenario::Call;
use super::truth::{NonblockingTimes, Seen};

/// Operations that not all members have completed.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    /// In the order of initiation; `None` once all members have completed it.
    pub(super) instances: Vec<Option<OutstandingInstance>>,
    /// By world rank: index in `instances`, and position among the members.
    pub(super) of_rank: Vec<Vec<(usize, usize)>>,
    /// By step and id of the communicator.
    pub(super) persistent: BTreeMap<(usize, u64), Persistent>,
    /// Number of collectives with messages so far: each has a tag of its own.
    pub(super) n_with_messages: u16,
}

/// A persistent collective.
#[derive(Debug)]
pub(super) struct Persistent {
    /// By position among the members: index in the member's file.
    pub(super) indexes: Vec<u32>,
    pub(super) n_starts: u64,
}

#[derive(Debug)]
pub(super) struct OutstandingInstance {
    pub(super) operation: Operation,
    pub(super) in_truth: usize,
    pub(super) members: Members,
    pub(super) root: Option<usize>,
    pub(super) payloads: Vec<u64>,
    pub(super) seen: Vec<Seen>,
    pub(super) nonblocking: Vec<NonblockingTimes>,
    /// When each member may be done; `None` if it waits for a rank that never enters.
    pub(super) ready: Vec<Option<u64>>,
    pub(super) of: Vec<Initiation>,
    pub(super) n_left: usize,
    /// Its messages, if they are simulated.
    pub(super) model: Option<OutstandingMessages>,
}

/// The messages of an outstanding collective.
#[derive(Debug)]
pub(super) struct OutstandingMessages {
    pub(super) call: Call,
    pub(super) instance: u64,
    pub(super) thread: u32,
    /// The library's tag for all its messages.
    pub(super) tag: u16,
    /// By position: index of the communicator in the member's file.
    pub(super) indexes: Vec<u32>,
    /// By position: the calls in which it progresses, once they are known.
    pub(super) calls: Vec<ProgressCalls>,
    pub(super) simulated: InstanceMessages,
    pub(super) are_all_recorded: bool,
}

impl Outstanding {
    pub(super) fn new(n_ranks: usize) -> Self {
        Self {
            of_rank: vec![Vec::new(); n_ranks],
            ..Self::default()
        }
    }
}

//! What ranks have begun and not completed.

use std::collections::BTreeMap;

use collbench_formats::{Initiation, Operation};

use super::group::Members;
use super::messages::{InstanceMessages, ProgressCalls};
use super::scenario::Call;
use super::truth::{NonblockingTimes, Seen};

/// What was begun and not completed by all.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    /// In the order of initiation; `None` once all members are done with it.
    pub(super) instances: Vec<Option<OutstandingInstance>>,
    /// By world rank: index in `begun`, and position among the members.
    pub(super) of_rank: Vec<Vec<(usize, usize)>>,
    /// By step and id of the communicator.
    pub(super) persistent: BTreeMap<(usize, u64), Persistent>,
    /// Collectives so far that are seen inside: each has a tag of its own.
    pub(super) n_with_messages: u16,
}

/// A persistent collective.
#[derive(Debug)]
pub(super) struct Persistent {
    /// By position among the members: the index in the member's file.
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
    /// When each member may be done; `None` where it waits for somebody who never comes.
    pub(super) ready: Vec<Option<u64>>,
    pub(super) of: Vec<Initiation>,
    pub(super) n_left: usize,
    /// How it is seen inside, if it is.
    pub(super) model: Option<OutstandingMessages>,
}

/// A collective that is seen inside, from its begin on.
#[derive(Debug)]
pub(super) struct OutstandingMessages {
    pub(super) call: Call,
    pub(super) instance: u64,
    pub(super) thread: u32,
    /// The library's tag for all of its messages.
    pub(super) tag: u16,
    /// By position: index of the communicator in the member's file.
    pub(super) indexes: Vec<u32>,
    /// By position: in which calls it goes on, once that is known.
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

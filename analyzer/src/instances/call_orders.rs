//! The orders of calls on communicators, and how far each of them is decoded.

use std::collections::BTreeMap;

use crate::calls::process::Process;
use crate::trace::record_at::CallOrder;

/// One call order.
pub(super) enum OrderState {
    /// No call was made.
    Unused,
    /// Nothing waits; positions before this one were passed on.
    PutAway(u64),
    InUse(Box<OpenOrder>),
}

impl OrderState {
    pub(super) fn in_use(&self) -> Option<&OpenOrder> {
        match self {
            Self::InUse(call_order) => Some(call_order),
            _ => None,
        }
    }

    pub(super) fn in_use_mut(&mut self) -> Option<&mut OpenOrder> {
        match self {
            Self::InUse(call_order) => Some(call_order),
            _ => None,
        }
    }
}

/// A call order in use.
pub(super) struct OpenOrder {
    /// Process and local communicator of each slot; `None`: the process has not defined the
    /// communicator.
    pub(super) members: Box<[Option<(u32, u32)>]>,
    /// All members have reached positions before this one. They were passed on, except those held
    /// back.
    pub(super) done: u64,
    /// Positions of nonblocking calls that are not complete at every member, and how many slots,
    /// from the first, were seen to be.
    pub(super) held: BTreeMap<u64, u32>,
    /// Positions at which some members made a nonblocking call and others a different one.
    pub(super) mixed: Vec<u64>,
    /// Whether it is among those that are looked at.
    pub(super) is_listed: bool,
}

impl OpenOrder {
    /// Holds back the nonblocking calls at positions that all members have reached now,
    /// `done..ready`.
    pub(super) fn hold_back(
        &mut self,
        processes: &[Process<'_>],
        call_order: CallOrder,
        ready: u64,
    ) {
        let queue = |member: &Option<(u32, u32)>| {
            let (process, local_comm) = (*member)?;
            processes[process as usize].queue(local_comm as usize, call_order)
        };
        let queues = || self.members.iter().map(queue);
        let mut found: BTreeMap<u64, usize> = BTreeMap::new();
        for queue in queues().flatten() {
            for position in queue.outstanding.positions(self.done, ready) {
                *found.entry(position).or_default() += 1;
            }
        }
        for (position, n) in found {
            let is_mixed = n < self.members.len()
                && queues().flatten().any(|queue| queue.has_blocking(position));
            if is_mixed {
                self.mixed.push(position);
            } else {
                self.held.insert(position, 0);
            }
        }
    }
}

//! When messages of nonblocking collectives were received.
//!
//! A library that progresses such a collective checks internally whether a message has arrived,
//! without a call that the recorder sees. But a process forwards data only after it has received
//! them, and completes only after all messages: so a message had arrived when its receiver began to
//! send data that depend on it; if there are none, when the collective was complete. And it was
//! received in a call of MPI: a receiver that was in none when the message was sent is late until
//! it enters one.

use collbench_clocks::timestamp::Timestamp;
use collbench_trees::recognize::Direction;
use collbench_trees::roles::{Roles, TreeRoles};
use collbench_trees::shape::Shape;

use crate::calls::time_in_mpi::outside_ns;
use crate::instances::complete::CompleteInstance;
use crate::measure::critical_path::Doubt;
use crate::messages::message::InstanceMessage;
use crate::time::resolution::Resolution;

/// Receive times of the messages of one instance, with buffers that are reused.
#[derive(Debug, Default)]
pub(crate) struct ProgressTimes {
    /// The messages: `received` is the time by which each was received, `posted` the time from
    /// which on its receiver could receive it.
    pub(crate) messages: Vec<InstanceMessage>,
    /// By message: time for which its receiver was late because it was in no call of MPI, ns;
    /// `None` where that is unknown.
    pub(crate) late_progress: Vec<Option<i64>>,
    /// By slot: begin of its last send or receive, ns.
    last_begun: Vec<i64>,
    /// Calls of all slots, in order.
    pub(crate) spans: Vec<(i64, i64)>,
}

impl ProgressTimes {
    /// Finds the receive times of a nonblocking instance.
    pub(crate) fn find(
        &mut self,
        instance: &CompleteInstance<'_>,
        paired: &[InstanceMessage],
        shape: &Shape,
        resolution: &Resolution,
    ) {
        self.messages.clear();
        self.messages.extend_from_slice(paired);
        self.late_progress.clear();
        self.last_begun.clear();
        self.last_begun.resize(instance.n_calls(), i64::MIN);
        for message in paired {
            for (slot, begun) in [(message.from, message.sent), (message.to, message.posted)] {
                let last = &mut self.last_begun[slot as usize];
                *last = (*last).max(begun.ns());
            }
        }
        let host = |slot: u32| instance.communicator.members[slot as usize].host;
        for (number, message) in paired.iter().enumerate() {
            let own = &mut self.messages[number];
            let slot = message.to as usize;
            if message.received.is_none() && !message.is_from_any && shape.is_last[number] {
                let at = match &shape.roles {
                    Roles::Tree(tree) => Some(forwarded_ns(instance, paired, tree, number)),
                    // Nothing that was begun before it was sent can depend on it.
                    Roles::Exchange(_) => (self.last_begun[slot] <= message.posted.ns())
                        .then(|| instance.leaves[slot].ns()),
                };
                let at = at.filter(|&at| at >= message.posted.ns());
                own.received = at.map(Timestamp::from_ns);
            }
            let calls = instance
                .time_in_mpi
                .and_then(|time_in_mpi| time_in_mpi.of(slot));
            let can_compare = (resolution.between(host(message.from), host(message.to))).is_some();
            let (Some(calls), true, Some(received_at)) = (calls, can_compare, own.received) else {
                self.late_progress.push(None);
                continue;
            };
            let within = |at: i64| calls.iter().find(|call| call.0 <= at && at <= call.1);
            // It may have been in calls that were not recorded, at unknown times.
            let (Some(call), Some(_)) = (within(received_at.ns()), within(message.posted.ns()))
            else {
                self.late_progress.push(None);
                continue;
            };
            let ready = call.0.max(message.posted.ns());
            own.posted = Timestamp::from_ns(ready);
            let late = outside_ns(calls, message.sent.ns(), ready);
            self.late_progress.push(Some(late));
        }
    }

    /// Why some receive times are unknown, if they are.
    pub(crate) fn doubt(&self) -> Option<Doubt> {
        let mut unknown = (self.messages.iter()).filter(|message| message.received.is_none());
        let first = unknown.next()?;
        Some(
            if first.is_from_any || unknown.any(|message| message.is_from_any) {
                Doubt::FromAny
            } else {
                Doubt::NotSeen
            },
        )
    }
}

/// When the receiver of a message in a tree began to send data that depend on it; if there are
/// none, when it left; ns.
fn forwarded_ns(
    instance: &CompleteInstance<'_>,
    paired: &[InstanceMessage],
    tree: &TreeRoles,
    number: usize,
) -> i64 {
    let slot = paired[number].to as usize;
    let node = &tree.nodes[slot];
    let sent = |&message: &u32| paired[message as usize].sent.ns();
    let to_parent = match tree.directions[number] {
        Direction::Down => node.to_parent.iter().map(sent).min(),
        Direction::Up => None,
    };
    let to_children = node.to_children.iter().map(sent).min();
    let forwarded_ns = to_parent.or(to_children);
    forwarded_ns.unwrap_or_else(|| instance.leaves[slot].ns())
}

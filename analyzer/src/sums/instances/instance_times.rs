//! One instance in detail: when each of its processes entered, waited and left, and its messages.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use collbench_clocks::timestamp::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;
use crate::messages::message::InstanceMessage;
use crate::sums::instances::operation_key::OperationKey;
use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::CallOrder;

/// Most messages of one instance that are kept; of more those that took longest.
const MAX_MESSAGES: usize = 1_024;
/// A position that no call has.
const NOBODY: u32 = u32::MAX;
/// Stands for an unknown wait: not a time.
const UNKNOWN: i64 = i64::MIN;

/// How costly an instance is: by the time waited in it, then by the time in its calls. No two instances of a run are
/// equally costly: of two with the same times the earlier one is costlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Costliness {
    /// Known waits of all calls, ns.
    pub wait_ns: i64,
    /// Time in all calls, ns.
    pub call_ns: i64,
    /// Its last enter, ns since the start of the run.
    pub at_ns: Reverse<i64>,
    /// Index of its communicator in the list of all.
    communicator: Reverse<usize>,
    call_order: Reverse<CallOrder>,
    position: Reverse<u64>,
}

impl Costliness {
    /// That of an instance with these sums over its calls.
    pub(crate) fn of(instance: &CompleteInstance<'_>, at_ns: i64, sums_ns: (i64, i64)) -> Self {
        let (wait_ns, call_ns) = sums_ns;
        Self {
            wait_ns,
            call_ns,
            at_ns: Reverse(at_ns),
            communicator: Reverse(instance.communicator_index),
            call_order: Reverse(instance.call_order),
            position: Reverse(instance.position),
        }
    }
}

/// One instance in detail. Times are in ns since the start of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InstanceTimes {
    /// How costly it is. It identifies the instance.
    pub costliness: Costliness,
    /// The operation that it belongs to.
    pub(crate) key: OperationKey,
    /// Last leave minus first enter, ns; the longest of any hosts with a common time.
    pub duration_ns: i64,
    /// Position among the calls on its communicator.
    pub sequence: u64,
    /// Level of the phase in which all calls were made; `None`: not one.
    pub phase: Option<i32>,
    /// Index in `calls` of the last to arrive, where that is resolved.
    pub last: Option<usize>,
    /// Enter of the last minus the enter before it, where there is a `last`.
    pub excess_ns: i64,
    /// Its first enter, of ranks that are not selected, too.
    pub first_enter_ns: i64,
    /// Whether stamps of all of its processes can be compared.
    pub has_one_time: bool,
    /// Its calls, by position in the communicator; without those of ranks that are not selected, unless they arrived
    /// last.
    pub calls: Vec<CallTimes>,
    /// Times of nonblocking calls, one for each of `calls`; empty for blocking ones.
    pub completions: Vec<CompletionTimes>,
    /// By call the number of the place in the program from which it was made; empty where that was not recorded.
    sites: Vec<u32>,
    /// Of an instance of more than [`MAX_SHOWN_WHOLE`](Self::MAX_SHOWN_WHOLE) ranks the indexes in `calls` of those on its
    /// critical path, those first in which it stays longest; empty where it is unknown.
    pub on_path: Vec<u32>,
    /// Messages among these calls of which both ends are known; of more than 1,024 those that took longest, but first
    /// those between ranks on the critical path. In
    /// results they are in the order in which they were sent.
    #[serde(serialize_with = "write_in_order")]
    pub messages: Vec<MessageTimes>,
    /// How many such messages there were; `None` where messages were not recorded.
    pub n_messages: Option<u64>,
}

/// One call of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallTimes {
    /// World rank.
    pub rank: u32,
    released_by: u32,
    /// Its enter; of a nonblocking call, that of the initiation.
    pub enter_ns: i64,
    /// Its leave; of a nonblocking call, that of the call that completed it.
    pub leave_ns: i64,
    wait_ns: i64,
}

impl CallTimes {
    /// How long it waited, from its enter on, or from the enter of the call that completed it; `None` where that is
    /// not known.
    #[must_use]
    pub fn wait_ns(&self) -> Option<i64> {
        (self.wait_ns != UNKNOWN).then_some(self.wait_ns)
    }

    /// Index of the call whose enter ended the wait; `None`: it waited for no other call that is kept.
    #[must_use]
    pub fn released_by(&self) -> Option<usize> {
        (self.released_by != NOBODY).then_some(self.released_by as usize)
    }
}

/// What a nonblocking call has besides its enter and leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CompletionTimes {
    /// When the initiating call returned.
    pub initiated_ns: i64,
    /// Enter of the call that completed it.
    pub completion_ns: i64,
}

/// One message of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MessageTimes {
    /// When the MPI library began to send it.
    pub sent_ns: i64,
    /// When the MPI library saw that it had arrived; `None` where that is not known.
    pub received_ns: Option<i64>,
    /// When the MPI library posted the receive.
    pub posted_ns: i64,
    /// Index of the sender's call.
    pub from: u32,
    /// Index of the receiver's call.
    pub to: u32,
    /// Bytes sent.
    pub bytes: u64,
}

impl InstanceTimes {
    /// Up to so many ranks an instance can be shown with all of them.
    pub const MAX_SHOWN_WHOLE: usize = 256;

    /// An instance of an operation, as far as it is about ranks that are selected. `on_path`: the slots on its critical
    /// path.
    pub(crate) fn of(
        instance: &CompleteInstance<'_>,
        (figures, on_path): (&Figures, &[u32]),
        key: OperationKey,
        costliness: Costliness,
        is_selected: impl Fn(u32) -> bool,
    ) -> Self {
        let members = &instance.communicator.members;
        let mut slots: Vec<usize> = Vec::with_capacity(instance.n_calls());
        slots.extend(
            (0..instance.n_calls()).filter(|&slot| {
                figures.last == Some(slot) || is_selected(members[slot].world_rank)
            }),
        );
        // Ascending, since the slots are.
        let has_all = slots.len() == instance.n_calls();
        let index_of = |slot: usize| {
            if has_all {
                Some(slot)
            } else {
                slots.binary_search(&slot).ok()
            }
        };
        let calls = slots.iter().map(|&slot| {
            let (enter_ns, leave_ns) = instance.stamps(slot);
            let (from_ns, n_together) = instance.waits_from(slot);
            let room_ns = (leave_ns - from_ns).max(0);
            let wait_ns = figures
                .wait_of(slot)
                .map(|wait| wait.saturating_mul(n_together).clamp(0, room_ns));
            let released_by = (figures.has_waits())
                .then(|| figures.releaser(slot))
                .flatten();
            CallTimes {
                rank: members[slot].world_rank,
                released_by: released_by
                    .and_then(index_of)
                    .map_or(NOBODY, |index| index as u32),
                enter_ns,
                leave_ns,
                wait_ns: wait_ns.unwrap_or(UNKNOWN),
            }
        });
        let completions = instance.overlaps.map(|overlaps| {
            let of_slots = slots.iter().map(|&slot| CompletionTimes {
                initiated_ns: overlaps[slot].initiated.ns(),
                completion_ns: instance.waits_from(slot).0,
            });
            of_slots.collect()
        });
        let on_path = on_path.iter().filter_map(|&slot| index_of(slot as usize));
        let on_path: Vec<u32> = on_path.map(|index| index as u32).collect();
        let paired = instance.messages.map(|messages| messages.paired);
        let mut messages = Vec::with_capacity(paired.map_or(0, <[_]>::len));
        messages.extend(paired.into_iter().flatten().filter_map(|message| {
            let from = index_of(message.from as usize)? as u32;
            let to = index_of(message.to as usize)? as u32;
            Some(MessageTimes::of(message, from, to))
        }));
        Self {
            costliness,
            key,
            duration_ns: figures.duration,
            first_enter_ns: instance.extent.first_enter,
            sequence: instance.position,
            phase: instance.phase,
            last: figures.last.and_then(index_of),
            excess_ns: figures.excess,
            has_one_time: instance.communicator.times.len() == 1,
            calls: calls.collect(),
            completions: completions.unwrap_or_default(),
            sites: if instance.sites.is_empty() {
                Vec::new()
            } else {
                slots.iter().map(|&slot| instance.sites[slot]).collect()
            },
            n_messages: paired.is_some().then_some(messages.len() as u64),
            messages: longest(messages, &on_path),
            on_path,
        }
    }

    /// This instance, with its messages in the order in which they were sent.
    pub(crate) fn in_order(&self) -> Self {
        let mut own = self.clone();
        own.messages.sort_unstable();
        own
    }

    /// The place in the program from which one of its calls was made, by id; `None` where that is not known.
    #[must_use]
    pub fn site_of(&self, call: usize) -> Option<usize> {
        let site = self.sites.get(call).filter(|site| **site != NO_SITE);
        site.map(|site| *site as usize)
    }

    /// Its first enter and its last leave, ns.
    #[must_use]
    pub fn span_ns(&self) -> (i64, i64) {
        let enters = self.calls.iter().map(|call| call.enter_ns);
        let leaves = self.calls.iter().map(|call| call.leave_ns);
        (enters.min().unwrap_or(0), leaves.max().unwrap_or(0))
    }

    /// How much room it takes where it is shown: its calls and messages.
    #[must_use]
    pub fn n_marks(&self) -> usize {
        self.calls.len() + self.messages.len()
    }
}

impl MessageTimes {
    fn of(message: &InstanceMessage, from: u32, to: u32) -> Self {
        Self {
            sent_ns: message.sent.ns(),
            received_ns: message.received.map(Timestamp::ns),
            posted_ns: message.posted.ns(),
            from,
            to,
            bytes: message.bytes,
        }
    }

    /// From when it was sent and its receive was posted until it was seen to have arrived, ns, as transfer times are
    /// everywhere: that a receiver is late is not the message's. `None` where that is not known.
    #[must_use]
    pub fn transfer_ns(&self) -> Option<i64> {
        let ready_ns = self.sent_ns.max(self.posted_ns);
        Some(self.received_ns?.saturating_sub(ready_ns))
    }
}

/// The messages that took longest, at most [`MAX_MESSAGES`], but first those between calls on the critical path.
fn longest(mut messages: Vec<MessageTimes>, on_path: &[u32]) -> Vec<MessageTimes> {
    if messages.len() > MAX_MESSAGES {
        let on_path: BTreeSet<u32> = on_path.iter().copied().collect();
        let is_on_path = |message: &MessageTimes| {
            on_path.contains(&message.from) && on_path.contains(&message.to)
        };
        messages.sort_unstable_by_key(|message| {
            let transfer_ns = message.transfer_ns();
            (!is_on_path(message), Reverse(transfer_ns), *message)
        });
        messages.truncate(MAX_MESSAGES);
        messages.shrink_to_fit();
    }
    messages
}

/// Writes messages by the time at which they were sent.
fn write_in_order<S: Serializer>(messages: &[MessageTimes], out: S) -> Result<S::Ok, S::Error> {
    let mut messages = messages.to_vec();
    messages.sort_unstable();
    messages.serialize(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_many_messages_those_on_the_critical_path_are_kept_however_short() {
        let sent = (0..3_000).map(|at| MessageTimes {
            sent_ns: at,
            received_ns: Some(2 * at),
            posted_ns: 0,
            from: at as u32,
            to: at as u32 + 1,
            bytes: 8,
        });
        let kept = longest(sent.collect(), &[7, 9, 8, 3]);
        let shortest = kept.iter().filter(|message| message.from < 1_000);
        let mut shortest: Vec<u32> = shortest.map(|message| message.from).collect();
        shortest.sort_unstable();
        assert_eq!((kept.len(), shortest), (MAX_MESSAGES, vec![7, 8]));
    }

    proptest! {
        #[test]
        fn of_many_messages_no_shorter_one_than_those_left_out_is_kept(
            transfers in prop::collection::vec(prop::option::weighted(0.9, 0i64..50), 0..3_000),
        ) {
            let sent = (0i64..).zip(&transfers).map(|(at, transfer)| MessageTimes {
                sent_ns: at * 7 % 4_001,
                received_ns: transfer.map(|ns| at * 7 % 4_001 + ns),
                posted_ns: 0,
                from: 0,
                to: 1,
                bytes: at as u64,
            });
            let sent: Vec<MessageTimes> = sent.collect();
            let kept = longest(sent.clone(), &[]);
            prop_assert_eq!(kept.len(), sent.len().min(MAX_MESSAGES));
            let left_out = sent.iter().filter(|message| !kept.contains(message));
            let most = left_out.map(MessageTimes::transfer_ns).max().flatten();
            prop_assert!(kept.iter().all(|message| message.transfer_ns() >= most || kept.len() == sent.len()));
        }
    }
}

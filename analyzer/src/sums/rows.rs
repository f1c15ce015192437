//! Single instances with their calls, as a worker collects them until they are passed on.

use std::sync::atomic::{AtomicU64, Ordering};

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::CompletingCall;

use crate::calls::call::Call;
use crate::calls::outstanding::OverlapTimes;
use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;
use crate::selection::Resolved;
use crate::sums::instances::operation_key::OperationKey;
use crate::time::resolution::Resolution;
use crate::trace::call_sites::NO_SITE;

/// Stands for a time that is not known.
const UNKNOWN_NS: i64 = i64::MIN;
/// Stands for a number that is not known, or that there is not.
const NOBODY: u32 = u32::MAX;

/// One call of one process in an instance. Times are ns since the start of the run, on the time of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRow {
    /// When the call was entered; of a nonblocking operation the call that initiated it.
    pub enter_ns: i64,
    leave_ns: i64,
    wait_ns: i64,
    time_ns: i64,
    bytes: u64,
    /// Slot in the communicator of the instance.
    pub(crate) slot: u32,
    /// World rank.
    pub rank: u32,
    /// The thread that made it among those of its process, from 0.
    pub thread: u32,
    site: u32,
    waited_for: u32,
    pub(crate) cause: u32,
}

fn known<T: PartialEq>(value: T, unknown: T) -> Option<T> {
    (value != unknown).then_some(value)
}

impl CallRow {
    /// When it returned; of a nonblocking operation the call that completed it. `None` where that did not happen,
    /// or is not known.
    #[must_use]
    pub fn leave_ns(&self) -> Option<i64> {
        known(self.leave_ns, UNKNOWN_NS)
    }

    /// The wait for other processes, ns; `None` where it is not known.
    #[must_use]
    pub fn wait_ns(&self) -> Option<i64> {
        known(self.wait_ns, UNKNOWN_NS)
    }

    /// Time in it, as sums have it, ns: of a nonblocking operation its shares of the initiating and of the completing call.
    /// `None` for blocking calls that did not return, and for those that returned an error.
    #[must_use]
    pub fn time_ns(&self) -> Option<i64> {
        known(self.time_ns, UNKNOWN_NS)
    }

    /// Its payload, bytes; `None` where that is not known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        known(self.bytes, u64::MAX)
    }

    /// Number of the place in the program from which it was made; `None` where that is not known.
    #[must_use]
    pub fn site(&self) -> Option<u32> {
        known(self.site, NO_SITE)
    }

    /// World rank of the process whose arrival ended the wait; `None` where it did not wait.
    #[must_use]
    pub fn waited_for(&self) -> Option<u32> {
        known(self.waited_for, NOBODY)
    }

    /// Number of the cause of the wait, in [`Rows::causes`](crate::rows::Rows::causes); `None` where it did not wait.
    #[must_use]
    pub fn cause(&self) -> Option<u32> {
        known(self.cause, NOBODY)
    }
}

/// What a nonblocking operation has between the enter of its initiation and the leave of its completion, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverlapRow {
    /// When the initiating call returned.
    pub initiated_ns: i64,
    /// When the completing call was entered; `None`: there was none.
    pub completing_ns: Option<i64>,
    /// That call, and its thread among those of its process, from 0; `None`: there was none.
    pub completing: Option<(CompletingCall, u32)>,
    /// Tests that found it incomplete.
    pub n_tests: u64,
}

impl OverlapRow {
    /// The call that waited for it, when that was entered, ns, and its thread; `None` where there was none: who gives a request
    /// back does not wait.
    #[must_use]
    pub fn waited_for_by(&self) -> Option<(i64, CompletingCall, u32)> {
        let (by, thread) = self.completing?;
        let is_waiting = by != CompletingCall::RequestFree;
        is_waiting.then_some((self.completing_ns?, by, thread))
    }
}

/// One message between two processes of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRow {
    /// World rank of the sender.
    pub sender: u32,
    /// World rank of the receiver.
    pub receiver: u32,
    /// Payload, bytes.
    pub bytes: u64,
    /// When the library began to send, ns.
    pub sent_ns: i64,
    /// When its call to send returned, ns.
    pub send_returned_ns: i64,
    /// When the library posted the receive, ns.
    pub posted_ns: i64,
    /// When it saw that the message had arrived, ns; `None` where it checked without a call that is recorded.
    pub received_ns: Option<i64>,
    /// Whether it was received later than it was sent by more than the error of the clocks; `None` where that cannot be
    /// said.
    pub is_resolved: Option<bool>,
}

/// One pass of values through an event collector of a spanning tree of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassRow {
    /// World rank of the process.
    pub rank: u32,
    /// The tree, as in [`Communicators::own_tree`](crate::steps::Communicators::own_tree).
    pub tree: u32,
    /// The event collector, as numbered in records.
    pub collector: u32,
    /// Which segment of the payload, from 0.
    pub segment: u32,
    /// When they passed towards the bottommost wrapper, ns; `None`: not recorded.
    pub down_ns: Option<i64>,
    /// When they passed on their way back, ns; `None`: not recorded.
    pub up_ns: Option<i64>,
}

/// What is known of an instance as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstanceState {
    /// All processes entered and left it.
    Complete,
    /// All processes entered and left it, some with an error code: its calls are in no figure.
    Failed,
    /// Some process did not enter or leave it, or calls at one position are not one collective.
    Incomplete,
    /// A ring has overwritten some of its calls.
    Cut,
    /// One call whose communicator is not known.
    Unmatched,
}

/// The order in which instances are passed on: by time, then by where they are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    /// When it began, ns, or is looked at at the earliest.
    pub(crate) begin_ns: i64,
    /// Index in the list of communicators; the greatest number: not known.
    pub(crate) communicator: u32,
    /// Which order of calls: of the application, creation, or a persistent operation.
    pub(crate) order: u32,
    pub(crate) position: u64,
    /// What tells those apart that have all this in common.
    pub(crate) part: [u32; 2],
}

/// One instance, with what all its calls have in common.
#[derive(Debug, Clone, Copy)]
pub struct InstanceRow {
    pub(crate) key: RowKey,
    pub(crate) operation_key: OperationKey,
    /// Number of its operation, in [`Rows::operations`](crate::rows::Rows::operations).
    pub operation: u32,
    /// What is known of it as a whole.
    pub state: InstanceState,
    /// Level of the phase in which all calls were made; `None`: not one.
    pub phase: Option<i32>,
    /// The first enter, ns.
    pub first_enter_ns: i64,
    /// The last enter, ns.
    pub last_enter_ns: i64,
    /// The last leave, ns; `None` where some call did not return.
    pub last_leave_ns: Option<i64>,
    /// Last leave minus first enter, ns, on one clock; `None` unless complete.
    pub duration_ns: Option<i64>,
    /// First leave minus last enter, ns; `None` where that is not known.
    pub core_ns: Option<i64>,
    /// World rank that arrived last; `None` where that is not resolved.
    pub last: Option<u32>,
    /// Spanning tree of our own that it ran on.
    pub tree: Option<u32>,
    /// Whether messages inside of it were recorded.
    pub has_messages: bool,
    /// Whether it is of a nonblocking or persistent operation.
    pub is_overlapped: bool,
    /// Where its calls, messages and passes end among those of all instances.
    pub(crate) ends: [u32; 3],
}

impl InstanceRow {
    /// Index of its communicator in [`Communicators::list`](crate::steps::Communicators::list); `None` where it is not
    /// known.
    #[must_use]
    pub fn communicator(&self) -> Option<usize> {
        known(self.key.communicator, NOBODY).map(|index| index as usize)
    }

    /// Index of the communicator of the results that it was called on; `None` where it is not known.
    #[must_use]
    pub fn entry(&self) -> Option<usize> {
        self.operation_key.entry
    }

    /// World rank of the root; `None` for operations without.
    #[must_use]
    pub fn root(&self) -> Option<u32> {
        self.operation_key.root
    }

    /// Its position among the calls of its communicator, or the starts of its persistent operation, from 0; `None` where its
    /// communicator is not known.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        self.communicator().map(|_| self.key.position)
    }

    /// When nothing can change any more of what is known of it, ns.
    pub(crate) fn settled_ns(&self) -> i64 {
        let last_ns = self.last_leave_ns.unwrap_or(self.last_enter_ns);
        last_ns.max(self.last_enter_ns).max(self.key.begin_ns)
    }
}

/// Instances with their calls, messages and passes, in columns.
#[derive(Debug, Default)]
pub struct RowBuffer {
    /// By which workers' buffers are told from each other.
    pub(crate) serial: u64,
    pub(crate) instances: Vec<InstanceRow>,
    pub(crate) calls: Vec<CallRow>,
    /// By call; empty where all are blocking.
    pub(crate) overlaps: Vec<Option<OverlapRow>>,
    pub(crate) messages: Vec<MessageRow>,
    pub(crate) passes: Vec<PassRow>,
}

/// Instances of one buffer, at most: so many numbers belong to each.
const MOST_INSTANCES: u64 = 1 << 24;

impl RowBuffer {
    /// The buffer and the instance in it that an id stands for.
    pub(crate) fn place_of(id: u64) -> (u64, usize) {
        (id / MOST_INSTANCES, (id % MOST_INSTANCES) as usize)
    }

    /// Removes everything; the memory is kept.
    pub(crate) fn clear(&mut self) {
        self.instances.clear();
        self.calls.clear();
        self.overlaps.clear();
        self.messages.clear();
        self.passes.clear();
    }

    /// Ends an instance, whose calls, messages and passes were just added.
    pub(crate) fn end(&mut self, mut row: InstanceRow) {
        if row.is_overlapped {
            self.overlaps.resize(self.calls.len(), None);
        }
        let lengths = [self.calls.len(), self.messages.len(), self.passes.len()];
        row.ends = lengths.map(|n| n as u32);
        self.instances.push(row);
    }
}

/// Collects the rows of a worker.
#[derive(Debug)]
pub(crate) struct RowCollector<'c> {
    serials: &'c AtomicU64,
    buffer: RowBuffer,
}

impl<'c> RowCollector<'c> {
    /// Without any rows yet; workers have `serials` in common, which begin with 1.
    pub(crate) fn new(serials: &'c AtomicU64) -> Self {
        let mut this = Self {
            serials,
            buffer: RowBuffer::default(),
        };
        this.begin();
        this
    }

    fn begin(&mut self) {
        self.buffer.serial = self.serials.fetch_add(1, Ordering::Relaxed);
    }

    /// What was collected.
    pub(crate) fn take(&mut self) -> RowBuffer {
        let taken = std::mem::take(&mut self.buffer);
        self.buffer.instances.reserve(taken.instances.len());
        self.buffer.calls.reserve(taken.calls.len());
        self.begin();
        taken
    }

    /// The id of the next instance; 0 where there is none any more.
    pub(crate) fn next_id(&self) -> u64 {
        let at = self.buffer.instances.len() as u64;
        if at < MOST_INSTANCES {
            self.buffer.serial * MOST_INSTANCES + at
        } else {
            0
        }
    }

    /// Collects a complete instance. Without figures some of its calls failed.
    pub(crate) fn add_complete(
        &mut self,
        instance: &CompleteInstance<'_>,
        operation_key: OperationKey,
        figures: Option<&Figures>,
        (selection, resolution): (&Resolved, &Resolution),
    ) {
        let members = &instance.communicator.members;
        let rank_of = |slot: usize| members[slot].world_rank;
        let is_wanted = |slot: usize| selection.has_rank(rank_of(slot));
        let buffer = &mut self.buffer;
        for slot in (0..members.len()).filter(|&slot| is_wanted(slot)) {
            let (enter_ns, leave_ns) = instance.stamps(slot);
            let wait_ns = figures.and_then(|figures| figures.wait(slot));
            let releaser = figures
                .filter(|figures| figures.has_waits())
                .and_then(|figures| figures.releaser(slot));
            let releaser = releaser.filter(|_| wait_ns.is_some_and(|ns| ns > 0));
            let time_ns = match instance.overlaps {
                _ if figures.is_none() => UNKNOWN_NS,
                None => leave_ns - enter_ns,
                Some(overlaps) => overlaps[slot].call_ns(),
            };
            buffer.calls.push(CallRow {
                enter_ns,
                leave_ns,
                wait_ns: wait_ns.unwrap_or(UNKNOWN_NS),
                time_ns,
                bytes: instance.payloads.of(slot).unwrap_or(u64::MAX),
                slot: slot as u32,
                rank: rank_of(slot),
                thread: instance.threads.get(slot).copied().unwrap_or(0),
                site: instance.sites.get(slot).copied().unwrap_or(NO_SITE),
                waited_for: releaser.map_or(NOBODY, rank_of),
                cause: NOBODY,
            });
            if let Some(overlaps) = instance.overlaps {
                note_overlap(buffer, &overlaps[slot]);
            }
        }
        for message in instance.messages.iter().flat_map(|of| of.paired) {
            let slots = [message.from as usize, message.to as usize];
            if !slots.iter().any(|&slot| is_wanted(slot)) {
                continue;
            }
            let [from, to] = slots.map(|slot| members[slot].host);
            let received_ns = message.received.map(Timestamp::<Global>::ns);
            let took_ns = received_ns.map(|ns| ns - message.sent.ns());
            let apart_ns = resolution
                .between(from, to)
                .filter(|_| !message.is_from_any);
            buffer.messages.push(MessageRow {
                sender: rank_of(slots[0]),
                receiver: rank_of(slots[1]),
                bytes: message.bytes,
                sent_ns: message.sent.ns(),
                send_returned_ns: message.send_returned.ns(),
                posted_ns: message.posted.ns(),
                received_ns,
                is_resolved: took_ns.zip(apart_ns).map(|(took, apart)| took > apart),
            });
        }
        for pass in instance
            .passes
            .iter()
            .filter(|pass| is_wanted(pass.slot as usize))
        {
            buffer.passes.push(PassRow {
                rank: rank_of(pass.slot as usize),
                tree: pass.tree,
                collector: pass.collector,
                segment: pass.segment,
                down_ns: pass.down,
                up_ns: pass.up,
            });
        }
        let extent = &instance.extent;
        let begin_ns = extent.first_enter;
        buffer.end(InstanceRow {
            key: RowKey {
                begin_ns: instance
                    .not_before_ns
                    .map_or(begin_ns, |ns| ns.max(begin_ns)),
                communicator: instance.communicator_index as u32,
                order: instance.call_order.number(),
                position: instance.position,
                part: [0; 2],
            },
            operation_key,
            operation: NOBODY,
            state: match figures {
                Some(_) => InstanceState::Complete,
                None => InstanceState::Failed,
            },
            phase: instance.phase,
            first_enter_ns: extent.first_enter,
            last_enter_ns: extent.last_enter,
            last_leave_ns: Some(extent.last_leave),
            duration_ns: figures.map(|figures| figures.duration),
            core_ns: figures.and_then(|figures| figures.core),
            last: figures.and_then(|figures| figures.last).map(rank_of),
            tree: instance.own_tree(),
            has_messages: instance.messages.is_some(),
            is_overlapped: instance.overlaps.is_some(),
            ends: [0; 3],
        });
    }

    /// Collects calls of one operation that are not a complete instance, with slot and world rank of each.
    pub(crate) fn add_calls<'m>(
        &mut self,
        calls: impl Iterator<Item = (usize, u32, &'m Call)>,
        (key, operation_key): (RowKey, OperationKey),
        (state, phase): (InstanceState, Option<i32>),
        selection: &Resolved,
    ) {
        let buffer = &mut self.buffer;
        let mut enters_ns: Option<[i64; 2]> = None;
        let mut last_leave_ns = Some(i64::MIN);
        let mut is_overlapped = false;
        for (slot, rank, call) in calls {
            let enter_ns = call.enter.ns();
            let leave_ns = call.leave.map(Timestamp::ns);
            let time_ns = match state {
                InstanceState::Failed | InstanceState::Cut => UNKNOWN_NS,
                _ if call.has_failed || (call.leave.is_none() && call.overlap.is_none()) => {
                    UNKNOWN_NS
                }
                _ => call.time_ns(),
            };
            let [first, last] = enters_ns.unwrap_or([enter_ns; 2]);
            enters_ns = Some([first.min(enter_ns), last.max(enter_ns)]);
            last_leave_ns = last_leave_ns.zip(leave_ns).map(|(last, ns)| last.max(ns));
            is_overlapped |= call.overlap.is_some();
            if !selection.has_rank(rank) {
                continue;
            }
            buffer.calls.push(CallRow {
                enter_ns,
                leave_ns: leave_ns.unwrap_or(UNKNOWN_NS),
                wait_ns: UNKNOWN_NS,
                time_ns,
                bytes: call.payload.unwrap_or(u64::MAX),
                slot: slot as u32,
                rank,
                thread: call.thread,
                site: call.site.unwrap_or(NO_SITE),
                waited_for: NOBODY,
                cause: NOBODY,
            });
            if let Some(overlap) = &call.overlap {
                note_overlap(buffer, overlap);
            }
        }
        let Some([first_enter_ns, last_enter_ns]) = enters_ns else {
            return;
        };
        buffer.end(InstanceRow {
            key,
            operation_key,
            operation: NOBODY,
            state,
            phase,
            first_enter_ns,
            last_enter_ns,
            last_leave_ns,
            duration_ns: None,
            core_ns: None,
            last: None,
            tree: None,
            has_messages: false,
            is_overlapped,
            ends: [0; 3],
        });
    }
}

/// Notes what the last call has as one of a nonblocking operation.
fn note_overlap(buffer: &mut RowBuffer, overlap: &OverlapTimes) {
    buffer.overlaps.resize(buffer.calls.len(), None);
    if let Some(last) = buffer.overlaps.last_mut() {
        *last = Some(OverlapRow {
            initiated_ns: overlap.initiated.ns(),
            completing_ns: overlap.completing.map(|call| call.enter.ns()),
            completing: overlap.completing.map(|call| (call.by, call.thread)),
            n_tests: overlap.n_tests,
        });
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::Operation;

    use super::*;
    use crate::sums::instances::operation_key::ByteClass;

    fn call(slot: u32) -> CallRow {
        CallRow {
            enter_ns: 10,
            leave_ns: UNKNOWN_NS,
            wait_ns: UNKNOWN_NS,
            time_ns: UNKNOWN_NS,
            bytes: 8,
            slot,
            rank: slot,
            thread: 0,
            site: NO_SITE,
            waited_for: NOBODY,
            cause: NOBODY,
        }
    }

    #[test]
    fn what_overlaps_is_kept_though_the_last_call_of_all_has_nothing() {
        let mut buffer = RowBuffer::default();
        let overlap = OverlapRow {
            initiated_ns: 11,
            completing_ns: Some(12),
            completing: None,
            n_tests: 0,
        };
        buffer.calls.push(call(0));
        buffer.overlaps.push(Some(overlap));
        buffer.calls.push(call(1));
        buffer.end(InstanceRow {
            key: RowKey {
                begin_ns: 10,
                communicator: 0,
                order: 0,
                position: 0,
                part: [0; 2],
            },
            operation_key: OperationKey {
                entry: Some(0),
                operation: Operation::Iallreduce,
                root: None,
                class: ByteClass::Unknown,
                algorithm: None,
                reported: None,
                tree: None,
            },
            operation: 0,
            state: InstanceState::Incomplete,
            phase: None,
            first_enter_ns: 10,
            last_enter_ns: 10,
            last_leave_ns: None,
            duration_ns: None,
            core_ns: None,
            last: None,
            tree: None,
            has_messages: false,
            is_overlapped: true,
            ends: [0; 3],
        });
        let found = buffer.from([0; 3], &buffer.instances[0]);
        assert_eq!(found.overlaps, [Some(overlap), None]);
    }
}

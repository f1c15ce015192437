//! The calls of one member of a communicator, and the messages recorded with them.

use crate::calls::call::Call;
use crate::calls::outstanding::Initiated;
use crate::calls::process::Process;
use crate::calls::queue::Queue;
use crate::messages::gather::{Gatherer, QueuedCall, SlotOfInstance};
use crate::trace::record_at::{CallPosition, RecordAt};

/// A member's calls on a call order.
#[derive(Clone, Copy)]
pub(crate) struct MemberCalls<'p, 'a> {
    pub(crate) process: &'p Process<'a>,
    /// Local communicator, or index of the process's persistent collective.
    pub(crate) local_comm: usize,
    /// `None`: there is no call.
    pub(crate) queue: Option<&'p Queue>,
}

impl MemberCalls<'_, '_> {
    /// Whether the call at a position, if it is not there, was overwritten by a newer one.
    pub(super) fn has_lost(&self, at: CallPosition) -> bool {
        self.process.has_lost(self.local_comm, at)
    }

    /// When its process had begun another call before that at a position, ns, if that says it is older.
    fn not_before_ns(&self, position: u64) -> Option<i64> {
        let queue = self.queue?;
        let begun = queue.outstanding.get(position);
        let late = queue.late(position).or_else(|| begun?.late);
        late.map(|ticks| self.process.at(ticks).ns())
    }
}

/// When processes had begun other calls before they made some of those at a position, ns, if these say that they are older.
pub(super) fn not_before_ns(sources: &[Option<MemberCalls<'_, '_>>], position: u64) -> Option<i64> {
    let sources = sources.iter().flatten();
    sources
        .filter_map(|source| source.not_before_ns(position))
        .max()
}

/// The slots without a call whose calls were overwritten by newer ones.
pub(super) fn lost_slots(
    calls: &[Option<Call>],
    sources: &[Option<MemberCalls<'_, '_>>],
    at: CallPosition,
) -> Vec<usize> {
    let missing = calls.iter().zip(sources).enumerate();
    let missing = missing.filter(|(_, (call, _))| call.is_none());
    let lost = missing.filter(|(_, (_, source))| source.is_some_and(|source| source.has_lost(at)));
    lost.map(|(slot, _)| slot).collect()
}

/// Where the messages of instances are found.
pub(super) enum MessageSource<'i> {
    /// After the calls at these locations, by instance and slot.
    AfterCalls(&'i [Option<RecordAt>]),
    /// Retained with the initiations.
    Retained,
}

/// Positions that follow one another.
#[derive(Clone, Copy)]
pub(super) struct Positions {
    pub(super) from: u64,
    pub(super) n: usize,
}

/// Gathers the messages and the names of algorithms of the instances at some positions, process by
/// process, since the records of each are contiguous.
pub(super) fn gather(
    gatherer: &mut Gatherer,
    positions: Positions,
    sources: &[Option<MemberCalls<'_, '_>>],
    message_source: &MessageSource<'_>,
) {
    for (slot, source) in sources.iter().enumerate() {
        let Some((process, queue)) = source.and_then(|s| Some((s.process, s.queue?))) else {
            continue;
        };
        if !process.has_messages && !process.has_algorithms && !process.has_trees {
            continue;
        }
        for (nth, position) in (0..positions.n).zip(positions.from..) {
            match message_source {
                MessageSource::AfterCalls(locations) => {
                    if let Some(location) = locations[nth * sources.len() + slot] {
                        let call = QueuedCall {
                            queue,
                            position,
                            location,
                        };
                        gatherer.add_call(SlotOfInstance { nth, slot, process }, call);
                    }
                }
                MessageSource::Retained => {
                    let reported = queue
                        .outstanding
                        .get(position)
                        .and_then(Initiated::reported);
                    let kept = queue.outstanding.messages(position);
                    gatherer.add_kept(SlotOfInstance { nth, slot, process }, kept, reported);
                }
            }
        }
    }
}

/// Whether messages of other calls may be among those that follow the calls at a position, which are at
/// these locations, by slot.
pub(super) fn is_mixed(
    sources: &[Option<MemberCalls<'_, '_>>],
    position: u64,
    locations: &[Option<RecordAt>],
) -> bool {
    sources.iter().zip(locations).any(|(source, location)| {
        let found = source
            .and_then(|s| Some((s.process, s.queue?)))
            .zip(*location);
        found
            .is_some_and(|((process, queue), location)| process.is_mixed(queue, position, location))
    })
}

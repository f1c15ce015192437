//! By its messages, whom each process of an instance depended on, where not all depend on all.
//!
//! A process depends on the sender of a message that it received, and on all that this one depended on when it sent.
//! It also depends on the receiver of a message that it could not finish sending before the receive was posted (a
//! rendezvous), and on all that the receiver depended on by then. So the leaves of a reduction wait for a root
//! that comes late, and in a tree those below a late process wait for it.
//!
//! Only instances in which a sender was held up are looked at. Where messages are so small that they leave at once, all ranks of
//! a tree wait a little for some other, and to compare all of them in each instance costs 700 instructions a message
//! (`scripts/ir-guard-analyze.sh`, 64 ranks); there the operation takes longer, and who works longer is found by the sums.
//!
//! A blocking send lasted until its receiver had posted, or it did not: its return is recorded. Of a nonblocking send the
//! completion is not: from [`MIN_WAITING_BYTES`] on it is assumed to be a rendezvous where its process left the collective only
//! after the receiver had posted. Where eager messages are larger, processes leave before.

use crate::instances::complete::CompleteInstance;
use crate::messages::message::InstanceMessage;

/// Sends of fewer bytes are assumed not to wait for their receiver, unless the call shows it.
pub(crate) const MIN_WAITING_BYTES: u64 = 1024;

/// A send that began no longer than this before its receiver posted is not counted as waiting.
pub(crate) const MAX_SEND_NS: i64 = 1_000;

/// The enter that a process had to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release {
    /// Latest enter among those that it depended on and its own, ns.
    pub(crate) enter: i64,
    /// Whose that is.
    pub(crate) slot: usize,
    /// Whether the process could not finish a message to that one, or to one that it held up in turn.
    pub(crate) is_receiver: bool,
}

/// Finds the releases of an instance; the buffers are reused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeldUp {
    /// Time, ns since the first enter, what happened, and number of the message: packed, since they are sorted.
    events: Vec<u64>,
    /// By message: the release of its sender when it was sent; `None` before.
    when_sent: Vec<Option<Release>>,
    /// By slot.
    releases: Vec<Release>,
}

/// What happened, in the order in which events of one instant count: what a process received it may pass on at once.
const RECEIVED: u64 = 0;
/// The receive of a message that could not be sent before.
const POSTED: u64 = 1;
const SENT: u64 = 2;
/// Bits of what happened, and of the number of a message.
const EVENT_SHIFT: u32 = 20;
const TIME_SHIFT: u32 = EVENT_SHIFT + 2;
const NUMBER_MASK: u64 = (1 << EVENT_SHIFT) - 1;

impl HeldUp {
    /// The releases of the processes of an instance that have one time, by slot; `None` where no sender was held up, and where
    /// messages do not tell: it is nonblocking, none was recorded, not all ends are known, or it is not known which receive took
    /// which send.
    pub(crate) fn releases(&mut self, instance: &CompleteInstance<'_>) -> Option<&[Release]> {
        let messages = instance.messages.as_ref()?;
        let paired = messages.paired;
        let is_known = instance.overlaps.is_none()
            && !paired.is_empty()
            && paired.len() as u64 <= NUMBER_MASK
            && !messages.has_unknown_ends()
            && paired.iter().any(|message| holds_sender(instance, message))
            // A pattern has none that is from any.
            && (messages.pattern.is_some() || paired.iter().all(|message| !message.is_from_any));
        if !is_known {
            return None;
        }
        let enters = instance.enters.iter().enumerate();
        self.releases.clear();
        self.releases.extend(enters.map(|(slot, enter)| Release {
            enter: enter.ns(),
            slot,
            is_receiver: false,
        }));
        let first_enter = instance.extent.first_enter;
        let event = |at: i64, event: u64, number: u64| {
            let since = at.saturating_sub(first_enter).max(0).cast_unsigned();
            since.min(u64::MAX >> TIME_SHIFT) << TIME_SHIFT | event << EVENT_SHIFT | number
        };
        self.events.clear();
        for (number, message) in (0..).zip(paired) {
            let (sent, posted) = (message.sent.ns(), message.posted.ns());
            self.events.push(event(sent, SENT, number));
            if holds_sender(instance, message) {
                self.events.push(event(posted, POSTED, number));
            }
            // Where its end was not seen, what the process did next may have depended on it.
            let received = message.received.map_or(posted, |received| received.ns());
            self.events
                .push(event(received.max(sent), RECEIVED, number));
        }
        self.events.sort_unstable();
        self.when_sent.clear();
        self.when_sent.resize(paired.len(), None);
        for &event in &self.events {
            let number = (event & NUMBER_MASK) as usize;
            let message = &paired[number];
            let (from, to) = (message.from as usize, message.to as usize);
            match event >> EVENT_SHIFT & 3 {
                SENT => self.when_sent[number] = Some(self.releases[from]),
                POSTED => {
                    let release = Release {
                        is_receiver: true,
                        ..self.releases[to]
                    };
                    depend(&mut self.releases[from], release);
                }
                _ => {
                    let release = Release {
                        is_receiver: false,
                        ..self.when_sent[number].unwrap_or(self.releases[from])
                    };
                    depend(&mut self.releases[to], release);
                }
            }
        }
        Some(&self.releases)
    }
}

/// A process depends on what ended in another release, too.
fn depend(own: &mut Release, other: Release) {
    if other.enter > own.enter {
        *own = other;
    }
}

/// Whether the sender of a message could not go on before the receive was posted.
fn holds_sender(instance: &CompleteInstance<'_>, message: &InstanceMessage) -> bool {
    let (sent, posted) = (message.sent, message.posted);
    if posted.ns() - sent.ns() <= MAX_SEND_NS {
        return false;
    }
    if message.is_send_nonblocking {
        message.bytes >= MIN_WAITING_BYTES && instance.leaves[message.from as usize] >= posted
    } else {
        message.send_returned >= posted
    }
}

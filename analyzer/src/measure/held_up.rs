//! By its messages, whom each process of an instance depended on, where not all depend on all.
//!
//! A process depends on the sender of a message that it received, and on all that this one depended on when it sent.
//! It also depends on the receiver of a message that it could not finish sending before the receive was posted (a
//! rendezvous), and on all that the receiver depended on by then. So the leaves of a reduction wait for a root
//! that comes late, and in a tree those below a late process wait for it.
//!
//! Only instances are looked at in which a sender was held up, or a process was inside for long, not waiting for those that the
//! operation names. Else all ranks of a tree wait a little for some other, and to compare all of them in each instance costs 700
//! instructions a message (`scripts/ir-guard-analyze.sh`, 64 ranks).
//!
//! A blocking send lasted until its receiver had posted, or it did not: its return is recorded. Of a nonblocking send the
//! completion is not: it is assumed to have waited where its process left the collective only after the receiver had posted. Where
//! it need not wait, its process leaves before. That is so for small messages, too: within a host, a process may have to wait
//! until its receiver has taken a message out of the shared memory.
//!
//! **Nonblocking collectives.** A process that is in no call of MPI passes nothing on, and receives nothing. So what it sends in
//! its completing call depends on when it entered that, and so do those who receive it, or who cannot finish sending before. What
//! a progress thread or a test of the program passes on earlier is sent before that call.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::CommunicatorKind;

use crate::calls::outstanding::CompletingTime;
use crate::instances::complete::CompleteInstance;
use crate::messages::message::InstanceMessage;

/// When a process entered or left.
type Stamp = Timestamp<Global>;

/// A process that is inside for longer than this, ns, but for waits that are known, may wait for others.
const LONG_NS: i64 = 500_000;

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
    /// Whether that one entered its completing call then, and had initiated the operation before.
    pub(crate) is_completing: bool,
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
    /// The releases of the processes of an instance that have one time, by slot; `waits`: how long each waited for those that the
    /// operation names, ns, below 0 where that is not known. `None` where no sender was held up and nobody was inside for long, and where
    /// messages do not tell: none was recorded, not all ends are known, it is not known which receive took which send, or calls
    /// completed several operations together.
    pub(crate) fn releases(
        &mut self,
        instance: &CompleteInstance<'_>,
        waits: &[i64],
    ) -> Option<&[Release]> {
        let messages = instance.messages.as_ref()?;
        let paired = messages.paired;
        let may_be_held_up = match instance.overlaps {
            // Between two groups, each of them collects or passes on what is for the other.
            None if instance.communicator.kind == CommunicatorKind::Inter => true,
            None => {
                // Who waits for data that others pass on takes long.
                let stamps = || instance.enters.iter().zip(instance.leaves).zip(waits);
                let others_ns = |((enter, leave), wait): ((&Stamp, &Stamp), &i64)| {
                    leave.ns() - enter.ns() - (*wait).max(0)
                };
                let extent = instance.extent;
                let is_long = extent.last_leave - extent.first_enter > LONG_NS
                    && stamps().map(others_ns).any(|ns| ns > LONG_NS);
                is_long
                    || paired.iter().any(|message| {
                        message.posted.ns() - message.sent.ns() > MAX_SEND_NS
                            && holds_sender(instance, message)
                    })
            }
            Some(overlaps) => (overlaps.iter()).all(|of| {
                let completing = of.completing;
                completing.is_some_and(|completing| completing.n_together == 1)
            }),
        };
        let is_known = may_be_held_up
            && !paired.is_empty()
            && paired.len() as u64 <= NUMBER_MASK
            && !messages.has_unknown_ends()
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
            is_completing: false,
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
                let ready = ready_ns(instance, message);
                self.events.push(event(ready, POSTED, number));
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
                SENT => {
                    self.when_sent[number] =
                        Some(when_sending(&mut self.releases, instance, message))
                }
                POSTED => {
                    let ready = ready_ns(instance, message);
                    enter_completion(&mut self.releases, instance, to, ready);
                    let release = Release {
                        is_receiver: true,
                        ..self.releases[to]
                    };
                    depend(&mut self.releases[from], release);
                }
                _ => {
                    // One that is received at once comes before.
                    let sent = self.when_sent[number];
                    let release = Release {
                        is_receiver: false,
                        ..sent
                            .unwrap_or_else(|| when_sending(&mut self.releases, instance, message))
                    };
                    depend(&mut self.releases[to], release);
                }
            }
        }
        Some(&self.releases)
    }
}

/// A process that does something at a time in its completing call depends on when it entered that.
fn enter_completion(
    releases: &mut [Release],
    instance: &CompleteInstance<'_>,
    slot: usize,
    at: i64,
) {
    let enter = completing(instance, slot).map(|completing| completing.enter.ns());
    if let Some(enter) = enter.filter(|&enter| enter <= at) {
        let release = Release {
            enter,
            slot,
            is_receiver: false,
            is_completing: true,
        };
        depend(&mut releases[slot], release);
    }
}

/// What the sender of a message depended on when it sent.
fn when_sending(
    releases: &mut [Release],
    instance: &CompleteInstance<'_>,
    message: &InstanceMessage,
) -> Release {
    let from = message.from as usize;
    enter_completion(releases, instance, from, message.sent.ns());
    releases[from]
}

/// The call that completed a nonblocking one.
fn completing(instance: &CompleteInstance<'_>, slot: usize) -> Option<CompletingTime> {
    instance.overlaps?[slot].completing
}

/// When the sender of a message could go on that had to wait for its receiver, ns: when the receive was posted; if it left after
/// the receiver had entered its completing call, not before, since a receive may be posted without looking for messages.
fn ready_ns(instance: &CompleteInstance<'_>, message: &InstanceMessage) -> i64 {
    let leave = instance.leaves[message.from as usize];
    let enter = completing(instance, message.to as usize).map(|completing| completing.enter);
    let enter = enter.filter(|&enter| enter <= leave);
    enter
        .map_or(message.posted, |enter| enter.max(message.posted))
        .ns()
}

/// A process depends on what ended in another release, too.
fn depend(own: &mut Release, other: Release) {
    if other.enter > own.enter {
        *own = other;
    }
}

/// Whether the sender of a message could not go on before the receive was posted, and the receiver in MPI.
fn holds_sender(instance: &CompleteInstance<'_>, message: &InstanceMessage) -> bool {
    let ready = match instance.overlaps {
        None => message.posted,
        Some(_) => Timestamp::from_ns(ready_ns(instance, message)),
    };
    if ready.ns() - message.sent.ns() <= MAX_SEND_NS {
        return false;
    }
    if message.is_send_nonblocking {
        instance.leaves[message.from as usize] >= ready
    } else {
        message.send_returned >= ready
    }
}

//! The critical path of an instance: from the last leave back to the enter that all waited for.
//!
//! Between two begins of its own sends and receives, a process waits for all messages that it
//! receives there: the one sent last ended the wait. If the process was already waiting when that
//! send began, the path continues at the sender; otherwise the process itself was late, and the
//! path stays there. A process whose send lasts until its receiver has posted waited for the
//! receiver. Time in which a send blocks its process is time on its message, and so is the time until a
//! nonblocking send is complete, as far as its process began nothing else meanwhile.
//!
//! Unknown events may have ended a wait: among several receives from any process it is unknown
//! which got which send; the end of some receives is not seen; the clocks of two hosts may not
//! resolve an order. Then it is assumed that a process waits for messages sent to it meanwhile, and
//! the path has a [`Doubt`]. It counts only if it begins at the last to arrive among the processes
//! that the last to leave depends on.
//!
//! # Source
//! The critical path of Böhme et al. (ICPP 2012), within one collective: wait states are left by
//! following the message that ended them.

use std::cmp::Reverse;

use collbench_formats::{CommunicatorKind, Semantics};
use collbench_trees::shape::Shape;
use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::measure::held_up::MAX_SEND_NS;
use crate::measure::outside::has_core;
use crate::messages::message::InstanceMessage;
use crate::time::resolution::Resolution;

/// Sends of fewer bytes are assumed not to wait for their receiver.
const MIN_WAITING_BYTES: u64 = 1024;

/// Why the critical path of an instance is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Its processes are on hosts without a common time.
    NoCommonTime,
    /// The clocks of two hosts do not resolve an order.
    UnresolvedClocks,
    /// Receives from any process: it matters which of them got which send.
    FromAny,
    /// The end of a receive is not seen, or that of a send that may have waited for its receiver.
    NotSeen,
    /// Not all messages are known: one end was not recorded, or is outside of the instance.
    Incomplete,
    /// The last to leave depends on a process that arrived later, and no message from there was
    /// seen.
    Hidden,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

impl Doubt {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::NoCommonTime,
        Self::UnresolvedClocks,
        Self::FromAny,
        Self::NotSeen,
        Self::Incomplete,
        Self::Hidden,
    ];
}

/// Where a path was when the last process arrived, if it does not begin there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// The clocks do not resolve which of the two arrived last.
    Unresolved,
    /// On a message.
    OnMessage,
    /// In a process.
    InProcess,
}

/// The critical path of one instance, with buffers that are reused.
#[derive(Debug, Default)]
pub(crate) struct CriticalPath {
    /// Slot at whose enter it begins.
    pub(crate) begin: usize,
    /// Edges on the path, ascending, and the time spent there, ns; once for each message.
    pub(crate) hops: Vec<(u32, i64)>,
    /// Slots on the path, ascending, and the time spent there, ns; once for each visit.
    pub(crate) stays: Vec<(u32, i64)>,
    /// Why it is doubtful, if it is.
    doubt: Option<Doubt>,
    /// Whether it was on a message at the last enter.
    is_on_message: bool,
    /// By slot: its events that the path may still reach.
    slots: Vec<Done>,
    /// Slots whose events are filled in.
    visited: Vec<usize>,
    /// The receives that ended one wait.
    awaited: Vec<Awaited>,
}

/// An instant in a process: time, ns, and number of the end, which orders equal times.
type Instant = (i64, u32);

/// The events of a process, each list ascending.
#[derive(Debug, Default)]
struct Done {
    is_there: bool,
    /// When its sends and receives began; number of the message, whether it is the send of it.
    begun: Vec<(Instant, u32, bool)>,
    /// When its receives ended.
    received: Vec<(Instant, u32, ReceiveEnd)>,
    /// When its nonblocking sends were complete: their messages had been received.
    completed: Vec<(i64, u32)>,
    /// When receivers posted late for its sends of which the completion is not known: it may have waited for them.
    posted_late: Vec<i64>,
}

/// How the end of a receive is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReceiveEnd {
    /// It was seen.
    Seen,
    /// Not seen; it ended before the process left.
    ByTheLeave,
    /// Not seen; it may have ended before the process began something else.
    Perhaps,
}

/// One of the receives that ended a wait.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    sent: i64,
    number: u32,
    ends: ReceiveEnd,
}

/// An instance whose processes have a common time.
#[derive(Clone, Copy)]
pub(crate) struct PathInput<'a> {
    pub(crate) instance: &'a CompleteInstance<'a>,
    pub(crate) paired: &'a [InstanceMessage],
    pub(crate) shape: &'a Shape,
    pub(crate) resolution: &'a Resolution,
}

impl PathInput<'_> {
    fn message(&self, number: u32) -> &InstanceMessage {
        &self.paired[number as usize]
    }

    /// How far apart stamps of two slots must be to be ordered, ns; 0 on one host.
    fn apart_ns(&self, a: usize, b: usize) -> i64 {
        let members = &self.instance.communicator.members;
        match (members[a].host, members[b].host) {
            (a, b) if a == b => 0,
            (a, b) => self.resolution.between(a, b).unwrap_or(i64::MAX),
        }
    }

    /// The last slot to arrive among those that a slot depends on, including itself; `None` where
    /// that is unknown.
    fn last_to_arrive(&self, slot: usize) -> Option<usize> {
        let instance = self.instance;
        let enters = || instance.enters.iter().enumerate();
        let last = || enters().max_by_key(|&(slot, enter)| (*enter, Reverse(slot)));
        if has_core(instance) {
            return last().map(|(slot, _)| slot);
        }
        let is_intra = instance.communicator.kind == CommunicatorKind::Intra;
        let root = instance.root.filter(|_| is_intra)?;
        match instance.semantics() {
            Semantics::ManyToOne if slot == root => last().map(|(slot, _)| slot),
            Semantics::OneToMany if instance.enters[slot] < instance.enters[root] => Some(root),
            Semantics::OneToMany => Some(slot),
            _ => None,
        }
    }
}

impl CriticalPath {
    /// Finds the path of an instance.
    ///
    /// # Errors
    /// Why the path is unknown.
    pub(crate) fn follow(&mut self, seen: &PathInput<'_>) -> Result<(), Doubt> {
        let instance = seen.instance;
        for slot in self.visited.drain(..) {
            self.slots[slot].is_there = false;
        }
        let n = instance.n_calls();
        self.slots
            .resize_with(self.slots.len().max(n), Done::default);
        self.hops.clear();
        self.stays.clear();
        self.doubt = None;
        self.is_on_message = false;
        let leaves = instance.leaves.iter().map(|leave| leave.ns());
        // Of several the first.
        let last = leaves
            .enumerate()
            .max_by_key(|&(slot, leave)| (leave, n - slot));
        let (last, leave) = last.ok_or(Doubt::Incomplete)?;
        self.go_back(seen, last, leave);
        let arrived_last = seen.last_to_arrive(last);
        let is_elsewhere = arrived_last.is_some_and(|other| !self.begins_with(seen, other));
        if self.hops.is_empty() && is_elsewhere {
            return Err(Doubt::Hidden);
        }
        match self.doubt {
            Some(doubt) if is_elsewhere || arrived_last.is_none() => Err(doubt),
            _ => Ok(()),
        }
    }

    /// The slots on the path, each once, those first in which it stays longest.
    pub(crate) fn slots(&self) -> Vec<u32> {
        let of_slots = self.stays.chunk_by(|a, b| a.0 == b.0);
        let mut slots: Vec<(i64, u32)> = of_slots
            .map(|stays| (stays.iter().map(|(_, ns)| ns).sum(), stays[0].0))
            .collect();
        slots.sort_unstable_by_key(|&(ns, slot)| (Reverse(ns), slot));
        slots.into_iter().map(|(_, slot)| slot).collect()
    }

    /// Whether the path begins at a slot, or at one that did not arrive earlier, as far as the
    /// clocks resolve it.
    fn begins_with(&self, seen: &PathInput<'_>, slot: usize) -> bool {
        let enters = seen.instance.enters;
        let behind = enters[slot].ns() - enters[self.begin].ns();
        self.begin == slot || behind <= seen.apart_ns(slot, self.begin)
    }

    /// Where the path was when the last process arrived, if all wait for all and it begins
    /// elsewhere. The outer `None`: not all wait for all.
    pub(crate) fn elsewhere(&self, seen: &PathInput<'_>) -> Option<Option<Elsewhere>> {
        if !has_core(seen.instance) {
            return None;
        }
        let last = seen.last_to_arrive(self.begin)?;
        let enters = &seen.instance.enters;
        Some(if self.begins_with(seen, last) {
            (enters[last] != enters[self.begin]).then_some(Elsewhere::Unresolved)
        } else if self.is_on_message {
            Some(Elsewhere::OnMessage)
        } else {
            Some(Elsewhere::InProcess)
        })
    }

    fn go_back(&mut self, seen: &PathInput<'_>, mut slot: usize, leave: i64) {
        let mut until: Instant = (leave, u32::MAX);
        loop {
            self.prepare(seen, slot);
            let done = &mut self.slots[slot];
            // Later events do not matter, also when the path returns to this process: it only goes
            // back in time.
            while done.begun.pop_if(|&mut (at, ..)| at >= until).is_some() {}
            let begun = done.begun.last().copied();
            let ended = self.find_awaited(seen, slot, begun.map(|(at, ..)| at), until);
            // From when on the process could only wait.
            let since = match begun {
                Some((at, number, true)) => {
                    let returned = seen.message(number).send_returned.ns();
                    returned.clamp(at.0, ended.unwrap_or(until.0).max(at.0))
                }
                Some((at, _, false)) => at.0,
                None => seen.instance.stamps(slot).0,
            };
            let last = (self.awaited.iter()).max_by_key(|awaited| (awaited.sent, awaited.number));
            let last = last.copied();
            self.look_for_doubt(seen, slot, since, (ended.unwrap_or(until.0), until.1), last);
            let mut upto = until.0;
            let completed = self.find_completed(slot, begun.map(|(at, ..)| at), until.0);
            if let Some((completed, number)) = completed.filter(|&of| Some(of.0) > ended) {
                self.stay(seen, slot, completed, upto);
                let edge = seen.shape.edge_of[number as usize];
                let message = seen.message(number);
                let posted = message.posted.ns();
                if posted - since > MAX_SEND_NS && Some(posted) > ended {
                    self.hop(seen, edge, posted, completed);
                    slot = message.to as usize;
                    until = (posted, message.nth_of_receiver);
                    continue;
                }
                upto = ended.unwrap_or(since);
                self.hop(seen, edge, upto, completed);
            }
            if let (Some(last), Some(ended)) = (last, ended) {
                self.stay(seen, slot, ended, upto);
                let edge = seen.shape.edge_of[last.number as usize];
                let message = seen.message(last.number);
                if last.sent >= since {
                    self.hop(seen, edge, last.sent, ended);
                    slot = message.from as usize;
                    until = (last.sent, message.nth_of_sender);
                    continue;
                }
                self.hop(seen, edge, since, ended);
                upto = since;
            }
            let Some((at, number, is_send)) = begun else {
                self.begin = slot;
                self.stay(seen, slot, seen.instance.stamps(slot).0, upto);
                break;
            };
            self.slots[slot].begun.pop();
            let message = seen.message(number);
            let posted = message.posted.ns();
            let waited = is_send && posted - at.0 > MAX_SEND_NS && posted < since;
            if waited && seen.instance.overlaps.is_none() {
                self.stay(seen, slot, since, upto);
                self.hop(seen, seen.shape.edge_of[number as usize], posted, since);
                if message.is_from_any {
                    self.doubt.get_or_insert(Doubt::FromAny);
                }
                slot = message.to as usize;
                until = (posted, message.nth_of_receiver);
            } else {
                self.stay(seen, slot, since, upto);
                if since - at.0 > MAX_SEND_NS {
                    // Of two messages that were under way at once, the larger one took the time.
                    let larger = last.map(|last| last.number);
                    let larger = larger.filter(|&last| seen.message(last).bytes > message.bytes);
                    let edge = seen.shape.edge_of[larger.unwrap_or(number) as usize];
                    self.hop(seen, edge, at.0, since);
                } else {
                    self.stay(seen, slot, at.0, since);
                }
                until = at;
            }
        }
        self.hops.sort_unstable();
        self.stays.sort_unstable();
    }

    fn stay(&mut self, seen: &PathInput<'_>, slot: usize, from: i64, until: i64) {
        if (from..until).contains(&seen.instance.extent.last_enter) {
            self.is_on_message = false;
        }
        self.stays.push((slot as u32, until.saturating_sub(from)));
    }

    fn hop(&mut self, seen: &PathInput<'_>, edge: u32, from: i64, until: i64) {
        if (from..until).contains(&seen.instance.extent.last_enter) {
            self.is_on_message = true;
        }
        self.hops.push((edge, until.saturating_sub(from)));
    }

    /// Finds the receives of a slot that ended before an instant, but not before its last begin;
    /// returns the last of these ends.
    fn find_awaited(
        &mut self,
        seen: &PathInput<'_>,
        slot: usize,
        since: Option<Instant>,
        until: Instant,
    ) -> Option<i64> {
        self.awaited.clear();
        let received = &mut self.slots[slot].received;
        let mut ended = None;
        let is_since = |at: Instant| since.is_none_or(|since| since <= at);
        while let Some((at, number, ends)) = received.pop_if(|&mut (at, ..)| is_since(at)) {
            if at >= until {
                continue;
            }
            ended = ended.max(Some(at.0));
            self.awaited.push(Awaited {
                sent: seen.message(number).sent.ns(),
                number,
                ends,
            });
        }
        ended
    }

    /// Finds the nonblocking send of a slot that was complete last before an instant, ns, but not before its last begin: when
    /// that was, ns, and the number of its message.
    fn find_completed(
        &mut self,
        slot: usize,
        since: Option<Instant>,
        until: i64,
    ) -> Option<(i64, u32)> {
        let completed = &mut self.slots[slot].completed;
        let mut found = None;
        let is_since = |at: i64| since.is_none_or(|since| since.0 <= at);
        while let Some(of) = completed.pop_if(|&mut (at, _)| is_since(at)) {
            found = found.or(Some(of).filter(|&(at, _)| at < until));
        }
        found
    }

    /// Notes doubts about a wait that may have begun at `since` and was over by `until`; `last` is
    /// the last message that it waited for.
    fn look_for_doubt(
        &mut self,
        seen: &PathInput<'_>,
        slot: usize,
        since: i64,
        until: Instant,
        last: Option<Awaited>,
    ) {
        let after = last.map_or(since, |last| last.sent.max(since));
        let posted_late = &mut self.slots[slot].posted_late;
        while posted_late
            .pop_if(|&mut posted| posted >= until.0)
            .is_some()
        {}
        let mut doubt = None;
        if posted_late.last().is_some_and(|&posted| posted > after) {
            doubt = Some(Doubt::NotSeen);
        }
        if last.is_some_and(|last| last.sent >= since && last.ends == ReceiveEnd::Perhaps) {
            doubt = Some(Doubt::NotSeen);
        }
        let from_any = |awaited: &Awaited| seen.message(awaited.number).is_from_any;
        if let Some(one) = self.awaited.iter().find(|awaited| from_any(awaited))
            && is_ambiguous(seen, slot, one.number, since, until)
        {
            doubt = Some(Doubt::FromAny);
        }
        if let Some(last) = last
            && seen.instance.communicator.hosts.len() > 1
        {
            let from = seen.message(last.number).from as usize;
            let is_near = |apart_ns: i64, ns: i64| apart_ns > 0 && ns.abs() <= apart_ns;
            let is_next = |other: &Awaited| {
                let other_from = seen.message(other.number).from as usize;
                is_near(seen.apart_ns(from, other_from), last.sent - other.sent)
            };
            let is_wait_unclear = is_near(seen.apart_ns(from, slot), last.sent - since);
            if is_wait_unclear || last.sent >= since && self.awaited.iter().any(is_next) {
                doubt = Some(Doubt::UnresolvedClocks);
            }
        }
        self.doubt = self.doubt.or(doubt);
    }

    /// Fills in the events of a slot, unless that was done.
    fn prepare(&mut self, seen: &PathInput<'_>, slot: usize) {
        let done = &mut self.slots[slot];
        if done.is_there {
            return;
        }
        done.is_there = true;
        self.visited.push(slot);
        done.begun.clear();
        done.received.clear();
        done.completed.clear();
        done.posted_late.clear();
        let leave = seen.instance.leaves[slot].ns();
        let is_nonblocking = seen.instance.overlaps.is_some();
        for number in seen.shape.sends[slot].clone() {
            let message = seen.message(number);
            let at = (message.sent.ns(), message.nth_of_sender);
            done.begun.push((at, number, true));
            let posted = message.posted.ns();
            let is_rendezvous = message.bytes >= MIN_WAITING_BYTES && !is_nonblocking;
            let received = message.received.filter(|_| !message.is_from_any);
            match received.map(|at| at.ns()).filter(|&at| at <= leave) {
                _ if !is_rendezvous => {}
                Some(completed) if message.is_send_nonblocking => {
                    done.completed.push((completed, number));
                }
                _ if posted > message.send_returned.ns() => done.posted_late.push(posted),
                _ => {}
            }
        }
        let mut has_unseen = false;
        for &number in &seen.shape.receives[slot] {
            let message = seen.message(number);
            let nth = message.nth_of_receiver;
            done.begun.push(((message.posted.ns(), nth), number, false));
            match message.received {
                Some(at) => done
                    .received
                    .push(((at.ns(), nth), number, ReceiveEnd::Seen)),
                None => has_unseen = true,
            }
        }
        done.begun.sort_unstable();
        done.completed.sort_unstable();
        done.posted_late.sort_unstable();
        if has_unseen {
            for &number in &seen.shape.receives[slot] {
                let message = seen.message(number);
                if message.received.is_some() {
                    continue;
                }
                let nth = message.nth_of_receiver;
                let could = (message.posted.ns().max(message.sent.ns()), nth);
                let next = done.begun.partition_point(|&(at, ..)| at <= could);
                let (at, ends) = match done.begun.get(next) {
                    Some(&(at, ..)) => (at.0, ReceiveEnd::Perhaps),
                    None => (leave, ReceiveEnd::ByTheLeave),
                };
                done.received.push(((at, nth), number, ends));
            }
        }
        done.received.sort_unstable();
    }
}

/// Whether it is ambiguous which sends the receives from any process (one of which is `one`) had
/// got by an instant, and one of these sends began while the process may have waited.
fn is_ambiguous(seen: &PathInput<'_>, slot: usize, one: u32, since: i64, until: Instant) -> bool {
    let tag = (seen.message(one).tag, seen.message(one).is_on_another);
    let all = || {
        let received = seen.shape.receives[slot].iter();
        let received = received.map(|&number| seen.message(number));
        received.filter(|message| (message.tag, message.is_on_another) == tag)
    };
    let is_over = |message: &&InstanceMessage| {
        let nth = message.nth_of_receiver;
        (message.received).is_none_or(|at| (at.ns(), nth) <= until)
    };
    let n_over = all().filter(is_over).count();
    let sent = |message: &InstanceMessage| message.sent.ns();
    let n_sent = all().filter(|message| sent(message) < until.0).count();
    let may_matter = |message: &InstanceMessage| (since..until.0).contains(&sent(message));
    let is_mixed = all().any(|message| !message.is_from_any);
    (n_over != n_sent || is_mixed) && all().any(may_matter)
}

//! Finds the collective that a message belongs to, while nonblocking collectives are outstanding.
//!
//! A nonblocking collective goes on in any later call, recorded or not, so its messages may are
//! after any record. They have a tag of their own: MPI libraries use a new one for each such
//! collective on a communicator. The tag is learnt from the messages inside the initiating call.
//! Where there are none, the first later message with an unknown tag belongs to the oldest
//! collective on its communicator that has no tag yet and has data to send. Inside a blocking call
//! on that communicator, this holds only for tags that blocking collectives do not use ([`Tags`]).
//! All other messages inside a call belong to that call.
//!
//! A persistent collective gets its tag when it is set up, and keeps it at each start. Where one
//! call starts several, their tags follow from the order in which they were set up on their
//! communicator, once the tag of one is known.
//!
//! While a library creates a communicator, it runs internal collectives one after the other, each
//! with its own tag, in whichever thread and call makes progress, even on another communicator. A
//! note after the first messages of each says which call it is for
//! ([`Creation`](collbench_formats::Creation)). Without such notes (older traces), a message that
//! fits no other collective belongs to a nonblocking constructor outstanding on that communicator,
//! if there is exactly one.
//!
//! Where a ring has overwritten earlier initiations, an unknown tag may belong to a collective
//! begun before the window. Until the last of those is complete, such a message belongs to no known
//! collective.
//!
//! Memory grows with the outstanding collectives, not with messages.

use std::collections::BTreeMap;

use collbench_formats::{Message, Record, Semantics};

use crate::calls::records_of_call::is_within;
use crate::calls::tags::Tags;
use crate::trace::record_at::{CallOrder, RecordAt};

/// A collective of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnCollective {
    /// Local communicator, or index of the process's persistent collective.
    pub(crate) local: usize,
    pub(crate) call_order: CallOrder,
    pub(crate) position: u64,
}

impl OwnCollective {
    fn is_persistent(self) -> bool {
        matches!(self.call_order, CallOrder::Persistent(_))
    }
}

/// The role of a call for the messages inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOf {
    /// A blocking collective.
    Blocking(OwnCollective),
    /// It initiates a nonblocking or persistent one.
    Initiation(OwnCollective),
    /// Its messages belong to no collective.
    Nothing,
}

/// A call, while the records after it are read.
#[derive(Debug, Clone, Copy)]
struct EnclosingCall {
    enter: u64,
    leave: u64,
    communicator: u32,
    of: CallOf,
    /// Of the collectives it initiates, the number of the first: one call may start several.
    begins_at: u64,
    /// Whether the library does it, though it is blocking, with a tag such as nonblocking ones have.
    is_tagged: bool,
    /// Whether it is a blocking constructor of a communicator.
    makes: bool,
}

/// What is known of one thread.
#[derive(Debug, Default)]
struct ThreadState {
    /// Its last call of the application, and the last one of the MPI library itself.
    calls: [Option<EnclosingCall>; 2],
    /// Messages up to this location were already assigned.
    looked_at: Option<RecordAt>,
}

/// The collective that a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The call that it is in, or none.
    TheCall,
    /// One initiated earlier, or progressing within other calls.
    Outstanding(OwnCollective),
}

/// Finds the owners of the messages of one process.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    tags: Tags,
    threads: BTreeMap<u32, ThreadState>,
    /// The outstanding collectives.
    open: BTreeMap<OwnCollective, OutstandingCollective>,
    by_tag: BTreeMap<(u32, u16), OwnCollective>,
    /// Those that make communicators.
    made: BTreeMap<OwnCollective, TagsOfMaker>,
    /// Whether any note named the constructor that messages are for.
    has_told: bool,
    /// Those of them that are nonblocking and under way, by communicator, then as they were begun.
    making: BTreeMap<(u32, u64), OwnCollective>,
    /// By communicator, then as they were begun, those without a tag; behind the others those of
    /// which the process has nothing to send.
    untagged: BTreeMap<(u32, bool, u64), OwnCollective>,
    n_initiated: u64,
    /// Those of them that are persistent, by communicator, then as they were set up.
    untagged_persistent: BTreeMap<(u32, u64), OwnCollective>,
    /// By persistent collective of the process, how many were set up before it on its communicator.
    set_up: Vec<u64>,
    /// By communicator, then as they were set up, the tags of persistent collectives.
    persistent_tags: BTreeMap<(u32, u64), u16>,
    /// When the last collective that is not known was complete, ticks.
    unknown_until: u64,
}

/// What is known of one that makes a communicator, with collectives of the library's own.
#[derive(Debug, Default)]
struct TagsOfMaker {
    /// What of `by_tag` is theirs.
    channels: Vec<(u32, u16)>,
    /// What of `untagged` is theirs.
    untagged: Vec<(u32, bool, u64)>,
}

/// A collective under way.
#[derive(Debug, Clone, Copy)]
struct OutstandingCollective {
    /// Its communicator, as the records call it.
    communicator: u32,
    /// Whether it has nothing to send. Such a one mostly has no messages at all.
    is_empty: bool,
    /// How many were begun before it.
    nth: u64,
    /// Of a persistent one, how many were set up before it on its communicator.
    set_up: Option<u64>,
    /// Its tag, once that is known.
    tag: Option<u16>,
    /// Whether it creates a communicator, with several tags.
    makes: bool,
}

impl OutstandingCollective {
    fn untagged_key(&self) -> (u32, bool, u64) {
        (self.communicator, self.is_empty, self.nth)
    }
}

impl Owners {
    /// Of a process with such a library, which has set up persistent collectives on these
    /// communicators.
    pub(crate) fn new(tags: Tags, persistents: impl Iterator<Item = u32>) -> Self {
        let mut n_set_up: BTreeMap<u32, u64> = BTreeMap::new();
        let set_up = persistents.map(|communicator| {
            let n = n_set_up.entry(communicator).or_default();
            *n += 1;
            *n - 1
        });
        Self {
            tags,
            set_up: set_up.collect(),
            ..Self::default()
        }
    }

    /// Whether no collective is under way, so that every message is the call's that it is in.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Before anything else: when the last of those is complete that had begun before, ticks.
    pub(crate) fn begin_at(&mut self, unknown_until: u64) {
        self.unknown_until = unknown_until;
    }

    /// Whether a call of the application was made within its last one: by a function that the MPI library
    /// has called back.
    pub(crate) fn is_called_back(&self, thread: u32, record: &Record) -> bool {
        let around = self.threads.get(&thread).and_then(|state| state.calls[0]);
        !record.is_internal()
            && around.is_some_and(|around| is_within(record, around.enter, around.leave))
    }

    /// A thread has made a call.
    pub(crate) fn call(&mut self, thread: u32, record: &Record, communicator: u32, of: CallOf) {
        let nth = self.n_initiated;
        let is_below = record.is_internal() || self.is_called_back(thread, record);
        let state = self.threads.entry(thread).or_default();
        let last = &mut state.calls[usize::from(is_below)];
        let is_started_with = |last: &EnclosingCall| {
            let is_persistent = |of| matches!(of, CallOf::Initiation(one) if one.is_persistent());
            (last.enter, last.leave) == (record.enter.get(), record.leave.get())
                && is_persistent(last.of)
                && is_persistent(of)
        };
        let together = last.as_ref().filter(|last| is_started_with(last));
        let semantics = record.operation().map(|operation| operation.semantics());
        *last = Some(EnclosingCall {
            enter: record.enter.get(),
            leave: record.leave.get(),
            communicator,
            of,
            begins_at: together.map_or(nth, |first| first.begins_at),
            is_tagged: semantics.is_some_and(|semantics| self.tags.are_alike(semantics)),
            makes: semantics == Some(Semantics::Constructor),
        });
        if let CallOf::Initiation(collective) = of {
            self.begin(collective, communicator, record);
        }
    }

    fn begin(&mut self, collective: OwnCollective, communicator: u32, record: &Record) {
        let nth = self.n_initiated;
        self.n_initiated += 1;
        let set_up = if collective.is_persistent() {
            self.set_up.get(collective.local).copied()
        } else {
            None
        };
        let known = set_up.and_then(|nth| self.persistent_tags.get(&(communicator, nth)));
        let open = OutstandingCollective {
            communicator,
            is_empty: !collective.is_persistent() && record.payload_bytes() == Some(0),
            nth,
            set_up,
            tag: known.copied(),
            makes: (record.operation())
                .is_some_and(|one| one.semantics() == Semantics::NonblockingConstructor),
        };
        if let Some(before) = self.open.insert(collective, open) {
            self.is_tagged_now(&before);
        }
        if open.makes {
            self.making.insert((communicator, nth), collective);
            return;
        }
        match (open.tag, set_up) {
            (Some(tag), _) => drop(self.by_tag.insert((communicator, tag), collective)),
            (None, set_up) => {
                self.untagged.insert(open.untagged_key(), collective);
                if let Some(nth) = set_up {
                    let location = (communicator, nth);
                    self.untagged_persistent.insert(location, collective);
                }
            }
        }
    }

    /// It is none of those without a tag any more.
    fn is_tagged_now(&mut self, open: &OutstandingCollective) {
        self.untagged.remove(&open.untagged_key());
        if let Some(nth) = open.set_up {
            self.untagged_persistent.remove(&(open.communicator, nth));
        }
    }

    /// A collective is complete: its tag is free again.
    pub(crate) fn complete(&mut self, collective: OwnCollective) {
        let Some(open) = self.open.remove(&collective) else {
            return;
        };
        if open.makes {
            self.making.remove(&(open.communicator, open.nth));
            self.forget_made(collective);
            return;
        }
        let Some(tag) = open.tag else {
            self.is_tagged_now(&open);
            return;
        };
        let channel = (open.communicator, tag);
        if self.by_tag.get(&channel) == Some(&collective) {
            self.by_tag.remove(&channel);
        }
    }

    /// Whether a note after a message may name the call that it is for.
    pub(crate) fn asks_for_maker(&self, message: &Message) -> bool {
        let channel = (message.communicator, message.tag);
        let is_known = || !self.tags.is_shared(message.tag) && self.by_tag.contains_key(&channel);
        self.tags.tell_makers() && self.tags.is_of_nonblocking(message.tag) && !is_known()
    }

    /// A note named the call that messages on this communicator with this tag are for.
    pub(crate) fn is_made_by(&mut self, message: &Message, maker: OwnCollective) {
        self.has_told = true;
        let channel = (message.communicator, message.tag);
        if self.by_tag.insert(channel, maker) == Some(maker) {
            return;
        }
        self.made_by(maker).channels.push(channel);
    }

    /// A note: the library has started a collective for a call, and will use the next tag on a
    /// communicator.
    pub(crate) fn begins_for(&mut self, maker: OwnCollective, communicator: u32) {
        self.has_told = true;
        let location = (communicator, false, self.n_initiated);
        self.n_initiated += 1;
        self.untagged.insert(location, maker);
        self.made_by(maker).untagged.push(location);
    }

    fn made_by(&mut self, maker: OwnCollective) -> &mut TagsOfMaker {
        // Of blocking ones on a communicator one is behind the other.
        let first = OwnCollective {
            position: 0,
            ..maker
        };
        let before = self.made.range(first..maker).map(|(&one, _)| one);
        let done = before.filter(|one| !self.open.contains_key(one));
        for one in done.collect::<Vec<_>>() {
            self.forget_made(one);
        }
        self.made.entry(maker).or_default()
    }

    fn forget_made(&mut self, maker: OwnCollective) {
        let made = self.made.remove(&maker).unwrap_or_default();
        for channel in made.channels {
            if self.by_tag.get(&channel) == Some(&maker) {
                self.by_tag.remove(&channel);
            }
        }
        for location in made.untagged {
            self.untagged.remove(&location);
        }
    }

    /// The only nonblocking constructor outstanding on this communicator, in a trace without notes
    /// on them.
    fn only_maker(&self, communicator: u32) -> Option<OwnCollective> {
        let all = (communicator, 0)..=(communicator, u64::MAX);
        let mut all = self.making.range(all).map(|(_, &one)| one);
        let only = all.next().filter(|_| all.next().is_none());
        only.filter(|_| !self.has_told)
    }

    /// Whether a collective is outstanding.
    pub(crate) fn is_open(&self, collective: OwnCollective) -> bool {
        self.open.contains_key(&collective)
    }

    /// Whether the library may tell of calls for which it sends within others.
    pub(crate) fn tell_makers(&self) -> bool {
        self.tags.tell_makers()
    }

    /// All calls have returned.
    pub(crate) fn forget_calls(&mut self) {
        for state in self.threads.values_mut() {
            state.calls = [None; 2];
        }
    }

    /// The messages of a thread up to a location were assigned ahead.
    pub(crate) fn has_looked_at(&mut self, thread: u32, until: RecordAt) {
        self.threads.entry(thread).or_default().looked_at = Some(until);
    }

    /// Whether the record at a location was assigned ahead.
    pub(crate) fn is_looked_at(&self, thread: u32, location: RecordAt) -> bool {
        let state = self.threads.get(&thread);
        state.is_some_and(|state| state.looked_at.is_some_and(|until| location <= until))
    }

    /// Owner of the message of a record, in the order of records. A message assigned ahead has no
    /// owner now.
    pub(crate) fn owner(
        &mut self,
        thread: u32,
        location: RecordAt,
        record: &Record,
        message: &Message,
    ) -> Owner {
        let state = self.threads.entry(thread).or_default();
        if state.looked_at.is_some_and(|until| location <= until) {
            return Owner::TheCall;
        }
        let begin = record.enter.get();
        let [own, internal] = state.calls;
        let is_in = |call: &EnclosingCall| begin <= call.leave || call.leave == 0;
        let around = internal.filter(is_in).or(own.filter(is_in));
        self.owner_in(around.as_ref(), begin, message)
    }

    /// Of the last call of a thread, and the last one of the library itself, those that are blocking and
    /// in which an instant lies, ticks.
    pub(crate) fn calls_around(&self, thread: u32, at: u64) -> [Option<OwnCollective>; 2] {
        let calls = self.threads.get(&thread).map(|state| state.calls);
        calls.unwrap_or_default().map(|call| match call? {
            call if !(call.enter..=call.leave).contains(&at) => None,
            EnclosingCall {
                of: CallOf::Blocking(blocking),
                ..
            } => Some(blocking),
            _ => None,
        })
    }

    /// Whose a message is that is in a call which completes collectives.
    pub(crate) fn owner_in_completion(&mut self, record: &Record, message: &Message) -> Owner {
        self.owner_in(None, record.enter.get(), message)
    }

    fn owner_in(&mut self, around: Option<&EnclosingCall>, begin: u64, message: &Message) -> Owner {
        let tag = self.tags.of_collective(message.tag);
        let channel = (message.communicator, tag);
        let blocking = around.and_then(|around| match around.of {
            CallOf::Blocking(blocking) => Some(blocking),
            _ => None,
        });
        if let Some(&collective) = self.by_tag.get(&channel) {
            return if blocking == Some(collective) {
                Owner::TheCall
            } else {
                Owner::Outstanding(collective)
            };
        }
        let is_here = around.is_some_and(|around| around.communicator == message.communicator);
        let is_tagged = around.is_some_and(|around| around.is_tagged);
        let makes_here = is_here && around.is_some_and(|around| around.makes);
        let found = match around.map(|around| around.of) {
            // What is blocking in the call that begins it.
            Some(CallOf::Initiation(collective)) if self.tags.is_of_blocking(message.tag) => {
                return Owner::Outstanding(collective);
            }
            Some(CallOf::Initiation(_)) if is_here => {
                let first = around.map_or(0, |around| around.begins_at);
                // A second tag of one collective cannot be recognized as its own.
                let all = || self.untagged_on(message.communicator);
                let begun_here = || all().find(|&(nth, _)| nth >= first);
                let in_setup_order = self.in_setup_order(message.communicator, tag);
                (in_setup_order.or_else(|| Some(begun_here()?.1)))
                    .or_else(|| self.only_maker(message.communicator))
            }
            Some(CallOf::Blocking(_)) if message.is_on_hidden_communicator() => None,
            Some(CallOf::Blocking(_))
                if is_here && (is_tagged || !self.tags.is_of_nonblocking(message.tag)) =>
            {
                None
            }
            Some(CallOf::Nothing) => None,
            _ if begin < self.unknown_until => None,
            _ => {
                let all = || self.untagged_on(message.communicator).map(|(_, one)| one);
                let in_setup_order = self.in_setup_order(message.communicator, tag);
                let may_be = || all().find(|one| self.fits_setup_order(one, tag).is_none());
                let made = || self.only_maker(message.communicator);
                (in_setup_order.or_else(may_be).or_else(|| all().next()))
                    .or_else(|| made().filter(|_| !makes_here))
            }
        };
        let Some(collective) = found else {
            return Owner::TheCall;
        };
        self.by_tag.insert(channel, collective);
        if self.made.contains_key(&collective) || self.is_making(collective) {
            let made = self.made_by(collective);
            made.channels.push(channel);
            if !made.untagged.is_empty() {
                // The first of them is found first.
                let location = made.untagged.remove(0);
                self.untagged.remove(&location);
            }
        } else if let Some(open) = self.open.get_mut(&collective) {
            open.tag = Some(tag);
            let open = *open;
            self.is_tagged_now(&open);
            if let Some(nth) = open.set_up {
                self.persistent_tags.insert((open.communicator, nth), tag);
            }
        }
        if blocking == Some(collective) {
            Owner::TheCall
        } else {
            Owner::Outstanding(collective)
        }
    }

    fn is_making(&self, collective: OwnCollective) -> bool {
        self.open.get(&collective).is_some_and(|open| open.makes)
    }

    /// Those without a tag on a communicator, in the order in which they come into question, with how many
    /// were begun before.
    fn untagged_on(&self, communicator: u32) -> impl Iterator<Item = (u64, OwnCollective)> + '_ {
        let ends = [(false, 0), (true, u64::MAX)];
        let [from, to] = ends.map(|(is_empty, nth)| (communicator, is_empty, nth));
        let all = self.untagged.range(from..=to);
        all.map(|(&(_, _, nth), &one)| (nth, one))
    }

    /// The persistent collective without a tag whose position among those set up fits this tag.
    fn in_setup_order(&self, communicator: u32, tag: u16) -> Option<OwnCollective> {
        let all = (communicator, 0)..=(communicator, u64::MAX);
        let mut all = self.untagged_persistent.range(all).map(|(_, one)| one);
        let in_setup_order = all.find(|one| self.fits_setup_order(one, tag) == Some(true));
        in_setup_order.copied()
    }

    /// Whether this tag fits the position of a persistent collective among those set up, counted
    /// from the nearest one whose tag is known; `None` for others, and where none is known.
    fn fits_setup_order(&self, one: &OwnCollective, tag: u16) -> Option<bool> {
        let OutstandingCollective {
            communicator,
            set_up,
            ..
        } = *self.open.get(one)?;
        let nth = set_up?;
        let on_it = (communicator, 0)..(communicator, nth);
        let before = self.persistent_tags.range(on_it).next_back();
        let behind = (communicator, nth)..=(communicator, u64::MAX);
        let behind = self.persistent_tags.range(behind).next();
        let distance = |known: &(&(u32, u64), &u16)| known.0.1.abs_diff(nth);
        let (&(_, known), &of_known) = before.into_iter().chain(behind).min_by_key(distance)?;
        Some(self.tags.further(of_known, nth as i64 - known as i64)? == tag)
    }
}

#[cfg(test)]
mod tests;

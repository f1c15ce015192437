//! Records about calls: the messages inside them, and notes.

use std::collections::BTreeSet;

use collbench_formats::{Creation, Direction, Message, NO_TAG, Note, Record, RecordKind};

use crate::calls::algorithms;
use crate::calls::message_owner::{CallOf, OwnCollective, Owner};
use crate::calls::process::Process;
use crate::calls::process::class::{is_call, is_note};
use crate::calls::queue::Queue;
use crate::calls::records_of_call::each_message;
use crate::calls::stream::Batch;
use crate::communicators::persistent::local_of;
use crate::trace::record_at::{CallOrder, CallPosition, RecordAt};

/// Messages that a step of making a communicator begins together, at most.
const MAX_BEGUN_TOGETHER: usize = 256;

/// A blocking call behind which there may be messages of collectives that were begun before it, and
/// when it returned, ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unfinished {
    of: OwnCollective,
    leave: u64,
}

impl Process<'_> {
    /// Takes a note on the current call; `before` are the records before it in its thread.
    pub(super) fn take_note(&mut self, record: &Record, before: &[Record], location: RecordAt) {
        let Some(note) = record.note() else {
            self.found.n_unknown_records += 1;
            return;
        };
        let thread = self.thread_of(location);
        if let Note::Gap(gap) = note {
            self.gaps.add(thread, gap, record.enter.get(), before);
            return;
        }
        if let Note::CallSite(_) | Note::NextCallSite(_) = note {
            return;
        }
        if let Note::Creation(making) = note {
            if self.has_messages && !self.owners.is_looked_at(thread, location) {
                self.begin_for(&making);
            }
            return;
        }
        let call = before.iter().rev().find(|record| is_call(record));
        let Some(call) = call.or_else(|| self.last_calls.get(&thread)).copied() else {
            return;
        };
        let begun = match note {
            Note::Running(running) => {
                self.found.of_process.running.count(running, record, &call);
                return;
            }
            Note::Creation(_) | Note::Gap(_) | Note::CallSite(_) | Note::NextCallSite(_) => return,
            Note::Algorithm(begun) => begun,
        };
        let begun_at = record.enter.get();
        let is_inside = call.leave.get() == 0 || begun_at <= call.leave.get();
        if let (true, false, Some(operation)) = (is_inside, call.is_internal(), call.operation()) {
            let local_comm = self.local_comm_of(&call);
            let n_processes =
                algorithms::n_processes(local_comm, self.index, self.context.communicators);
            let algorithms = &mut self.found.of_process.algorithms;
            algorithms.count(begun, &call, operation, n_processes);
            let queue = local_comm.filter(|_| operation.is_nonblocking());
            let queue = queue.and_then(|local_comm| self.queues[local_comm].application());
            if let Some(queue) = queue {
                let last = queue.next.wrapping_sub(1);
                queue.outstanding.add_note(last, &call, record, self.names);
            }
        }
    }

    /// Keeps the last call of a thread for notes that stand in another batch.
    pub(super) fn keep_last_call(&mut self, batch: &Batch<'_>) {
        let last = batch.records.iter().rev().find(|record| is_call(record));
        if let Some(&last) = last {
            let thread = self.thread_of(batch.location);
            self.last_calls.insert(thread, last);
        }
    }

    /// Takes consecutive messages of the MPI library. Messages of the call they follow are found
    /// again there; others are retained with the collective that they belong to.
    pub(super) fn take_messages(&mut self, run: &[Record], location: RecordAt, is_possible: bool) {
        let directions = run.iter().map(|record| Direction::of(record.word()));
        let n_sent = directions.filter(|way| *way == Direction::Send).count();
        self.found.n_sent += n_sent as u64;
        self.found.n_received += (run.len() - n_sent) as u64;
        if !self.has_messages || self.owners.is_idle() && !self.may_make_in_others() {
            return;
        }
        let thread = self.thread_of(location);
        for (record, at) in run.iter().zip(location.record..) {
            let location = RecordAt {
                record: at,
                ..location
            };
            if is_possible {
                self.reach(std::slice::from_ref(record));
            }
            let message = record.message();
            if let Some(message) = &message {
                self.ask_for_maker(location, message);
            }
            let owner =
                message.map(|message| self.owners.owner(thread, location, record, &message));
            let Some(Owner::Outstanding(collective)) = owner else {
                continue;
            };
            // Behind the last call of the thread, and of the library below it, it is met again.
            let calls = self.owners.calls_around(thread, record.enter.get());
            let calls = || calls.into_iter().flatten();
            // Who waits for a call that has returned may have looked: what a damaged trace has there is
            // that call's.
            let may_have_looked = |call: OwnCollective| !self.is_unfinished(call);
            if !self.stream.is_single_threaded() && calls().any(may_have_looked) {
                continue;
            }
            self.keep_message(collective, location, record);
            for call in calls() {
                if let Some(queue) = self.queue_mut(call.local, call.call_order) {
                    queue.foreign.insert((call.position, location));
                }
            }
        }
    }

    /// The messages inside a call that completes collectives, before these are complete: they are
    /// after its records.
    pub(super) fn look_ahead(&mut self, record: &Record, location: RecordAt) {
        if !self.has_messages || self.owners.is_idle() || record.leave.get() == 0 {
            return;
        }
        let thread = self.thread_of(location);
        if self.owners.is_looked_at(thread, location) {
            return;
        }
        let (mut found, mut notes) = (Vec::new(), Vec::new());
        let until = each_message(&self.reader, location, |location, record, message| {
            found.push((location, *record, *message));
        });
        if self.owners.tell_makers() {
            self.each_until(location, until, |location, record| {
                if let Some(Note::Creation(making)) = record.note() {
                    notes.push((location, making));
                }
            });
        }
        let mut notes = notes.into_iter().peekable();
        for (location, record, message) in found {
            while let Some((_, making)) = notes.next_if(|(at, _)| *at < location) {
                self.begin_for(&making);
            }
            self.ask_for_maker(location, &message);
            let owner = self.owners.owner_in_completion(&record, &message);
            if let Owner::Outstanding(collective) = owner {
                self.keep_message(collective, location, &record);
            }
        }
        notes.for_each(|(_, making)| self.begin_for(&making));
        self.owners.has_looked_at(thread, until);
    }

    /// Whether the library may send within a call for another one that makes a communicator, with
    /// nothing under way that is nonblocking: in another thread.
    fn may_make_in_others(&self) -> bool {
        self.owners.tell_makers() && !self.stream.is_single_threaded()
    }

    /// A note names the call for which the library has started a collective whose tag is still
    /// unknown. (With a tag, the note is read with the messages before it.)
    fn begin_for(&mut self, making: &Creation) {
        let may_be_asked = !self.owners.is_idle() || self.may_make_in_others();
        if making.tag != NO_TAG || !may_be_asked {
            return;
        }
        let maker = self.maker(making);
        if let Some(maker) = maker.filter(|&maker| self.is_awaited(maker)) {
            self.owners.begins_for(maker, making.communicator);
        }
    }

    /// Passes to `look` the records of a thread after one location, up to another.
    fn each_until(&self, from: RecordAt, until: RecordAt, mut look: impl FnMut(RecordAt, &Record)) {
        let chunks = self.chunks();
        let mut at = RecordAt {
            record: from.record + 1,
            ..from
        };
        while at <= until {
            let n = chunks[at.chunk as usize].records.len();
            if at.record as usize >= n {
                at.chunk += 1;
                at.record = 0;
                continue;
            }
            let records = self.reader.slice(at, n);
            for (record, number) in records.iter().zip(at.record..) {
                let location = RecordAt {
                    record: number,
                    ..at
                };
                if location > until {
                    return;
                }
                look(location, record);
            }
            at.record += records.len() as u32;
        }
    }

    /// Checks whether a note after a message names the call that it is for.
    fn ask_for_maker(&mut self, location: RecordAt, message: &Message) {
        if !self.owners.asks_for_maker(message) {
            return;
        }
        let making = self.making_behind(location, message);
        let maker = making.and_then(|making| self.maker(&making));
        if let Some(maker) = maker.filter(|&maker| self.is_awaited(maker)) {
            self.owners.is_made_by(message, maker);
        }
    }

    /// The note after a message and those sent with it that names the call they are for, if there
    /// is one.
    fn making_behind(&self, location: RecordAt, message: &Message) -> Option<Creation> {
        let chunks = self.chunks();
        let thread = self.thread_of(location);
        let mut at = RecordAt {
            record: location.record + 1,
            ..location
        };
        let mut n_left = MAX_BEGUN_TOGETHER;
        loop {
            while at.record as usize >= chunks[at.chunk as usize].records.len() {
                at.chunk += 1;
                at.record = 0;
                let next = chunks.get(at.chunk as usize);
                next.filter(|next| next.thread == thread)?;
            }
            let records = self.reader.slice(at, n_left);
            for record in records.iter() {
                match record.note() {
                    Some(Note::Creation(making))
                        if (making.communicator, making.tag)
                            == (message.communicator, message.tag) =>
                    {
                        return Some(making);
                    }
                    Some(_) => {}
                    None if record.kind() == Some(RecordKind::Message) => {}
                    None => return None,
                }
            }
            n_left = n_left.checked_sub(records.len()).filter(|&n| n > 0)?;
            at.record += records.len() as u32;
        }
    }

    /// The call that a note names.
    fn maker(&self, making: &Creation) -> Option<OwnCollective> {
        let call_order = CallOrder::Application;
        let local = self
            .context
            .communicators
            .local_comm(self.index, making.on)?;
        let next = self.queues[local].next_on(call_order);
        let upper_half = next & !u64::from(u32::MAX);
        let position = upper_half | u64::from(making.position);
        let position = if position < next {
            position
        } else {
            position.checked_sub(1 << 32)?
        };
        Some(OwnCollective {
            local,
            call_order,
            position,
        })
    }

    /// Whether messages may still come of a call: it goes on in others, or is the last of its thread.
    fn is_awaited(&self, call: OwnCollective) -> bool {
        self.owners.is_open(call) || self.is_unfinished(call)
    }

    /// Whether a call is the last of its thread and, where several threads make calls, has not returned.
    /// (Whether it was ended already depends on where batches end.)
    fn is_unfinished(&self, call: OwnCollective) -> bool {
        let mut calls = self.unfinished.values().flatten().flatten();
        calls.any(|unfinished| unfinished.of == call && !self.has_returned(unfinished))
    }

    fn has_returned(&self, call: &Unfinished) -> bool {
        call.leave != 0 && call.leave <= self.reached
    }

    /// These records, whose stamps can be true, were reached. (Those of notes are not looked at.)
    #[inline]
    pub(super) fn reach(&mut self, records: &[Record]) {
        if !self.stream.is_single_threaded() {
            let records = records.iter().filter(|record| !is_note(record));
            let enters = records.map(|record| record.enter.get());
            self.reached = enters.fold(self.reached, u64::max);
        }
    }

    /// Whether there may be messages whose collective had begun before the window of a ring.
    pub(crate) fn may_be_mixed(&self) -> bool {
        self.mixed_until > 0
    }

    /// Whether messages of a collective that had begun before the window may stand among those
    /// behind the call at a location, at a position of a queue. Their tag is not known, but it is
    /// not that of the call: only where all have one tag are they sure to be the call's own.
    pub(crate) fn is_mixed(&self, queue: &Queue, position: u64, location: RecordAt) -> bool {
        if !self.has_messages || self.reader.record(location).enter.get() >= self.mixed_until {
            return false;
        }
        let mut channels = BTreeSet::new();
        each_message(&self.reader, location, |location, _, message| {
            if !queue.foreign.contains(&(position, location)) {
                channels.insert((message.communicator, message.tag));
            }
        });
        channels.len() > 1
    }

    fn keep_message(&mut self, of: OwnCollective, location: RecordAt, record: &Record) {
        let is_begun = self.owners.is_open(of);
        if !self.is_awaited(of) {
            return;
        }
        if let Some(queue) = self.queue_mut(of.local, of.call_order) {
            if is_begun {
                queue.outstanding.keep_message(of.position, record)
            } else {
                queue.keep_elsewhere(of.position, location, record)
            }
        }
    }

    /// A call behind which its messages may stand.
    #[inline]
    pub(super) fn note_call(&mut self, record: &Record, location: RecordAt, of: CallOf) {
        if !self.has_messages {
            return;
        }
        // All messages behind it are its own: nothing is under way, and nobody else can begin anything.
        let is_alone =
            self.owners.is_idle() && self.unfinished.is_empty() && self.stream.is_single_threaded();
        if !is_alone || matches!(of, CallOf::Initiation(_)) {
            self.note_call_with_others(record, location, of);
        }
    }

    fn note_call_with_others(&mut self, record: &Record, location: RecordAt, of: CallOf) {
        let thread = self.thread_of(location);
        let communicator = record.communicator.get();
        // As below the library's own calls, the one that is around goes on behind it.
        let is_below = record.is_internal() || self.owners.is_called_back(thread, record);
        self.end_call(thread, is_below);
        self.owners.call(thread, record, communicator, of);
        let may_be_of_others = !self.owners.is_idle() || !self.stream.is_single_threaded();
        if let (CallOf::Blocking(of), true) = (of, may_be_of_others) {
            let leave = record.leave.get();
            let calls = self.unfinished.entry(thread).or_default();
            calls[usize::from(is_below)] = Some(Unfinished { of, leave });
        }
    }

    /// All messages behind the last call of a thread were taken (behind the last of the MPI library
    /// itself only): whoever waits for the call may look at it.
    pub(super) fn end_call(&mut self, thread: u32, is_internal: bool) {
        let Some(calls) = self.unfinished.get_mut(&thread) else {
            return;
        };
        let own = if is_internal { None } else { calls[0].take() };
        let ended = [own, calls[1].take()];
        if calls.iter().all(Option::is_none) {
            self.unfinished.remove(&thread);
        }
        for ended in ended.into_iter().flatten() {
            self.touch(ended.of.local, ended.of.call_order);
        }
    }

    pub(super) fn end_all_calls(&mut self) {
        while let Some((&thread, _)) = self.unfinished.first_key_value() {
            self.end_call(thread, false);
        }
    }

    /// Ends the calls of other threads that had returned when the first of these records began: a thread
    /// may make no other call.
    pub(super) fn end_calls_before(&mut self, batch: &Batch<'_>) {
        if self.unfinished.is_empty() || self.stream.is_single_threaded() || !batch.is_possible {
            return;
        }
        self.reach(&batch.records[..1]);
        let of = self.thread_of(batch.location);
        let others = self.unfinished.iter().filter(|(thread, _)| **thread != of);
        let has_returned = |call: &Unfinished| self.has_returned(call);
        let returned = others.filter(|(_, calls)| calls.iter().flatten().all(has_returned));
        let returned: Vec<u32> = returned.map(|(&thread, _)| thread).collect();
        for thread in returned {
            self.end_call(thread, false);
        }
    }

    /// Position of the first call on a call order of a local communicator whose messages may not
    /// all be there; `u64::MAX` if there is none.
    pub(super) fn first_unfinished(&self, local_comm: usize, call_order: CallOrder) -> u64 {
        let calls = self.unfinished.values().flatten().flatten();
        let calls =
            calls.filter(|call| (call.of.local, call.of.call_order) == (local_comm, call_order));
        calls.map(|call| call.of.position).min().unwrap_or(u64::MAX)
    }

    /// The start of a persistent collective.
    pub(super) fn note_start(&mut self, record: &Record, location: RecordAt, at: CallPosition) {
        let start = record.persistent_start();
        let local = start.and_then(|start| local_of(self.persistents, start.definition));
        if let (true, Some(local)) = (self.has_messages, local) {
            let (thread, on) = (self.thread_of(location), self.persistents[local].on);
            let collective = OwnCollective {
                local,
                call_order: at.call_order,
                position: at.position,
            };
            self.end_call(thread, false);
            let of = CallOf::Initiation(collective);
            self.owners.call(thread, record, on, of);
        }
    }
}

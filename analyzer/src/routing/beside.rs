//! What stands beside calls and says more of them: the messages inside, and notes.

use std::collections::BTreeSet;

use collbench_formats::{Direction, Note, Record, message_direction};

use super::class::is_call;
use super::{Process, binding};
use crate::algorithms;
use crate::calls::{Batch, Place};
use crate::communicators::Communicators;
use crate::inside::{CallOf, OwnCollective, Owner, each_message};
use crate::instance::Lane;
use crate::persistent::local_of;
use crate::queue::Queue;

/// A blocking call behind which there may be messages of collectives that were begun before it, and
/// when it returned, ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unfinished {
    of: OwnCollective,
    leave: u64,
}

impl Process<'_> {
    /// What is noted of the call under way; `before` stand before it in its thread, side by side.
    pub(super) fn take_note(
        &mut self,
        record: &Record,
        before: &[Record],
        place: Place,
        communicators: &Communicators,
    ) {
        let Some(note) = record.note() else {
            self.found.n_unknown_records += 1;
            return;
        };
        let thread = self.thread_of(place);
        let call = before.iter().rev().find(|record| is_call(record));
        let Some(call) = call.or_else(|| self.last_calls.get(&thread)).copied() else {
            return;
        };
        let begun = match note {
            Note::Running(running) => {
                self.found.damage.running.count(running, record, &call);
                return;
            }
            Note::Algorithm(begun) => begun,
        };
        let begun_at = record.enter.get();
        let is_inside = call.leave.get() == 0 || begun_at <= call.leave.get();
        if let (true, false, Some(operation)) = (is_inside, call.is_internal(), call.operation()) {
            let binding = binding(communicators, self.index, &call);
            let n_processes = algorithms::n_processes(binding, self.index, communicators);
            let algorithms = &mut self.found.damage.algorithms;
            algorithms.count(begun, &call, operation, n_processes);
            let queue = binding.filter(|_| operation.is_nonblocking());
            let queue = queue.and_then(|binding| self.queues[binding].application());
            if let Some(queue) = queue {
                let last = queue.next.wrapping_sub(1);
                queue.outstanding.hear(last, &call, record, self.names);
            }
        }
    }

    /// Keeps the last call of a thread for notes that stand in another batch.
    pub(super) fn keep_last_call(&mut self, batch: &Batch<'_>) {
        let last = batch.records.iter().rev().find(|record| is_call(record));
        if let Some(&last) = last {
            let thread = self.thread_of(batch.place);
            self.last_calls.insert(thread, last);
        }
    }

    /// Messages of the MPI library that stand side by side: those of the calls they stand behind
    /// are found again there, others are kept with the collective that they are of.
    pub(super) fn take_messages(&mut self, run: &[Record], place: Place) {
        let directions = run
            .iter()
            .map(|record| message_direction(record.call_word()));
        let n_sent = directions.filter(|way| *way == Direction::Send).count();
        self.found.n_sent += n_sent as u64;
        self.found.n_received += (run.len() - n_sent) as u64;
        if !self.has_messages || self.owners.is_idle() {
            return;
        }
        let thread = self.thread_of(place);
        for (record, at) in run.iter().zip(place.record..) {
            let place = Place {
                record: at,
                ..place
            };
            let message = record.message();
            let owner = message.map(|message| self.owners.owner(thread, place, record, &message));
            let Some(Owner::Begun(collective, inside)) = owner else {
                continue;
            };
            self.keep_message(collective, record);
            let queue = inside.and_then(|call| self.queue_mut(call.local, call.lane));
            if let (Some(call), Some(queue)) = (inside, queue) {
                queue.foreign.push_back((call.position, place));
            }
        }
    }

    /// The messages inside a call that completes collectives, before these are complete: they stand
    /// behind its records.
    pub(super) fn look_ahead(&mut self, record: &Record, place: Place) {
        if !self.has_messages || self.owners.is_idle() || record.leave.get() == 0 {
            return;
        }
        let thread = self.thread_of(place);
        if self.owners.is_looked_at(thread, place) {
            return;
        }
        let mut found = Vec::new();
        let until = each_message(&self.reader, place, |_, record, message| {
            found.push((*record, *message));
        });
        for (record, message) in found {
            let owner = self.owners.owner_in_completion(&record, &message);
            if let Owner::Begun(collective, _) = owner {
                self.keep_message(collective, &record);
            }
        }
        self.owners.has_looked_at(thread, until);
    }

    /// Whether there may be messages whose collective had begun before the window of a ring.
    pub(crate) fn may_be_mixed(&self) -> bool {
        self.mixed_until > 0
    }

    /// Whether messages of a collective that had begun before the window may stand among those
    /// behind the call at a place, at a position of a queue. Their tag is not known, but it is not
    /// that of the call: only where all have one tag are they sure to be the call's own.
    pub(crate) fn is_mixed(&self, queue: &Queue, position: u64, place: Place) -> bool {
        if !self.has_messages || self.reader.record(place).enter.get() >= self.mixed_until {
            return false;
        }
        let mut ways = BTreeSet::new();
        each_message(&self.reader, place, |place, _, message| {
            if queue.foreign.binary_search(&(position, place)).is_err() {
                ways.insert((message.communicator, message.tag));
            }
        });
        ways.len() > 1
    }

    pub(super) fn keep_message(&mut self, of: OwnCollective, record: &Record) {
        if let Some(queue) = self.queue_mut(of.local, of.lane) {
            queue.outstanding.keep_message(of.position, record);
        }
    }

    /// A call behind which its messages may stand.
    #[inline]
    pub(super) fn note_call(&mut self, record: &Record, place: Place, of: CallOf) {
        if !self.has_messages {
            return;
        }
        // All messages behind it are its own: nothing is under way, and nobody else can begin anything.
        let is_alone =
            self.owners.is_idle() && self.unfinished.is_empty() && self.stream.is_single_threaded();
        if !is_alone || matches!(of, CallOf::Begin(_)) {
            self.note_call_beside(record, place, of);
        }
    }

    fn note_call_beside(&mut self, record: &Record, place: Place, of: CallOf) {
        let thread = self.thread_of(place);
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
            self.touch(ended.of.local, ended.of.lane);
        }
    }

    pub(super) fn end_all_calls(&mut self) {
        while let Some((&thread, _)) = self.unfinished.first_key_value() {
            self.end_call(thread, false);
        }
    }

    /// Likewise of calls of other threads that had returned when the first of these records began: a
    /// thread may make no other one.
    pub(super) fn end_calls_before(&mut self, batch: &Batch<'_>) {
        if self.unfinished.is_empty() || self.stream.is_single_threaded() || !batch.is_possible {
            return;
        }
        let of = self.thread_of(batch.place);
        let now = batch.records[0].enter.get();
        let has_returned = |call: &Option<Unfinished>| {
            call.is_none_or(|call| call.leave != 0 && call.leave <= now)
        };
        let others = self.unfinished.iter().filter(|(thread, _)| **thread != of);
        let returned = others.filter(|(_, calls)| calls.iter().all(has_returned));
        let returned: Vec<u32> = returned.map(|(&thread, _)| thread).collect();
        for thread in returned {
            self.end_call(thread, false);
        }
    }

    /// Position of the first call on a lane of a binding whose messages may not all be there;
    /// `u64::MAX` if there is none.
    pub(super) fn first_unfinished(&self, binding: usize, lane: Lane) -> u64 {
        let calls = self.unfinished.values().flatten().flatten();
        let calls = calls.filter(|call| (call.of.local, call.of.lane) == (binding, lane));
        calls.map(|call| call.of.position).min().unwrap_or(u64::MAX)
    }

    /// The start of a persistent collective.
    pub(super) fn note_start(&mut self, record: &Record, place: Place, lane: Lane, number: u64) {
        let start = record.persistent_start();
        let local = start.and_then(|start| local_of(self.persistents, start.definition));
        if let (true, Some(local)) = (self.has_messages, local) {
            let (thread, on) = (self.thread_of(place), self.persistents[local].on);
            let collective = OwnCollective {
                local,
                lane,
                position: number,
            };
            self.end_call(thread, false);
            let of = CallOf::Begin(collective);
            self.owners.call(thread, record, on, of);
        }
    }
}

//! What a process was doing when its file ended.

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{Chunk, Initiation, Record};

use crate::calls::findings::InFlight;
use crate::calls::last_seen::{LastCall, LastSeen, has_returned, is_own, last_location};
use crate::calls::process::{Process, RecordFindings};
use crate::communicators::persistent::local_of;
use crate::trace::record_at::{CallOrder, CallPosition, RecordAt};

impl Process<'_> {
    /// A call that had not returned when the file ended.
    pub(super) fn note_under_way(
        &mut self,
        record: &Record,
        location: RecordAt,
        is_possible: bool,
        at: Option<CallPosition>,
    ) {
        if !self.is_last_own(location) {
            self.found.n_abandoned += 1;
            return;
        }
        let Some(call) = self.call(record, location, is_possible) else {
            return;
        };
        let in_flight = InFlight {
            operation: call.operation,
            completing: None,
            communicator: self.called_on(record),
            sequence: at.map(|at| at.position),
            call_order: at.map(|at| at.call_order),
            // A guess where the stamp is impossible, as in its instance.
            enter: call.enter,
            is_internal: record.is_internal(),
        };
        self.found.of_process.in_flight.push(in_flight);
    }

    /// Whether the application did nothing more in the thread of a record after it. Behind the record
    /// there may be calls that the MPI library makes below it, and messages inside it.
    pub(super) fn is_last_own(&mut self, location: RecordAt) -> bool {
        let chunks = self.chunks();
        let thread = chunks[location.chunk as usize].thread;
        let last_own = self.last_own.entry(thread).or_insert_with(|| {
            let (first, chunks) = of_thread(chunks, thread);
            last_location(chunks, first, is_own)
        });
        last_own.is_none_or(|last_own| location >= last_own)
    }

    /// All findings, at the end of its records; for an incomplete run also the last activity of the
    /// process.
    pub(crate) fn into_found(mut self, is_incomplete: bool) -> RecordFindings {
        self.found.of_process.impossible = self.stream.impossible();
        self.found.of_process.besides = self.gaps.besides;
        self.found.of_process.partners = std::mem::take(&mut self.gaps.partners);
        let spans = self.threads.values();
        let spans = spans.map(|span| span.map(|ticks| self.at(ticks).ns()));
        self.found.of_process.threads = spans.filter(|_| self.threads.len() > 1).collect();
        if is_incomplete {
            self.found.of_process.last = Some(self.last_seen());
        }
        // Records are looked at only if there are phases, whose last ends with them.
        if self.phases.has_any() {
            let end = self.clock.global(Timestamp::from_ticks(self.last_stamp()));
            self.found.of_process.phases = self.phases.finish(end.ns());
        }
        self.found
    }

    /// The last that is known of it.
    fn last_seen(&self) -> LastSeen {
        let trace = &self.file.trace;
        let readings = trace.anchors.iter().map(|anchor| anchor.ticks.get());
        let readings = readings.filter(|&ticks| ticks <= self.limits.last_ticks());
        let mut last_ticks = readings.max().unwrap_or(0).max(self.last_stamp());
        let mut first = 0;
        let threads = trace.chunks.chunk_by(|a, b| a.thread == b.thread);
        let last_of_threads = threads.filter_map(|chunks| {
            let location = last_location(chunks, first, has_returned);
            first += chunks.len();
            Some(self.reader.record(location?))
        });
        let mut returned: Vec<Record> = last_of_threads
            .filter(|record| record.leave.get() <= self.limits.last_ticks())
            .collect();
        returned.sort_by_key(|record| record.enter.get());
        let last_begun = returned.last().map(|record| record.enter.get());
        let last = returned.iter().max_by_key(|record| record.leave.get());
        // Behind it there may be messages, which ended earlier.
        last_ticks = last.map_or(last_ticks, |record| last_ticks.max(record.leave.get()));
        LastSeen {
            at: self.at(last_ticks),
            returned: last.map(|record| {
                let is_last_begun = Some(record.enter.get()) == last_begun;
                self.last_call(record, is_last_begun)
            }),
        }
    }

    /// A call that has returned, behind which there is no other one of its thread, nor
    /// (if `is_last_begun`) of the process that has returned.
    fn last_call(&self, record: &Record, is_last_begun: bool) -> LastCall {
        let (operation, completing, communicator, sequence) = match record.completion() {
            Some(completion) => {
                let communicator = match completion.of {
                    Initiation::Nonblocking { communicator, .. } => Some(communicator),
                    Initiation::Persistent { definition, .. } => {
                        local_of(self.persistents, definition)
                            .map(|local| self.persistents[local].on)
                    }
                };
                let (Initiation::Nonblocking { position, .. }
                | Initiation::Persistent {
                    start: position, ..
                }) = completion.of;
                (None, Some(completion.by), communicator, Some(position))
            }
            None => {
                let communicator = Some(record.communicator.get());
                let sequence = self.position_of_last(record);
                let sequence = sequence.filter(|_| is_last_begun);
                (record.operation(), None, communicator, sequence)
            }
        };
        let local_comm =
            communicator.and_then(|index| self.context.communicators.local_comm(self.index, index));
        let communicator = local_comm.map(|local_comm| {
            self.context.communicators.local_comms[self.index][local_comm].communicator as usize
        });
        LastCall {
            operation,
            completing,
            communicator,
            sequence,
            is_persistent: matches!(
                record.completion().map(|completion| completion.of),
                Some(Initiation::Persistent { .. })
            ),
            enter: self.at(record.enter.get()),
            leave: self.at(record.leave.get()),
        }
    }

    /// Position of a call, which is the last one on its communicator that has returned.
    fn position_of_last(&self, record: &Record) -> Option<u64> {
        if !record.operation()?.takes_position() {
            return None;
        }
        let local_comm = self.local_comm_of(record)?;
        let n_initiated = self.queues[local_comm].next_on(CallOrder::Application);
        // Another thread may be in a call on it that began later.
        let communicator =
            self.context.communicators.local_comms[self.index][local_comm].communicator as usize;
        let in_flight = self.found.of_process.in_flight.iter();
        let n_in_flight = in_flight.filter(|call| {
            call.call_order == Some(CallOrder::Application)
                && call.completing.is_none()
                && call.communicator == Some(communicator)
        });
        n_initiated.checked_sub(1 + n_in_flight.count() as u64)
    }

    /// The last stamp of its threads that can be true, ticks.
    fn last_stamp(&self) -> u64 {
        let threads = self.chunks().chunk_by(|a, b| a.thread == b.thread);
        let last = threads.filter_map(|chunks| {
            let mut back = chunks.iter().rev();
            back.find_map(|chunk| chunk.records.last())
        });
        let stamps = last.flat_map(|record| [record.enter.get(), record.leave.get()]);
        let stamps = stamps.filter(|&stamp| stamp <= self.limits.last_ticks());
        stamps.max().unwrap_or(0)
    }
}

/// The chunks of a thread, and the number of the first of them in the file.
fn of_thread<'c, 'a>(chunks: &'c [Chunk<'a>], thread: u32) -> (usize, &'c [Chunk<'a>]) {
    let first = chunks.partition_point(|chunk| chunk.thread < thread);
    let n = chunks[first..].partition_point(|chunk| chunk.thread == thread);
    (first, &chunks[first..first + n])
}

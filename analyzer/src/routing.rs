//! The calls of one process to queues: one for each of its communicators and lane.
//!
//! This is done for many processes at a time; a process knows nothing of the others. What can be
//! in no instance is handed on at once.

use collbench_formats::{
    CODE_INTERNAL, Chunk, Operation, Record, RecordKind, Semantics, SequenceEntry,
    UNKNOWN_COMMUNICATOR,
};

use crate::calls::{Batch, CallStream, ChunkStart, Place, guess_enter};
use crate::clock::{Clocks, RankClock, Timestamp};
use crate::communicators::Communicators;
use crate::matching::{Call, InFlight, LANES, Lane, Matched, ProcessDamage};
use crate::queue::Queue;
use crate::run::RankFile;
use crate::stamps::StampLimits;

/// Records that are looked at together: those that stay in the nearest cache from telling
/// whether they can be true to telling where they belong.
const MAX_BATCH: u64 = 256;

const RECORD_BYTES: u64 = size_of::<Record>() as u64;

/// One process while its calls are matched.
pub(crate) struct Process<'a> {
    /// Index in the run.
    index: usize,
    file: &'a RankFile<'a>,
    clock: RankClock,
    limits: StampLimits,
    stream: CallStream<'a>,
    /// By binding, made when first used: the queues of its lanes.
    queues: Vec<Option<Box<[Queue; 3]>>>,
    /// Binding and lane of each queue whose next position has changed.
    pub(crate) touched: Vec<(u32, Lane)>,
    /// Calls that wait in the queues.
    pub(crate) n_queued: u64,
    /// Whether all records were taken.
    pub(crate) has_ended: bool,
    is_end_known: bool,
    /// What was met that does not fit.
    pub(crate) found: Found,
}

/// What the records of a process hold that does not fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) n_unknown_records: u64,
    pub(crate) n_sequence_conflicts: u64,
    pub(crate) n_abandoned: u64,
    pub(crate) damage: ProcessDamage,
}

/// Where the calls of an operation belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Into the order of calls on the communicator.
    Ordered,
    /// A constructor over a group: to the communicator that it makes.
    Creation,
    /// The begin or end of MPI.
    Process,
    /// The start of a persistent collective, which has no position on its communicator.
    Start,
    /// A completion or a phase: passed by.
    Beside,
    /// Not known to this version.
    Unknown,
}

/// By the number of the operation.
const CLASSES: [Class; 1024] = {
    let mut classes = [Class::Unknown; 1024];
    let mut i = 0;
    while i < Operation::ALL.len() {
        let operation = Operation::ALL[i];
        classes[operation.code() as usize] = match operation.semantics() {
            Semantics::GroupConstructor => Class::Creation,
            Semantics::Process => Class::Process,
            _ if operation.is_persistent() => Class::Start,
            _ => Class::Ordered,
        };
        i += 1;
    }
    classes
};

#[inline]
fn class_of(record: &Record) -> Class {
    let code = record.code.get();
    const CALL: u16 = RecordKind::Call as u16;
    const COMPLETION: u16 = RecordKind::Completion as u16;
    const PHASE: u16 = RecordKind::Phase as u16;
    match code >> 13 {
        CALL => CLASSES[usize::from(code & 0x3ff)],
        COMPLETION | PHASE => Class::Beside,
        _ => Class::Unknown,
    }
}

impl<'a> Process<'a> {
    pub(crate) fn new(
        index: usize,
        file: &'a RankFile<'a>,
        clocks: &Clocks,
        communicators: &Communicators,
        limits: StampLimits,
    ) -> Self {
        let n_bindings = communicators.bindings[index].len();
        Self {
            index,
            file,
            clock: clocks.processes[index].clone(),
            limits,
            stream: CallStream::new(&file.trace.chunks, limits),
            queues: std::iter::repeat_with(|| None).take(n_bindings).collect(),
            touched: Vec::new(),
            n_queued: 0,
            has_ended: false,
            is_end_known: false,
            found: Found::default(),
        }
    }

    /// Index in [`Communicators::list`] of what a binding means.
    pub(crate) fn communicator_of(&self, binding: u32, communicators: &Communicators) -> usize {
        communicators.bindings[self.index][binding as usize].communicator
    }

    /// Whether the last record was taken since this was asked.
    pub(crate) fn has_just_ended(&mut self) -> bool {
        let has_just_ended = self.has_ended && !self.is_end_known;
        self.is_end_known = self.has_ended;
        has_just_ended
    }

    /// The queue of a binding and lane; `None` if nothing ever came.
    #[inline]
    pub(crate) fn queue(&self, binding: usize, lane: Lane) -> Option<&Queue> {
        let queues = self.queues[binding].as_ref()?;
        Some(&queues[lane as usize])
    }

    /// Position of the next call on a lane, from 0; `u64::MAX` if none can come.
    #[inline]
    pub(crate) fn next_on(&self, binding: usize, lane: Lane) -> u64 {
        match self.has_ended {
            true => u64::MAX,
            false => self.queue(binding, lane).map_or(0, |queue| queue.next),
        }
    }

    /// Binding, lane and position of the call that waits longest.
    pub(crate) fn oldest(&self) -> Option<(usize, Lane, u64)> {
        let bindings = self.queues.iter().enumerate();
        let fronts = bindings.flat_map(|(binding, queues)| {
            let lanes = queues.iter().flat_map(|queues| LANES.iter().zip(&**queues));
            lanes.filter_map(move |(lane, queue)| Some((queue.front()?, binding, *lane)))
        });
        let oldest = fronts.min_by_key(|(run, ..)| run.place)?;
        Some((oldest.1, oldest.2, oldest.0.position))
    }

    /// The record at a place.
    #[inline]
    pub(crate) fn records(&self, place: Place, n: u32) -> &'a [Record] {
        let first = place.record as usize;
        &self.chunks()[place.chunk as usize].records[first..first + n as usize]
    }

    fn chunks(&self) -> &'a [Chunk<'a>] {
        &self.file.trace.chunks
    }

    /// The way from ticks to the time of the analysis.
    #[inline]
    pub(crate) fn clock(&self) -> &RankClock {
        &self.clock
    }

    /// The call of a record; `None` where its operation is not known.
    pub(crate) fn call(&self, record: &Record, place: Place, is_possible: bool) -> Option<Call> {
        let at = |ticks| self.clock.global(Timestamp::from_ticks(ticks));
        let enter = match is_possible {
            true => at(record.enter.get()),
            false => at(guess_enter(self.chunks(), &self.limits, place)),
        };
        Some(Call {
            operation: record.operation()?,
            root: record.root.get(),
            enter,
            leave: (record.leave.get() != 0).then(|| match is_possible {
                true => at(record.leave.get()),
                false => enter,
            }),
            payload: record.payload_bytes(),
            has_failed: record.has_failed(),
            is_timed: is_possible,
        })
    }

    /// Index in [`Communicators::list`] of what a record was called on.
    pub(crate) fn called_on(
        &self,
        record: &Record,
        communicators: &Communicators,
    ) -> Option<usize> {
        let binding = binding(communicators, self.index, record)?;
        Some(communicators.bindings[self.index][binding].communicator)
    }

    /// Takes up to `n` records; gives how many there were. `aside` gets what is in no instance.
    pub(crate) fn scan(
        &mut self,
        n: u64,
        communicators: &Communicators,
        aside: &mut dyn FnMut(Matched<'_>),
    ) -> u64 {
        let mut n_done = 0;
        while n_done < n {
            let limit = (n - n_done).min(MAX_BATCH) as usize;
            let Some(batch) = self.stream.next(limit) else {
                self.has_ended = true;
                break;
            };
            if let Some(start) = batch.chunk {
                self.check_sequences(&start, communicators);
            }
            self.route(&batch, communicators, aside);
            n_done += batch.records.len() as u64;
        }
        n_done
    }

    /// Cuts a batch into runs that belong to one queue.
    fn route(
        &mut self,
        batch: &Batch<'_>,
        communicators: &Communicators,
        aside: &mut dyn FnMut(Matched<'_>),
    ) {
        let mut records = batch.records;
        let mut place = batch.place;
        while let Some(first) = records.first() {
            let class = class_of(first);
            let n = match class {
                Class::Ordered => {
                    let (communicator, flag) =
                        (first.communicator, first.code.get() & CODE_INTERNAL);
                    let is_alike = |record: &&Record| {
                        record.communicator == communicator
                            && record.code.get() & CODE_INTERNAL == flag
                            && class_of(record) == Class::Ordered
                            && record.leave.get() != 0
                    };
                    records[1..].iter().take_while(is_alike).count() + 1
                }
                _ => 1,
            };
            // One that has not returned can only be the first.
            let n = if first.leave.get() == 0 { 1 } else { n };
            let (run, rest) = records.split_at(n);
            let mut sequence = None;
            match class {
                Class::Unknown => self.found.n_unknown_records += 1,
                Class::Beside => {}
                Class::Start => {
                    let called_on = self.called_on(first, communicators);
                    self.set_aside(run, place, batch.is_possible, called_on, aside);
                }
                Class::Ordered => {
                    let binding = binding(communicators, self.index, first);
                    self.note_undefined(binding, first, n);
                    match binding {
                        Some(binding) => {
                            let lane = match first.is_internal() {
                                true => Lane::Internal,
                                false => Lane::Application,
                            };
                            let queue = self.touch(binding, lane);
                            sequence = Some(queue.next);
                            queue.push(place, n as u32, batch.is_possible);
                            self.n_queued += n as u64;
                        }
                        None => self.set_aside(run, place, batch.is_possible, None, aside),
                    }
                }
                Class::Creation => {
                    let binding = binding(communicators, self.index, first);
                    self.note_undefined(binding, first, n);
                    self.route_creation(run, place, batch.is_possible, communicators, aside);
                }
                Class::Process => {
                    if let Some(call) = self.call(first, place, batch.is_possible) {
                        aside(Matched::Process { call });
                    }
                }
            }
            if first.leave.get() == 0 && !matches!(class, Class::Unknown | Class::Beside) {
                let is_last = rest.is_empty() && batch.ends_thread;
                self.note_under_way(first, is_last, sequence, communicators);
            }
            records = rest;
            place.record += n as u32;
        }
    }

    /// A constructor over a group: matched by the communicator that it made.
    fn route_creation(
        &mut self,
        run: &[Record],
        place: Place,
        is_possible: bool,
        communicators: &Communicators,
        aside: &mut dyn FnMut(Matched<'_>),
    ) {
        let record = &run[0];
        let called_on = self.called_on(record, communicators);
        let made = u32::try_from(record.root.get()).ok();
        let made = made.and_then(|index| communicators.binding(self.index, index));
        if let (Some(made), Some(_)) = (made, called_on)
            && !record.is_internal()
            // One that is met twice (a damaged file) belongs to nothing.
            && self.next_on(made, Lane::Creation) == 0
        {
            self.touch(made, Lane::Creation).push(place, 1, is_possible);
            self.n_queued += 1;
            return;
        }
        self.set_aside(run, place, is_possible, called_on, aside);
    }

    fn set_aside(
        &self,
        run: &[Record],
        place: Place,
        is_possible: bool,
        called_on: Option<usize>,
        aside: &mut dyn FnMut(Matched<'_>),
    ) {
        for (record, n) in run.iter().zip(0..) {
            let place = Place {
                record: place.record + n,
                ..place
            };
            if let Some(call) = self.call(record, place, is_possible) {
                aside(Matched::Unmatched {
                    process: self.index,
                    called_on,
                    call,
                    is_internal: record.is_internal(),
                });
            }
        }
    }

    /// The queue of a binding and lane, of which the next position is about to change.
    #[inline]
    fn touch(&mut self, binding: usize, lane: Lane) -> &mut Queue {
        let queues = self.queues[binding].get_or_insert_default();
        let queue = &mut queues[lane as usize];
        if !queue.is_touched {
            queue.is_touched = true;
            self.touched.push((binding as u32, lane));
        }
        queue
    }

    fn note_undefined(&mut self, binding: Option<usize>, first: &Record, n: usize) {
        let index = first.communicator.get();
        if binding.is_none() && index != UNKNOWN_COMMUNICATOR {
            let damage = &mut self.found.damage;
            if damage.n_undefined == 0 {
                damage.first_undefined = index;
            }
            damage.n_undefined += n as u64;
        }
    }

    /// A call that had not returned when the file ended.
    fn note_under_way(
        &mut self,
        record: &Record,
        is_last: bool,
        sequence: Option<u64>,
        communicators: &Communicators,
    ) {
        if !is_last {
            self.found.n_abandoned += 1;
            return;
        }
        let Some(operation) = record.operation() else {
            return;
        };
        self.found.damage.in_flight.push(InFlight {
            operation,
            communicator: self.called_on(record, communicators),
            sequence,
        });
    }

    /// Compares the counts with the table of a chunk, and goes on from the table behind a gap.
    ///
    /// With several threads, calls that another one began at about the time at which the chunk
    /// was opened may stand on either side of it; there the table is needed behind gaps only.
    fn check_sequences(&mut self, start: &ChunkStart<'_>, communicators: &Communicators) {
        let is_exact = self.stream.is_single_threaded();
        if !is_exact && !start.is_behind_gap {
            return;
        }
        let mut is_conflict = false;
        for (binding, entry) in communicators.resolve(self.index, start.sequences) {
            is_conflict |= self.check_sequence(binding, entry) && is_exact;
        }
        self.found.n_sequence_conflicts += u64::from(is_conflict);
    }

    /// `true` if the table says fewer calls than were found.
    fn check_sequence(&mut self, binding: usize, entry: &SequenceEntry) -> bool {
        let before = |lane| self.queue(binding, lane).map_or(0, |queue| queue.next);
        let before = [before(Lane::Application), before(Lane::Internal)];
        // A damaged count must leave room to count on.
        let calls = entry.calls.get().min(1 << 62);
        if calls > before[0] {
            self.touch(binding, Lane::Application).next = calls;
        }
        // The table has the lower 32 bits only.
        let ahead = entry.internal_calls.get().wrapping_sub(before[1] as u32);
        if (1..1 << 31).contains(&ahead) {
            self.touch(binding, Lane::Internal).next = before[1] + u64::from(ahead);
        }
        entry.calls.get() < before[0] || ahead >= 1 << 31
    }

    /// Somebody has looked at a touched queue.
    pub(crate) fn untouch(&mut self, binding: u32, lane: Lane) {
        if let Some(queues) = &mut self.queues[binding as usize] {
            queues[lane as usize].is_touched = false;
        }
    }

    /// Forgets the calls on a lane before a position, which were handed on.
    pub(crate) fn drop_before(&mut self, binding: usize, lane: Lane, position: u64) {
        let Some(queues) = &mut self.queues[binding] else {
            return;
        };
        let given_back = self.stream.given_back();
        let chunks = &self.file.trace.chunks;
        let mut late: Option<(u64, u64)> = None;
        queues[lane as usize].drop_before(position, |run| {
            self.n_queued -= u64::from(run.n);
            let chunk = &chunks[run.place.chunk as usize];
            if chunk.offset < given_back {
                let from = chunk.content + u64::from(run.place.record) * RECORD_BYTES;
                let to = from + u64::from(run.n) * RECORD_BYTES;
                let (least, most) = late.unwrap_or((from, to));
                late = Some((least.min(from), most.max(to)));
            }
        });
        // Its pages were given back before and came in once more.
        if let Some((from, to)) = late.filter(|(from, _)| *from < given_back) {
            self.file.give_back(from, to);
        }
    }

    /// Gives back the pages that were read, `step` bytes or more at a time.
    pub(crate) fn give_back(&mut self, step: u64) {
        for (from, to) in self.stream.done_with(step) {
            self.file.give_back(from, to);
        }
    }

    /// What was found; there is nothing more to come.
    pub(crate) fn into_found(mut self) -> Found {
        self.found.damage.impossible = self.stream.impossible();
        self.found
    }
}

/// The binding of what a record was called on.
#[inline]
fn binding(communicators: &Communicators, process: usize, record: &Record) -> Option<usize> {
    match record.communicator.get() {
        UNKNOWN_COMMUNICATOR => None,
        index => communicators.binding(process, index),
    }
}

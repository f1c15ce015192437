//! The calls of one process to queues: one for each of its communicators and lane.
//!
//! This is done for many processes at a time; a process knows nothing of the others. What can be
//! in no instance is handed on at once.

use std::collections::BTreeMap;

use collbench_formats::{
    CODE_INTERNAL, Chunk, Direction, Initiation, Message, Note, Operation, Record, RecordKind,
    Semantics, SequenceEntry, TestsInVain, UNKNOWN_COMMUNICATOR,
};

use crate::algorithms::{self, LastCalls};
use crate::calls::{Batch, CallStream, ChunkStart, Place, guess_enter};
use crate::clock::{Clocks, Global, RankClock, Timestamp};
use crate::communicators::Communicators;
use crate::inside::{CallOf, OwnCollective, Owner, Owners, each_message};
use crate::instance::{Call, LANES, Lane};
use crate::irregularities::{InFlight, ProcessDamage};
use crate::last_seen::{LastCall, LastSeen, has_returned, is_own, last_place};
use crate::matched::Matched;
use crate::nonblocking::Begun;
use crate::persistent::{OwnPersistent, Persistents, local_of};
use crate::phases::PhaseClock;
use crate::queue::{Alike, Queue};
use crate::run::RankFile;
use crate::stamps::StampLimits;
use crate::unpacked::RecordReader;
use crate::window::WindowBegin;

/// Records that are looked at together: those that stay in the nearest cache from telling
/// whether they can be true to telling where they belong.
const MAX_BATCH: u64 = 256;

/// One process while its calls are matched.
pub(crate) struct Process<'a> {
    /// Index in the run.
    index: usize,
    file: &'a RankFile<'a>,
    clock: RankClock,
    limits: StampLimits,
    reader: RecordReader<'a>,
    stream: CallStream,
    /// Where its records begin, if a ring has overwritten older ones.
    window: Option<WindowBegin>,
    /// By binding: the queues of its lanes.
    queues: Vec<Queues>,
    /// Its persistent collectives.
    persistents: &'a [OwnPersistent],
    /// For each of them the queue of its starts.
    starts: Vec<Queue>,
    /// Whether records were lost, so that starts behind cannot be counted.
    has_lost_starts: bool,
    /// Tests in vain whose completion is the thread's next record, by thread.
    tests: BTreeMap<u32, TestsInVain>,
    /// The phases that the program marks.
    pub(crate) phases: PhaseClock,
    /// Binding (or index of the persistent collective) and lane of each queue of which something
    /// has changed.
    pub(crate) touched: Vec<(u32, Lane)>,
    /// Calls that wait in the queues.
    pub(crate) n_queued: u64,
    /// Whether all records were taken.
    pub(crate) has_ended: bool,
    is_end_known: bool,
    /// Whether the messages inside its calls were recorded.
    pub(crate) has_messages: bool,
    /// Whose they are.
    owners: Owners,
    /// By thread: where the last record stands that is not an internal call, once that was asked.
    last_own: BTreeMap<u32, Option<Place>>,
    /// Whether there may be notes.
    has_notes: bool,
    last_calls: LastCalls,
    /// What was met that does not fit.
    pub(crate) found: Found,
}

/// The queues of a communicator's lanes. There may be a million communicators, most of which were
/// freed.
#[derive(Default)]
enum Queues {
    /// No call ever came.
    #[default]
    Unused,
    /// Nothing waits, on any lane.
    PutAway {
        /// Position of the next call of the application.
        next: u64,
        /// Whether it was made by a call of its own.
        is_created: bool,
    },
    InUse(Box<[Queue; 3]>),
}

impl Queues {
    fn in_use(&mut self) -> &mut [Queue; 3] {
        if let Self::Unused | Self::PutAway { .. } = self {
            let mut queues: Box<[Queue; 3]> = Box::default();
            for lane in LANES {
                queues[lane.index()].next = self.next_on(lane);
            }
            *self = Self::InUse(queues);
        }
        match self {
            Self::InUse(queues) => queues,
            _ => unreachable!("made above"),
        }
    }

    /// Position of the next call on a lane.
    fn next_on(&self, lane: Lane) -> u64 {
        match self {
            Self::Unused => 0,
            Self::PutAway { next, is_created } => match lane {
                Lane::Application => *next,
                Lane::Internal => 0,
                Lane::Creation | Lane::Persistent(_) => u64::from(*is_created),
            },
            Self::InUse(queues) => queues[lane.index()].next,
        }
    }

    /// Keeps only the positions, where nothing waits.
    fn put_away(&mut self) {
        let Self::InUse(queues) = self else { return };
        let is_idle = |queue: &Queue| queue.is_idle() && !queue.is_touched;
        let next = |lane: Lane| queues[lane.index()].next;
        if queues.iter().all(is_idle) && next(Lane::Internal) == 0 && next(Lane::Creation) <= 1 {
            *self = Self::PutAway {
                next: next(Lane::Application),
                is_created: next(Lane::Creation) == 1,
            };
        }
    }
}

/// What the records of a process hold that does not fit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) n_unknown_records: u64,
    /// Messages that the MPI library sent.
    pub(crate) n_sent: u64,
    /// Receives that it posted.
    pub(crate) n_received: u64,
    pub(crate) n_abandoned: u64,
    /// Completions that fit no initiation that is under way.
    pub(crate) n_stray_completions: u64,
    /// Records from before the window of a ring, and completions of what was begun before.
    pub(crate) n_before_window: u64,
    pub(crate) damage: ProcessDamage,
}

/// Where the calls of an operation belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Into the order of calls on the communicator.
    Ordered,
    /// Likewise; a completion follows.
    Begun,
    /// A constructor over a group: to the communicator that it makes.
    Creation,
    /// The start of a persistent collective, which has no place in an order of calls.
    Start,
    /// The begin or end of MPI.
    Process,
    /// The completion of a collective.
    Completion,
    /// The begin of a phase.
    Phase,
    /// One end of a message of the MPI library.
    Message,
    /// More about a call.
    Note,
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
            _ if operation.is_nonblocking() => Class::Begun,
            _ => Class::Ordered,
        };
        i += 1;
    }
    classes
};

#[inline]
fn class_of(record: &Record) -> Class {
    let code = record.code.get();
    match code >> 13 == RecordKind::Call as u16 {
        true => CLASSES[usize::from(code & 0x3ff)],
        false => match record.kind() {
            Some(RecordKind::Completion) => Class::Completion,
            Some(RecordKind::Phase) => Class::Phase,
            Some(RecordKind::Message) => Class::Message,
            Some(RecordKind::Note) => Class::Note,
            _ => Class::Unknown,
        },
    }
}

fn is_call(record: &Record) -> bool {
    record.kind() == Some(RecordKind::Call)
}

impl<'a> Process<'a> {
    pub(crate) fn new(
        index: usize,
        file: &'a RankFile<'a>,
        clocks: &Clocks,
        communicators: &Communicators,
        persistents: &'a Persistents,
        limits: StampLimits,
    ) -> Self {
        let persistents = &persistents.of[index][..];
        let reader = RecordReader::new(&file.trace.chunks, clocks.processes.len());
        let n_bindings = communicators.bindings[index].len();
        let is_ring = file.trace.window.is_some();
        let mut this = Self {
            index,
            file,
            clock: clocks.processes[index].clone(),
            limits,
            stream: CallStream::new(&reader, limits, is_ring),
            reader,
            window: WindowBegin::of(file.trace.window.as_ref()),
            queues: std::iter::repeat_with(Queues::default)
                .take(n_bindings)
                .collect(),
            persistents,
            starts: std::iter::repeat_with(Queue::default)
                .take(persistents.len())
                .collect(),
            has_lost_starts: false,
            tests: BTreeMap::new(),
            phases: PhaseClock::default(),
            touched: Vec::new(),
            n_queued: 0,
            has_ended: false,
            is_end_known: false,
            has_messages: has_layer(file, "messages"),
            owners: Owners::default(),
            last_own: BTreeMap::new(),
            has_notes: file.has_layer("algorithms") || file.has_layer("switches"),
            last_calls: LastCalls::new(),
            found: Found::default(),
        };
        this.begin_window(communicators);
        this
    }

    /// Goes on from where the window of a ring begins.
    fn begin_window(&mut self, communicators: &Communicators) {
        let Some(window) = self.window.take() else {
            return;
        };
        for (&index, &[calls, internal]) in &window.calls {
            if let Some(binding) = communicators.binding(self.index, index) {
                self.touch(binding, Lane::Application).next = calls;
                self.touch(binding, Lane::Internal).next = internal;
            }
        }
        for (&index, &starts) in &window.starts {
            if let Some(local) = local_of(self.persistents, index) {
                self.starts[local].next = starts;
            }
        }
        // Then it is not known how many starts there were.
        self.has_lost_starts |= window.state.is_none();
        if let Some(level) = window.state.and_then(|state| state.phase) {
            let at = self.clock.global(Timestamp::from_ticks(window.ticks));
            self.phases.begin(level, at.ns());
        }
        self.window = Some(window);
    }

    /// Whether the process has made the call at a position of a lane of a binding (or of its
    /// persistent collective of this index) that a ring has overwritten, if it is not there.
    pub(crate) fn has_lost(
        &self,
        binding: usize,
        lane: Lane,
        position: u64,
        communicators: &Communicators,
    ) -> bool {
        let Some(window) = &self.window else {
            return false;
        };
        let index = match lane {
            Lane::Persistent(_) => self.persistents[binding].index,
            _ => communicators.bindings[self.index][binding].index,
        };
        window.has_lost(lane, index, position)
    }

    /// Passes by the records of a batch from before the window, of a thread that has made few calls
    /// since; gives how many there are.
    #[cold]
    fn pass_by(&mut self, batch: &Batch<'_>, until: u64, communicators: &Communicators) -> usize {
        let is_before = |record: &&Record| batch.is_possible && record.enter.get() < until;
        let n = batch.records.iter().take_while(is_before).count();
        self.found.n_before_window += n as u64;
        if let Some(last) = batch.records[..n].last()
            && last.leave.get() == 0
            && n == batch.records.len()
            && batch.ends_thread
            && last.operation().is_some()
        {
            let place = Place {
                record: batch.place.record + (n - 1) as u32,
                ..batch.place
            };
            self.note_under_way(last, place, batch.is_possible, None, communicators);
        }
        n
    }

    /// Index in [`Communicators::list`] of that of a touched queue.
    pub(crate) fn communicator_of(
        &self,
        (binding, lane): (u32, Lane),
        communicators: &Communicators,
        persistents: &Persistents,
    ) -> usize {
        match lane {
            Lane::Persistent(number) => persistents.list[number as usize].communicator,
            _ => communicators.bindings[self.index][binding as usize].communicator as usize,
        }
    }

    /// Communicators that it knows.
    pub(crate) fn n_bindings(&self) -> usize {
        self.queues.len()
    }

    /// The persistent collectives that it set up.
    pub(crate) fn persistents(&self) -> &'a [OwnPersistent] {
        self.persistents
    }

    /// Whether the last record was taken since this was asked.
    pub(crate) fn has_just_ended(&mut self) -> bool {
        let has_just_ended = self.has_ended && !self.is_end_known;
        self.is_end_known = self.has_ended;
        has_just_ended
    }

    /// The queue of a binding and lane; `None` if nothing ever came, or nothing is left. (For a
    /// persistent lane: of the process's persistent collective of this index.)
    #[inline]
    pub(crate) fn queue(&self, binding: usize, lane: Lane) -> Option<&Queue> {
        if let Lane::Persistent(_) = lane {
            return self.starts.get(binding);
        }
        match &self.queues[binding] {
            Queues::InUse(queues) => Some(&queues[lane.index()]),
            _ => None,
        }
    }

    fn queue_mut(&mut self, binding: usize, lane: Lane) -> Option<&mut Queue> {
        if let Lane::Persistent(_) = lane {
            return self.starts.get_mut(binding);
        }
        match &mut self.queues[binding] {
            Queues::InUse(queues) => Some(&mut queues[lane.index()]),
            _ => None,
        }
    }

    /// Gives back the room of the queues of a binding if nothing waits in them.
    pub(crate) fn put_away(&mut self, binding: usize) {
        self.queues[binding].put_away();
    }

    /// Position of the next call on a lane, from 0; `u64::MAX` if none can come. (`binding` as in
    /// [`queue`](Self::queue).)
    #[inline]
    pub(crate) fn next_on(&self, binding: usize, lane: Lane) -> u64 {
        match (self.has_ended, lane) {
            (true, _) => u64::MAX,
            (false, Lane::Persistent(_)) => self.starts[binding].next,
            (false, _) => self.queues[binding].next_on(lane),
        }
    }

    /// Binding, lane and position of the call that waits longest.
    pub(crate) fn oldest(&self) -> Option<(usize, Lane, u64)> {
        let bindings = self.queues.iter().enumerate();
        let fronts = bindings.flat_map(|(binding, queues)| {
            let in_use = match queues {
                Queues::InUse(queues) => Some(queues),
                _ => None,
            };
            let lanes = in_use
                .into_iter()
                .flat_map(|queues| LANES.iter().zip(&**queues));
            lanes.filter_map(move |(lane, queue)| Some((queue.front()?, binding, *lane)))
        });
        let starts = self.starts.iter().zip(self.persistents).enumerate();
        let starts = starts.filter_map(|(local, (queue, own))| {
            Some((queue.front()?, local, Lane::Persistent(own.persistent)))
        });
        let oldest = fronts.chain(starts).min_by_key(|(run, ..)| run.place)?;
        Some((oldest.1, oldest.2, oldest.0.position))
    }

    /// Finds its records.
    #[inline]
    pub(crate) fn reader(&self) -> &RecordReader<'a> {
        &self.reader
    }

    fn chunks(&self) -> &'a [Chunk<'a>] {
        &self.file.trace.chunks
    }

    /// The way from ticks to the time of the analysis.
    #[inline]
    pub(crate) fn clock(&self) -> &RankClock {
        &self.clock
    }

    /// A call that was begun, with what came of it.
    pub(crate) fn begun_call(&self, local: usize, lane: Lane, begun: &Begun) -> Option<Call> {
        let own = match lane {
            Lane::Persistent(_) => self.persistents.get(local),
            _ => None,
        };
        let call = self.call(&begun.record, begun.place, begun.is_possible)?;
        let has_begun = call.leave.is_some() && begun.is_possible;
        let at = |ticks| self.clock.global(Timestamp::from_ticks(ticks));
        Some(Call {
            root: own.map_or(call.root, |own| own.root),
            payload: own.map_or(call.payload, |own| own.payload),
            leave: begun.leave_ticks().filter(|_| has_begun).map(at),
            course: has_begun.then(|| begun.course(&self.clock)),
            phase: begun.phase,
            ..call
        })
    }

    /// The call of a record; `None` where its operation is not known. Of one that is
    /// nonblocking it is the initiation.
    pub(crate) fn call(&self, record: &Record, place: Place, is_possible: bool) -> Option<Call> {
        let at = |ticks| self.clock.global(Timestamp::from_ticks(ticks));
        let enter = match is_possible {
            true => at(record.enter.get()),
            false => at(guess_enter(&self.reader, &self.limits, place)),
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
            course: None,
            phase: None,
        })
    }

    /// Index in [`Communicators::list`] of what a record was called on.
    pub(crate) fn called_on(
        &self,
        record: &Record,
        communicators: &Communicators,
    ) -> Option<usize> {
        let binding = binding(communicators, self.index, record)?;
        Some(communicators.bindings[self.index][binding].communicator as usize)
    }

    /// Index in [`Communicators::list`] of what its records call `index`.
    pub(crate) fn communicator_of_index(
        &self,
        index: u32,
        communicators: &Communicators,
    ) -> Option<usize> {
        let binding = communicators.binding(self.index, index)?;
        Some(communicators.bindings[self.index][binding].communicator as usize)
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
            let Some(batch) = self.stream.next(&self.reader, limit) else {
                self.has_ended = true;
                break;
            };
            if let Some(start) = batch.chunk {
                self.has_lost_starts |= start.is_behind_gap;
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
        let mut records = &batch.records[..];
        let mut place = batch.place;
        if let (Some(window), Some(first)) = (&self.window, records.first())
            && first.enter.get() < window.ticks
        {
            let n = self.pass_by(batch, window.ticks, communicators);
            records = &records[n..];
            place.record += n as u32;
        }
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
                Class::Message => {
                    let is_alike = |record: &&Record| class_of(record) == Class::Message;
                    records[1..].iter().take_while(is_alike).count() + 1
                }
                _ => 1,
            };
            // One that has not returned can only be the first.
            let is_call = class != Class::Message;
            let n = if first.leave.get() == 0 && is_call {
                1
            } else {
                n
            };
            let (run, rest) = records.split_at(n);
            let mut sequence: Option<(u64, Lane)> = None;
            match class {
                Class::Unknown => self.found.n_unknown_records += 1,
                Class::Message => self.take_messages(run, place),
                Class::Phase => self.begin_phase(first, batch.is_possible),
                Class::Note => {
                    let before = batch.records.len() - records.len();
                    self.take_note(first, &batch.records[..before], place, communicators);
                }
                Class::Completion => {
                    let is_last = rest.is_empty() && batch.ends_thread;
                    self.complete(first, place, is_last, communicators);
                }
                Class::Start => {
                    let binding = binding(communicators, self.index, first);
                    self.note_undefined(binding, first, n);
                    sequence = self.route_start(first, place, batch.is_possible);
                    if let Some((number, lane)) = sequence {
                        self.note_start(first, place, lane, number);
                    }
                    if sequence.is_none() {
                        let called_on = self.called_on(first, communicators);
                        self.set_aside(run, place, batch.is_possible, called_on, aside);
                    }
                }
                Class::Ordered | Class::Begun => {
                    let binding = binding(communicators, self.index, first);
                    self.note_undefined(binding, first, n);
                    match binding {
                        Some(binding) => {
                            let lane = match first.is_internal() {
                                true => Lane::Internal,
                                false => Lane::Application,
                            };
                            let is_begun = class == Class::Begun && lane == Lane::Application;
                            let alike = self.alike(batch.is_possible);
                            let begun = is_begun.then(|| self.begun(first, place, alike));
                            let queue = self.touch(binding, lane);
                            let position = queue.next;
                            sequence = Some((position, lane));
                            queue.push(place, n as u32, alike);
                            let begun = begun.flatten();
                            let goes_on = begun.is_some();
                            match (begun, first.operation()) {
                                (Some(begun), _) => queue.outstanding.begin(position, begun),
                                (None, Some(operation)) if is_begun => {
                                    queue.outstanding.begin_passed_by(position, operation);
                                }
                                _ => {}
                            }
                            self.n_queued += n as u64;
                            if self.has_messages {
                                let collective = OwnCollective {
                                    local: binding,
                                    lane,
                                    position: position + (n as u64 - 1),
                                };
                                let of = match (is_begun, goes_on) {
                                    (false, _) => CallOf::Blocking(collective),
                                    (true, true) => CallOf::Begin(collective),
                                    (true, false) => CallOf::Nothing,
                                };
                                self.note_call(&run[n - 1], place, of);
                            }
                        }
                        None => {
                            self.set_aside(run, place, batch.is_possible, None, aside);
                            self.note_call(&run[n - 1], place, CallOf::Nothing);
                        }
                    }
                }
                Class::Creation => {
                    let binding = binding(communicators, self.index, first);
                    self.note_undefined(binding, first, n);
                    self.route_creation(run, place, batch.is_possible, communicators, aside);
                    self.note_call(first, place, CallOf::Nothing);
                }
                Class::Process => {
                    self.note_call(first, place, CallOf::Nothing);
                    if let Some(call) = self.call(first, place, batch.is_possible) {
                        aside(Matched::Process { call });
                    }
                }
            }
            let is_call = !matches!(
                class,
                Class::Unknown | Class::Completion | Class::Phase | Class::Message | Class::Note
            );
            if first.leave.get() == 0 && is_call {
                self.note_under_way(first, place, batch.is_possible, sequence, communicators);
            }
            records = rest;
            place.record += n as u32;
        }
        if self.has_notes {
            self.keep_last_call(batch);
        }
    }

    /// What is noted of the call under way; `before` stand before it in its thread, side by side.
    fn take_note(
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
        let thread = self.file.trace.chunks[place.chunk as usize].thread;
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
        }
    }

    /// Keeps the last call of a thread for notes that stand in another batch.
    fn keep_last_call(&mut self, batch: &Batch<'_>) {
        let last = batch.records.iter().rev().find(|record| is_call(record));
        if let Some(&last) = last {
            let thread = self.file.trace.chunks[batch.place.chunk as usize].thread;
            self.last_calls.insert(thread, last);
        }
    }

    /// Messages of the MPI library that stand side by side: those of the calls they stand behind
    /// are found again there, others are kept with the collective that they are of.
    fn take_messages(&mut self, run: &[Record], place: Place) {
        let messages = run.iter().filter_map(Record::message);
        let is_send = |message: &Message| message.direction == Direction::Send;
        let n_sent = messages.filter(is_send).count();
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
    fn look_ahead(&mut self, record: &Record, place: Place) {
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
            let owner = self.owners.owner_in_completion(&message);
            if let Owner::Begun(collective, _) = owner {
                self.keep_message(collective, &record);
            }
        }
        self.owners.has_looked_at(thread, until);
    }

    fn keep_message(&mut self, of: OwnCollective, record: &Record) {
        if let Some(queue) = self.queue_mut(of.local, of.lane) {
            queue.outstanding.keep_message(of.position, record);
        }
    }

    /// A call behind which its messages may stand.
    #[inline]
    fn note_call(&mut self, record: &Record, place: Place, of: CallOf) {
        if self.has_messages {
            let thread = self.thread_of(place);
            let communicator = record.communicator.get();
            self.owners.call(thread, record, communicator, of);
        }
    }

    /// The start of a persistent collective.
    fn note_start(&mut self, record: &Record, place: Place, lane: Lane, number: u64) {
        let start = record.persistent_start();
        let local = start.and_then(|start| local_of(self.persistents, start.definition));
        if let (true, Some(local)) = (self.has_messages, local) {
            let (thread, on) = (self.thread_of(place), self.persistents[local].on);
            let collective = OwnCollective {
                local,
                lane,
                position: number,
            };
            let of = CallOf::Begin(collective);
            self.owners.call(thread, record, on, of);
        }
    }

    fn thread_of(&self, place: Place) -> u32 {
        self.chunks()[place.chunk as usize].thread
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
            let alike = self.alike(is_possible);
            self.touch(made, Lane::Creation).push(place, 1, alike);
            self.n_queued += 1;
            return;
        }
        self.set_aside(run, place, is_possible, called_on, aside);
    }

    /// What the next calls have in common.
    #[inline]
    fn alike(&self, is_possible: bool) -> Alike {
        Alike {
            is_possible,
            phase: self.phases.number(),
        }
    }

    /// A nonblocking call; `None` for one that nobody waits in, whose completion says nothing.
    fn begun(&self, record: &Record, place: Place, alike: Alike) -> Option<Begun> {
        let semantics = record.operation().map(Operation::semantics);
        let phase = self.phases.level(alike.phase);
        (semantics != Some(Semantics::NonblockingConstructor))
            .then(|| Begun::new(record, place, alike.is_possible, phase))
    }

    /// The start of a persistent collective: its number, and lane; `None` if that is not known.
    fn route_start(
        &mut self,
        record: &Record,
        place: Place,
        is_possible: bool,
    ) -> Option<(u64, Lane)> {
        let start = record.persistent_start()?;
        let local = local_of(self.persistents, start.definition);
        let Some(local) = local else {
            self.found.damage.n_undefined_starts += 1;
            return None;
        };
        if self.has_lost_starts || record.is_internal() {
            return None;
        }
        let lane = Lane::Persistent(self.persistents[local].persistent);
        let alike = self.alike(is_possible);
        let begun = Begun::new(record, place, is_possible, self.phases.level(alike.phase));
        let queue = self.touch(local, lane);
        let number = queue.next;
        queue.push(place, 1, alike);
        queue.outstanding.begin(number, begun);
        self.n_queued += 1;
        Some((number, lane))
    }

    /// The completion of a collective, or what was tested before it.
    fn complete(
        &mut self,
        record: &Record,
        place: Place,
        is_last: bool,
        communicators: &Communicators,
    ) {
        let thread = self.chunks()[place.chunk as usize].thread;
        if let Some(tests) = record.tests_in_vain() {
            self.tests.insert(thread, tests);
            return;
        }
        let Some(completion) = record.completion() else {
            self.found.n_unknown_records += 1;
            return;
        };
        self.look_ahead(record, place);
        let tests = self.tests.remove(&thread);
        let tests = tests.filter(|tests| tests.of_index == record.communicator.get());
        let (known, lane, position) = match completion.of {
            Initiation::Nonblocking {
                communicator,
                position,
            } => {
                let binding = communicators.binding(self.index, communicator);
                (binding, Lane::Application, position)
            }
            Initiation::Persistent { definition, start } => {
                let local = local_of(self.persistents, definition);
                let number = local.map_or(0, |local| self.persistents[local].persistent);
                (local, Lane::Persistent(number), start)
            }
        };
        let last_ticks = self.limits.last_ticks();
        let completed = known.and_then(|binding| {
            let queue = self.queue_mut(binding, lane)?;
            let of = queue.outstanding.operation(position);
            let fits = queue
                .outstanding
                .complete(position, record, &completion, tests, last_ticks);
            fits.then_some((binding, of))
        });
        let Some((binding, operation)) = completed else {
            let is_lost = |binding| self.has_lost(binding, lane, position, communicators);
            match known.is_some_and(is_lost) {
                true => self.found.n_before_window += 1,
                false => self.found.n_stray_completions += 1,
            }
            return;
        };
        self.touch(binding, lane);
        if record.leave.get() != 0 && !record.has_failed() {
            self.owners.complete(OwnCollective {
                local: binding,
                lane,
                position,
            });
        }
        if let (true, true, Some(operation)) = (record.leave.get() == 0, is_last, operation) {
            let in_flight = InFlight {
                operation,
                completing: Some(completion.by),
                communicator: self.communicator_at(binding, lane, communicators),
                sequence: Some(position),
                lane: Some(lane),
                enter: self.at(record.enter.get()),
                is_internal: false,
            };
            self.found.damage.in_flight.push(in_flight);
        }
    }

    fn begin_phase(&mut self, record: &Record, is_possible: bool) {
        if let (Some(level), true) = (record.phase_level(), is_possible) {
            let at = self.clock.global(Timestamp::from_ticks(record.enter.get()));
            self.phases.begin(level, at.ns());
        }
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
                let start = record.persistent_start();
                let local = start.and_then(|start| local_of(self.persistents, start.definition));
                let call = Call {
                    payload: local.map_or(call.payload, |local| self.persistents[local].payload),
                    phase: self.phases.level(self.phases.number()),
                    ..call
                };
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
        let queue = match lane {
            Lane::Persistent(_) => &mut self.starts[binding],
            _ => &mut self.queues[binding].in_use()[lane.index()],
        };
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
        place: Place,
        is_possible: bool,
        sequence: Option<(u64, Lane)>,
        communicators: &Communicators,
    ) {
        // Behind it there may be calls that the MPI library makes below it.
        let chunks = self.chunks();
        let thread = chunks[place.chunk as usize].thread;
        let last_own = self.last_own.entry(thread).or_insert_with(|| {
            let (first, chunks) = of_thread(chunks, thread);
            last_place(chunks, first, is_own)
        });
        if last_own.is_some_and(|last_own| place < last_own) {
            self.found.n_abandoned += 1;
            return;
        }
        let Some(call) = self.call(record, place, is_possible) else {
            return;
        };
        let in_flight = InFlight {
            operation: call.operation,
            completing: None,
            communicator: self.called_on(record, communicators),
            sequence: sequence.map(|(position, _)| position),
            lane: sequence.map(|(_, lane)| lane),
            // The same guess as in its instance.
            enter: call.enter,
            is_internal: record.is_internal(),
        };
        self.found.damage.in_flight.push(in_flight);
    }

    /// The instant of a tick on the time of the analysis.
    fn at(&self, ticks: u64) -> Timestamp<Global> {
        self.clock.global(Timestamp::from_ticks(ticks))
    }

    /// Index in [`Communicators::list`] of that of a binding, or of a persistent collective.
    fn communicator_at(
        &self,
        local: usize,
        lane: Lane,
        communicators: &Communicators,
    ) -> Option<usize> {
        let binding = match lane {
            Lane::Persistent(_) => {
                communicators.binding(self.index, self.persistents.get(local)?.on)?
            }
            _ => local,
        };
        Some(communicators.bindings[self.index][binding].communicator as usize)
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
        self.found.damage.n_sequence_conflicts += u64::from(is_conflict);
    }

    /// `true` if the table says fewer calls than were found.
    fn check_sequence(&mut self, binding: usize, entry: &SequenceEntry) -> bool {
        let before = |lane| self.queues[binding].next_on(lane);
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
        if let Some(queue) = self.queue_mut(binding as usize, lane) {
            queue.is_touched = false;
        }
    }

    /// Forgets a nonblocking call beside which others made another one, but for its completion.
    pub(crate) fn pass_by_begun(&mut self, binding: usize, lane: Lane, position: u64) {
        if let Some(queue) = self.queue_mut(binding, lane) {
            queue.outstanding.pass_by(position);
        }
    }

    /// Forgets a nonblocking call that was handed on.
    pub(crate) fn drop_begun(&mut self, binding: usize, lane: Lane, position: u64) {
        if let Some(queue) = self.queue_mut(binding, lane) {
            queue.outstanding.remove(position);
        }
    }

    /// Forgets the calls on a lane before a position, which were handed on.
    pub(crate) fn drop_before(&mut self, binding: usize, lane: Lane, position: u64) {
        let given_back = self.stream.given_back();
        let chunks = &self.file.trace.chunks;
        let mut late: Option<(u64, u64)> = None;
        let queue = match lane {
            Lane::Persistent(_) => self.starts.get_mut(binding),
            _ => match &mut self.queues[binding] {
                Queues::InUse(queues) => Some(&mut queues[lane.index()]),
                _ => None,
            },
        };
        let Some(queue) = queue else { return };
        queue.drop_before(position, |run| {
            self.n_queued -= u64::from(run.n);
            let chunk = &chunks[run.place.chunk as usize];
            let (from, to) = chunk.span(run.place.record as usize, run.n as usize);
            if from < given_back {
                let (least, most) = late.unwrap_or((from, to));
                late = Some((least.min(from), most.max(to)));
            }
        });
        // Its pages were given back before and came in once more.
        if let Some((from, to)) = late {
            self.file.give_back(from, to);
        }
    }

    /// Gives back the pages that were read, `step` bytes or more at a time.
    pub(crate) fn give_back(&mut self, step: u64) {
        for (from, to) in self.stream.done_with(step) {
            self.file.give_back(from, to);
        }
    }

    /// What was found; there is nothing more to come. With communicators also what the process
    /// did last.
    pub(crate) fn into_found(mut self, communicators: Option<&Communicators>) -> Found {
        self.found.damage.impossible = self.stream.impossible();
        if let Some(communicators) = communicators {
            self.found.damage.last = Some(self.last_seen(communicators));
        }
        // Records are looked at only if there are phases, whose last ends with them.
        if self.phases.has_any() {
            let end = self.clock.global(Timestamp::from_ticks(self.last_stamp()));
            self.found.damage.phases = self.phases.finish(end.ns());
        }
        self.found
    }
}

impl Process<'_> {
    /// The last that is known of it.
    fn last_seen(&self, communicators: &Communicators) -> LastSeen {
        let trace = &self.file.trace;
        let readings = trace.anchors.iter().map(|anchor| anchor.ticks.get());
        let readings = readings.filter(|&ticks| ticks <= self.limits.last_ticks());
        let last_ticks = readings.max().unwrap_or(0).max(self.last_stamp());
        let mut first = 0;
        let threads = trace.chunks.chunk_by(|a, b| a.thread == b.thread);
        let last_of_threads = threads.filter_map(|chunks| {
            let place = last_place(chunks, first, has_returned);
            first += chunks.len();
            Some(self.reader.record(place?))
        });
        let mut returned: Vec<Record> = last_of_threads
            .filter(|record| record.leave.get() <= self.limits.last_ticks())
            .collect();
        returned.sort_by_key(|record| record.enter.get());
        let last_begun = returned.last().map(|record| record.enter.get());
        let last = returned.iter().max_by_key(|record| record.leave.get());
        LastSeen {
            at: self.at(last_ticks),
            returned: last.map(|record| {
                let is_last_begun = Some(record.enter.get()) == last_begun;
                self.last_call(record, is_last_begun, communicators)
            }),
        }
    }

    /// A call that has returned, behind which there is no other one of its thread, nor
    /// (if `is_last_begun`) of the process that has returned.
    fn last_call(
        &self,
        record: &Record,
        is_last_begun: bool,
        communicators: &Communicators,
    ) -> LastCall {
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
                let sequence = self.position_of_last(record, communicators);
                let sequence = sequence.filter(|_| is_last_begun);
                (record.operation(), None, communicator, sequence)
            }
        };
        let binding = communicator.and_then(|index| communicators.binding(self.index, index));
        let communicator = binding
            .map(|binding| communicators.bindings[self.index][binding].communicator as usize);
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
    fn position_of_last(&self, record: &Record, communicators: &Communicators) -> Option<u64> {
        if !record.operation()?.takes_position() {
            return None;
        }
        let binding = binding(communicators, self.index, record)?;
        let n_begun = self.queues[binding].next_on(Lane::Application);
        // Another thread may be in a call on it that began later.
        let communicator = communicators.bindings[self.index][binding].communicator as usize;
        let in_flight = self.found.damage.in_flight.iter();
        let n_in_flight = in_flight.filter(|call| {
            call.lane == Some(Lane::Application)
                && call.completing.is_none()
                && call.communicator == Some(communicator)
        });
        n_begun.checked_sub(1 + n_in_flight.count() as u64)
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

/// The binding of what a record was called on.
#[inline]
fn binding(communicators: &Communicators, process: usize, record: &Record) -> Option<usize> {
    match record.communicator.get() {
        UNKNOWN_COMMUNICATOR => None,
        index => communicators.binding(process, index),
    }
}

/// Whether a recorder says that this layer was on.
fn has_layer(file: &RankFile<'_>, name: &str) -> bool {
    let mut layers = file.trace.identity.layers.iter();
    layers.any(|layer| layer.name == name && layer.on)
}

/// The chunks of a thread, and the number of the first of them in the file.
fn of_thread<'c, 'a>(chunks: &'c [Chunk<'a>], thread: u32) -> (usize, &'c [Chunk<'a>]) {
    let first = chunks.partition_point(|chunk| chunk.thread < thread);
    let n = chunks[first..].partition_point(|chunk| chunk.thread == thread);
    (first, &chunks[first..first + n])
}

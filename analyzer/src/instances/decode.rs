//! From record locations to instances: decodes the calls of all members at consecutive positions of
//! a call order.
//!
//! The records of one process are contiguous, those of an instance are not. So a block of positions
//! is decoded process by process into columns; each row is an instance. A row in which every
//! process entered and left at possible times, in calls that differ only in time and payload, is a
//! complete instance; other rows are assembled call by call.

use std::ops::Range;

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CODE_FAILED, CommunicatorKind, Operation, RecordWord};
use collbench_trees::shape::ShapeKey;

use crate::calls::call::{Call, Candidate};
use crate::calls::outstanding::OverlapTimes;
use crate::calls::process::Process;
use crate::calls::queue::Queue;
use crate::calls::time_in_mpi::TimeInMpi;
use crate::communicators::Communicator;
use crate::instances::columns::{Block, Columns, Row, stride};
use crate::instances::complete::{
    CompleteInstance, Disagreement, Extent, Payloads, agree, is_open_fence,
};
use crate::instances::member_calls::{
    MemberCalls, MessageSource, Positions, gather, is_mixed, lost_slots, not_before_ns,
};
use crate::instances::outcome::Outcome;
use crate::messages::gather::Gatherer;
use crate::messages::recurrence::RecurrenceKey;
use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::{CallOrder, CallPosition, RecordAt};
use crate::trace::records::LastBlock;

/// Positions of nonblocking calls that are ready to be decoded, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Settled {
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    pub(crate) communicator: usize,
    pub(crate) call_order: CallOrder,
    pub(crate) positions: Vec<u64>,
}

/// The phase of a row: its level, or one of these.
const NO_PHASE: i64 = i64::MAX;
const SEVERAL_PHASES: i64 = i64::MIN;

/// Decodes blocks, with buffers that are reused.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    rows: Vec<Row>,
    enters: Vec<Timestamp<Global>>,
    leaves: Vec<Timestamp<Global>>,
    /// Filled only where payloads differ within instances: see [`Decoder::decode_columns`].
    words: Vec<RecordWord>,
    keeps_words: bool,
    /// From where calls were made, by cell; empty where that was not recorded.
    sites: Vec<u32>,
    /// Threads that made calls, by cell; empty where only the first of any process did.
    threads: Vec<u32>,
    payloads: Vec<Option<u64>>,
    calls: Vec<Option<Call>>,
    n_begun: Vec<u64>,
    called_on: Vec<Option<usize>>,
    overlaps: Vec<OverlapTimes>,
    time_in_mpi: TimeInMpi,
    /// Where the records stand, by cell; kept only where messages were recorded.
    locations: Vec<Option<RecordAt>>,
    /// Locations of the records of a part that is decoded call by call, between regular rows of the
    /// block.
    locations_of_part: Vec<Option<RecordAt>>,
    gatherer: Gatherer,
}

/// Calls per block, about: they fit into the second-level cache.
const BLOCK_CALLS: usize = 8192;

/// Positions per block, for a communicator of this many members. Calls with messages take longer:
/// there are fewer of them in a window, which all workers are to have a share of.
pub(crate) fn block_length(n_members: usize, has_messages: bool) -> u64 {
    let calls = if has_messages {
        BLOCK_CALLS / 8
    } else {
        BLOCK_CALLS
    };
    (calls / n_members.max(1)).clamp(8, 512) as u64
}

/// Number of instances whose messages are gathered together, for this many members: several records
/// of each process, but no more than fit into the second-level cache.
fn instances_together(n_members: usize) -> usize {
    (1024 / n_members.max(1)).clamp(1, 16)
}

/// Which layers besides calls any process recorded.
#[derive(Clone, Copy)]
struct RecordedLayers {
    messages: bool,
    /// Messages, notes on algorithms, or passes of event collectors.
    any: bool,
}

/// Notes where the records of a block stand, by row and slot, if anything that is behind them was
/// recorded by anyone; gives whether it was.
fn note_locations(
    locations: &mut Vec<Option<RecordAt>>,
    block: &Block,
    sources: &[Option<MemberCalls<'_, '_>>],
) -> RecordedLayers {
    let of_any = |is: fn(&Process<'_>) -> bool| sources.iter().flatten().any(|s| is(s.process));
    let recorded = RecordedLayers {
        messages: of_any(|process| process.has_messages),
        any: of_any(|process| process.has_messages || process.has_algorithms || process.has_trees),
    };
    if recorded.any {
        let n = sources.len();
        locations.clear();
        locations.resize((block.to - block.from) as usize * n, None);
        for (slot, source) in sources.iter().enumerate() {
            let queue = source.and_then(|source| source.queue).into_iter();
            for run in queue.flat_map(|queue| queue.within(block.from, block.to)) {
                for i in 0..run.n {
                    let row = (run.position - block.from) as usize + i as usize;
                    locations[row * n + slot] = Some(RecordAt {
                        record: run.location.record + i,
                        ..run.location
                    });
                }
            }
        }
    }
    recorded
}

/// A block while its rows are passed on.
#[derive(Clone, Copy)]
struct BlockContext<'b, 'p, 'a> {
    block: &'b Block,
    sources: &'b [Option<MemberCalls<'p, 'a>>],
    communicator: &'b Communicator,
    recorded: RecordedLayers,
    /// Whether messages of others may stand among those behind calls.
    may_be_mixed: bool,
    /// Whether any call says that it is older than one before it.
    has_late: bool,
}

/// A row that is a complete instance.
#[derive(Clone, Copy)]
struct RegularRow {
    /// Its number in the block.
    at: usize,
    /// Its number among those whose messages are gathered together, if any are.
    nth: usize,
    operation: Operation,
    root: Option<usize>,
}

/// What stands in a row of `n` members; nothing where there are no cells.
fn row_of(cells: &[u32], at: usize, n: usize) -> &[u32] {
    if cells.is_empty() {
        return &[];
    }
    &cells[at * stride(n)..][..n]
}

impl Decoder {
    /// Passes the instances of a block to `sink`. `sources` are by slot; `None`: no call was made.
    pub(crate) fn decode(
        &mut self,
        block: &Block,
        sources: &[Option<MemberCalls<'_, '_>>],
        communicator: &Communicator,
        sink: &mut dyn FnMut(Outcome<'_>),
    ) {
        // Of these no instance could be regular.
        let is_plain = communicator.is_whole
            && communicator.kind == CommunicatorKind::Intra
            && block.call_order != CallOrder::Creation;
        if !is_plain {
            self.decode_calls(block, sources, communicator, sink);
            return;
        }
        self.decode_columns(block, sources);
        let of = BlockContext {
            block,
            sources,
            communicator,
            recorded: note_locations(&mut self.locations, block, sources),
            may_be_mixed: sources.iter().flatten().any(|s| s.process.may_be_mixed()),
            has_late: (sources.iter().flatten()).any(|s| s.queue.is_some_and(Queue::has_late)),
        };
        let part = |from: u64, to: u64| Block { from, to, ..*block };
        let mut gathered = 0..0;
        let mut irregular_from = None;
        for at in 0..self.rows.len() {
            let row = self.rows[at];
            let position = block.from + at as u64;
            if let Some((operation, root)) = regular(&row, communicator) {
                if is_nonblocking(operation, block.call_order) {
                    continue;
                }
                if let Some(from) = irregular_from.take() {
                    self.decode_calls(&part(from, position), sources, communicator, sink);
                    // It has gathered messages of its own.
                    gathered = 0..0;
                }
                if of.recorded.any && !gathered.contains(&at) {
                    gathered = self.gather_rows(&of, at);
                }
                let regular = RegularRow {
                    at,
                    nth: at.wrapping_sub(gathered.start),
                    operation,
                    root,
                };
                self.emit_row(&of, regular, sink);
            } else if row.n_calls > 0 {
                irregular_from.get_or_insert(position);
            }
        }
        if let Some(from) = irregular_from {
            self.decode_calls(&part(from, block.to), sources, communicator, sink);
        }
    }

    /// Gathers messages and notes of the calls of several rows, beginning with `at`; returns the
    /// range of rows.
    fn gather_rows(&mut self, of: &BlockContext<'_, '_, '_>, at: usize) -> Range<usize> {
        let BlockContext {
            block,
            communicator,
            sources,
            ..
        } = *of;
        let n = sources.len();
        let gathered = at..self.rows.len().min(at + instances_together(n));
        let recurrence_keys = self.rows[gathered.clone()].iter();
        let recurrence_keys =
            recurrence_keys.map(|row| recurrence_key(row, block.communicator, communicator));
        self.gatherer
            .begin(recurrence_keys, block.communicator, communicator);
        let message_source = MessageSource::AfterCalls(&self.locations[at * n..gathered.end * n]);
        let positions = Positions {
            from: block.from + at as u64,
            n: gathered.len(),
        };
        gather(&mut self.gatherer, positions, sources, &message_source);
        gathered
    }

    /// Passes the instance of a row to `sink`.
    #[inline]
    fn emit_row(
        &mut self,
        of: &BlockContext<'_, '_, '_>,
        regular: RegularRow,
        sink: &mut dyn FnMut(Outcome<'_>),
    ) {
        let BlockContext {
            block,
            communicator,
            sources,
            recorded,
            may_be_mixed,
            has_late,
        } = *of;
        let RegularRow {
            at,
            nth,
            operation,
            root,
        } = regular;
        let row = self.rows[at];
        let n = sources.len();
        let position = block.from + at as u64;
        let payloads = match row.differing {
            0 => Payloads::Same(row.word.payload_bytes()),
            _ => {
                let words = &self.words[at * stride(n)..][..n];
                self.payloads.clear();
                self.payloads
                    .extend(words.iter().map(|word| word.payload_bytes()));
                Payloads::Each(&self.payloads)
            }
        };
        let enters = &self.enters[at * stride(n)..][..n];
        let leaves = &self.leaves[at * stride(n)..][..n];
        let locations = if recorded.messages {
            &self.locations[at * n..(at + 1) * n]
        } else {
            &[]
        };
        let is_mixed = may_be_mixed && is_mixed(sources, position, locations);
        let reported = if recorded.any {
            self.gatherer.reported(nth)
        } else {
            None
        };
        let passes = if recorded.any {
            self.gatherer.take_passes(nth)
        } else {
            Vec::new()
        };
        let messages = (recorded.messages && !is_mixed).then(|| {
            let of = shape_of(communicator, operation, root);
            self.gatherer.pair(nth, of)
        });
        sink(Outcome::Complete(CompleteInstance {
            communicator,
            communicator_index: block.communicator,
            call_order: block.call_order,
            position,
            called_on: None,
            operation,
            root,
            enters,
            leaves,
            extent: Extent::of_all(enters, leaves),
            not_before_ns: if has_late {
                not_before_ns(sources, position)
            } else {
                None
            },
            payloads,
            overlaps: None,
            time_in_mpi: None,
            phase: i32::try_from(row.phase).ok(),
            sites: row_of(&self.sites, at, n),
            threads: row_of(&self.threads, at, n),
            n_failed: if row.word.has(CODE_FAILED) {
                n as u64
            } else {
                0
            },
            is_open_fence: is_open_fence(operation, row.root),
            reported,
            messages,
            passes: &passes,
        }));
        if recorded.any {
            self.gatherer.reuse(nth, passes);
        }
    }

    /// Decodes a block, with the second words of all records if the block before had instances
    /// in which these differ, and a second time if only this one has.
    fn decode_columns(&mut self, block: &Block, sources: &[Option<MemberCalls<'_, '_>>]) {
        self.fill_columns(block, sources);
        let differs = self.rows.iter().any(|row| row.differing != 0);
        if differs && !self.keeps_words {
            self.keeps_words = true;
            self.fill_columns(block, sources);
        }
        self.keeps_words = differs;
    }

    fn fill_columns(&mut self, block: &Block, sources: &[Option<MemberCalls<'_, '_>>]) {
        let n_rows = (block.to - block.from) as usize;
        let stride = stride(sources.len());
        self.rows.clear();
        let nothing = Row {
            phase: NO_PHASE,
            ..Row::default()
        };
        self.rows.resize(n_rows, nothing);
        // What is left of another block is overwritten wherever a call is, and not read
        // elsewhere.
        let n_cells = n_rows * stride;
        if self.enters.len() < n_cells {
            self.enters.resize(n_cells, Timestamp::from_ns(0));
            self.leaves.resize(n_cells, Timestamp::from_ns(0));
        }
        if self.keeps_words && self.words.len() < n_cells {
            self.words.resize(n_cells, RecordWord::default());
        }
        let words = self.keeps_words.then_some(&mut self.words[..]);
        let mut columns = Columns {
            rows: &mut self.rows,
            enters: &mut self.enters,
            leaves: &mut self.leaves,
            words,
            stride,
        };
        let mut n_calls = 0;
        for (slot, source) in sources.iter().enumerate() {
            if let Some(source) = source {
                n_calls += columns.fill(slot, block, source);
            }
        }
        self.fill_marks(block, sources);
        // No slot has two calls at a position: as many as there are cells are one in each.
        if n_calls == n_rows * sources.len() {
            let n = sources.len() as u32;
            self.rows.iter_mut().for_each(|row| row.n_calls = n);
        } else {
            self.count_calls(block, sources)
        }
    }

    /// Notes from where, by which threads and in which phases the calls of a block were made, where that was recorded.
    fn fill_marks(&mut self, block: &Block, sources: &[Option<MemberCalls<'_, '_>>]) {
        let of_any = |is: fn(&Process<'_>) -> bool| sources.iter().flatten().any(|s| is(s.process));
        let has_sites = of_any(|process| process.call_sites.has_any());
        let has_threads = of_any(|process| process.has_threads);
        let has_phases = of_any(|process| process.phases.has_any());
        let stride = stride(sources.len());
        let n_cells = self.rows.len() * stride;
        self.sites.clear();
        self.threads.clear();
        if has_sites {
            self.sites.resize(n_cells, NO_SITE);
        }
        if has_threads {
            self.threads.resize(n_cells, 0);
        }
        if !has_sites && !has_threads && !has_phases {
            return;
        }
        for (slot, source) in sources.iter().enumerate() {
            let Some((process, queue)) = source.and_then(|s| Some((s.process, s.queue?))) else {
                continue;
            };
            for run in queue.within(block.from, block.to) {
                let first = (run.position - block.from) as usize;
                let rows = first..first + run.n as usize;
                if has_sites {
                    for at in rows.clone() {
                        self.sites[at * stride + slot] = run.site;
                    }
                }
                if has_threads {
                    let thread = process.thread_of(run.location);
                    for at in rows.clone() {
                        self.threads[at * stride + slot] = thread;
                    }
                }
                if has_phases {
                    let level = process.phases.level(run.phase).map_or(NO_PHASE, i64::from);
                    for row in &mut self.rows[rows] {
                        row.phase = if slot == 0 || row.phase == level {
                            level
                        } else {
                            SEVERAL_PHASES
                        };
                    }
                }
            }
        }
    }

    #[cold]
    fn count_calls(&mut self, block: &Block, sources: &[Option<MemberCalls<'_, '_>>]) {
        for source in sources.iter().flatten() {
            let queue = source.queue.into_iter();
            for run in queue.flat_map(|queue| queue.within(block.from, block.to)) {
                let first = (run.position - block.from) as usize;
                let rows = &mut self.rows[first..first + run.n as usize];
                rows.iter_mut().for_each(|row| row.n_calls += 1);
            }
        }
    }

    /// Decodes rows that are not regular, call by call.
    #[cold]
    fn decode_calls(
        &mut self,
        block: &Block,
        sources: &[Option<MemberCalls<'_, '_>>],
        communicator: &Communicator,
        sink: &mut dyn FnMut(Outcome<'_>),
    ) {
        let n = sources.len();
        let n_rows = (block.to - block.from) as usize;
        let mut calls = std::mem::take(&mut self.calls);
        let mut called_on = std::mem::take(&mut self.called_on);
        let mut n_begun = std::mem::take(&mut self.n_begun);
        count_begun(&mut n_begun, sources);
        let mut locations = std::mem::take(&mut self.locations_of_part);
        let recorded = note_locations(&mut locations, block, sources);
        calls.clear();
        calls.resize(n_rows * n, None);
        called_on.clear();
        called_on.resize(n_rows, None);
        for (slot, source) in sources.iter().enumerate() {
            let Some((process, queue)) = source.and_then(|s| Some((s.process, s.queue?))) else {
                continue;
            };
            let mut last = LastBlock::default();
            for run in queue.within(block.from, block.to) {
                process.reader().each(&run, &mut last, |n_before, records| {
                    let first = (run.position - block.from) as usize + n_before;
                    for (i, record) in records.iter().enumerate() {
                        let location = run.location.plus(n_before + i);
                        let call = process.call(record, location, run.is_possible);
                        let phase = process.phases.level(run.phase);
                        let site = (run.site != NO_SITE).then_some(run.site);
                        let call = call.map(|call| Call {
                            phase,
                            site,
                            ..call
                        });
                        calls[(first + i) * n + slot] = call;
                        if block.call_order == CallOrder::Creation && called_on[first + i].is_none()
                        {
                            called_on[first + i] = process.called_on(record);
                        }
                    }
                });
            }
        }
        for (at, position) in (block.from..block.to).enumerate() {
            let calls = &calls[at * n..][..n];
            let is_nonblocking = |call: &Call| is_nonblocking(call.operation, block.call_order);
            // Operations that were only initiated are passed on when they are complete.
            if calls.iter().flatten().any(|call| !is_nonblocking(call)) {
                let lost = lost_slots(
                    calls,
                    sources,
                    CallPosition {
                        call_order: block.call_order,
                        position,
                    },
                );
                let instance = Candidate {
                    communicator,
                    communicator_index: block.communicator,
                    call_order: block.call_order,
                    position,
                    calls,
                    lost: &lost,
                    n_begun: &n_begun,
                    called_on: called_on[at],
                    not_before_ns: not_before_ns(sources, position),
                };
                let recorded = RecordedOfInstance {
                    message_source: recorded
                        .any
                        .then(|| MessageSource::AfterCalls(&locations[at * n..][..n])),
                    has_messages: recorded.messages,
                };
                self.emit(&instance, sources, recorded, sink);
            }
        }
        (self.calls, self.called_on, self.n_begun) = (calls, called_on, n_begun);
        self.locations_of_part = locations;
    }

    /// Passes on nonblocking calls that are complete, or whose processes have ended.
    pub(crate) fn decode_settled(
        &mut self,
        settled: &Settled,
        sources: &[Option<MemberCalls<'_, '_>>],
        communicator: &Communicator,
        sink: &mut dyn FnMut(Outcome<'_>),
    ) {
        let mut calls = std::mem::take(&mut self.calls);
        let mut n_begun = std::mem::take(&mut self.n_begun);
        count_begun(&mut n_begun, sources);
        let has_messages = sources.iter().flatten().any(|s| s.process.has_messages);
        let has_algorithms = sources.iter().flatten().any(|s| s.process.has_algorithms);
        for &position in &settled.positions {
            calls.clear();
            calls.extend(sources.iter().map(|source| {
                let source = source.as_ref()?;
                let begun = source.queue?.outstanding.get(position)?;
                source
                    .process
                    .initiated_call(source.local_comm, settled.call_order, begun)
            }));
            self.time_in_mpi.clear();
            for source in sources.iter().filter(|_| has_messages) {
                let source = source.as_ref();
                let begun = source.and_then(|s| s.queue?.outstanding.get(position));
                let spans = source.zip(begun).and_then(|(source, begun)| {
                    let has_messages = source.process.has_messages;
                    begun
                        .time_in_mpi(source.process.clock())
                        .filter(|_| has_messages)
                });
                self.time_in_mpi.push(spans);
            }
            let lost = lost_slots(
                &calls,
                sources,
                CallPosition {
                    call_order: settled.call_order,
                    position,
                },
            );
            let instance = Candidate {
                communicator,
                communicator_index: settled.communicator,
                call_order: settled.call_order,
                position,
                calls: &calls,
                lost: &lost,
                n_begun: &n_begun,
                called_on: None,
                not_before_ns: not_before_ns(sources, position),
            };
            let recorded = RecordedOfInstance {
                message_source: (has_messages || has_algorithms).then_some(MessageSource::Retained),
                has_messages,
            };
            self.emit(&instance, sources, recorded, sink);
        }
        (self.calls, self.n_begun) = (calls, n_begun);
    }

    fn emit(
        &mut self,
        instance: &Candidate<'_>,
        sources: &[Option<MemberCalls<'_, '_>>],
        recorded: RecordedOfInstance<'_>,
        sink: &mut dyn FnMut(Outcome<'_>),
    ) {
        let RecordedOfInstance {
            message_source,
            has_messages,
        } = recorded;
        let agreement: Result<_, Disagreement> = agree(instance);
        let (operation, root) = match agreement {
            Ok(agreement) if instance.is_complete() => agreement,
            _ => {
                sink(Outcome::Irregular {
                    instance: *instance,
                    disagreement: agreement.err(),
                });
                return;
            }
        };
        let calls = || instance.calls.iter().flatten();
        let enters: Vec<_> = calls().map(|call| call.enter).collect();
        let leaves: Vec<_> = calls().filter_map(|call| call.leave).collect();
        let payloads: Vec<_> = calls().map(|call| call.payload).collect();
        let sites: Vec<u32> = if calls().any(|call| call.site.is_some()) {
            calls().map(|call| call.site.unwrap_or(NO_SITE)).collect()
        } else {
            Vec::new()
        };
        let threads: Vec<u32> = if calls().any(|call| call.thread > 0) {
            calls().map(|call| call.thread).collect()
        } else {
            Vec::new()
        };
        self.overlaps.clear();
        self.overlaps
            .extend(calls().filter_map(|call| call.overlap));
        let is_nonblocking = self.overlaps.len() == instance.calls.len();
        let has_time_in_mpi =
            has_messages && matches!(message_source, Some(MessageSource::Retained));
        let mut reported = None;
        let mut passes = Vec::new();
        if let Some(message_source) = &message_source {
            let (index, communicator) = (instance.communicator_index, instance.communicator);
            let recurrence_key = std::iter::once(None);
            self.gatherer.begin(recurrence_key, index, communicator);
            let positions = Positions {
                from: instance.position,
                n: 1,
            };
            gather(&mut self.gatherer, positions, sources, message_source);
            reported = self.gatherer.reported(0);
            passes = self.gatherer.take_passes(0);
        }
        let message_source = message_source.filter(|message_source| match message_source {
            MessageSource::AfterCalls(locations) => {
                !is_mixed(sources, instance.position, locations)
            }
            MessageSource::Retained => true,
        });
        let messages = message_source.filter(|_| has_messages).map(|_| {
            let of = ShapeKey {
                n_slots: enters.len(),
                ..shape_of(instance.communicator, operation, root)
            };
            self.gatherer.pair(0, of)
        });
        sink(Outcome::Complete(CompleteInstance {
            communicator: instance.communicator,
            communicator_index: instance.communicator_index,
            call_order: instance.call_order,
            position: instance.position,
            called_on: instance.called_on,
            operation,
            root,
            enters: &enters,
            leaves: &leaves,
            extent: Extent::of_all(&enters, &leaves),
            not_before_ns: instance.not_before_ns,
            payloads: Payloads::Each(&payloads),
            overlaps: is_nonblocking.then_some(&self.overlaps[..]),
            time_in_mpi: (is_nonblocking && has_time_in_mpi).then_some(&self.time_in_mpi),
            phase: instance.phase(),
            sites: &sites,
            threads: &threads,
            n_failed: calls().filter(|call| call.has_failed).count() as u64,
            is_open_fence: calls().any(|call| is_open_fence(operation, call.root)),
            reported,
            messages,
            passes: &passes,
        }));
        self.gatherer.reuse(0, passes);
    }
}

/// What was recorded of one instance besides its calls.
struct RecordedOfInstance<'i> {
    /// Where its messages are, and what was said of it, if anything was recorded.
    message_source: Option<MessageSource<'i>>,
    /// Whether its messages were.
    has_messages: bool,
}

/// How many calls of each slot are known to have begun.
fn count_begun(n_begun: &mut Vec<u64>, sources: &[Option<MemberCalls<'_, '_>>]) {
    n_begun.clear();
    let next = |source: &Option<MemberCalls<'_, '_>>| {
        let queue = source.and_then(|source| source.queue);
        queue.map_or(0, |queue| queue.next)
    };
    n_begun.extend(sources.iter().map(next));
}

/// Whether a call in this call order only initiates an operation, which another call completes.
fn is_nonblocking(operation: Operation, call_order: CallOrder) -> bool {
    call_order == CallOrder::Application && operation.is_nonblocking()
}

/// What the messages of an instance make the shape of.
fn shape_of(communicator: &Communicator, operation: Operation, root: Option<usize>) -> ShapeKey {
    ShapeKey {
        operation,
        n_slots: communicator.members.len(),
        root,
        hosts: communicator.host_map(),
    }
}

/// The recurrence key of a row, on a communicator with this index.
fn recurrence_key(row: &Row, index: usize, communicator: &Communicator) -> Option<RecurrenceKey> {
    let (operation, root) = regular(row, communicator)?;
    Some(RecurrenceKey {
        communicator: index,
        of: shape_of(communicator, operation, root),
        magnitude: u64::BITS - row.word.low().leading_zeros(),
    })
}

/// Operation, and slot of the root if there is one, of a row in which every process made the same
/// call, on an intracommunicator with files of all members.
fn regular(row: &Row, communicator: &Communicator) -> Option<(Operation, Option<usize>)> {
    let n = communicator.members.len();
    let differing_code = RecordWord::from_bits(row.differing).code();
    if row.n_calls as usize != n || row.is_irregular || differing_code != 0 {
        return None;
    }
    let operation = Operation::from_code(row.word.number())?;
    if !operation.semantics().is_rooted() {
        return Some((operation, None));
    }
    // All ranks are there, so a rank is a slot.
    let root = usize::try_from(row.root).ok().filter(|&root| root < n)?;
    Some((operation, Some(root)))
}

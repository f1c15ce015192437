//! Sorts the calls of one process into queues, one for each order of calls on each of its
//! communicators.
//!
//! Many processes are read at a time, independently of each other. Calls that cannot be part of an
//! instance are passed on at once.

use std::collections::{BTreeMap, BTreeSet};

use collbench_clocks::rank_clock::{BoundedStamps, RankClock};
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{
    Chunk, Layer, Record, SequenceEntry, UNKNOWN_COMMUNICATOR, UnsuccessfulTests,
};

use crate::calls::algorithms::LastCalls;
use crate::calls::call::Call;
use crate::calls::context::MatchContext;
use crate::calls::findings::ProcessFindings;
use crate::calls::gap::Gaps;
use crate::calls::last_seen::is_own;
use crate::calls::message_owner::Owners;
use crate::calls::noted_sites::NotedSites;
use crate::calls::outstanding::Initiated;
use crate::calls::phases::PhaseClock;
use crate::calls::queue::{Alike, Queue};
use crate::calls::stamps::StampLimits;
use crate::calls::stream::{Batch, CallStream, ChunkStart, guess_enter};
use crate::calls::tags::Tags;
use crate::calls::time_in_mpi::RecentCalls;
use crate::calls::unqueued::Unqueued;
use crate::communicators::persistent::{OwnPersistent, local_of};
use crate::time::clocks::Clocks;
use crate::trace::call_sites::NO_SITE;
use crate::trace::rank_file::RankFile;
use crate::trace::record_at::{CALL_ORDERS, CallOrder, CallPosition, RecordAt};
use crate::trace::records::RecordReader;
use crate::trace::ring_window::WindowBegin;

mod at_end;
mod class;
mod initiations;
mod messages_and_notes;
mod queues;
mod route;

use initiations::AllCompleting;
use messages_and_notes::Unfinished;
use queues::Queues;

/// Records checked and sorted at a time: as many as stay in the nearest cache from one step to the
/// other.
const MAX_BATCH: u64 = 256;

/// One process while its calls are matched.
pub(crate) struct Process<'a> {
    /// Index in the run.
    index: usize,
    context: MatchContext<'a>,
    file: &'a RankFile<'a>,
    clock: RankClock,
    bounded_clock: Option<BoundedStamps>,
    limits: StampLimits,
    reader: RecordReader<'a>,
    stream: CallStream,
    /// Where its records begin, if a ring has overwritten older ones.
    window: Option<WindowBegin>,
    /// Threads whose records have come to where the window begins.
    within_window: BTreeSet<u32>,
    /// By local communicator: the queues of its call orders.
    queues: Vec<Queues>,
    /// Its persistent collectives.
    persistents: &'a [OwnPersistent],
    /// For each of them the queue of its starts.
    starts: Vec<Queue>,
    /// Whether records were lost, so that starts behind cannot be counted.
    has_lost_starts: bool,
    /// Unsuccessful tests whose completion is the thread's next record, by thread.
    tests: BTreeMap<u32, UnsuccessfulTests>,
    /// Calls of several threads that complete collectives, until they return.
    completing: AllCompleting,
    /// The phases that the program marks.
    pub(crate) phases: PhaseClock,
    /// Local communicator (or index of the persistent collective) and call order of each queue of
    /// which something has changed.
    pub(crate) touched: Vec<(u32, CallOrder)>,
    /// Calls waiting in the queues.
    pub(crate) n_queued: u64,
    /// Whether all records were taken.
    pub(crate) has_ended: bool,
    is_end_known: bool,
    /// Whether the messages inside its calls were recorded.
    pub(crate) has_messages: bool,
    /// Whether the algorithms of its calls were noted.
    pub(crate) has_algorithms: bool,
    /// Whether it has spanning trees of our own, whose event collectors may have recorded passes.
    pub(crate) has_trees: bool,
    /// Whether threads besides the first one made calls.
    pub(crate) has_threads: bool,
    /// The numbers of their names, by index of the definition.
    names: &'a [u16],
    /// From where its threads make their calls.
    pub(crate) call_sites: NotedSites<'a>,
    /// The collectives that messages belong to.
    owners: Owners,
    /// By thread: its last call of the application, and the last one of the MPI library itself, if
    /// messages of others may still come that are after it.
    unfinished: BTreeMap<u32, [Option<Unfinished>; 2]>,
    /// Up to when there may be messages among them of what had begun before the window, ticks.
    mixed_until: u64,
    /// Its calls while collectives are under way, if only one thread makes any.
    recent: Option<RecentCalls>,
    /// By thread: location of the last record of the application, once it was searched.
    last_own: BTreeMap<u32, Option<RecordAt>>,
    last_calls: LastCalls,
    /// Gaps between recorded calls of its threads.
    gaps: Gaps,
    /// From the first enter to the last leave of the collectives of each thread, ticks, if several threads make calls.
    threads: BTreeMap<u32, [u64; 2]>,
    /// When the latest of the records so far began, ticks, if several threads make calls.
    reached: u64,
    /// When the latest of the calls of the application that were read began, ticks; 0 before the first.
    read_to: u64,
    /// Findings in its records.
    pub(crate) found: RecordFindings,
}

/// Findings in the records of a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordFindings {
    pub(crate) n_unknown_records: u64,
    /// Messages that the MPI library sent.
    pub(crate) n_sent: u64,
    /// Receives that it posted.
    pub(crate) n_received: u64,
    /// Passes of event collectors.
    pub(crate) n_passes: u64,
    pub(crate) n_abandoned: u64,
    /// Completions that fit no initiation that is under way.
    pub(crate) n_stray_completions: u64,
    /// Records from before the window of a ring, and completions of what was begun before.
    pub(crate) n_before_window: u64,
    pub(crate) of_process: ProcessFindings,
}

impl<'a> Process<'a> {
    pub(crate) fn new(
        index: usize,
        file: &'a RankFile<'a>,
        names: &'a [u16],
        sites: &'a [u32],
        clocks: &Clocks,
        context: MatchContext<'a>,
        limits: StampLimits,
    ) -> Self {
        let persistents = &context.persistents.of[index][..];
        let reader = RecordReader::new(&file.trace.chunks, clocks.processes.len());
        let n_local_comms = context.communicators.local_comms[index].len();
        let is_ring = file.trace.window.is_some();
        let mut this = Self {
            index,
            context,
            file,
            bounded_clock: clocks.processes[index]
                .for_many()
                .up_to(limits.last_ticks()),
            clock: clocks.processes[index].clone(),
            limits,
            stream: CallStream::new(&reader, limits, is_ring),
            reader,
            window: WindowBegin::of(file.trace.window.as_ref()),
            within_window: BTreeSet::new(),
            queues: std::iter::repeat_with(Queues::default)
                .take(n_local_comms)
                .collect(),
            persistents,
            starts: std::iter::repeat_with(Queue::default)
                .take(persistents.len())
                .collect(),
            has_lost_starts: false,
            tests: BTreeMap::new(),
            completing: AllCompleting::default(),
            phases: PhaseClock::default(),
            touched: Vec::new(),
            n_queued: 0,
            has_ended: false,
            is_end_known: false,
            has_messages: file.has_layer(Layer::Messages),
            has_algorithms: !names.is_empty(),
            has_trees: context.communicators.trees.are_of(index),
            names,
            call_sites: NotedSites::new(sites),
            owners: Owners::new(
                Tags::of(&file.trace.identity.mpi),
                persistents.iter().map(|own| own.on),
            ),
            unfinished: BTreeMap::new(),
            mixed_until: 0,
            has_threads: file.trace.chunks.iter().any(|chunk| chunk.thread > 0),
            recent: (file.trace.chunks.iter())
                .all(|chunk| chunk.thread == file.trace.chunks[0].thread)
                .then(RecentCalls::default),
            last_own: BTreeMap::new(),
            last_calls: LastCalls::new(),
            gaps: Gaps::new(file, limits.first_ticks()),
            threads: BTreeMap::new(),
            reached: 0,
            read_to: 0,
            found: RecordFindings::default(),
        };
        this.begin_window();
        this
    }

    /// Initializes the positions from where the window of a ring begins.
    fn begin_window(&mut self) {
        let Some(window) = self.window.take() else {
            return;
        };
        for (&index, &[calls, internal]) in &window.calls {
            if let Some(local_comm) = self.context.communicators.local_comm(self.index, index) {
                self.touch(local_comm, CallOrder::Application).next = calls;
                self.touch(local_comm, CallOrder::Internal).next = internal;
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
        if self.has_messages {
            self.mixed_until = window.last_completed(&self.reader);
            self.owners.begin_at(self.mixed_until);
        }
        self.window = Some(window);
    }

    /// Whether the process has made the call at a position of a call order of a local communicator
    /// (or of its persistent collective of this index) that a ring has overwritten, if it is not
    /// there.
    pub(crate) fn has_lost(&self, local_comm: usize, at: CallPosition) -> bool {
        let Some(window) = &self.window else {
            return false;
        };
        let index = match at.call_order {
            CallOrder::Persistent(_) => self.persistents[local_comm].index,
            _ => self.context.communicators.local_comms[self.index][local_comm].index,
        };
        window.has_lost(at.call_order, index, at.position)
    }

    /// Skips the records of a batch from before the window, of a thread that has made few calls
    /// since; gives how many there are. Behind the first from the window there are none, whatever a
    /// damaged one says: where batches end must not matter.
    fn skip_before_window(&mut self, batch: &Batch<'_>, until: u64) -> usize {
        let thread = self.thread_of(batch.location);
        if !batch.is_possible || self.within_window.contains(&thread) {
            return 0;
        }
        let is_before = |record: &&Record| record.enter.get() < until;
        let n = batch.records.iter().take_while(is_before).count();
        if n < batch.records.len() {
            self.within_window.insert(thread);
        }
        self.found.n_before_window += n as u64;
        let own = batch.records[..n].iter().rposition(is_own);
        if let Some(at) = own
            && let last = &batch.records[at]
            && last.leave.get() == 0
            && last.operation().is_some()
        {
            let location = RecordAt {
                record: batch.location.record + at as u32,
                ..batch.location
            };
            if self.is_last_own(location) {
                self.note_under_way(last, location, batch.is_possible, None);
            }
        }
        n
    }

    /// Index in [`Communicators::list`](crate::communicators::Communicators::list) of that of a touched queue.
    pub(crate) fn communicator_of(&self, local_comm: u32, call_order: CallOrder) -> usize {
        match call_order {
            CallOrder::Persistent(number) => {
                self.context.persistents.list[number as usize].communicator
            }
            _ => {
                self.context.communicators.local_comms[self.index][local_comm as usize].communicator
                    as usize
            }
        }
    }

    /// Number of communicators that it has defined.
    pub(crate) fn n_local_comms(&self) -> usize {
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

    /// The queue of a local communicator and call order; `None` if it was never used, or nothing is
    /// left. (For a persistent call order: of the process's persistent collective of this index.)
    #[inline]
    pub(crate) fn queue(&self, local_comm: usize, call_order: CallOrder) -> Option<&Queue> {
        if let CallOrder::Persistent(_) = call_order {
            return self.starts.get(local_comm);
        }
        match &self.queues[local_comm] {
            Queues::InUse(queues) => Some(&queues[call_order.index()]),
            _ => None,
        }
    }

    fn queue_mut(&mut self, local_comm: usize, call_order: CallOrder) -> Option<&mut Queue> {
        if let CallOrder::Persistent(_) = call_order {
            return self.starts.get_mut(local_comm);
        }
        match &mut self.queues[local_comm] {
            Queues::InUse(queues) => Some(&mut queues[call_order.index()]),
            _ => None,
        }
    }

    /// Frees the queues of a local communicator if they are empty.
    pub(crate) fn put_away(&mut self, local_comm: usize) {
        self.queues[local_comm].put_away();
    }

    /// Position of the next call on a call order, from 0, or of the last one as long as it is not
    /// known which of the messages behind it are its own; `u64::MAX` if none can come.
    /// (`local_comm` as in [`queue`](Self::queue).)
    #[inline]
    pub(crate) fn next_on(&self, local_comm: usize, call_order: CallOrder) -> u64 {
        match (self.has_ended, call_order) {
            (true, _) => u64::MAX,
            (false, CallOrder::Persistent(_)) => self.starts[local_comm].next,
            (false, _) => {
                let next = self.queues[local_comm].next_on(call_order);
                next.min(self.first_unfinished(local_comm, call_order))
            }
        }
    }

    /// When the first of its calls began that were not passed on yet, or not read, at the earliest, ns: one that says it is
    /// older than a call before it counts as begun when that did.
    pub(crate) fn pending_from_ns(&self) -> i64 {
        let in_use = self.queues.iter().filter_map(|queues| match queues {
            Queues::InUse(queues) => Some(queues),
            _ => None,
        });
        let queues = in_use.flat_map(|queues| queues.iter()).chain(&self.starts);
        let pending = queues.filter_map(|queue| {
            let first = queue.first_possible().map(|run| {
                let enter = self.reader.record(run.location).enter.get();
                queue.late(run.position).unwrap_or(enter)
            });
            let initiated = queue.outstanding.first_possible();
            let initiated = initiated.map(|of| of.late.unwrap_or(of.record.enter.get()));
            first.into_iter().chain(initiated).min()
        });
        let unread = (!self.has_ended).then_some(self.read_to);
        match pending.chain(unread).min() {
            Some(ticks) => self.at(ticks).ns(),
            None => i64::MAX,
        }
    }

    /// Local communicator, call order and position of the call that has waited longest.
    pub(crate) fn oldest(&self) -> Option<(usize, CallOrder, u64)> {
        let local_comms = self.queues.iter().enumerate();
        let fronts = local_comms.flat_map(|(local_comm, queues)| {
            let in_use = match queues {
                Queues::InUse(queues) => Some(queues),
                _ => None,
            };
            let call_orders = in_use
                .into_iter()
                .flat_map(|queues| CALL_ORDERS.iter().zip(&**queues));
            call_orders.filter_map(move |(call_order, queue)| {
                Some((queue.front()?, local_comm, *call_order))
            })
        });
        let starts = self.starts.iter().zip(self.persistents).enumerate();
        let starts = starts.filter_map(|(local, (queue, own))| {
            Some((queue.front()?, local, CallOrder::Persistent(own.persistent)))
        });
        let oldest = fronts.chain(starts).min_by_key(|(run, ..)| run.location)?;
        Some((oldest.1, oldest.2, oldest.0.position))
    }

    /// The numbers of the names of its library's algorithms, by index of the definition.
    pub(crate) fn names(&self) -> &'a [u16] {
        self.names
    }

    /// Finds its records.
    #[inline]
    pub(crate) fn reader(&self) -> &RecordReader<'a> {
        &self.reader
    }

    fn chunks(&self) -> &'a [Chunk<'a>] {
        &self.file.trace.chunks
    }

    /// Converts the ticks of calls whose stamps can be true to the time of the analysis, if it is a clock without
    /// damage.
    #[inline]
    pub(crate) fn bounded_clock(&self) -> Option<BoundedStamps> {
        self.bounded_clock
    }

    /// Converts ticks to the time of the analysis.
    #[inline]
    pub(crate) fn clock(&self) -> &RankClock {
        &self.clock
    }

    /// The call of an initiated operation, with its completion.
    pub(crate) fn initiated_call(
        &self,
        local: usize,
        call_order: CallOrder,
        initiated: &Initiated,
    ) -> Option<Call> {
        let own = match call_order {
            CallOrder::Persistent(_) => self.persistents.get(local),
            _ => None,
        };
        let call = self.call(&initiated.record, initiated.location, initiated.is_possible)?;
        let has_begun = call.leave.is_some() && initiated.is_possible;
        let at = |ticks| self.clock.global(Timestamp::from_ticks(ticks));
        Some(Call {
            root: own.map_or(call.root, |own| own.root),
            payload: own.map_or(call.payload, |own| own.payload),
            leave: initiated.leave_ticks().filter(|_| has_begun).map(at),
            overlap: has_begun.then(|| initiated.overlap(&self.clock)),
            phase: initiated.phase,
            site: initiated.site,
            ..call
        })
    }

    /// The call of a record; `None` where its operation is not known. Of one that is
    /// nonblocking it is the initiation.
    pub(crate) fn call(
        &self,
        record: &Record,
        location: RecordAt,
        is_possible: bool,
    ) -> Option<Call> {
        let at = |ticks| self.clock.global(Timestamp::from_ticks(ticks));
        let enter = if is_possible {
            at(record.enter.get())
        } else {
            at(guess_enter(&self.reader, &self.limits, location))
        };
        Some(Call {
            operation: record.operation()?,
            root: record.root.get(),
            enter,
            leave: (record.leave.get() != 0).then(|| {
                if is_possible {
                    at(record.leave.get())
                } else {
                    enter
                }
            }),
            payload: record.payload_bytes(),
            has_failed: record.has_failed(),
            is_timed: is_possible,
            overlap: None,
            phase: None,
            site: None,
            thread: self.thread_of(location),
        })
    }

    /// The local communicator of what a record was called on.
    #[inline]
    fn local_comm_of(&self, record: &Record) -> Option<usize> {
        match record.communicator.get() {
            UNKNOWN_COMMUNICATOR => None,
            index => self.context.communicators.local_comm(self.index, index),
        }
    }

    /// Index in [`Communicators::list`](crate::communicators::Communicators::list) of what a record was called on.
    pub(crate) fn called_on(&self, record: &Record) -> Option<usize> {
        let local_comm = self.local_comm_of(record)?;
        Some(self.context.communicators.local_comms[self.index][local_comm].communicator as usize)
    }

    /// Index in [`Communicators::list`](crate::communicators::Communicators::list) of what its records call `index`.
    pub(crate) fn communicator_of_index(&self, index: u32) -> Option<usize> {
        let local_comm = self.context.communicators.local_comm(self.index, index)?;
        Some(self.context.communicators.local_comms[self.index][local_comm].communicator as usize)
    }

    /// Its number among the processes of the run.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Whether several threads of it are ranks of the spanning tree of our own that its records call
    /// `index`.
    pub(crate) fn has_threads_on(&self, index: u32) -> bool {
        let tree = self.tree_of_index(index);
        let trees = &self.context.communicators.trees.list;
        tree.is_some_and(|tree| trees[tree as usize].threads > 1)
    }

    /// The spanning tree of our own that its records call `index`: an index in
    /// [`OwnTrees::list`](crate::communicators::spanning_trees::OwnTrees::list).
    pub(crate) fn tree_of_index(&self, index: u32) -> Option<u32> {
        self.context.communicators.trees.of_index(self.index, index)
    }

    /// Takes up to `n` records; gives how many there were. `unqueued` gets what is in no instance.
    pub(crate) fn scan(&mut self, n: u64, unqueued: &mut dyn FnMut(Unqueued)) -> u64 {
        let mut n_done = 0;
        while n_done < n {
            let limit = (n - n_done).min(MAX_BATCH) as usize;
            let Some(batch) = self.stream.next(&self.reader, limit) else {
                self.end_completed(u64::MAX);
                while let Some(gap) = self.gaps.end_last(&self.clock) {
                    unqueued(self.ended_gap(gap));
                }
                self.has_ended = true;
                self.end_all_calls();
                break;
            };
            if let Some(start) = batch.chunk {
                self.has_lost_starts |= start.is_behind_gap;
                self.call_sites.begin_chunk(self.thread_of(batch.location));
                self.check_sequences(&start);
            }
            if self.call_sites.has_any() {
                let thread = self.thread_of(batch.location);
                let records = &batch.records[..];
                self.call_sites.take(thread, batch.location, records);
            }
            self.route(&batch, unqueued);
            n_done += batch.records.len() as u64;
        }
        n_done
    }

    pub(crate) fn thread_of(&self, location: RecordAt) -> u32 {
        self.chunks()[location.chunk as usize].thread
    }

    /// What the calls at a location and behind it have in common.
    #[inline]
    fn alike(&self, location: RecordAt, is_possible: bool, has_returned: bool) -> Alike {
        Alike {
            is_possible,
            has_returned,
            phase: self.phases.number(),
            site: self.site_at(location),
        }
    }

    /// Number of the place from which the call at a location was made, or
    /// [`NO_SITE`](crate::trace::call_sites::NO_SITE).
    #[inline]
    fn site_at(&self, location: RecordAt) -> u32 {
        if self.call_sites.has_any() {
            self.call_sites.at(location)
        } else {
            NO_SITE
        }
    }

    /// The queue of a local communicator and call order, of which the next position is about to
    /// change.
    // In line: 10 instructions a message less (scripts/ir-guard-analyze.sh).
    #[inline(always)]
    fn touch(&mut self, local_comm: usize, call_order: CallOrder) -> &mut Queue {
        let queue = match call_order {
            CallOrder::Persistent(_) => &mut self.starts[local_comm],
            _ => &mut self.queues[local_comm].in_use()[call_order.index()],
        };
        if !queue.is_touched {
            queue.is_touched = true;
            self.touched.push((local_comm as u32, call_order));
        }
        queue
    }

    /// The instant of a tick on the time of the analysis.
    pub(crate) fn at(&self, ticks: u64) -> Timestamp<Global> {
        self.clock.global(Timestamp::from_ticks(ticks))
    }

    /// Index in [`Communicators::list`](crate::communicators::Communicators::list) of that of a
    /// local communicator, or of a persistent collective.
    fn communicator_at(&self, local: usize, call_order: CallOrder) -> Option<usize> {
        let local_comm = match call_order {
            CallOrder::Persistent(_) => self
                .context
                .communicators
                .local_comm(self.index, self.persistents.get(local)?.on)?,
            _ => local,
        };
        Some(self.context.communicators.local_comms[self.index][local_comm].communicator as usize)
    }

    /// Compares the counts with the table of a chunk, and goes on from the table behind a gap.
    ///
    /// With several threads, calls that another one began at about the time at which the chunk
    /// was opened may stand on either side of it; there the table is needed behind gaps only.
    fn check_sequences(&mut self, start: &ChunkStart<'_>) {
        let is_exact = self.stream.is_single_threaded();
        if !is_exact && !start.is_behind_gap {
            return;
        }
        let mut is_conflict = false;
        for (local_comm, entry) in self
            .context
            .communicators
            .resolve(self.index, start.sequences)
        {
            is_conflict |= self.check_sequence(local_comm, entry) && is_exact;
        }
        self.found.of_process.n_sequence_conflicts += u64::from(is_conflict);
    }

    /// `true` if the table says fewer calls than were found.
    fn check_sequence(&mut self, local_comm: usize, entry: &SequenceEntry) -> bool {
        let before = |call_order| self.queues[local_comm].next_on(call_order);
        let before = [before(CallOrder::Application), before(CallOrder::Internal)];
        // A damaged count must leave room to count on.
        let calls = entry.calls.get().min(1 << 62);
        if calls > before[0] {
            self.touch(local_comm, CallOrder::Application).next = calls;
        }
        // The table has the lower 32 bits only.
        let ahead = entry.internal_calls.get().wrapping_sub(before[1] as u32);
        if (1..1 << 31).contains(&ahead) {
            self.touch(local_comm, CallOrder::Internal).next = before[1] + u64::from(ahead);
        }
        entry.calls.get() < before[0] || ahead >= 1 << 31
    }

    /// A touched queue was checked.
    pub(crate) fn untouch(&mut self, local_comm: u32, call_order: CallOrder) {
        if let Some(queue) = self.queue_mut(local_comm as usize, call_order) {
            queue.is_touched = false;
        }
    }

    /// Forgets a nonblocking call beside which others made another one, but for its completion.
    pub(crate) fn pass_by_initiated(
        &mut self,
        local_comm: usize,
        call_order: CallOrder,
        position: u64,
    ) {
        if let Some(queue) = self.queue_mut(local_comm, call_order) {
            queue.outstanding.ignore_completion(position);
        }
    }

    /// Removes a nonblocking call that was passed on.
    pub(crate) fn drop_initiated(
        &mut self,
        local_comm: usize,
        call_order: CallOrder,
        position: u64,
    ) {
        if let Some(queue) = self.queue_mut(local_comm, call_order) {
            queue.outstanding.remove(position);
        }
    }

    /// Removes the calls in a call order before a position, which were passed on.
    pub(crate) fn drop_before(&mut self, local_comm: usize, call_order: CallOrder, position: u64) {
        let given_back = self.stream.given_back();
        let chunks = &self.file.trace.chunks;
        let mut late: Option<(u64, u64)> = None;
        let queue = match call_order {
            CallOrder::Persistent(_) => self.starts.get_mut(local_comm),
            _ => match &mut self.queues[local_comm] {
                Queues::InUse(queues) => Some(&mut queues[call_order.index()]),
                _ => None,
            },
        };
        let Some(queue) = queue else { return };
        let n_dropped = queue.drop_before(position, |location, n| {
            let chunk = &chunks[location.chunk as usize];
            let (from, to) = chunk.span(location.record as usize, n as usize);
            if from < given_back {
                let (least, most) = late.unwrap_or((from, to));
                late = Some((least.min(from), most.max(to)));
            }
        });
        self.n_queued -= n_dropped;
        // Its pages had been given back and were read again.
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
}

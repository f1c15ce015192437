//! Sorts the records of a process into queues, in parts that go to one queue each.

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{Operation, Record, UNKNOWN_COMMUNICATOR};

use crate::calls::call::Call;
use crate::calls::gap::Gap;
use crate::calls::last_seen::{has_returned, is_own};
use crate::calls::message_owner::{CallOf, OwnCollective};
use crate::calls::process::Process;
use crate::calls::process::class::{RecordClass, class_of, is_alike, is_message, is_pass};
use crate::calls::stream::Batch;
use crate::calls::unqueued::Unqueued;
use crate::communicators::persistent::local_of;
use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::{CallOrder, CallPosition, RecordAt};

/// Consecutive records that go to one queue; at least one.
#[derive(Clone, Copy)]
struct BatchPart<'r> {
    records: &'r [Record],
    /// Location of the first.
    location: RecordAt,
    /// Whether their stamps can be true.
    is_possible: bool,
}

impl Process<'_> {
    /// Splits a batch into parts that go to one queue each.
    pub(super) fn route(&mut self, batch: &Batch<'_>, unqueued: &mut dyn FnMut(Unqueued)) {
        self.end_calls_before(batch);
        let all = &batch.records[..];
        let mut at = match &self.window {
            Some(window) => self.skip_before_window(batch, window.ticks),
            None => 0,
        };
        loop {
            if let Some(in_order @ [_, ..]) = all[..batch.n_in_order].get(at..) {
                at += self.take_plain(in_order, batch.location.plus(at));
            }
            let Some(first) = all.get(at) else {
                break;
            };
            if !self.completing.is_empty() {
                self.end_completed(first.enter.get());
            }
            let class = class_of(first);
            let (before, rest) = all.split_at(at);
            let location = batch.location.plus(at);
            let n = self.part_length(rest, location, class);
            let part = BatchPart {
                records: &rest[..n],
                location,
                is_possible: batch.is_possible,
            };
            if batch.is_possible && !matches!(class, RecordClass::Message | RecordClass::Pass) {
                self.reach(part.records);
            }
            if self.gaps.has_open() {
                self.end_gap(first, part, unqueued);
            }
            let position = self.route_part(class, part, before, unqueued);
            let is_call = class.is_call();
            if is_call && part.is_possible && !first.is_internal() {
                if first.enter.get() < self.read_to {
                    self.note_late(part, position);
                }
                self.read_to = self.read_to.max(part.records[n - 1].enter.get());
            }
            if self.found.of_process.finalize.is_some() && class != RecordClass::Process {
                self.call_in_finalize(part);
            }
            if self.has_messages && (is_call || class == RecordClass::Completion) {
                self.keep_recent(part.records);
            }
            if first.leave.get() == 0 && (is_call || class == RecordClass::Completion) {
                let site = self.site_at(part.location);
                self.found.of_process.site_in_flight = (site != NO_SITE).then_some(site);
            }
            if first.leave.get() == 0 && is_call {
                self.note_under_way(first, part.location, part.is_possible, position);
            }
            at += n;
        }
        self.keep_last_call(batch);
        if batch.is_possible {
            let thread = self.thread_of(batch.location);
            self.gaps.pass(thread, all, &self.clock);
            if self.recent.is_none() {
                self.note_thread(thread, all);
            }
        }
    }

    /// Takes the blocking calls that some records begin with if they only have to be queued; gives how many there are. The
    /// first is at a location, and all are of calls that have returned and began one after the other.
    // Apart: with less around it, more of it is in registers.
    #[inline(never)]
    fn take_plain(&mut self, records: &[Record], location: RecordAt) -> usize {
        let is_looked_at = self.has_messages
            || self.call_sites.has_any()
            || self.gaps.has_open()
            || self.found.of_process.finalize.is_some()
            || !self.completing.is_empty()
            || !self.stream.is_single_threaded();
        if is_looked_at || records[0].enter.get() < self.read_to {
            return 0;
        }
        let alike = self.alike(location, true, true);
        let (mut at, mut last_own) = (0, None);
        while let Some(first) = records.get(at)
            && class_of(first) == RecordClass::Ordered
            && let Some(local_comm) = self.local_comm_of(first)
        {
            let others = records[at + 1..].iter();
            let n = others
                .take_while(|other| is_of_queue_of(other, first))
                .count()
                + 1;
            let call_order = call_order_of(first);
            let queue = self.touch(local_comm, call_order);
            queue.push(location.plus(at), n as u32, alike);
            at += n;
            if call_order == CallOrder::Application {
                last_own = Some(at - 1);
            }
        }
        if let Some(last) = last_own {
            self.read_to = records[last].enter.get();
        }
        self.n_queued += at as u64;
        at
    }

    /// Notes which calls of a part say that they are older than one that was read before, and when that began. The first is at a
    /// position, unless it is to make a communicator.
    #[cold]
    fn note_late(&mut self, part: BatchPart<'_>, position: Option<CallPosition>) {
        let first = &part.records[0];
        let at = position.unwrap_or(CallPosition {
            call_order: CallOrder::Creation,
            position: 0,
        });
        let local = match (at.call_order, first.persistent_start()) {
            (CallOrder::Creation, _) => {
                let made = u32::try_from(first.root.get()).ok();
                made.and_then(|index| self.context.communicators.local_comm(self.index, index))
            }
            (_, Some(start)) => local_of(self.persistents, start.definition),
            (_, None) => self.local_comm_of(first),
        };
        let read_to = self.read_to;
        let Some(queue) = local.and_then(|local| self.queue_mut(local, at.call_order)) else {
            return;
        };
        // A second one that is to make it does not wait.
        let is_there = queue.front().map(|run| run.location) == Some(part.location);
        if at.call_order == CallOrder::Creation && !is_there {
            return;
        }
        let late = part.records.iter();
        let late = late.take_while(|call| call.enter.get() < read_to);
        for (position, _) in (at.position..).zip(late) {
            queue.note_late(position, read_to);
        }
    }

    /// Notes when one of several threads was in collectives.
    fn note_thread(&mut self, thread: u32, records: &[Record]) {
        let is_collective = |record: &&Record| {
            let is_counted = record.operation().is_some_and(Operation::is_counted);
            is_own(record) && has_returned(record) && (record.completion().is_some() || is_counted)
        };
        let first = records.iter().find(is_collective);
        let last = records.iter().rfind(is_collective);
        if let Some((first, last)) = first.zip(last) {
            let (enter, leave) = (first.enter.get(), last.leave.get());
            let [begin, end] = self.threads.entry(thread).or_insert([enter, leave]);
            (*begin, *end) = (enter.min(*begin), leave.max(*end));
        }
    }

    /// Passes on what the thread did before a record, if that is of a call.
    fn end_gap(&mut self, first: &Record, part: BatchPart<'_>, unqueued: &mut dyn FnMut(Unqueued)) {
        let thread = self.thread_of(part.location);
        let enter = part.is_possible.then(|| first.enter.get());
        if let Some(gap) = self.gaps.end(thread, first, enter, &self.clock) {
            unqueued(self.ended_gap(gap));
        }
    }

    /// A gap that has ended. It ends after all calls that were read before began, whatever a damaged trace says, and where another
    /// thread began one at the same time.
    pub(super) fn ended_gap(&self, gap: Gap) -> Unqueued {
        let after = Timestamp::from_ns(self.at(self.read_to).ns().saturating_add(1));
        Unqueued::Gap {
            process: self.index,
            gap: Gap {
                to: gap.to.max(after),
                ..gap
            },
        }
    }

    /// In callbacks of `MPI_Finalize` a process does not wait in that yet.
    #[cold]
    fn call_in_finalize(&mut self, part: BatchPart<'_>) {
        let own = part.records.iter().filter(|record| has_returned(record));
        let last = own.map(|record| record.leave.get()).max();
        let last = last.filter(|_| part.is_possible);
        let last = last.map(|ticks| self.clock.global(Timestamp::from_ticks(ticks)));
        if let (Some([begin, leave]), Some(last)) = (&mut self.found.of_process.finalize, last) {
            *begin = last.clamp(*begin, *leave);
        }
    }

    /// How many records, of which the first is at this location and of this class, belong to one queue.
    #[inline]
    fn part_length(&self, records: &[Record], location: RecordAt, class: RecordClass) -> usize {
        let first = &records[0];
        // One that has not returned can only be the first; and what completes before the next
        // record is to end before it.
        let is_alone =
            first.leave.get() == 0 && !matches!(class, RecordClass::Message | RecordClass::Pass);
        if is_alone || !self.completing.is_empty() {
            return 1;
        }
        let others = records[1..].iter();
        match class {
            RecordClass::Ordered => {
                let n = n_alike(records);
                if !self.call_sites.has_any() {
                    return n;
                }
                let site = self.call_sites.at(location);
                let is_from_there =
                    |i: &u32| self.call_sites.at(location.plus(*i as usize)) == site;
                (0..n as u32).take_while(is_from_there).count()
            }
            RecordClass::Message => {
                let is_alike = |record: &&Record| is_message(record);
                others.take_while(is_alike).count() + 1
            }
            RecordClass::Pass => {
                let is_alike = |record: &&Record| is_pass(record);
                others.take_while(is_alike).count() + 1
            }
            _ => 1,
        }
    }

    /// Takes a run of records, before which these stand in its batch; gives where the first of them
    /// is among the calls on a communicator, if it does.
    #[inline]
    fn route_part(
        &mut self,
        class: RecordClass,
        part: BatchPart<'_>,
        before: &[Record],
        unqueued: &mut dyn FnMut(Unqueued),
    ) -> Option<CallPosition> {
        let BatchPart {
            records,
            location,
            is_possible,
        } = part;
        let first = &records[0];
        match class {
            RecordClass::Unknown => self.found.n_unknown_records += 1,
            RecordClass::Message => self.take_messages(records, location, is_possible),
            RecordClass::Pass => self.found.n_passes += records.len() as u64,
            RecordClass::Phase => self.begin_phase(first, is_possible),
            RecordClass::Note => self.take_note(first, before, location),
            RecordClass::Completion => self.complete(first, location),
            RecordClass::Start => return self.take_start(part, unqueued),
            RecordClass::Ordered | RecordClass::Initiation => {
                return self.take_calls(class, part, unqueued);
            }
            RecordClass::Creation => {
                let local_comm = self.local_comm_of(first);
                self.note_undefined(local_comm, first, records.len());
                self.route_creation(part, unqueued);
                self.note_call(first, location, CallOf::Nothing);
            }
            RecordClass::Process => {
                self.note_call(first, location, CallOf::Nothing);
                if let Some(call) = self.call(first, location, is_possible) {
                    let process = self.index;
                    if call.begins_mpi() {
                        self.found.of_process.begun_ns = call.leave.map(Timestamp::ns);
                    }
                    if call.ends_mpi() {
                        let left = call.leave;
                        self.found.of_process.finalize = left.map(|leave| [call.enter, leave]);
                    }
                    unqueued(Unqueued::Process {
                        process,
                        call,
                        is_first: self.read_to == 0,
                    });
                }
            }
        }
        None
    }

    /// The start of a persistent collective.
    fn take_start(
        &mut self,
        part: BatchPart<'_>,
        unqueued: &mut dyn FnMut(Unqueued),
    ) -> Option<CallPosition> {
        let first = &part.records[0];
        let local_comm = self.local_comm_of(first);
        self.note_undefined(local_comm, first, part.records.len());
        let at = self.route_start(first, part.location, part.is_possible);
        match at {
            Some(at) => self.note_start(first, part.location, at),
            None => {
                let called_on = self.called_on(first);
                self.give_unqueued(part, called_on, unqueued);
            }
        }
        at
    }

    /// Calls on one communicator, or one that begins something there.
    #[inline]
    fn take_calls(
        &mut self,
        class: RecordClass,
        part: BatchPart<'_>,
        unqueued: &mut dyn FnMut(Unqueued),
    ) -> Option<CallPosition> {
        let BatchPart {
            records,
            location,
            is_possible,
        } = part;
        let (first, last, n) = (&records[0], &records[records.len() - 1], records.len());
        let local_comm = self.local_comm_of(first);
        self.note_undefined(local_comm, first, n);
        let Some(local_comm) = local_comm else {
            self.give_unqueued(part, None, unqueued);
            self.note_call(last, location, CallOf::Nothing);
            return None;
        };
        let call_order = call_order_of(first);
        let is_nonblocking =
            class == RecordClass::Initiation && call_order == CallOrder::Application;
        let alike = self.alike(location, is_possible, first.leave.get() != 0);
        let initiated = is_nonblocking.then(|| self.initiated(first, location, alike));
        let queue = self.touch(local_comm, call_order);
        let position = queue.next;
        queue.push(location, n as u32, alike);
        if let Some(initiated) = initiated {
            queue.outstanding.begin(position, initiated);
        }
        self.n_queued += n as u64;
        if self.has_messages {
            let collective = OwnCollective {
                local: local_comm,
                call_order,
                position: position + (n as u64 - 1),
            };
            let of = if is_nonblocking {
                CallOf::Initiation(collective)
            } else {
                CallOf::Blocking(collective)
            };
            self.note_call(last, location, of);
        }
        Some(CallPosition {
            call_order,
            position,
        })
    }

    /// A constructor over a group: matched by the communicator that it made.
    fn route_creation(&mut self, part: BatchPart<'_>, unqueued: &mut dyn FnMut(Unqueued)) {
        let record = &part.records[0];
        let called_on = self.called_on(record);
        let made = u32::try_from(record.root.get()).ok();
        let made = made.and_then(|index| self.context.communicators.local_comm(self.index, index));
        if let (Some(made), Some(_)) = (made, called_on)
            && !record.is_internal()
            // A second one (a damaged file) is not matched.
            && self.next_on(made, CallOrder::Creation) == 0
        {
            let alike = self.alike(part.location, part.is_possible, record.leave.get() != 0);
            self.touch(made, CallOrder::Creation)
                .push(part.location, 1, alike);
            self.n_queued += 1;
            return;
        }
        self.give_unqueued(part, called_on, unqueued);
    }

    fn begin_phase(&mut self, record: &Record, is_possible: bool) {
        if let (Some(level), true) = (record.phase_level(), is_possible) {
            let at = self.clock.global(Timestamp::from_ticks(record.enter.get()));
            self.phases.begin(level, at.ns());
        }
    }

    fn give_unqueued(
        &self,
        part: BatchPart<'_>,
        called_on: Option<usize>,
        unqueued: &mut dyn FnMut(Unqueued),
    ) {
        for (record, n) in part.records.iter().zip(0..) {
            let location = RecordAt {
                record: part.location.record + n,
                ..part.location
            };
            if let Some(call) = self.call(record, location, part.is_possible) {
                let start = record.persistent_start();
                let local = start.and_then(|start| local_of(self.persistents, start.definition));
                let call = Call {
                    payload: local.map_or(call.payload, |local| self.persistents[local].payload),
                    phase: self.phases.level(self.phases.number()),
                    site: self.alike(location, true, true).known_site(),
                    ..call
                };
                unqueued(Unqueued::Unmatched {
                    process: self.index,
                    called_on,
                    call,
                    is_internal: record.is_internal(),
                });
            }
        }
    }

    fn note_undefined(&mut self, local_comm: Option<usize>, first: &Record, n: usize) {
        let index = first.communicator.get();
        if local_comm.is_none() && index != UNKNOWN_COMMUNICATOR {
            let damage = &mut self.found.of_process;
            if damage.n_undefined == 0 {
                damage.first_undefined = index;
            }
            damage.n_undefined += n as u64;
        }
    }
}

/// How many records, of which the first is of an ordered call, are of calls that go to one queue, and have returned; each says
/// that it began no earlier than that before it.
#[inline]
fn n_alike(records: &[Record]) -> usize {
    let mut reached = records[0].enter.get();
    let is_alike = |record: &&Record| {
        let before = std::mem::replace(&mut reached, record.enter.get());
        is_of_queue_of(record, &records[0]) && record.leave.get() != 0 && before <= reached
    };
    records[1..].iter().take_while(is_alike).count() + 1
}

/// Whether a record goes to the same queue as that of an ordered call.
#[inline]
fn is_of_queue_of(record: &Record, ordered: &Record) -> bool {
    record.communicator == ordered.communicator && is_alike(record.word(), ordered.word())
}

fn call_order_of(record: &Record) -> CallOrder {
    if record.is_internal() {
        CallOrder::Internal
    } else {
        CallOrder::Application
    }
}

//! From the records that follow the calls of an instance to the ends of its messages.

use std::collections::BTreeMap;

use collbench_clocks::rank_clock::ManyStamps;
use collbench_formats::{CollectorPass, Message, Operation, Record, RecordKind, RecordWord};
use collbench_trees::shape::ShapeKey;

use crate::calls::process::Process;
use crate::calls::queue::Queue;
use crate::calls::records_of_call::{SLICE, each_message_or_note, has_possible_stamps};
use crate::communicators::Communicator;
use crate::messages::end::{EndTimes, words_of};
use crate::messages::ends::{ForeignEnds, MessageEnd, MessageEnds};
use crate::messages::instance_messages::Messages;
use crate::messages::pairing::{NOT_A_SLOT, Pairing};
use crate::messages::passes::InstancePass;
use crate::messages::pattern::Patterns;
use crate::messages::recurrence::{RecurrenceKey, Recurrences};
use crate::messages::steps::{Arrival, Steps};
use crate::messages::thread_passes::ThreadPasses;
use crate::trace::algorithm_names::{AlgorithmNames, NamesInCall, NamesOfInstance};
use crate::trace::record_at::RecordAt;

/// Gathers the messages of instances, some at a time, with buffers that are reused.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    /// Slots by world rank, in the communicator of the last instances.
    slots: Vec<u32>,
    /// Index of that in `Communicators::list`.
    communicator: Option<usize>,
    /// By slot: the communicator that its last end travelled on, as its records call it, and the
    /// number of that.
    last_communicator: Vec<Option<(u32, u32)>>,
    /// By instance.
    ends: Vec<MessageEnds>,
    /// By instance, where that is known.
    recurrence_keys: Vec<Option<RecurrenceKey>>,
    /// By instance the names of algorithms reported for its calls.
    reported: Vec<NamesOfInstance>,
    /// By instance the passes of event collectors in its calls.
    passes: Vec<Vec<InstancePass>>,
    /// Those of threads that make no calls.
    thread_passes: ThreadPasses,
    patterns: Patterns,
    recurrences: Recurrences,
    pairing: Pairing,
    steps: Steps,
}

impl Gatherer {
    /// Begins instances on a communicator, with their recurrence keys where known.
    pub(crate) fn begin(
        &mut self,
        recurrence_keys: impl Iterator<Item = Option<RecurrenceKey>>,
        index: usize,
        communicator: &Communicator,
    ) {
        self.recurrence_keys.clear();
        self.recurrence_keys.extend(recurrence_keys);
        let n = self.recurrence_keys.len();
        if self.ends.len() < n {
            self.ends.resize_with(n, MessageEnds::default);
        }
        for (ends, recurrence_key) in self.ends.iter_mut().zip(&mut self.recurrence_keys) {
            *recurrence_key =
                recurrence_key.filter(|recurrence_key| !joins_groups(recurrence_key.of.operation));
            ends.begin(
                recurrence_key.and_then(|recurrence_key| self.recurrences.of(recurrence_key)),
            );
        }
        self.reported.clear();
        self.reported.resize(n, NamesOfInstance::default());
        if self.passes.len() < n {
            self.passes.resize_with(n, Vec::new);
        }
        self.passes.iter_mut().for_each(Vec::clear);
        if self.communicator == Some(index) {
            return;
        }
        self.communicator = Some(index);
        self.last_communicator.clear();
        self.slots.fill(NOT_A_SLOT);
        for (member, slot) in communicator.members.iter().zip(0..) {
            let rank = member.world_rank as usize;
            // A damaged rank must not cost memory.
            if rank >= self.slots.len() && rank < MAX_RANKS {
                self.slots.resize(rank + 1, NOT_A_SLOT);
            }
            if let Some(of_rank) = self.slots.get_mut(rank) {
                *of_rank = slot;
            }
        }
    }

    /// Adds the messages and notes that follow the blocking call of a slot in an instance.
    #[inline]
    pub(crate) fn add_call(&mut self, of: SlotOfInstance<'_, '_>, call: QueuedCall<'_>) {
        let are_all_here = call.queue.foreign.is_empty()
            && call.queue.elsewhere(call.position).is_empty()
            && !of.process.has_trees;
        if !(are_all_here && self.follow(of, call.location)) {
            self.add_one_by_one(of, call);
        }
    }

    /// Adds the messages and notes that follow a call, one by one, and the passes of other threads.
    fn add_one_by_one(&mut self, of: SlotOfInstance<'_, '_>, call: QueuedCall<'_>) {
        let location = call.location;
        let own = self.add_records_of_call(of, call);
        let SlotOfInstance { nth, slot, process } = of;
        if let Some(own) = own.filter(|own| process.has_threads_on(own.tree)) {
            let passes = &mut self.passes[nth];
            let of_process = (process.index(), process.reader());
            self.thread_passes
                .each(of_process, (location, own), |record| {
                    passes.extend(
                        InstancePass::of(record, slot, process).map(InstancePass::of_thread),
                    );
                });
        }
    }

    /// Adds the messages and notes that follow a call; gives a pass of an event collector in it.
    fn add_records_of_call(
        &mut self,
        of: SlotOfInstance<'_, '_>,
        call: QueuedCall<'_>,
    ) -> Option<CollectorPass> {
        let SlotOfInstance { nth, slot, process } = of;
        let mut passes = std::mem::take(&mut self.passes[nth]);
        let QueuedCall {
            queue,
            position,
            location,
        } = call;
        let (foreign, elsewhere) = (&queue.foreign, queue.elsewhere(position));
        let is_own =
            |location: RecordAt| foreign.is_empty() || !foreign.contains(&(position, location));
        let numbers = process.names();
        let mut names_in_call = NamesInCall::default();
        let mut own = None;
        if !elsewhere.is_empty() {
            // A damaged one may seem to are after the call, too.
            let mut all: BTreeMap<RecordAt, Record> = elsewhere.iter().copied().collect();
            let look = |location, record: &Record, _: &Message| {
                if is_own(location) {
                    all.insert(location, *record);
                }
            };
            let add_note = |record: &Record| {
                names_in_call.add_note(record, numbers);
                passes.extend(InstancePass::of(record, slot, process));
                own = own.or_else(|| record.collector_pass());
            };
            each_message_or_note(process.reader(), location, look, add_note);
            self.passes[nth] = passes;
            let mut all: Vec<Record> = all.into_values().collect();
            // Stable: of one instant those of a thread stay in their order.
            all.sort_by_key(|record| record.enter.get());
            self.add_kept(of, &all, names_in_call.reported());
            return own;
        }
        let add_note = |record: &Record| {
            names_in_call.add_note(record, numbers);
            passes.extend(InstancePass::of(record, slot, process));
            own = own.or_else(|| record.collector_pass());
        };
        if process.has_messages {
            let mut ends = self.ends_of(of);
            let look = |location, record: &Record, message: &Message| {
                if is_own(location) {
                    ends.add(record, message);
                }
            };
            each_message_or_note(process.reader(), location, look, add_note);
        } else {
            each_message_or_note(process.reader(), location, |_, _, _| {}, add_note);
        }
        self.passes[nth] = passes;
        self.reported[nth].add(names_in_call.reported());
        own
    }

    /// The names of algorithms reported for the n-th instance.
    pub(crate) fn reported(&self, nth: usize) -> Option<AlgorithmNames> {
        self.reported[nth].reported()
    }

    /// Takes the passes of event collectors in the n-th instance out.
    pub(crate) fn take_passes(&mut self, nth: usize) -> Vec<InstancePass> {
        self.passes
            .get_mut(nth)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Gives the room of passes that were taken out back.
    pub(crate) fn reuse(&mut self, nth: usize, passes: Vec<InstancePass>) {
        if let Some(room) = self.passes.get_mut(nth) {
            *room = passes;
        }
    }

    /// Adds the messages that follow a call, if they match the recurrence; returns whether they do.
    #[inline]
    fn follow(&mut self, of: SlotOfInstance<'_, '_>, location: RecordAt) -> bool {
        let SlotOfInstance { nth, slot, process } = of;
        let Some((following, times)) = self.ends[nth].following() else {
            return false;
        };
        let records = process.reader().slice(location, SLICE);
        self.steps.begin();
        let clocks = (process.clock(), process.bounded_clock());
        let is_followed = following.take(slot, &records, clocks, &mut self.steps, times);
        if is_followed
            && let [call, note, ..] = &records[..]
            && note.kind() == Some(RecordKind::Note)
        {
            // It has no others but those right behind it.
            let notes = records[1..].iter();
            let notes = notes.take_while(|record| record.kind() == Some(RecordKind::Note));
            let within = call.enter.get()..=call.leave.get();
            let mut names_in_call = NamesInCall::default();
            notes
                .filter(|note| within.contains(&note.enter.get()))
                .for_each(|note| names_in_call.add_note(note, process.names()));
            self.reported[nth].add(names_in_call.reported());
        }
        is_followed
    }

    /// Adds messages of a slot in an instance that were kept, and what was said of its call.
    pub(crate) fn add_kept(
        &mut self,
        of: SlotOfInstance<'_, '_>,
        kept: &[Record],
        reported: Option<AlgorithmNames>,
    ) {
        self.reported[of.nth].add(reported);
        let mut ends = self.ends_of(of);
        for record in kept {
            if let Some(message) = record.message().filter(|_| has_possible_stamps(record)) {
                ends.add(record, &message);
            }
        }
    }

    /// Pairs the sends and receives of the n-th instance.
    pub(crate) fn pair(&mut self, nth: usize, of: ShapeKey) -> Messages<'_> {
        let ends = &mut self.ends[nth];
        if ends.is_empty() {
            return Messages::default();
        }
        let foreign = if joins_groups(of.operation) {
            ends.take_out_foreign()
        } else {
            ForeignEnds::default()
        };
        match self.patterns.find(of, ends, &mut self.pairing) {
            Some(number) => {
                if let (Some(recurrence_key), false) =
                    (self.recurrence_keys[nth], ends.is_following())
                {
                    self.recurrences
                        .see(recurrence_key, number, ends.compared());
                }
                let pattern = self.patterns.at(number);
                Messages {
                    paired: pattern.paired(),
                    n_unpaired_sends: pattern.n_unpaired_sends,
                    n_unpaired_receives: pattern.n_unpaired_receives,
                    n_foreign_sends: foreign.n_sends,
                    n_foreign_receives: foreign.n_receives,
                    pattern: Some(pattern),
                }
            }
            None => Messages {
                paired: self.pairing.paired(),
                n_unpaired_sends: self.pairing.n_unpaired_sends,
                n_unpaired_receives: self.pairing.n_unpaired_receives,
                n_foreign_sends: foreign.n_sends,
                n_foreign_receives: foreign.n_receives,
                pattern: None,
            },
        }
    }

    fn ends_of<'g, 'p>(&'g mut self, of: SlotOfInstance<'g, 'p>) -> EndsOfSlot<'g, 'p> {
        let SlotOfInstance { nth, slot, process } = of;
        self.ends[nth].leave_recurrence();
        self.steps.begin();
        if self.last_communicator.len() <= slot {
            self.last_communicator.resize(slot + 1, None);
        }
        EndsOfSlot {
            slot: slot as u32,
            process,
            clock: process.clock().for_many(),
            slots: &self.slots,
            own: self.communicator.map_or(u32::MAX, |index| index as u32),
            known: None,
            last_communicator: &mut self.last_communicator[slot],
            ends: &mut self.ends[nth],
            steps: &mut self.steps,
        }
    }
}

/// Whether the operation joins groups: each calls it on its own communicator.
fn joins_groups(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::IntercommCreate
            | Operation::CommSpawn
            | Operation::CommSpawnMultiple
            | Operation::CommAccept
            | Operation::CommConnect
    )
}

/// One of the processes in one of the instances that are gathered together.
#[derive(Clone, Copy)]
pub(crate) struct SlotOfInstance<'s, 'p> {
    /// Number of the instance among these.
    pub(crate) nth: usize,
    pub(crate) slot: usize,
    pub(crate) process: &'s Process<'p>,
}

/// A blocking call: its position in a queue, and the location of its record.
#[derive(Clone, Copy)]
pub(crate) struct QueuedCall<'q> {
    pub(crate) queue: &'q Queue,
    pub(crate) position: u64,
    pub(crate) location: RecordAt,
}

/// The ends of one slot while they are added.
struct EndsOfSlot<'g, 'p> {
    slot: u32,
    process: &'g Process<'p>,
    clock: ManyStamps<'g>,
    /// Slots by world rank.
    slots: &'g [u32],
    /// Index of the communicator of the instance.
    own: u32,
    /// What the last end travelled on. Messages of one instance mostly travel on one communicator,
    /// with one tag.
    known: Option<Route>,
    last_communicator: &'g mut Option<(u32, u32)>,
    ends: &'g mut MessageEnds,
    steps: &'g mut Steps,
}

/// Communicator and tag of an end.
#[derive(Clone, Copy)]
struct Route {
    /// The communicator, as the records call it.
    communicator: u32,
    tag: u16,
    /// Number of those ends of the instance that have both.
    group: u32,
    is_on_another: bool,
}

impl EndsOfSlot<'_, '_> {
    #[inline(always)]
    fn add(&mut self, record: &Record, message: &Message) {
        let has_end = record.leave.get() != 0;
        let times = EndTimes::of(record, |enter, leave| self.clock.both(enter, leave));
        let slot_of = |rank: u32| self.slots.get(rank as usize).copied();
        let partner = message.known_partner();
        let partner = partner.map(|rank| slot_of(rank).unwrap_or(NOT_A_SLOT));
        // A message to itself says nothing about other processes.
        let is_to_itself = partner == Some(self.slot);
        let words = words_of(record);
        let arrival = Arrival::of(RecordWord::from_bits(words[0]), has_end && !is_to_itself);
        let step = self
            .steps
            .step_of(arrival, times.begin.ns(), times.end.ns());
        let route = self.route(message);
        self.ends.add(&MessageEnd {
            slot: self.slot,
            partner,
            direction: message.direction,
            group: route.group,
            is_on_another: route.is_on_another,
            has_end,
            step,
            words,
            times,
        });
    }

    #[inline]
    fn route(&mut self, message: &Message) -> Route {
        match self.known {
            Some(known)
                if (known.communicator, known.tag) == (message.communicator, message.tag) =>
            {
                known
            }
            _ => self.look_up(message),
        }
    }

    fn look_up(&mut self, message: &Message) -> Route {
        let communicator = self.index_of(message.communicator);
        let route = Route {
            communicator: message.communicator,
            tag: message.tag,
            group: self.ends.group_of(communicator, message.tag),
            is_on_another: communicator != self.own,
        };
        self.known = Some(route);
        route
    }

    /// Number of a communicator, equal in all processes.
    fn index_of(&mut self, index: u32) -> u32 {
        match *self.last_communicator {
            Some((last, number)) if last == index => number,
            _ => {
                let found = self.process.communicator_of_index(index);
                let number = found.map_or(u32::MAX, |found| found as u32);
                *self.last_communicator = Some((index, number));
                number
            }
        }
    }
}

/// World ranks that are looked up by their number.
const MAX_RANKS: usize = 1 << 24;

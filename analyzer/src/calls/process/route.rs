//! Where the records of a process belong: in runs, each of them to one queue.

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{Record, UNKNOWN_COMMUNICATOR};

use crate::calls::aside::Aside;
use crate::calls::call::Call;
use crate::calls::message_owner::{CallOf, OwnCollective};
use crate::calls::process::Process;
use crate::calls::process::class::{Class, class_of, is_message};
use crate::calls::stream::Batch;
use crate::communicators::persistent::local_of;
use crate::trace::place::{CallPosition, Lane, Place};

/// Records that stand side by side and belong to one queue; at least one.
#[derive(Clone, Copy)]
struct Run<'r> {
    records: &'r [Record],
    /// Where the first stands.
    place: Place,
    /// Whether their stamps can be true.
    is_possible: bool,
}

impl Process<'_> {
    /// Cuts a batch into runs that belong to one queue.
    pub(super) fn route(&mut self, batch: &Batch<'_>, aside: &mut dyn FnMut(Aside)) {
        self.end_calls_before(batch);
        let all = &batch.records[..];
        let mut at = match &self.window {
            Some(window) => self.pass_by(batch, window.ticks),
            None => 0,
        };
        while let Some(first) = all.get(at) {
            if !self.completing.is_empty() {
                self.end_completed(first.enter.get());
            }
            let class = class_of(first);
            let (before, rest) = all.split_at(at);
            let n = self.run_length(rest, class);
            let run = Run {
                records: &rest[..n],
                place: Place {
                    record: batch.place.record + at as u32,
                    ..batch.place
                },
                is_possible: batch.is_possible,
            };
            if batch.is_possible && class != Class::Message {
                self.reach(run.records);
            }
            let position = self.route_run(class, run, before, aside);
            let is_call = class.is_call();
            if self.has_messages && (is_call || class == Class::Completion) {
                self.keep_recent(run.records);
            }
            if first.leave.get() == 0 && is_call {
                self.note_under_way(first, run.place, run.is_possible, position);
            }
            at += n;
        }
        self.keep_last_call(batch);
    }

    /// How many records, of which the first is of this class, belong to one queue.
    #[inline]
    fn run_length(&self, records: &[Record], class: Class) -> usize {
        let first = &records[0];
        // One that has not returned can only be the first; and what completes before the next
        // record is to end before it.
        let is_alone = first.leave.get() == 0 && class != Class::Message;
        if is_alone || !self.completing.is_empty() {
            return 1;
        }
        let others = records[1..].iter();
        match class {
            Class::Ordered => {
                let (communicator, is_internal) = (first.communicator, first.is_internal());
                let is_alike = |record: &&Record| {
                    record.communicator == communicator
                        && record.is_internal() == is_internal
                        && class_of(record) == Class::Ordered
                        && record.leave.get() != 0
                };
                others.take_while(is_alike).count() + 1
            }
            Class::Message => {
                let is_alike = |record: &&Record| is_message(record);
                others.take_while(is_alike).count() + 1
            }
            _ => 1,
        }
    }

    /// Takes a run of records, before which these stand in its batch; gives where the first of them
    /// stands among the calls on a communicator, if it does.
    #[inline]
    fn route_run(
        &mut self,
        class: Class,
        run: Run<'_>,
        before: &[Record],
        aside: &mut dyn FnMut(Aside),
    ) -> Option<CallPosition> {
        let Run {
            records,
            place,
            is_possible,
        } = run;
        let first = &records[0];
        match class {
            Class::Unknown => self.found.n_unknown_records += 1,
            Class::Message => self.take_messages(records, place, is_possible),
            Class::Phase => self.begin_phase(first, is_possible),
            Class::Note => self.take_note(first, before, place),
            Class::Completion => self.complete(first, place),
            Class::Start => return self.take_start(run, aside),
            Class::Ordered | Class::Begun => return self.take_calls(class, run, aside),
            Class::Creation => {
                let binding = self.binding_of(first);
                self.note_undefined(binding, first, records.len());
                self.route_creation(run, aside);
                self.note_call(first, place, CallOf::Nothing);
            }
            Class::Process => {
                self.note_call(first, place, CallOf::Nothing);
                if let Some(call) = self.call(first, place, is_possible) {
                    aside(Aside::Process { call });
                }
            }
        }
        None
    }

    /// The start of a persistent collective.
    fn take_start(&mut self, run: Run<'_>, aside: &mut dyn FnMut(Aside)) -> Option<CallPosition> {
        let first = &run.records[0];
        let binding = self.binding_of(first);
        self.note_undefined(binding, first, run.records.len());
        let at = self.route_start(first, run.place, run.is_possible);
        match at {
            Some(at) => self.note_start(first, run.place, at),
            None => {
                let called_on = self.called_on(first);
                self.set_aside(run, called_on, aside);
            }
        }
        at
    }

    /// Calls on one communicator, or one that begins something there.
    #[inline]
    fn take_calls(
        &mut self,
        class: Class,
        run: Run<'_>,
        aside: &mut dyn FnMut(Aside),
    ) -> Option<CallPosition> {
        let Run {
            records,
            place,
            is_possible,
        } = run;
        let (first, last, n) = (&records[0], &records[records.len() - 1], records.len());
        let binding = self.binding_of(first);
        self.note_undefined(binding, first, n);
        let Some(binding) = binding else {
            self.set_aside(run, None, aside);
            self.note_call(last, place, CallOf::Nothing);
            return None;
        };
        let lane = if first.is_internal() {
            Lane::Internal
        } else {
            Lane::Application
        };
        let is_begun = class == Class::Begun && lane == Lane::Application;
        let alike = self.alike(is_possible);
        let begun = is_begun.then(|| self.begun(first, place, alike));
        let queue = self.touch(binding, lane);
        let position = queue.next;
        queue.push(place, n as u32, alike);
        if let Some(begun) = begun {
            queue.outstanding.begin(position, begun);
        }
        self.n_queued += n as u64;
        if self.has_messages {
            let collective = OwnCollective {
                local: binding,
                lane,
                position: position + (n as u64 - 1),
            };
            let of = if is_begun {
                CallOf::Begin(collective)
            } else {
                CallOf::Blocking(collective)
            };
            self.note_call(last, place, of);
        }
        Some(CallPosition { lane, position })
    }

    /// A constructor over a group: matched by the communicator that it made.
    fn route_creation(&mut self, run: Run<'_>, aside: &mut dyn FnMut(Aside)) {
        let record = &run.records[0];
        let called_on = self.called_on(record);
        let made = u32::try_from(record.root.get()).ok();
        let made = made.and_then(|index| self.context.communicators.binding(self.index, index));
        if let (Some(made), Some(_)) = (made, called_on)
            && !record.is_internal()
            // One that is met twice (a damaged file) belongs to nothing.
            && self.next_on(made, Lane::Creation) == 0
        {
            let alike = self.alike(run.is_possible);
            self.touch(made, Lane::Creation).push(run.place, 1, alike);
            self.n_queued += 1;
            return;
        }
        self.set_aside(run, called_on, aside);
    }

    fn begin_phase(&mut self, record: &Record, is_possible: bool) {
        if let (Some(level), true) = (record.phase_level(), is_possible) {
            let at = self.clock.global(Timestamp::from_ticks(record.enter.get()));
            self.phases.begin(level, at.ns());
        }
    }

    fn set_aside(&self, run: Run<'_>, called_on: Option<usize>, aside: &mut dyn FnMut(Aside)) {
        for (record, n) in run.records.iter().zip(0..) {
            let place = Place {
                record: run.place.record + n,
                ..run.place
            };
            if let Some(call) = self.call(record, place, run.is_possible) {
                let start = record.persistent_start();
                let local = start.and_then(|start| local_of(self.persistents, start.definition));
                let call = Call {
                    payload: local.map_or(call.payload, |local| self.persistents[local].payload),
                    phase: self.phases.level(self.phases.number()),
                    ..call
                };
                aside(Aside::Unmatched {
                    process: self.index,
                    called_on,
                    call,
                    is_internal: record.is_internal(),
                });
            }
        }
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
}

//! Collectives that one call initiates and another completes.

use std::collections::BTreeMap;

use collbench_formats::{Completion, Initiation, Record, UnsuccessfulTests};

use crate::calls::findings::InFlight;
use crate::calls::message_owner::OwnCollective;
use crate::calls::outstanding::Initiated;
use crate::calls::process::Process;
use crate::calls::queue::Alike;
use crate::communicators::persistent::local_of;
use crate::trace::record_at::{CallOrder, CallPosition, RecordAt};

/// A call that completes a collective.
#[derive(Debug)]
struct Completing {
    record: Record,
    location: RecordAt,
    completion: Completion,
    tests: Option<UnsuccessfulTests>,
}

/// Those that have not returned yet, by when they do.
#[derive(Debug, Default)]
pub(super) struct AllCompleting {
    by_leave: BTreeMap<(u64, u64), Completing>,
    n: u64,
}

impl AllCompleting {
    fn push(&mut self, leave: u64, completing: Completing) {
        self.by_leave.insert((leave, self.n), completing);
        self.n += 1;
    }

    /// The next one that returned up to an instant.
    fn pop(&mut self, until: u64) -> Option<Completing> {
        let first = self.by_leave.first_entry()?;
        (first.key().0 <= until).then(|| first.remove())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_leave.is_empty()
    }
}

impl Process<'_> {
    /// A nonblocking call, or the start of a persistent collective.
    pub(super) fn initiated(&self, record: &Record, location: RecordAt, alike: Alike) -> Initiated {
        let phase = self.phases.level(alike.phase);
        Initiated::new(
            record,
            location,
            alike.is_possible,
            phase,
            alike.known_site(),
        )
    }

    /// The start of a persistent collective: its number, and call order; `None` if that is not
    /// known.
    pub(super) fn route_start(
        &mut self,
        record: &Record,
        location: RecordAt,
        is_possible: bool,
    ) -> Option<CallPosition> {
        let start = record.persistent_start()?;
        let local = local_of(self.persistents, start.definition);
        let Some(local) = local else {
            self.found.of_process.n_undefined_starts += 1;
            return None;
        };
        if self.has_lost_starts || record.is_internal() {
            return None;
        }
        let call_order = CallOrder::Persistent(self.persistents[local].persistent);
        let alike = self.alike(location, is_possible, record.leave.get() != 0);
        let initiated = self.initiated(record, location, alike);
        let queue = self.touch(local, call_order);
        let number = queue.next;
        queue.push(location, 1, alike);
        queue.outstanding.begin(number, initiated);
        self.n_queued += 1;
        Some(CallPosition {
            call_order,
            position: number,
        })
    }

    /// Retains the calls of a part for collectives outstanding meanwhile.
    #[inline]
    pub(super) fn keep_recent(&mut self, run: &[Record]) {
        let Some(recent) = &mut self.recent else {
            return;
        };
        if self.owners.is_idle() {
            recent.clear();
            return;
        }
        let calls = run.iter().filter(|record| !record.is_internal());
        calls.for_each(|call| recent.push(call));
    }

    /// Stores with a completed collective the calls made while it was outstanding.
    fn note_meanwhile(&mut self, local_comm: usize, call_order: CallOrder, position: u64) {
        let recent = self.recent.take();
        if let (Some(recent), Some(queue)) = (&recent, self.queue_mut(local_comm, call_order)) {
            let between = |from, to| recent.between(from, to);
            queue.outstanding.note_meanwhile(position, between);
        }
        self.recent = recent;
    }

    /// The completion of a collective, or what was tested before it.
    pub(super) fn complete(&mut self, record: &Record, location: RecordAt) {
        let thread = self.thread_of(location);
        self.end_call(thread, false);
        if let Some(tests) = record.unsuccessful_tests() {
            self.tests.insert(thread, tests);
            return;
        }
        let Some(completion) = record.completion() else {
            self.found.n_unknown_records += 1;
            return;
        };
        let tests = self.tests.remove(&thread);
        let leave = record.leave.get();
        let completing = Completing {
            record: *record,
            location,
            completion,
            tests,
        };
        // Up to then another thread may send and receive for it, where there are several.
        if self.has_messages && leave != 0 && !self.stream.is_single_threaded() {
            self.completing.push(leave, completing);
        } else {
            self.look_ahead(record, location);
            self.end(&completing);
        }
    }

    /// Ends what has been completed by calls that returned up to an instant, ticks.
    #[cold]
    pub(super) fn end_completed(&mut self, until: u64) {
        while let Some(completing) = self.completing.pop(until) {
            self.end(&completing);
        }
    }

    /// The call that completes a collective has returned, or never will.
    fn end(&mut self, completing: &Completing) {
        let Completing {
            record,
            location,
            completion,
            tests,
        } = completing;
        let location = *location;
        let tests = tests.filter(|tests| tests.of_index == record.communicator.get());
        let (known, call_order, position) = match completion.of {
            Initiation::Nonblocking {
                communicator,
                position,
            } => {
                let local_comm = self
                    .context
                    .communicators
                    .local_comm(self.index, communicator);
                (local_comm, CallOrder::Application, position)
            }
            Initiation::Persistent { definition, start } => {
                let local = local_of(self.persistents, definition);
                let number = local.map_or(0, |local| self.persistents[local].persistent);
                (local, CallOrder::Persistent(number), start)
            }
        };
        let last_ticks = self.limits.last_ticks();
        let thread = self.thread_of(location);
        let completed = known.and_then(|local_comm| {
            let queue = self.queue_mut(local_comm, call_order)?;
            let of = queue.outstanding.operation(position);
            let fits = queue.outstanding.complete(
                position,
                record,
                (completion, thread),
                tests,
                last_ticks,
            );
            fits.then_some((local_comm, of))
        });
        if let Some((local_comm, _)) = completed.filter(|_| self.has_messages) {
            self.note_meanwhile(local_comm, call_order, position);
        }
        let Some((local_comm, operation)) = completed else {
            let is_lost = |local_comm| {
                self.has_lost(
                    local_comm,
                    CallPosition {
                        call_order,
                        position,
                    },
                )
            };
            if known.is_some_and(is_lost) {
                self.found.n_before_window += 1
            } else {
                self.found.n_stray_completions += 1
            }
            return;
        };
        self.touch(local_comm, call_order);
        if record.leave.get() != 0 && !record.has_failed() {
            self.owners.complete(OwnCollective {
                local: local_comm,
                call_order,
                position,
            });
            if self.owners.is_idle() && self.stream.is_single_threaded() {
                // Calls are not noted from now on.
                self.owners.forget_calls();
            }
        }
        if let Some(operation) = operation
            && record.leave.get() == 0
            && self.is_last_own(location)
        {
            let in_flight = InFlight {
                operation,
                completing: Some(completion.by),
                communicator: self.communicator_at(local_comm, call_order),
                sequence: Some(position),
                call_order: Some(call_order),
                enter: self.at(record.enter.get()),
                is_internal: false,
            };
            self.found.of_process.in_flight.push(in_flight);
        }
    }
}

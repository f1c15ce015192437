//! Adds up calls that are not part of a complete instance: each is counted by its own operation and
//! root.

use collbench_formats::{CommunicatorKind, Operation};
use collbench_stats::integers::add_ns;

use crate::calls::call::{Call, Candidate};
use crate::communicators::{Communicator, Scope};
use crate::instances::complete::{CompleteInstance, Disagreement};
use crate::sums::instances::operation_key::{ByteClass, OperationKey};
use crate::sums::mismatch::{Mismatch, MismatchKind, alike_calls, mismatch_of};
use crate::sums::rows::{InstanceState, RowKey};
use crate::sums::tally::Tally;
use crate::sums::unfinished::{Unfinished, stated_root};
use crate::trace::record_at::{CallOrder, OrderPosition};

impl Tally<'_> {
    /// Counts a call of the application.
    fn see_counted(&mut self, call: &Call) {
        self.see(call);
        self.sums.n_calls += 1;
        self.sums.n_bytes = self.sums.n_bytes.saturating_add(call.payload.unwrap_or(0));
        self.sums.counts.failed += u64::from(call.has_failed);
        self.sums.counts.payload_unknown += u64::from(call.payload.is_none());
    }

    pub(crate) fn take_unmatched(
        &mut self,
        process: usize,
        called_on: Option<usize>,
        call: &Call,
        is_internal: bool,
    ) {
        if is_internal {
            self.see(call);
            self.sums.counts.internal_calls += 1;
            return;
        }
        self.see_counted(call);
        self.sums.counts.unknown_communicator += u64::from(called_on.is_none());
        let known = called_on.map(|index| &self.context.communicators.list[index]);
        let entry = known.map(|communicator| communicator.entry);
        let rank = self.context.run.processes[process].rank();
        let is_wanted = self
            .context
            .selection
            .has_instance(call.operation, entry, call.enter.ns())
            && self.context.selection.has_rank(rank)
            && self.context.selection.has_phase(call.phase);
        if is_wanted {
            let key = OperationKey {
                entry,
                operation: call.operation,
                root: None,
                class: ByteClass::of(call.payload),
                algorithm: None,
                tree: None,
                reported: None,
            };
            let number = self.number_of(&key);
            self.sums.operations.get_mut(number).add_call(call);
            self.sums.operations.get_mut(number).has_open_call |= call.leave.is_none();
            let tally = &mut self.sums.processes[process];
            let scope = known.map_or(Scope::Job, |known| known.scope);
            tally.count(call.operation, scope, 1);
            add_ns(&mut tally.call_ns, call.time_ns());
            if let Some(rows) = &mut self.rows {
                let row_key = RowKey {
                    begin_ns: call.enter.ns(),
                    communicator: called_on.map_or(u32::MAX, |index| index as u32),
                    order: u32::MAX,
                    position: 0,
                    part: [process as u32, call.thread],
                };
                let of = (row_key, key);
                let state = (InstanceState::Unmatched, call.phase);
                rows.add_calls(
                    std::iter::once((0, rank, call)),
                    of,
                    state,
                    self.context.selection,
                );
            }
        }
    }

    /// Counts calls at one position, which are not a complete instance.
    pub(crate) fn take_irregular(
        &mut self,
        instance: &Candidate<'_>,
        disagreement: Option<Disagreement>,
    ) {
        let calls = || instance.calls.iter().flatten();
        let position = (
            instance.communicator_index,
            instance.call_order,
            instance.position,
        );
        if calls().any(Call::is_under_way) {
            let entry = &self.context.communicators.entries[instance.communicator.entry];
            self.sums
                .unfinished
                .add(Unfinished::new(instance, entry.size));
            self.sums.never_completed.add(instance, self.context.run);
        }
        if instance.call_order == CallOrder::Internal {
            for call in calls() {
                self.see(call);
                self.sums.counts.internal_calls += 1;
            }
            return;
        }
        for call in calls() {
            self.see_counted(call);
        }
        if !instance.lost.is_empty() {
            self.take_cut(instance);
            return;
        }
        let size = self.context.communicators.entries[instance.communicator.entry].size;
        let has_other_roots = disagreement == Some(Disagreement::Roots);
        let mismatch = mismatch_of(instance, has_other_roots, size);
        if let Some(kind) = mismatch {
            let calls = instance.calls.iter().enumerate();
            let calls = calls.filter_map(|(slot, call)| Some((slot, (*call)?)));
            let is_complete = instance.is_complete();
            self.add_mismatch(kind, instance.communicator, position, is_complete, calls);
        }
        self.take_incomplete(instance, mismatch.is_none() && instance.has_failed());
    }

    /// An instance of which a ring has retained only some calls: these are counted, and enter no
    /// figure.
    fn take_cut(&mut self, instance: &Candidate<'_>) {
        let shown_at = self
            .context
            .shown_at(instance.communicator, instance.called_on);
        self.sums.counts.cut += 1;
        for (slot, call) in instance.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            self.sums.counts.calls_of_cut += 1;
            let key = OperationKey {
                entry: Some(shown_at.entry),
                operation: call.operation,
                root: stated_root(instance.communicator, slot, call),
                class: ByteClass::of(call.payload),
                algorithm: None,
                tree: None,
                reported: None,
            };
            self.hand_over_call(instance, slot, call, &key);
            let member = &instance.communicator.members[slot];
            // It began before the window.
            let is_wanted =
                self.context
                    .selection
                    .has_instance(call.operation, Some(shown_at.entry), i64::MIN)
                    && self.context.selection.has_phase(instance.phase());
            if is_wanted && self.context.selection.has_rank(member.world_rank) {
                self.sums.processes[member.process].count(call.operation, shown_at.scope, 1);
                self.add_irregular_rows(instance, &[(slot, key)], InstanceState::Cut);
            }
        }
    }

    /// Collects calls that are not a complete instance, where these are passed on: of each slot the key of its operation; one
    /// row of an instance for each of these keys.
    fn add_irregular_rows(
        &mut self,
        instance: &Candidate<'_>,
        keys: &[(usize, OperationKey)],
        state: InstanceState,
    ) {
        let Some(rows) = &mut self.rows else {
            return;
        };
        let mut distinct: Vec<OperationKey> = Vec::new();
        for (_, key) in keys {
            if !distinct.contains(key) {
                distinct.push(*key);
            }
        }
        for key in distinct {
            let slots = keys.iter().filter(|(_, other)| *other == key);
            let slots = slots.map(|(slot, _)| *slot);
            let calls = slots.filter_map(|slot| {
                let call = instance.calls[slot].as_ref()?;
                Some((slot, instance.communicator.members[slot].world_rank, call))
            });
            let calls: Vec<(usize, u32, &Call)> = calls.collect();
            let enters_ns = calls.iter().map(|(_, _, call)| call.enter.ns());
            let first_enter_ns = enters_ns.min().unwrap_or(0);
            let row_key = RowKey {
                begin_ns: instance
                    .not_before_ns
                    .map_or(first_enter_ns, |ns| ns.max(first_enter_ns)),
                communicator: instance.communicator_index as u32,
                order: instance.call_order.number(),
                position: instance.position,
                part: [0, calls.first().map_or(0, |first| first.0 as u32)],
            };
            let of = (row_key, key);
            let state = (state, instance.phase());
            rows.add_calls(calls.into_iter(), of, state, self.context.selection);
        }
    }

    /// An instance that is incomplete, not one collective, or refused by the library
    /// (`has_failed`): its calls are counted, each by its own operation and root.
    fn take_incomplete(&mut self, instance: &Candidate<'_>, has_failed: bool) {
        let shown_at = self
            .context
            .shown_at(instance.communicator, instance.called_on);
        if has_failed {
            self.sums.counts.failed_instances += 1
        } else {
            self.sums.counts.incomplete += 1
        }
        let mut seen = Vec::new();
        let mut keys = Vec::new();
        // Between groups, those beside the root do not name it; any of the others does.
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        let named = |slot: usize, call: &Option<Call>| {
            call.and_then(|call| {
                Some((
                    call.operation,
                    stated_root(instance.communicator, slot, &call)?,
                ))
            })
        };
        let roots: Vec<(Operation, u32)> = if is_inter {
            (0..instance.calls.len())
                .filter_map(|slot| named(slot, &instance.calls[slot]))
                .collect()
        } else {
            Vec::new()
        };
        for (slot, call) in instance.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            let others = instance.calls.iter().flatten();
            let alike = others.filter(|other| other.operation == call.operation);
            let key = OperationKey {
                entry: Some(shown_at.entry),
                operation: call.operation,
                root: stated_root(instance.communicator, slot, call).or_else(|| {
                    let of_others = roots.iter().find(|(other, _)| *other == call.operation);
                    of_others.map(|(_, root)| *root)
                }),
                class: ByteClass::of(alike.filter_map(|call| call.payload).max()),
                algorithm: None,
                tree: None,
                reported: None,
            };
            self.hand_over_call(instance, slot, call, &key);
            if !self.is_wanted(instance, call.operation, shown_at.entry) {
                continue;
            }
            keys.push((slot, key));
            let number = self.number_of(&key);
            if !seen.contains(&number) {
                seen.push(number);
                if has_failed {
                    self.sums.operations.get_mut(number).failed += 1
                } else {
                    self.sums.operations.get_mut(number).incomplete += 1
                }
            }
            let member = &instance.communicator.members[slot];
            if self.context.selection.has_rank(member.world_rank) {
                let process = &mut self.sums.processes[member.process];
                process.count(call.operation, shown_at.scope, 1);
                if has_failed {
                    self.sums.operations.get_mut(number).count_call(call);
                    continue;
                }
                self.sums.operations.get_mut(number).add_call(call);
                add_ns(&mut process.call_ns, call.time_ns());
                process.activity.add_unmeasured(call);
                if let Some(level) = instance.phase() {
                    let phase = self.sums.phases.entry(level).or_default();
                    phase.add(1, call.time_ns(), None);
                }
            }
        }
        let state = if has_failed {
            InstanceState::Failed
        } else {
            InstanceState::Incomplete
        };
        self.add_irregular_rows(instance, &keys, state);
    }

    fn is_wanted(&self, instance: &Candidate<'_>, operation: Operation, entry: usize) -> bool {
        let enters = instance.calls.iter().flatten().map(|call| call.enter.ns());
        let first_enter = enters.min().unwrap_or(0);
        self.context
            .selection
            .has_instance(operation, Some(entry), first_enter)
            && self.context.selection.has_phase(instance.phase())
    }

    /// Counts calls at one place that differ in what they must not.
    fn add_mismatch(
        &mut self,
        kind: MismatchKind,
        communicator: &Communicator,
        position: OrderPosition,
        went_through: bool,
        calls: impl Iterator<Item = (usize, Call)>,
    ) {
        self.sums.mismatches.add(kind, position, || {
            let calls: Vec<(usize, Call)> = calls.collect();
            let processes = calls
                .iter()
                .map(|(slot, _)| communicator.members[*slot].process);
            Mismatch {
                kind,
                entry: communicator.entry,
                is_persistent: matches!(position.1, CallOrder::Persistent(_)),
                sequence: position.2,
                went_through,
                processes: processes.collect(),
                calls: alike_calls(communicator, kind, calls.into_iter()),
            }
        });
    }

    /// Counts a complete instance whose sizes contradict one another.
    #[cold]
    pub(crate) fn take_sizes_apart(&mut self, instance: &CompleteInstance<'_>) {
        let position = (
            instance.communicator_index,
            instance.call_order,
            instance.position,
        );
        let root = instance
            .root
            .map(|slot| instance.communicator.members[slot].rank);
        let call = |slot: usize| Call {
            operation: instance.operation,
            root: root.map_or(collbench_formats::ROOT_NONE, u32::cast_signed),
            enter: instance.enters[slot],
            leave: Some(instance.leaves[slot]),
            payload: instance.payloads.of(slot),
            has_failed: false,
            is_timed: true,
            overlap: None,
            phase: None,
            site: None,
            thread: 0,
        };
        let calls = (0..instance.n_calls()).map(|slot| (slot, call(slot)));
        let kind = MismatchKind::Sizes;
        self.add_mismatch(kind, instance.communicator, position, true, calls);
    }
}

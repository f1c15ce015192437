//! Calls that are not a complete instance, to sums: each is counted under what it says of itself.

use std::collections::BTreeMap;

use collbench_formats::{CommunicatorKind, Operation};

use crate::agreed::Disagreement;
use crate::communicators::Scope;
use crate::matching::{Call, Instance, Lane};
use crate::sums::{ByteClass, OperationKey, add_ns};
use crate::tally::{Tally, class_of};
use crate::unfinished::Unfinished;

/// Most [`Unfinished`] instances that are kept.
const MAX_UNFINISHED: usize = 1000;

impl Tally<'_> {
    /// Counts a call of the application; `true` unless it is another's.
    fn see_counted(&mut self, call: &Call) {
        self.see(call);
        self.n_calls += 1;
        self.n_bytes = self.n_bytes.saturating_add(call.payload.unwrap_or(0));
        self.counts.failed += u64::from(call.has_failed);
        self.counts.payload_unknown += u64::from(call.payload.is_none());
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
            self.counts.internal_calls += 1;
            return;
        }
        self.see_counted(call);
        self.counts.unknown_communicator += u64::from(called_on.is_none());
        let known = called_on.map(|index| &self.communicators.list[index]);
        let entry = known.map(|communicator| communicator.entry);
        let rank = self.run.processes[process].rank();
        let is_wanted = self
            .selection
            .has_instance(call.operation, entry, call.enter.ns())
            && self.selection.has_rank(rank)
            && self.selection.has_phase(call.phase);
        if is_wanted {
            let key = OperationKey {
                entry,
                operation: call.operation,
                root: None,
                class: ByteClass::of(call.payload),
            };
            let index = self.index_of(key);
            self.tallies[index].add_call(call);
            self.tallies[index].has_open_call |= call.leave.is_none();
            let tally = &mut self.processes[process];
            let scope = known.map_or(Scope::Job, |known| known.scope);
            tally.count(call.operation, scope, 1);
            add_ns(&mut tally.call_ns, call.time_ns());
        }
    }

    /// Counts calls at one position, which are not a complete instance.
    pub(crate) fn take_irregular(
        &mut self,
        instance: &Instance<'_>,
        disagreement: Option<Disagreement>,
    ) {
        let calls = || instance.calls.iter().flatten();
        let place = (
            instance.communicator_index,
            instance.lane,
            instance.position,
        );
        if calls().any(Call::is_under_way) {
            let entry = &self.communicators.entries[instance.communicator.entry];
            let unfinished = Unfinished::new(instance, entry.size);
            self.unfinished.insert(place, unfinished);
            self.limit_unfinished();
        }
        if instance.lane == Lane::Internal {
            for call in calls() {
                self.see(call);
                self.counts.internal_calls += 1;
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
        // Of what is not whole, roots are not known on every side.
        let is_mismatch = disagreement.is_some_and(|disagreement| {
            instance.is_complete() || disagreement == Disagreement::Operations
        });
        if is_mismatch {
            self.counts.mismatched += 1;
            let known = self.counts.mismatch.as_ref();
            if known.is_none_or(|(first, _)| place < *first) {
                self.counts.mismatch = Some((place, self.describe_mismatch(instance)));
            }
        }
        self.take_incomplete(instance);
    }

    /// An instance of which a ring has kept the calls of some: these are counted, and that is all.
    fn take_cut(&mut self, instance: &Instance<'_>) {
        let place = self.place(instance.communicator, instance.called_on);
        self.counts.cut += 1;
        for (slot, call) in instance.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            self.counts.calls_of_cut += 1;
            let member = &instance.communicator.members[slot];
            // It began before the window.
            let is_wanted =
                self.selection
                    .has_instance(call.operation, Some(place.entry), i64::MIN)
                    && self.selection.has_phase(instance.phase());
            if is_wanted && self.selection.has_rank(member.world_rank) {
                self.processes[member.process].count(call.operation, place.scope, 1);
            }
        }
    }

    /// Keeps the first of them, by communicator, lane and position.
    pub(crate) fn limit_unfinished(&mut self) {
        while self.unfinished.len() > MAX_UNFINISHED {
            self.unfinished.pop_last();
        }
    }

    /// An instance that is not whole, or not one collective: its calls are counted, each under
    /// what it says of itself.
    fn take_incomplete(&mut self, instance: &Instance<'_>) {
        let place = self.place(instance.communicator, instance.called_on);
        self.counts.incomplete += 1;
        let mut seen = Vec::new();
        // Between groups, those beside the root do not name it; any of the others does.
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        let named = |slot: usize, call: &Option<Call>| {
            call.and_then(|call| Some((call.operation, self.stated_root(instance, slot, &call)?)))
        };
        let roots: Vec<(Operation, u32)> = match is_inter {
            true => (0..instance.calls.len())
                .filter_map(|slot| named(slot, &instance.calls[slot]))
                .collect(),
            false => Vec::new(),
        };
        for (slot, call) in instance.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            if !self.is_wanted(instance, call.operation, place.entry) {
                continue;
            }
            let alike = |other: &&Call| other.operation == call.operation;
            let key = OperationKey {
                entry: Some(place.entry),
                operation: call.operation,
                root: self.stated_root(instance, slot, call).or_else(|| {
                    let of_others = roots.iter().find(|(other, _)| *other == call.operation);
                    of_others.map(|(_, root)| *root)
                }),
                class: class_of(instance.calls.iter().flatten().filter(alike)),
            };
            let index = self.index_of(key);
            if !seen.contains(&index) {
                seen.push(index);
                self.tallies[index].incomplete += 1;
            }
            let member = &instance.communicator.members[slot];
            if self.selection.has_rank(member.world_rank) {
                self.tallies[index].add_call(call);
                let process = &mut self.processes[member.process];
                process.count(call.operation, place.scope, 1);
                add_ns(&mut process.call_ns, call.time_ns());
                process.course.add_unmeasured(call);
                if let Some(level) = instance.phase() {
                    let phase = self.phases.entry(level).or_default();
                    phase.add(1, call.time_ns(), None);
                }
            }
        }
    }

    fn is_wanted(&self, instance: &Instance<'_>, operation: Operation, entry: usize) -> bool {
        let enters = instance.calls.iter().flatten().map(|call| call.enter.ns());
        let first_enter = enters.min().unwrap_or(0);
        self.selection
            .has_instance(operation, Some(entry), first_enter)
            && self.selection.has_phase(instance.phase())
    }

    /// World rank of the root that a call names, where that can be told from the call alone.
    fn stated_root(&self, instance: &Instance<'_>, slot: usize, call: &Call) -> Option<u32> {
        let members = &instance.communicator.members;
        if !call.operation.semantics().is_rooted() {
            return None;
        }
        if call.root == collbench_formats::ROOT_IS_ME {
            return Some(members[slot].world_rank);
        }
        let group = match instance.communicator.kind {
            CommunicatorKind::Intra => 0,
            CommunicatorKind::Inter => 1 - members[slot].group,
        };
        let rank = u32::try_from(call.root).ok()?;
        let found = members.binary_search_by_key(&(group, rank), |m| (m.group, m.rank));
        Some(members[found.ok()?].world_rank)
    }

    fn describe_mismatch(&self, instance: &Instance<'_>) -> String {
        let entry = &self.communicators.entries[instance.communicator.entry];
        let mut by_call: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (slot, call) in instance.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            let root = self.stated_root(instance, slot, call);
            let words = match root {
                Some(root) => format!("{} with root {root}", call.operation.name()),
                None => call.operation.name().to_owned(),
            };
            by_call
                .entry(words)
                .or_default()
                .push(instance.communicator.members[slot].world_rank);
        }
        let calls: Vec<String> = by_call
            .into_iter()
            .take(4)
            .map(|(words, mut ranks)| {
                ranks.sort_unstable();
                format!("{words} by {}", crate::inert::ranks(&ranks))
            })
            .collect();
        format!(
            "call {} on {}: {}",
            instance.position,
            crate::inert::line(&entry.name, 60),
            calls.join("; ")
        )
    }
}

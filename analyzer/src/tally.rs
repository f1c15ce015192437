//! Instances to sums.
//!
//! Memory grows with operations (as told apart by communicator, root and payload), communicators
//! and processes, not with calls.

use std::borrow::Cow;
use std::collections::BTreeMap;

use collbench_formats::{CommunicatorKind, Operation};

use crate::clock::Clocks;
use crate::communicators::{Communicators, Scope};
use crate::matching::{Call, InFlight, Instance, Lane, Matched};
use crate::measure::{Agreed, Disagreement, Figures};
use crate::run::Run;
use crate::selection::Resolved;
use crate::sums::{
    ByteClass, Lateness, LatenessOfMember, OperationKey, OperationTally, ProcessTally, add_ns,
    sum_ns,
};
use crate::unfinished::Unfinished;

/// Most [`Unfinished`] instances that are kept.
const MAX_UNFINISHED: usize = 1000;

/// All sums of a run.
pub struct Tally<'a> {
    run: &'a Run<'a>,
    communicators: &'a Communicators,
    selection: Resolved,
    granularity_ns: Vec<i64>,
    indexes: BTreeMap<OperationKey, usize>,
    /// By operation; [`Tally::operations`] gives them in order.
    tallies: Vec<OperationTally>,
    /// By process of the run.
    pub processes: Vec<ProcessTally>,
    /// By communicator entry and operation.
    pub lateness: BTreeMap<(usize, Operation), Lateness>,
    /// Instances that someone was in at the end.
    pub unfinished: Vec<Unfinished>,
    /// Calls that were under way at the end.
    pub in_flight: Vec<InFlight>,
    /// Calls of the application in the whole trace.
    pub n_calls: u64,
    /// Their payload, bytes.
    pub n_bytes: u64,
    /// Counts for remarks.
    pub counts: Counts,
    /// Last stamp of any process, ns since the start.
    pub end_ns: i64,
    figures: Figures,
}

/// How often something worth a remark was met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of the MPI library on its own behalf.
    pub internal_calls: u64,
    /// Calls on unknown communicators.
    pub unknown_communicator: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Calls of unknown payload.
    pub payload_unknown: u64,
    /// Positions whose calls are not one collective.
    pub mismatched: u64,
    /// The first of them, in words.
    pub mismatch: Option<String>,
    /// Instances that are not complete.
    pub incomplete: u64,
    /// Instances with a core below zero.
    pub negative_core: u64,
}

impl<'a> Tally<'a> {
    /// Sums of nothing yet.
    #[must_use]
    pub fn new(
        run: &'a Run<'a>,
        clocks: &Clocks,
        communicators: &'a Communicators,
        selection: Resolved,
    ) -> Self {
        Self {
            run,
            communicators,
            selection,
            granularity_ns: clocks
                .hosts
                .iter()
                .map(|host| host.granularity_ns)
                .collect(),
            indexes: BTreeMap::new(),
            tallies: Vec::new(),
            processes: vec![ProcessTally::default(); run.processes.len()],
            lateness: BTreeMap::new(),
            unfinished: Vec::new(),
            in_flight: Vec::new(),
            n_calls: 0,
            n_bytes: 0,
            counts: Counts::default(),
            end_ns: 0,
            figures: Figures::new(),
        }
    }

    /// The operations, by key.
    pub fn operations(&self) -> impl Iterator<Item = (&OperationKey, &OperationTally)> {
        self.indexes
            .iter()
            .map(|(key, &index)| (key, &self.tallies[index]))
    }

    /// Takes what matching found.
    pub fn take(&mut self, matched: Matched<'_>) {
        match matched {
            Matched::Instance(instance) => self.take_instance(&instance),
            Matched::Unmatched {
                process,
                called_on,
                call,
                is_internal,
            } => self.take_unmatched(process, called_on, &call, is_internal),
            Matched::Process { call } => self.see(&call),
            Matched::InFlight(in_flight) => self.in_flight.push(in_flight),
        }
    }

    fn see(&mut self, call: &Call) {
        if !call.is_timed {
            return;
        }
        let last = call.leave.unwrap_or(call.enter).ns();
        self.end_ns = self.end_ns.max(last);
    }

    /// Counts a call of the application; `true` unless it is another's.
    fn see_counted(&mut self, call: &Call) {
        self.see(call);
        self.n_calls += 1;
        self.n_bytes = self.n_bytes.saturating_add(call.payload.unwrap_or(0));
        self.counts.failed += u64::from(call.has_failed);
        self.counts.payload_unknown += u64::from(call.payload.is_none());
    }

    fn take_unmatched(
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
            && self.selection.has_rank(rank);
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
            tally.count(
                call.operation,
                known.map_or(Scope::Job, |known| known.scope),
            );
            add_ns(&mut tally.call_ns, call.time_ns());
        }
    }

    fn take_instance(&mut self, instance: &Instance<'_>) {
        let is_under_way = |call: &Option<Call>| call.is_some_and(|call| call.leave.is_none());
        if instance.calls.iter().any(is_under_way) && self.unfinished.len() < MAX_UNFINISHED {
            let entry = &self.communicators.entries[instance.communicator.entry];
            self.unfinished.push(Unfinished::new(instance, entry.size));
        }
        if instance.lane == Lane::Internal {
            for call in instance.calls.iter().flatten() {
                self.see(call);
                self.counts.internal_calls += 1;
            }
            return;
        }
        for call in instance.calls.iter().flatten() {
            self.see_counted(call);
        }
        match Agreed::new(instance) {
            Ok(agreed) if instance.is_complete() => self.take_complete(instance, &agreed),
            Ok(_) => self.take_incomplete(instance),
            Err(disagreement) => {
                // Of what is not whole, roots are not known on every side.
                if instance.is_complete() || disagreement == Disagreement::Operations {
                    self.counts.mismatched += 1;
                    if self.counts.mismatch.is_none() {
                        self.counts.mismatch = Some(self.describe_mismatch(instance));
                    }
                }
                self.take_incomplete(instance);
            }
        }
    }

    fn take_complete(&mut self, instance: &Instance<'_>, agreed: &Agreed<'_>) {
        let place = self.place(instance);
        let key = OperationKey {
            entry: Some(place.entry),
            operation: agreed.operation,
            root: agreed
                .root
                .map(|slot| instance.communicator.members[slot].world_rank),
            class: class_of(instance.calls.iter().flatten()),
        };
        if !self.is_wanted(instance, key.operation, place.entry) {
            return;
        }
        let mut figures = std::mem::take(&mut self.figures);
        figures.measure(agreed, &self.granularity_ns);
        self.counts.negative_core += u64::from(figures.core.is_some_and(|core| core < 0));
        self.add_calls(instance, key, &place, &figures);
        let index = self.index_of(key);
        let tally = &mut self.tallies[index];
        tally.instances += 1;
        tally.duration.add(figures.duration);
        if let Some(core) = figures.core {
            tally.core.add(core);
        }
        let member = |slot: usize| place.positions[slot];
        match figures.last {
            Some(slot) => tally.members[member(slot)].last += 1,
            None => tally.last_unresolved += 1,
        }
        match figures.first_departure {
            Some(slot) => tally.members[member(slot)].first_departure += 1,
            None => tally.first_unresolved += 1,
        }
        let n = instance.calls.len();
        for &(slot, position) in &figures.arrivals {
            tally.arrivals.add(member(slot), position, n);
        }
        for &(slot, position) in &figures.departures {
            tally.departures.add(member(slot), position, n);
        }
        if !figures.departures_after_last.is_empty() {
            tally.serialization.add(&figures.departures_after_last);
        }
        let process_of = |slot: usize| instance.communicator.members[slot].process;
        if let Some(slot) = figures.last {
            self.processes[process_of(slot)].last += 1;
        }
        if let Some(slot) = figures.first {
            self.processes[process_of(slot)].first += 1;
        }
        if n > 1 && !figures.waits.is_empty() {
            self.add_lateness(instance, key, &place, &figures);
        }
        self.figures = figures;
    }

    /// What the calls of a complete instance took and waited.
    fn add_calls(
        &mut self,
        instance: &Instance<'_>,
        key: OperationKey,
        place: &Place<'_>,
        figures: &Figures,
    ) {
        let index = self.index_of(key);
        for (slot, call) in instance.calls.iter().enumerate() {
            let Some(call) = call else { continue };
            let member = &instance.communicator.members[slot];
            if !self.selection.has_rank(member.world_rank) {
                continue;
            }
            let call_ns = call.time_ns();
            let tally = &mut self.tallies[index];
            tally.add_call(call);
            tally.lag.add(figures.lags[slot]);
            let line = &mut tally.members[place.positions[slot]];
            line.n_calls += 1;
            add_ns(&mut line.call_ns, call_ns);
            let process = &mut self.processes[member.process];
            process.count(call.operation, place.scope);
            add_ns(&mut process.call_ns, call_ns);
            if let Some(&Some(wait)) = figures.waits.get(slot) {
                tally.wait.add(wait);
                line.n_waits += 1;
                add_ns(&mut line.wait_ns, wait);
                add_ns(process.wait_ns.get_or_insert(0), wait);
            }
            if let Some(&departure_wait) = figures.departure_waits.get(slot) {
                tally.departure_wait.add(departure_wait);
                line.n_departure_waits += 1;
                add_ns(&mut line.departure_wait_ns, departure_wait);
            }
            process.conduct.add(figures, slot);
            let (enter, leave) = (call.enter.ns(), call.leave.unwrap_or(call.enter).ns());
            process.course.add(enter, leave, figures.wait_of(slot));
            if let Some(&completion) = figures.completions.get(slot) {
                add_ns(tally.completion_ns.get_or_insert(0), completion);
            }
        }
    }

    fn add_lateness(
        &mut self,
        instance: &Instance<'_>,
        key: OperationKey,
        place: &Place<'_>,
        figures: &Figures,
    ) {
        let n_positions = self.communicators.entries[place.entry].ranks.len();
        let lateness = self
            .lateness
            .entry((place.entry, key.operation))
            .or_insert_with(|| Lateness {
                resolved: 0,
                instances: 0,
                members: vec![LatenessOfMember::default(); n_positions],
            });
        lateness.instances += 1;
        for (slot, &position) in place.positions.iter().enumerate() {
            lateness.members[position].process = Some(instance.communicator.members[slot].process);
        }
        let Some(last) = figures.last else { return };
        lateness.resolved += 1;
        let waits = figures.waits.iter().zip(&figures.releasers);
        let caused = waits.filter(|(_, releaser)| **releaser == Some(last));
        let member = &mut lateness.members[place.positions[last]];
        member.last += 1;
        add_ns(&mut member.excess_ns, figures.excess);
        add_ns(
            &mut member.caused_ns,
            sum_ns(caused.filter_map(|(wait, _)| *wait)),
        );
    }

    /// An instance that is not whole, or not one collective: its calls are counted, each under
    /// what it says of itself.
    fn take_incomplete(&mut self, instance: &Instance<'_>) {
        let place = self.place(instance);
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
                process.count(call.operation, place.scope);
                add_ns(&mut process.call_ns, call.time_ns());
                process.course.add_unmeasured(call);
            }
        }
    }

    fn is_wanted(&self, instance: &Instance<'_>, operation: Operation, entry: usize) -> bool {
        let enters = instance.calls.iter().flatten().map(|call| call.enter.ns());
        let first_enter = enters.min().unwrap_or(0);
        self.selection
            .has_instance(operation, Some(entry), first_enter)
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

    fn index_of(&mut self, key: OperationKey) -> usize {
        let n_positions = key
            .entry
            .map_or(0, |entry| self.communicators.entries[entry].ranks.len());
        let tallies = &mut self.tallies;
        *self.indexes.entry(key).or_insert_with(|| {
            tallies.push(OperationTally::new(n_positions));
            tallies.len() - 1
        })
    }

    /// Where an instance is shown.
    fn place<'m>(&self, instance: &Instance<'m>) -> Place<'m> {
        let list = &self.communicators.list;
        match instance.called_on {
            None => Place {
                entry: instance.communicator.entry,
                scope: instance.communicator.scope,
                positions: Cow::Borrowed(&instance.communicator.positions),
            },
            Some(parent) => {
                let ranks = &self.communicators.entries[list[parent].entry].ranks;
                let members = instance.communicator.members.iter();
                Place {
                    entry: list[parent].entry,
                    scope: list[parent].scope,
                    positions: members
                        .map(|member| {
                            let is_it = |rank: &Option<u32>| *rank == Some(member.world_rank);
                            ranks.iter().position(is_it).unwrap_or(0)
                        })
                        .collect(),
                }
            }
        }
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

/// Where an instance is shown: entry, class, and for each slot the position in the entry.
struct Place<'m> {
    entry: usize,
    scope: Scope,
    positions: Cow<'m, [usize]>,
}

fn class_of<'c>(calls: impl Iterator<Item = &'c Call>) -> ByteClass {
    ByteClass::of(calls.filter_map(|call| call.payload).max())
}

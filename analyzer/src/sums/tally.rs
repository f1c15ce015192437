//! Instances to sums.
//!
//! Memory grows with operations (as told apart by communicator, root and payload), communicators
//! and processes, not with calls. Each worker has sums of its own: everything that is kept here
//! can be merged, and what comes of it does not depend on who has seen what.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::Operation;
use collbench_stats::batches::InstanceSums;
use collbench_stats::distribution::Distribution;
use collbench_stats::integers::{add_ns, sum_ns};

use crate::align::causality::ByHost;
use crate::calls::call::Call;
use crate::calls::outstanding::OverlapCourse;
use crate::communicators::{Communicator, Communicators};
use crate::instances::complete::Agreed;
use crate::instances::matched::{Matched, Sums};
use crate::measure::calling::Calling;
use crate::measure::outside::Figures;
use crate::measure::shapes::Shapes;
use crate::selection::Resolved;
use crate::sums::column_buffer::{Strip, TOO_LONG_NS};
use crate::sums::columns::Calls;
use crate::sums::counts::Counts;
use crate::sums::graph_figures::Room;
use crate::sums::late_arrivals::LateArrival;
use crate::sums::lateness::Lateness;
use crate::sums::mismatch::{Mismatches, has_sizes_apart};
use crate::sums::never_completed::AllNeverCompleted;
use crate::sums::operation::{ByteClass, OperationKey, OperationTally};
use crate::sums::outliers::{LateTogether, LongInstance};
use crate::sums::place::{Place, PlacesOfRanks};
use crate::sums::process::{PhaseTally, ProcessTally};
use crate::sums::sections::OperationSection;
use crate::sums::unfinished::AllUnfinished;
use crate::time::clocks::{Clocks, HostOffset};
use crate::time::resolution::Resolution;
use crate::trace::place::Lane;
use crate::trace::run::Run;

/// All sums of a run, or of the part of it that one worker has seen.
pub struct Tally<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) communicators: &'a Communicators,
    pub(crate) selection: &'a Resolved,
    resolution: Resolution,
    indexes: BTreeMap<OperationKey, usize>,
    /// By operation; [`Tally::operations`] gives them in order.
    pub(crate) tallies: Vec<OperationTally>,
    /// By process of the run.
    pub processes: Vec<ProcessTally>,
    /// By communicator entry and operation.
    pub lateness: BTreeMap<(usize, Operation), Lateness>,
    /// By level of the phase that the program marked.
    pub phases: BTreeMap<i32, PhaseTally>,
    /// Instances that someone was in at the end.
    pub unfinished: AllUnfinished,
    /// Instances that were begun and not completed by processes that ended in order.
    pub never_completed: AllNeverCompleted,
    /// Calls at one position that are not one collective, or of sizes that do not fit.
    pub mismatches: Mismatches,
    /// Calls of the application in the whole trace.
    pub n_calls: u64,
    /// Their payload, bytes.
    pub n_bytes: u64,
    /// Counts for remarks.
    pub counts: Counts,
    /// Last stamp of any process, ns since the start.
    pub end_ns: i64,
    /// The instances at hand, still to be added to `processes`.
    strip: Strip,
    /// Room that is used for each instance.
    figures: Option<Box<Figures>>,
    scratch: Scratch,
    shapes: Shapes,
    calling: Calling,
    inside_room: Room,
    /// When recording stopped early, by process: calls up to there are in the trace, but the messages of
    /// the last one need not be.
    stops: BTreeMap<usize, Timestamp<Global>>,
    /// By host the offset of its clock.
    offsets: &'a [HostOffset],
    by_host: ByHost,
    /// Where operations were found last.
    found: Found,
}

/// When recording stopped early, of processes of which it did.
fn stops(run: &Run<'_>, clocks: &Clocks) -> BTreeMap<usize, Timestamp<Global>> {
    let stops = run.processes.iter().zip(&clocks.processes).enumerate();
    let stops = stops.filter_map(|(process, (file, clock))| {
        let ticks = file.trace.header.stop_ticks.get();
        (ticks != 0).then(|| (process, clock.global(Timestamp::from_ticks(ticks))))
    });
    stops.collect()
}

/// Where the operations at hand are kept: instances of a few operations on a few communicators
/// follow one another.
#[derive(Debug, Default)]
struct Found {
    places: [Option<(OperationKey, usize)>; 8],
}

impl Found {
    fn place(key: &OperationKey) -> usize {
        let entry = key.entry.unwrap_or(0);
        (entry.wrapping_mul(5) ^ key.operation as usize) % 8
    }

    #[inline]
    fn index(&self, key: &OperationKey) -> Option<usize> {
        let (found, index) = self.places[Self::place(key)]?;
        (found == *key).then_some(index)
    }
}

#[derive(Default)]
struct Scratch {
    /// The slots whose calls are counted.
    slots: Vec<usize>,
    times: Vec<i64>,
    picked: Vec<i64>,
}

impl<'a> Tally<'a> {
    /// Sums of nothing yet.
    #[must_use]
    pub fn new(
        run: &'a Run<'a>,
        clocks: &'a Clocks,
        communicators: &'a Communicators,
        selection: &'a Resolved,
    ) -> Self {
        Self {
            run,
            communicators,
            selection,
            resolution: Resolution::of(clocks),
            indexes: BTreeMap::new(),
            tallies: Vec::new(),
            processes: vec![ProcessTally::default(); run.processes.len()],
            lateness: BTreeMap::new(),
            phases: BTreeMap::new(),
            unfinished: AllUnfinished::default(),
            never_completed: AllNeverCompleted::default(),
            mismatches: Mismatches::default(),
            n_calls: 0,
            n_bytes: 0,
            counts: Counts::default(),
            end_ns: 0,
            strip: Strip::default(),
            figures: None,
            scratch: Scratch::default(),
            shapes: Shapes::default(),
            calling: Calling::default(),
            inside_room: Room::default(),
            stops: stops(run, clocks),
            offsets: clocks.offsets(),
            by_host: ByHost::default(),
            found: Found::default(),
        }
    }

    /// The operations, by key.
    pub fn operations(&self) -> impl Iterator<Item = (&OperationKey, &OperationTally)> {
        self.indexes
            .iter()
            .map(|(key, &index)| (key, &self.tallies[index]))
    }

    /// Operations on communicators of which it is sometimes known who came last.
    pub(crate) fn n_judged(&self) -> usize {
        let resolved = self
            .lateness
            .values()
            .filter(|lateness| lateness.resolved > 0);
        resolved.count().max(1)
    }

    pub(crate) fn see(&mut self, call: &Call) {
        if !call.is_timed {
            return;
        }
        self.end_ns = self.end_ns.max(call.last_seen().ns());
    }

    /// A complete instance: everything that is summed up of those begins here.
    fn take_agreed(&mut self, instance: &Agreed<'_>) {
        let n = instance.n_calls();
        self.end_ns = self.end_ns.max(instance.extent.last_leave);
        if let Some(messages) = &instance.messages {
            self.counts.messages.add(messages);
        }
        if instance.lane == Lane::Internal {
            self.counts.internal_calls += n as u64;
            return;
        }
        let offsets = self.offsets;
        let before_ns = |host: usize, time_ns: i64| match offsets.get(host) {
            Some(offset) => offset.local_ns(time_ns),
            None => time_ns,
        };
        let counts = &mut self.counts.causality;
        self.by_host.count(instance, &before_ns, counts);
        let payloads = instance.payloads.sums(n);
        self.n_calls += n as u64;
        self.n_bytes = self.n_bytes.saturating_add(payloads.n_bytes);
        self.counts.failed += instance.n_failed;
        self.counts.payload_unknown += payloads.n_unknown;
        if has_sizes_apart(instance, &payloads) {
            self.take_sizes_apart(instance);
        }
        let place = self.place(instance.communicator, instance.called_on);
        let root = instance.root;
        let key = OperationKey {
            entry: Some(place.entry),
            operation: instance.operation,
            root: root.map(|slot| instance.communicator.members[slot].world_rank),
            class: ByteClass::of(payloads.range.map(|(_, greatest)| greatest)),
            algorithm: None,
            said: instance.said,
        };
        let first_enter = instance.extent.first_enter;
        let is_wanted = self
            .selection
            .has_instance(key.operation, key.entry, first_enter)
            && self.selection.has_phase(instance.phase);
        if !is_wanted {
            return;
        }
        if instance.n_failed > 0 {
            self.count_failed(instance, key, &place);
            return;
        }
        let shape = (instance.messages.as_ref())
            .map(|messages| messages.shape(|| self.shapes.of(instance, messages)));
        let mut is_contradicted = false;
        let algorithm = match instance.said {
            None => shape.as_ref().and_then(|shape| shape.algorithm()),
            Some(said) => {
                let names = &self.run.names;
                let called = self.calling.called(instance, (names, said), shape.as_ref());
                is_contradicted = called.is_contradicted;
                called.algorithm
            }
        };
        let key = OperationKey { algorithm, ..key };
        let index = self.index_of(key);
        let mut figures = self.figures.take().unwrap_or_default();
        figures.measure(instance, &self.resolution);
        // Whatever else is to be known of instances adds itself up here, from the instance and
        // its figures; and in `merge`.
        let section = match self.add_columns(instance, index, &place, &figures) {
            Some(section) => section,
            None => self.add_calls(instance, index, &place, &figures),
        };
        if let Some(level) = instance.phase {
            let wait_ns = (section.n_waits > 0).then_some(section.wait_ns);
            let phase = self.phases.entry(level).or_default();
            phase.add(section.calls, section.call_ns, wait_ns);
        }
        self.add_instance(instance, index, &place, &figures, section);
        if let (Some(messages), Some(shape)) = (&instance.messages, shape)
            && !(messages.is_empty() && self.has_stopped_in(instance))
        {
            let inside = self.tallies[index].inside.get_or_insert_default();
            let room = (&self.resolution, &mut self.inside_room);
            inside.n_contradicted += u64::from(is_contradicted);
            inside.add(instance, messages, &shape, &place.positions, room);
        }
        if n > 1 && figures.has_waits() {
            self.add_lateness(instance, key, &place, &figures);
        }
        self.figures = Some(figures);
    }

    /// An instance in which calls returned an error: what that took says nothing of the operation. Its
    /// calls are counted, and that is all.
    #[cold]
    fn count_failed(&mut self, instance: &Agreed<'_>, key: OperationKey, place: &Place<'_>) {
        self.counts.failed_instances += 1;
        let index = self.index_of(key);
        self.tallies[index].failed += 1;
        for (slot, member) in instance.communicator.members.iter().enumerate() {
            if self.selection.has_rank(member.world_rank) {
                let tally = &mut self.tallies[index];
                tally.calls += 1;
                if let Some(bytes) = instance.payloads.of(slot) {
                    tally.see_bytes(bytes, bytes);
                }
                let process = &mut self.processes[member.process];
                process.count(instance.operation, place.scope, 1);
            }
        }
    }

    /// Whether recording had stopped when one of its processes left it.
    fn has_stopped_in(&self, instance: &Agreed<'_>) -> bool {
        self.stops.iter().any(|(&process, stop)| {
            let slot = instance.communicator.slot_of(process);
            slot.is_some_and(|slot| instance.leaves[slot] >= *stop)
        })
    }

    /// Figures of the instance as a whole.
    fn add_instance(
        &mut self,
        instance: &Agreed<'_>,
        index: usize,
        place: &Place<'_>,
        figures: &Figures,
        section: OperationSection,
    ) {
        if figures.core.is_some_and(|core| core < 0) {
            let is_one_clock = instance.communicator.hosts.len() == 1;
            self.counts.negative_core += 1;
            self.counts.negative_core_of_one_clock += u64::from(is_one_clock);
        }
        let at_ns = figures.last_enter_ns(instance);
        let tally = &mut self.tallies[index];
        let sums = InstanceSums {
            duration: figures.duration,
            core: figures.core,
            n_calls: section.calls,
            call_ns: section.call_ns,
            n_waits: section.n_waits,
            wait_ns: section.wait_ns,
        };
        tally.batches.add(instance.position, &sums);
        tally.sections.add(at_ns, section);
        if tally.longest.may_keep(figures.duration) {
            // Otherwise lags are against some of its processes only.
            let has_one_time = instance.communicator.times.len() == 1;
            let lags = figures.lags.iter().zip(place.positions.iter());
            let lags = lags.map(|(&lag, &position)| (lag, position));
            tally.longest.add(LongInstance {
                duration_ns: figures.duration,
                at_ns,
                sequence: instance.position,
                last: figures.last.map(|slot| place.positions[slot]),
                excess_ns: figures.excess,
                late: has_one_time.then(|| LateTogether::of(lags)),
            });
        }
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
        tally.last_likely += u64::from(figures.is_last_likely);
        tally.first_likely += u64::from(figures.is_first_departure_likely);
        let n = instance.n_calls();
        tally
            .arrivals
            .add_all(&figures.arrivals, &place.positions, n);
        tally
            .departures
            .add_all(&figures.departures, &place.positions, n);
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
    }

    /// What its calls took and waited, where all are counted and every wait is known: in columns.
    /// Gives what they add to a section of their operation; `None` where that is not so.
    fn add_columns(
        &mut self,
        instance: &Agreed<'_>,
        index: usize,
        place: &Place<'_>,
        figures: &Figures,
    ) -> Option<OperationSection> {
        let n = instance.n_calls();
        let span = (instance.extent.first_enter, instance.extent.last_leave);
        let waits = if figures.has_waits() {
            figures.all_waits()?
        } else {
            &[]
        };
        let is_split = figures.wait_inside(0).is_some();
        let is_overlapped = instance.courses.is_some();
        if !self.selection.has_all_ranks()
            || is_split
            || is_overlapped
            || span.1 - span.0 >= TOO_LONG_NS
        {
            return None;
        }
        let communicator = instance.communicator_index;
        if !self.strip.takes(communicator, place.scope, span) {
            self.hand_on_strip();
            if !self.strip.begin(communicator, n, place.scope, span) {
                return None;
            }
        }
        let times = &mut self.scratch.times;
        let stamps = instance.enters.iter().zip(instance.leaves);
        times.clear();
        times.extend(stamps.map(|(enter, leave)| leave.ns() - enter.ns()));
        let calls = Calls {
            operation: instance.operation,
            times,
            lags: &figures.lags,
            waits,
            departure_waits: &figures.departure_waits,
        };
        self.strip.add(&calls);

        let tally = &mut self.tallies[index];
        tally.calls += n as u64;
        if let Some((least, greatest)) = instance.payloads.sums(n).range {
            tally.see_bytes(least, greatest);
        }
        let call_ns = tally.call_time.add_and_sum(calls.times);
        let wait_ns = if figures.waits_are_lags {
            tally.add_lags_that_are_waits(calls.lags)
        } else {
            tally.lag.add_all(calls.lags);
            tally.wait.add_and_sum(calls.waits)
        };
        let departure_ns = tally.departure_wait.add_and_sum(calls.departure_waits);
        if !figures.departure_waits.is_empty() {
            let completion = if figures.completions_are_departure_waits() {
                departure_ns
            } else {
                sum_ns((0..n).map(|slot| figures.completion(slot)))
            };
            add_ns(tally.completion_ns.get_or_insert(0), completion);
        }
        if place.is_in_order(tally.members.len()) {
            tally.add_to_members(&calls);
        } else {
            for (slot, &position) in place.positions.iter().enumerate() {
                tally.members[position].add_call(&calls, slot);
            }
        }
        Some(OperationSection {
            instances: 1,
            calls: n as u64,
            call_ns,
            n_waits: waits.len() as u64,
            wait_ns,
        })
    }

    /// Adds the instances at hand to the processes.
    fn hand_on_strip(&mut self) {
        if let Some(communicator) = self.strip.communicator() {
            let communicator = &self.communicators.list[communicator];
            self.strip.hand_on(communicator, &mut self.processes);
        }
    }

    /// Brings what was added up apart to where it belongs: to be called when all is taken.
    pub(crate) fn settle(&mut self) {
        self.hand_on_strip();
        self.tallies.iter_mut().for_each(OperationTally::settle);
    }

    /// What its calls took and waited, call by call; gives what they add to a section of their
    /// operation.
    fn add_calls(
        &mut self,
        instance: &Agreed<'_>,
        index: usize,
        place: &Place<'_>,
        figures: &Figures,
    ) -> OperationSection {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch {
            slots,
            times,
            picked,
        } = &mut scratch;
        let members = &instance.communicator.members;
        slots.clear();
        let is_counted = |slot: &usize| self.selection.has_rank(members[*slot].world_rank);
        let has_all = self.selection.has_all_ranks();
        slots.extend((0..members.len()).filter(|slot| has_all || is_counted(slot)));
        times.clear();
        match instance.courses {
            None => {
                let stamps = instance.enters.iter().zip(instance.leaves);
                times.extend(stamps.map(|(enter, leave)| leave.ns() - enter.ns()));
            }
            Some(courses) => times.extend(courses.iter().map(OverlapCourse::call_ns)),
        }

        let tally = &mut self.tallies[index];
        tally.calls += slots.len() as u64;
        let payloads = if has_all {
            instance.payloads.sums(slots.len()).range
        } else {
            instance.payloads.range_of(slots)
        };
        if let Some((least, greatest)) = payloads {
            tally.see_bytes(least, greatest);
        }
        let mut add = |distribution: &mut Distribution, values: &[i64]| {
            if has_all {
                distribution.add_all(values);
            } else if !values.is_empty() {
                picked.clear();
                picked.extend(slots.iter().map(|&slot| values[slot]));
                distribution.add_all(picked);
            }
        };
        add(&mut tally.call_time, times);
        add(&mut tally.lag, &figures.lags);
        add(&mut tally.departure_wait, &figures.departure_waits);
        match figures.all_waits() {
            Some(waits) => add(&mut tally.wait, waits),
            None => {
                let known = slots.iter().filter_map(|&slot| figures.wait(slot));
                known.for_each(|wait| tally.wait.add(wait));
            }
        }
        if !figures.departure_waits.is_empty() {
            let completions = slots.iter().map(|&slot| figures.completion(slot));
            add_ns(tally.completion_ns.get_or_insert(0), sum_ns(completions));
        }
        if let Some(courses) = instance.courses {
            let overlap = tally.overlap.get_or_insert_default();
            slots.iter().for_each(|&slot| overlap.add(&courses[slot]));
        }
        let mut section = OperationSection {
            instances: 1,
            calls: slots.len() as u64,
            ..OperationSection::default()
        };
        for &slot in slots.iter() {
            let process = &mut self.processes[members[slot].process];
            process.conduct.add(figures, slot);
            let (enter, leave) = instance.stamps(slot);
            let line = &mut tally.members[place.positions[slot]];
            match instance.courses {
                None => process.course.add(enter, leave, figures.wait_of(slot)),
                Some(courses) => {
                    let course = &courses[slot];
                    process
                        .course
                        .add_overlapped(enter, leave, course, figures.wait_of(slot));
                    add_ns(&mut line.initiation_ns, course.initiation_ns);
                    add_ns(&mut line.between_ns, course.between_ns().unwrap_or(0));
                }
            }
            line.n_calls += 1;
            add_ns(&mut line.call_ns, times[slot]);
            process.count(instance.operation, place.scope, 1);
            add_ns(&mut process.call_ns, times[slot]);
            add_ns(&mut section.call_ns, times[slot]);
            if let Some(wait) = figures.wait(slot) {
                section.n_waits += 1;
                add_ns(&mut section.wait_ns, wait);
                line.n_waits += 1;
                add_ns(&mut line.wait_ns, wait);
                add_ns(process.wait_ns.get_or_insert(0), wait);
            }
            if let Some(&departure_wait) = figures.departure_waits.get(slot) {
                line.n_departure_waits += 1;
                add_ns(&mut line.departure_wait_ns, departure_wait);
            }
            if let (Some(inside), Some(wait)) = (figures.wait_inside(slot), figures.wait(slot)) {
                let split = tally.split.get_or_insert_default();
                split.wait_inside.add(inside);
                split.wait_across.add(wait - inside);
                add_ns(&mut line.wait_inside_ns, inside);
                if let Some(&inside) = figures.departures_inside.get(slot) {
                    split.departure_inside.add(inside);
                    let across = figures.departure_waits[slot] - inside;
                    split.departure_across.add(across);
                    add_ns(&mut line.departure_inside_ns, inside);
                }
            }
        }
        self.scratch = scratch;
        section
    }

    /// Who came last, and what it cost the others.
    fn add_lateness(
        &mut self,
        instance: &Agreed<'_>,
        key: OperationKey,
        place: &Place<'_>,
        figures: &Figures,
    ) {
        let at_ns = figures.last_enter_ns(instance);
        let n_positions = self.communicators.entries[place.entry].ranks.len();
        let lateness = self
            .lateness
            .entry((place.entry, key.operation))
            .or_insert_with(|| Lateness::new(n_positions));
        lateness.instances += 1;
        if lateness.communicator != Some(instance.communicator_index) {
            lateness.communicator = Some(instance.communicator_index);
            let members = place.positions.iter().zip(&instance.communicator.members);
            for (&position, member) in members {
                lateness.members[position].process = Some(member.process);
            }
        }
        let Some(last) = figures.last else {
            lateness.sections.add(at_ns, None);
            lateness.arrivals.add(instance.position, at_ns, None);
            return;
        };
        lateness.resolved += 1;
        let caused_ns = figures.caused_by(last);
        let position = place.positions[last];
        let member = &mut lateness.members[position];
        member.last += 1;
        add_ns(&mut member.excess_ns, figures.excess);
        add_ns(&mut member.caused_ns, caused_ns);
        lateness.sections.add(at_ns, Some((position, caused_ns)));
        let arrival = LateArrival {
            excess_ns: figures.excess,
            at_ns,
            position,
            sequence: instance.position,
            caused_ns,
        };
        lateness
            .arrivals
            .add(instance.position, at_ns, Some(arrival));
    }

    pub(crate) fn index_of(&mut self, key: OperationKey) -> usize {
        if let Some(index) = self.found.index(&key) {
            return index;
        }
        let n_positions = key
            .entry
            .map_or(0, |entry| self.communicators.entries[entry].ranks.len());
        let tallies = &mut self.tallies;
        let index = *self.indexes.entry(key).or_insert_with(|| {
            tallies.push(OperationTally::new(n_positions));
            tallies.len() - 1
        });
        self.found.places[Found::place(&key)] = Some((key, index));
        index
    }

    /// Where an instance is shown.
    pub(crate) fn place<'m>(
        &self,
        communicator: &'m Communicator,
        called_on: Option<usize>,
    ) -> Place<'m> {
        let Some(parent) = called_on else {
            return Place {
                entry: communicator.entry,
                scope: communicator.scope,
                positions: Cow::Borrowed(&communicator.positions),
            };
        };
        let parent = &self.communicators.list[parent];
        let ranks = &self.communicators.entries[parent.entry].ranks;
        let members = communicator.members.iter();
        let mut places = PlacesOfRanks::new(ranks);
        Place {
            entry: parent.entry,
            scope: parent.scope,
            positions: members.map(|member| places.of(member.world_rank)).collect(),
        }
    }
}

impl Sums for Tally<'_> {
    fn take(&mut self, matched: Matched<'_>) {
        match matched {
            Matched::Agreed(instance) => self.take_agreed(&instance),
            Matched::Irregular {
                instance,
                disagreement,
            } => self.take_irregular(&instance, disagreement),
            Matched::Unmatched {
                process,
                called_on,
                call,
                is_internal,
            } => self.take_unmatched(process, called_on, &call, is_internal),
            Matched::Process { call } => self.see(&call),
        }
    }

    fn merge(&mut self, mut other: Self) {
        self.hand_on_strip();
        other.hand_on_strip();
        let mut tallies: Vec<_> = other.tallies.into_iter().map(Some).collect();
        for (key, index) in other.indexes {
            let own = self.index_of(key);
            if let Some(tally) = tallies[index].take() {
                self.tallies[own].merge(tally);
            }
        }
        for (own, other) in self.processes.iter_mut().zip(other.processes) {
            own.merge(other);
        }
        for (key, lateness) in other.lateness {
            match self.lateness.entry(key) {
                Entry::Occupied(mut own) => own.get_mut().merge(lateness),
                Entry::Vacant(own) => drop(own.insert(lateness)),
            }
        }
        for (level, phase) in other.phases {
            let own = self.phases.entry(level).or_default();
            own.add(phase.n_calls, phase.call_ns, phase.wait_ns);
        }
        self.unfinished.merge(other.unfinished);
        self.never_completed.merge(other.never_completed);
        self.mismatches.merge(other.mismatches);
        self.n_calls += other.n_calls;
        self.n_bytes = self.n_bytes.saturating_add(other.n_bytes);
        self.counts.merge(other.counts);
        self.end_ns = self.end_ns.max(other.end_ns);
    }
}

pub(crate) fn class_of<'c>(calls: impl Iterator<Item = &'c Call>) -> ByteClass {
    ByteClass::of(calls.filter_map(|call| call.payload).max())
}

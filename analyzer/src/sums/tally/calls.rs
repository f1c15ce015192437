//! The calls of an instance to sums: what they took and waited.

use collbench_stats::integers::{add_ns, sum_ns};

use super::Tally;
use super::instance::Measured;
use crate::calls::outstanding::OverlapTimes;
use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;
use crate::selection::Resolved;
use crate::sums::column_buffer::TOO_LONG_NS;
use crate::sums::columns::CallColumns;
use crate::sums::members::MemberTally;
use crate::sums::operation::{OperationTally, Split};
use crate::sums::process::ProcessTally;
use crate::sums::sections::OperationSection;

/// The calls of an instance that are counted.
#[derive(Default)]
pub(super) struct PickedCalls {
    slots: Vec<usize>,
    has_all: bool,
    /// Values of these calls.
    values: Vec<i64>,
}

impl PickedCalls {
    fn pick(&mut self, instance: &CompleteInstance<'_>, selection: &Resolved) {
        let members = &instance.communicator.members;
        let is_counted = |slot: &usize| selection.has_rank(members[*slot].world_rank);
        let has_all = selection.has_all_ranks();
        self.has_all = has_all;
        self.slots.clear();
        self.slots
            .extend((0..members.len()).filter(|slot| has_all || is_counted(slot)));
    }

    /// The values of these calls among those of all slots; none if there are none.
    fn of<'v>(&'v mut self, values: &'v [i64]) -> &'v [i64] {
        if self.has_all || values.is_empty() {
            return values;
        }
        self.values.clear();
        self.values
            .extend(self.slots.iter().map(|&slot| values[slot]));
        &self.values
    }
}

impl Tally<'_> {
    /// What its calls took and waited, where all are counted and every wait is known: in columns.
    /// Gives what they add to a section of their operation; `None` where that is not so.
    pub(super) fn add_columns(&mut self, of: &Measured<'_, '_>) -> Option<OperationSection> {
        let Measured {
            instance,
            shown_at,
            figures,
            ..
        } = of;
        let n = instance.n_calls();
        let span_ns = instance.extent.last_leave - instance.extent.first_enter;
        let waits = if figures.has_waits() {
            figures.all_waits()?
        } else {
            &[]
        };
        let is_split = figures.wait_inside(0).is_some();
        let is_overlapped = instance.overlaps.is_some();
        if !self.context.selection.has_all_ranks()
            || is_split
            || is_overlapped
            || span_ns >= TOO_LONG_NS
        {
            return None;
        }
        let index = instance.communicator_index;
        if !self.scratch.column_buffer.takes(index, shown_at.scope) {
            self.flush_column_buffer();
            self.scratch.column_buffer.begin(index, n, shown_at.scope);
        }
        let (communicator, extent) = (instance.communicator, &instance.extent);
        let processes = &mut self.sums.processes;
        let column_buffer = &mut self.scratch.column_buffer;
        if !column_buffer.go_to(extent, communicator, processes) {
            return None;
        }
        let times = &mut self.scratch.times;
        times_in_calls(instance, times);
        let calls = CallColumns {
            operation: instance.operation,
            enters: instance.enters,
            times,
            lags: &figures.lags,
            waits,
            waits_are_lags: figures.waits_are_lags,
            departure_waits: &figures.departure_waits,
            departures_after_last: &figures.departures_after_last,
        };
        column_buffer.add(extent, &calls);

        let tally = self.sums.operations.get_mut(of.number);
        tally.calls += n as u64;
        if let Some((least, greatest)) = instance.payloads.sums(n).range {
            tally.see_bytes(least, greatest);
        }
        let call_ns = tally.call_time.add_and_sum(calls.times);
        let wait_ns = add_lags_and_waits(tally, figures, calls.lags, calls.waits);
        let departure_ns = tally.departure_wait.add_and_sum(calls.departure_waits);
        if !figures.departure_waits.is_empty() {
            let completion = if figures.completions_are_departure_waits() {
                departure_ns
            } else {
                sum_ns((0..n).map(|slot| figures.completion(slot)))
            };
            add_ns(tally.completion_ns.get_or_insert(0), completion);
        }
        let operation = &mut self.scratch.operations[of.number];
        if operation.in_order != Some(index) && shown_at.is_in_order(tally.members.len()) {
            operation.in_order = Some(index);
        }
        if operation.in_order == Some(index) {
            operation.columns.add(&calls);
        } else {
            for (slot, &position) in shown_at.positions.iter().enumerate() {
                tally.members[position].add_call(&calls, slot);
            }
            (tally.serialization).add_all(1, calls.departures_after_last);
        }
        Some(OperationSection {
            instances: 1,
            calls: n as u64,
            call_ns,
            n_waits: waits.len() as u64,
            wait_ns,
        })
    }

    /// What its calls took and waited, call by call; gives what they add to a section of their
    /// operation.
    pub(super) fn add_calls(&mut self, of: &Measured<'_, '_>) -> OperationSection {
        let Measured {
            instance, figures, ..
        } = of;
        let mut picked = std::mem::take(&mut self.scratch.calls);
        picked.pick(instance, self.context.selection);
        times_in_calls(instance, &mut self.scratch.times);
        let times = &self.scratch.times;
        let tally = self.sums.operations.get_mut(of.number);
        add_distributions(tally, of, times, &mut picked);
        (tally.serialization).add_all(1, &figures.departures_after_last);
        let mut section = OperationSection {
            instances: 1,
            calls: picked.slots.len() as u64,
            ..OperationSection::default()
        };
        for &slot in &picked.slots {
            add_ns(&mut section.call_ns, times[slot]);
            if let Some(wait) = figures.wait(slot) {
                section.n_waits += 1;
                add_ns(&mut section.wait_ns, wait);
            }
            let process = instance.communicator.members[slot].process;
            add_to_process(&mut self.sums.processes[process], of, slot, times[slot]);
            let line = &mut tally.members[of.shown_at.positions[slot]];
            add_to_line(line, of, slot, times[slot]);
            if let (Some(inside), Some(wait)) = (figures.wait_inside(slot), figures.wait(slot)) {
                add_ns(&mut line.wait_inside_ns, inside);
                let split = tally.split.get_or_insert_default();
                split.wait_inside.add(inside);
                split.wait_across.add(wait - inside);
                add_departure_to_split(split, line, figures, slot);
            }
        }
        self.scratch.calls = picked;
        section
    }
}

/// Time in the calls of an instance, ns, by slot.
#[inline]
fn times_in_calls(instance: &CompleteInstance<'_>, times: &mut Vec<i64>) {
    times.clear();
    match instance.overlaps {
        None => {
            let stamps = instance.enters.iter().zip(instance.leaves);
            times.extend(stamps.map(|(enter, leave)| leave.ns() - enter.ns()));
        }
        Some(overlaps) => times.extend(overlaps.iter().map(OverlapTimes::call_ns)),
    }
}

/// Adds lags, and waits that all are known, of the same calls; gives the sum of the waits, ns.
#[inline]
fn add_lags_and_waits(
    tally: &mut OperationTally,
    figures: &Figures,
    lags: &[i64],
    waits: &[i64],
) -> i64 {
    if figures.waits_are_lags {
        return tally.lags_and_waits.add_both(lags);
    }
    tally.lags_and_waits.add_lags(lags);
    tally.lags_and_waits.add_waits(waits)
}

/// What the calls that are counted add to the distributions of their operation.
fn add_distributions(
    tally: &mut OperationTally,
    of: &Measured<'_, '_>,
    times: &[i64],
    picked: &mut PickedCalls,
) {
    let Measured {
        instance, figures, ..
    } = of;
    tally.calls += picked.slots.len() as u64;
    let payloads = if picked.has_all {
        instance.payloads.sums(picked.slots.len()).range
    } else {
        instance.payloads.range_of(&picked.slots)
    };
    if let Some((least, greatest)) = payloads {
        tally.see_bytes(least, greatest);
    }
    tally.call_time.add_all(picked.of(times));
    tally
        .departure_wait
        .add_all(picked.of(&figures.departure_waits));
    if figures.waits_are_lags {
        tally.lags_and_waits.add_both(picked.of(&figures.lags));
    } else {
        tally.lags_and_waits.add_lags(picked.of(&figures.lags));
        match figures.all_waits() {
            Some(waits) => {
                tally.lags_and_waits.add_waits(picked.of(waits));
            }
            None => {
                let known = picked.slots.iter().filter_map(|&slot| figures.wait(slot));
                known.for_each(|wait| {
                    tally.lags_and_waits.add_waits(&[wait]);
                });
            }
        }
    }
    if !figures.departure_waits.is_empty() {
        let completions = picked.slots.iter().map(|&slot| figures.completion(slot));
        add_ns(tally.completion_ns.get_or_insert(0), sum_ns(completions));
    }
    if let Some(overlaps) = instance.overlaps {
        let overlap = tally.overlap.get_or_insert_default();
        let slots = picked.slots.iter();
        slots.for_each(|&slot| overlap.add(&overlaps[slot]));
    }
}

/// What the call of a slot adds to its process.
#[inline]
fn add_to_process(process: &mut ProcessTally, of: &Measured<'_, '_>, slot: usize, time_ns: i64) {
    let Measured {
        instance, figures, ..
    } = of;
    process.behaviour.add(figures, slot);
    let (enter, leave) = instance.stamps(slot);
    let wait = figures.wait_of(slot);
    match instance.overlaps {
        None => process.activity.add(enter, leave, wait),
        Some(overlaps) => {
            let overlap = &overlaps[slot];
            process.activity.add_overlapped(enter, leave, overlap, wait);
        }
    }
    process.count(instance.operation, of.shown_at.scope, 1);
    add_ns(&mut process.call_ns, time_ns);
    if let Some(wait) = figures.wait(slot) {
        add_ns(process.wait_ns.get_or_insert(0), wait);
    }
}

/// What the call of a slot adds to the line of its process in the operation.
#[inline]
fn add_to_line(line: &mut MemberTally, of: &Measured<'_, '_>, slot: usize, time_ns: i64) {
    let figures = of.figures;
    if let Some(overlaps) = of.instance.overlaps {
        let overlap = &overlaps[slot];
        add_ns(&mut line.initiation_ns, overlap.initiation_ns);
        add_ns(&mut line.between_ns, overlap.between_ns().unwrap_or(0));
    }
    line.n_calls += 1;
    add_ns(&mut line.call_ns, time_ns);
    if let Some(wait) = figures.wait(slot) {
        line.n_waits += 1;
        add_ns(&mut line.wait_ns, wait);
    }
    if let Some(&departure_wait) = figures.departure_waits.get(slot) {
        line.n_departure_waits += 1;
        add_ns(&mut line.departure_wait_ns, departure_wait);
    }
}

/// Which part of the departure wait of a slot was after the first of its own host.
fn add_departure_to_split(
    split: &mut Split,
    line: &mut MemberTally,
    figures: &Figures,
    slot: usize,
) {
    if let Some(&inside) = figures.departures_inside.get(slot) {
        split.departure_inside.add(inside);
        let across = figures.departure_waits[slot] - inside;
        split.departure_across.add(across);
        add_ns(&mut line.departure_inside_ns, inside);
    }
}

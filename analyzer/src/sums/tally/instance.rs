//! An instance as a whole to sums: how long it took, who arrived last, and its messages.

use std::sync::Arc;

use collbench_stats::batches::InstanceSums;
use collbench_stats::integers::add_ns;
use collbench_trees::shape::Shape;

use super::Tally;
use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;
use crate::sums::graphs::figures::Measuring;
use crate::sums::instances::instance_times::{Costliness, InstanceTimes};
use crate::sums::instances::operation_key::OperationKey;
use crate::sums::instances::outliers::{LateTogether, LongInstance, longest_gap};
use crate::sums::late_arrivals::LateArrival;
use crate::sums::lateness::Lateness;
use crate::sums::sections::OperationSection;
use crate::sums::shown_at::ShownAt;

/// A complete instance with its figures, and where they are added up.
pub(super) struct Measured<'m, 'i> {
    pub(super) instance: &'m CompleteInstance<'i>,
    pub(super) key: &'m OperationKey,
    /// Number of its operation.
    pub(super) number: usize,
    pub(super) shown_at: ShownAt<'m>,
    pub(super) figures: &'m Figures,
}

/// Processes that were late together with the last to arrive.
struct TogetherWithLast {
    /// Their number, with the last.
    n: u32,
    /// How much later the last was than the last of all others, ns.
    excess_ns: i64,
    is_on_one_host: bool,
    /// Their positions in the communicator's entry, one bit each; 0 where they are not below 64.
    positions: u64,
}

impl Measured<'_, '_> {
    /// Who was late together with the last to arrive, at most half of all: nobody, where stamps of
    /// some of its processes cannot be compared.
    fn late_together(&self, last: usize) -> TogetherWithLast {
        let communicator = &self.instance.communicator;
        let bit = |slot: usize| {
            let position = u32::try_from(self.shown_at.positions[slot]).ok()?;
            1_u64.checked_shl(position)
        };
        let alone = TogetherWithLast {
            n: 1,
            excess_ns: self.figures.excess,
            is_on_one_host: true,
            positions: bit(last).unwrap_or(0),
        };
        if communicator.times.len() > 1 {
            return alone;
        }
        let (enters, slots) = self.figures.enters_in_order();
        let n_others = longest_gap(enters).map_or(0, |(n_others, _)| n_others);
        let late = slots[n_others..].iter().map(|&slot| slot as usize);
        if n_others == 0 || 2 * late.len() > slots.len() {
            return alone;
        }
        let host_of = |slot: usize| communicator.members[slot].host;
        TogetherWithLast {
            n: late.len() as u32,
            excess_ns: enters[enters.len() - 1] - enters[n_others - 1],
            is_on_one_host: late.clone().all(|slot| host_of(slot) == host_of(last)),
            positions: (late.clone())
                .try_fold(0, |bits, slot| Some(bits | bit(slot)?))
                .unwrap_or(0),
        }
    }
}

impl Tally<'_> {
    /// What an instance adds to the phase that it was called in.
    pub(super) fn add_to_phase(&mut self, of: &Measured<'_, '_>, section: OperationSection) {
        if let Some(level) = of.instance.phase {
            let wait_ns = (section.n_waits > 0).then_some(section.wait_ns);
            let phase = self.sums.phases.entry(level).or_default();
            phase.add(section.calls, section.call_ns, wait_ns);
        }
    }

    /// What its calls add to the places from which they were made, after their times were found.
    pub(super) fn add_sites(&mut self, of: &Measured<'_, '_>) {
        let tally = self.sums.operations.get_mut(of.number);
        let n_positions = tally.members.len();
        tally.sites.add(
            of.instance,
            (of.figures, &self.scratch.times),
            (&of.shown_at.positions, n_positions),
            self.context.selection,
        );
    }

    /// Figures of the instance as a whole.
    pub(super) fn add_instance(
        &mut self,
        of: &Measured<'_, '_>,
        shape: Option<&Shape>,
        section: OperationSection,
    ) {
        let Measured {
            instance,
            shown_at,
            figures,
            ..
        } = of;
        if figures.core.is_some_and(|core| core < 0) {
            let is_one_clock = instance.communicator.hosts.len() == 1;
            self.sums.counts.negative_core += 1;
            self.sums.counts.negative_core_of_one_clock += u64::from(is_one_clock);
        }
        let at_ns = figures.last_enter_ns(instance);
        let tally = self.sums.operations.get_mut(of.number);
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
        let costliness = Costliness::of(instance, at_ns, (section.wait_ns, section.call_ns));
        let selection = self.context.selection;
        let mut made: Option<InstanceTimes> = None;
        let mut in_detail = || {
            let is_selected = |rank| selection.has_rank(rank);
            let new = || {
                let shape = shape.filter(|_| instance.n_calls() > InstanceTimes::MAX_SHOWN_WHOLE);
                let on_path = shape.map_or_else(Vec::new, |shape| {
                    let scratch = &mut self.scratch.graph_scratch;
                    scratch.slots_on_path(instance, shape, &self.context.resolution)
                });
                let found = (*figures, &on_path[..]);
                InstanceTimes::of(instance, found, *of.key, costliness, is_selected)
            };
            made.get_or_insert_with(new).clone()
        };
        let is_of_several = instance.n_calls() > 1;
        if is_of_several {
            if tally.costliest.may_keep(figures.duration, &costliness) {
                tally.costliest.add(figures.duration, in_detail());
            }
            if self.sums.shown.may_keep(shown_at.entry, &costliness) {
                self.sums.shown.add(shown_at.entry, in_detail());
            }
        }
        if tally.longest.may_keep(figures.duration) {
            // Otherwise lags are against some of its processes only.
            let has_one_time = instance.communicator.times.len() == 1;
            let enters = figures.enters_in_order();
            let late = || LateTogether::of(enters, |slot| shown_at.positions[slot]);
            tally.longest.add(LongInstance {
                duration_ns: figures.duration,
                at_ns,
                sequence: instance.position,
                last: figures.last.map(|slot| shown_at.positions[slot]),
                excess_ns: figures.excess,
                late: has_one_time.then(late),
                times: is_of_several.then(|| Box::new(in_detail())),
                site: instance.site_of(figures.last),
            });
        }
        tally.instances += 1;
        for wait in &figures.on_the_way {
            let members = &instance.communicator.members;
            if self
                .context
                .selection
                .has_rank(members[wait.slot].world_rank)
            {
                add_ns(&mut tally.on_the_way_ns[wait.state as usize], wait.ns);
            }
        }
        tally.duration.add(figures.duration);
        if let Some(core) = figures.core {
            tally.core.add(core);
        }
        self.add_orders(of);
    }

    /// Adds the order in which its processes arrived and left.
    fn add_orders(&mut self, of: &Measured<'_, '_>) {
        let Measured {
            instance,
            shown_at,
            figures,
            ..
        } = of;
        let tally = self.sums.operations.get_mut(of.number);
        let member = |slot: usize| shown_at.positions[slot];
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
        let operation = &self.scratch.operations[of.number];
        let is_in_order = operation.in_order == Some(instance.communicator_index);
        let rows = (!is_in_order).then_some(&shown_at.positions[..]);
        tally.arrivals.add_all(&figures.arrivals, rows);
        tally.departures.add_all(&figures.departures, rows);
        let process_of = |slot: usize| instance.communicator.members[slot].process;
        if let Some(slot) = figures.last {
            self.sums.processes[process_of(slot)].last += 1;
        }
        if let Some(slot) = figures.first {
            self.sums.processes[process_of(slot)].first += 1;
        }
    }

    /// What its messages tell.
    pub(super) fn add_messages(
        &mut self,
        of: &Measured<'_, '_>,
        shape: &Arc<Shape>,
        is_contradicted: bool,
    ) {
        let Some(messages) = &of.instance.messages else {
            return;
        };
        let is_on_own_tree = !of.instance.passes.is_empty();
        if messages.is_empty() && (is_on_own_tree || self.context.has_stopped_in(of.instance)) {
            return;
        }
        if messages.is_empty() && self.context.is_in_finalize(of.instance) {
            self.sums.counts.in_finalize += 1;
            return;
        }
        let tally = self.sums.operations.get_mut(of.number);
        if let Some(overlap) = &mut tally.overlap {
            overlap.sends.add(of.instance, messages);
        }
        let inside = tally.inside.get_or_insert_default();
        inside.n_contradicted += u64::from(is_contradicted);
        let mut measuring = Measuring {
            resolution: &self.context.resolution,
            scratch: &mut self.scratch.graph_scratch,
            rows: &mut self.scratch.operations[of.number].rows,
        };
        let positions = &of.shown_at.positions;
        inside.add(of.instance, messages, shape, positions, &mut measuring);
    }

    /// Who arrived last, and what it cost the others.
    pub(super) fn add_lateness(&mut self, of: &Measured<'_, '_>, section: OperationSection) {
        let Measured {
            instance,
            shown_at,
            figures,
            ..
        } = of;
        let at_ns = figures.last_enter_ns(instance);
        let n_positions = self.context.n_positions(Some(shown_at.entry));
        let lateness = self
            .sums
            .lateness
            .entry((shown_at.entry, instance.operation))
            .or_insert_with(|| Lateness::new(n_positions));
        lateness.instances += 1;
        let noted = &mut self.scratch.operations[of.number].noted;
        if *noted != Some(instance.communicator_index) {
            *noted = Some(instance.communicator_index);
            let members = shown_at
                .positions
                .iter()
                .zip(&instance.communicator.members);
            for (&position, member) in members {
                lateness.note(position, member.process);
            }
        }
        let Some(last) = figures.last else {
            lateness.sections.add(at_ns, None);
            lateness.arrivals.add(instance.position, at_ns, (0, 0));
            return;
        };
        lateness.resolved += 1;
        let has_all = section.n_waits == instance.n_calls() as u64;
        let caused_ns = if figures.waits_are_lags && has_all {
            section.wait_ns
        } else {
            figures.caused_by(last)
        };
        let position = shown_at.positions[last];
        let member = &mut lateness.members[position];
        member.last += 1;
        add_ns(&mut member.excess_ns, figures.excess);
        add_ns(&mut member.caused_ns, caused_ns);
        lateness.sections.add(at_ns, Some((position, caused_ns)));
        let n_others = instance.n_calls() - 1;
        let lateness_ns = LateArrival::lateness_ns(figures.excess, caused_ns, n_others);
        let arrivals = &mut lateness.arrivals;
        arrivals.add(instance.position, at_ns, (lateness_ns, caused_ns));
        if arrivals.may_keep(lateness_ns) {
            let late = of.late_together(last);
            arrivals.keep(LateArrival {
                lateness_ns,
                excess_ns: late.excess_ns,
                at_ns,
                position,
                sequence: instance.position,
                caused_ns,
                n_late: late.n,
                is_on_one_host: late.is_on_one_host,
                together: late.positions,
            });
        }
    }
}

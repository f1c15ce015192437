//! What is handed over of an instance, to attribute its waits to their causes.

use std::sync::Arc;

use collbench_causes::{Call, Dependence, Instance, Part, PartOfProcess, Wait};
use collbench_formats::{CommunicatorKind, Semantics};

use super::Tally;
use crate::calls::gap::Gap;
use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;

impl Tally<'_> {
    /// Hands over what a process did between two calls.
    pub(super) fn hand_over_gap(&mut self, process: usize, gap: &Gap) {
        let process_of = |rank| self.context.process_of(rank);
        let parts = parts_of_gap(process as u32, gap, process_of);
        self.scratch.handed_over.parts.extend(parts);
    }

    /// Hands over an instance of the operation with this hash. Where it is not counted, its waits only
    /// explain those of others; without figures, none of its waits is known.
    pub(super) fn hand_over_waits(
        &mut self,
        instance: &CompleteInstance<'_>,
        operation: u64,
        figures: Option<&Figures>,
        is_counted: bool,
    ) {
        let selection = self.context.selection;
        let members = &instance.communicator.members;
        let has_waits = instance.n_calls() > 1 && figures.is_some_and(Figures::has_waits);
        let resolution = &self.context.resolution;
        let wait = |slot: usize| {
            let figures = figures.filter(|_| has_waits)?;
            let ns = figures.wait(slot).filter(|&ns| ns > 0)?;
            let on = figures.releaser(slot)?;
            let apart_ns = resolution.between(members[slot].host, members[on].host);
            Some(Wait {
                ns,
                on: on as u32,
                is_resolved: apart_ns.is_some_and(|apart_ns| ns > apart_ns),
                is_counted: is_counted && selection.has_rank(members[slot].world_rank),
            })
        };
        let calls = (0..instance.n_calls()).map(|slot| call(instance, slot, wait(slot)));
        let calls = calls.collect();
        self.scratch.handed_over.instances.push(Instance {
            communicator: instance.communicator_index as u32,
            position: instance.position,
            operation,
            members: Arc::clone(&instance.communicator.processes),
            dependence: dependence(instance),
            calls,
            parts: unsuccessful_tests(instance, operation),
        });
    }
}

/// What a process did besides its own work in a gap; `process_of` gives the process of a world rank.
fn parts_of_gap(
    process: u32,
    gap: &Gap,
    process_of: impl Fn(u32) -> Option<u32>,
) -> impl Iterator<Item = PartOfProcess> {
    let partner = gap.longest.and_then(|longest| longest.partner);
    let span_ns = [gap.from.ns(), gap.to.ns()];
    let parts = [
        (
            Part::PointToPoint(partner.and_then(process_of)),
            gap.point_to_point_ns,
        ),
        (Part::Io, gap.io_ns),
        (Part::Rma, gap.rma_ns),
    ];
    let spent = parts.into_iter().filter(|&(_, ns)| ns > 0);
    spent.map(move |(part, ns)| PartOfProcess {
        process,
        part,
        span_ns,
        ns,
    })
}

/// The time that processes spent with tests that found an instance incomplete.
fn unsuccessful_tests(instance: &CompleteInstance<'_>, operation: u64) -> Vec<PartOfProcess> {
    let Some(overlaps) = instance.overlaps else {
        return Vec::new();
    };
    let members = instance.communicator.members.iter();
    let calls = overlaps.iter().zip(members).zip(instance.leaves);
    let calls = calls.filter(|((overlap, _), _)| overlap.tests_ns > 0);
    let parts = calls.map(|((overlap, member), leave)| {
        let completing = overlap.completing.map(|completing| completing.enter);
        PartOfProcess {
            process: member.process as u32,
            part: Part::Operation(operation),
            span_ns: [overlap.initiated.ns(), completing.unwrap_or(*leave).ns()],
            ns: overlap.tests_ns,
        }
    });
    parts.collect()
}

/// The call in a slot.
#[inline]
fn call(instance: &CompleteInstance<'_>, slot: usize, wait: Option<Wait>) -> Call {
    let (enter_ns, leave_ns) = instance.stamps(slot);
    let Some(overlaps) = instance.overlaps else {
        return Call::blocking(enter_ns, leave_ns, wait);
    };
    let overlap = &overlaps[slot];
    let (completion_ns, n_together) = match overlap.completing {
        Some(completing) => (completing.enter.ns(), completing.n_together.max(1)),
        None => (leave_ns, 1),
    };
    Call {
        enter_ns,
        initiated_ns: enter_ns + overlap.initiation_ns,
        completion_ns,
        leave_ns,
        n_together,
        wait,
    }
}

/// Which processes of an instance depend on each other, so that what they did may be compared since they
/// were inside of it together.
fn dependence(instance: &CompleteInstance<'_>) -> Dependence {
    let communicator = instance.communicator;
    if instance.n_calls() < 2 {
        return Dependence::Nobody;
    }
    let is_inter = communicator.kind == CommunicatorKind::Inter;
    match instance.semantics() {
        Semantics::Free | Semantics::Unspecified | Semantics::Process => Dependence::Nobody,
        Semantics::AllToAll if instance.payloads.are_zero() => Dependence::Nobody,
        Semantics::Barrier
        | Semantics::AllToAll
        | Semantics::Constructor
        | Semantics::GroupConstructor
            if !is_inter && communicator.times.len() == 1 =>
        {
            Dependence::All
        }
        Semantics::OneToMany | Semantics::ManyToOne if !is_inter => match instance.root {
            Some(root) => Dependence::Root(root as u32),
            None => Dependence::Pairs,
        },
        _ => Dependence::Pairs,
    }
}

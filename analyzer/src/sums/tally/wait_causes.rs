//! What is handed over of an instance, to attribute its waits to their causes.

use std::sync::Arc;

use collbench_causes::{
    Calls, Completion, Dependence, Held, Instance, Part, PartOfProcess, Polled,
};
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CommunicatorKind, Semantics};

use super::Tally;
use crate::calls::call::{Call, Candidate};
use crate::calls::gap::Gap;
use crate::instances::complete::CompleteInstance;
use crate::measure::outside::Figures;
use crate::sums::instances::operation_key::{OperationKey, completion_hash};

/// Unsuccessful polls in a gap from which on what a process did between them may be waiting.
const MANY_POLLS: u64 = 4;

impl Tally<'_> {
    /// Hands over what a process did between two calls.
    pub(super) fn hand_over_gap(&mut self, process: usize, gap: &Gap) {
        let process_of = |rank| self.context.process_of(rank);
        let parts = parts_of_gap(process as u32, gap, process_of);
        let handed_over = &mut self.scratch.handed_over;
        handed_over.parts.extend(parts);
        if gap.n_unsuccessful_polls >= MANY_POLLS {
            let partner = gap.longest.and_then(|longest| longest.partner);
            handed_over.polled.push(Polled {
                process: process as u32,
                partner: partner.and_then(|rank| self.context.process_of(rank)),
                span_ns: [gap.from.ns(), gap.to.ns()],
                ns: gap.own_work_ns(),
            });
        }
    }

    /// Hands over when MPI began in a process, which made no call before.
    pub(super) fn hand_over_begin(&mut self, process: usize, call: &Call) {
        if let Some(leave) = call.leave.filter(|_| call.begins_mpi()) {
            let begin = (process as u32, leave.ns());
            self.scratch.handed_over.begins.push(begin);
        }
    }

    /// Hands over an instance of the operation with this hash. Where it is not counted, its waits only
    /// explain those of others; without figures, none of its waits is known. With an id other than 0 the causes of its
    /// waits are asked for.
    pub(super) fn hand_over_waits(
        &mut self,
        instance: &CompleteInstance<'_>,
        operation: u64,
        (figures, is_counted): (Option<&Figures>, bool),
        id: u64,
    ) {
        let mut held = self.scratch.spare.take(instance.n_calls());
        let of = Arc::make_mut(&mut held);
        if instance.overlaps.is_none() {
            let extent = &instance.extent;
            of.note_extent([extent.first_enter, extent.last_enter, extent.last_leave]);
        }
        of.note_not_before(instance.not_before_ns);
        let awaited = figures.and_then(Figures::awaited);
        of.note_awaited(awaited.map(|slot| slot as u32));
        let of = &mut of.instance;
        of.communicator = instance.communicator_index as u32;
        of.position = instance.position;
        of.operation = operation;
        of.id = id;
        of.dependence = dependence(instance);
        of.parts = unsuccessful_tests(instance, operation);
        if !Arc::ptr_eq(&of.members, &instance.communicator.processes) {
            of.members = Arc::clone(&instance.communicator.processes);
        }
        let calls = &mut of.calls;
        set_columns(calls, instance);
        let figures = figures.filter(|figures| instance.n_calls() > 1 && figures.has_waits());
        let mut completion = None;
        if let Some(figures) = figures
            && figures.hand_over_waits(calls)
        {
            completion = figures.hand_over_completion(calls);
            self.complete_waits(instance, figures, calls, is_counted);
            if let Some(completion) = &mut completion {
                self.complete_waits(instance, figures, completion, is_counted);
            }
        }
        let completion = completion.map(|calls| Instance {
            operation: completion_hash(operation),
            members: Arc::clone(&of.members),
            dependence: Dependence::Pairs,
            calls,
            parts: Vec::new(),
            ..*of
        });
        let handed_over = &mut self.scratch.handed_over.instances;
        handed_over.push(held);
        handed_over
            .extend(completion.map(|completion| held_until(completion, instance.not_before_ns)));
    }

    /// Finds out of the waits of an instance, or of its completion, which are resolved, compared and counted.
    fn complete_waits(
        &self,
        instance: &CompleteInstance<'_>,
        figures: &Figures,
        calls: &mut Calls,
        is_counted: bool,
    ) {
        let members = &instance.communicator.members;
        let resolution = &self.context.resolution;
        let apart_ns = |slot: usize, on: u32| {
            resolution.between(members[slot].host, members[on as usize].host)
        };
        let waits = || calls.waits_ns.iter().zip(&calls.releasers).enumerate();
        let is_resolved = |(slot, (&ns, &on)): (usize, (&i64, &u32))| {
            ns <= 0 || apart_ns(slot, on).is_some_and(|apart_ns| ns > apart_ns)
        };
        // On one host all are apart by as much.
        let least_ns = match &instance.communicator.hosts[..] {
            [_] => apart_ns(0, 0),
            _ => None,
        };
        let mut resolved = Vec::new();
        let are_resolved = figures.awaited().is_some()
            || least_ns.is_some_and(|ns| calls.waits_ns.iter().all(|&wait| wait <= 0 || wait > ns));
        if !are_resolved {
            resolved.extend(waits().map(is_resolved));
        }
        calls.is_resolved = resolved;
        figures.leave_minor_ones(calls);
        let selection = self.context.selection;
        if !is_counted {
            calls.is_counted = vec![false; members.len()];
        } else if selection.selects_ranks() {
            let ranks = members.iter().map(|member| member.world_rank);
            calls.is_counted = ranks.map(|rank| selection.has_rank(rank)).collect();
        }
    }

    /// Hands over when a process was in a blocking call that is part of no complete instance: that was not its own
    /// work.
    pub(in crate::sums) fn hand_over_call(
        &mut self,
        instance: &Candidate<'_>,
        slot: usize,
        call: &Call,
        key: &OperationKey,
    ) {
        let (true, None, Some(leave)) = (call.is_timed, call.overlap, call.leave) else {
            return;
        };
        let member = &instance.communicator.members[slot];
        let call = Instance {
            communicator: instance.communicator_index as u32,
            position: instance.position,
            operation: key.stable_hash(),
            id: 0,
            members: Arc::new([member.process as u32]),
            dependence: Dependence::Nobody,
            calls: Calls {
                enters_ns: vec![call.enter.ns()],
                leaves_ns: vec![leave.ns()],
                ..Calls::default()
            },
            parts: Vec::new(),
        };
        let handed_over = &mut self.scratch.handed_over.instances;
        handed_over.push(held_until(call, instance.not_before_ns));
    }
}

/// An instance as it is handed over, which is not looked at before a time, ns.
fn held_until(instance: Instance, not_before_ns: Option<i64>) -> Arc<Held> {
    let mut held = Held::from(instance);
    held.note_not_before(not_before_ns);
    Arc::new(held)
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

/// Sets when the processes of an instance entered, completed and left it, in calls of which nothing is known.
fn set_columns(calls: &mut Calls, instance: &CompleteInstance<'_>) {
    let ns = |stamp: &Timestamp<Global>| stamp.ns();
    calls.enters_ns.extend(instance.enters.iter().map(ns));
    calls.leaves_ns.extend(instance.leaves.iter().map(ns));
    if let Some(overlaps) = instance.overlaps {
        let stamps = calls.enters_ns.iter().zip(&calls.leaves_ns);
        let completions = overlaps.iter().zip(stamps);
        let completions = completions.map(|(overlap, (&enter_ns, &leave_ns))| {
            let (completion_ns, n_together) = match overlap.completing {
                Some(completing) => (completing.enter.ns(), completing.n_together.max(1)),
                None => (leave_ns, 1),
            };
            Completion {
                initiated_ns: enter_ns + overlap.initiation_ns,
                completion_ns,
                n_together,
            }
        });
        calls.completions = completions.collect();
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

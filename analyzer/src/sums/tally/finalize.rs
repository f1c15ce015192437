//! Waits in `MPI_Finalize`, in which all processes of a world wait for the last one.

use std::sync::Arc;

use collbench_causes::{Calls, Dependence, Instance};
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CommunicatorKind, Operation};

use super::Tally;
use crate::sums::context::Context;

/// What identifies `MPI_Finalize` among the operations in which is waited.
pub(crate) const FINALIZE: u64 = Operation::Finalize.code() as u64;

impl Tally<'_> {
    /// Adds the waits of all processes of the run, of which it is known from when to when they were in `MPI_Finalize`.
    /// Where their hosts have no common time, or no communicator is of all of them, waits are not known.
    pub(super) fn take_finalize(&mut self, spans: &[[Timestamp<Global>; 2]]) {
        let Context { run, .. } = &self.context;
        if run.processes.len() < 2 || run.is_incomplete() {
            return;
        }
        let all = &self.context.communicators.list;
        let Some(number) = all.iter().position(|communicator| {
            communicator.kind == CommunicatorKind::Intra
                && communicator.is_whole
                && communicator.times.len() == 1
                && communicator.members.len() == self.sums.processes.len()
        }) else {
            return;
        };
        let communicator = &all[number];
        let members = &communicator.members;
        let stamps = |at: usize| {
            members
                .iter()
                .map(move |member| spans[member.process][at].ns())
        };
        let mut calls = Calls {
            enters_ns: stamps(0).collect(),
            leaves_ns: stamps(1).collect(),
            ..Calls::default()
        };
        let enters = calls.enters_ns.iter().copied().zip(0_u32..);
        // Of equal ones the last, as everywhere.
        let Some((last_ns, last)) = enters.max() else {
            return;
        };
        let selection = self.context.selection;
        let first_ns = calls.enters_ns.iter().copied().min().unwrap_or(last_ns);
        let entry = Some(communicator.entry);
        let is_wanted = selection.has_instance(Operation::Finalize, entry, first_ns)
            && selection.has_phase(None);
        for (slot, member) in members.iter().enumerate() {
            let (enter_ns, leave_ns) = (calls.enters_ns[slot], calls.leaves_ns[slot]);
            let wait_ns = last_ns.min(leave_ns).saturating_sub(enter_ns).max(0);
            let apart_ns =
                (self.context.resolution).between(member.host, members[last as usize].host);
            let is_counted = is_wanted && selection.has_rank(member.world_rank);
            calls.waits_ns.push(wait_ns);
            calls.releasers.push(last);
            calls
                .is_resolved
                .push(apart_ns.is_some_and(|apart_ns| wait_ns > apart_ns));
            calls.is_counted.push(is_counted);
            if is_counted {
                self.sums.processes[member.process].finalize_wait_ns = Some(wait_ns);
            }
        }
        self.scratch.handed_over.end = Some(Instance {
            communicator: number as u32,
            position: u64::MAX,
            operation: FINALIZE,
            id: 0,
            members: Arc::clone(&communicator.processes),
            dependence: Dependence::All,
            calls,
            parts: Vec::new(),
        });
    }
}

//! Blocking collectives of a run: who waits for whom, and what is written.

use collbench_formats::{CODE_INTERNAL, CallSiteChange, ROOT_NONE, Semantics};

use super::group::Members;
use super::messages::Receives;
use super::rank_file::{Body, NewRecord};
use super::scenario::StepKind;
use super::semantics::{neighbours_release, payload, releases, root_field};
use super::state::{END_OF_TIME_NS, Execution, FileError, Group, Scratch, Simulation};
use super::truth::{Instance, Seen, TrueInFlight, depends_on_the_way};

/// A calling member of the group, or another process in its place.
struct Caller {
    /// Position among the callers.
    i: usize,
    /// World rank.
    rank: u32,
    enter: u64,
    leave: Option<u64>,
    /// The root as the record states it; for a constructor the index of what it made.
    root_field: i32,
}

impl Simulation<'_> {
    /// Lets the members work, enter, and leave as soon as they may: fills the scratch.
    pub(super) fn perform(&mut self, execution: Execution<'_>, members: &Members) {
        let Execution {
            call,
            operation,
            instance,
            thread,
        } = execution;
        let Scratch {
            mut seen,
            mut heard,
            releases: mut released,
            mut payloads,
            mut simulated,
            mut on_tree,
        } = std::mem::take(&mut self.scratch);
        let root = execution.root(members);
        payloads.clear();
        payloads
            .extend((0..members.ranks.len()).map(|i| payload(call, operation, members, root, i)));
        seen.clear();
        heard.clear();
        for &rank in &members.ranks {
            let mut enter = self.work(call, instance, rank, thread);
            let mut is_heard = enter.is_some();
            if enter.is_some()
                && !call.internal
                && let Some(in_flight) = self.is_killed_now(rank)
            {
                self.ranks[rank as usize].is_running = false;
                is_heard = false;
                enter = enter.filter(|_| in_flight);
            }
            seen.push(Seen {
                enter,
                leave: None,
                is_recorded: false,
            });
            heard.push(enter.filter(|_| is_heard));
        }
        if let Some(over) = call.over {
            on_tree = self.run_over(over, execution, members, &heard);
            for (seen, leave) in seen.iter_mut().zip(&on_tree.leaves) {
                self.is_over |= *leave >= END_OF_TIME_NS;
                seen.leave = Some(*leave);
            }
        } else if let (Some(model), StepKind::Call) = (&call.model, &call.kind) {
            // A nonblocking operation progresses in later calls too.
            simulated = self.simulate_messages(execution, members, model, &heard, None);
            for (seen, leave) in seen.iter_mut().zip(&simulated.leaves) {
                self.is_over |= leave.is_some_and(|leave| leave >= END_OF_TIME_NS);
                seen.leave = *leave;
            }
        } else {
            releases(operation.semantics(), members, root, &heard, &mut released);
            if operation.semantics() == Semantics::Neighborhood {
                neighbours_release(members, &heard, &mut released);
            }
            let host = |i: usize| self.scenario.host_of[members.ranks[i] as usize];
            let mut n_before = 0;
            for i in 0..seen.len() {
                let Some(release) = released[i] else { continue };
                let mut leave = release.at + call.latency.base_ns;
                leave = leave.saturating_add(call.latency.departure_ns.saturating_mul(n_before));
                n_before += 1;
                if host(release.by) != host(i) {
                    leave = leave.saturating_add(call.latency.across_hosts_ns);
                }
                if let Some(jitter) = &call.latency.jitter {
                    leave = leave.saturating_add(self.delay_ns(jitter, instance, members.ranks[i]));
                }
                self.is_over |= leave > END_OF_TIME_NS;
                seen[i].leave = Some(self.snap(leave));
            }
        }
        self.scratch = Scratch {
            seen,
            heard,
            releases: released,
            payloads,
            simulated,
            on_tree,
        };
    }

    /// Writes the calls in the scratch, made on `group`, into files and truth, and moves the
    /// cursors. `made`, for a constructor: who called, and by world rank what it made.
    pub(super) fn note(
        &mut self,
        execution: Execution<'_>,
        group: &mut Group,
        made: Option<(&[u32], &[i32])>,
    ) -> Result<(), FileError> {
        let root = execution.root(&group.members);
        let mut seen = std::mem::take(&mut self.scratch.seen);
        let mut are_all_messages_there = true;
        for (i, seen) in seen.iter_mut().enumerate() {
            let Some(enter) = seen.enter else { continue };
            // Not all members of the parent call a constructor over a group.
            let rank = made.map_or(group.members.ranks[i], |(ranks, _)| ranks[i]);
            let root_field = match (made, root) {
                (Some((_, index_at)), _) => index_at[rank as usize],
                (None, Some(root)) => root_field(&group.members, root, i),
                (None, None) => ROOT_NONE,
            };
            let caller = Caller {
                i,
                rank,
                enter,
                leave: seen.leave,
                root_field,
            };
            seen.is_recorded = self.note_call(execution, group, &caller)?;
            if let Some(model) = &execution.call.model {
                are_all_messages_there &=
                    self.write_messages(execution, group, i, model.receives)?;
            }
            if let Some(over) = execution.call.over {
                are_all_messages_there &= self.write_passes(over, rank, i, execution.thread)?;
            }
            let state = &mut self.ranks[rank as usize];
            state.calls += u64::from(!execution.call.internal);
            match caller.leave {
                Some(leave) => state.cursors[execution.thread as usize] = leave,
                None => state.is_running = false,
            }
        }
        if !execution.call.internal {
            let callers = made.map(|(ranks, _)| ranks);
            self.note_instance(execution, group, callers, &seen, are_all_messages_there);
            group.calls += u64::from(execution.operation.semantics().is_matched());
        }
        self.scratch.seen = seen;
        Ok(())
    }

    /// Writes the call of one member into its file and the truth; returns whether it is in the
    /// trace.
    fn note_call(
        &mut self,
        execution: Execution<'_>,
        group: &Group,
        caller: &Caller,
    ) -> Result<bool, FileError> {
        let Execution {
            call, operation, ..
        } = execution;
        let (members, rank) = (&group.members, caller.rank);
        let at = if members.ranks[caller.i] == rank {
            caller.i
        } else {
            let mut ranks = members.ranks.iter();
            ranks.position(|&member| member == rank).unwrap_or(caller.i)
        };
        let record = NewRecord {
            thread: execution.thread,
            enter: caller.enter,
            leave: caller.leave,
            body: Body::Call {
                operation,
                flags: if call.internal { CODE_INTERNAL } else { 0 },
                communicator: group.indexes[at],
                root: caller.root_field,
                payload: self.scratch.payloads[caller.i],
            },
        };
        // Each call has its own note: one may be the first of its chunk.
        if let Some(index) = call.called_at {
            let note = CallSiteChange { index };
            let note = NewRecord {
                leave: None,
                body: Body::Words(note.words()),
                ..record
            };
            self.write(rank, note)?;
        }
        if !self.write(rank, record)? {
            return Ok(false);
        }
        let counted = (!call.internal).then_some((operation, members));
        self.truth
            .record(rank, caller.leave.unwrap_or(caller.enter), counted);
        if call.internal {
            self.truth.internal(rank);
        }
        if caller.leave.is_none() {
            let is_matched = operation.semantics().is_matched();
            self.truth.in_flight(
                rank,
                TrueInFlight {
                    operation: operation.name(),
                    communicator: Some(group.in_truth),
                    sequence: is_matched.then_some(group.calls),
                },
            );
        }
        Ok(true)
    }

    /// Adds the instance to the truth. `ranks`: the callers of a constructor.
    fn note_instance(
        &mut self,
        execution: Execution<'_>,
        group: &Group,
        ranks: Option<&[u32]>,
        seen: &[Seen],
        are_all_messages_there: bool,
    ) {
        let root = execution.root(&group.members);
        let of_group;
        let members = match (execution.operation.semantics(), ranks) {
            (Semantics::GroupConstructor, Some(ranks)) => {
                of_group = Members::one_group(ranks.to_vec());
                &of_group
            }
            _ => &group.members,
        };
        let model = execution.call.model.as_ref();
        let are_known = depends_on_the_way(execution.operation, members)
            && model.is_some_and(|model| model.receives == Receives::Known);
        let stamps = seen.iter().map(|of| of.enter.zip(of.leave));
        let stamps: Option<Vec<(u64, u64)>> = stamps.collect();
        let stamps = stamps.filter(|_| are_known && are_all_messages_there);
        let releases = stamps.and_then(|stamps| self.scratch.simulated.releases(&stamps));
        let instance = Instance {
            operation: execution.operation,
            communicator: group.in_truth,
            members,
            root,
            payloads: &self.scratch.payloads,
            seen,
            has_messages: model.is_some(),
            releases: releases.as_deref(),
            nonblocking: None,
        };
        self.truth.instance(&instance);
        if let (Some(over), true) = (execution.call.over, are_all_messages_there) {
            let tree = &self.scenario.trees[over];
            let root = root.map(|root| root as u32);
            let paths = &self.scratch.on_tree.stages;
            let of = (&*tree.name, tree.threads);
            self.truth.add_paths(of, execution.operation, root, paths);
        }
        if let Some(model) = &execution.call.model
            && are_all_messages_there
        {
            let top = root.unwrap_or(0);
            self.truth
                .add_tree(&instance, model, top, &self.scratch.simulated, None);
        }
    }
}

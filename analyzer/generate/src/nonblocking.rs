//! Nonblocking and persistent collectives of a run: initiated in one step, completed in a later
//! one.
//!
//! No rank waits in an initiating call. When each member may be done follows from all their
//! initiations, like the leave of a blocking call; the call that completes the operation does not
//! return earlier.

use collbench_formats::{
    CompletingCall, Completion, Definition, Initiation, Operation, PersistentCollective,
    PersistentStart, ROOT_NONE, phase_words,
};

use super::message_records::Ends;
use super::messages::{InstanceMessages, ProgressCalls, Receives};
use super::outstanding::{OutstandingInstance, OutstandingMessages, Persistent};
use super::rank_file::{Body, NewRecord};
use super::scenario::{Begin, Call, CompleteStep};
use super::semantics::root_field;
use super::state::{Execution, FileError, Group, Simulation};
use super::truth::{Instance, NonblockingTimes, Seen, TrueInFlight};

/// The tags of nonblocking collectives are below this one, like those of libraries.
const FIRST_TAG: u16 = 0xff00;

/// A member of the group that initiates a collective.
struct Initiator {
    /// Position of the member.
    i: usize,
    /// Position of the root.
    root: Option<usize>,
    payload: u64,
    /// Position of the collective among the calls on the communicator, or number of the start.
    position: u64,
}

/// A call of one rank that completes initiated collectives.
struct Completing {
    rank: u32,
    /// Begin of the successful call, on the grid.
    entered: u64,
    /// When it returns; `None`: never.
    leave: Option<u64>,
    /// Number of collectives that it completes.
    n_together: u32,
    /// Time of the unsuccessful tests, per collective.
    share_ns: u64,
}

impl Simulation<'_> {
    /// Initiates the collective that `perform` has put into the scratch.
    pub(super) fn begin(
        &mut self,
        execution: Execution<'_>,
        begin: Begin,
        group: &mut Group,
    ) -> Result<(), FileError> {
        let operation = execution.operation;
        let root = execution.root(&group.members);
        let mut seen = std::mem::take(&mut self.scratch.seen);
        let payloads = self.scratch.payloads.clone();
        let ready: Vec<Option<u64>> = seen.iter().map(|seen| seen.leave).collect();
        let position = if operation.is_persistent() {
            self.next_start(execution.call, operation, root, &payloads, group, &seen)?
        } else {
            group.calls
        };
        let mut of = Vec::new();
        let mut nonblocking = vec![NonblockingTimes::default(); seen.len()];
        for i in 0..seen.len() {
            let member = Initiator {
                i,
                root,
                payload: payloads[i],
                position,
            };
            let (initiation, body) = self.initiation(execution, group, &member);
            of.push(initiation);
            if let Some(initiated) =
                self.begin_at(execution, begin, group, &member, body, &mut seen[i])?
            {
                nonblocking[i].initiated = initiated;
            }
        }
        group.calls += u64::from(operation.takes_position());
        let model = self.outstanding_messages(execution, group);
        self.outstanding.instances.push(Some(OutstandingInstance {
            operation,
            in_truth: group.in_truth,
            members: group.members.clone(),
            root,
            payloads,
            n_left: seen.len(),
            seen,
            nonblocking,
            ready,
            of,
            model,
        }));
        Ok(())
    }

    /// What a member initiates, and its record.
    fn initiation(
        &self,
        execution: Execution<'_>,
        group: &Group,
        member: &Initiator,
    ) -> (Initiation, Body) {
        let (operation, i, position) = (execution.operation, member.i, member.position);
        let index = group.indexes[i];
        let key = (execution.call.id, group.id);
        let persistent = self.outstanding.persistent.get(&key);
        match persistent.filter(|_| operation.is_persistent()) {
            None => (
                Initiation::Nonblocking {
                    communicator: index,
                    position,
                },
                Body::Call {
                    operation,
                    flags: 0,
                    communicator: index,
                    root: (member.root)
                        .map_or(ROOT_NONE, |root| root_field(&group.members, root, i)),
                    payload: member.payload,
                },
            ),
            Some(persistent) => {
                let definition = persistent.indexes[i];
                let start = PersistentStart {
                    definition,
                    n_together: 1,
                };
                (
                    Initiation::Persistent {
                        definition,
                        start: position,
                    },
                    Body::Words(start.words(operation, index)),
                )
            }
        }
    }

    /// Writes the initiation of a member that entered; returns when it returned, if it does.
    fn begin_at(
        &mut self,
        execution: Execution<'_>,
        begin: Begin,
        group: &Group,
        member: &Initiator,
        body: Body,
        seen: &mut Seen,
    ) -> Result<Option<u64>, FileError> {
        let (operation, thread) = (execution.operation, execution.thread);
        let rank = group.members.ranks[member.i];
        seen.leave = None;
        let Some(enter) = seen.enter else {
            return Ok(None);
        };
        let is_running = self.ranks[rank as usize].is_running;
        let initiated = is_running.then(|| self.snap(enter + begin.begin_ns));
        let record = NewRecord {
            thread,
            enter,
            leave: initiated,
            body,
        };
        seen.is_recorded = self.write(rank, record)?;
        if seen.is_recorded {
            let counted = Some((operation, &group.members));
            self.truth.record(rank, initiated.unwrap_or(enter), counted);
            if initiated.is_none() {
                let call = TrueInFlight {
                    operation: operation.name(),
                    communicator: Some(group.in_truth),
                    sequence: Some(member.position),
                };
                self.truth.in_flight(rank, call);
            }
        }
        self.ranks[rank as usize].calls += 1;
        if let Some(initiated) = initiated {
            self.ranks[rank as usize].cursors[thread as usize] = initiated;
            let waiting = &mut self.outstanding.of_rank[rank as usize];
            waiting.push((self.outstanding.instances.len(), member.i));
        }
        Ok(initiated)
    }

    /// Creates the message-level state of an instance, with a tag of its own.
    fn outstanding_messages(
        &mut self,
        execution: Execution<'_>,
        group: &Group,
    ) -> Option<OutstandingMessages> {
        execution.call.model.is_some().then(|| {
            let number = &mut self.outstanding.n_with_messages;
            *number = number.wrapping_add(1);
            OutstandingMessages {
                call: execution.call.clone(),
                instance: execution.instance,
                thread: execution.thread,
                tag: FIRST_TAG.wrapping_sub(*number),
                indexes: group.indexes.clone(),
                calls: Vec::new(),
                simulated: InstanceMessages::default(),
                are_all_recorded: true,
            }
        })
    }

    /// Number of the next start of the persistent collective of a step, which is created before the
    /// first.
    fn next_start(
        &mut self,
        call: &Call,
        operation: Operation,
        root: Option<usize>,
        payloads: &[u64],
        group: &mut Group,
        seen: &[Seen],
    ) -> Result<u64, FileError> {
        let key = (call.id, group.id);
        if let Some(known) = self.outstanding.persistent.get_mut(&key) {
            known.n_starts += 1;
            return Ok(known.n_starts);
        }
        let mut indexes = Vec::new();
        for (i, &rank) in group.members.ranks.iter().enumerate() {
            let state = &mut self.ranks[rank as usize];
            let index = state.next_persistent;
            state.next_persistent += 1;
            indexes.push(index);
            let definition = PersistentCollective {
                index,
                communicator: group.indexes[i],
                position: group.persistents,
                operation: operation.code(),
                root: root.map_or(ROOT_NONE, |root| root_field(&group.members, root, i)),
                payload_bytes: Some(payloads[i]),
            };
            if let Some(at) = seen[i].enter {
                self.define(rank, Definition::PersistentCollective(definition), at)?;
            }
        }
        group.persistents += 1;
        let made = Persistent {
            indexes,
            n_starts: 0,
        };
        self.outstanding.persistent.insert(key, made);
        Ok(0)
    }

    /// Every rank completes everything that it has initiated.
    pub(super) fn complete(
        &mut self,
        call: &Call,
        step: &CompleteStep,
        execution: u64,
    ) -> Result<(), FileError> {
        for at in 0..self.outstanding.instances.len() {
            self.progress(at, call, step, execution);
        }
        for rank in 0..self.ranks.len() as u32 {
            let waiting = std::mem::take(&mut self.outstanding.of_rank[rank as usize]);
            let together = match step.by {
                CompletingCall::Waitall
                | CompletingCall::Waitsome
                | CompletingCall::Testall
                | CompletingCall::Testsome => waiting.len().max(1),
                _ => 1,
            };
            for part in waiting.chunks(together) {
                self.complete_part(call, step, execution, (rank, part))?;
            }
        }
        self.settle(false);
        Ok(())
    }

    /// Simulates the messages of a collective once the calls in which it progresses are known: each
    /// rank's next step is to complete it.
    fn progress(&mut self, at: usize, call: &Call, step: &CompleteStep, execution: u64) {
        let Some(mut pending) = self.outstanding.instances[at].take() else {
            return;
        };
        if let Some(model) = &mut pending.model {
            let mut calls = Vec::new();
            for (i, &rank) in pending.members.ranks.iter().enumerate() {
                let initiated = pending.nonblocking[i].initiated;
                let is_waiting = self.outstanding.of_rank[rank as usize].contains(&(at, i));
                let thread = step.thread as usize;
                let before = self.ranks[rank as usize].cursors[thread];
                self.ranks[rank as usize].cursors[thread] = before.max(initiated);
                let first_test = if is_waiting {
                    self.work(call, execution, rank, step.thread)
                } else {
                    None
                };
                self.ranks[rank as usize].cursors[thread] = before;
                let tests_ns = u64::from(step.n_tests) * step.test_ns;
                calls.push(ProgressCalls {
                    initiated,
                    first_test,
                    entered: first_test
                        .map_or(u64::MAX, |first_test| self.snap(first_test + tests_ns)),
                });
            }
            let execution = Execution {
                call: &model.call,
                operation: pending.operation,
                instance: model.instance,
                thread: model.thread,
            };
            let enters: Vec<Option<u64>> = pending.seen.iter().map(|seen| seen.enter).collect();
            if let Some(of) = &model.call.model {
                model.simulated =
                    self.simulate_messages(execution, &pending.members, of, &enters, Some(&calls));
            }
            pending.ready.clone_from(&model.simulated.leaves);
            model.calls = calls;
        }
        self.outstanding.instances[at] = Some(pending);
    }

    /// Writes the ends of the messages of a member of an outstanding instance: those that began
    /// before its completing call was entered, or those after that.
    fn write_outstanding_ends(
        &mut self,
        (at, i): (usize, usize),
        thread: u32,
        entered: u64,
        is_before: bool,
    ) -> Result<(), FileError> {
        let Some(mut pending) = self.outstanding.instances[at].take() else {
            return Ok(());
        };
        if let Some(model) = &mut pending.model {
            let first = pending.nonblocking[i].initiated;
            for (thread, from, to) in [
                (model.thread, 0, first),
                (thread, first, entered),
                (thread, entered, u64::MAX),
            ] {
                let ends = Ends {
                    members: &pending.members,
                    i,
                    communicator: model.indexes[i],
                    tag: model.tag,
                    thread,
                    receives: Receives::Unseen,
                };
                if is_before == (to <= entered) {
                    let is_within = |begin: u64| from <= begin && begin < to;
                    model.are_all_recorded &=
                        self.write_ends(&model.simulated, &ends, &is_within)?;
                }
            }
        }
        self.outstanding.instances[at] = Some(pending);
        Ok(())
    }

    /// One call of one rank completes some of its outstanding collectives.
    fn complete_part(
        &mut self,
        call: &Call,
        step: &CompleteStep,
        execution: u64,
        (rank, part): (u32, &[(usize, usize)]),
    ) -> Result<(), FileError> {
        let initiated_at = |this: &Self, &(at, i): &(usize, usize)| {
            let pending = this.outstanding.instances[at].as_ref();
            pending.map_or(0, |pending| pending.nonblocking[i].initiated)
        };
        let last_initiated = part.iter().map(|waiting| initiated_at(self, waiting)).max();
        let cursor = &mut self.ranks[rank as usize].cursors[step.thread as usize];
        *cursor = (*cursor).max(last_initiated.unwrap_or(0));
        let Some(from) = self.work(call, execution, rank, step.thread) else {
            return Ok(());
        };
        let tests_ns = u64::from(step.n_tests) * step.test_ns;
        let entered = self.snap(from + tests_ns);
        let mut done = Some(entered + step.complete_ns);
        for &(at, i) in part {
            let ready = self.outstanding.instances[at].as_ref().map(|b| b.ready[i]);
            done = done.zip(ready.flatten()).map(|(a, b)| a.max(b));
        }
        let leave = done.map(|done| self.snap(done));
        let n_together = part.len() as u32;
        let completing = Completing {
            rank,
            entered,
            leave,
            n_together,
            share_ns: tests_ns / u64::from(n_together),
        };
        // Only the messages of these are written before they return.
        let is_seen_under_way = matches!(step.by, CompletingCall::Wait | CompletingCall::Waitall);
        if leave.is_some() || is_seen_under_way {
            for &waiting in part {
                self.complete_one(step, waiting, &completing)?;
            }
        }
        match leave {
            Some(leave) => self.ranks[rank as usize].cursors[step.thread as usize] = leave,
            None => self.ranks[rank as usize].is_running = false,
        }
        Ok(())
    }

    /// A call completes one of its collectives for one member.
    fn complete_one(
        &mut self,
        step: &CompleteStep,
        (at, i): (usize, usize),
        completing: &Completing,
    ) -> Result<(), FileError> {
        let &Completing {
            rank,
            entered,
            leave,
            n_together,
            share_ns,
        } = completing;
        let Some(pending) = &self.outstanding.instances[at] else {
            return Ok(());
        };
        let of = pending.of[i];
        let in_flight = TrueInFlight {
            operation: pending.operation.name(),
            communicator: Some(pending.in_truth),
            sequence: Some(match of {
                Initiation::Nonblocking { position, .. } => position,
                Initiation::Persistent { start, .. } => start,
            }),
        };
        self.write_outstanding_ends((at, i), step.thread, entered, true)?;
        let record = |leave, body| NewRecord {
            thread: step.thread,
            enter: entered,
            leave,
            body,
        };
        let completion = Completion {
            of,
            by: step.by,
            n_together,
        };
        if step.n_tests > 0 && leave.is_some() {
            let tests = Body::Tests {
                of,
                by: step.by,
                n: step.n_tests,
                spent_ns: share_ns,
            };
            if self.write(rank, record(Some(entered), tests))? {
                self.truth.record(rank, entered, None);
            }
        }
        let is_recorded = self.write(rank, record(leave, Body::Words(completion.words())))?;
        if is_recorded {
            self.truth.record(rank, leave.unwrap_or(entered), None);
            if leave.is_none() {
                self.truth.in_flight(rank, in_flight);
            }
        }
        self.write_outstanding_ends((at, i), step.thread, entered, false)?;
        if let Some(pending) = &mut self.outstanding.instances[at] {
            pending.n_left -= 1;
            pending.seen[i].leave = leave.filter(|_| is_recorded);
            if let Some(model) = &mut pending.model {
                // At the latest it had received everything when it returned.
                model.simulated.leaves[i] = leave;
            }
            let simulated = &mut pending.nonblocking[i];
            simulated.entered = entered;
            simulated.n_together = u64::from(n_together);
            simulated.n_tests = u64::from(step.n_tests);
            simulated.tests_ns = share_ns;
        }
        Ok(())
    }

    /// Adds instances to the truth that every member has completed; at the end, all.
    pub(super) fn settle(&mut self, is_end: bool) {
        for pending in &mut self.outstanding.instances {
            let Some(done) = pending.take_if(|pending| is_end || pending.n_left == 0) else {
                continue;
            };
            let instance = Instance {
                operation: done.operation,
                communicator: done.in_truth,
                members: &done.members,
                root: done.root,
                payloads: &done.payloads,
                seen: &done.seen,
                has_messages: done.model.is_some(),
                releases: None,
                nonblocking: Some(&done.nonblocking),
            };
            self.truth.instance(&instance);
            if let Some(seen) = done.model.filter(|seen| seen.are_all_recorded)
                && let Some(model) = &seen.call.model
            {
                let (top, calls) = (done.root.unwrap_or(0), Some(&seen.calls[..]));
                self.truth
                    .add_tree(&instance, model, top, &seen.simulated, calls);
            }
        }
        if self.outstanding.instances.iter().all(Option::is_none) {
            self.outstanding.instances.clear();
            // Ranks that did not complete everything have ended.
            self.outstanding.of_rank.iter_mut().for_each(Vec::clear);
        }
    }

    /// Every rank begins a phase of this level.
    pub(super) fn begin_phase(
        &mut self,
        call: &Call,
        level: i32,
        execution: u64,
    ) -> Result<(), FileError> {
        for rank in 0..self.ranks.len() as u32 {
            let Some(at) = self.work(call, execution, rank, 0) else {
                continue;
            };
            let leave = self.snap(at + 1);
            let record = NewRecord {
                thread: 0,
                enter: at,
                leave: Some(leave),
                body: Body::Words(phase_words(level)),
            };
            if self.write(rank, record)? {
                self.truth.record(rank, leave, None);
            }
            self.ranks[rank as usize].cursors[0] = leave;
        }
        Ok(())
    }
}

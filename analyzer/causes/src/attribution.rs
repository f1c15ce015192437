//! Waits to the causes of them, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::cause::Attributed;
use crate::compare::{Comparison, Unit};
use crate::instance::{Dependence, Instance, Part, PartOfProcess};
use crate::process::{Process, operation_time, waiting_time};
use crate::synchronizations::{Partial, Since, Synchronizations};

/// Attributes the waits of a run. Instances may be added in any order, as far as they are later than the
/// time up to which [`Attribution::advance`] was called.
#[derive(Debug)]
pub struct Attribution {
    /// Which processes are on one host, by process.
    hosts: Vec<u32>,
    processes: Vec<Process>,
    communicators: Vec<Synchronizations>,
    /// What is still to be done with instances, by time.
    ahead: BinaryHeap<Reverse<Ahead>>,
    /// Calls of the instances ahead, once for each time that they are there.
    n_held: usize,
    /// When the last wait ends of those instances that have begun and may have begun before others ended,
    /// ns.
    open_until_ns: i64,
    attributed: Attributed,
    comparison: Comparison,
    sinces: Vec<Since>,
}

/// What is to be done with an instance when a time has come.
#[derive(Debug)]
struct Ahead {
    key: Key,
    instance: Arc<Instance>,
}

/// The time, ns, and the order at one time: communicator, position, and what is to be done.
type Key = (i64, u32, u64, Step);

/// What is done with an instance at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// The waits for the process in this slot are attributed.
    on: Option<u32>,
    /// What the members did is compared; slot of the last.
    compared: Option<u32>,
    /// Its processes were inside together.
    is_noted: bool,
    /// What its processes did is logged.
    is_logged: bool,
}

impl PartialEq for Ahead {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Ahead {}

impl PartialOrd for Ahead {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ahead {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Attribution {
    /// Of a run of which nothing is known yet; the host of each process, by any number.
    #[must_use]
    pub fn new(hosts: &[u32]) -> Self {
        Self {
            hosts: hosts.to_vec(),
            processes: hosts.iter().map(|_| Process::default()).collect(),
            communicators: Vec::new(),
            ahead: BinaryHeap::new(),
            n_held: 0,
            open_until_ns: i64::MIN,
            attributed: Attributed::default(),
            comparison: Comparison::default(),
            sinces: Vec::new(),
        }
    }

    /// Adds what a process did besides its own work, before it entered its next instance.
    pub fn add_part(&mut self, part: PartOfProcess) {
        let process = &mut self.processes[part.process as usize];
        process.besides.push_back(part);
    }

    /// Adds an instance.
    pub fn add(&mut self, instance: Instance) {
        let calls = &instance.calls;
        let enters = || calls.iter().map(|call| call.enter_ns);
        let (Some(last_ns), Some(first_ns)) = (enters().max(), enters().min()) else {
            return;
        };
        let mut waited_for = Vec::new();
        for wait in calls.iter().filter_map(|call| call.wait) {
            if !waited_for.contains(&wait.on) {
                waited_for.push(wait.on);
            }
        }
        let is_blocking = calls.iter().all(|call| call.completion_ns == call.enter_ns);
        let has_all = instance.members.len() == self.processes.len();
        let logged_ns = match instance.dependence {
            // Before the last has entered, nobody can be anywhere else.
            Dependence::All if has_all && is_blocking => last_ns,
            _ => first_ns,
        };
        let noted_ns = match instance.dependence {
            Dependence::All => Some(last_ns),
            Dependence::Pairs | Dependence::Root(_) => Some(first_ns),
            Dependence::Nobody => None,
        };
        // By time; what happens at one time is one step where it can be.
        let mut steps: Vec<(i64, Step)> = Vec::with_capacity(2);
        for on in waited_for {
            let step = Step {
                on: Some(on),
                ..Step::default()
            };
            steps.push((calls[on as usize].enter_ns, step));
        }
        let last = calls.iter().rposition(|call| call.enter_ns == last_ns);
        if instance.dependence != Dependence::Nobody {
            let compared = last.map(|slot| slot as u32);
            let is_of =
                |&&mut (at_ns, step): &&mut (i64, Step)| at_ns == last_ns && step.on == compared;
            match steps.iter_mut().find(is_of) {
                Some((_, step)) => step.compared = compared,
                None => steps.push((
                    last_ns,
                    Step {
                        compared,
                        ..Step::default()
                    },
                )),
            }
        }
        for (at_ns, is_noted) in [(Some(logged_ns), false), (noted_ns, true)] {
            let Some(at_ns) = at_ns else { continue };
            let found = steps.iter().position(|(other_ns, _)| *other_ns == at_ns);
            let found = found.unwrap_or_else(|| {
                steps.push((at_ns, Step::default()));
                steps.len() - 1
            });
            let step = &mut steps[found].1;
            if is_noted {
                step.is_noted = true;
            } else {
                step.is_logged = true;
            }
        }
        let instance = Arc::new(instance);
        for (at_ns, step) in steps {
            self.push(at_ns, step, &instance);
        }
    }

    fn push(&mut self, at_ns: i64, step: Step, instance: &Arc<Instance>) {
        self.n_held += instance.calls.len();
        self.ahead.push(Reverse(Ahead {
            key: (at_ns, instance.communicator, instance.position, step),
            instance: Arc::clone(instance),
        }));
    }

    /// Attributes the waits that ended before a time: everything that began before it was added.
    pub fn advance(&mut self, until_ns: i64) {
        while let Some(Reverse(next)) = self.ahead.peek()
            && next.key.0 < until_ns
        {
            let Some(Reverse(Ahead { key, instance })) = self.ahead.pop() else {
                return;
            };
            self.n_held -= instance.calls.len();
            let (at_ns, _, _, step) = key;
            // When all processes of the run are inside, nothing before is looked at again.
            let is_new_begin = step.is_logged
                && step.is_noted
                && instance.dependence == Dependence::All
                && instance.members.len() == self.processes.len()
                && at_ns >= self.open_until_ns;
            if step.on.is_some() || step.compared.is_some() {
                self.attribute(&instance, step, !is_new_begin);
            }
            if step.is_logged {
                self.log(&instance, !is_new_begin);
            }
            if step.is_noted {
                self.note(&instance);
            }
            if is_new_begin {
                for process in &mut self.processes {
                    process.parts.forget_before(at_ns);
                    process.waits.forget_before(at_ns);
                }
            }
        }
    }

    /// How many calls are held, because they may have to be attributed later than what is still to be
    /// added.
    #[must_use]
    pub fn n_held(&self) -> usize {
        self.n_held
    }

    /// The causes of all waits.
    #[must_use]
    pub fn finish(mut self) -> Attributed {
        self.advance(i64::MAX);
        self.attributed
    }

    /// Remembers what the members of an instance did in it, and before.
    fn log(&mut self, instance: &Instance, has_waits: bool) {
        for of in &instance.parts {
            self.processes[of.process as usize].did(of);
        }
        let operation = Some(Part::Operation(instance.operation));
        let mut last_ns = i64::MIN;
        for (&member, call) in instance.members.iter().zip(&instance.calls) {
            last_ns = last_ns.max(call.enter_ns);
            let process = &mut self.processes[member as usize];
            while let Some(of) = process.besides.front()
                && of.span_ns[1] <= call.enter_ns
            {
                let of = *of;
                process.besides.pop_front();
                process.did(&of);
            }
            let log = &mut process.parts;
            if let Some(wait) = call.wait.filter(|_| has_waits) {
                log.push(waiting_time(call, wait).on(None));
            }
            let wait_ns = call.wait.map_or(0, |wait| wait.ns);
            for entry in operation_time(call, wait_ns) {
                log.push(entry.on(operation));
            }
        }
        self.open_until_ns = self.open_until_ns.max(last_ns);
    }

    /// Remembers when the members of an instance were inside together.
    fn note(&mut self, instance: &Instance) {
        let number = instance.communicator as usize;
        if self.communicators.len() <= number {
            self.communicators
                .resize_with(number + 1, Synchronizations::default);
        }
        let synchronizations = &mut self.communicators[number];
        synchronizations.members = Arc::clone(&instance.members);
        let enters = instance.calls.iter().map(|call| call.enter_ns);
        if instance.dependence == Dependence::All {
            synchronizations.note_common(enters.max().unwrap_or(i64::MIN));
        } else {
            let inside = instance.calls.iter();
            synchronizations.note_partial(Partial {
                root: match instance.dependence {
                    Dependence::Root(root) => Some(root),
                    _ => None,
                },
                inside: inside.map(|call| (call.enter_ns, call.leave_ns)).collect(),
            });
        }
        for (slot, &member) in (0..).zip(instance.members.iter()) {
            let process = &mut self.processes[member as usize];
            process.was_on(instance.communicator, slot);
            if process.parts.is_long() || process.waits.is_long() {
                self.fold(member);
            }
        }
    }

    /// Adds up what a process did long ago, between the instants since which it may be compared.
    fn fold(&mut self, process: u32) {
        let state = &mut self.processes[process as usize];
        let mut instants = Vec::new();
        for &(communicator, slot) in &state.recent {
            let synchronizations = &self.communicators[communicator as usize];
            instants.extend(synchronizations.instants(slot as usize));
        }
        instants.sort_unstable();
        instants.dedup();
        state.parts.fold(&instants);
        state.waits.fold(&instants);
    }

    /// Attributes the waits of an instance for one process, and compares what its members did.
    fn attribute(&mut self, instance: &Instance, step: Step, is_remembered: bool) {
        let Some(on) = step.on.or(step.compared) else {
            return;
        };
        let mut sinces = std::mem::take(&mut self.sinces);
        sinces.clear();
        let common_ns = self.common_instant(instance, on as usize);
        let enter_ns = instance.calls[on as usize].enter_ns;
        sinces.extend(instance.calls.iter().enumerate().map(|(slot, call)| {
            match call.wait.filter(|wait| Some(wait.on) == step.on) {
                None => Since::Never,
                Some(wait) if !wait.is_resolved => Since::Unresolved,
                Some(_) => match common_ns {
                    Some(at_ns) if call.enter_ns.min(enter_ns) >= at_ns => Since::Instant(at_ns),
                    _ => self.since(instance, slot, on as usize),
                },
            }
        }));
        let compared_since = match step.compared {
            None => Since::Never,
            Some(_) => self.compared_since(instance, on as usize),
        };
        let unit = Unit {
            instance,
            on,
            sinces: &sinces,
            compared_since,
            is_remembered,
        };
        self.comparison.attribute(
            &unit,
            &mut self.processes,
            &self.hosts,
            &mut self.attributed,
        );
        self.sinces = sinces;
    }

    /// Since when all members of an instance are compared: when they were last inside of one that all of
    /// them depended on, or else two of them.
    fn compared_since(&self, instance: &Instance, on: usize) -> Since {
        let enters = instance.calls.iter().map(|call| call.enter_ns);
        let limit_ns = enters.min().unwrap_or(i64::MIN);
        let recent = self.processes[instance.members[on] as usize].recent.iter();
        let common = recent.filter_map(|&(communicator, _)| {
            let synchronizations = &self.communicators[communicator as usize];
            let has_all = communicator == instance.communicator
                || synchronizations.members.len() == self.processes.len();
            has_all
                .then(|| synchronizations.last_common_before(limit_ns))
                .flatten()
        });
        match common.max() {
            Some(at_ns) => Since::Instant(at_ns),
            None => self.since(instance, usize::from(on == 0), on),
        }
    }

    /// The instant since which a process is compared with all members of an instance, as far as they
    /// entered it later, ns; `None` where that may differ from one member to the other.
    fn common_instant(&self, instance: &Instance, on: usize) -> Option<i64> {
        let last = instance.members[on];
        let recent = self.processes[last as usize].recent.iter();
        let latest = recent
            .map(|&(communicator, _)| {
                (
                    self.communicators[communicator as usize].latest_ns,
                    communicator,
                )
            })
            .max()?;
        let (at_ns, communicator) = latest;
        let synchronizations = &self.communicators[communicator as usize];
        let has_all = communicator == instance.communicator
            || synchronizations.members.len() == self.processes.len();
        (has_all && synchronizations.last_common_ns() == Some(at_ns)).then_some(at_ns)
    }

    /// Since when two processes of an instance are compared.
    fn since(&self, instance: &Instance, slot: usize, on: usize) -> Since {
        let limit_ns = instance.calls[slot]
            .enter_ns
            .min(instance.calls[on].enter_ns);
        let [process, last] = [slot, on].map(|slot| instance.members[slot]);
        let recent = &self.processes[process as usize].recent;
        let mut since = Since::Startup;
        for &(communicator, slot_of_last) in &self.processes[last as usize].recent {
            let synchronizations = &self.communicators[communicator as usize];
            if matches!(since, Since::Instant(at_ns) if synchronizations.latest_ns <= at_ns) {
                continue;
            }
            let shared = recent.iter().find(|(other, _)| *other == communicator);
            if let Some(&(_, slot)) = shared {
                let slots = [slot as usize, slot_of_last as usize];
                since = since.later(synchronizations.last(slots, limit_ns));
            }
        }
        since
    }
}

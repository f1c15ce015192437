//! Waits to the causes of them, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::cause::{Attributed, Cause, Totals};
use crate::compare::{Comparison, Unit};
use crate::history::{History, Sinces};
use crate::hosts::Hosts;
use crate::instance::{Dependence, Instance, Part, PartOfProcess, Polled, UNCOMPARED};
use crate::process::{Process, waiting_time};
use crate::spare::Spare;
use crate::synchronizations::Since;

/// Attributes the waits of a run. Instances may be added in any order, as far as they are later than the
/// time up to which [`Attribution::advance`] was called.
#[derive(Debug)]
pub struct Attribution {
    hosts: Hosts,
    processes: Vec<Process>,
    history: History,
    /// What is still to be done with instances that were added since the last advance, in any order.
    new: Vec<Ahead>,
    /// What is still to be done with others, by time.
    ahead: BinaryHeap<Reverse<Ahead>>,
    /// What is done at once, and the order of that: time, ns, and index. The buffers are reused, as that of the
    /// steps of an instance.
    due: Vec<Option<Ahead>>,
    order: Vec<(i64, usize)>,
    steps: Vec<(i64, Step)>,
    /// Calls of the instances ahead, once for each time that they are there.
    n_held: usize,
    /// When the last wait ends of those instances that have begun and may have begun before others ended,
    /// ns.
    open_until_ns: i64,
    totals: Totals,
    /// How many instances there were in which all processes waited for the last, and all waits are resolved.
    n_ends: u64,
    comparison: Comparison,
    /// Buffers of the instances that are done with.
    spare: Spare,
    sinces: Sinces,
    /// When `MPI_Init` returned to processes, ns, as far as that is not looked at yet.
    begins: Vec<(u32, i64)>,
    /// Whether only the instance at the end of the run is left.
    is_end: bool,
}

/// What is to be done with an instance when a time has come.
#[derive(Debug)]
struct Ahead {
    key: Key,
    instance: Arc<Held>,
}

/// An instance that is held until something is to be done with it.
#[derive(Debug)]
struct Held {
    instance: Instance,
    /// The first and the last enter, ns.
    enters_ns: [i64; 2],
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
            hosts: Hosts::new(hosts),
            processes: hosts.iter().map(|_| Process::default()).collect(),
            history: History::new(hosts.len()),
            new: Vec::new(),
            ahead: BinaryHeap::new(),
            due: Vec::new(),
            order: Vec::new(),
            steps: Vec::new(),
            n_held: 0,
            open_until_ns: i64::MIN,
            totals: Totals::default(),
            n_ends: 0,
            comparison: Comparison::default(),
            spare: Spare::default(),
            sinces: Sinces::default(),
            begins: Vec::new(),
            is_end: false,
        }
    }

    /// Adds when `MPI_Init` returned to a process, ns, before anything else of it.
    pub fn add_begin(&mut self, process: u32, left_ns: i64) {
        self.begins.push((process, left_ns));
    }

    /// Adds that several threads of a process make calls, before anything else of it.
    pub fn add_threads(&mut self, process: u32) {
        self.comparison.have_threads.insert(process);
    }

    /// Adds a span in which a process polled, before it entered its next instance.
    pub fn add_polled(&mut self, polled: &Polled) {
        self.processes[polled.process as usize].polled(polled);
    }

    /// Adds what a process did besides its own work, before it entered its next instance.
    pub fn add_part(&mut self, part: PartOfProcess) {
        self.comparison.has_partners |= matches!(part.part, Part::PointToPoint(_));
        let process = &mut self.processes[part.process as usize];
        process.besides.push_back(part);
    }

    /// Adds an instance.
    pub fn add(&mut self, instance: Instance) {
        let calls = &instance.calls;
        let (mut first_ns, mut last_ns, mut last) = (i64::MAX, i64::MIN, 0);
        for (slot, &enter_ns) in (0..).zip(&calls.enters_ns) {
            first_ns = first_ns.min(enter_ns);
            if enter_ns >= last_ns {
                (last_ns, last) = (enter_ns, slot);
            }
        }
        if calls.is_empty() {
            return;
        }
        let is_of_all = instance.dependence == Dependence::All;
        let has_all = instance.members.len() == self.processes.len();
        let logged_ns = if is_of_all && has_all && calls.are_blocking() {
            // Before the last has entered, nobody can be anywhere else.
            last_ns
        } else {
            first_ns
        };
        let noted_ns = match instance.dependence {
            Dependence::All => Some(last_ns),
            Dependence::Pairs | Dependence::Root(_) => Some(first_ns),
            Dependence::Nobody => None,
        };
        // By time; what happens at one time is one step where it can be.
        let mut steps = std::mem::take(&mut self.steps);
        let waits = calls.waits_ns.iter().zip(&calls.releasers);
        let mut previous = None;
        let mut are_all_compared = true;
        for (_, &on) in waits.filter(|&(&ns, _)| ns > 0) {
            // Mostly all wait for one.
            if previous.replace(on) == Some(on) {
                continue;
            }
            if on == UNCOMPARED {
                are_all_compared = false;
                continue;
            }
            if steps.iter().all(|(_, step)| step.on != Some(on)) {
                let step = Step {
                    on: Some(on),
                    ..Step::default()
                };
                steps.push((calls.enters_ns[on as usize], step));
            }
        }
        if instance.dependence != Dependence::Nobody {
            let of_last = steps
                .iter_mut()
                .find(|(at_ns, step)| *at_ns == last_ns && step.on == Some(last));
            let step = match of_last {
                Some((_, step)) => step,
                None => at(&mut steps, last_ns),
            };
            step.compared = Some(last);
        }
        at(&mut steps, logged_ns).is_logged = true;
        if let Some(noted_ns) = noted_ns {
            at(&mut steps, noted_ns).is_noted = true;
        }
        if !are_all_compared {
            self.settle_uncompared(&instance, last_ns);
        }
        let held = Arc::new(Held {
            instance,
            enters_ns: [first_ns, last_ns],
        });
        for (at_ns, step) in steps.drain(..) {
            self.push(at_ns, step, &held);
        }
        self.steps = steps;
    }

    /// Charges the waits of an instance, of which the last member entered at a time, for those that are not compared.
    fn settle_uncompared(&mut self, instance: &Instance, last_ns: i64) {
        let calls = &instance.calls;
        let imbalance = Cause::Imbalance {
            communicator: instance.communicator,
        };
        let mut costs = [(imbalance, 0_i64), (Cause::Unresolved, 0)];
        for (slot, call) in calls.iter().enumerate() {
            let Some(wait) = call.wait.filter(|wait| wait.on == UNCOMPARED) else {
                continue;
            };
            let (cause, cost_ns) = &mut costs[usize::from(!wait.is_resolved)];
            if wait.is_counted {
                *cost_ns = cost_ns.saturating_add(wait.ns);
            }
            let span = waiting_time(calls.completion(slot), wait.ns).on(*cause);
            self.processes[instance.members[slot] as usize]
                .waits
                .push(span);
        }
        for (cause, ns) in costs {
            if ns > 0 {
                let total = self.totals.cost(cause, instance.operation);
                total.add_uncompared(ns, ns / calls.len() as i64, last_ns);
            }
        }
    }

    fn push(&mut self, at_ns: i64, step: Step, held: &Arc<Held>) {
        let instance = &held.instance;
        self.n_held += instance.calls.len();
        self.new.push(Ahead {
            key: (at_ns, instance.communicator, instance.position, step),
            instance: Arc::clone(held),
        });
    }

    /// Attributes the waits that ended before a time: everything that began before it was added.
    pub fn advance(&mut self, until_ns: i64) {
        let mut due = std::mem::take(&mut self.due);
        while let Some(Reverse(next)) = self.ahead.peek()
            && next.key.0 < until_ns
        {
            due.push(self.ahead.pop().map(|Reverse(next)| next));
        }
        for next in self.new.drain(..) {
            if next.key.0 < until_ns {
                due.push(Some(next));
            } else {
                self.ahead.push(Reverse(next));
            }
        }
        let mut order = std::mem::take(&mut self.order);
        let times = due
            .iter()
            .map(|next| next.as_ref().map_or(0, |next| next.key.0));
        order.extend(times.zip(0..));
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| due[a.1].cmp(&due[b.1])));
        for (_, index) in order.drain(..) {
            let Some(Ahead {
                key,
                instance: held,
            }) = due[index].take()
            else {
                continue;
            };
            let instance = &held.instance;
            self.n_held -= instance.calls.len();
            let (at_ns, _, _, step) = key;
            // When all processes of the run are inside, nothing before is looked at again.
            let is_new_begin = step.is_logged
                && step.is_noted
                && instance.calls.are_blocking()
                && instance.dependence == Dependence::All
                && instance.members.len() == self.processes.len()
                && at_ns >= self.open_until_ns;
            if step.on.is_some() || step.compared.is_some() {
                if !self.begins.is_empty() {
                    self.begin();
                }
                self.prepare(instance);
                self.attribute(&held, step, is_new_begin);
            }
            if step.is_logged {
                self.log(&held, is_new_begin.then_some(at_ns));
            }
            if step.is_noted {
                self.history.note(instance, held.enters_ns[1]);
                // At a new begin there is not much to add up.
                if !is_new_begin {
                    self.fold(instance);
                }
            }
            if let Some(held) = Arc::into_inner(held) {
                self.spare.keep(held.instance.calls);
            }
        }
        due.clear();
        (self.due, self.order) = (due, order);
    }

    /// The buffers of the instances that are done with, to be used for others.
    #[must_use]
    pub fn take_spare(&mut self) -> Spare {
        std::mem::take(&mut self.spare)
    }

    /// How many calls are held, because they may have to be attributed later than what is still to be
    /// added.
    #[must_use]
    pub fn n_held(&self) -> usize {
        self.n_held
    }

    /// The causes of all waits, those at the end of the run included, where that is an instance of its own.
    #[must_use]
    pub fn finish(mut self, end: Option<Instance>) -> Attributed {
        self.advance(i64::MAX);
        // That all waited for the last one once more does not say how late it was made by what was before.
        self.totals.end(self.n_ends);
        self.is_end = true;
        if let Some(end) = end {
            self.add(end);
            self.advance(i64::MAX);
        }
        self.totals.finish(self.n_ends)
    }

    /// Remembers what the members of an instance did in it, and before; forgets what ended before a time, ns.
    #[inline(never)]
    fn log(&mut self, held: &Held, forgotten_ns: Option<i64>) {
        let Held {
            instance,
            enters_ns: [_, last_ns],
        } = held;
        let calls = &instance.calls;
        for of in &instance.parts {
            self.processes[of.process as usize].did(of);
        }
        self.open_until_ns = self.open_until_ns.max(*last_ns);
        for (slot, &member) in instance.members.iter().enumerate() {
            let process = &mut self.processes[member as usize];
            process.did_until(calls.enters_ns[slot]);
            if let Some(at_ns) = forgotten_ns {
                process.forget_before(at_ns);
            }
            process.called(instance.operation, calls, slot);
        }
    }

    /// Looks at when `MPI_Init` returned to processes. All are known to which it did before what is attributed now.
    #[cold]
    fn begin(&mut self) {
        let first_ns = self.begins.iter().map(|&(_, ns)| ns).min();
        let Some(origin_ns) = self.history.origin_ns().or(first_ns) else {
            return;
        };
        for (process, left_ns) in std::mem::take(&mut self.begins) {
            self.history.begin(process, origin_ns);
            self.processes[process as usize].did(&PartOfProcess {
                process,
                part: Part::Launch,
                span_ns: [origin_ns, left_ns.max(origin_ns)],
                ns: left_ns.saturating_sub(origin_ns),
            });
        }
    }

    /// Makes what the members of an instance did before they entered known, in order of time.
    fn prepare(&mut self, instance: &Instance) {
        let enters_ns = &instance.calls.enters_ns;
        for (&member, &enter_ns) in instance.members.iter().zip(enters_ns) {
            self.processes[member as usize].prepare(enter_ns);
        }
    }

    /// Adds up what the members of an instance did long ago, where that is much.
    #[inline(never)]
    fn fold(&mut self, instance: &Instance) {
        for &member in instance.members.iter() {
            let process = &mut self.processes[member as usize];
            if process.is_long() {
                process.fold(&self.history.instants(member));
            }
        }
    }

    /// Attributes the waits of an instance for one process, and compares what its members did. At a new begin
    /// nothing before is looked at again.
    #[inline(never)]
    fn attribute(&mut self, held: &Held, step: Step, is_new_begin: bool) {
        let Held {
            instance,
            enters_ns: [first_ns, _],
        } = held;
        let all_since_ns = step
            .compared
            .and_then(|last| self.history.shared_ns(instance, last as usize, *first_ns))
            .filter(|&ns| {
                let is_whole =
                    instance.dependence == Dependence::All && instance.calls.are_blocking();
                is_whole || self.is_end || !self.history.is_partial_since(instance, ns)
            });
        if let Some(on) = step.on {
            let mut sinces = std::mem::take(&mut self.sinces);
            self.history
                .since_of_waits(instance, on as usize, &mut sinces);
            // Of a broadcast with a late root, too, nobody goes on before.
            let is_waited_for_by_all =
                is_new_begin || sinces.n_waited() + 1 == self.processes.len();
            let is_end = is_waited_for_by_all && sinces.are_resolved();
            let unit = Unit {
                instance,
                on,
                sinces: &sinces,
                all_since_ns,
                is_remembered: !is_new_begin,
                n_ends: self.n_ends,
                is_end,
                is_last: self.is_end,
                has_all: instance.members.len() == self.processes.len(),
                origin_ns: self.history.origin_ns(),
                history: &self.history,
            };
            self.processes[instance.members[on as usize] as usize].prepare_waits();
            self.comparison
                .attribute(&unit, &mut self.processes, &self.hosts, &mut self.totals);
            self.n_ends += u64::from(is_end);
            self.sinces = sinces;
        }
        if let Some(last) = step.compared {
            self.note_excesses(instance, last as usize, all_since_ns);
            let is_whole = instance.dependence == Dependence::All
                && instance.members.len() == self.processes.len();
            // Where its members were on no other communicator meanwhile, excesses tell the same.
            let is_known = is_whole || self.history.is_last(instance.communicator);
            if !(is_known && instance.calls.are_blocking()) {
                self.comparison
                    .note_gaps(instance, &self.processes, &mut self.totals);
            }
        }
    }

    /// Notes what the members of an instance, of which the last is in a slot, did more than the others since an instant that
    /// all share, ns. Where some may have run ahead of the others since then, as those with low ranks do in scans, it is since
    /// each of them left the instance before.
    fn note_excesses(&mut self, instance: &Instance, last: usize, shared_ns: Option<i64>) {
        let (processes, totals) = (&self.processes, &mut self.totals);
        let comparison = &mut self.comparison;
        if let Some(from_ns) = shared_ns.filter(|_| !self.is_end) {
            comparison.note_excesses(instance, |_| from_ns, processes, totals);
            return;
        }
        let before = self.history.previous_partial(instance);
        // Only where all wait for all may it be the first of its members.
        if let Some(before) =
            before.filter(|_| !self.is_end && instance.dependence != Dependence::All)
        {
            comparison.note_excesses(instance, |slot| before.went_on_ns(slot), processes, totals);
            return;
        }
        let from_ns = match self.history.since_of_last(instance, last) {
            Since::Instant(from_ns) => Some(shared_ns.unwrap_or(from_ns)),
            _ => shared_ns,
        };
        match (from_ns, before) {
            (Some(from_ns), _) if self.is_end => {
                comparison.note_end(instance, from_ns, processes, totals);
            }
            (None, _) if self.is_end => {
                totals.note_end(instance, [(); 2].map(|()| vec![-1; instance.calls.len()]));
            }
            (Some(from_ns), _) if self.history.origin_ns() == Some(from_ns) => {
                comparison.note_start(instance, from_ns, processes, totals);
            }
            (_, Some(before)) => {
                comparison.note_excesses(
                    instance,
                    |slot| before.went_on_ns(slot),
                    processes,
                    totals,
                );
            }
            (Some(from_ns), None) => {
                comparison.note_excesses(instance, |_| from_ns, processes, totals);
            }
            (None, None) => {}
        }
    }
}

/// What is done at a time, ns, besides attributing waits; `steps` are those of one instance.
fn at(steps: &mut Vec<(i64, Step)>, at_ns: i64) -> &mut Step {
    let found = steps.iter().position(|(other_ns, _)| *other_ns == at_ns);
    let found = found.unwrap_or_else(|| {
        steps.push((at_ns, Step::default()));
        steps.len() - 1
    });
    &mut steps[found].1
}

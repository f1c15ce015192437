//! Waits to the causes of them, in order of time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use crate::cause::{Cause, Costs};
use crate::instance::{Call, Dependence, Instance, Part, Wait};
use crate::log::{Entry, Log};
use crate::shares::divide;
use crate::synchronizations::{Partial, Since, Synchronizations};

/// Attributes the waits of a run. Instances may be added in any order, as far as they are later than the
/// time up to which [`Attribution::advance`] was called.
#[derive(Debug)]
pub struct Attribution {
    processes: Vec<Process>,
    communicators: Vec<Synchronizations>,
    /// Instances that are not attributed yet, by the end of their waits.
    ahead: BinaryHeap<Reverse<Ahead>>,
    costs: Costs,
    scratch: Scratch,
}

/// What is retained of a process.
#[derive(Debug, Default)]
struct Process {
    /// What it did besides its own work; `None`: it waited.
    parts: Log<Option<Part>>,
    /// Its waits, by cause.
    waits: Log<Cause>,
    /// The communicators on which it was last, the latest first.
    recent: Vec<u32>,
}

/// Waits of an instance for one process.
#[derive(Debug)]
struct Ahead {
    /// When they ended, ns, and the order of those that ended at one time: communicator, position, and who was
    /// waited for.
    key: (i64, u32, u64, Option<u32>),
    instance: Arc<Instance>,
    /// Slot of the process that was waited for; `None`: the instance is noted.
    on: Option<u32>,
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

/// Communicators of a process in which the last instance that it shares with another is looked for.
const MOST_RECENT: usize = 64;
/// Members from which the median is taken where each pair is compared since another instant.
const SAMPLED: usize = 64;

/// What a process did since an instant.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Spent {
    /// Own work, ns.
    own_ns: i64,
    /// Waits, ns.
    wait_ns: i64,
    /// By part, ascending, ns.
    parts: Vec<(Part, i64)>,
}

/// Buffers, and what is known of the unit at hand.
#[derive(Debug, Default)]
struct Scratch {
    /// What the process that was waited for did, and since when.
    last: Option<(i64, Spent)>,
    /// Causes of its waits since then.
    causes: Vec<(Cause, i64)>,
    waiting: Spent,
    weights: Vec<i64>,
    shares: Vec<i64>,
    passed_on: Vec<i64>,
    values: Vec<i64>,
    /// Medians that were taken since the same instant; of own work under `None`.
    medians: BTreeMap<Option<Part>, i64>,
    /// To which causes a wait was attributed.
    found: Vec<(Cause, i64)>,
}

impl Attribution {
    /// Of a run of so many processes, of which nothing is known yet.
    #[must_use]
    pub fn new(n_processes: usize) -> Self {
        Self {
            processes: (0..n_processes).map(|_| Process::default()).collect(),
            communicators: Vec::new(),
            ahead: BinaryHeap::new(),
            costs: Costs::new(),
            scratch: Scratch::default(),
        }
    }

    /// Adds what a process did outside of collectives and is not its own work: `ns` of the span
    /// `[from_ns, to_ns)`.
    pub fn add_part(&mut self, process: u32, part: Part, [from_ns, to_ns]: [i64; 2], ns: i64) {
        self.processes[process as usize].parts.push(Entry {
            end_ns: to_ns,
            span_ns: to_ns.saturating_sub(from_ns),
            ns,
            what: Some(part),
        });
    }

    /// Adds an instance.
    pub fn add(&mut self, instance: Instance) {
        let last_enter = instance.calls.iter().map(|call| call.enter_ns).max();
        let first_enter = instance.calls.iter().map(|call| call.enter_ns).min();
        let (Some(last_enter), Some(first_enter)) = (last_enter, first_enter) else {
            return;
        };
        let mut waited_for = Vec::new();
        for (&member, call) in instance.members.iter().zip(&instance.calls) {
            let log = &mut self.processes[member as usize].parts;
            let wait_ns = call.wait.map_or(0, |wait| wait.ns);
            for entry in operation_time(call, wait_ns) {
                log.push(entry.on(Some(Part::Operation(instance.operation))));
            }
            if let Some(wait) = call.wait {
                log.push(waiting_time(call, wait).on(None));
                if !waited_for.contains(&wait.on) {
                    waited_for.push(wait.on);
                }
            }
        }
        let noted_ns = match instance.dependence {
            Dependence::All => Some(last_enter),
            Dependence::Pairs | Dependence::Root(_) => Some(first_enter),
            Dependence::Nobody => None,
        };
        let instance = Arc::new(instance);
        let waits = waited_for.iter().map(|&on| {
            let enter_ns = instance.calls[on as usize].enter_ns;
            (enter_ns, Some(on))
        });
        for (at_ns, on) in waits.chain(noted_ns.map(|at_ns| (at_ns, None))) {
            self.ahead.push(Reverse(Ahead {
                key: (at_ns, instance.communicator, instance.position, on),
                instance: Arc::clone(&instance),
                on,
            }));
        }
    }

    /// Attributes the waits that ended before a time: everything that began before it was added.
    pub fn advance(&mut self, until_ns: i64) {
        while let Some(Reverse(next)) = self.ahead.peek()
            && next.key.0 < until_ns
        {
            let Some(Reverse(unit)) = self.ahead.pop() else {
                return;
            };
            match unit.on {
                Some(on) => self.attribute(&unit.instance, on),
                None => self.note(&unit.instance),
            }
        }
    }

    /// The costs of all waits.
    #[must_use]
    pub fn finish(mut self) -> Costs {
        self.advance(i64::MAX);
        self.costs
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
        let root = match instance.dependence {
            Dependence::All => {
                let enters = instance.calls.iter().map(|call| call.enter_ns);
                synchronizations.note_common(enters.max().unwrap_or(i64::MIN));
                None
            }
            Dependence::Root(root) => Some(root),
            Dependence::Pairs | Dependence::Nobody => None,
        };
        if instance.dependence != Dependence::All {
            let inside = instance.calls.iter();
            synchronizations.note_partial(Partial {
                root,
                inside: inside.map(|call| (call.enter_ns, call.leave_ns)).collect(),
            });
        }
        for &member in instance.members.iter() {
            let process = &mut self.processes[member as usize];
            process.was_on(instance.communicator);
            if process.parts.is_long() || process.waits.is_long() {
                self.fold(member);
            }
        }
    }

    /// Adds up what a process did long ago, between the instants since which it may be compared.
    fn fold(&mut self, process: u32) {
        let state = &mut self.processes[process as usize];
        let mut instants = Vec::new();
        for &communicator in &state.recent {
            let synchronizations = &self.communicators[communicator as usize];
            let mut members = synchronizations.members.iter();
            if let Some(slot) = members.position(|&member| member == process) {
                instants.extend(synchronizations.instants(slot));
            }
        }
        instants.sort_unstable();
        instants.dedup();
        state.parts.fold(&instants);
        state.waits.fold(&instants);
    }

    /// Attributes the waits of an instance for the process in slot `on`.
    fn attribute(&mut self, instance: &Instance, on: u32) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.last = None;
        for slot in 0..instance.calls.len() {
            let Some(wait) = instance.calls[slot].wait.filter(|wait| wait.on == on) else {
                continue;
            };
            scratch.found.clear();
            let n_direct = self.find(instance, slot, wait, &mut scratch);
            debug_assert_eq!(
                scratch.found.iter().map(|found| found.1).sum::<i64>(),
                wait.ns
            );
            let counted = scratch.found.iter().filter(|_| instance.is_counted);
            for (at, &(cause, ns)) in counted.enumerate() {
                let cost = self.costs.entry((cause, instance.operation)).or_default();
                let side = if at < n_direct {
                    &mut cost.direct_ns
                } else {
                    &mut cost.propagated_ns
                };
                *side = side.saturating_add(ns);
            }
            let waits = &mut self.processes[instance.members[slot] as usize].waits;
            let span = waiting_time(&instance.calls[slot], wait);
            for &(cause, ns) in &scratch.found {
                waits.push(Entry {
                    ns,
                    ..span.on(cause)
                });
            }
        }
        self.scratch = scratch;
    }

    /// Finds the causes of one wait, which add up to it; gives how many of them are direct, which are
    /// the first.
    fn find(
        &mut self,
        instance: &Instance,
        slot: usize,
        wait: Wait,
        scratch: &mut Scratch,
    ) -> usize {
        let since = if wait.is_resolved {
            self.since(instance, slot, wait.on as usize)
        } else {
            scratch.found.push((Cause::Unresolved, wait.ns));
            return 1;
        };
        let from_ns = match since {
            Since::Instant(from_ns) => from_ns,
            Since::Startup => {
                scratch.found.push((Cause::Startup, wait.ns));
                return 1;
            }
            Since::Forgotten => {
                scratch.found.push((Cause::Unexplained, wait.ns));
                return 1;
            }
        };
        let last = instance.members[wait.on as usize];
        let last_enter_ns = instance.calls[wait.on as usize].enter_ns;
        if scratch.last.as_ref().is_none_or(|(of, _)| *of != from_ns) {
            let mut spent = scratch.last.take().unwrap_or_default().1;
            self.spent(last, from_ns, last_enter_ns, &mut spent);
            scratch.last = Some((from_ns, spent));
            scratch.medians.clear();
            scratch.causes.clear();
            let causes = &mut scratch.causes;
            let waits = &mut self.processes[last as usize].waits;
            waits.between(from_ns, last_enter_ns, |ns, cause| add(causes, cause, ns));
            causes.sort_unstable();
        }
        let mut waiting = std::mem::take(&mut scratch.waiting);
        let enter_ns = instance.calls[slot].enter_ns;
        self.spent(instance.members[slot], from_ns, enter_ns, &mut waiting);
        let n_direct = self.split(instance, wait, from_ns, &waiting, scratch);
        scratch.waiting = waiting;
        n_direct
    }

    /// Divides a wait among what the process that was waited for had more of, since `from_ns`.
    fn split(
        &mut self,
        instance: &Instance,
        wait: Wait,
        from_ns: i64,
        waiting: &Spent,
        scratch: &mut Scratch,
    ) -> usize {
        let Some((_, last)) = scratch.last.take() else {
            return 0;
        };
        scratch.weights.clear();
        let more = |of_last: i64, own: i64| (of_last - own).max(0);
        scratch.weights.push(more(last.wait_ns, waiting.wait_ns));
        scratch.weights.push(more(last.own_ns, waiting.own_ns));
        let parts = last.parts.iter();
        scratch
            .weights
            .extend(parts.map(|&(part, ns)| more(ns, waiting.of(part))));
        divide(wait.ns, &scratch.weights, &mut scratch.shares);
        let process = instance.members[wait.on as usize];
        let within = [from_ns, instance.calls[wait.on as usize].enter_ns];
        for at in 1..scratch.shares.len() {
            let (share, more) = (scratch.shares[at], scratch.weights[at]);
            let (part, of_last) = match at {
                1 => (None, last.own_ns),
                _ => (Some(last.parts[at - 2].0), last.parts[at - 2].1),
            };
            if let Some(Part::Operation(operation)) = part {
                add(&mut scratch.found, Cause::Operation(operation), share);
            } else if share > 0 {
                let median = self.median(instance, within, part, scratch);
                let above = more.min((of_last - median).max(0));
                let of_late = i128::from(share) * i128::from(above) / i128::from(more);
                let of_late = of_late as i64;
                add(&mut scratch.found, Cause::Late { process, part }, of_late);
                let communicator = instance.communicator;
                let imbalance = Cause::Imbalance { communicator };
                add(&mut scratch.found, imbalance, share - of_late);
            }
        }
        let propagated = scratch.shares[0];
        let left = wait.ns - scratch.shares.iter().sum::<i64>();
        let is_known = scratch.causes.iter().any(|&(_, ns)| ns > 0);
        let unexplained = left + if is_known { 0 } else { propagated };
        add(&mut scratch.found, Cause::Unexplained, unexplained);
        let n_direct = scratch.found.len();
        if is_known && propagated > 0 {
            scratch.weights.clear();
            scratch
                .weights
                .extend(scratch.causes.iter().map(|&(_, ns)| ns));
            divide(propagated, &scratch.weights, &mut scratch.passed_on);
            let shares = scratch.causes.iter().zip(&scratch.passed_on);
            let shares = shares.filter(|&(_, &ns)| ns > 0);
            scratch
                .found
                .extend(shares.map(|(&(cause, _), &ns)| (cause, ns)));
        }
        scratch.last = Some((from_ns, last));
        n_direct
    }

    /// The lower median of what the members of an instance spent on a part, ns; `None`: of their own work.
    /// It is counted from the first of two times to the enter of each, at most to the second. Those that had
    /// entered before are left out, and of many some are taken.
    fn median(
        &mut self,
        instance: &Instance,
        [from_ns, to_ns]: [i64; 2],
        part: Option<Part>,
        scratch: &mut Scratch,
    ) -> i64 {
        if let Some(&median) = scratch.medians.get(&part) {
            return median;
        }
        let mut values = std::mem::take(&mut scratch.values);
        values.clear();
        let n = instance.calls.len();
        let step = match instance.dependence {
            Dependence::All => 1,
            _ => n.div_ceil(SAMPLED),
        };
        let mut spent = Spent::default();
        for slot in (0..n).step_by(step) {
            let enter_ns = instance.calls[slot].enter_ns;
            if enter_ns > from_ns {
                let to_ns = enter_ns.min(to_ns);
                self.spent(instance.members[slot], from_ns, to_ns, &mut spent);
                values.push(part.map_or(spent.own_ns, |part| spent.of(part)));
            }
        }
        let middle = values.len().saturating_sub(1) / 2;
        let median = match values.len() {
            0 => 0,
            _ => *values.select_nth_unstable(middle).1,
        };
        scratch.values = values;
        scratch.medians.insert(part, median);
        median
    }

    /// What a process did between two times.
    fn spent(&mut self, process: u32, from_ns: i64, to_ns: i64, spent: &mut Spent) {
        spent.parts.clear();
        spent.wait_ns = 0;
        let (parts, wait_ns) = (&mut spent.parts, &mut spent.wait_ns);
        let log = &mut self.processes[process as usize].parts;
        log.between(from_ns, to_ns, |ns, part| match part {
            Some(part) => add(parts, part, ns),
            None => *wait_ns += ns,
        });
        parts.sort_unstable();
        let in_parts: i64 = parts.iter().map(|(_, ns)| ns).sum();
        spent.own_ns = (to_ns - from_ns - in_parts - spent.wait_ns).max(0);
    }

    /// Since when two processes of an instance are compared.
    fn since(&self, instance: &Instance, slot: usize, on: usize) -> Since {
        let limit_ns = instance.calls[slot]
            .enter_ns
            .min(instance.calls[on].enter_ns);
        let mut since = match self.communicators.get(instance.communicator as usize) {
            Some(synchronizations) if !synchronizations.members.is_empty() => {
                synchronizations.last([slot, on], limit_ns)
            }
            _ => Since::Startup,
        };
        let [process, last] = [slot, on].map(|slot| instance.members[slot]);
        for &communicator in &self.processes[last as usize].recent {
            let synchronizations = &self.communicators[communicator as usize];
            let is_later = match since {
                Since::Instant(at_ns) => synchronizations.latest_ns > at_ns,
                Since::Startup | Since::Forgotten => true,
            };
            if communicator == instance.communicator || !is_later {
                continue;
            }
            let members = &synchronizations.members;
            let slot_of = |process| members.iter().position(|&member| member == process);
            let (Some(a), Some(b)) = (slot_of(process), slot_of(last)) else {
                continue;
            };
            since = since.later(synchronizations.last([a, b], limit_ns));
        }
        since
    }
}

impl Process {
    /// Remembers that it was on a communicator.
    #[inline]
    fn was_on(&mut self, communicator: u32) {
        if self.recent.first() == Some(&communicator) {
            return;
        }
        match self.recent.iter().position(|&other| other == communicator) {
            Some(at) => self.recent[..=at].rotate_right(1),
            None => {
                self.recent.truncate(MOST_RECENT - 1);
                self.recent.insert(0, communicator);
            }
        }
    }
}

impl Spent {
    /// Time in a part, ns.
    fn of(&self, part: Part) -> i64 {
        let found = self.parts.iter().find(|(other, _)| *other == part);
        found.map_or(0, |&(_, ns)| ns)
    }
}

/// Adds to the amount of one of some, or adds it to them.
#[inline]
fn add<K: PartialEq>(amounts: &mut Vec<(K, i64)>, key: K, ns: i64) {
    if ns == 0 {
        return;
    }
    match amounts.iter_mut().find(|(other, _)| *other == key) {
        Some((_, amount)) => *amount += ns,
        None => amounts.push((key, ns)),
    }
}

/// The time of a wait.
fn waiting_time(call: &Call, wait: Wait) -> Entry<()> {
    let (end_ns, span_ns) = match call.n_together {
        1 => (call.completion_ns.saturating_add(wait.ns), wait.ns),
        _ => (call.leave_ns, call.leave_ns - call.completion_ns),
    };
    Entry {
        end_ns,
        span_ns,
        ns: wait.ns,
        what: (),
    }
}

/// The time of a call without its wait: of its initiation, if it is nonblocking, and of its completion.
fn operation_time(call: &Call, wait_ns: i64) -> [Entry<()>; 2] {
    let initiation_ns = call.initiated_ns.saturating_sub(call.enter_ns);
    let completion_ns = call.leave_ns.saturating_sub(call.completion_ns);
    let own_ns = (completion_ns / i64::from(call.n_together.max(1))).saturating_sub(wait_ns);
    let span_ns = match call.n_together {
        1 => own_ns,
        _ => completion_ns,
    };
    [
        (call.initiated_ns, initiation_ns, initiation_ns),
        (call.leave_ns, span_ns, own_ns),
    ]
    .map(|(end_ns, span_ns, ns)| Entry {
        end_ns,
        span_ns,
        ns,
        what: (),
    })
}

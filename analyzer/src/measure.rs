//! One complete instance to its figures: lags, waits, core, orders.
//!
//! The definitions are those of "seen from outside". Where the processes of an instance are on
//! several hosts, whose clocks are not aligned in this version, stamps are compared within each
//! host only: lags, waits and departure waits are those against processes of the same host and
//! so lower bounds; the duration is the longest of any host; core, who was last and who was
//! first are not known; a wait of which no process depended upon is on the same host is left out.
//!
//! **Who is left out.** A process that contributes and receives nothing waits for nobody, and
//! nobody waits for it. A payload says what a process sends (at the receivers of a bcast or
//! scatter: what they receive), so: in an N x N operation all are left out if all payloads are
//! zero, otherwise none is, since one that sends nothing may well receive; in one to many a
//! receiver of nothing is left out, and everyone if the root sends nothing; in many to one a
//! sender of nothing; in a scan whoever has a payload of zero. Barriers and constructors carry
//! no payload, and leave out nobody. An unknown payload is not zero.

use collbench_formats::{
    CommunicatorKind, Operation, ROOT_IS_ME, ROOT_OTHER_OF_MY_GROUP, Semantics,
};

use crate::communicators::Communicator;
use crate::matching::{Call, Instance};

/// The calls of a complete instance, which agree on what they are.
#[derive(Debug, Clone, Copy)]
pub struct Agreed<'m> {
    /// The processes.
    pub communicator: &'m Communicator,
    /// What was called.
    pub operation: Operation,
    /// Slot of the root, for operations that have one.
    pub root: Option<usize>,
    /// For each slot its call.
    pub calls: &'m [Option<Call>],
}

/// Why calls at one position are not one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disagreement {
    /// They are not of one operation.
    Operations,
    /// They do not name one root.
    Roots,
}

impl<'m> Agreed<'m> {
    /// Checks that all calls are of one operation with one root.
    ///
    /// # Errors
    /// [`Disagreement`] if they are not.
    pub fn new(instance: &Instance<'m>) -> Result<Self, Disagreement> {
        let communicator = instance.communicator;
        let mut calls = instance.calls.iter().flatten();
        let Some(first) = calls.next() else {
            return Err(Disagreement::Operations);
        };
        let operation = first.operation;
        if calls.any(|call| call.operation != operation) {
            return Err(Disagreement::Operations);
        }
        let root = match operation.semantics().is_rooted() {
            true => Some(root_slot(communicator, instance.calls).ok_or(Disagreement::Roots)?),
            false => None,
        };
        Ok(Self {
            communicator,
            operation,
            root,
            calls: instance.calls,
        })
    }
}

/// The slot that all calls name as the root; `None` if they name different ones, or none.
fn root_slot(communicator: &Communicator, calls: &[Option<Call>]) -> Option<usize> {
    let slot_of = |group: u8, rank: i32| {
        let rank = u32::try_from(rank).ok()?;
        communicator
            .members
            .binary_search_by_key(&(group, rank), |m| (m.group, m.rank))
            .ok()
    };
    let roots = calls.iter().map(|call| call.map(|call| call.root));
    if communicator.kind == CommunicatorKind::Intra {
        let root = (*calls.first()?)?.root;
        if roots.flatten().any(|other| other != root) {
            return None;
        }
        return slot_of(0, root);
    }
    let root = calls
        .iter()
        .position(|call| call.is_some_and(|call| call.root == ROOT_IS_ME))?;
    let root_member = communicator.members[root];
    let agree = roots
        .zip(&communicator.members)
        .enumerate()
        .all(|(slot, (named, member))| match named {
            _ if slot == root => true,
            None => true,
            Some(named) if member.group == root_member.group => named == ROOT_OTHER_OF_MY_GROUP,
            Some(named) => u32::try_from(named) == Ok(root_member.rank),
        });
    agree.then_some(root)
}

/// The figures of one instance. Times in ns; lists by slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Last enter minus own enter.
    pub lags: Vec<i64>,
    /// Time waited, `None` where it is not known; empty where nobody need wait (Free).
    pub waits: Vec<Option<i64>>,
    /// For each wait the slot whose enter ended it; `None`: nobody but itself.
    pub releasers: Vec<Option<usize>>,
    /// Own leave minus first leave, for N x N; empty for others.
    pub departure_waits: Vec<i64>,
    /// Own leave minus the later of first leave and last enter, not below zero: Scalasca's
    /// completion, for N x N; empty for others.
    pub completions: Vec<i64>,
    /// Leave minus last enter in the order of departure, for N x N on one clock; empty for others.
    pub departures_after_last: Vec<i64>,
    /// First leave minus last enter, for N x N; below zero it is a clock error.
    pub core: Option<i64>,
    /// Last leave minus first enter.
    pub duration: i64,
    /// Slot that came last, where it is resolved.
    pub last: Option<usize>,
    /// Last enter minus second last, where there is a `last`.
    pub excess: i64,
    /// Slot that came first, where it is resolved.
    pub first: Option<usize>,
    /// Slot that left first, where it is resolved.
    pub first_departure: Option<usize>,
    /// Resolved `(slot, position)` in the order of arrival.
    pub arrivals: Vec<(usize, usize)>,
    /// Resolved `(slot, position)` in the order of departure.
    pub departures: Vec<(usize, usize)>,
    order: Vec<(i64, usize)>,
}

/// Latest enter among some slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Latest {
    enter: i64,
    slot: usize,
}

impl Figures {
    /// Figures with room to be used again for the next instance.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Measures an instance; whatever was here before is replaced.
    ///
    /// `granularity_ns[host]` is the smallest difference of stamps of the host that means
    /// something.
    pub fn measure(&mut self, instance: &Agreed<'_>, granularity_ns: &[i64]) {
        let n = instance.calls.len();
        self.clear(n);
        for slots in &instance.communicator.hosts {
            self.measure_geometry(instance, slots);
            self.measure_waits(instance, slots);
        }
        if let [slots] = &instance.communicator.hosts[..]
            && slots.len() > 1
        {
            let host = instance.communicator.members[0].host;
            self.measure_orders(instance, granularity_ns[host]);
        }
    }

    /// What the process in a slot waited; `None`: not known. 0 where nobody need wait.
    #[must_use]
    pub fn wait_of(&self, slot: usize) -> Option<i64> {
        self.waits.get(slot).copied().unwrap_or(Some(0))
    }

    fn clear(&mut self, n: usize) {
        self.lags.clear();
        self.lags.resize(n, 0);
        self.waits.clear();
        self.releasers.clear();
        self.releasers.resize(n, None);
        self.departure_waits.clear();
        self.completions.clear();
        self.departures_after_last.clear();
        self.core = None;
        self.duration = 0;
        (self.last, self.first, self.first_departure) = (None, None, None);
        self.excess = 0;
        self.arrivals.clear();
        self.departures.clear();
    }

    /// What is defined by the stamps alone, for the processes of one host.
    fn measure_geometry(&mut self, instance: &Agreed<'_>, slots: &[usize]) {
        let (mut first_enter, mut last_enter) = (i64::MAX, i64::MIN);
        let (mut first_leave, mut last_leave) = (i64::MAX, i64::MIN);
        for (enter, leave) in slots.iter().map(|&slot| stamps(instance, slot)) {
            first_enter = first_enter.min(enter);
            last_enter = last_enter.max(enter);
            first_leave = first_leave.min(leave);
            last_leave = last_leave.max(leave);
        }
        for &slot in slots {
            self.lags[slot] = last_enter - stamps(instance, slot).0;
        }
        self.duration = self.duration.max(last_leave - first_enter);
        if has_core(instance) {
            let n = instance.calls.len();
            self.departure_waits.resize(n, 0);
            self.completions.resize(n, 0);
            for &slot in slots {
                let leave = stamps(instance, slot).1;
                self.departure_waits[slot] = leave - first_leave;
                self.completions[slot] = (leave - first_leave.max(last_enter)).max(0);
            }
            if instance.communicator.hosts.len() == 1 {
                self.core = Some(first_leave - last_enter);
            }
        }
    }

    /// Waits of the processes of one host, for one another.
    fn measure_waits(&mut self, instance: &Agreed<'_>, slots: &[usize]) {
        let semantics = instance.operation.semantics();
        if semantics.waits_for_nobody() {
            return;
        }
        let n = instance.calls.len();
        self.waits.resize(n, None);
        let spans_hosts = instance.communicator.hosts.len() > 1;
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        let all_zero = carries_payload(semantics)
            && instance
                .calls
                .iter()
                .flatten()
                .all(|call| call.payload == Some(0));
        let is_nothing = |slot: usize| payload(instance, slot) == Some(0);
        match semantics {
            _ if all_zero => self.wait_for_nobody(slots),
            Semantics::Barrier | Semantics::AllToAll if is_inter => {
                // Each group waits for the other.
                for group in [0, 1] {
                    let is_in = |slot: &usize| instance.communicator.members[*slot].group == group;
                    let remote = slots.iter().copied().filter(|slot| !is_in(slot));
                    let release = latest(instance, remote);
                    for &slot in slots.iter().filter(|slot| is_in(slot)) {
                        self.wait_for(instance, slot, release);
                    }
                }
            }
            Semantics::Barrier
            | Semantics::AllToAll
            | Semantics::Constructor
            | Semantics::GroupConstructor => {
                // Alone on its host, a process has nobody to be compared with.
                let release = match slots.len() {
                    1 if spans_hosts => None,
                    _ => latest(instance, slots.iter().copied()),
                };
                for &slot in slots {
                    self.wait_for(instance, slot, release);
                }
            }
            Semantics::OneToMany => {
                let Some(root) = instance.root else { return };
                if is_nothing(root) {
                    self.wait_for_nobody(slots);
                    return;
                }
                let release = slots
                    .contains(&root)
                    .then(|| latest(instance, [root].into_iter()))
                    .flatten();
                for &slot in slots {
                    match slot == root || is_nothing(slot) || is_bystander(instance, slot) {
                        true => self.waits[slot] = Some(0),
                        false => self.wait_for(instance, slot, release),
                    }
                }
            }
            Semantics::ManyToOne => {
                let Some(root) = instance.root else { return };
                self.wait_for_nobody(slots);
                if slots.contains(&root) {
                    let contributes = |slot: &usize| {
                        *slot != root && !is_nothing(*slot) && !is_bystander(instance, *slot)
                    };
                    let depends = (0..n).any(|slot| contributes(&slot));
                    let here = slots.iter().copied().filter(contributes);
                    let release = latest(instance, here);
                    if depends {
                        self.wait_for(instance, root, release);
                    }
                }
            }
            Semantics::Prefix => {
                // Slots ascend by rank, so the lower ranks of this host come before.
                let mut lower: Option<Latest> = None;
                let first_contributor = (0..n).find(|&slot| !is_nothing(slot));
                for &slot in slots {
                    let depends = first_contributor.is_some_and(|first| first < slot);
                    match is_nothing(slot) || !depends {
                        true => self.waits[slot] = Some(0),
                        false => self.wait_for(instance, slot, lower),
                    }
                    if !is_nothing(slot) {
                        lower = lower.max(latest(instance, [slot].into_iter()));
                    }
                }
            }
            Semantics::Neighborhood
            | Semantics::Free
            | Semantics::NonblockingConstructor
            | Semantics::Process => {}
        }
    }

    fn wait_for_nobody(&mut self, slots: &[usize]) {
        for &slot in slots {
            self.waits[slot] = Some(0);
        }
    }

    /// The wait of `slot` if it is released by `release`; not known if that is `None`.
    fn wait_for(&mut self, instance: &Agreed<'_>, slot: usize, release: Option<Latest>) {
        let (enter, leave) = stamps(instance, slot);
        self.waits[slot] = release.map(|release| (release.enter.min(leave) - enter).max(0));
        self.releasers[slot] = release
            .filter(|release| release.slot != slot && release.enter > enter)
            .map(|release| release.slot);
    }

    /// Orders of arrival and departure, all processes being on one host.
    fn measure_orders(&mut self, instance: &Agreed<'_>, granularity_ns: i64) {
        let n = instance.calls.len();
        self.order.clear();
        self.order
            .extend((0..n).map(|slot| (stamps(instance, slot).0, slot)));
        self.order.sort_unstable();
        let (last, before) = (self.order[n - 1], self.order[n - 2]);
        if last.0 - before.0 > granularity_ns {
            self.last = Some(last.1);
            self.excess = last.0 - before.0;
        }
        if self.order[1].0 - self.order[0].0 > granularity_ns {
            self.first = Some(self.order[0].1);
        }
        resolved_positions(&self.order, granularity_ns, &mut self.arrivals);
        for (time, slot) in &mut self.order {
            *time = stamps(instance, *slot).1;
        }
        self.order.sort_unstable();
        if self.order[1].0 - self.order[0].0 > granularity_ns {
            self.first_departure = Some(self.order[0].1);
        }
        resolved_positions(&self.order, granularity_ns, &mut self.departures);
        if self.core.is_some() {
            let leaves = self.order.iter().map(|(leave, _)| leave - last.0);
            self.departures_after_last.extend(leaves);
        }
    }
}

/// Positions whose neighbours are further away than the granularity.
fn resolved_positions(
    order: &[(i64, usize)],
    granularity_ns: i64,
    positions: &mut Vec<(usize, usize)>,
) {
    let is_apart = |a: usize, b: usize| order[b].0 - order[a].0 > granularity_ns;
    for (position, &(_, slot)) in order.iter().enumerate() {
        let is_resolved = (position == 0 || is_apart(position - 1, position))
            && (position + 1 == order.len() || is_apart(position, position + 1));
        if is_resolved {
            positions.push((slot, position));
        }
    }
}

/// Enter and leave of a slot, ns. Complete instances have both.
#[inline]
fn stamps(instance: &Agreed<'_>, slot: usize) -> (i64, i64) {
    match &instance.calls[slot] {
        Some(call) => (
            call.enter.ns(),
            call.leave.map_or(call.enter.ns(), |leave| leave.ns()),
        ),
        None => (0, 0),
    }
}

fn payload(instance: &Agreed<'_>, slot: usize) -> Option<u64> {
    instance.calls[slot].and_then(|call| call.payload)
}

fn latest(instance: &Agreed<'_>, slots: impl Iterator<Item = usize>) -> Option<Latest> {
    slots
        .map(|slot| Latest {
            enter: stamps(instance, slot).0,
            slot,
        })
        .max()
}

/// Whether the operation carries data, so that a payload of zero means nothing to wait for.
fn carries_payload(semantics: Semantics) -> bool {
    matches!(
        semantics,
        Semantics::AllToAll | Semantics::OneToMany | Semantics::ManyToOne | Semantics::Prefix
    )
}

/// On an intercommunicator, whether a process is in the root's group without being the root.
fn is_bystander(instance: &Agreed<'_>, slot: usize) -> bool {
    let members = &instance.communicator.members;
    instance.communicator.kind == CommunicatorKind::Inter
        && instance
            .root
            .is_some_and(|root| root != slot && members[root].group == members[slot].group)
}

/// Whether all wait for all, so that there is a time between the last to come and the first to
/// leave: barrier, N x N and constructors, but not between two groups that wait for each other
/// only, and not where there is nothing to exchange.
fn has_core(instance: &Agreed<'_>) -> bool {
    let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
    match instance.operation.semantics() {
        Semantics::Constructor | Semantics::GroupConstructor => true,
        Semantics::Barrier => !is_inter,
        Semantics::AllToAll => {
            let is_nothing = |call: &Call| call.payload == Some(0);
            !is_inter && !instance.calls.iter().flatten().all(is_nothing)
        }
        _ => false,
    }
}

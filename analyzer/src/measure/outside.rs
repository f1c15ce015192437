//! From one complete instance to its figures: lags, waits, core, orders.
//!
//! The definitions are those of "seen from outside". Where the processes of an instance are on
//! hosts whose clocks have no common time, stamps are compared within each group of hosts that have
//! one: lags, waits and departure waits are those against processes of the same group and so lower
//! bounds; the duration is the longest of any group; core, who was last and who was first are
//! unknown; a wait for processes that are all in other groups is left out.
//!
//! **Who is left out.** A process that contributes and receives nothing waits for nobody, and
//! nobody waits for it. A payload says what a process sends (at the receivers of a bcast or
//! scatter: what they receive), so: in an N x N operation all are left out if all payloads are
//! zero, otherwise none is, since one that sends nothing may well receive; in one to many a
//! receiver of nothing is left out, and everyone if the root sends nothing; in many to one a
//! sender of nothing; in a scan whoever has a payload of zero. Barriers and constructors carry
//! no payload, and leave out nobody. In neighborhood operations nobody waits for one that sends
//! nothing. An unknown payload is not zero.
//!
//! **Where the standard does not say who waits** (collectives on open files, a fence that ends no
//! epoch), waits are not known: lags, orders and who was last are facts all the same.
//!
//! **Nonblocking and persistent operations.** A process arrives when it initiates the operation,
//! and leaves when the completing call returns: so lags, orders and who was last are those of the
//! initiations. It waits only inside the completing call: its wait begins with the enter of that
//! call. Where one call completes several operations each has its share of the wait, as of the
//! call's time; otherwise the wait would count several times. There is no core and no departure
//! wait: when a process leaves depends on when it calls the completing routine.

use collbench_causes::UNCOMPARED;
use collbench_formats::{CommunicatorKind, Semantics};
use collbench_stats::integers::{add_ns, sum_ns};

use crate::communicators::Communicator;
use crate::instances::complete::{CompleteInstance, Extent, Payloads};
use crate::measure::held_up::{HeldUp, Release};
use crate::measure::order::{Apart, NOBODY, Order};
use crate::time::resolution::Resolution;

/// The figures of one instance. Times in ns; lists by slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Last enter minus own enter.
    pub lags: Vec<i64>,
    /// Time waited, or [`Figures::UNKNOWN`]; empty where nobody need wait (Free).
    waits: Vec<i64>,
    /// Whether any wait is not known.
    has_unknown_wait: bool,
    /// Whether each wait is the lag: all wait for the last, and left after it arrived.
    pub waits_are_lags: bool,
    /// For each wait the slot whose enter ended it, or [`NOBODY`].
    releasers: Vec<u32>,
    /// Own leave minus first leave, for N x N; empty for others.
    pub departure_waits: Vec<i64>,
    /// Own leave minus the later of first leave and last enter, not below zero: Scalasca's
    /// completion, by slot, for N x N; empty for others, and where it is the departure wait.
    completions: Vec<i64>,
    /// Leave minus last enter in the order of departure, for N x N on one clock; empty for others.
    pub departures_after_last: Vec<i64>,
    /// First leave minus last enter, for N x N; below zero it is a clock error.
    pub core: Option<i64>,
    /// Last leave minus first enter.
    pub duration: i64,
    /// Slot that arrived last, where it is resolved.
    pub last: Option<usize>,
    /// Last enter minus second last, where there is a `last`.
    pub excess: i64,
    /// Where it is not resolved who arrived last: whether it is likely.
    pub is_last_likely: bool,
    /// Where it is not resolved who left first: whether it is likely.
    pub is_first_departure_likely: bool,
    /// Slot that arrived first, where it is resolved.
    pub first: Option<usize>,
    /// Slot that left first, where it is resolved.
    pub first_departure: Option<usize>,
    /// The slots in the order of arrival, `NOBODY` where it is not resolved whose position it is.
    pub arrivals: Vec<u32>,
    /// The slots in the order of departure, `NOBODY` where it is not resolved whose position it is.
    pub departures: Vec<u32>,
    /// Parts of the waits that were for processes of the own host; empty unless processes on
    /// several hosts have a common time.
    waits_inside: Vec<i64>,
    /// Own leave minus first leave on the own host, for N x N; empty unless processes on several
    /// hosts have a common time.
    pub departures_inside: Vec<i64>,
    /// What of the waits was for others on the way of the data than those that the operation names.
    pub on_the_way: Vec<OnTheWay>,
    /// All slots in the order of arrival, where processes have a common time; empty for a single call.
    arrival: Order,
    departure: Order,
    held_up: HeldUp,
}

/// Why a process waited for one that its operation does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateOnTheWay {
    /// It could not finish sending before that one had entered.
    Receiver,
    /// Data came through that one.
    Sender,
    /// It may have had to wait for a receiver: messages were not recorded.
    AssumedReceiver,
}

/// A part of a wait, or all of it, that is for another process than those that the operation names: one that passes
/// data on, or receives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnTheWay {
    /// Who waited.
    pub slot: usize,
    /// Why for that one.
    pub state: StateOnTheWay,
    /// How much longer than for those that the operation names.
    pub ns: i64,
    /// If it waited until that one entered its completing call: the slot whose initiation it waited for before, as in
    /// [`Figures::releaser`].
    pub after_initiation: Option<Option<usize>>,
}

/// Who passes data on late is compared with others only if it makes this part of the waits of an instance: one in so many.
const MINOR: i64 = 8;

/// Payload from which on a sender may have to wait for its receiver, where no message was recorded: the largest eager message
/// of Open MPI within a host. Between hosts it may be larger.
const MIN_RENDEZVOUS_BYTES: u64 = 4096;

/// Latest enter among some slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Latest {
    enter: i64,
    slot: usize,
}

impl Figures {
    /// Stands for an unknown wait: not a time.
    const UNKNOWN: i64 = i64::MIN;

    /// Empty figures, whose buffers are reused for each instance.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Time that a slot waited; `None` where it is not known, or where nobody need wait.
    #[must_use]
    #[inline]
    pub fn wait(&self, slot: usize) -> Option<i64> {
        let wait = self.waits.get(slot).copied();
        wait.filter(|&wait| wait != Self::UNKNOWN)
    }

    /// The slot whose enter ended the wait of `slot`; `None`: nobody but itself.
    #[must_use]
    #[inline]
    pub fn releaser(&self, slot: usize) -> Option<usize> {
        let releaser = self.releasers[slot];
        (releaser != NOBODY).then_some(releaser as usize)
    }

    /// The slot that all others waited for, where each of these waits is resolved.
    #[must_use]
    pub(crate) fn awaited(&self) -> Option<usize> {
        self.last.filter(|_| self.waits_are_lags)
    }

    /// Gives the known waits, and the slots whose enter ended them, if anybody waited.
    pub(crate) fn hand_over_waits(&self, calls: &mut collbench_causes::Calls) -> bool {
        if !self.waits.iter().any(|&wait| wait > 0) {
            return false;
        }
        calls.waits_ns.clone_from(&self.waits);
        calls.releasers.clone_from(&self.releasers);
        if self.waits_are_lags {
            return true;
        }
        for (wait, after) in self.for_completing() {
            calls.waits_ns[wait.slot] -= wait.ns;
            calls.releasers[wait.slot] = after.map_or(NOBODY, |slot| slot as u32);
        }
        let waits = calls.waits_ns.iter_mut().zip(&mut calls.releasers);
        for (wait, releaser) in waits.filter(|(_, releaser)| **releaser == NOBODY) {
            (*wait, *releaser) = (0, 0);
        }
        true
    }

    /// The waits until others entered their completing calls, and the slot whose initiation the same one waited for before.
    fn for_completing(&self) -> impl Iterator<Item = (&OnTheWay, Option<usize>)> {
        let on_the_way = self.on_the_way.iter();
        on_the_way.filter_map(|wait| Some((wait, wait.after_initiation?)))
    }

    /// What the processes of a nonblocking instance did in their completing calls, after those had initiated it that they waited
    /// for, where any of them waited there for another one to enter its own; removed from what they did in the instance.
    pub(crate) fn hand_over_completion(
        &self,
        calls: &mut collbench_causes::Calls,
    ) -> Option<collbench_causes::Calls> {
        self.for_completing().next()?;
        let mut completion = collbench_causes::Calls::default();
        let n = calls.len();
        for (slot, of) in calls.completions.iter().enumerate() {
            let wait = calls.waits_ns.get(slot).copied().unwrap_or(0).max(0);
            completion.enters_ns.push(of.completion_ns + wait);
        }
        completion.leaves_ns.clone_from(&calls.leaves_ns);
        calls.leaves_ns.clone_from(&completion.enters_ns);
        completion.waits_ns = vec![0; n];
        completion.releasers = vec![0; n];
        for (wait, _) in self.for_completing() {
            completion.waits_ns[wait.slot] = wait.ns;
            completion.releasers[wait.slot] = self.releasers[wait.slot];
        }
        Some(completion)
    }

    /// Leaves out of the comparison who passes data on late, but is waited for in a minor part of all waits: in a tree with many
    /// ranks, each of them is later than some other.
    pub(crate) fn leave_minor_ones(&self, calls: &mut collbench_causes::Calls) {
        let is_for_sender = |wait: &&OnTheWay| wait.state == StateOnTheWay::Sender;
        if !self.on_the_way.iter().any(|wait| is_for_sender(&wait)) {
            return;
        }
        let mut by_releaser = vec![0_i64; self.waits.len()];
        let waits = calls.waits_ns.iter().zip(&calls.releasers);
        for (&wait, &releaser) in waits {
            add_ns(&mut by_releaser[releaser as usize], wait);
        }
        let least = sum_ns(by_releaser.iter().copied()) / MINOR;
        for wait in self.on_the_way.iter().filter(is_for_sender) {
            let releaser = &mut calls.releasers[wait.slot];
            if calls.waits_ns[wait.slot] > 0 && by_releaser[*releaser as usize] < least {
                *releaser = UNCOMPARED;
            }
        }
    }

    /// Whether processes may have waited in it, known or not.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// The waits of all slots, if all are known.
    #[must_use]
    pub fn all_waits(&self) -> Option<&[i64]> {
        (self.has_waits() && !self.has_unknown_wait).then_some(&self.waits)
    }

    /// Scalasca's completion of a slot, where there are departure waits.
    #[must_use]
    pub fn completion(&self, slot: usize) -> i64 {
        match self.completions.get(slot) {
            Some(&completion) => completion,
            None => self.departure_waits[slot],
        }
    }

    /// Whether every completion is the departure wait: nobody left before the last had come.
    #[must_use]
    pub fn completions_are_departure_waits(&self) -> bool {
        self.completions.is_empty()
    }

    /// All enters in their order, and whose each is; empty where not all processes have a common time, and for
    /// a single call.
    #[must_use]
    pub fn enters_in_order(&self) -> (&[i64], &[u32]) {
        (&self.arrival.times, &self.arrival.slots)
    }

    /// Waits that the arrival of `slot` ended, together.
    #[must_use]
    pub fn caused_by(&self, slot: usize) -> i64 {
        let waits = self.waits.iter().zip(&self.releasers);
        let caused = waits.filter(|&(_, &releaser)| releaser as usize == slot);
        // A wait that somebody ended is known. None is longer than 2^61.
        caused.fold(0, |sum: i64, (wait, _)| sum.saturating_add(*wait))
    }

    /// Measures an instance; whatever was here before is replaced.
    pub fn measure(&mut self, instance: &CompleteInstance<'_>, resolution: &Resolution) {
        let n = instance.n_calls();
        self.clear(n);
        let Communicator { hosts, times, .. } = instance.communicator;
        if hosts.len() > times.len() {
            self.measure_inside_hosts(instance, hosts);
        }
        let has_orders = matches!(&times[..], [slots] if slots.len() > 1);
        if has_orders {
            let within = instance.extent.first_enter..=instance.extent.last_enter;
            self.arrival.sort(instance.enters, within);
        }
        for slots in times {
            self.measure_geometry(instance, slots);
            self.measure_waits(instance, slots, times.len());
        }
        // In a damaged trace an intercommunicator may have one group only, which waits for nobody
        // that is known.
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        let may_be_unknown = is_inter
            || matches!(
                instance.semantics(),
                Semantics::Neighborhood | Semantics::Unspecified
            );
        self.has_unknown_wait =
            (times.len() > 1 || may_be_unknown) && self.waits.contains(&Self::UNKNOWN);
        if times.len() == 1 && self.has_waits() && depends_on_the_way(instance) {
            let mut held_up = std::mem::take(&mut self.held_up);
            if let Some(releases) = held_up.releases(instance, &self.waits) {
                self.wait_on_the_way(instance, releases);
            } else if instance.overlaps.is_none()
                && instance.messages.is_none_or(|messages| messages.is_empty())
            {
                self.wait_for_receivers(instance);
            }
            self.held_up = held_up;
        }
        if has_orders {
            self.measure_orders(instance, resolution);
        }
    }

    /// The part of its wait that a slot waited for processes of its own host; `None` where there
    /// is no such split.
    #[must_use]
    #[inline]
    pub fn wait_inside(&self, slot: usize) -> Option<i64> {
        let inside = self.waits_inside.get(slot).copied();
        // Who depends on nobody of its own host waits for other hosts only.
        inside.map(|inside| if inside == Self::UNKNOWN { 0 } else { inside })
    }

    /// Waits and departures as far as they are among processes of one host.
    fn measure_inside_hosts(&mut self, instance: &CompleteInstance<'_>, hosts: &[Vec<usize>]) {
        for slots in hosts {
            self.measure_waits(instance, slots, hosts.len());
        }
        std::mem::swap(&mut self.waits, &mut self.waits_inside);
        self.waits.clear();
        self.releasers.clear();
        if has_core(instance) {
            self.departures_inside.resize(instance.n_calls(), 0);
            for slots in hosts {
                let leaves = || slots.iter().map(|&slot| (slot, instance.leaves[slot].ns()));
                let first = leaves().map(|(_, leave)| leave).min().unwrap_or(0);
                for (slot, leave) in leaves() {
                    self.departures_inside[slot] = leave - first;
                }
            }
        }
    }

    /// What the process in a slot waited; `None`: not known. 0 where nobody need wait.
    #[must_use]
    pub fn wait_of(&self, slot: usize) -> Option<i64> {
        if self.has_waits() {
            self.wait(slot)
        } else {
            Some(0)
        }
    }

    /// The last enter, ns since the start; of the host of the first process where clocks are not
    /// aligned.
    #[must_use]
    pub fn last_enter_ns(&self, instance: &CompleteInstance<'_>) -> i64 {
        let lag = self.lags.first().copied().unwrap_or(0);
        let first = instance.enters.first();
        first.map_or(0, |enter| enter.ns() + lag)
    }

    fn clear(&mut self, n: usize) {
        self.lags.resize(n, 0);
        self.waits.clear();
        self.waits_are_lags = false;
        self.releasers.clear();
        self.departure_waits.clear();
        self.completions.clear();
        self.departures_after_last.clear();
        self.core = None;
        self.duration = 0;
        (self.last, self.first, self.first_departure) = (None, None, None);
        self.excess = 0;
        self.is_last_likely = false;
        self.is_first_departure_likely = false;
        self.arrivals.clear();
        self.departures.clear();
        self.arrival.clear();
        self.waits_inside.clear();
        self.departures_inside.clear();
        self.on_the_way.clear();
    }

    /// What is defined by the stamps alone, for processes that have a common time.
    fn measure_geometry(&mut self, instance: &CompleteInstance<'_>, slots: &[usize]) {
        let n = instance.n_calls();
        let is_alone = slots.len() == n;
        let Extent {
            first_enter,
            last_enter,
            first_leave,
            last_leave,
        } = if is_alone {
            instance.extent
        } else {
            Extent::of(slots.iter().map(|&slot| instance.stamps(slot)))
        };
        self.duration = self.duration.max(last_leave - first_enter);
        let after = first_leave.max(last_enter);
        if is_alone {
            // Every slot, in order: nothing to look up.

            let lags = self.lags.iter_mut().zip(instance.enters);
            lags.for_each(|(lag, enter)| *lag = last_enter - enter.ns());
        } else {
            for &slot in slots {
                self.lags[slot] = last_enter - instance.enters[slot].ns();
            }
        }
        if !has_core(instance) {
            return;
        }
        if is_alone {
            let leaves = instance.leaves.iter().map(|leave| leave.ns());
            let departures = leaves.clone().map(|leave| leave - first_leave);
            self.departure_waits.extend(departures);
            if after > first_leave {
                self.completions
                    .extend(leaves.map(|leave| (leave - after).max(0)));
            }
            self.core = Some(first_leave - last_enter);
            return;
        }
        self.departure_waits.resize(n, 0);
        self.completions.resize(n, 0);
        for &slot in slots {
            let leave = instance.leaves[slot].ns();
            self.departure_waits[slot] = leave - first_leave;
            self.completions[slot] = (leave - after).max(0);
        }
    }

    /// Waits of the processes in some slots, for one another; `n_parts` is how many parts the
    /// communicator is looked at in.
    fn measure_waits(&mut self, instance: &CompleteInstance<'_>, slots: &[usize], n_parts: usize) {
        let semantics = instance.semantics();
        if semantics.waits_for_nobody() {
            return;
        }
        let n = instance.n_calls();
        self.waits.resize(n, Self::UNKNOWN);
        self.releasers.resize(n, NOBODY);
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        let all_zero = carries_payload(semantics) && instance.payloads.are_zero();
        match semantics {
            _ if all_zero => self.wait_for_nobody(slots),
            Semantics::Barrier | Semantics::AllToAll if is_inter => {
                self.groups_wait_for_each_other(instance, slots);
            }
            Semantics::Barrier
            | Semantics::AllToAll
            | Semantics::Constructor
            | Semantics::GroupConstructor => self.all_wait_for_all(instance, slots, n_parts),
            Semantics::OneToMany => self.all_wait_for_root(instance, slots),
            Semantics::ManyToOne => self.root_waits(instance, slots),
            Semantics::Prefix => self.higher_wait_for_lower(instance, slots),
            Semantics::Neighborhood => self.measure_neighborhood(instance, slots),
            // Alone, a process has nobody to wait for; else it is not known whether it did.
            Semantics::Unspecified if n == 1 => self.wait_for_nobody(slots),
            Semantics::Unspecified => {}
            Semantics::Free | Semantics::NonblockingConstructor | Semantics::Process => {}
        }
    }

    /// Of two groups each waits for the other one.
    fn groups_wait_for_each_other(&mut self, instance: &CompleteInstance<'_>, slots: &[usize]) {
        for group in [0, 1] {
            let is_in = |slot: &usize| instance.communicator.members[*slot].group == group;
            let remote = slots.iter().copied().filter(|slot| !is_in(slot));
            let release = latest(instance, remote);
            for &slot in slots.iter().filter(|slot| is_in(slot)) {
                self.wait_for(instance, slot, release);
            }
        }
    }

    /// N x N: each waits for the last.
    fn all_wait_for_all(
        &mut self,
        instance: &CompleteInstance<'_>,
        slots: &[usize],
        n_parts: usize,
    ) {
        // Alone in its part, a process has nobody to be compared with.
        let has_all = slots.len() == instance.n_calls();
        let latest_of = |slot| Latest {
            enter: instance.extent.last_enter,
            slot,
        };
        let release = match slots.len() {
            1 if n_parts > 1 => None,
            2.. if has_all && n_parts == 1 => self.arrival.last_ones().next().map(latest_of),
            _ => latest(instance, slots.iter().copied()),
        };
        match release.filter(|_| has_all && instance.overlaps.is_none()) {
            Some(release) if self.core.is_some_and(|core| core >= 0) => {
                self.waits_are_lags = true;
                self.waits.clone_from(&self.lags);
                self.releasers.fill(release.slot as u32);
                self.releasers[release.slot] = NOBODY;
                let last = self.arrival.last_ones();
                last.for_each(|slot| self.releasers[slot] = NOBODY);
            }
            Some(release) => self.all_wait_for(instance, release),
            None => {
                for &slot in slots {
                    self.wait_for(instance, slot, release);
                }
            }
        }
    }

    /// One to many: the others wait for the root.
    fn all_wait_for_root(&mut self, instance: &CompleteInstance<'_>, slots: &[usize]) {
        let Some(root) = instance.root else { return };
        if sends_nothing(instance, root) {
            self.wait_for_nobody(slots);
            return;
        }
        let release = slots
            .contains(&root)
            .then(|| latest(instance, [root].into_iter()))
            .flatten();
        // The root does not wait for itself.
        let has_all = slots.len() == instance.n_calls() && instance.overlaps.is_none();
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        let takes_all = !is_inter && has_all && instance.payloads.is_same();
        if let (true, Some(release)) = (takes_all, release) {
            self.all_wait_for(instance, release);
            return;
        }
        for &slot in slots {
            if slot == root || sends_nothing(instance, slot) || is_bystander(instance, slot) {
                self.waits[slot] = 0
            } else {
                self.wait_for(instance, slot, release)
            }
        }
    }

    /// Many to one: the root waits for the last of those who contribute.
    fn root_waits(&mut self, instance: &CompleteInstance<'_>, slots: &[usize]) {
        let Some(root) = instance.root else { return };
        self.wait_for_nobody(slots);
        let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
        if !is_inter && slots.len() == instance.n_calls() && instance.payloads.is_same() {
            // All others contribute. If none of them arrived last, the root did, and did not wait.
            let enter = instance.extent.last_enter;
            let last = self.arrival.last_ones().find(|&slot| slot != root);
            if let Some(slot) = last {
                self.wait_for(instance, root, Some(Latest { enter, slot }));
            }
        } else if slots.contains(&root) {
            let contributes = |slot: &usize| {
                *slot != root && !sends_nothing(instance, *slot) && !is_bystander(instance, *slot)
            };
            let depends = (0..instance.n_calls()).any(|slot| contributes(&slot));
            let here = slots.iter().copied().filter(contributes);
            let release = latest(instance, here);
            if depends {
                self.wait_for(instance, root, release);
            }
        }
    }

    /// A scan: each waits for the last of the lower ranks.
    fn higher_wait_for_lower(&mut self, instance: &CompleteInstance<'_>, slots: &[usize]) {
        // Slots ascend by rank, so the lower ranks of this part come before.
        let mut lower: Option<Latest> = None;
        let mut all = 0..instance.n_calls();
        let first_contributor = all.find(|&slot| !sends_nothing(instance, slot));
        for &slot in slots {
            let depends = first_contributor.is_some_and(|first| first < slot);
            let is_nothing = sends_nothing(instance, slot);
            if is_nothing || !depends {
                self.waits[slot] = 0
            } else {
                self.wait_for(instance, slot, lower)
            }
            if !is_nothing {
                lower = lower.max(latest(instance, [slot].into_iter()));
            }
        }
    }

    /// Each waits for those it receives from, as far as they send anything; without a topology
    /// nobody knows for whom.
    fn measure_neighborhood(&mut self, instance: &CompleteInstance<'_>, slots: &[usize]) {
        for &slot in slots {
            let Some(sources) = instance.communicator.in_neighbours(slot) else {
                self.waits[slot] = Self::UNKNOWN;
                continue;
            };
            let sends =
                |source: &usize| *source != slot && instance.payloads.of(*source) != Some(0);
            let depends = || sources.iter().map(|&source| source as usize).filter(sends);
            if depends().next().is_none() {
                self.waits[slot] = 0;
                continue;
            }
            // Slots ascend.
            let here = depends().filter(|source| slots.binary_search(source).is_ok());
            self.wait_for(instance, slot, latest(instance, here));
        }
    }

    /// Waits for those that data came from, or could not be sent to before they had entered, as messages tell.
    fn wait_on_the_way(&mut self, instance: &CompleteInstance<'_>, releases: &[Release]) {
        for (slot, release) in releases.iter().enumerate() {
            let (_, leave) = instance.stamps(slot);
            let (from, _) = instance.waits_from(slot);
            let wait = (release.enter.min(leave) - from).max(0);
            let known = self.waits[slot];
            if known == Self::UNKNOWN || wait <= known {
                continue;
            }
            let before = self.releaser(slot).filter(|_| known > 0);
            self.on_the_way.push(OnTheWay {
                slot,
                ns: wait - known,
                after_initiation: release.is_completing.then_some(before),
                state: if release.is_receiver {
                    StateOnTheWay::Receiver
                } else {
                    StateOnTheWay::Sender
                },
            });
            self.wait_longer(instance, slot, wait, release.slot);
        }
    }

    /// Where no messages tell: waits of senders for receivers, where payloads are large enough for a rendezvous, and where
    /// they left only after the receiver had entered.
    fn wait_for_receivers(&mut self, instance: &CompleteInstance<'_>) {
        let Some(root) = instance.root else { return };
        if matches!(instance.payloads, Payloads::Same(Some(bytes)) if bytes < MIN_RENDEZVOUS_BYTES)
        {
            return;
        }
        let may_wait = |slot: usize| {
            let bytes = instance.payloads.of(slot);
            bytes.is_some_and(|bytes| bytes >= MIN_RENDEZVOUS_BYTES)
                && !is_bystander(instance, slot)
        };
        let n = instance.n_calls();
        match instance.semantics() {
            Semantics::ManyToOne => {
                let release = instance.enters[root].ns();
                for slot in (0..n).filter(|&slot| slot != root && may_wait(slot)) {
                    self.may_wait_for_receiver(instance, slot, release, root);
                }
            }
            Semantics::OneToMany => {
                let receivers = (0..n).filter(|&slot| slot != root && may_wait(slot));
                let leave = instance.leaves[root].ns();
                let before = receivers.filter(|&slot| instance.enters[slot].ns() <= leave);
                if let Some(last) = latest(instance, before) {
                    self.may_wait_for_receiver(instance, root, last.enter, last.slot);
                }
            }
            _ => {}
        }
    }

    fn may_wait_for_receiver(
        &mut self,
        instance: &CompleteInstance<'_>,
        slot: usize,
        release: i64,
        receiver: usize,
    ) {
        let (enter, leave) = instance.stamps(slot);
        let (wait, known) = (release - enter, self.waits[slot]);
        if release <= leave && known != Self::UNKNOWN && wait > known {
            self.on_the_way.push(OnTheWay {
                slot,
                state: StateOnTheWay::AssumedReceiver,
                ns: wait - known,
                after_initiation: None,
            });
            self.wait_longer(instance, slot, wait, receiver);
        }
    }

    /// A wait that is longer than the operation alone tells, for the process in another slot.
    fn wait_longer(
        &mut self,
        instance: &CompleteInstance<'_>,
        slot: usize,
        wait: i64,
        releaser: usize,
    ) {
        self.waits[slot] = wait;
        self.releasers[slot] = releaser as u32;
        let members = &instance.communicator.members;
        if let Some(inside) = self.waits_inside.get_mut(slot)
            && members[slot].host == members[releaser].host
        {
            *inside = wait;
        }
    }

    fn wait_for_nobody(&mut self, slots: &[usize]) {
        for &slot in slots {
            self.waits[slot] = 0;
        }
    }

    /// The wait of `slot` if it is released by `release`; not known if that is `None`.
    #[inline]
    fn wait_for(&mut self, instance: &CompleteInstance<'_>, slot: usize, release: Option<Latest>) {
        let Some(release) = release else {
            self.waits[slot] = Self::UNKNOWN;
            return;
        };
        let (_, leave) = instance.stamps(slot);
        let (from, n_together) = instance.waits_from(slot);
        self.waits[slot] = (release.enter.min(leave) - from).max(0) / n_together;
        if release.slot != slot && release.enter > from {
            self.releasers[slot] = release.slot as u32;
        }
    }

    /// The waits of all slots, of which one releases all.
    fn all_wait_for(&mut self, instance: &CompleteInstance<'_>, release: Latest) {
        let own = self.waits.iter_mut().zip(&mut self.releasers);
        let stamps = instance.enters.iter().zip(instance.leaves);
        for ((wait, releaser), (enter, leave)) in own.zip(stamps) {
            *wait = (release.enter.min(leave.ns()) - enter.ns()).max(0);
            *releaser = if release.enter > enter.ns() {
                release.slot as u32
            } else {
                NOBODY
            };
        }
    }

    /// The order of departure, all processes having a common time, and which positions in it and in that of arrival are
    /// resolved.
    fn measure_orders(&mut self, instance: &CompleteInstance<'_>, resolution: &Resolution) {
        let n = instance.n_calls();
        let extent = &instance.extent;
        let apart = Apart::of(instance.communicator, resolution);
        let known = |slot: u32| (slot != NOBODY).then_some(slot as usize);
        let order = &self.arrival;
        apart.resolved(order, &mut self.arrivals);
        self.last = known(self.arrivals[n - 1]);
        match self.last {
            Some(_) => self.excess = order.times[n - 1] - order.times[n - 2],
            None => self.is_last_likely = apart.is_likely(order, n - 1),
        }
        self.first = known(self.arrivals[0]);
        let within = extent.first_leave..=extent.last_leave;
        self.departure.sort(instance.leaves, within);
        let order = &self.departure;
        apart.resolved(order, &mut self.departures);
        self.first_departure = known(self.departures[0]);
        if self.first_departure.is_none() {
            self.is_first_departure_likely = apart.is_likely(order, 0);
        }
        if self.core.is_some() {
            let leaves = order.times.iter().map(|leave| leave - extent.last_enter);
            self.departures_after_last.extend(leaves);
        }
    }
}

/// Whether processes may depend on others than those that the semantics of their operation name: on who passes data on, and on
/// who receives them; or, if it is nonblocking, on who completes it later than others.
fn depends_on_the_way(instance: &CompleteInstance<'_>) -> bool {
    let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
    match instance.semantics() {
        Semantics::OneToMany
        | Semantics::ManyToOne
        | Semantics::Prefix
        | Semantics::Neighborhood => true,
        Semantics::Barrier | Semantics::AllToAll => is_inter || instance.overlaps.is_some(),
        _ => false,
    }
}

/// Whether the payload of a slot is known to be nothing.
fn sends_nothing(instance: &CompleteInstance<'_>, slot: usize) -> bool {
    instance.payloads.of(slot) == Some(0)
}

fn latest(instance: &CompleteInstance<'_>, slots: impl Iterator<Item = usize>) -> Option<Latest> {
    slots
        .map(|slot| Latest {
            enter: instance.enters[slot].ns(),
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
fn is_bystander(instance: &CompleteInstance<'_>, slot: usize) -> bool {
    let members = &instance.communicator.members;
    instance.communicator.kind == CommunicatorKind::Inter
        && instance
            .root
            .is_some_and(|root| root != slot && members[root].group == members[slot].group)
}

/// Whether all wait for all, so that there is a core between the last enter and the first leave:
/// barrier, N x N and constructors, but not between two groups that wait for each other only, not
/// where there is nothing to exchange, and not for nonblocking calls, which a process leaves when
/// it asks, not when it could.
pub(crate) fn has_core(instance: &CompleteInstance<'_>) -> bool {
    if instance.overlaps.is_some() {
        return false;
    }
    let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
    match instance.semantics() {
        Semantics::Constructor | Semantics::GroupConstructor => true,
        Semantics::Barrier => !is_inter,
        Semantics::AllToAll => !is_inter && !instance.payloads.are_zero(),
        _ => false,
    }
}

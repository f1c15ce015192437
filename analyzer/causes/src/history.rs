//! When processes were last inside of one instance together, over all communicators.

use std::sync::Arc;

use crate::ahead::Held;
use crate::instance::{Calls, Dependence, Instance, UNCOMPARED};
use crate::synchronizations::{Partial, Since, Synchronizations};

/// Communicators of a process in which the last instance that it shares with another is looked for.
const MOST_RECENT: usize = 64;

/// What is retained of the earlier instances of a run.
#[derive(Debug, Clone)]
pub(crate) struct History {
    communicators: Vec<Synchronizations>,
    /// By process: the communicators on which it was last, and its slots.
    recent: Vec<Vec<(u32, u32)>>,
    /// The communicator of the last instance: its members were there last.
    last: Option<u32>,
    /// How often the next instance was on another communicator than the one before.
    n_changes: u64,
    /// Slots of an instance whose processes were together later than all members.
    later: Vec<usize>,
    /// When `MPI_Init` returned for the first time to any process, ns; `None` where that is not known.
    origin_ns: Option<i64>,
    /// By process whether it is known when `MPI_Init` returned to it.
    has_begun: Vec<bool>,
}

/// Since when those who waited for a process are compared with it.
#[derive(Debug, Default)]
pub(crate) struct Sinces {
    /// The instants since which some are, ns, and the slots of these, ascending; behind them what is used again.
    instants: Vec<(i64, Vec<u32>)>,
    n_instants: usize,
    /// The last one that was looked up.
    last: usize,
    /// Slots of which the waits are not compared, and why not.
    pub(crate) others: Vec<(usize, Since)>,
    /// The slots of all that waited; a buffer.
    waited: Vec<u32>,
}

impl Sinces {
    fn clear(&mut self) {
        self.n_instants = 0;
        self.others.clear();
    }

    #[inline]
    fn push(&mut self, slot: usize, since: Since) {
        match since {
            Since::Instant(from_ns) => self.since(from_ns).push(slot as u32),
            _ => self.others.push((slot, since)),
        }
    }

    /// Adds slots that are compared since an instant, ns, if there are any.
    #[inline]
    fn extend(&mut self, from_ns: i64, slots: &[u32]) {
        if !slots.is_empty() {
            self.since(from_ns).extend_from_slice(slots);
        }
    }

    /// The slots whose processes waited for the one in the slot `on`, ascending; those may be all others.
    fn find_waited(&mut self, calls: &Calls, on: usize, are_all_others: bool) -> Vec<u32> {
        let mut waited = std::mem::take(&mut self.waited);
        if are_all_others {
            waited.clear();
            waited.extend(0..on as u32);
            waited.extend(on as u32 + 1..calls.len() as u32);
            return waited;
        }
        // Each is written behind the last one that waited, over which the next one is written if it did not.
        waited.resize(calls.len(), 0);
        let mut n = 0;
        let waits = calls.waits_ns.iter().zip(&calls.releasers);
        for (slot, (&ns, &on_slot)) in (0..).zip(waits) {
            waited[n] = slot;
            n += usize::from((ns > 0) & (on_slot as usize == on));
        }
        waited.truncate(n);
        waited
    }

    /// The slots that are compared since an instant, ns, so far.
    #[inline]
    fn since(&mut self, from_ns: i64) -> &mut Vec<u32> {
        // Mostly it is that of the one before.
        if self.last >= self.n_instants || self.instants[self.last].0 != from_ns {
            self.last = self.place(from_ns);
        }
        &mut self.instants[self.last].1
    }

    /// Where the slots are that are compared since an instant, ns.
    fn place(&mut self, from_ns: i64) -> usize {
        let mut known = self.instants[..self.n_instants].iter();
        let at = known.position(|(other_ns, _)| *other_ns == from_ns);
        at.unwrap_or_else(|| {
            self.n_instants += 1;
            if self.instants.len() < self.n_instants {
                self.instants.push((from_ns, Vec::new()));
            }
            let (new_ns, slots) = &mut self.instants[self.n_instants - 1];
            *new_ns = from_ns;
            slots.clear();
            self.n_instants - 1
        })
    }

    /// The instants since which some are compared, ns, and the slots of these.
    pub(crate) fn instants(&self) -> impl Iterator<Item = (i64, &[u32])> {
        let instants = self.instants[..self.n_instants].iter();
        instants.map(|(from_ns, slots)| (*from_ns, &slots[..]))
    }

    /// How many instants these are.
    pub(crate) fn n_instants(&self) -> usize {
        self.n_instants
    }

    /// Whether the one in a slot, which waited, is compared since an instant.
    #[inline]
    pub(crate) fn is_since(&self, slot: usize, from_ns: i64) -> bool {
        let mut instants = self.instants();
        let of_instant = instants.find(|(other_ns, _)| *other_ns == from_ns);
        of_instant.is_some_and(|(_, slots)| {
            slots.len() == self.n_waited() || slots.binary_search(&(slot as u32)).is_ok()
        })
    }

    /// How many waited.
    pub(crate) fn n_waited(&self) -> usize {
        let compared = self.instants().map(|(_, slots)| slots.len());
        compared.sum::<usize>() + self.others.len()
    }

    /// Whether all waits are longer than the error of the clocks.
    pub(crate) fn are_resolved(&self) -> bool {
        self.others
            .iter()
            .all(|&(_, since)| since != Since::Unresolved)
    }
}

/// Since when the members of an instance are compared with one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Common {
    /// Since this instant, ns, but for some of them, and as far as they entered later.
    Instant(i64),
    /// Each since another one.
    No,
}

impl History {
    /// Of so many processes, before the first instance.
    pub(crate) fn new(n_processes: usize) -> Self {
        Self {
            communicators: Vec::new(),
            recent: vec![Vec::new(); n_processes],
            last: None,
            n_changes: 0,
            later: Vec::new(),
            origin_ns: None,
            has_begun: vec![false; n_processes],
        }
    }

    /// Notes when `MPI_Init` returned to processes, ns; gives when it did so for the first time to any, where that is known.
    pub(crate) fn begin(&mut self, begins: &[(u32, i64)]) -> Option<i64> {
        let first_ns = begins.iter().map(|&(_, ns)| ns).min();
        self.origin_ns = self.origin_ns.or(first_ns);
        for &(process, _) in begins {
            self.has_begun[process as usize] = true;
        }
        self.origin_ns
    }

    /// When `MPI_Init` returned for the first time to any process, ns: since then those are compared that were inside of
    /// no instance together before.
    pub(crate) fn origin_ns(&self) -> Option<i64> {
        self.origin_ns
    }

    /// Remembers when the members of an instance, whose last entered at a time, were inside together.
    #[inline(never)]
    pub(crate) fn note(&mut self, instance: &Instance, last_ns: i64) {
        let number = instance.communicator as usize;
        if self.communicators.len() <= number {
            self.communicators
                .resize_with(number + 1, Synchronizations::default);
        }
        let synchronizations = &mut self.communicators[number];
        if synchronizations.members.is_empty() {
            synchronizations.members = Arc::clone(&instance.members);
        }
        let calls = &instance.calls;
        let stamps = || calls.enters_ns.iter().zip(&calls.leaves_ns);
        // Of a nonblocking one, those are inside together that complete it at once.
        let inside: Vec<(i64, i64)> = match (instance.dependence, calls.are_blocking()) {
            (Dependence::All, true) => Vec::new(),
            (_, true) => stamps().map(|(&enter, &leave)| (enter, leave)).collect(),
            (_, false) => (calls.completions.iter().zip(&calls.leaves_ns))
                .map(|(of, &leave)| (of.completion_ns, leave))
                .collect(),
        };
        let (is_of_all, last_ns) = if calls.are_blocking() {
            (instance.dependence == Dependence::All, last_ns)
        } else {
            let last_ns = inside
                .iter()
                .map(|(enter, _)| *enter)
                .max()
                .unwrap_or(last_ns);
            let is_inside = |(_, leave): &(i64, i64)| *leave >= last_ns;
            let are_together = inside.iter().all(is_inside);
            (
                instance.dependence == Dependence::All && are_together,
                last_ns,
            )
        };
        if is_of_all {
            synchronizations.note_common(last_ns);
        } else {
            let root = match instance.dependence {
                Dependence::Root(root) => Some(root),
                _ => None,
            };
            let waits = (0..).zip(calls.waits_ns.iter().zip(&calls.releasers));
            let others = waits.filter_map(|(slot, (&ns, &on))| {
                let is_other = ns > 0
                    && on != UNCOMPARED
                    && (!calls.are_blocking()
                        || root.is_some_and(|root| root != slot && root != on));
                is_other.then_some((slot, on))
            });
            let mut partial = Partial {
                position: instance.position,
                root,
                others: others.collect(),
                last_ns,
                inside,
                initiated_ns: Vec::new(),
                enters_ns: Vec::new(),
            };
            if !calls.are_blocking() {
                let initiated_ns = calls.completions.iter().map(|of| of.initiated_ns);
                partial.initiated_ns = initiated_ns.collect();
                partial.enters_ns.clone_from(&calls.enters_ns);
            }
            synchronizations.note_partial(partial);
        }
        if self.last.replace(instance.communicator) == Some(instance.communicator) {
            return;
        }
        self.n_changes += 1;
        let synchronizations = &mut self.communicators[number];
        synchronizations.last_change = self.n_changes;
        if !std::mem::replace(&mut synchronizations.is_recent_to_all, true) {
            for (slot, &member) in (0..).zip(instance.members.iter()) {
                self.was_on(member, instance.communicator, slot);
            }
        }
    }

    /// Whether the last instance was on a communicator.
    #[inline]
    pub(crate) fn is_last(&self, communicator: u32) -> bool {
        self.last == Some(communicator)
    }

    /// Remembers that a process was on a communicator; of too many it forgets the one that was used longest ago.
    fn was_on(&mut self, process: u32, communicator: u32, slot: u32) {
        let recent = &mut self.recent[process as usize];
        if recent.iter().any(|&(other, _)| other == communicator) {
            return;
        }
        if recent.len() == MOST_RECENT {
            let last_change = |&at: &usize| self.communicators[recent[at].0 as usize].last_change;
            if let Some(oldest) = (0..MOST_RECENT).min_by_key(last_change) {
                let (forgotten, _) = recent.swap_remove(oldest);
                self.communicators[forgotten as usize].is_recent_to_all = false;
            }
        }
        recent.push((communicator, slot));
    }

    /// Instants from which a process may be compared with others, ns, ascending.
    pub(crate) fn instants(&self, process: u32) -> Vec<i64> {
        let mut instants = Vec::new();
        for &(communicator, slot) in &self.recent[process as usize] {
            let synchronizations = &self.communicators[communicator as usize];
            instants.extend(synchronizations.instants(slot as usize));
        }
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// Finds the slots whose processes waited for the one in the slot `on`, and since when each is compared with it.
    #[inline(never)]
    pub(crate) fn since_of_waits(&mut self, held: &Held, on: usize, sinces: &mut Sinces) {
        let Held {
            instance,
            enters_ns: [first_ns, _],
            awaited,
            ..
        } = held;
        let calls = &instance.calls;
        sinces.clear();
        let mut later = std::mem::take(&mut self.later);
        later.clear();
        let common = self.common(instance, on, &mut later);
        later.sort_unstable();
        let waited = sinces.find_waited(calls, on, *awaited == Some(on as u32));
        match common {
            Common::Instant(at_ns) if calls.is_resolved.is_empty() && at_ns <= *first_ns => {
                let mut rest = &waited[..];
                for &slot in &later {
                    let n_before = rest.partition_point(|&other| (other as usize) < slot);
                    let (before, from) = rest.split_at(n_before);
                    sinces.extend(at_ns, before);
                    rest = match from {
                        [first, behind @ ..] if *first as usize == slot => {
                            sinces.push(slot, self.since(instance, [slot, on]));
                            behind
                        }
                        _ => from,
                    };
                }
                sinces.extend(at_ns, rest);
            }
            _ => {
                let on_enter_ns = calls.enters_ns[on];
                for slot in waited.iter().map(|&slot| slot as usize) {
                    let is_resolved = calls.is_resolved.get(slot).copied().unwrap_or(true);
                    let since = match common {
                        _ if !is_resolved => Since::Unresolved,
                        Common::Instant(at_ns)
                            if at_ns <= calls.enters_ns[slot].min(on_enter_ns)
                                && later.binary_search(&slot).is_err() =>
                        {
                            Since::Instant(at_ns)
                        }
                        _ => self.since(instance, [slot, on]),
                    };
                    sinces.push(slot, since);
                }
            }
        }
        sinces.waited = waited;
        self.later = later;
    }

    /// When all members of an instance, one of them in the slot `on`, were last inside of one that all of them depended on, no
    /// later than a time, ns.
    pub(crate) fn shared_ns(&self, instance: &Instance, on: usize, limit_ns: i64) -> Option<i64> {
        let recent = self.recent[instance.members[on] as usize].iter();
        let common = recent.filter_map(|&(communicator, _)| {
            let synchronizations = &self.communicators[communicator as usize];
            self.has_all(communicator, instance)
                .then(|| synchronizations.last_common_before(limit_ns))
                .flatten()
        });
        common.max()
    }

    /// Whether in the instance before on the same communicator, later than a time, ns, only some members depended on others.
    pub(crate) fn is_partial_since(&self, instance: &Instance, shared_ns: i64) -> bool {
        let previous = self.previous_partial(instance);
        previous.is_some_and(|previous| previous.last_ns > shared_ns)
    }

    /// Since when the last of an instance, in the slot `on`, is compared with another member.
    pub(crate) fn since_of_last(&self, instance: &Instance, on: usize) -> Since {
        self.since(instance, [usize::from(on == 0), on])
    }

    /// The instance before on the same communicator, if only some depended on each other in that and it is retained.
    pub(crate) fn previous_partial(&self, instance: &Instance) -> Option<&Partial> {
        let synchronizations = self.communicators.get(instance.communicator as usize)?;
        synchronizations.partial_at(instance.position.checked_sub(1)?)
    }

    /// The instance before on the same communicator in which the process in a slot was at an instant, ns, if only some depended
    /// on each other in that and it is retained.
    pub(crate) fn partial_at(
        &self,
        instance: &Instance,
        on: usize,
        at_ns: i64,
    ) -> Option<&Partial> {
        let synchronizations = self.communicators.get(instance.communicator as usize)?;
        synchronizations.partial_of(instance.position, on, at_ns)
    }

    /// Whether all members of an instance are on a communicator, as far as that is known without looking at
    /// each of them.
    fn has_all(&self, communicator: u32, instance: &Instance) -> bool {
        let members = &self.communicators[communicator as usize].members;
        communicator == instance.communicator || members.len() == self.recent.len()
    }

    /// Since when the members of an instance are compared with the one in the slot `on`. Those in the slots
    /// `later` may have been together with it later than that.
    fn common(&self, instance: &Instance, on: usize, later: &mut Vec<usize>) -> Common {
        let process = instance.members[on];
        let recent = &self.recent[process as usize];
        let of_all = recent
            .iter()
            .filter(|(communicator, _)| self.has_all(*communicator, instance));
        let instant = of_all
            .filter_map(|&(communicator, _)| {
                self.communicators[communicator as usize].last_common_ns()
            })
            .max();
        let Some(at_ns) = instant else {
            return Common::No;
        };
        for &(communicator, _) in recent {
            let synchronizations = &self.communicators[communicator as usize];
            if synchronizations.latest_ns <= at_ns {
                continue;
            }
            let members = &synchronizations.members;
            if !self.has_all(communicator, instance) {
                let slots = members.iter();
                later.extend(slots.filter_map(|&member| instance.slot_of(member)));
                continue;
            }
            let is_same = communicator == instance.communicator;
            for partial in synchronizations.partial_after(at_ns) {
                if is_same && partial.position == instance.position {
                    continue;
                }
                match partial.root.map(|root| members[root as usize]) {
                    Some(root) if root != process => later.extend(instance.slot_of(root)),
                    _ => return Common::No,
                }
                for &(waited, on) in &partial.others {
                    let [waited, on] = [waited, on].map(|slot| members[slot as usize]);
                    if waited == process {
                        later.extend(instance.slot_of(on));
                    } else if on == process {
                        later.extend(instance.slot_of(waited));
                    }
                }
            }
        }
        Common::Instant(at_ns)
    }

    /// Since when the processes in two slots of an instance are compared.
    fn since(&self, instance: &Instance, slots: [usize; 2]) -> Since {
        let [a, b] = slots.map(|slot| instance.calls.enters_ns[slot]);
        let limit_ns = a.min(b);
        let [process, last] = slots.map(|slot| instance.members[slot] as usize);
        let recent = &self.recent[process];
        let mut since = Since::Startup;
        // Most small communicators are made late, and were used last.
        for &(communicator, slot_of_last) in self.recent[last].iter().rev() {
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
        if since == Since::Startup
            && let Some(origin_ns) = self.origin_ns
            && origin_ns <= limit_ns
            && self.has_begun[process]
            && self.has_begun[last]
        {
            return Since::Instant(origin_ns);
        }
        since
    }
}

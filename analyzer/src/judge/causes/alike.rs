//! Several ranks that are late alike, or late together: none of them stands out, but together they do.

use std::collections::BTreeMap;

use collbench_causes::{Excess, Part};

use crate::judge::causes::groups::{Group, LateOnce, group_above};
use crate::judge::causes::late::{AllLate, Late};
use crate::judge::causes::stands_out::own_and_others;
use crate::judge::causes::{Finder, add_costs};
use crate::results::causes::{CauseKind, FoundCause, LateBy};
use crate::results::course::CourseKind;
use crate::results::operation_costs::CausePlace;
use crate::results::over_time::Culprit;
use crate::sums::instances::operation_key::OperationKey;

/// From how many standard errors of their means on ranks are apart from the others.
const APART: f64 = 6.0;
/// Ranks that are a group, at least.
const MIN_ALIKE: usize = 2;
/// Two ranks differ by this part, at most, of what they do more than the others: one in so many.
const TWO_ALIKE: f64 = 4.0;

/// The members of a communicator that are late alike to an operation.
struct Alike {
    processes: Vec<u32>,
    /// Number of the communicator.
    communicator: u32,
    /// How much more than the others they do in an instance, ns.
    more_ns: f64,
}

impl Finder<'_, '_> {
    /// The groups of ranks that stand out, where no one of them does; `are_apart`: only those of several hosts.
    pub(super) fn late_groups(
        &self,
        late: &mut BTreeMap<u32, Late>,
        all: &AllLate,
        are_apart: bool,
    ) -> Vec<FoundCause> {
        let mut by_operation: BTreeMap<u64, i64> = BTreeMap::new();
        for (operation, cost) in late.values().flat_map(|of| &of.operations) {
            let sum_ns = by_operation.entry(*operation).or_default();
            *sum_ns = sum_ns.saturating_add(cost.direct_ns);
        }
        let mut operations: Vec<(i64, u64)> =
            by_operation.into_iter().map(|(of, ns)| (ns, of)).collect();
        operations.sort_unstable_by(|a, b| b.cmp(a));
        let found = |operation: u64| self.alike(operation, all);
        let groups = operations.iter().filter_map(|&(_, operation)| {
            let alike = found(operation)?;
            // Some of those who are late alike may not be members.
            let larger = operations.iter().filter_map(|&(_, other)| found(other));
            let larger = larger.filter(|other| {
                let has_all = alike
                    .processes
                    .iter()
                    .all(|of| other.processes.contains(of));
                has_all && other.processes.len() > alike.processes.len()
            });
            let alike = larger
                .max_by_key(|other| other.processes.len())
                .unwrap_or(alike);
            // What one does between its polls is not known.
            let mut ranks = alike.processes.iter().map(|&process| self.rank(process));
            if ranks.any(|rank| self.is_polling(&[rank])) {
                return None;
            }
            let first = self.host(*alike.processes.first()?);
            let is_elsewhere = |&process: &u32| self.host(process) != first;
            if are_apart && !alike.processes.iter().any(is_elsewhere) {
                return None;
            }
            let mut of = Late::default();
            let members = || {
                alike
                    .processes
                    .iter()
                    .filter_map(|process| late.get(process))
            };
            members().for_each(|one| of.merge(one));
            if !self.stands_out(&alike.processes, &of, all) {
                return None;
            }
            alike.processes.iter().for_each(|process| {
                late.remove(process);
            });
            let of = self.as_named(&alike.processes, of, all);
            Some(self.group(&alike, &of))
        });
        groups.collect()
    }

    /// The ranks that are late together at regular intervals, each by its own work.
    pub(super) fn late_together(
        &self,
        late: &mut BTreeMap<u32, Late>,
        all: &AllLate,
    ) -> Vec<FoundCause> {
        let disturbances = self.findings.disturbances.iter();
        let groups = disturbances.filter_map(|disturbance| {
            let culprit = disturbance.late.as_ref()?;
            let Culprit::Ranks(ranks) = culprit else {
                return None;
            };
            let is_of = |process: &u32| ranks.binary_search(&self.rank(*process)).is_ok();
            let processes: Vec<u32> = (0..self.inputs.run.processes.len() as u32)
                .filter(is_of)
                .collect();
            let mut of = Late::default();
            let members = processes.iter().filter_map(|process| late.get(process));
            members.for_each(|one| of.merge(one));
            let are_alike = of.is_by_own_work() && self.work_alike(&processes, &of);
            if !are_alike || !self.stands_out(&processes, &of, all) {
                return None;
            }
            processes.iter().for_each(|process| {
                late.remove(process);
            });
            let late = self.late(
                CauseKind::Imbalance,
                CausePlace::Communicator(None),
                &of,
                ranks,
            );
            let cost = of.cost();
            let others = (self.inputs.run.processes.len() - processes.len()).max(1);
            Some(FoundCause {
                place: Some(CausePlace::Communicator(late.communicator)),
                ranks: ranks.clone(),
                run_shorter_ns: Some(self.at_ends_ns(&of).min(cost.ns() / others as i64)),
                course: self.course(&of, culprit),
                ..late
            })
        });
        groups.collect()
    }

    /// Whether each of some processes works longer than others before the operation in which they cost most, by half
    /// of the most of them at least: who waits for one of them is late together with it, too.
    fn work_alike(&self, processes: &[u32], of: &Late) -> bool {
        let Some(operation) = of.costliest_operation() else {
            return false;
        };
        self.excesses(operation, true).any(|(_, of)| {
            let members = of.members.iter().zip(&of.by_slot);
            let own = members.filter(|(process, _)| processes.contains(process));
            let own: Vec<f64> = own.map(|(_, excess)| excess.sum_ns).collect();
            let most = own.iter().copied().fold(0.0, f64::max);
            own.len() == processes.len() && most > 0.0 && own.iter().all(|&ns| ns >= most / 2.0)
        })
    }

    /// Those that did more than the others before an operation, several alike.
    fn alike(&self, operation: u64, all: &AllLate) -> Option<Alike> {
        let on_communicators = self.excesses(operation, true);
        // Those of one communicator were compared with each other.
        let found = on_communicators.filter_map(|(&(_, communicator), of)| {
            let members = of.members.iter().copied().zip(&of.by_slot);
            let known: Vec<(u32, &Excess)> = members
                .filter(|(process, of)| of.n > 2 && !all.found.contains(process))
                .collect();
            let means: Vec<f64> = known.iter().map(|(_, of)| of.mean_ns()).collect();
            let Group { members, more } = group_above(&means, means.len() / 2)?;
            if members.len() < MIN_ALIKE {
                return None;
            }
            // Two are alike only if they are so much as each other, and each is late most of the times.
            let are_apart = match members[..] {
                [a, b] => (means[a] - means[b]).abs() * TWO_ALIKE > more,
                _ => false,
            };
            let is_often = |&at: &usize| {
                let (_, excess) = known[at];
                excess.error_of_mean_ns() * (excess.n as f64).sqrt() <= more
            };
            if are_apart || members.len() == MIN_ALIKE && !members.iter().all(is_often) {
                return None;
            }
            let is_member = |at: usize| members.binary_search(&at).is_ok();
            let least_above = members
                .iter()
                .map(|&at| means[at])
                .fold(f64::INFINITY, f64::min);
            let others = means.iter().enumerate().filter(|&(at, _)| !is_member(at));
            let most_below = others.map(|(_, &ns)| ns).fold(f64::NEG_INFINITY, f64::max);
            let errors = known.iter().map(|(_, of)| of.error_of_mean_ns());
            let error = errors.fold(1.0, f64::max);
            (least_above - most_below > APART * error).then(|| Alike {
                processes: members.iter().map(|&at| known[at].0).collect(),
                communicator,
                more_ns: more,
            })
        });
        found.max_by(|a, b| a.more_ns.total_cmp(&b.more_ns))
    }

    /// How much more than the others those do that are late alike, before all operations on their communicator, ns; `is_own`: without point-to-point communication, in the instances before which there was some.
    fn more_in_all_ns(&self, alike: &Alike, is_own: bool) -> f64 {
        let operations = self.operations.keys();
        let excesses = operations.flat_map(|&operation| self.excesses(operation, is_own));
        let is_there = |&(_, communicator): &(u64, u32)| communicator == alike.communicator;
        let excesses: Vec<_> = excesses.filter(|(key, _)| is_there(key)).collect();
        // What is done before others is part of what is done before the next of those.
        let is_of_all = |operation: u64| self.is_of_all(operation);
        let has_of_all = excesses.iter().any(|((of, _), _)| is_of_all(*of));
        let excesses = excesses.into_iter();
        let excesses = excesses.filter(|((of, _), _)| !has_of_all || is_of_all(*of));
        let is_one = |process: u32| alike.processes.contains(&process);
        let more = excesses.map(|(_, of)| {
            let mean_ns = |(of, n): (Excess, usize)| of.sum_ns / n.max(1) as f64;
            let [own, others] = own_and_others([of], is_one, |_, _| true).map(mean_ns);
            (own - others).max(0.0)
        });
        more.sum()
    }

    fn group(&self, alike: &Alike, of: &Late) -> FoundCause {
        let mut ranks: Vec<u32> = alike.processes.iter().map(|&of| self.rank(of)).collect();
        ranks.sort_unstable();
        // Each of them alone would shorten nothing, as long as the others are as late.
        let more = [true, false].map(|is_own| self.more_in_all_ns(alike, is_own));
        let sooner_ns = more[0].max(more[1]).round() as i64;
        let late = self.late(
            CauseKind::Imbalance,
            CausePlace::Communicator(None),
            of,
            &ranks,
        );
        FoundCause {
            place: Some(CausePlace::Communicator(late.communicator)),
            ranks,
            run_shorter_ns: Some(self.at_ends_ns(of).min(sooner_ns)),
            ..late
        }
    }

    /// Joins those that are late alike before one operation on communicators of one name without common ranks, as the parts of a
    /// split one, each of which waits for its own: without one of them its part would be no earlier at the end than the others.
    pub(super) fn join_parts(&self, causes: Vec<FoundCause>) -> Vec<FoundCause> {
        let mut joined: Vec<FoundCause> = Vec::new();
        for cause in causes {
            let alike = |other: &&mut FoundCause| self.are_parts_alike(other, &cause);
            match joined.iter_mut().find(alike) {
                Some(other) => self.join(other, &cause),
                None => joined.push(cause),
            }
        }
        joined
    }

    fn are_parts_alike(&self, a: &FoundCause, b: &FoundCause) -> bool {
        let key = |of: &FoundCause| {
            let is_late = match of.kind {
                CauseKind::LateRank => of.rank().is_some(),
                CauseKind::Imbalance => !of.ranks.is_empty(),
                _ => false,
            };
            let is_steady = (of.course.as_ref())
                .is_none_or(|course| course.kind == CourseKind::OneCommunicator);
            let is_wanted = is_late && is_steady && of.by == Some(LateBy::Computing);
            let (hash, key) = self.operation_of(of).filter(|_| is_wanted)?;
            let more_ns = self.more_per_instance_ns(&self.ranks_of(of), hash)?;
            Some((key, more_ns))
        };
        let (Some((a, a_ns)), Some((b, b_ns))) = (key(a), key(b)) else {
            return false;
        };
        let entries = &self.inputs.communicators.entries;
        let name = |of: &OperationKey| of.entry.map(|entry| &entries[entry].name);
        let ranks = |of: &OperationKey| of.entry.map_or(&[][..], |entry| &entries[entry].ranks[..]);
        !ranks(a).iter().any(|rank| ranks(b).contains(rank))
            && a.operation == b.operation
            && name(a) == name(b)
            && (a_ns - b_ns).abs() * TWO_ALIKE <= a_ns.max(b_ns)
    }

    /// The hash and the key of the operation in which a cause arises.
    fn operation_of(&self, cause: &FoundCause) -> Option<(u64, &OperationKey)> {
        let mut operations = self.operations.iter();
        let found = operations.find(|&(&hash, (index, key))| {
            Some(*index) == cause.operation && cause.is_completing == (hash != key.stable_hash())
        });
        found.map(|(&hash, (_, key))| (hash, key))
    }

    /// How much more than the others some ranks do before an operation, on average, ns.
    fn more_per_instance_ns(&self, ranks: &[u32], operation: u64) -> Option<f64> {
        let excesses = self.excesses(operation, true);
        let members = excesses.flat_map(|(_, of)| of.members.iter().zip(&of.by_slot));
        let (own, others): (Vec<_>, Vec<_>) =
            members.partition(|(process, _)| ranks.contains(&self.rank(**process)));
        let mean_ns = |of: &[(&u32, &Excess)]| {
            let sum: f64 = of.iter().map(|(_, excess)| excess.mean_ns()).sum();
            (!of.is_empty()).then(|| sum / of.len() as f64)
        };
        Some(mean_ns(&own)? - mean_ns(&others)?)
    }

    /// Names all ranks that are late alike by what they do since all were last inside of a collective together, where only some
    /// of them are waited for, because the others are no members of those communicators.
    pub(super) fn complete_groups(&self, causes: &mut [FoundCause]) {
        let end = self.inputs.findings.wait_causes.end.as_ref();
        let Some(group) = end.and_then(|end| LateOnce::of(&end.since_together)) else {
            return;
        };
        let mut all: Vec<u32> = group.processes.iter().map(|&of| self.rank(of)).collect();
        all.sort_unstable();
        if group.differ_ns * TWO_ALIKE > group.late_ns as f64 {
            return;
        }
        for cause in causes.iter_mut() {
            let is_steady = (cause.course.as_ref())
                .is_none_or(|course| course.kind == CourseKind::OneCommunicator);
            let ranks = self.ranks_of(cause);
            let is_part = !ranks.is_empty()
                && ranks.len() < all.len()
                && ranks.iter().all(|rank| all.contains(rank));
            // What they do more is most of what the run would be shorter.
            let is_most = cause
                .run_shorter_ns
                .is_some_and(|ns| ns > 0 && group.late_ns > ns / 2);
            let is_late =
                is_most && matches!(cause.kind, CauseKind::LateRank | CauseKind::Imbalance);
            if is_part && is_late && is_steady && cause.by == Some(LateBy::Computing) {
                cause.kind = CauseKind::Imbalance;
                cause.place = Some(CausePlace::Communicator(self.world()));
                cause.ranks.clone_from(&all);
                cause.course = None;
            }
        }
    }

    /// The entry of a communicator of all ranks.
    fn world(&self) -> Option<usize> {
        let n_ranks = self.inputs.run.processes.len() as u64;
        let mut entries = self.inputs.communicators.entries.iter();
        entries.position(|entry| entry.size == n_ranks)
    }

    fn join(&self, own: &mut FoundCause, other: &FoundCause) {
        let mut ranks = [self.ranks_of(own), self.ranks_of(other)].concat();
        ranks.sort_unstable();
        add_costs(own, other);
        own.run_shorter_ns = own.run_shorter_ns.max(other.run_shorter_ns);
        (own.kind, own.ranks) = (CauseKind::Imbalance, ranks);
        own.place = Some(CausePlace::Communicator(self.world()));
        (own.course, own.largest) = (None, None);
    }
}

/// What late ranks did, by the part that cost the most.
pub(super) fn by_part(part: Option<Part>) -> Option<LateBy> {
    match part {
        Some(Part::PointToPoint(_)) => Some(LateBy::PointToPoint),
        Some(Part::Io) => Some(LateBy::Io),
        Some(Part::Rma) => Some(LateBy::Rma),
        Some(Part::Operation(_) | Part::Recorder | Part::Launch) => None,
        None => Some(LateBy::Computing),
    }
}

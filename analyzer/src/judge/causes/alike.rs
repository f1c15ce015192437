//! Several ranks that are late alike, or late together: none of them stands out, but together they do.

use std::collections::BTreeMap;

use collbench_causes::{Cost, Excess, Part};

use crate::judge::causes::Finder;
use crate::judge::causes::groups::{Group, group_above};
use crate::judge::causes::late::{AllLate, Late};
use crate::results::causes::{CauseKind, FoundCause, LateBy};
use crate::results::operation_costs::CausePlace;
use crate::results::over_time::Culprit;

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
        let groups = operations.into_iter().filter_map(|(_, operation)| {
            let alike = self.alike(operation, all)?;
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
                run_shorter_ns: Some(cost.at_ends_ns.min(cost.ns() / others as i64)),
                course: self.course(&of, culprit),
                ..late
            })
        });
        groups.collect()
    }

    /// Whether each of some processes works longer than others before the operation in which they cost most, by half
    /// of the most of them at least: who waits for one of them is late together with it, too.
    fn work_alike(&self, processes: &[u32], of: &Late) -> bool {
        let dearest = of.operations.iter().max_by_key(|(_, cost)| cost.direct_ns);
        let Some((&operation, _)) = dearest else {
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
        let more = excesses.filter(|(key, _)| is_there(key)).map(|(_, of)| {
            let members = of.members.iter().zip(&of.by_slot);
            let (own, others): (Vec<_>, Vec<_>) =
                members.partition(|(process, _)| alike.processes.contains(process));
            let mean_ns = |of: &[(&u32, &Excess)]| {
                let sum_ns: f64 = of.iter().map(|(_, excess)| excess.sum_ns).sum();
                sum_ns / of.len().max(1) as f64
            };
            (mean_ns(&own) - mean_ns(&others)).max(0.0)
        });
        more.sum()
    }

    fn group(&self, alike: &Alike, of: &Late) -> FoundCause {
        let mut ranks: Vec<u32> = alike.processes.iter().map(|&of| self.rank(of)).collect();
        ranks.sort_unstable();
        let cost: Cost = of.cost();
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
            run_shorter_ns: Some(cost.at_ends_ns.min(sooner_ns)),
            ..late
        }
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

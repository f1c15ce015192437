//! Ranks that are late for their first collective: by what they do after `MPI_Init` has returned.
//!
//! It happens once, so that chance cannot be told by how often. Named are those that are apart from all others, which are
//! alike, where nothing later in the run makes anybody late by nearly as much at once.

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::{Cause, DidBefore, Part};

use crate::judge::causes::Finder;
use crate::judge::causes::alike::by_part;
use crate::judge::causes::groups::group_above;
use crate::judge::causes::late::Late;
use crate::results::causes::{CauseKind, FoundCause};
use crate::results::course::{Course, CourseKind};
use crate::results::operation_costs::{CausePlace, Confidence};
use crate::sums::tally::finalize::FINALIZE;

/// From how many times the distance of the others from each other on ranks are apart from them.
const APART: f64 = 3.0;

/// From how many times the cost of any other event on being late at the start, or at the end, is no event like others.
pub(super) const LARGER: i64 = 3;

/// Processes that were late for a first collective, or at the end, and by how much, ns.
pub(super) struct LateOnce {
    pub(super) processes: Vec<u32>,
    pub(super) late_ns: i64,
    communicator: u32,
    /// What the others did at most, ns.
    pub(super) others_ns: f64,
}

impl LateOnce {
    pub(super) fn of(start: &DidBefore) -> Option<Self> {
        let members = start.members.iter().copied().zip(&start.did_ns);
        let known: Vec<(u32, f64)> = members
            .filter(|&(_, &ns)| ns >= 0)
            .map(|(process, &ns)| (process, ns as f64))
            .collect();
        let did: Vec<f64> = known.iter().map(|&(_, ns)| ns).collect();
        let group = group_above(&did, did.len() / 2)?;
        let is_late = |at: usize| group.members.binary_search(&at).is_ok();
        let others = || {
            did.iter()
                .enumerate()
                .filter(|&(at, _)| !is_late(at))
                .map(|(_, &ns)| ns)
        };
        let (least, most) = others()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), ns| {
                (least.min(ns), most.max(ns))
            });
        let earliest = group
            .members
            .iter()
            .map(|&at| did[at])
            .fold(f64::INFINITY, f64::min);
        (earliest - most > APART * (most - least)).then(|| Self {
            processes: group.members.iter().map(|&at| known[at].0).collect(),
            late_ns: group.more.round() as i64,
            communicator: start.communicator,
            others_ns: most,
        })
    }
}

impl Finder<'_, '_> {
    /// Names those that were late for a first collective, and removes them from `late`.
    pub(super) fn late_at_start(&self, late: &mut BTreeMap<u32, Late>) -> Vec<FoundCause> {
        let mut causes = Vec::new();
        let largest_ns = self.largest_event_ns(|_| true);
        for start in &self.inputs.findings.wait_causes.starts {
            let Some(group) = LateOnce::of(start) else {
                continue;
            };
            let mut of = Late::default();
            let mut processes: BTreeSet<u32> = BTreeSet::new();
            for process in &group.processes {
                let Some(one) = late.get(process) else {
                    continue;
                };
                // Of one communicator: it may be late for the first collective of another one, too.
                if one.operations.contains_key(&start.operation) {
                    of.merge(one);
                    processes.insert(*process);
                }
            }
            let cost = of.cost();
            let at_once_ns = cost.largest.map_or(0, |(ns, _)| ns);
            let is_event = at_once_ns >= largest_ns.saturating_mul(LARGER);
            if processes.is_empty() || !is_event || !self.matters(cost.ns()) {
                continue;
            }
            for process in &processes {
                late.remove(process);
            }
            causes.push(self.late_once(&group, &of, CourseKind::AtStart));
        }
        causes
    }

    /// The largest cost in one instance of a collective of being late, of those processes that are wanted, or of
    /// imbalance, ns.
    pub(super) fn largest_event_ns(&self, is_wanted: impl Fn(u32) -> bool) -> i64 {
        let costs = self.inputs.findings.wait_causes.costs.iter();
        let events = costs.filter(|((cause, waited_in), _)| {
            let is_event = match cause {
                Cause::Late { process, .. } => is_wanted(*process),
                cause => matches!(cause, Cause::Imbalance { .. }),
            };
            *waited_in != FINALIZE && is_event
        });
        let largest = events.filter_map(|(_, cost)| cost.largest);
        largest.map(|(ns, _)| ns).max().unwrap_or(0)
    }

    /// The cause that these are late once, at the start or at the end.
    pub(super) fn late_once(&self, group: &LateOnce, of: &Late, when: CourseKind) -> FoundCause {
        let mut ranks: Vec<u32> = group.processes.iter().map(|&of| self.rank(of)).collect();
        ranks.sort_unstable();
        let part = of.parts.iter().max_by_key(|(_, cost)| cost.ns());
        let part = part.and_then(|(part, _)| *part);
        let course = Course {
            late_ns: Some(group.late_ns),
            ..Course::new(when)
        };
        let found = |kind, place| FoundCause {
            by: by_part(part),
            partner: match part {
                Some(Part::PointToPoint(partner)) => partner.map(|process| self.rank(process)),
                _ => None,
            },
            course: Some(course),
            confidence: Confidence::Sure,
            ..self.found(kind, Some(place), of)
        };
        match ranks[..] {
            [rank] => found(CauseKind::LateRank, CausePlace::Rank(rank)),
            _ => {
                let entry = self.inputs.communicators.list[group.communicator as usize].entry;
                let found = found(CauseKind::Imbalance, CausePlace::Communicator(Some(entry)));
                FoundCause {
                    run_shorter_ns: Some(of.cost().at_ends_ns.min(group.late_ns)),
                    ranks,
                    ..found
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(did_ns: &[i64]) -> Option<(Vec<u32>, i64)> {
        let start = DidBefore {
            operation: 1,
            communicator: 0,
            members: (0..did_ns.len() as u32).collect(),
            did_ns: did_ns.to_vec(),
        };
        let found = LateOnce::of(&start)?;
        Some((found.processes, found.late_ns))
    }

    #[test]
    fn late_for_the_first_collective_are_those_apart_from_all_others() {
        assert_eq!(late(&[10, 1010, 12, 14]), Some((vec![1], 998)));
        assert_eq!(late(&[10, 1010, 12, 1014]), Some((vec![1, 3], 1001)));
        // Evenly spread, most of them, and one of which it is not known.
        assert_eq!(late(&[10, 20, 30, 45]), None);
        assert_eq!(late(&[1010, 1012, 10, 1011]), None);
        assert_eq!(late(&[10, -1, 12, 14]), None);
    }
}

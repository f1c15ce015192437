//! Ranks that are late for their first collective: by what they do after `MPI_Init` has returned.
//!
//! It happens once, so that chance cannot be excluded by how often. Named are those that are apart from all others, which are
//! alike, where nothing later in the run makes anybody late by nearly as much at once.

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::{Cause, Part};

use crate::judge::causes::Finder;
use crate::judge::causes::alike::by_part;
use crate::judge::causes::groups::LateOnce;
use crate::judge::causes::late::Late;
use crate::results::causes::{CauseKind, FoundCause};
use crate::results::course::{Course, CourseKind};
use crate::results::operation_costs::{CausePlace, Confidence};
use crate::sums::tally::finalize::FINALIZE;

/// From how many times the cost of any other event on being late at the start, or at the end, is no event like others.
pub(super) const LARGER: i64 = 3;

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
            causes.push(self.late_once(&group, &of, Some(CourseKind::AtStart)));
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

    /// The cause that these are late once, at the start or at the end, or (`None`) to an instance that there is once.
    pub(super) fn late_once(
        &self,
        group: &LateOnce,
        of: &Late,
        when: Option<CourseKind>,
    ) -> FoundCause {
        let mut ranks: Vec<u32> = group.processes.iter().map(|&of| self.rank(of)).collect();
        ranks.sort_unstable();
        let part = of.parts.iter().max_by_key(|(_, cost)| cost.ns());
        let part = part.and_then(|(part, _)| *part);
        let course = when.map(|when| Course {
            late_ns: Some(group.late_ns),
            ..Course::new(when)
        });
        let found = |kind, place| FoundCause {
            by: by_part(part),
            partner: match part {
                Some(Part::PointToPoint(partner)) => partner.map(|process| self.rank(process)),
                _ => None,
            },
            course,
            confidence: Confidence::Sure,
            ..self.found(kind, Some(place), &ranks, of)
        };
        match ranks[..] {
            [rank] => found(CauseKind::LateRank, CausePlace::Rank(rank)),
            _ => {
                let entry = self.inputs.communicators.list[group.communicator as usize].entry;
                let found = found(CauseKind::Imbalance, CausePlace::Communicator(Some(entry)));
                FoundCause {
                    run_shorter_ns: Some(self.at_ends_ns(of).min(group.late_ns)),
                    ranks,
                    ..found
                }
            }
        }
    }
}

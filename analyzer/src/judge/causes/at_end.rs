//! Why ranks wait in `MPI_Finalize`: for whom, by what that one did after the last collective, or before collectives in which
//! nobody waited for it.
//!
//! As at the start, it happens once. Who was named for waits in collectives is the cause here, too.

use std::collections::BTreeMap;

use collbench_causes::{Cause, Part};

use crate::judge::causes::Finder;
use crate::judge::causes::at_start::LARGER;
use crate::judge::causes::groups::LateOnce;
use crate::judge::causes::late::Late;
use crate::results::causes::{CauseKind, CostOf, FoundCause, LateBy};
use crate::results::course::CourseKind;
use crate::results::operation_costs::CausePlace;
use crate::sums::tally::finalize::FINALIZE;

/// How many times as much as any other a rank did that is late at the end: where ranks share cores, what all do
/// differs by less.
const MORE: f64 = 1.25;

/// How long a rank may be interrupted once, ns, and where ranks share cores: until the others have had theirs for some
/// time slices. Who is late by less may have been.
const INTERRUPTED_NS: [i64; 2] = [10_000_000, 50_000_000];

impl Finder<'_, '_> {
    /// The causes of waits in `MPI_Finalize`; `of_collectives` are those of waits in collectives.
    pub(super) fn of_waits_at_the_end(&self, of_collectives: &[FoundCause]) -> Vec<FoundCause> {
        let mut late: BTreeMap<u32, Late> = BTreeMap::new();
        let mut others: BTreeMap<CauseKind, Late> = BTreeMap::new();
        let costs = self.inputs.findings.wait_causes.costs.iter();
        for (&(cause, _), cost) in costs.filter(|((_, of), _)| *of == FINALIZE) {
            let (kind, of) = match cause {
                Cause::Late { process, part } | Cause::LateAtStart { process, part }
                    if part != Some(Part::Recorder) =>
                {
                    let of = late.entry(process).or_default();
                    of.add(part, FINALIZE, cost);
                    continue;
                }
                Cause::Late { .. } | Cause::LateAtStart { .. } => (CauseKind::Recorder, FINALIZE),
                Cause::Imbalance { .. } => (CauseKind::Imbalance, FINALIZE),
                Cause::Operation(operation) => (CauseKind::Algorithm, operation),
                Cause::Startup if self.inputs.run.has_lost_begin() => {
                    (CauseKind::Unexplained, FINALIZE)
                }
                Cause::Startup => (CauseKind::Startup, FINALIZE),
                Cause::Unresolved => (CauseKind::Unresolved, FINALIZE),
                Cause::Unexplained => (CauseKind::Unexplained, FINALIZE),
            };
            others.entry(kind).or_default().add(None, of, cost);
        }
        let mut causes: Vec<FoundCause> = self.late_at_end(&mut late, of_collectives);
        for named in of_collectives {
            let ranks = self.ranks_of(named);
            let mut of = Late::default();
            late.retain(|process, one| {
                let is_named = ranks.contains(&self.rank(*process));
                if is_named {
                    of.merge(one);
                }
                !is_named
            });
            if of.cost().ns() > 0 {
                let found = self.found(named.kind, named.place.clone(), &[], &of);
                causes.push(FoundCause {
                    // Without it, nobody would wait there either.
                    run_shorter_ns: found.run_shorter_ns.max(named.run_shorter_ns),
                    by: named.by,
                    ranks: named.ranks.clone(),
                    partner: named.partner,
                    origin: named.origin,
                    confidence: named.confidence,
                    ..found
                });
            }
        }
        for of in late.values() {
            others.entry(CauseKind::Imbalance).or_default().merge(of);
        }
        let end = self.inputs.findings.wait_causes.end.as_ref();
        let communicators = &self.inputs.communicators.list;
        let entry = end.map(|end| communicators[end.after_last.communicator as usize].entry);
        let waits = self.inputs.sums.processes.iter();
        let longest_ns = waits.filter_map(|process| process.finalize_wait_ns).max();
        let longest_ns = longest_ns.unwrap_or(0);
        for (kind, of) in &others {
            let is_told = matches!(kind, CauseKind::Imbalance | CauseKind::Algorithm);
            let is_of_cores = *kind == CauseKind::Algorithm && self.findings.are_cores_shared;
            let place = is_told.then_some(CausePlace::Communicator(entry));
            let found = self.found(*kind, place.filter(|_| !is_of_cores), &[], of);
            causes.push(FoundCause {
                by: is_of_cores.then_some(LateBy::Preempted),
                run_shorter_ns: found.run_shorter_ns.filter(|_| is_told),
                matters: found.matters && is_told && longest_ns >= self.interrupted_ns(),
                ..found
            });
        }
        for cause in &mut causes {
            (cause.of, cause.communicator) = (CostOf::Finalize, entry);
        }
        causes
    }

    /// Those that did more than all others after the last collective, or before collectives in which nobody waited for them, which
    /// are removed from `late`.
    fn late_at_end(
        &self,
        late: &mut BTreeMap<u32, Late>,
        of_collectives: &[FoundCause],
    ) -> Vec<FoundCause> {
        let end = self.inputs.findings.wait_causes.end.as_ref();
        let after_last = end.and_then(|end| LateOnce::of(&end.after_last));
        let since_together = end.and_then(|end| LateOnce::of(&end.since_together));
        let (is_after, group) = match (after_last, since_together) {
            (Some(group), all) if all.as_ref().is_none_or(|all| is_most_of(&group, all)) => {
                (true, group)
            }
            (_, Some(group)) => (false, group),
            _ => return Vec::new(),
        };
        let mut of = Late::default();
        for one in group.processes.iter().filter_map(|of| late.get(of)) {
            of.merge(one);
        }
        let cost = of.cost();
        let named: Vec<u32> = of_collectives
            .iter()
            .flat_map(|of| self.ranks_of(of))
            .collect();
        let largest_ns = self.largest_event_ns(|process| !named.contains(&self.rank(process)));
        let at_once_ns = cost.largest.map_or(0, |(ns, _)| ns);
        let is_event = || {
            at_once_ns >= largest_ns.saturating_mul(LARGER)
                && group.late_ns >= self.interrupted_ns()
                && group.late_ns as f64 >= (MORE - 1.0) * group.others_ns
        };
        // What they do more each time is more than chance, or they did it once.
        let processes: Vec<usize> = group.processes.iter().map(|&of| of as usize).collect();
        let is_late = !is_after && self.works_longer_beyond_chance(&processes) || is_event();
        if !is_late || !self.matters(cost.ns()) {
            return Vec::new();
        }
        late.retain(|process, _| !group.processes.contains(process));
        if is_after {
            return vec![self.late_once(&group, &of, Some(CourseKind::AtEnd))];
        }
        let cause = self.late_once(&group, &of, None);
        let operation = self.most_before(&group.processes);
        let operation = operation.and_then(|hash| self.operations.get(&hash));
        vec![FoundCause {
            operation: operation.map(|(index, _)| *index),
            ..cause
        }]
    }

    /// The operation before which some processes did more than others, most of all operations.
    fn most_before(&self, processes: &[u32]) -> Option<u64> {
        let more = self.operations.keys().map(|&operation| {
            let on_communicators = self.excesses(operation, true);
            let members = on_communicators.flat_map(|(_, of)| of.members.iter().zip(&of.by_slot));
            let own = members.filter(|(process, _)| processes.contains(process));
            (operation, own.map(|(_, excess)| excess.sum_ns).sum::<f64>())
        });
        let most = more.max_by(|a, b| a.1.total_cmp(&b.1));
        most.filter(|&(_, ns)| ns > 0.0)
            .map(|(operation, _)| operation)
    }

    /// How long a rank may be interrupted once, ns.
    pub(super) fn interrupted_ns(&self) -> i64 {
        INTERRUPTED_NS[usize::from(self.findings.are_cores_shared)]
    }

    /// The ranks at which a cause arises together, or one of which it is.
    pub(super) fn ranks_of(&self, cause: &FoundCause) -> Vec<u32> {
        match &cause.place {
            Some(CausePlace::Rank(rank)) => vec![*rank],
            Some(CausePlace::Host(host)) => {
                let processes = 0..self.inputs.run.processes.len() as u32;
                let is_there =
                    |process: &u32| self.inputs.clocks.hosts[self.host(*process)].name == *host;
                processes.filter(is_there).map(|of| self.rank(of)).collect()
            }
            _ => cause.ranks.clone(),
        }
    }
}

/// Whether those who are late after the last collective are so by most of what all do that are late since they were last together.
fn is_most_of(after_last: &LateOnce, all: &LateOnce) -> bool {
    after_last.processes == all.processes && after_last.late_ns > all.late_ns / 2
}

//! From the costs of waits to the causes that are named.
//!
//! A rank is named where it stands out: it costs at least twice what the others cost on average, and it has
//! more to do than chance explains; or it costs as much once as everything else. Where it does not, what it costs counts as imbalance of the communicator. Several ranks of a host that stand
//! out, with none of them alone, are the host; several ranks that are late alike are named together.

mod alike;
mod arises;
mod at_end;
mod at_start;
mod behaviour;
pub(crate) mod completions;
mod ends;
mod groups;
mod late;
pub(crate) mod operation_costs;
pub(crate) mod partners;
pub(crate) mod sites;
mod stands_out;
mod waited_for;

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::{Cause, Cost, Excesses, Part};
use collbench_stats::integers::{add_ns, sum_ns};

use crate::calls::running::RunningSummary;
use crate::judge::causes::alike::by_part;
use crate::judge::causes::completions::LateToComplete;
use crate::judge::causes::late::{AllLate, Late};
use crate::judge::causes::partners::Whole;
use crate::judge::inputs::Inputs;
use crate::judge::operations::by_time;
use crate::measure::outside::StateOnTheWay;
use crate::results::causes::{CauseKind, CostOf, FoundCause, LateBy};
use crate::results::course::{Course, CourseKind};
use crate::results::imbalance::ImbalanceSummary;
use crate::results::operation_costs::{CausePlace, Confidence, OperationCauseKind, OperationCosts};
use crate::results::over_time::{ChangeKind, Culprit, DisturbanceSummary};
use crate::sums::instances::operation_key::{OperationKey, completion_hash};
use crate::sums::tally::finalize::FINALIZE;

/// Part of the time of all collectives from which on a rank or host is found, and of the time of all ranks from
/// which on a cost matters: one in so many.
const MATTERS: i128 = 100;
/// The same of a rank or host where ranks share cores, of the time of all ranks: who has to wait for a core more often is late
/// by some of that.
const MATTERS_ON_SHARED_CORES: i128 = 50;
/// Causes for which it is said how much shorter the run can be.
const REPLAYED: usize = 8;
/// Largest part of what a host costs that one of its ranks costs, in percent.
const OF_HOST: i128 = 70;

/// What was found besides the costs of waits.
pub(crate) struct Findings<'f> {
    pub(crate) imbalance: &'f [ImbalanceSummary],
    pub(crate) disturbances: &'f [DisturbanceSummary],
    pub(crate) running: Option<&'f [RunningSummary]>,
    pub(crate) operation_costs: &'f OperationCosts,
    /// The part of the run that is looked at, ns, and the time of all ranks together in it.
    pub(crate) span_ns: i64,
    pub(crate) rank_ns: i128,
    /// Whether most ranks share fewer cores than they are.
    pub(crate) are_cores_shared: bool,
    /// What each process did in the whole run; `None` where that is not known of all.
    pub(crate) whole: Option<&'f [Whole]>,
    /// Those who are waited for in completing calls of nonblocking collectives.
    pub(crate) late_to_complete: &'f [LateToComplete],
}

/// The causes, those that cost most first.
pub(crate) fn causes(inputs: &Inputs<'_>, findings: &Findings<'_>) -> Vec<FoundCause> {
    let finder = Finder::new(inputs, findings);
    let mut causes = finder.of_waits();
    causes.extend(finder.of_waits_at_the_end(&causes));
    finder.complete_groups(&mut causes);
    causes.extend(finder.of_operation_time());
    if let Some(waited_for) = finder.of_point_to_point() {
        // Who waits longest, and with whom, would be another rank.
        for cause in &mut causes {
            if cause.kind == CauseKind::Imbalance && cause.by == Some(LateBy::PointToPoint) {
                (cause.partner, cause.origin) = (None, None);
            }
            finder.charge_to_those_waited_for(cause, &waited_for);
        }
        causes.push(waited_for);
    }
    causes.extend(finder.of_completions());
    causes = of_same_ranks_together(causes);
    // Stable: causes of equal cost stay in the order of their kinds and places.
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.cost_ns));
    for cause in causes.iter_mut().skip(REPLAYED) {
        cause.run_shorter_ns = None;
    }
    for ns in causes
        .iter_mut()
        .filter_map(|cause| cause.run_shorter_ns.as_mut())
    {
        *ns = findings.span_ns.min(*ns);
    }
    causes
}

/// What several ranks cost together in waiting, be it that they are late or that others wait for them inside operations, is
/// one cause.
fn of_same_ranks_together(causes: Vec<FoundCause>) -> Vec<FoundCause> {
    let mut together: Vec<FoundCause> = Vec::new();
    for cause in causes {
        let is_same = |other: &&mut FoundCause| {
            !cause.ranks.is_empty()
                && other.ranks == cause.ranks
                && [other.of, cause.of] == [CostOf::Waiting; 2]
                && other.by == cause.by
                && other.course == cause.course
        };
        let Some(other) = together.iter_mut().find(is_same) else {
            together.push(cause);
            continue;
        };
        add_costs(other, &cause);
        let shorter_ns = other.run_shorter_ns.zip(cause.run_shorter_ns);
        other.run_shorter_ns = shorter_ns.map(|(own, ns)| own.saturating_add(ns));
    }
    together
}

/// Adds to a cause what another one costs, but for how much shorter the run can be without both.
fn add_costs(own: &mut FoundCause, other: &FoundCause) {
    add_ns(&mut own.cost_ns, other.cost_ns);
    add_ns(&mut own.direct_ns, other.direct_ns);
    add_ns(&mut own.propagated_ns, other.propagated_ns);
    own.instances += other.instances;
    own.matters |= other.matters;
    own.share = own.share.zip(other.share).map(|(own, share)| own + share);
}

/// Names nobody whom the causes find innocent.
pub(crate) fn acquit(
    causes: &[FoundCause],
    hosts: &BTreeMap<u32, String>,
    imbalance: &mut [ImbalanceSummary],
    disturbances: &mut [DisturbanceSummary],
) {
    let host_of = |rank| hosts.get(&rank).map(String::as_str);
    let is_named = |culprit: &Culprit| causes.iter().any(|cause| cause.is_at(culprit, host_of));
    for summary in imbalance {
        if summary
            .culprit
            .as_ref()
            .is_some_and(|culprit| !is_named(culprit))
        {
            summary.culprit = None;
        }
    }
    // Who waits for another rank is late together with it.
    for disturbance in disturbances {
        if let Some(Culprit::Ranks(ranks)) = &mut disturbance.late {
            let all = ranks.clone();
            let is_group = causes.iter().any(|cause| cause.ranks == all);
            ranks.retain(|&rank| is_group || is_named(&Culprit::Rank(rank)));
            match ranks[..] {
                [] => disturbance.late = None,
                [rank] => disturbance.late = Some(Culprit::Rank(rank)),
                _ => {}
            }
        }
    }
}

struct Finder<'f, 'a> {
    inputs: &'f Inputs<'a>,
    findings: &'f Findings<'f>,
    /// Index and key of each operation, by the hash of its key, and by that of its completion if it is nonblocking.
    operations: BTreeMap<u64, (usize, OperationKey)>,
    /// Least cost of a rank or host that is found, ns.
    least_found_ns: i128,
    /// Least cost that matters, ns.
    least_ns: i128,
}

impl<'f, 'a> Finder<'f, 'a> {
    fn new(inputs: &'f Inputs<'a>, findings: &'f Findings<'f>) -> Self {
        let operations = by_time(inputs).into_iter().enumerate();
        let call_times = inputs.sums.processes.iter().map(|process| process.call_ns);
        let least_found_ns = i128::from(sum_ns(call_times)) / MATTERS;
        Self {
            inputs,
            findings,
            operations: operations
                .flat_map(|(index, (key, tally))| {
                    let hash = key.stable_hash();
                    let completion = tally.overlap.as_ref().map(|_| completion_hash(hash));
                    [Some(hash), completion].map(|hash| Some((hash?, (index, *key))))
                })
                .flatten()
                .collect(),
            least_found_ns: if findings.are_cores_shared {
                least_found_ns.max(findings.rank_ns / MATTERS_ON_SHARED_CORES)
            } else {
                least_found_ns
            },
            least_ns: findings.rank_ns / MATTERS,
        }
    }

    fn of_waits(&self) -> Vec<FoundCause> {
        let mut late: BTreeMap<u32, Late> = BTreeMap::new();
        let mut at_start: BTreeMap<u32, Late> = BTreeMap::new();
        let mut imbalances: BTreeMap<Option<usize>, Late> = BTreeMap::new();
        let mut of_operations: BTreeMap<u64, Cost> = BTreeMap::new();
        let mut others: BTreeMap<CauseKind, Late> = BTreeMap::new();
        let costs = self.inputs.findings.wait_causes.costs.iter();
        for (&(cause, waited_in), cost) in costs.filter(|((_, of), _)| *of != FINALIZE) {
            let kind = match cause {
                Cause::Late {
                    part: Some(Part::Recorder),
                    ..
                } => CauseKind::Recorder,
                Cause::Late { process, part } => {
                    let of = late.entry(process).or_default();
                    of.add(part, waited_in, cost);
                    continue;
                }
                Cause::LateAtStart { process, part } => {
                    let of = at_start.entry(process).or_default();
                    of.add(part, waited_in, cost);
                    continue;
                }
                Cause::Imbalance { communicator } => {
                    let communicator = &self.inputs.communicators.list[communicator as usize];
                    let of = imbalances.entry(Some(communicator.entry)).or_default();
                    of.add(None, waited_in, cost);
                    continue;
                }
                Cause::Operation(operation) => {
                    of_operations.entry(operation).or_default().merge(cost);
                    continue;
                }
                // Of a ring the begin of the run is not there.
                Cause::Startup if self.inputs.run.has_lost_begin() => CauseKind::Unexplained,
                Cause::Startup => CauseKind::Startup,
                Cause::Unresolved => CauseKind::Unresolved,
                Cause::Unexplained => CauseKind::Unexplained,
            };
            others.entry(kind).or_default().add(None, waited_in, cost);
        }
        let mut causes = self.late_at_start(&mut at_start);
        causes.extend(self.late_ones(&mut late));
        // Nobody in particular.
        let mut moving: BTreeMap<Option<usize>, Late> = BTreeMap::new();
        for of in late.values().chain(at_start.values()) {
            let part = of.is_by_messages().then_some(Part::PointToPoint(None));
            for (&operation, cost) in &of.operations {
                let entry = self
                    .operations
                    .get(&operation)
                    .and_then(|(_, key)| key.entry);
                let folded = if self.moves_on(entry) {
                    &mut moving
                } else {
                    &mut imbalances
                };
                let of_entry = folded.entry(entry).or_default();
                of_entry.add(part, operation, cost);
            }
        }
        for (entry, of) in &moving {
            let by = if of.is_by_messages() {
                LateBy::PointToPoint
            } else {
                LateBy::Computing
            };
            causes.push(FoundCause {
                by: Some(by),
                course: self.moving_course(*entry),
                run_shorter_ns: Some(self.shorter_without(*entry, of)),
                ..self.found(
                    CauseKind::LateRank,
                    Some(CausePlace::Communicator(*entry)),
                    &[],
                    of,
                )
            });
        }
        for (entry, of) in &imbalances {
            let is_by_messages = of.is_by_messages();
            let longest = self.longest_wait().filter(|_| is_by_messages);
            causes.push(FoundCause {
                by: is_by_messages.then_some(LateBy::PointToPoint),
                partner: longest.map(|(partner, _)| partner),
                origin: longest.and_then(|(_, origin)| origin),
                run_shorter_ns: Some(self.shorter_if_even(*entry, of)),
                ..self.found(
                    CauseKind::Imbalance,
                    Some(CausePlace::Communicator(*entry)),
                    &[],
                    of,
                )
            });
        }
        let named: BTreeSet<u32> = causes.iter().filter_map(FoundCause::rank).collect();
        causes.extend(self.slow_operations(&of_operations, &named));
        for (kind, of) in &others {
            causes.push(FoundCause {
                run_shorter_ns: None,
                matters: false,
                ..self.found(*kind, None, &[], of)
            });
        }
        causes
    }

    /// A cause of waits with a cost; of late ranks or nobody.
    fn found(
        &self,
        kind: CauseKind,
        place: Option<CausePlace>,
        ranks: &[u32],
        of: &Late,
    ) -> FoundCause {
        let of_operations = of.operations.iter();
        let costliest = of_operations.max_by_key(|(_, cost)| (cost.direct_ns, cost.ns()));
        let costliest = costliest.map(|(hash, _)| *hash);
        let (operation, cost) = match costliest {
            Some(hash) if !ranks.is_empty() => self.where_it_arises(ranks, of, hash),
            _ => (costliest, of.cost()),
        };
        let found = operation.and_then(|hash| Some((hash, self.operations.get(&hash)?)));
        let is_completing = found.is_some_and(|(hash, (_, key))| hash != key.stable_hash());
        let operation = found.map(|(_, operation)| operation);
        FoundCause {
            kind,
            by: None,
            place,
            ranks: Vec::new(),
            partner: None,
            origin: None,
            operation: operation.map(|(index, _)| *index),
            communicator: operation.and_then(|(_, key)| key.entry),
            is_completing,
            site: None,
            cost_ns: cost.ns(),
            of: CostOf::Waiting,
            direct_ns: cost.direct_ns,
            propagated_ns: cost.propagated_ns,
            share: self.share(cost.ns()),
            run_shorter_ns: Some(cost.sooner_ns.min(self.at_ends_ns(of))),
            course: None,
            confidence: Confidence::Likely,
            instances: cost.n,
            largest: cost.largest,
            explained_by: None,
            matters: self.matters(cost.ns()),
        }
    }

    /// By how much the run can be shorter without lateness that moves from rank to rank, ns: a bound.
    ///
    /// Instances go on earlier by the mean wait of the others, be it that these wait there or later; nothing is earlier by
    /// more than anybody waits.
    fn shorter_without(&self, entry: Option<usize>, of: &Late) -> i64 {
        let cost = of.cost();
        let mean_ns = cost.ns() / (self.n_members(entry) - 1).max(1);
        let sooner_ns = cost.sooner_ns.max(mean_ns);
        sooner_ns.min(self.at_ends_ns(of)).min(cost.ns())
    }

    /// By how much the run can be shorter if the ranks share evenly what now one has more to do and now another, ns: a bound.
    /// Instances go on earlier by the mean wait of all of them, the last one included.
    fn shorter_if_even(&self, entry: Option<usize>, of: &Late) -> i64 {
        self.at_ends_of_parts_ns(of)
            .min(of.cost().ns() / self.n_members(entry))
    }

    /// How many ranks a communicator has, or the run; at least 1.
    fn n_members(&self, entry: Option<usize>) -> i64 {
        let size = entry.map(|entry| self.inputs.communicators.entries[entry].size);
        let n = size.unwrap_or(self.inputs.run.processes.len() as u64);
        n.max(1) as i64
    }

    fn share(&self, ns: i64) -> Option<f64> {
        let rank_ns = self.findings.rank_ns;
        (rank_ns > 0).then(|| ns as f64 / rank_ns as f64)
    }

    fn matters(&self, ns: i64) -> bool {
        ns > 0 && i128::from(ns) >= self.least_ns
    }

    fn rank(&self, process: u32) -> u32 {
        self.inputs.run.processes[process as usize].rank()
    }

    fn host(&self, process: u32) -> usize {
        self.inputs.clocks.processes[process as usize].host
    }

    /// Removes the ranks and hosts that stand out from the late ones, and names them; then those that stand out
    /// from the others.
    fn late_ones(&self, late: &mut BTreeMap<u32, Late>) -> Vec<FoundCause> {
        let mut all = AllLate::of(late);
        let mut causes = Vec::new();
        loop {
            let before: BTreeSet<u32> = late.keys().copied().collect();
            let found = self.late_ones_among(late, &all);
            if found.is_empty() {
                return self.join_parts(causes);
            }
            causes.extend(found);
            let is_found = |process: &u32| !late.contains_key(process);
            all.found.extend(before.into_iter().filter(is_found));
            all.without_found(late);
        }
    }

    fn late_ones_among(&self, late: &mut BTreeMap<u32, Late>, all: &AllLate) -> Vec<FoundCause> {
        // Ranks of several hosts that are late alike are no matter of one host.
        let mut causes = self.late_groups(late, all, true);
        causes.extend(self.late_hosts(late, all));
        causes.extend(self.late_together(late, all));
        causes.extend(self.late_groups(late, all, false));
        let is_late = |&(process, of): &(&u32, &Late)| self.stands_out(&[*process], of, all);
        let stand_out: Vec<u32> = late.iter().filter(is_late).map(|(&of, _)| of).collect();
        for process in stand_out {
            if let Some(of) = late.remove(&process) {
                let of = self.as_named(&[process], of, all);
                let rank = self.rank(process);
                causes.push(FoundCause {
                    course: self.course(&of, &Culprit::Rank(rank)),
                    ..self.late(CauseKind::LateRank, CausePlace::Rank(rank), &of, &[rank])
                });
            }
        }
        causes
    }

    /// The hosts that stand out, without one of their ranks.
    fn late_hosts(&self, late: &mut BTreeMap<u32, Late>, all: &AllLate) -> Vec<FoundCause> {
        let mut hosts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for process in 0..self.inputs.run.processes.len() as u32 {
            hosts.entry(self.host(process)).or_default().push(process);
        }
        let mut causes = Vec::new();
        if hosts.len() < 2 {
            return causes;
        }
        for (host, processes) in hosts {
            let of_processes = || processes.iter().filter_map(|process| late.get(process));
            let mut of = Late::default();
            of_processes().for_each(|one| of.merge(one));
            // Where it costs most, be it that several of its ranks are late each for an operation of its own.
            let operation = of.costliest_operation();
            let cost_ns = |one: &Late| {
                let of = operation.and_then(|operation| one.operations.get(&operation));
                of.map_or(0, |cost| i128::from(cost.ns()))
            };
            let own_ns = cost_ns(&of);
            let most_ns = of_processes().map(cost_ns).max().unwrap_or(0);
            let is_one = processes.len() < 2 || most_ns * 100 > OF_HOST * own_ns;
            if is_one || !self.stands_out(&processes, &of, all) {
                continue;
            }
            let of = self.as_named(&processes, of, all);
            let name = self.inputs.clocks.hosts[host].name.clone();
            let ranks: Vec<u32> = processes
                .iter()
                .map(|&process| self.rank(process))
                .collect();
            causes.push(FoundCause {
                run_shorter_ns: Some(of.cost().sooner_without_host_ns.min(self.at_ends_ns(&of))),
                course: self.course(&of, &Culprit::Host(name.clone())),
                ..self.late(CauseKind::LateHost, CausePlace::Host(name), &of, &ranks)
            });
            for process in &processes {
                late.remove(process);
            }
        }
        causes
    }

    /// How much more the members of communicators did than others, before one operation; `is_own`: without
    /// point-to-point communication, where there was any.
    fn excesses(
        &self,
        operation: u64,
        is_own: bool,
    ) -> impl Iterator<Item = (&(u64, u32), &Excesses)> {
        let found = &self.inputs.findings.wait_causes;
        let range = || (operation, 0)..=(operation, u32::MAX);
        let has_own = is_own && found.own_excesses.range(range()).next().is_some();
        let of = if has_own {
            &found.own_excesses
        } else {
            &found.excesses
        };
        of.range(range())
    }

    /// A late rank or host, and what its ranks did.
    fn late(&self, kind: CauseKind, place: CausePlace, of: &Late, ranks: &[u32]) -> FoundCause {
        let (part, cost) = of.costliest_part();
        // Mostly that.
        let is_clear = i128::from(cost.ns()) * 10 >= i128::from(of.cost().ns()) * 8;
        let (by, confidence) = match part {
            // What it does between polls is not known.
            Some(Part::PointToPoint(_)) if self.is_polling(ranks) => {
                (by_part(part), Confidence::Likely)
            }
            Some(Part::Operation(_) | Part::Recorder | Part::Launch) => (None, Confidence::Likely),
            Some(_) => (by_part(part), Confidence::Sure),
            None => self.behaviour(of, ranks),
        };
        let confidence = if is_clear && !self.is_assumed(of) {
            confidence
        } else {
            Confidence::Likely
        };
        let partner = match part {
            Some(Part::PointToPoint(partner)) => partner.map(|process| self.rank(process)),
            _ => None,
        };
        FoundCause {
            by,
            partner,
            origin: self.origin_of(part, ranks),
            confidence,
            ..self.found(kind, Some(place), ranks, of)
        }
    }

    /// Whether most of the waits in the operation in which late ranks cost the most are assumed.
    fn is_assumed(&self, of: &Late) -> bool {
        let costliest = of.costliest_operation();
        let key = costliest.and_then(|hash| self.operations.get(&hash));
        let mut tallies = self.inputs.sums.operations();
        let tally = key.and_then(|(_, key)| tallies.find(|(of, _)| *of == key));
        tally.is_some_and(|(_, tally)| {
            let assumed_ns = tally.on_the_way_ns[StateOnTheWay::AssumedReceiver as usize];
            2 * i128::from(assumed_ns) > i128::from(tally.lags_and_waits.waits().total())
        })
    }

    /// The rank for which the partner of late ranks waited in turn, if that is another one.
    fn origin_of(&self, part: Option<Part>, ranks: &[u32]) -> Option<u32> {
        let (Some(Part::PointToPoint(Some(partner))), [rank]) = (part, ranks) else {
            return None;
        };
        let all = self.findings.whole?;
        let process = self
            .inputs
            .run
            .processes
            .iter()
            .position(|of| of.rank() == *rank)?;
        let waited_ns = all[process].with_partners_ns;
        let origin = partners::origin(
            all,
            process,
            partner as usize,
            waited_ns,
            partners::usual_own_ns(all),
        )?;
        (origin != partner as usize).then(|| self.rank(origin as u32))
    }

    /// The verdict on the operation in which a late one costs most.
    fn imbalance_of(&self, of: &Late) -> Option<&'f ImbalanceSummary> {
        let (_, key) = self.operations.get(&of.costliest_operation()?)?;
        self.findings.imbalance.iter().find(|summary| {
            Some(summary.communicator) == key.entry && summary.operation == key.operation.name()
        })
    }

    fn course(&self, of: &Late, late: &Culprit) -> Option<Course> {
        let lateness = self.imbalance_of(of)?;
        let course = Course::of(lateness, self.findings.disturbances, late);
        course.or_else(|| {
            let entries = &self.inputs.communicators.entries;
            let own = &entries[lateness.communicator];
            let is_alike = |entry: &&crate::communicators::CommunicatorEntry| {
                entry.name == own.name && entry.size == own.size
            };
            let is_one_of_several = entries.iter().filter(is_alike).count() > 1;
            is_one_of_several.then(|| Course::new(CourseKind::OneCommunicator))
        })
    }

    /// Whether lateness moves from rank to rank in some operation on a communicator.
    fn moves_on(&self, entry: Option<usize>) -> bool {
        self.findings.imbalance.iter().any(|summary| {
            let change = summary.change.as_ref();
            Some(summary.communicator) == entry
                && change.is_some_and(|change| change.kind == ChangeKind::Moves)
        })
    }

    fn moving_course(&self, entry: Option<usize>) -> Option<Course> {
        let of_entry = |summary: &&ImbalanceSummary| Some(summary.communicator) == entry;
        let imbalance = self.findings.imbalance.iter().filter(of_entry);
        let changes = imbalance.filter_map(|summary| summary.change.as_ref());
        let moving = changes.filter(|change| change.kind == ChangeKind::Moves);
        let phases = moving.flat_map(|change| &change.phases);
        let late = phases.filter(|phase| phase.late.is_some());
        let spans = late.map(|phase| (phase.from_ns, phase.to_ns));
        let (from_ns, to_ns) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(Course {
            from_ns: Some(from_ns),
            to_ns: Some(to_ns),
            ..Course::new(CourseKind::Moves)
        })
    }

    /// The waits for ranks that leave operations late, by what makes these slow; `named`: ranks that are named already.
    fn slow_operations(
        &self,
        costs: &BTreeMap<u64, Cost>,
        named: &BTreeSet<u32>,
    ) -> Vec<FoundCause> {
        let mut by_reason: BTreeMap<(Option<usize>, Option<u64>), Late> = BTreeMap::new();
        let mut by_ranks: BTreeMap<Vec<u32>, Late> = BTreeMap::new();
        for (&operation, cost) in costs {
            let index = self.operations.get(&operation).map(|(index, _)| *index);
            let reasons = self.findings.operation_costs.causes.iter();
            let reason = reasons.clone().position(|reason| {
                let is_of = |index| reason.operation == index || reason.others.contains(&index);
                reason.kind != OperationCauseKind::NoProgress && index.is_some_and(is_of)
            });
            // How much data there are makes nobody in particular late.
            let is_open = reason.is_none_or(|at| {
                self.findings.operation_costs.causes[at].kind == OperationCauseKind::Transfer
            });
            if is_open && self.matters(cost.ns()) {
                let ranks = self.waited_for_inside(operation);
                let ranks = ranks.filter(|ranks| ranks.iter().all(|rank| !named.contains(rank)));
                if let Some(ranks) = ranks {
                    let of = by_ranks.entry(ranks).or_default();
                    of.add(None, operation, cost);
                    continue;
                }
            }
            // What does not matter is one cause, and so is what follows from too few cores.
            let is_own =
                reason.is_none() && !self.findings.are_cores_shared && self.matters(cost.ns());
            let key = (reason, is_own.then_some(operation));
            by_reason.entry(key).or_default().add(None, operation, cost);
        }
        let causes = by_reason.iter().map(|(&(reason, operation), of)| {
            let found = |kind, place| self.found(kind, place, &[], of);
            match reason {
                Some(at) => {
                    let reason = &self.findings.operation_costs.causes[at];
                    FoundCause {
                        confidence: reason.confidence,
                        explained_by: Some(at),
                        ..found(reason.kind.into(), Some(reason.place.clone()))
                    }
                }
                None if self.findings.are_cores_shared => FoundCause {
                    by: Some(LateBy::Preempted),
                    ..found(CauseKind::Algorithm, None)
                },
                None => {
                    let key = operation.and_then(|hash| self.operations.get(&hash));
                    let place = key.map(|(_, key)| CausePlace::Communicator(key.entry));
                    FoundCause {
                        matters: operation.is_some(),
                        ..found(CauseKind::Algorithm, place)
                    }
                }
            }
        });
        let inside = by_ranks.iter().map(|(ranks, of)| match ranks[..] {
            // When others waited for it is not when it was late.
            [rank] => FoundCause {
                largest: None,
                ..self.late(CauseKind::LateRank, CausePlace::Rank(rank), of, ranks)
            },
            _ => {
                let found = self.found(CauseKind::Imbalance, None, &[], of);
                FoundCause {
                    by: Some(LateBy::Computing),
                    ranks: ranks.clone(),
                    place: Some(CausePlace::Communicator(found.communicator)),
                    ..found
                }
            }
        });
        causes.chain(inside).collect()
    }

    fn of_operation_time(&self) -> Vec<FoundCause> {
        let causes = self.findings.operation_costs.causes.iter().enumerate();
        let found = causes.map(|(at, reason)| FoundCause {
            kind: reason.kind.into(),
            by: None,
            place: Some(reason.place.clone()),
            ranks: Vec::new(),
            partner: None,
            origin: None,
            operation: Some(reason.operation),
            communicator: self
                .operations
                .values()
                .find(|(index, _)| *index == reason.operation)
                .and_then(|(_, key)| key.entry),
            is_completing: false,
            site: None,
            cost_ns: reason.cost_ns,
            of: CostOf::OperationTime,
            direct_ns: reason.cost_ns,
            propagated_ns: 0,
            share: self.share(reason.cost_ns),
            run_shorter_ns: Some(reason.run_shorter_ns),
            course: None,
            confidence: reason.confidence,
            instances: reason.instances,
            largest: None,
            explained_by: Some(at),
            matters: self.matters(reason.cost_ns),
        });
        found.collect()
    }
}

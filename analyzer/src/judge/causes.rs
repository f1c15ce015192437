//! From the costs of waits to the causes that are named.
//!
//! A rank is named where it stands out: it costs at least twice what the others cost on average, and it has
//! more to do than chance explains; or it costs as much once as everything else. Where it does not, what it costs counts as imbalance of the communicator. Several ranks of a host that stand
//! out, with none of them alone, are the host; several ranks that are late alike are named together.

mod alike;
mod at_end;
mod at_start;
mod behaviour;
pub(crate) mod completions;
mod groups;
mod late;
pub(crate) mod operation_costs;
pub(crate) mod partners;
pub(crate) mod sites;
mod waited_for;

use std::collections::{BTreeMap, BTreeSet};

use collbench_causes::{Cause, Cost, Excess, Excesses, Part};
use collbench_formats::Semantics;
use collbench_stats::chance::binomial_tail;
use collbench_stats::integers::{add_ns, sum_ns};

use crate::calls::running::RunningSummary;
use crate::judge::causes::alike::by_part;
use crate::judge::causes::completions::LateToComplete;
use crate::judge::causes::late::{AllLate, Late, total};
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

/// How many times the average of the others a rank costs that stands out.
const STANDS_OUT: i128 = 2;
/// Largest probability that one of them stands out by chance, and in how many ways that is tested. Where one does,
/// the chance is mostly smaller by many orders of magnitude.
const MAX_P: f64 = 0.001;
const TESTS: usize = 4;
/// Part of what all did the most that one did, at least, where that is the evidence.
const MOST_OF_IT: f64 = 0.5;
/// Part of what some do more before an operation that they do before an earlier one, at least, to be late from there on.
const MUCH_OF_IT: f64 = 0.4;
/// Part of it that others wait for in the earlier one, at least.
const NOTABLE_WAIT: f64 = 0.2;
/// Instances of an operation from which on chance can be told from them.
const FEWEST: u64 = 3;
/// Few times that one does the most are evidence if that all of them are of the same has at most this probability, nobody ever does
/// as much, each is so many times the mean of all others, and they are so much of what anybody does the most: one in so many.
const SELDOM: f64 = 0.05;
/// Few are these among so many times as many instances, at least.
const AMONG: u64 = 16;
const FAR: f64 = 10.0;
const NOTABLY: f64 = 3.0;
/// Parts of the run in each of which one must be late where few times are evidence.
const PARTS: i64 = 3;
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
    /// The time of all ranks together in the part of the run that is looked at, ns.
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
        let dearest = of_operations.max_by_key(|(_, cost)| (cost.direct_ns, cost.ns()));
        let dearest = dearest.map(|(hash, _)| *hash);
        let (operation, cost) = match dearest {
            Some(hash) if !ranks.is_empty() => self.where_it_arises(ranks, of, hash),
            _ => (dearest, of.cost()),
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
            run_shorter_ns: Some(cost.run_shorter_ns()),
            course: None,
            confidence: Confidence::Likely,
            instances: cost.n,
            largest: cost.largest,
            explained_by: None,
            matters: self.matters(cost.ns()),
        }
    }

    /// The operation in which the lateness of some ranks arises that costs most in `dearest`, and what it costs: one before which
    /// they do most of what they do more, if others wait there for a notable part of it, or that one itself. Who is late there
    /// is late for later operations, too.
    fn where_it_arises(&self, ranks: &[u32], of: &Late, dearest: u64) -> (Option<u64>, Cost) {
        let is_own = of.is_by_own_work();
        let more: BTreeMap<u64, f64> = of
            .operations
            .keys()
            .map(|&hash| (hash, self.more_directly_before_ns(ranks, hash, is_own)))
            .collect();
        let late = of.operations.iter().filter(|(hash, cost)| {
            cost.direct_ns > 0 && cost.direct_ns as f64 > more[*hash] * NOTABLE_WAIT
        });
        let most = late.max_by(|a, b| more[a.0].total_cmp(&more[b.0]));
        let distinct: BTreeMap<u64, f64> = more
            .iter()
            .map(|(&hash, &ns)| (self.of_call(hash), ns))
            .collect();
        let all: f64 = distinct.values().sum();
        let Some((&arises, _)) = most.filter(|(hash, _)| more[*hash] > all * MUCH_OF_IT) else {
            return (Some(dearest), of.cost());
        };
        let costs = of.operations.iter().map(|(hash, cost)| {
            if more[hash] < more[&arises] * MUCH_OF_IT {
                cost.passed_on()
            } else {
                *cost
            }
        });
        (Some(arises), total(costs))
    }

    /// The hash of an operation, if it may be that of its completion.
    fn of_call(&self, hash: u64) -> u64 {
        let operation = self.operations.get(&hash);
        operation.map_or(hash, |(_, key)| key.stable_hash())
    }

    /// How much more than others some ranks do before an operation, in all instances, but for what is before earlier ones, ns.
    fn more_directly_before_ns(&self, ranks: &[u32], operation: u64, is_own: bool) -> f64 {
        let is_own_rank = |process: &u32| ranks.contains(&self.rank(*process));
        let in_excesses = |hash: u64| -> f64 {
            let on_communicators = self.excesses(hash, is_own);
            let members = on_communicators.flat_map(|(_, of)| of.members.iter().zip(&of.by_slot));
            let own = members.filter(|(process, _)| is_own_rank(process));
            own.map(|(_, excess)| excess.sum_ns).sum()
        };
        let found = &self.inputs.findings.wait_causes;
        let in_gaps = |hash: u64| {
            let hash = self.of_call(hash);
            let (mut is_any, mut more_ns) = (false, 0.0);
            for (key, of) in found.gaps.range((hash, 0)..=(hash, u32::MAX)) {
                let excesses = found.excesses.get(key);
                let n = excesses
                    .and_then(|of| of.by_slot.first())
                    .map_or(0, |of| of.n);
                // Else they are of the few instances in which its members came from another communicator.
                if of.n * 2 >= n {
                    is_any = true;
                    let own = of
                        .more_ns
                        .iter()
                        .filter(|(process, _)| is_own_rank(process));
                    more_ns += own.map(|(_, ns)| ns).sum::<f64>();
                }
            }
            is_any.then_some(more_ns.max(0.0))
        };
        in_gaps(operation).unwrap_or_else(|| {
            let hashes = self.operations.keys();
            let before = hashes.filter(|&&hash| self.may_be_before(hash, operation));
            let before: BTreeSet<u64> = before.map(|&hash| self.of_call(hash)).collect();
            let before = before.iter().map(|&hash| {
                let more_ns = in_gaps(hash).unwrap_or_else(|| in_excesses(hash));
                more_ns.max(0.0)
            });
            (in_excesses(operation) - before.sum::<f64>()).max(0.0)
        })
    }

    /// Whether what a rank does more before the operation `inner` is part of what it does more before `outer`, if it comes to
    /// that later: all ranks of `inner` are in that one, and more, or as many and all of them wait for all in that one only.
    fn may_be_before(&self, inner: u64, outer: u64) -> bool {
        let entries = &self.inputs.communicators.entries;
        let entry = |hash: u64| {
            let (_, key) = self.operations.get(&hash)?;
            entries.get(key.entry?)
        };
        let (Some(within), Some(all)) = (entry(inner), entry(outer)) else {
            return false;
        };
        let are_in_both = || within.ranks.iter().all(|rank| all.ranks.contains(rank));
        (within.size, self.is_of_all(inner)) < (all.size, self.is_of_all(outer)) && are_in_both()
    }

    /// Whether all wait for all in an operation.
    fn is_of_all(&self, operation: u64) -> bool {
        let key = self.operations.get(&operation).map(|(_, key)| key);
        key.is_some_and(|key| {
            let is_of_all = matches!(
                key.operation.semantics(),
                Semantics::Barrier | Semantics::AllToAll | Semantics::Constructor
            );
            is_of_all && operation == key.stable_hash()
        })
    }

    /// By how much the run can be shorter if the work on a communicator is distributed evenly: then each instance goes on
    /// earlier by the mean wait, ns.
    fn shorter_if_even(&self, entry: Option<usize>, of: &Late) -> i64 {
        let cost = of.cost();
        let size = entry.map(|entry| self.inputs.communicators.entries[entry].size);
        let n = size.unwrap_or(self.inputs.run.processes.len() as u64);
        let mean_ns = cost.at_ends_ns.min(cost.direct_ns / n.max(1) as i64);
        // It may be one that is late by all of this, and does not stand out.
        cost.run_shorter_ns().max(mean_ns)
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
            let dearest = (of.operations.iter()).max_by_key(|(_, cost)| cost.direct_ns);
            let operation = dearest.map(|(operation, _)| *operation);
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
                run_shorter_ns: Some(of.cost().run_shorter_without_host_ns()),
                course: self.course(&of, &Culprit::Host(name.clone())),
                ..self.late(CauseKind::LateHost, CausePlace::Host(name), &of, &ranks)
            });
            for process in &processes {
                late.remove(process);
            }
        }
        causes
    }

    /// Whether some processes stand out, in an operation in which others wait for them.
    fn stands_out(&self, processes: &[u32], of: &Late, all: &AllLate) -> bool {
        let cost = of.cost();
        if cost.ns() <= 0 || i128::from(cost.ns()) < self.least_found_ns {
            return false;
        }
        if of.is_by_messages() {
            if self.stands_out_by_own_work(processes, of, all) {
                return true;
            }
            if !self.waits_for_messages_alone(processes, of) {
                return false;
            }
        }
        // One event that costs as much as everything else.
        if cost
            .largest
            .is_some_and(|(ns, _)| i128::from(ns) * 2 >= all.direct_ns)
        {
            return true;
        }
        let is_own = of.is_by_own_work();
        self.is_dear_in_one(processes, &of.operations, &all.by_operation, all, is_own)
    }

    /// Whether some processes are dear in one of the operations in which they cost most.
    fn is_dear_in_one(
        &self,
        processes: &[u32],
        costs: &BTreeMap<u64, Cost>,
        of_all: &BTreeMap<u64, i128>,
        all: &AllLate,
        is_own: bool,
    ) -> bool {
        let direct_ns = costs.values().map(|cost| cost.direct_ns);
        let most_ns = direct_ns.max().unwrap_or(0);
        costs.iter().any(|(operation, cost)| {
            let all_ns = of_all.get(operation).copied().unwrap_or(0);
            let is_main = cost.direct_ns > 0 && cost.direct_ns >= most_ns / 2;
            is_main
                && self.is_dear(
                    processes,
                    *operation,
                    [i128::from(cost.direct_ns), all_ns],
                    all,
                    is_own,
                )
        })
    }

    /// Whether some processes cost at least twice what the others cost on average in an operation, and did
    /// more than them beyond chance, in all instances.
    ///
    /// `own_ns`, `all_ns`: what these, and all late ones that were not found, cost there directly. `is_own`: by own work,
    /// without point-to-point communication, in which others wait for it.
    ///
    /// In those to which it is late alone, a rank has more to do than others also where that is chance: as
    /// the root of a broadcast, or behind a slow link, it is late every time.
    fn is_dear(
        &self,
        processes: &[u32],
        operation: u64,
        [own_ns, all_ns]: [i128; 2],
        all: &AllLate,
        is_own: bool,
    ) -> bool {
        let on_communicators = self.excesses(operation, is_own);
        let members = on_communicators.flat_map(|(_, of)| of.members.iter().zip(&of.by_slot));
        let (mut own, mut n_own) = (Excess::default(), 0_usize);
        let (mut others, mut n_others) = (Excess::default(), 0_usize);
        let known = members.filter(|(process, of)| of.n > 0 && !all.found.contains(process));
        for (process, excess) in known {
            if processes.contains(process) {
                n_own += 1;
                own = Excess::of_all([own, *excess]);
            } else {
                n_others += 1;
                others = Excess::of_all([others, *excess]);
            }
        }
        if n_own == 0 {
            // They made members wait in point-to-point communication.
            let processes: Vec<usize> = processes.iter().map(|&of| of as usize).collect();
            return 2 * own_ns >= all_ns && self.works_longer_beyond_chance(&processes);
        }
        if n_others == 0 {
            return false;
        }
        let others_ns = (all_ns - own_ns).max(0);
        let is_dear = own_ns * n_others as i128 >= STANDS_OUT * others_ns * n_own as i128;
        if !is_dear {
            return false;
        }
        let more_ns = own.sum_ns / n_own as f64 - others.sum_ns / n_others as f64;
        if self.is_disturbed(processes) || self.is_off_core(processes, operation, more_ns) {
            return true;
        }
        self.is_beyond_chance((&own, n_own), (&others, n_others))
            || self.do_more_in_related_ones(processes, operation, all, is_own)
            || self.are_largest_of(
                processes,
                operation,
                all,
                is_own,
                n_own as f64 / (n_own + n_others) as f64,
            )
    }

    /// Whether some processes that are late for an operation do more beyond chance before one that is before or after it: two ranks
    /// alone tell hardly which of them is late, and others may wait only now and then.
    fn do_more_in_related_ones(
        &self,
        processes: &[u32],
        operation: u64,
        all: &AllLate,
        is_own: bool,
    ) -> bool {
        let mut related = self.operations.keys().filter(|&&other| {
            self.may_be_before(operation, other) || self.may_be_before(other, operation)
        });
        related.any(|&other| {
            self.excesses(other, is_own).any(|(_, of)| {
                let members = of.members.iter().zip(&of.by_slot);
                let known =
                    members.filter(|(process, of)| of.n >= FEWEST && !all.found.contains(process));
                let (own, others): (Vec<_>, Vec<_>) =
                    known.partition(|(process, _)| processes.contains(process));
                let sum = |of: &[(&u32, &Excess)]| Excess::of_all(of.iter().map(|(_, of)| **of));
                own.len() == processes.len()
                    && !others.is_empty()
                    && self.is_beyond_chance((&sum(&own), own.len()), (&sum(&others), others.len()))
            })
        })
    }

    /// Whether the largest of what anybody did more than the others before an operation is of some processes: more of the
    /// largest than by chance, or all of a few; they are throughout the run, and a notable part of all that was the most.
    ///
    /// Few large ones among many small ones change neither a mean nor a number by much.
    fn are_largest_of(
        &self,
        processes: &[u32],
        operation: u64,
        all: &AllLate,
        is_own: bool,
        fair_share: f64,
    ) -> bool {
        let (mut largest, mut n_all, mut all_ns) = (Vec::new(), 0, 0.0);
        let (mut begin_ns, mut end_ns) = (i64::MAX, i64::MIN);
        for (_, of) in self.excesses(operation, is_own) {
            let known = of.members.iter().zip(&of.by_slot);
            let known = known.filter(|(process, _)| !all.found.contains(process));
            for (_, excess) in known {
                n_all += excess.n_most;
                all_ns += excess.most_ns;
            }
            let events = of
                .largest
                .iter()
                .map(|most| (of.members[most.slot as usize], most));
            let events = events.filter(|(process, _)| !all.found.contains(process));
            largest.extend(
                events.map(|(process, most)| {
                    (most.more_ns, most.at_ns, processes.contains(&process))
                }),
            );
            begin_ns = begin_ns.min(of.span_ns[0]);
            end_ns = end_ns.max(of.span_ns[1]);
        }
        largest.sort_unstable_by(|a, b| b.cmp(a));
        let length_ns = end_ns.saturating_sub(begin_ns).saturating_add(1).max(1);
        let n_tried = self.n_tried() * largest.len() as f64;
        let (mut n_own, mut own_ns) = (0, 0);
        let mut parts = BTreeSet::new();
        largest
            .iter()
            .zip(1..)
            .any(|(&(more_ns, at_ns, is_own), n)| {
                if is_own {
                    n_own += 1;
                    own_ns += more_ns;
                    let at = i128::from(at_ns - begin_ns) * i128::from(PARTS);
                    parts.insert(at / i128::from(length_ns));
                }
                let mean_ns = (all_ns - own_ns as f64) / n_all.saturating_sub(n).max(1) as f64;
                let is_seldom = n * AMONG <= n_all && fair_share.powi(n as i32 - 1) <= SELDOM;
                let are_all = n_own == n && is_seldom && more_ns as f64 >= FAR * mean_ns;
                let are_many = n_own as f64 >= MOST_OF_IT * n as f64
                    && binomial_tail(n, n_own, fair_share) * n_tried <= MAX_P;
                (are_all || are_many)
                    && own_ns as f64 * NOTABLY >= all_ns
                    && parts.len() as i64 == PARTS
            })
    }

    /// Whether some processes did more than others beyond chance; both with their number.
    fn is_beyond_chance(
        &self,
        (own, n_own): (&Excess, usize),
        (others, n_others): (&Excess, usize),
    ) -> bool {
        let n_tried = self.n_tried();
        let is_far = own.chance_above(others, n_own, n_others) * n_tried <= MAX_P;
        // A few interruptions hide a mean: how often it did the most, and how much that was, is another
        // evidence.
        let both = Excess::of_all([*own, *others]);
        let fair_share = n_own as f64 / (n_own + n_others) as f64;
        // On busy machines all are interrupted, some more often, or for longer, than others: no matter of chance either.
        let most = f64::midpoint(1.0, fair_share);
        let least = (f64::from(STANDS_OUT as u8) * fair_share).min(most);
        let stands_out = |k: f64, n: f64, least: f64| {
            let p = binomial_tail(n as u64, k as u64, fair_share);
            k >= least * n && p * n_tried <= MAX_P
        };
        let n_events = both.equal_events();
        let part = own.most_ns / both.most_ns.max(1.0);
        is_far
            || stands_out(own.n_most as f64, both.n_most as f64, least)
            || stands_out(part * n_events, n_events, least.max(MOST_OF_IT).min(most))
    }

    /// In how many ways all of them are tested.
    fn n_tried(&self) -> f64 {
        (TESTS * self.inputs.run.processes.len() * self.operations.len().max(1)) as f64
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

    /// Whether some processes are late at regular intervals: a rhythm beyond chance, of them beyond chance.
    fn is_disturbed(&self, processes: &[u32]) -> bool {
        let mut late = (self.findings.disturbances.iter()).filter_map(|of| of.late.as_ref());
        late.any(|late| match (late, processes) {
            (Culprit::Rank(rank), [process]) => self.rank(*process) == *rank,
            (Culprit::Ranks(ranks), [_, _, ..]) => {
                let mut own: Vec<u32> = processes.iter().map(|&of| self.rank(of)).collect();
                own.sort_unstable();
                own == *ranks
            }
            (Culprit::Host(name), [first, _, ..]) => {
                self.inputs.clocks.hosts[self.host(*first)].name == *name
            }
            _ => false,
        })
    }

    /// A late rank or host, and what its ranks did.
    fn late(&self, kind: CauseKind, place: CausePlace, of: &Late, ranks: &[u32]) -> FoundCause {
        let (part, cost) = of.dearest();
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
        let dearest = of.operations.iter().max_by_key(|(_, cost)| cost.direct_ns);
        let key = dearest.and_then(|(hash, _)| self.operations.get(hash));
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
        let origin = partners::origin(all, process, partner as usize, waited_ns)?;
        (origin != partner as usize).then(|| self.rank(origin as u32))
    }

    /// The verdict on the operation in which a late one costs most.
    fn imbalance_of(&self, of: &Late) -> Option<&'f ImbalanceSummary> {
        let (hash, _) = of
            .operations
            .iter()
            .max_by_key(|(_, cost)| cost.direct_ns)?;
        let (_, key) = self.operations.get(hash)?;
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

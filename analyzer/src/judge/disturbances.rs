//! From sums to results: periodic disturbances, such as a daemon every second.
//!
//! Late arrivals that are outliers of their operation, over all operations, are grouped into
//! [interruptions]. These are searched for a [rhythm]; those that belong to it are removed, and the
//! rest searched again. Then the same with the operations to which so many arrivals are late that none
//! is an outlier: their lateness is of two classes, and the large ones are searched.

mod interruptions;
mod rhythm;

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::Operation;
use collbench_stats::basis::StepPeriod;
use collbench_stats::chance::binomial_tail;
use collbench_stats::integers::{add_ns, sum_ns};
use collbench_stats::two_classes::largest_usual;

use crate::judge::disturbances::interruptions::{Event, Interruption, interruptions};
use crate::judge::disturbances::rhythm::{Group, Occasions, Rhythm};
use crate::judge::inputs::Inputs;
use crate::results::over_time::{Culprit, DisturbanceSummary, DisturbedOperation, PeriodBasis};
use crate::sums::late_arrivals::{LateArrival, LateArrivals, MAX_LATEST};
use crate::sums::lateness::Lateness;

/// Most disturbances.
const MAX_FOUND: usize = 3;
/// Fewest sampled instances of an operation from which outliers can be defined.
const MIN_SAMPLED: usize = 16;
/// An arrival is out of the ordinary that is later than the upper quartile by so many times the
/// distance of the quartiles.
const QUARTILE_DISTANCES: i64 = 3;
/// Smallest share of the late arrivals that makes one rank or host the late party.
const MIN_PART: f64 = 0.7;
/// Fewest late arrivals of the same ranks that name them: of few ranks each set of them is frequent.
const MIN_TOGETHER: usize = 8;
/// Largest probability of naming one wrongly.
const MAX_P: f64 = 0.01;
/// A period is at least this many times as long as an interruption.
const MIN_PERIODS: f64 = 2.0;

/// The disturbances, most waiting caused first.
pub(crate) fn disturbances(inputs: &Inputs<'_>) -> Vec<DisturbanceSummary> {
    let groups: Vec<Group<'_>> = inputs
        .sums
        .lateness
        .iter()
        .filter(|(_, lateness)| lateness.arrivals.n_sampled() >= MIN_SAMPLED)
        .collect();
    let occasions = Occasions::new(&groups);
    let arrivals = groups.iter().map(|(_, lateness)| &lateness.arrivals);
    let outliers: Vec<i64> = arrivals.map(ordinary_ns).collect();
    let mut found = found_above(inputs, &occasions, &outliers, false);
    let is_found = |(communicator, operation): &(usize, Operation)| {
        let mut of_found = found.iter().flat_map(|found| &found.operations);
        of_found.any(|of| of.communicator == *communicator && of.operation == operation.name())
    };
    let frequent = groups.iter().zip(&outliers);
    let frequent = frequent.map(|((key, lateness), &ordinary_ns)| {
        let usual_ns = largest_usual(&lateness_of(&lateness.arrivals));
        usual_ns.filter(|&usual_ns| usual_ns < ordinary_ns && !is_found(key))
    });
    let frequent: Vec<i64> = frequent.map(|usual| usual.unwrap_or(i64::MAX)).collect();
    if frequent.iter().any(|&usual_ns| usual_ns < i64::MAX) {
        found.extend(found_above(inputs, &occasions, &frequent, true));
    }
    found.sort_by_key(|disturbance| std::cmp::Reverse(disturbance.wait_caused_ns));
    found.truncate(MAX_FOUND);
    found
}

/// The disturbances of arrivals that are later than is usual in their group, ns; `are_many`: so many are that
/// no arrival is an outlier.
fn found_above(
    inputs: &Inputs<'_>,
    occasions: &Occasions<'_>,
    usual_ns: &[i64],
    are_many: bool,
) -> Vec<DisturbanceSummary> {
    let groups = occasions.groups;
    let mut events: Vec<Event> = Vec::new();
    let mut is_least = false;
    for (index, ((_, lateness), &usual_ns)) in groups.iter().zip(usual_ns).enumerate() {
        let latest = lateness.arrivals.latest().into_iter();
        let n_before = events.len();
        events.extend(
            latest
                .take_while(|arrival| arrival.lateness_ns > usual_ns)
                .map(|arrival| (arrival, index)),
        );
        is_least |= events.len() - n_before == MAX_LATEST;
    }
    events.sort_unstable_by(|a, b| b.cmp(a));
    let (mut interruptions, are_more) = interruptions(&events);
    is_least |= are_more;

    let mut found = Vec::new();
    while found.len() < MAX_FOUND {
        let Some(rhythm) = occasions.rhythm(&interruptions, usual_ns, are_many) else {
            break;
        };
        let own = rhythm.own.iter().map(|&index| &interruptions[index]);
        let disturbance = summary(inputs, groups, &rhythm, &own.collect::<Vec<_>>(), is_least);
        let is_in_steps =
            disturbance.basis == Some(PeriodBasis::Steps) || rhythm.recurrence.is_some();
        if !is_in_steps && disturbance.excess_ns as f64 * MIN_PERIODS > rhythm.period_ns {
            break;
        }
        // Some rank arrives last in every step: that is a rhythm only of one and the same.
        if are_many && disturbance.late.is_none() {
            break;
        }
        found.push(disturbance);
        let taken: BTreeSet<usize> = rhythm.own.into_iter().chain(rhythm.further).collect();
        let mut index = 0..;
        interruptions.retain(|_| index.next().is_some_and(|index| !taken.contains(&index)));
    }
    found
}

/// The lateness of the sampled instances, ns.
fn lateness_of(arrivals: &LateArrivals) -> Vec<i64> {
    let sampled = arrivals.sampled().into_iter();
    sampled.map(|instance| instance.lateness_ns).collect()
}

/// The lateness above which an arrival is an outlier, ns.
fn ordinary_ns(arrivals: &LateArrivals) -> i64 {
    let mut lateness = lateness_of(arrivals);
    lateness.sort_unstable();
    let quartile = |quarters: usize| lateness[(lateness.len() - 1) * quarters / 4];
    let (lower, upper) = (quartile(1), quartile(3));
    let distance = upper.saturating_sub(lower);
    upper.saturating_add(distance.saturating_mul(QUARTILE_DISTANCES))
}

fn summary(
    inputs: &Inputs<'_>,
    groups: &[Group<'_>],
    rhythm: &Rhythm,
    own: &[&Interruption],
    is_least: bool,
) -> DisturbanceSummary {
    let operations = disturbed_operations(groups, rhythm, own, is_least);
    let mut excess: Vec<i64> = own.iter().map(|own| own.arrival().excess_ns).collect();
    excess.sort_unstable();
    DisturbanceSummary {
        // Rounded down, so that so many periods fit into the run.
        period_ns: rhythm.period_ns as i64,
        period_error_ns: rhythm.period_error_ns.ceil() as i64,
        scatter_ns: rhythm.scatter_ns.round() as i64,
        n: own.len() as u64,
        is_least,
        excess_ns: excess[excess.len() / 2],
        late: late_alone(inputs, rhythm, own).or_else(|| late_party(inputs, groups, own)),
        wait_caused_ns: sum_ns(operations.iter().map(|operation| operation.wait_caused_ns)),
        basis: rhythm.basis,
        in_step: rhythm.in_step.clone(),
        operations,
    }
}

/// The operations that the late arrivals belong to, most waiting caused first.
fn disturbed_operations(
    groups: &[Group<'_>],
    rhythm: &Rhythm,
    own: &[&Interruption],
    is_least: bool,
) -> Vec<DisturbedOperation> {
    let mut caused_ns: BTreeMap<usize, i64> = BTreeMap::new();
    for (&group, &ns) in own.iter().flat_map(|interruption| &interruption.caused_ns) {
        add_ns(caused_ns.entry(group).or_default(), ns);
    }
    let operations = caused_ns.into_iter().map(|(group, wait_caused_ns)| {
        let &(communicator, operation) = groups[group].0;
        DisturbedOperation {
            communicator,
            operation: operation.name().into(),
            wait_caused_ns,
            wait_caused_estimate_ns: (rhythm.recurrence.as_ref())
                .filter(|steps| is_least && steps.series == communicator)
                .and_then(|steps| estimate_ns(groups[group].1, steps)),
        }
    });
    let mut operations: Vec<DisturbedOperation> = operations.collect();
    operations.sort_by_key(|operation| std::cmp::Reverse(operation.wait_caused_ns));
    operations
}

/// What the waits at the steps of a recurrence come to, ns, by the sampled instances.
fn estimate_ns(lateness: &Lateness, steps: &StepPeriod) -> Option<i64> {
    let sampled = || lateness.arrivals.sampled().into_iter();
    let all_ns = sum_ns(sampled().map(|instance| instance.caused_ns));
    let at_steps = sampled().filter(|instance| instance.sequence % steps.steps == steps.phase);
    let own_ns = sum_ns(at_steps.map(|instance| instance.caused_ns));
    let waits_ns = sum_ns(lateness.members.iter().map(|member| member.caused_ns));
    (all_ns > 0).then(|| (waits_ns as f64 * (own_ns as f64 / all_ns as f64)) as i64)
}

/// The rank of which all late arrivals are, where those of one were searched, if it was late alone in most of them.
fn late_alone(inputs: &Inputs<'_>, rhythm: &Rhythm, own: &[&Interruption]) -> Option<Culprit> {
    let rank = inputs.run.processes[rhythm.process?].rank();
    let alone = own.iter().filter(|own| own.arrival().n_late == 1);
    (alone.count() as f64 >= MIN_PART * own.len() as f64).then_some(Culprit::Rank(rank))
}

/// The rank, or else the host, of most of the late arrivals: the rank, if it was late alone. Else the ranks that were late
/// together most of the times.
fn late_party(inputs: &Inputs<'_>, groups: &[Group<'_>], own: &[&Interruption]) -> Option<Culprit> {
    let Inputs { run, clocks, .. } = inputs;
    let late = own.iter().filter_map(|interruption| {
        let arrival = interruption.arrival();
        let member = &groups[interruption.group()].1.members[arrival.position];
        Some((arrival, member.process?))
    });
    let late: Vec<(&LateArrival, usize)> = late.collect();
    let n = late.len() as u64;
    let most_of = |parties: &mut dyn Iterator<Item = usize>| {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        parties.for_each(|party| *counts.entry(party).or_default() += 1);
        let most = counts.into_iter().rev().max_by_key(|(_, n)| *n)?;
        (most.1 as f64 >= MIN_PART * n as f64).then_some(most)
    };
    let is_beyond_chance = |k: u64, n_alike: usize, share: f64| {
        share < 1.0 && binomial_tail(n, k, share) * (n_alike as f64) < MAX_P
    };
    let n_processes = run.processes.len();
    let alone = late.iter().filter(|(arrival, _)| arrival.n_late == 1);
    if let Some((process, k)) = most_of(&mut alone.map(|(_, process)| *process))
        && is_beyond_chance(k, n_processes, 1.0 / n_processes as f64)
    {
        return Some(Culprit::Rank(run.processes[process].rank()));
    }
    let host_of = |process: usize| clocks.processes[process].host;
    let of_one_host = late.iter().filter(|(arrival, _)| arrival.is_on_one_host);
    let most = most_of(&mut of_one_host.map(|(_, process)| host_of(*process)));
    let host = most.filter(|&(host, k)| {
        let on_host = (0..n_processes).filter(|&process| host_of(process) == host);
        let share = on_host.count() as f64 / n_processes as f64;
        is_beyond_chance(k, clocks.hosts.len(), share)
    });
    match host {
        Some((host, _)) => Some(Culprit::Host(clocks.hosts[host].name.clone())),
        None => late_together(inputs, groups, own).map(Culprit::Ranks),
    }
}

/// The ranks that were late together, at most of the late arrivals the same.
fn late_together(
    inputs: &Inputs<'_>,
    groups: &[Group<'_>],
    own: &[&Interruption],
) -> Option<Vec<u32>> {
    let mut counts: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for interruption in own {
        let arrival = interruption.arrival();
        if arrival.n_late > 1 && arrival.together != 0 {
            let key = (interruption.group(), arrival.together);
            *counts.entry(key).or_default() += 1;
        }
    }
    let (&(group, positions), &n) = counts.iter().max_by_key(|(_, n)| **n)?;
    if n < MIN_TOGETHER || (n as f64) < MIN_PART * own.len() as f64 {
        return None;
    }
    let members = groups[group].1.members.iter().enumerate();
    let late = members
        .take(u64::BITS as usize)
        .filter(|&(position, _)| positions >> position & 1 == 1);
    let mut ranks: Vec<u32> = late
        .map(|(_, member)| Some(inputs.run.processes[member.process?].rank()))
        .collect::<Option<_>>()?;
    ranks.sort_unstable();
    Some(ranks)
}

//! From sums to results: periodic disturbances, such as a daemon every second.
//!
//! Late arrivals that are outliers of their operation, over all operations, are grouped into
//! interruptions: a process that is interrupted before it initiates ten collectives at once is late
//! for all of them, and that is one event, not ten. The interruptions are searched for a period;
//! those that belong to it are removed, and the rest searched again.

use std::collections::BTreeMap;

use collbench_formats::Operation;
use collbench_stats::chance::binomial_tail;
use collbench_stats::integers::{add_ns, sum_ns};
use collbench_stats::periods::{EventTimes, Period, find_period};

use crate::judge::inputs::Inputs;
use crate::results::over_time::{
    Culprit, DisturbanceSummary, DisturbedOperation, InStep, PeriodBasis,
};
use crate::sums::late_arrivals::{LateArrival, LateArrivals, MAX_LATEST};
use crate::sums::lateness::Lateness;

/// Most interruptions that are searched at once.
const MAX_EVENTS: usize = 256;
/// Most disturbances.
const MAX_FOUND: usize = 3;
/// Fewest sampled instances of an operation from which outliers can be defined.
const MIN_SAMPLED: usize = 16;
/// An arrival is out of the ordinary that is later than the upper quartile by so many times the
/// distance of the quartiles.
const QUARTILE_DISTANCES: i64 = 3;
/// Smallest share of the late arrivals that makes one rank or host the late party.
const MIN_PART: f64 = 0.7;
/// Largest probability of naming one wrongly.
const MAX_P: f64 = 0.01;
/// A period is at least this many times as long as an interruption.
const MIN_PERIODS: f64 = 2.0;

/// A late arrival, and the index of its operation on its communicator.
type Event = (LateArrival, usize);
type Group<'a> = (&'a (usize, Operation), &'a Lateness);

/// Late arrivals whose delays overlap with that of the latest of them: one interruption.
#[derive(Debug, Clone)]
struct Interruption {
    /// The latest.
    latest: Event,
    /// Waits that all of them ended, ns, by index of the operation on its communicator.
    caused_ns: BTreeMap<usize, i64>,
}

/// Groups late arrivals into interruptions, the longest first, and whether there are more;
/// `events`: the latest first.
fn interruptions(events: &[Event]) -> (Vec<Interruption>, bool) {
    let mut interruptions: Vec<Interruption> = Vec::new();
    // By its begin, the end of each, and which it is: none begins before the one in front is over.
    let mut spans: BTreeMap<i64, (i64, usize)> = BTreeMap::new();
    let mut are_more = false;
    for &(arrival, group) in events {
        let from_ns = arrival.at_ns.saturating_sub(arrival.excess_ns);
        let before = spans.range(..=arrival.at_ns).next_back();
        if let Some((_, &(_, interruption))) = before.filter(|(_, (end_ns, _))| *end_ns >= from_ns)
        {
            let sums = &mut interruptions[interruption].caused_ns;
            add_ns(sums.entry(group).or_default(), arrival.caused_ns);
        } else if interruptions.len() < MAX_EVENTS {
            spans.insert(from_ns, (arrival.at_ns, interruptions.len()));
            interruptions.push(Interruption {
                latest: (arrival, group),
                caused_ns: BTreeMap::from([(group, arrival.caused_ns)]),
            });
        } else {
            are_more = true;
        }
    }
    (interruptions, are_more)
}

/// The disturbances, most waiting caused first.
pub(crate) fn disturbances(inputs: &Inputs<'_>) -> Vec<DisturbanceSummary> {
    let groups: Vec<Group<'_>> = inputs
        .sums
        .lateness
        .iter()
        .filter(|(_, lateness)| lateness.arrivals.sampled().len() >= MIN_SAMPLED)
        .collect();
    let mut events: Vec<Event> = Vec::new();
    let mut is_least = false;
    for (index, (_, lateness)) in groups.iter().enumerate() {
        let ordinary_ns = ordinary_ns(&lateness.arrivals);
        let latest = lateness.arrivals.latest().iter();
        let n_before = events.len();
        events.extend(
            latest
                .take_while(|arrival| arrival.excess_ns > ordinary_ns)
                .map(|&arrival| (arrival, index)),
        );
        is_least |= events.len() - n_before == MAX_LATEST;
    }
    events.sort_unstable_by(|a, b| b.cmp(a));
    let (mut interruptions, are_more) = interruptions(&events);
    is_least |= are_more;

    let background: Vec<Vec<i64>> = groups
        .iter()
        .map(|(_, lateness)| {
            let sampled = lateness.arrivals.sampled().iter();
            let mut times: Vec<i64> = sampled.map(|instance| instance.at_ns).collect();
            times.sort_unstable();
            times
        })
        .collect();
    let times = background.iter().flatten();
    let most = groups.iter().map(|(_, lateness)| lateness.instances).max();
    let (Some(&begin), Some(&end), Some(most)) = (times.clone().min(), times.max(), most) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    while found.len() < MAX_FOUND {
        let at = interruptions
            .iter()
            .map(|interruption| (interruption.latest.0.at_ns, interruption.latest.1));
        let at: Vec<(i64, usize)> = at.collect();
        let Some(rhythm) = find_period(&EventTimes {
            events: &at,
            background: &background,
            range_ns: (begin, end),
            interval_ns: end.saturating_sub(begin) as f64 / most as f64,
        }) else {
            break;
        };
        let own: Vec<Interruption> = rhythm
            .events
            .iter()
            .map(|&index| interruptions[index].clone())
            .collect();
        let disturbance = summary(inputs, &groups, &rhythm, &own, is_least);
        if disturbance.excess_ns as f64 * MIN_PERIODS > rhythm.period_ns {
            break;
        }
        interruptions
            .retain(|interruption| !own.iter().any(|other| other.latest == interruption.latest));
        found.push(disturbance);
    }
    found.sort_by_key(|disturbance| std::cmp::Reverse(disturbance.wait_caused_ns));
    found
}

/// The excess above which an arrival is an outlier, ns.
fn ordinary_ns(arrivals: &LateArrivals) -> i64 {
    let sampled = arrivals.sampled().iter();
    let mut excess: Vec<i64> = sampled.map(|instance| instance.excess_ns).collect();
    excess.sort_unstable();
    let quartile = |quarters: usize| excess[(excess.len() - 1) * quarters / 4];
    let (lower, upper) = (quartile(1), quartile(3));
    let distance = upper.saturating_sub(lower);
    upper.saturating_add(distance.saturating_mul(QUARTILE_DISTANCES))
}

fn summary(
    inputs: &Inputs<'_>,
    groups: &[Group<'_>],
    rhythm: &Period,
    own: &[Interruption],
    is_least: bool,
) -> DisturbanceSummary {
    let operations = disturbed_operations(groups, own);
    let wait_caused_ns = sum_ns(operations.iter().map(|operation| operation.wait_caused_ns));
    let own: &[Event] = &own
        .iter()
        .map(|interruption| interruption.latest)
        .collect::<Vec<_>>();
    let mut excess: Vec<i64> = own.iter().map(|(arrival, _)| arrival.excess_ns).collect();
    excess.sort_unstable();
    DisturbanceSummary {
        period_ns: rhythm.period_ns.round() as i64,
        period_error_ns: rhythm.period_error_ns.ceil() as i64,
        scatter_ns: rhythm.scatter_ns.round() as i64,
        n: own.len() as u64,
        is_least,
        excess_ns: excess[excess.len() / 2],
        late: late_party(inputs, groups, own),
        wait_caused_ns,
        basis: Some(match in_step(groups, own) {
            Some(_) => PeriodBasis::Steps,
            None => PeriodBasis::Time,
        }),
        in_step: in_step(groups, own),
        operations,
    }
}

/// The operations that the late arrivals belong to, most waiting caused first.
fn disturbed_operations(groups: &[Group<'_>], own: &[Interruption]) -> Vec<DisturbedOperation> {
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
        }
    });
    let mut operations: Vec<DisturbedOperation> = operations.collect();
    operations.sort_by_key(|operation| std::cmp::Reverse(operation.wait_caused_ns));
    operations
}

/// The rank, or else the host, of most of the late arrivals.
fn late_party(inputs: &Inputs<'_>, groups: &[Group<'_>], own: &[Event]) -> Option<Culprit> {
    let Inputs { run, clocks, .. } = inputs;
    let processes: Vec<usize> = own
        .iter()
        .filter_map(|(arrival, group)| groups[*group].1.members[arrival.position].process)
        .collect();
    let n = processes.len() as u64;
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
    if let Some((process, k)) = most_of(&mut processes.iter().copied())
        && is_beyond_chance(k, n_processes, 1.0 / n_processes as f64)
    {
        return Some(Culprit::Rank(run.processes[process].rank()));
    }
    let host_of = |process: usize| clocks.processes[process].host;
    let (host, k) = most_of(&mut processes.iter().map(|&process| host_of(process)))?;
    let on_host = (0..n_processes)
        .filter(|&process| host_of(process) == host)
        .count();
    let share = on_host as f64 / n_processes as f64;
    is_beyond_chance(k, clocks.hosts.len(), share)
        .then(|| Culprit::Host(clocks.hosts[host].name.clone()))
}

/// Whether the late arrivals are so many calls of one operation apart, or multiples of that.
fn in_step(groups: &[Group<'_>], own: &[Event]) -> Option<InStep> {
    let group = own.first()?.1;
    if own.iter().any(|(_, other)| *other != group) {
        return None;
    }
    let base = own.iter().map(|(arrival, _)| arrival.sequence).min()?;
    let apart = own.iter().map(|(arrival, _)| arrival.sequence - base);
    let every = apart.fold(0, greatest_common_divisor);
    let &(communicator, operation) = groups[group].0;
    (every > 1).then_some(InStep {
        communicator,
        operation: operation.name().into(),
        every,
        calls_per_iteration: None,
    })
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        b => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(at_ns: i64, excess_ns: i64) -> Event {
        let arrival = LateArrival {
            excess_ns,
            at_ns,
            position: 0,
            sequence: at_ns.unsigned_abs(),
            caused_ns: 10,
        };
        (arrival, 0)
    }

    #[test]
    fn arrivals_that_are_late_at_once_are_one_stop() {
        let mut events = [
            arrival(1_000, 400),
            // Begun right behind it, and late by as much.
            arrival(1_003, 399),
            arrival(1_006, 399),
            // Another rank, stopped meanwhile, and one that was late before.
            arrival(900, 150),
            arrival(599, 100),
            arrival(3_000, 500),
        ];
        events.sort_unstable_by(|a, b| b.cmp(a));
        let (interruptions, are_more) = interruptions(&events);
        let found: Vec<(i64, i64)> = interruptions
            .iter()
            .map(|it| (it.latest.0.at_ns, sum_ns(it.caused_ns.values().copied())))
            .collect();
        assert_eq!(found, [(3_000, 10), (1_000, 40), (599, 10)]);
        assert!(!are_more);
    }

    #[test]
    fn of_many_stops_the_longest_are_kept() {
        let n = MAX_EVENTS as i64 + 5;
        let mut events: Vec<Event> = (0..n).map(|at| arrival(1_000 * at, 10 + at)).collect();
        events.sort_unstable_by(|a, b| b.cmp(a));
        let (interruptions, are_more) = interruptions(&events);
        assert!(are_more && interruptions.len() == MAX_EVENTS);
        assert_eq!(interruptions[0].latest, events[0]);
    }
}

//! Random programs: costs add up to the waits, and are those of the second implementation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use collbench_causes::{Attribution, Cause, Instance, Part, PartOfProcess, Polled};
use collbench_stats::random::Random;
use proptest::prelude::*;

use crate::reference;
use crate::simulation::{Kind, Step, carry_out, costs, waits_ns};

/// Times of programs are multiples of this: what is rounded hardly matters.
const UNIT_NS: i64 = 100_000;

/// Costs of the second implementation that are not those that were found, but for what is rounded.
fn wrong(
    found: &BTreeMap<(Cause, u64), (i64, i64)>,
    expected: &BTreeMap<(Cause, u64), (i64, i64)>,
) -> Vec<String> {
    let keys: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    let differ = keys.into_iter().filter(|key| {
        let [(direct, propagated), others] =
            [found, expected].map(|costs| costs.get(key).copied().unwrap_or_default());
        (direct - others.0).abs().max((propagated - others.1).abs()) > UNIT_NS / 1000
    });
    let both = |key| format!("{key:?}: {:?}, not {:?}", found.get(key), expected.get(key));
    differ.map(both).collect()
}

/// A program of some processes on communicators that overlap.
fn program(seed: u64, n_steps: usize) -> (usize, Vec<Vec<u32>>, Vec<Step>) {
    let mut random = Random::of(&[seed]);
    let mut below = |n: usize| random.below(n);
    let n = 2 + below(6);
    let mut communicators = vec![(0..n as u32).collect::<Vec<u32>>()];
    for _ in 0..below(4) {
        let members: Vec<u32> = (0..n as u32).filter(|_| below(3) > 0).collect();
        if members.len() > 1 {
            communicators.push(members);
        }
    }
    let steps = (0..n_steps).map(|_| {
        let communicator = below(communicators.len());
        let n = communicators[communicator].len();
        let root = below(n);
        let kind = match below(8) {
            0..4 => Kind::All,
            4 | 5 => Kind::FromRoot(root),
            6 => Kind::ToRoot(root),
            _ => Kind::Prefix,
        };
        let mut some = |most: usize| {
            (0..n)
                .map(|_| below(most) as i64 * UNIT_NS)
                .collect::<Vec<i64>>()
        };
        let (work_ns, inside_ns, overlapped) = (some(1000), some(200), some(300));
        let is_blocking = !matches!(kind, Kind::All) || below(3) > 0;
        Step {
            communicator,
            operation: below(5) as u64,
            kind,
            work_ns,
            inside_ns: inside_ns.iter().map(|ns| ns + 1).collect(),
            overlapped_ns: (!is_blocking).then_some(overlapped),
        }
    });
    let steps = steps.collect();
    (n, communicators, steps)
}

/// A program of so many processes that not all are compared, in blocking collectives but for some: on all of them, on rows,
/// which all have another operation, and on columns.
fn wide_program(seed: u64, n_steps: usize) -> (usize, Vec<Vec<u32>>, Vec<Step>) {
    let mut random = Random::of(&[seed, 3]);
    let mut below = |n: usize| random.below(n);
    let (n_rows, n_columns) = (5_u32, 8_u32);
    let n = n_rows * n_columns;
    let mut communicators = vec![(0..n).collect::<Vec<u32>>()];
    communicators
        .extend((0..n_rows).map(|row| (0..n_columns).map(|at| row * n_columns + at).collect()));
    communicators.extend(
        (0..n_columns).map(|column| (0..n_rows).map(|at| at * n_columns + column).collect()),
    );
    let mut steps = Vec::new();
    for _ in 0..n_steps {
        let parts = match below(6) {
            0 | 1 => 1..=n_rows as usize,
            2 if below(2) == 0 => n_rows as usize + 1..=(n_rows + n_columns) as usize,
            _ => 0..=0,
        };
        let kind = below(6);
        let is_blocking = below(30) > 0;
        let work = [1, 10, 1000][below(3)];
        for communicator in parts {
            let n = communicators[communicator].len();
            let root = below(n);
            let mut some = |most: usize| -> Vec<i64> {
                (0..n).map(|_| below(most) as i64 * UNIT_NS).collect()
            };
            let (work_ns, inside_ns, overlapped) = (some(work), some(20), some(30));
            steps.push(Step {
                communicator,
                operation: (10 * kind + communicator) as u64,
                kind: match kind {
                    0..3 => Kind::All,
                    3 => Kind::FromRoot(root),
                    4 => Kind::ToRoot(root),
                    _ => Kind::Prefix,
                },
                work_ns,
                inside_ns: inside_ns.iter().map(|ns| ns + 1).collect(),
                overlapped_ns: (!is_blocking && kind < 3).then_some(overlapped),
            });
        }
    }
    (n as usize, communicators, steps)
}

/// A program as a coarse clock sees it: most of what processes do takes no time.
fn coarse(
    (n, communicators, mut steps): (usize, Vec<Vec<u32>>, Vec<Step>),
) -> (usize, Vec<Vec<u32>>, Vec<Step>) {
    for step in &mut steps {
        let overlapped_ns = step.overlapped_ns.iter_mut();
        let times = [&mut step.work_ns, &mut step.inside_ns];
        for ns in times.into_iter().chain(overlapped_ns).flatten() {
            *ns = *ns / (150 * UNIT_NS) * UNIT_NS;
        }
    }
    (n, communicators, steps)
}

/// Adds something that processes did between their calls.
fn add_gaps(attribution: &mut Attribution, n: usize, instances: &[Instance], seed: u64) {
    let mut random = Random::of(&[seed, 2]);
    let mut calls: Vec<(u32, [i64; 2])> = Vec::new();
    for instance in instances {
        let members = instance.members.iter().zip(instance.calls.iter());
        calls.extend(members.map(|(&member, call)| (member, [call.enter_ns, call.leave_ns])));
    }
    calls.sort_unstable_by_key(|&(_, [enter_ns, _])| enter_ns);
    let mut left_ns = vec![0; n];
    for (process, [enter_ns, leave_ns]) in calls {
        let left_ns = &mut left_ns[process as usize];
        let span_ns = [*left_ns, enter_ns];
        let ns = (enter_ns - *left_ns) * random.below(100) as i64 / 100;
        *left_ns = leave_ns.max(*left_ns);
        let partner = Some(random.below(n) as u32);
        let part = match random.below(6) {
            0 => Part::Io,
            1 | 2 => Part::PointToPoint(partner),
            3 => {
                attribution.add_polled(&Polled {
                    process,
                    partner,
                    span_ns,
                    ns,
                });
                continue;
            }
            _ => continue,
        };
        if ns > 0 {
            attribution.add_part(PartOfProcess {
                process,
                part,
                span_ns,
                ns,
            });
        }
    }
}

/// How many random programs are tried: `COLLBENCH_RANDOM_PROGRAMS` in the environment, or 300.
fn n_programs() -> u32 {
    let given = std::env::var("COLLBENCH_RANDOM_PROGRAMS");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_programs()))]

    #[test]
    fn costs_add_up_to_the_waits_and_do_not_depend_on_when_instances_are_added(seed: u64) {
        let (n, communicators, steps) = program(seed, 60);
        let instances = carry_out(n, &communicators, &steps);
        let at_once = costs(n, &instances);
        let sum: i64 = at_once.values().map(|cost| cost.ns()).sum();
        prop_assert_eq!(sum, waits_ns(&instances));
        prop_assert!(at_once.values().all(|cost| cost.direct_ns >= 0 && cost.propagated_ns >= 0));
        // In some order, and in parts: those that begin before a time together.
        let first_enter = |instance: &collbench_causes::Instance| {
            instance.calls.iter().map(|call| call.enter_ns).min().unwrap()
        };
        let mut left = instances.clone();
        left.sort_by_key(first_enter);
        let mut attribution = Attribution::new(&vec![0; n]);
        for part in left.chunks(7) {
            attribution.advance(first_enter(&part[0]));
            for instance in part.iter().rev() {
                attribution.add(instance.clone());
            }
        }
        prop_assert_eq!(attribution.finish(None).costs, at_once);
    }

    #[test]
    fn sections_cost_what_the_whole_run_does(seed: u64) {
        let (n, communicators, steps) = program(seed, 60);
        let instances = carry_out(n, &communicators, &steps);
        let attributed = |n_calls: usize| {
            let mut attribution = Attribution::new(&vec![0; n]).with_sections_of(n_calls);
            add_gaps(&mut attribution, n, &instances, seed);
            attribution.add_all(instances.iter().cloned().map(|of| Arc::new(of.into())).collect());
            attribution.advance(i64::MAX);
            attribution.finish(None)
        };
        let (whole, divided) = (attributed(usize::MAX), attributed(1));
        prop_assert_eq!(&divided.costs, &whole.costs);
        prop_assert_eq!(&divided.gaps, &whole.gaps);
        prop_assert_eq!(&divided.starts, &whole.starts);
        prop_assert_eq!(divided.excesses.len(), whole.excesses.len());
        for ((key, divided), (other, whole)) in divided.excesses.iter().zip(&whole.excesses) {
            prop_assert_eq!(key, other);
            prop_assert_eq!(&divided.largest, &whole.largest);
            prop_assert_eq!(divided.span_ns, whole.span_ns);
            for (divided, whole) in divided.by_slot.iter().zip(&whole.by_slot) {
                prop_assert_eq!((divided.n, divided.n_most), (whole.n, whole.n_most));
                // They are added up in another order.
                let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1e6);
                prop_assert!(is_near(divided.sum_ns, whole.sum_ns));
                prop_assert!(is_near(divided.squares, whole.squares));
            }
        }
    }

    #[test]
    fn columns_cost_what_calls_one_by_one_do(seed: u64) {
        let programs = [program(seed, 60), wide_program(seed, 15), coarse(program(seed, 60))];
        for (n, communicators, steps) in programs {
            let instances = carry_out(n, &communicators, &steps);
            // With something else than calls, and without.
            for (has_gaps, n_calls) in [(false, usize::MAX), (false, 1), (true, 1)] {
                let attributed = |attribution: Attribution| {
                    let mut attribution = attribution.with_sections_of(n_calls);
                    if has_gaps {
                        add_gaps(&mut attribution, n, &instances, seed);
                    }
                    for instance in &instances {
                        attribution.add(instance.clone());
                    }
                    attribution.finish(None)
                };
                let new = || Attribution::new(&vec![0; n]);
                prop_assert_eq!(attributed(new()), attributed(new().without_columns()));
            }
        }
    }

    #[test]
    fn costs_are_those_of_the_second_implementation(seed: u64) {
        let (n, communicators, steps) = program(seed, 40);
        let instances = carry_out(n, &communicators, &steps);
        let (found, expected) = (costs(n, &instances), reference::costs(&instances, &[]));
        let found = found.into_iter().map(|(key, cost)| (key, (cost.direct_ns, cost.propagated_ns)));
        prop_assert_eq!(wrong(&found.collect(), &expected), Vec::<String>::new());
    }

    #[test]
    fn so_are_they_where_it_is_known_when_processes_began(seed: u64) {
        let (n, communicators, steps) = program(seed, 20);
        let instances = carry_out(n, &communicators, &steps);
        let mut random = Random::of(&[seed, 1]);
        let begins_ns: Vec<i64> = (0..n as u32).map(|process| {
            let enters_ns = instances.iter().filter_map(|instance| {
                let slot = instance.members.iter().position(|&of| of == process)?;
                Some(instance.calls.call(slot).enter_ns)
            });
            // Before it enters anything.
            enters_ns.min().unwrap_or(0) * random.below(100) as i64 / 100 - 1
        }).collect();
        let mut attribution = Attribution::new(&vec![0; n]);
        for (process, &begin_ns) in (0..).zip(&begins_ns) {
            attribution.add_begin(process, begin_ns);
        }
        for instance in &instances {
            attribution.add(instance.clone());
        }
        let found = attribution.finish(None).costs.into_iter();
        let found = found.map(|(key, cost)| (key, (cost.direct_ns, cost.propagated_ns)));
        let found: BTreeMap<_, _> = found.collect();
        prop_assert_eq!(wrong(&found, &reference::costs(&instances, &begins_ns)), Vec::<String>::new());
    }
}

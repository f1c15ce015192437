//! Programs with one fault, which is what all waits are charged to.

use collbench_causes::{Attribution, Cause, Cost, Costs, Instance, Part, PartOfProcess, Polled};

use crate::simulation::{Kind, Step, carry_out, costs, waits_ns};

/// A blocking step: work by slot, 10 ns inside.
fn step(communicator: usize, operation: u64, kind: Kind, work_ns: &[i64]) -> Step {
    Step {
        communicator,
        operation,
        kind,
        work_ns: work_ns.to_vec(),
        inside_ns: vec![10; work_ns.len()],
        overlapped_ns: None,
    }
}

/// By cause: direct and propagated, ns.
fn by_cause(costs: &Costs) -> Vec<(Cause, i64, i64)> {
    let mut sums: Vec<(Cause, i64, i64)> = Vec::new();
    for (&(cause, _), cost) in costs {
        match sums.iter_mut().find(|sum| sum.0 == cause) {
            Some(sum) => {
                sum.1 += cost.direct_ns;
                sum.2 += cost.propagated_ns;
            }
            None => sums.push((cause, cost.direct_ns, cost.propagated_ns)),
        }
    }
    sums
}

/// The process is late because of its own work.
fn late(process: u32) -> Cause {
    Cause::Late {
        process,
        part: None,
    }
}

fn world(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[test]
fn a_process_with_more_work_is_the_cause_of_all_waits() {
    let steps: Vec<Step> = (0..10)
        .map(|_| step(0, 0, Kind::All, &[100, 100, 150, 100]))
        .collect();
    let instances = carry_out(4, &[world(4)], &steps);
    let costs = by_cause(&costs(4, &instances));
    // Nothing is known before the first instance.
    assert_eq!(
        costs,
        [(late(2), 9 * 3 * 50, 0), (Cause::Startup, 3 * 50, 0)]
    );
}

#[test]
fn nobody_is_accused_because_one_process_has_less_to_do() {
    let steps: Vec<Step> = (0..10)
        .map(|_| step(0, 0, Kind::All, &[100, 20, 100, 100]))
        .collect();
    let instances = carry_out(4, &[world(4)], &steps);
    let imbalance = Cause::Imbalance { communicator: 0 };
    let costs = by_cause(&costs(4, &instances));
    assert_eq!(costs, [(imbalance, 9 * 80, 0), (Cause::Startup, 80, 0)]);
}

#[test]
fn waits_for_those_who_waited_are_charged_to_whom_they_waited_for() {
    // Two rows; process 1 has more work in its row, and all meet behind.
    let rows = [vec![0, 1], vec![2, 3], world(4)];
    let mut steps = vec![step(2, 9, Kind::All, &[0; 4])];
    for _ in 0..5 {
        for _ in 0..20 {
            steps.push(step(0, 0, Kind::All, &[100, 130]));
            steps.push(step(1, 0, Kind::All, &[100, 100]));
        }
        steps.push(step(2, 1, Kind::All, &[5; 4]));
    }
    let instances = carry_out(4, &rows, &steps);
    let all = costs(4, &instances);
    let in_rows = 5 * 20 * 30;
    assert_eq!(all[&(late(1), 0)].direct_ns, in_rows);
    // Process 0 is waited for because it waited for 1: where the two are equally late, either one may be
    // the last.
    let cost = all[&(late(1), 1)];
    assert_eq!(cost.ns(), 5 * 2 * 20 * 30);
    assert_eq!(
        all.values().map(|cost| cost.ns()).sum::<i64>(),
        waits_ns(&instances)
    );
    assert_eq!(by_cause(&all).len(), 1, "{all:?}");
}

#[test]
fn a_root_that_is_late_because_a_reduce_takes_long_is_innocent() {
    let (reduce, broadcast) = (0, 1);
    let mut steps = Vec::new();
    for _ in 0..10 {
        let mut slow = step(0, reduce, Kind::ToRoot(0), &[100; 4]);
        slow.inside_ns = vec![500, 10, 10, 10];
        steps.push(slow);
        steps.push(step(0, broadcast, Kind::FromRoot(0), &[0; 4]));
    }
    let instances = carry_out(4, &[world(4)], &steps);
    let costs = by_cause(&costs(4, &instances));
    assert_eq!(costs, [(Cause::Operation(reduce), 10 * 3 * 490, 0)]);
}

/// The costs where processes spent some of the time before an instance on something: process, index of the
/// instance, on what, and how long, ns.
fn costs_with(
    n_processes: usize,
    instances: &[Instance],
    parts: &[(u32, usize, Part, i64)],
) -> Vec<(Cause, i64, i64)> {
    let mut attribution = Attribution::new(&vec![0; n_processes]);
    for &(process, at, part, ns) in parts {
        let call = |at: usize| instances[at].calls.call(process as usize);
        attribution.add_part(PartOfProcess {
            process,
            part,
            span_ns: [call(at - 1).leave_ns, call(at).enter_ns],
            ns,
        });
    }
    for instance in instances {
        attribution.add(instance.clone());
    }
    by_cause(&attribution.finish(None).costs)
}

#[test]
fn who_waits_for_a_neighbour_with_more_work_is_innocent() {
    // Process 2 has more work, and 1 and 3 wait for its message before all meet; 3 is the last to enter.
    let step = |work: &[i64]| step(0, 0, Kind::All, work);
    let mut steps = vec![step(&[0; 6])];
    steps.extend((0..10).map(|_| step(&[100, 149, 150, 151, 100, 100])));
    let instances = carry_out(6, &[world(6)], &steps);
    let with_2 = Part::PointToPoint(Some(2));
    let parts: Vec<_> = (1..=10)
        .flat_map(|at| [(1, at, with_2, 49), (3, at, with_2, 51)])
        .collect();
    let waits_ns = waits_ns(&instances);
    let costs = costs_with(6, &instances, &parts);
    // What is left is that the message took 1 ns.
    assert_eq!(costs.iter().map(|of| of.1 + of.2).sum::<i64>(), waits_ns);
    let of = |cause| costs.iter().find(|of| of.0 == cause).map_or(0, |of| of.1);
    assert!(of(late(2)) * 10 >= waits_ns * 9, "{costs:?}");
}

#[test]
fn who_waits_for_a_partner_that_has_no_more_work_is_late_because_of_that() {
    let step = |work: &[i64]| step(0, 0, Kind::All, work);
    let mut steps = vec![step(&[0; 4])];
    steps.extend((0..10).map(|_| step(&[100, 100, 100, 160])));
    let instances = carry_out(4, &[world(4)], &steps);
    let parts: Vec<_> = (1..=10)
        .map(|at| (3, at, Part::PointToPoint(Some(0)), 60))
        .collect();
    let cause = Cause::Late {
        process: 3,
        part: Some(Part::PointToPoint(Some(0))),
    };
    let costs = costs_with(4, &instances, &parts);
    assert_eq!(costs, [(cause, 10 * 3 * 60, 0)]);
}

#[test]
fn what_cannot_have_taken_so_long_costs_no_more_than_the_waits() {
    // As damaged traces have it: longer than there is time, and more together than a number can hold.
    let step = |work: &[i64]| step(0, 0, Kind::All, work);
    let mut steps = vec![step(&[0; 4])];
    steps.extend((0..10).map(|_| step(&[100, 100, 100, 160])));
    let instances = carry_out(4, &[world(4)], &steps);
    let long = |part| (0..4).flat_map(move |n| (1..=10).map(move |at| (n, at, part, i64::MAX - 7)));
    let kinds = [
        Part::Io,
        Part::Rma,
        Part::Recorder,
        Part::Operation(7),
        Part::Operation(8),
        Part::PointToPoint(Some(1)),
        Part::PointToPoint(Some(2)),
    ];
    let parts: Vec<_> = kinds.into_iter().flat_map(long).collect();
    for parts in [&parts[..], &parts[..50], &parts[30..120]] {
        let costs = costs_with(4, &instances, parts);
        assert!(costs.iter().all(|of| of.1 >= 0 && of.2 >= 0), "{costs:?}");
        let sum: i64 = costs.iter().map(|of| of.1 + of.2).sum();
        assert_eq!(sum, waits_ns(&instances), "{costs:?}");
    }
}

#[test]
fn communication_that_all_have_with_other_partners_is_no_excess() {
    // In a ring each communicates for as long with its own neighbour; process 1 has 20 ns more work.
    let step = |work: &[i64]| step(0, 0, Kind::All, work);
    let mut steps = vec![step(&[0; 4])];
    steps.extend((0..10).map(|_| step(&[500, 520, 500, 500])));
    let instances = carry_out(4, &[world(4)], &steps);
    let ring = |at| (0..4).map(move |n| (n, at, Part::PointToPoint(Some((n + 1) % 4)), 400));
    let parts: Vec<_> = (1..=10).flat_map(ring).collect();
    let costs = costs_with(4, &instances, &parts);
    assert_eq!(costs, [(late(1), 10 * 3 * 20, 0)]);
}

#[test]
fn what_is_not_counted_explains_what_is() {
    // Process 1 is late in its row, which is not counted.
    let rows = [vec![0, 1], world(4)];
    let steps = [
        step(1, 9, Kind::All, &[0; 4]),
        step(0, 0, Kind::All, &[100, 700]),
        step(1, 1, Kind::All, &[0; 4]),
    ];
    let mut instances = carry_out(4, &rows, &steps);
    instances[1].calls.is_counted.fill(false);
    let all = costs(4, &instances);
    // 600 ns later than its row's other process, and both 10 ns later than those without a row.
    assert!(all.keys().all(|&(_, operation)| operation == 1), "{all:?}");
    let waits: i64 = instances[2]
        .calls
        .iter()
        .filter_map(|call| Some(call.wait?.ns))
        .sum();
    assert_eq!(all.values().map(|cost| cost.ns()).sum::<i64>(), waits);
    assert!(10 * all[&(late(1), 1)].ns() > 9 * waits, "{all:?}");
}

#[test]
fn a_long_run_between_two_barriers_keeps_its_causes() {
    let communicators = [vec![0, 1], world(4)];
    let mut steps = vec![step(1, 9, Kind::All, &[0; 4])];
    for n in 0..30_000 {
        let work = if n % 3 == 0 { [100, 130] } else { [120, 110] };
        steps.push(step(0, 0, Kind::All, &work));
    }
    steps.push(step(1, 1, Kind::All, &[0; 4]));
    let instances = carry_out(4, &communicators, &steps);
    let all = costs(4, &instances);
    assert_eq!(
        all.values().map(|cost| cost.ns()).sum::<i64>(),
        waits_ns(&instances)
    );
    let propagated = |process| all[&(late(process), 1)].ns();
    // 2 and 3 have no work at all: what 0 and 1 do is charged to the last of them, and their waits to each other.
    assert!(propagated(0) > 0 && propagated(1) > 0, "{all:?}");
    assert!(
        !all.keys().any(|(cause, _)| *cause == Cause::Unexplained),
        "{all:?}"
    );
}

/// By how much the run could be shorter without a cause, ns.
fn run_shorter(costs: &Costs, of: Cause) -> i64 {
    let mut sum = Cost::default();
    for (_, cost) in costs.iter().filter(|((cause, _), _)| *cause == of) {
        sum.merge(cost);
    }
    sum.sooner_ns.min(sum.at_ends_ns)
}

#[test]
fn who_keeps_only_its_row_waiting_does_not_make_the_run_longer() {
    // Process 1 is 500 ns late in its row; at the end all wait for process 3, that is 900 ns late in its own.
    let communicators = [vec![0, 1], vec![2, 3], world(4)];
    let mut steps = vec![step(2, 9, Kind::All, &[0; 4])];
    for _ in 0..10 {
        steps.push(step(0, 0, Kind::All, &[100, 600]));
        steps.push(step(1, 0, Kind::All, &[100, 1000]));
        steps.push(step(2, 1, Kind::All, &[0; 4]));
    }
    let all = costs(4, &carry_out(4, &communicators, &steps));
    assert_eq!(run_shorter(&all, late(3)), 10 * 900);
    assert_eq!(run_shorter(&all, late(1)), 0);
    assert!(all[&(late(1), 0)].direct_ns == 10 * 500, "{all:?}");
}

#[test]
fn a_root_that_works_alone_before_it_broadcasts_makes_the_run_longer() {
    let mut steps = vec![step(0, 9, Kind::All, &[0; 4])];
    for _ in 0..10 {
        steps.push(step(0, 0, Kind::All, &[100; 4]));
        steps.push(step(0, 1, Kind::FromRoot(0), &[500, 0, 0, 0]));
    }
    let all = costs(4, &carry_out(4, &[world(4)], &steps));
    assert_eq!(run_shorter(&all, late(0)), 10 * 500, "{all:?}");
}

#[test]
fn what_arose_after_the_last_instance_of_all_processes_makes_the_run_longer() {
    let communicators = [vec![0, 1], world(3)];
    let mut steps = vec![step(1, 9, Kind::All, &[0; 3])];
    steps.extend((0..10).map(|_| step(0, 0, Kind::All, &[100, 130])));
    let all = costs(3, &carry_out(3, &communicators, &steps));
    assert_eq!(run_shorter(&all, late(1)), 10 * 30);
}

#[test]
fn the_end_of_the_run_adds_its_waits_and_leaves_the_others_as_they_are() {
    let communicators = [vec![0, 1], world(3)];
    let steps: Vec<_> = (0..10)
        .map(|_| step(0, 0, Kind::All, &[100, 130]))
        .collect();
    let mut all = carry_out(3, &communicators, &steps);
    let before = costs(3, &all);
    let end = carry_out(
        3,
        &communicators,
        &[step(1, 9, Kind::All, &[9_000, 2_000, 2_000])],
    );
    let mut attribution = Attribution::new(&[0; 3]);
    all.drain(..).for_each(|instance| attribution.add(instance));
    let attributed = attribution.finish(end.into_iter().next());
    let (of_end, others): (Costs, Costs) = attributed
        .costs
        .into_iter()
        .partition(|((_, operation), _)| *operation == 9);
    assert_eq!(others, before);
    assert_eq!(of_end.values().map(Cost::ns).sum::<i64>(), 2 * 7_000);
    // Since it has left the last instance with another one.
    let end = attributed.end.unwrap().after_last;
    assert!(end.did_ns[0] > end.did_ns[1], "{end:?}");
}

#[test]
fn before_the_first_instance_processes_are_compared_since_they_began() {
    // Process 1 began 100 ns later than the others, and worked for longer after that.
    let step = step(0, 0, Kind::All, &[1000, 1600, 500, 500]);
    let instances = carry_out(4, &[world(4)], &[step]);
    let mut attribution = Attribution::new(&[0; 4]);
    for (process, begin_ns) in [(0, 0), (1, 100), (2, 0), (3, 0)] {
        attribution.add_begin(process, begin_ns);
    }
    attribution.add(instances[0].clone());
    let attributed = attribution.finish(None);
    let late = Cause::LateAtStart {
        process: 1,
        part: None,
    };
    let expected = [(late, 500 + 2 * 1000, 0), (Cause::Startup, 3 * 100, 0)];
    assert_eq!(by_cause(&attributed.costs), expected);
    assert_eq!(attributed.starts.len(), 1);
    assert_eq!(attributed.starts[0].did_ns, [1000, 1500, 500, 500]);
    // What happens once says nothing about what varies.
    assert!(attributed.excesses.is_empty());
}

#[test]
fn who_waits_for_a_message_through_others_is_late_because_of_the_first() {
    // Each waits for the one before it; process 0 works for 1000 ns, the others for 100.
    let works = [1000, 1110, 1220, 1330, 1440];
    let steps = [
        step(0, 9, Kind::All, &[0; 5]),
        step(0, 0, Kind::All, &works),
    ];
    let instances = carry_out(5, &[world(5)], &steps);
    let parts: Vec<_> = (1..5_u32)
        .map(|process| {
            let waited_ns = 900 + 110 * (i64::from(process) - 1) + 10;
            (process, 1, Part::PointToPoint(Some(process - 1)), waited_ns)
        })
        .collect();
    let costs = costs_with(5, &instances, &parts);
    assert!(
        costs
            .iter()
            .any(|&(cause, ns, _)| cause == late(0) && ns > 0),
        "{costs:?}"
    );
    assert!(
        !costs.iter().any(|&(cause, ..)| matches!(
            cause,
            Cause::Late { process, .. } if process > 0
        )),
        "{costs:?}"
    );
}

#[test]
fn who_polls_for_a_message_is_late_because_of_its_sender() {
    // Process 2 polls, and does something in between that takes as long as the work of process 3.
    let steps = [
        step(0, 9, Kind::All, &[0; 4]),
        step(0, 0, Kind::All, &[100, 100, 1050, 1000]),
    ];
    let instances = carry_out(4, &[world(4)], &steps);
    let polled = |partner| {
        let mut attribution = Attribution::new(&[0; 4]);
        let call = |at: usize| instances[at].calls.call(2);
        attribution.add_polled(&Polled {
            process: 2,
            partner,
            span_ns: [call(0).leave_ns, call(1).enter_ns],
            ns: 1050,
        });
        for instance in &instances {
            attribution.add(instance.clone());
        }
        by_cause(&attribution.finish(None).costs)
    };
    let waits = |partner| Cause::Late {
        process: 2,
        part: Some(Part::PointToPoint(partner)),
    };
    // Of the 950 ns that it is later than processes 0 and 1 900 are those that process 3 works longer.
    let costs = polled(Some(3));
    let of = |cause| costs.iter().find(|of| of.0 == cause).map_or(0, |of| of.1);
    assert_eq!((of(late(2)), of(waits(Some(3)))), (0, 2 * 50), "{costs:?}");
    assert!(of(late(3)) >= 2 * 900, "{costs:?}");
    // Of a partner that is not known nobody is accused, and nobody computes.
    let costs = polled(None);
    assert!(costs.iter().any(|of| of.0 == waits(None)), "{costs:?}");
    assert!(!costs.iter().any(|of| of.0 == late(2)), "{costs:?}");
}

#[test]
fn what_was_done_before_the_instance_before_is_no_excess_again() {
    // All meet once; then a process works longer before each scan, and before one instance of its own pair.
    let communicators = [world(4), vec![0, 2]];
    let mut steps = vec![step(0, 0, Kind::All, &[100; 4])];
    steps.push(step(1, 1, Kind::All, &[0, 5000]));
    steps.extend((0..10).map(|_| step(0, 2, Kind::Prefix, &[100, 100, 400, 100])));
    let mut attribution = Attribution::new(&[0; 4]);
    for instance in carry_out(4, &communicators, &steps) {
        attribution.add(instance);
    }
    let found = attribution.finish(None);
    let of_scans = &found.excesses[&(2, 0)];
    // The first since all met, the others each since it left the one before.
    assert_eq!(of_scans.by_slot[2].n, 10);
    let sum_ns = 10.0 * 300.0 * 0.75;
    let own = of_scans.by_slot[2].sum_ns;
    assert!((own - 5000.0 * 0.75 - sum_ns).abs() < 500.0, "{own}");
    let largest = of_scans.largest.iter().map(|most| most.slot);
    assert_eq!(largest.collect::<Vec<_>>(), [2; 10]);
}

//! Which instances are kept in detail, against a choice among all of them, and what is kept of each.

use std::collections::{BTreeMap, BTreeSet};

use collbench_analyzer::results::InstanceTimes;
use collbench_analyzer::{Analysis, Selection};
use collbench_formats::{CompletingCall, Direction, Operation};
use collbench_stats::random::Random;

use crate::built::{TestTrace, begin, call, communicator, complete, initiation, message, phase};

/// Enter and leave of each rank.
type Stamps = [(u64, u64); 2];

/// Barriers of two ranks, which last from some 100 ns to some 100 us.
fn barriers(n: usize) -> Vec<Stamps> {
    let mut random = Random::of(&[n as u64]);
    let mut now = 0;
    let stamps = (0..n).map(|_| {
        let mean = 1 << random.uniform(6, 16);
        let late = random.exponential(mean);
        let enters = [now + random.uniform(0, 40), now + 40 + late];
        let end = enters[1] + random.uniform(20, 90);
        now = end + random.uniform(60, 3_000);
        let leaves = [end + random.uniform(0, 50), end];
        [(enters[0], leaves[0]), (enters[1], leaves[1])]
    });
    stamps.collect()
}

fn analysis(barriers: &[Stamps]) -> Analysis {
    let mut trace = TestTrace::new(2);
    for stamps in barriers {
        trace.barrier(stamps);
    }
    trace.analyze()
}

/// Positions of instances.
fn sequences<'i>(times: impl Iterator<Item = &'i InstanceTimes>) -> BTreeSet<u64> {
    times.map(|times| times.sequence).collect()
}

fn shown(analysis: &Analysis) -> BTreeSet<u64> {
    sequences(analysis.instances.list.iter().map(|shown| &shown.times))
}

/// Wait of rank 0, which is the first to come, and time in both calls.
fn cost(stamps: &Stamps) -> (u64, u64) {
    let calls = stamps.iter().map(|(enter, leave)| leave - enter);
    (stamps[1].0 - stamps[0].0, calls.sum())
}

#[test]
fn all_instances_of_a_short_run_are_kept() {
    let barriers = barriers(300);
    let analysis = analysis(&barriers);
    assert!(analysis.instances.are_all);
    assert_eq!(shown(&analysis), (0..300).collect());
}

#[test]
fn of_many_instances_the_costliest_over_time_and_by_duration_and_the_longest_are_kept() {
    // Two calls each: more than there is room for.
    let barriers = barriers(9_000);
    let analysis = analysis(&barriers);
    let bin_ns = analysis.timeline.bin_ns as u64;
    let mut of_stretch: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut of_doubling: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let duration = |stamps: &Stamps| stamps[0].1 - stamps[0].0;
    for (number, stamps) in barriers.iter().enumerate() {
        of_stretch
            .entry(stamps[1].0 / bin_ns)
            .or_default()
            .push(number);
        of_doubling
            .entry(duration(stamps).ilog2())
            .or_default()
            .push(number);
    }
    let groups = of_stretch.values().chain(of_doubling.values());
    let costliest =
        groups.map(|group| *group.iter().max_by_key(|&&it| cost(&barriers[it])).unwrap());
    let mut expected: BTreeSet<u64> = costliest.map(|number| number as u64).collect();
    assert!(expected.len() > 60, "{}", expected.len());
    let mut by_duration: Vec<usize> = (0..barriers.len()).collect();
    by_duration.sort_by_key(|&number| std::cmp::Reverse(duration(&barriers[number])));
    expected.extend(by_duration[..8].iter().map(|&number| number as u64));
    assert!(!analysis.instances.are_all);
    assert_eq!(shown(&analysis), expected);
    let outliers = analysis
        .instances
        .list
        .iter()
        .filter(|shown| shown.is_outlier);
    let of_results = analysis.operations[0].outliers.iter();
    let of_results: BTreeSet<u64> = of_results.map(|outlier| outlier.sequence).collect();
    assert_eq!(of_results.len(), 8);
    assert_eq!(sequences(outliers.map(|shown| &shown.times)), of_results);
}

#[test]
fn an_instance_has_the_stamps_and_waits_of_its_calls_and_who_ended_them() {
    let mut trace = TestTrace::new(3);
    for process in &mut trace.processes {
        process.call(phase(7, 50));
    }
    trace.world(
        Operation::Bcast,
        1,
        8,
        &[(100, 540), (400, 500), (450, 560)],
    );
    let analysis = trace.analyze();
    let [shown] = &analysis.instances.list[..] else {
        panic!("{:?}", analysis.instances);
    };
    assert_eq!(
        &*analysis.operations[shown.operation].operation,
        "MPI_Bcast"
    );
    let times = &shown.times;
    let calls = times.calls.iter();
    let calls = calls.map(|call| {
        let stamps = (call.enter_ns, call.leave_ns);
        (call.rank, stamps, call.wait_ns(), call.released_by())
    });
    // Rank 2 comes after the root, and waits for nobody.
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            (0, (100, 540), Some(300), Some(1)),
            (1, (400, 500), Some(0), None),
            (2, (450, 560), Some(0), None),
        ]
    );
    assert_eq!(
        (times.last, times.excess_ns, times.phase),
        (Some(2), 50, Some(7))
    );
    assert_eq!((times.duration_ns, times.span_ns()), (460, (100, 560)));
    assert_eq!(
        (times.costliness.wait_ns, times.costliness.call_ns),
        (300, 440 + 100 + 110)
    );
    assert_eq!(times.n_messages, None);
}

#[test]
fn the_wait_of_a_nonblocking_call_is_in_the_call_that_completed_it() {
    let mut trace = TestTrace::new(2);
    let waits = [(500, 900), (600, 910)];
    for ((process, enter), wait) in trace.processes.iter_mut().zip([100, 800]).zip(waits) {
        let of = initiation(0, 0);
        let stamps = (enter, enter + 10);
        process.call(begin(Operation::Ibarrier, 0, -1, 0, stamps));
        let stamps = (wait.0.max(stamps.1), wait.1);
        process.call(complete(of, CompletingCall::Wait, 1, stamps));
    }
    let analysis = trace.analyze();
    let times = &analysis.instances.list[0].times;
    let stamps = times
        .calls
        .iter()
        .map(|call| (call.enter_ns, call.leave_ns, call.wait_ns()));
    assert_eq!(
        stamps.collect::<Vec<_>>(),
        [(100, 900, Some(300)), (800, 910, Some(0))]
    );
    let completions = times.completions.iter();
    let completions = completions.map(|times| (times.initiated_ns, times.completion_ns));
    assert_eq!(completions.collect::<Vec<_>>(), [(110, 500), (810, 810)]);
}

#[test]
fn messages_are_kept_with_both_ends() {
    let mut trace = TestTrace::new(2);
    let [root, leaf] = &mut trace.processes[..] else {
        unreachable!();
    };
    root.with_messages()
        .call(call(Operation::Bcast, 0, 0, 8, (100, 200)));
    root.call(message(Direction::Send, 0, 1, (120, 130)));
    leaf.with_messages()
        .call(call(Operation::Bcast, 0, 0, 8, (50, 300)));
    leaf.call(message(Direction::Receive, 0, 0, (60, 280)));
    let analysis = trace.analyze();
    let times = &analysis.instances.list[0].times;
    let messages = times.messages.iter();
    let messages = messages.map(|it| (it.from, it.to, it.bytes, it.sent_ns, it.received_ns));
    assert_eq!(messages.collect::<Vec<_>>(), [(0, 1, 8, 120, Some(280))]);
    assert_eq!(times.n_messages, Some(1));
}

/// A broadcast of 300 ranks, from 0 by way of 5 to 7, which leaves last.
fn chain_of_two_hops() -> TestTrace {
    let mut trace = TestTrace::new(300);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        let (stamps, messages) = match rank {
            0 => (
                (1_000, 1_100),
                vec![message(Direction::Send, 0, 5, (1_010, 1_020))],
            ),
            5 => (
                (50, 1_260),
                vec![
                    message(Direction::Receive, 0, 0, (60, 1_200)),
                    message(Direction::Send, 0, 7, (1_230, 1_240)),
                ],
            ),
            7 => (
                (40, 1_520),
                vec![message(Direction::Receive, 0, 5, (60, 1_500))],
            ),
            _ => ((990, 1_090), Vec::new()),
        };
        process
            .with_messages()
            .call(call(Operation::Bcast, 0, 0, 8, stamps));
        for end in messages {
            process.call(end);
        }
    }
    trace
}

#[test]
fn of_many_ranks_those_on_the_critical_path_are_known() {
    let analysis = chain_of_two_hops().analyze();
    let times = &analysis.instances.list[0].times;
    // It stays 30 ns in rank 5, 20 in 7, 10 in 0.
    assert_eq!(times.on_path, [5, 7, 0]);
    assert_eq!(times.messages.len(), 2);
}

#[test]
fn the_first_enter_is_that_of_all_ranks_whichever_are_selected() {
    let selection = Selection {
        ranks: vec![(1, 4)],
        ..Selection::default()
    };
    let analysis = chain_of_two_hops().analyze_part(&selection);
    let times = &analysis.instances.list[0].times;
    assert_eq!(times.first_enter_ns, 40);
    assert!(times.span_ns().0 > 40);
    assert!(
        times
            .on_path
            .iter()
            .all(|&index| (index as usize) < times.calls.len())
    );
}

#[test]
fn ranks_that_are_not_selected_are_left_out_unless_they_arrived_last() {
    let mut trace = TestTrace::new(4);
    trace.barrier(&[(100, 540), (90, 500), (450, 560), (110, 550)]);
    let selection = Selection {
        ranks: vec![(0, 1)],
        ..Selection::default()
    };
    let analysis = trace.analyze_part(&selection);
    let times = &analysis.instances.list[0].times;
    let ranks: Vec<u32> = times.calls.iter().map(|call| call.rank).collect();
    assert_eq!(ranks, [0, 1, 2]);
    let released: Vec<Option<usize>> = times.calls.iter().map(|call| call.released_by()).collect();
    assert_eq!(released, [Some(2), Some(2), None]);
}

#[test]
fn instances_of_a_single_call_are_not_kept() {
    let mut trace = TestTrace::new(2);
    for (rank, process) in (0u64..).zip(&mut trace.processes) {
        process.define(communicator(1, 100 + rank, 1, 0));
        process.call(call(Operation::Barrier, 1, -1, 0, (100, 200)));
    }
    let analysis = trace.analyze();
    assert_eq!(analysis.operations[0].instances, 2);
    assert!(analysis.instances.list.is_empty());
}

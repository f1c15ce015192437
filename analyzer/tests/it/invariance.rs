//! What must not show in the results: order and names of files, threads, a shift of all clocks.

use std::fs;

use collbench_analyzer::Selection;
use collbench_formats::{Activity, GapTime, Operation, Record};
use collbench_stats::random::Random;
use proptest::prelude::*;

use crate::built::{
    TestProcess, TestTrace, analyze, analyze_in_windows, analyze_part, assert_has, shown, split,
};

/// All calls, but for what is selected.
fn selected(select: fn(&mut Selection)) -> Selection {
    let mut selection = Selection::default();
    select(&mut selection);
    selection
}

/// Ranks that call by lot, on the world and on two halves.
fn lottery(seed: u64, shift: u64) -> TestTrace {
    let mut random = Random::of(&[seed]);
    let mut draw = |n: usize| random.below(n) as u64;
    let mut trace = TestTrace::new(4);
    for rank in 0..4u32 {
        let members: &[u32] = if rank < 2 { &[0, 1] } else { &[2, 3] };
        let process = &mut trace.processes[rank as usize];
        process.define(split(2, 20 + u64::from(rank / 2), members, rank, 0));
        for anchor in &mut process.identity.anchors {
            anchor[..4].iter_mut().for_each(|clock| *clock += shift);
        }
    }
    let operations = [
        Operation::Barrier,
        Operation::Bcast,
        Operation::Allreduce,
        Operation::Reduce,
        Operation::Scan,
    ];
    for n in 0..60 {
        let operation = operations[draw(5) as usize];
        let on = [0, 2][draw(2) as usize];
        let root = if operation.semantics().is_rooted() {
            draw(2) as i32
        } else {
            -1
        };
        for process in &mut trace.processes {
            let enter = 1000 * n + draw(900);
            let stamps = (shift + enter, shift + enter + 1 + draw(900));
            process.call(crate::built::call(operation, on, root, 8 * (n % 3), stamps));
        }
    }
    trace
}

/// When `MPI_Init` returned to a process, and that it polled before some of its calls.
fn poll_before_calls(process: &mut TestProcess, rank: u32) {
    let calls = std::mem::take(&mut process.chunks[0].records);
    process.with_point_to_point();
    let records = &mut process.chunks[0].records;
    for (n, call) in (0..).zip(calls) {
        if n % 3 == rank % 3 && n > 0 {
            let polls = GapTime {
                activity: [Activity::Polling, Activity::PointToPoint][n as usize % 2],
                ticks: 40,
                n_calls: 5,
                longest_ticks: 40,
                partner: (rank + 1) % 4,
            };
            records.push(Record::of_words(polls.words(), call.enter.get(), 0));
        }
        records.push(call);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn names_and_order_of_files_do_not_show(seed: u64, order in Just([0usize, 1, 2, 3]).prop_shuffle()) {
        let trace = lottery(seed, 0);
        let expected = shown(&trace.analyze());
        let directory = trace.in_directory();
        for (n, &rank) in order.iter().enumerate() {
            let name = format!("rank-{rank:06}.trace");
            fs::rename(directory.path().join(name), directory.path().join(format!("{n}.trace"))).unwrap();
        }
        let found = shown(&analyze(directory.path(), &Selection::default()));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_shift_of_all_clocks_does_not_show(seed: u64, shift in 0u64..(1 << 50)) {
        let mut shifted = lottery(seed, shift).analyze();
        let plain = lottery(seed, 0).analyze();
        // The anchors of chunks stay behind in a shifted trace; the run lasts as long.
        shifted.trace.duration_ns = plain.trace.duration_ns;
        prop_assert_eq!(shown(&shifted), shown(&plain));
    }

    #[test]
    fn how_many_records_are_looked_at_together_does_not_show(seed: u64, damage in 0usize..8) {
        let mut trace = lottery(seed, 0);
        for (rank, process) in (0..).zip(&mut trace.processes) {
            poll_before_calls(process, rank);
        }
        // A process that misses calls in the middle, with and without others' word for it; one that
        // ends early; one with a call that cannot be true; and some that say they were made in another order.
        let records = &mut trace.processes[damage % 4].chunks[0].records;
        match damage {
            1 => drop(records.remove(20)),
            2 => records.truncate(33),
            3 => records[40].leave = 0.into(),
            4 => records[7].leave = 1.into(),
            5 => records.copy_within(0..20, 40),
            6 => records.copy_within(30..50, 0),
            7 => records[10..60].rotate_left(30),
            _ => {}
        }
        let directory = trace.in_directory();
        let in_windows = |window| analyze_in_windows(directory.path(), window);
        let expected = shown(&in_windows(1 << 20));
        for window in [1, 5, 64, 100] {
            let found = shown(&in_windows(window));
            let differing = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
            prop_assert_eq!(differing, None, "windows of {} records", window);
            prop_assert!(found == expected);
        }
    }

    #[test]
    fn calls_are_summed_in_columns_as_they_are_one_by_one(seed: u64) {
        // Naming every rank there could be takes the way for some ranks.
        let trace = lottery(seed, 0);
        let mut in_columns = trace.analyze();
        let named = Selection { ranks: vec![(0, 3)], ..Selection::default() };
        let mut one_by_one = trace.analyze_part(&named);
        one_by_one.remarks.retain(|remark| remark.code() != "restricted");
        one_by_one.restriction = None;
        // Of whole runs only.
        in_columns.efficiencies = None;
        let (found, expected) = (shown(&one_by_one), shown(&in_columns));
        let differing = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
        prop_assert_eq!(differing, None);
        prop_assert!(found == expected);
    }

    #[test]
    fn the_number_of_threads_does_not_show(seed: u64) {
        let directory = lottery(seed, 0).in_directory();
        let with = |n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            shown(&pool.install(|| analyze(directory.path(), &Selection::default())))
        };
        prop_assert_eq!(with(1), with(4));
    }
}

#[test]
fn what_is_looked_at_is_what_was_asked_for_and_is_there() {
    let trace = lottery(5, 0);
    let whole = trace.analyze();
    let run_ns = whole.trace.duration_ns;
    let looked_at = |from_ns, to_ns, ranks: &[(u32, u32)]| {
        let part = trace.analyze_part(&Selection {
            from_ns,
            to_ns,
            ranks: ranks.to_vec(),
            ..Selection::default()
        });
        let part = part.looked_at;
        (part.from_ns, part.to_ns, part.ranks, part.rank_ns())
    };
    let half_ns = run_ns / 2;
    assert_eq!(looked_at(None, None, &[]), (0, run_ns, 4, 4 * run_ns));
    assert_eq!(
        looked_at(Some(half_ns), None, &[(1, 2)]),
        (half_ns, run_ns, 2, 2 * (run_ns - half_ns))
    );
    assert_eq!(
        looked_at(None, Some(half_ns), &[(0, 2), (1, 3)]),
        (0, half_ns, 4, 4 * half_ns)
    );
    // Beyond the end there is nothing.
    let beyond_ns = run_ns + 1_000;
    assert_eq!(
        looked_at(Some(beyond_ns), None, &[]),
        (beyond_ns, beyond_ns, 4, 0)
    );
}

#[test]
fn restrictions_take_whole_instances_and_change_no_other_figure() {
    let trace = lottery(5, 0);
    let whole = trace.analyze();
    let part = |select: fn(&mut Selection)| trace.analyze_part(&selected(select));

    let bcast = part(|of| of.operations = vec!["bcast".into()]);
    assert_eq!(bcast.totals.len(), 1);
    assert_eq!(bcast.totals["MPI_Bcast"], whole.totals["MPI_Bcast"]);
    assert_eq!(bcast.remarks.last().unwrap().code(), "restricted");

    let half = part(|of| of.communicators = vec!["0".into()]);
    assert!(half.operations.iter().all(|o| o.communicator == Some(0)));
    let calls = |analysis: &collbench_analyzer::Analysis, id| -> u64 {
        let operations = analysis.operations.iter();
        operations
            .filter(|o| o.communicator == Some(id))
            .map(|o| o.calls)
            .sum()
    };
    assert_eq!(calls(&half, 0), calls(&whole, 0));

    let early = part(|of| of.to_ns = Some(30_000));
    let late = part(|of| of.from_ns = Some(30_000));
    let sum = |analysis: collbench_analyzer::Analysis| -> (u64, i64) {
        let totals = analysis.totals.values();
        totals.fold((0, 0), |(i, t), total| {
            (i + total.instances, t + total.call_time_ns)
        })
    };
    let (a, b) = (sum(early), sum(late));
    assert_eq!((a.0 + b.0, a.1 + b.1), sum(whole.clone()));
    assert!(a.0 > 0 && b.0 > 0);

    let two = part(|of| of.ranks = vec![(1, 1), (3, 3)]);
    assert_eq!(two.ranks[1].wait_ns, whole.ranks[1].wait_ns);
    assert_eq!((two.ranks[0].calls, two.ranks[3].calls), (0, 60));
}

#[test]
fn restrictions_that_mean_nothing_are_refused() {
    let directory = lottery(1, 0).in_directory();
    let refusal = |select: fn(&mut Selection)| {
        let result = analyze_part(directory.path(), &selected(select));
        result.unwrap_err().to_string()
    };
    let message = refusal(|of| of.operations = vec!["MPI_Send".into()]);
    assert!(
        message.contains("MPI_Send") && message.contains("MPI_Allreduce"),
        "{message}"
    );
    let message = refusal(|of| of.communicators = vec!["solver".into()]);
    assert!(
        message.contains("solver") && message.contains("MPI_COMM_WORLD"),
        "{message}"
    );
    let message = refusal(|of| of.ranks = vec![(2, 9)]);
    assert!(
        message.contains("2-9") && message.contains("0 to 3"),
        "{message}"
    );
    let message = refusal(|of| {
        of.from_ns = Some(5);
        of.to_ns = Some(5);
    });
    assert_has(&message, "--from");
}

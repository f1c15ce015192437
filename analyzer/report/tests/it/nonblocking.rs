//! Nonblocking, persistent and neighborhood collectives of built traces, and phases: matched from
//! initiation to completion, measured as they are defined.

use std::collections::BTreeMap;

use collbench_analyzer::results::{Remark, Summary};
use collbench_analyzer::{Analysis, Selection};
use collbench_formats::{
    CODE_FAILED, CompletingCall, Definition, Direction, Initiation, NO_RANK, Operation, Record,
    Semantics, Topology, UNKNOWN_COMMUNICATOR,
};
use collbench_report::{Document, to_json};
use proptest::prelude::*;

use crate::built::{
    START, TestChunk, TestTrace, analyze_in_windows, analyze_part, assert_has, begin, call, codes,
    communicator, complete, initiation, one, only, phase, start, started, tagged_message, tested,
    totals,
};
use crate::generated;

fn sum(summary: &Option<Summary>) -> Option<(u64, i64)> {
    summary.as_ref().map(|s| (s.n, s.total))
}

/// Completion of the call at a position on `MPI_COMM_WORLD`.
fn wait(position: u64, stamps: (u64, u64)) -> Record {
    complete(world(position), CompletingCall::Wait, 1, stamps)
}

fn world(position: u64) -> Initiation {
    initiation(0, position)
}

#[test]
fn a_nonblocking_call_is_its_initiation_and_its_completion_and_waits_in_the_latter() {
    let mut trace = TestTrace::new(3);
    let stamps = [
        // Initiation, completion: rank 2 begins last, at 500.
        ((100, 110), (300, 620)),
        ((200, 220), (550, 600)),
        ((500, 530), (900, 910)),
    ];
    for (process, (begun, ended)) in trace.processes.iter_mut().zip(stamps) {
        process.call(begin(Operation::Iallreduce, 0, -1, 8, begun));
        process.call(wait(0, ended));
    }
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Iallreduce");
    assert_eq!((found.calls, found.instances, found.incomplete), (3, 1, 0));
    let sums = totals(found);
    assert_eq!(sums["call"], Some((3, 10 + 320 + 20 + 50 + 30 + 10)));
    assert_eq!(sums["duration"], Some((1, 910 - 100)));
    assert_eq!(sums["lag"], Some((3, 400 + 300)));
    // Rank 0 waits from 300 to 500; rank 1 asks when all have come.
    assert_eq!(sums["wait"], Some((3, 200)));
    assert_eq!((sums["core"], sums["departure"]), (None, None));
    assert_eq!(sum(&found.initiation_ns), Some((3, 60)));
    assert_eq!(sum(&found.between_ns), Some((3, 190 + 330 + 370)));
    assert_eq!(sum(&found.completion_ns), Some((3, 380)));
    assert_eq!(sum(&found.exposed_ns), Some((3, 440)));
    assert_eq!(sum(&found.overlap_bound_ns), Some((3, 890)));
    assert_eq!(found.tests, Some(0));
    assert_eq!(found.last_arrivals, [0, 0, 1]);
    assert_eq!(found.first_departures, [0, 1, 0]);
    assert_eq!(analysis.ranks[0].wait_ns, Some(200));
    assert_eq!(analysis.ranks[0].call_time_ns, 330);
    assert_eq!(analysis.totals["MPI_Iallreduce"].calls, 3);
    assert_eq!(analysis.ranks[0].calls_by_class["MPI_Iallreduce"], 1);
    let blocking = {
        let mut trace = TestTrace::new(2);
        trace.world(Operation::Allreduce, -1, 8, &[(10, 30), (20, 30)]);
        trace.analyze()
    };
    let blocking = only(&blocking, "MPI_Allreduce");
    assert_eq!((&blocking.initiation_ns, blocking.tests), (&None, None));
}

#[test]
fn what_a_waitall_takes_and_waits_is_shared_among_what_it_completes() {
    let mut trace = TestTrace::new(2);
    for (rank, begun) in [(0, 100), (1, 1000)] {
        let process = &mut trace.processes[rank];
        for n in 0..4 {
            let at = begun + 10 * n;
            process.call(begin(Operation::Iallreduce, 0, -1, 8, (at, at + 2)));
        }
        for n in 0..4 {
            let ended = [(200, 1400), (1400, 1440)][rank];
            process.call(complete(world(n), CompletingCall::Waitall, 4, ended));
        }
    }
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Iallreduce");
    // From 200 until 1000, 1010, 1020, 1030, a quarter of each.
    let waits: i64 = (0..4).map(|n| (800 + 10 * n) / 4).sum();
    assert_eq!(totals(found)["wait"], Some((8, waits)));
    assert_eq!(sum(&found.completion_ns), Some((8, 1200 + 40)));
    assert_eq!(analysis.ranks[0].call_time_ns, 4 * 2 + 1200);
    let course = &analysis.timeline.ranks[0];
    let in_calls: i64 = course.call_time_ns.iter().sum();
    assert_eq!(in_calls, 4 * 2 + 1200);
}

#[test]
fn tests_in_vain_are_exposed_time_that_is_no_wait() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (100, 110)));
        process.call(tested(world(0), 3, 30, 500));
        process.call(complete(world(0), CompletingCall::Test, 1, (500, 520)));
    }
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Ibarrier");
    assert_eq!(found.tests, Some(6));
    assert_eq!(sum(&found.exposed_ns), Some((2, 2 * (10 + 30 + 20))));
    assert_eq!(sum(&found.between_ns), Some((2, 2 * 390)));
    assert_eq!(sum(&found.overlap_bound_ns), Some((2, 2 * 360)));
    assert_eq!(totals(found)["wait"], Some((2, 0)));
    let text = collbench_report::to_text(&analysis, None);
    assert_has(&text, "mean exposed time 60 ns per call");
    assert_has(&text, "at most 86 % of their sum");
}

/// Blocking and nonblocking calls that stand between each other on two communicators, completed
/// in another order, some by another thread.
fn interleaved(n_rounds: u64) -> TestTrace {
    let mut trace = TestTrace::new(3);
    for (rank, process) in (0u32..).zip(&mut trace.processes) {
        process.define(communicator(2, 50, 3, rank));
        process.chunks.push(TestChunk {
            thread: 1,
            ..TestChunk::default()
        });
        let dup = |position| initiation(2, position);
        // The very first one is completed at the very end.
        process.call(begin(Operation::Ibarrier, 2, -1, 0, (1, 2)));
        for n in 0..n_rounds {
            let at = 1000 * (n + 1) + 10 * u64::from(rank);
            process.call(begin(Operation::Iallreduce, 0, -1, 8, (at, at + 1)));
            process.call(begin(Operation::Ibcast, 0, 1, 16, (at + 2, at + 3)));
            process.call(call(Operation::Allreduce, 0, -1, 8, (at + 4, at + 50)));
            process.call(begin(Operation::Ibarrier, 2, -1, 0, (at + 51, at + 52)));
            process.call(wait(3 * n + 1, (at + 60, at + 61)));
            let elsewhere = &mut process.chunks[1].records;
            elsewhere.push(wait(3 * n, (at + 62, at + 70)));
            process.call(complete(
                dup(n + 1),
                CompletingCall::Waitany,
                1,
                (at + 80, at + 81),
            ));
        }
        let end = 1000 * (n_rounds + 2);
        process.call(complete(dup(0), CompletingCall::Wait, 1, (end, end + 1)));
    }
    trace
}

#[test]
fn completions_find_their_initiations_in_any_order_window_and_thread() {
    let trace = interleaved(500);
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), [] as [&str; 0]);
    for (name, n) in [
        ("MPI_Iallreduce", 500),
        ("MPI_Ibcast", 500),
        ("MPI_Allreduce", 500),
        ("MPI_Ibarrier", 501),
    ] {
        let found = only(&analysis, name);
        assert_eq!((found.instances, found.incomplete), (n, 0), "{name}");
    }
    assert_eq!(
        sum(&only(&analysis, "MPI_Iallreduce").completion_ns),
        Some((1500, 1500 * 8))
    );
    let directory = trace.in_directory();
    let analyze = |window| {
        let found = analyze_in_windows(directory.path(), window);
        to_json(&Document::of(&found))
    };
    let expected = analyze(1 << 20);
    for window in [1, 7, 100] {
        assert!(analyze(window) == expected, "windows of {window} records");
    }
}

/// A broadcast goes on inside calls of the world and of a process's own communicator, and the second
/// thread of rank 1 makes one call there, early.
#[test]
fn messages_of_what_goes_on_in_a_call_are_not_its_own_however_few_are_looked_at_together() {
    const OWN: u32 = 1;
    let (blocking, nonblocking) = (-12, -30);
    let mut trace = TestTrace::new(2);
    for (rank, process) in (0u32..).zip(&mut trace.processes) {
        process.with_messages();
        let direction = [Direction::Send, Direction::Receive][rank as usize];
        let of_broadcast =
            |at: u64| tagged_message(direction, 0, 1 - rank, nonblocking, (at, at + 5));
        let to_itself = |direction: Direction, at: u64| {
            tagged_message(direction, OWN, rank, blocking, (at, at + 5))
        };
        process.call(begin(Operation::Ibcast, 0, 0, 8, (1000, 1100)));
        process.call(of_broadcast(1050));
        for at in (2000..8000).step_by(1000) {
            process.call(call(Operation::Allreduce, 0, -1, 8, (at, at + 500)));
            let own = tagged_message(direction, 0, 1 - rank, blocking, (at + 10, at + 20));
            process.call(own).call(of_broadcast(at + 100));
            process.call(call(Operation::Allgather, OWN, -1, 8, (at + 600, at + 700)));
            process.call(to_itself(Direction::Send, at + 610));
            process.call(to_itself(Direction::Receive, at + 620));
            process.call(of_broadcast(at + 650));
        }
        process.call(wait(0, (9000, 9100)));
        if rank == 1 {
            process.thread(1, vec![call(Operation::Barrier, OWN, -1, 0, (1500, 1600))]);
        }
    }
    let directory = trace.in_directory();
    let analyze = |window| {
        let found = analyze_in_windows(directory.path(), window);
        to_json(&Document::of(&found))
    };
    let expected = analyze(1 << 20);
    for window in 1..40 {
        assert_eq!(analyze(window), expected, "windows of {window} records");
    }
    let messages = |operation: &str| -> u64 {
        let analysis = trace.analyze();
        let edges = (*only(&analysis, operation).edges).clone().unwrap();
        edges.iter().map(|edge| edge.messages).sum()
    };
    assert_eq!(messages("MPI_Allreduce"), 6);
    assert_eq!(messages("MPI_Ibcast"), 13);
}

/// The second thread sends and receives for it from inside a call of its own.
#[test]
fn what_another_thread_sends_while_a_collective_is_waited_for_is_of_that_collective() {
    const OWN: u32 = 1;
    let mut trace = TestTrace::new(2);
    for (rank, process) in (0u32..).zip(&mut trace.processes) {
        process.with_messages();
        let direction = [Direction::Send, Direction::Receive][rank as usize];
        let of_broadcast = |at: u64| tagged_message(direction, 0, 1 - rank, -30, (at, at + 5));
        process.call(begin(Operation::Ibcast, 0, 0, 8, (1000, 1100)));
        process.call(of_broadcast(1050));
        process.call(wait(0, (2000, 5000)));
        process.thread(
            1,
            vec![
                call(Operation::Barrier, OWN, -1, 0, (1500, 1600)),
                call(Operation::Allgather, OWN, -1, 8, (2500, 4000)),
                of_broadcast(3000),
            ],
        );
    }
    let analysis = trace.analyze();
    let edges = (*only(&analysis, "MPI_Ibcast").edges).clone().unwrap();
    assert_eq!(edges.iter().map(|edge| edge.messages).sum::<u64>(), 2);
    assert_eq!(*only(&analysis, "MPI_Allgather").edges, None);
}

#[test]
fn what_is_never_completed_holds_up_nothing_else() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (1, 2)));
        for n in 0..2000 {
            process.call(call(
                Operation::Barrier,
                0,
                -1,
                0,
                (10 + 10 * n, 15 + 10 * n),
            ));
        }
    }
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 2000);
    let begun = only(&analysis, "MPI_Ibarrier");
    assert_eq!((begun.instances, begun.incomplete), (0, 1));
    assert_eq!(begun.calls, 2);
    assert_eq!(analysis.unfinished.len(), 1);
    assert_eq!(analysis.unfinished[0].begun, [0, 1]);
    assert_eq!(sum(&begun.exposed_ns), None);
}

#[test]
fn a_request_given_back_early_leaves_open_when_its_operation_ended() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (1, 2)));
        process.call(complete(world(0), CompletingCall::RequestFree, 1, (5, 6)));
        process.call(call(Operation::Barrier, 0, -1, 0, (10, 15)));
    }
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Ibarrier");
    assert_eq!((found.instances, found.incomplete, found.calls), (0, 1, 2));
    assert_eq!(found.call_time_ns, None);
    assert!(analysis.unfinished.is_empty() && analysis.trace.complete);
}

#[test]
fn a_completion_after_one_that_failed_is_the_one_that_counts() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (1, 2)));
        let mut failed = complete(world(0), CompletingCall::Waitall, 1, (5, 6));
        failed.code = (failed.code.get() | CODE_FAILED).into();
        process.call(failed);
        process.call(wait(0, (10, 30)));
    }
    let found = trace.analyze();
    assert_eq!(codes(&found), [] as [&str; 0]);
    let found = only(&found, "MPI_Ibarrier");
    assert_eq!(sum(&found.completion_ns), Some((2, 40)));
}

#[test]
fn who_was_in_a_wait_when_the_trace_ended_is_told_with_what_for() {
    let mut trace = TestTrace::new(3);
    trace.is_killed();
    for rank in 0..2 {
        let process = &mut trace.processes[rank];
        process.call(begin(Operation::Iallreduce, 0, -1, 8, (10, 12)));
    }
    trace.processes[0].call(complete(world(0), CompletingCall::Waitall, 1, (20, 0)));
    let analysis = trace.analyze();
    let unfinished = one(&analysis.unfinished);
    assert_eq!(unfinished.inside, [0]);
    assert_eq!(unfinished.begun, [1]);
    assert_eq!(unfinished.never_came, [2]);
    assert_eq!(unfinished.completing, ["MPI_Waitall"]);
    let text = collbench_report::to_text(&analysis, None);
    let expected = "rank 0 has been waiting in MPI_Waitall for MPI_Iallreduce (call 0 on \
                    MPI_COMM_WORLD, 8 bytes) since t = 20 ns; rank 2 never arrived: it called no \
                    collective at all; rank 1 has initiated it and is in no call that completes \
                    it";
    assert_has(&generated::in_one_line(&text), expected);
    let in_flight = analysis
        .trace
        .damage
        .iter()
        .find_map(|d| d.in_flight.clone());
    let in_flight = in_flight.unwrap();
    assert_eq!(
        (&*in_flight.operation, in_flight.completing.as_deref()),
        ("MPI_Iallreduce", Some("MPI_Waitall"))
    );
}

#[test]
fn completions_that_fit_nothing_are_counted_and_harm_nothing() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (10, 12)));
        process.call(call(Operation::Barrier, 0, -1, 0, (20, 25)));
        process.call(wait(0, (30, 31)));
    }
    let process = &mut trace.processes[0];
    // Twice, of a blocking call, beyond the last, of no communicator, of no definition.
    process.call(wait(0, (40, 41)));
    process.call(wait(1, (42, 43)));
    process.call(wait(1 << 47, (44, 45)));
    let of = |communicator| initiation(communicator, 0);
    process.call(complete(of(77), CompletingCall::Wait, 1, (46, 47)));
    process.call(complete(
        of(UNKNOWN_COMMUNICATOR),
        CompletingCall::Wait,
        1,
        (46, 47),
    ));
    let persistent = started(3, 0);
    process.call(complete(persistent, CompletingCall::Test, 1, (48, 49)));
    process.call(start(Operation::BarrierInit, 0, 3, 1, (50, 51)));
    let analysis = trace.analyze();
    // What an unknown definition carries is not known either.
    let expected = ["incomplete", "stray_completions", "payload_unknown"];
    assert_eq!(codes(&analysis), expected);
    let found = Remark::StrayCompletions { n_completions: 6 };
    assert_eq!(analysis.remarks[1], found);
    assert_eq!(only(&analysis, "MPI_Ibarrier").instances, 1);
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 1);
    assert_eq!(only(&analysis, "MPI_Barrier_init").calls, 1);
}

#[test]
fn stamps_of_a_completion_that_cannot_be_true_complete_nothing() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (100, 120)));
        process.call(wait(0, (90, 200)));
        process.call(call(Operation::Barrier, 0, -1, 0, (300, 310)));
    }
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_Ibarrier").instances, 0);
    assert!(codes(&analysis).contains(&"stray_completions"));
}

#[test]
fn one_rank_begins_what_the_others_call() {
    let mut trace = TestTrace::new(2);
    trace.processes[0].call(begin(Operation::Ibarrier, 0, -1, 0, (10, 12)));
    trace.processes[0].call(wait(0, (20, 30)));
    trace.processes[1].call(call(Operation::Barrier, 0, -1, 0, (10, 30)));
    trace.barrier(&[(40, 50), (40, 50)]);
    let analysis = trace.analyze();
    assert!(codes(&analysis).contains(&"mismatched_calls"));
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!((barrier.instances, barrier.incomplete), (1, 1));
    assert_eq!(only(&analysis, "MPI_Ibarrier").calls, 1);
    assert_eq!(analysis.trace.calls, 4);
}

#[test]
fn persistent_starts_match_by_definition_though_ranks_start_them_in_different_orders() {
    let mut trace = TestTrace::new(2);
    // Their indexes differ from rank to rank; the positions do not.
    let indexes = [[0u32, 1], [1, 0]];
    for (process, indexes) in trace.processes.iter_mut().zip(indexes) {
        for (position, operation, root) in [
            (0, Operation::AllreduceInit, -1),
            (1, Operation::BcastInit, 1),
        ] {
            let index = indexes[position as usize];
            process.persistent((index, position), operation, root, 64);
        }
    }
    for n in 0..10u64 {
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            let [allreduce, bcast] = indexes[rank];
            let at = 1000 * (n + 1) + 100 * rank as u64;
            let of = |definition| started(definition, n);
            let starts = [
                (Operation::AllreduceInit, allreduce),
                (Operation::BcastInit, bcast),
            ];
            for i in 0..2 {
                let (operation, index) = starts[(i + rank) % 2];
                process.call(start(operation, 0, index, 2, (at, at + 10)));
            }
            for index in [bcast, allreduce] {
                let ended = (at + 50, at + 250);
                process.call(complete(of(index), CompletingCall::Waitall, 2, ended));
            }
        }
    }
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), [] as [&str; 0]);
    let allreduce = only(&analysis, "MPI_Allreduce_init");
    assert_eq!((allreduce.instances, allreduce.calls), (10, 20));
    assert_eq!(
        (allreduce.bytes_min, allreduce.bytes_max),
        (Some(64), Some(64))
    );
    assert_eq!(sum(&allreduce.initiation_ns), Some((20, 20 * 5)));
    // Rank 0 asks at 50, rank 1 comes at 100; half of it belongs to each of two.
    assert_eq!(sum(&allreduce.wait_ns), Some((20, 10 * 25)));
    let bcast = only(&analysis, "MPI_Bcast_init");
    assert_eq!((bcast.instances, bcast.root), (10, Some(1)));
    assert_eq!(sum(&bcast.wait_ns), Some((20, 10 * 25)));
    assert_eq!(
        analysis.ranks[0].calls_by_operation["MPI_Allreduce_init"],
        10
    );
}

#[test]
fn a_process_that_lost_records_counts_no_starts_behind_them() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.persistent((0, 0), Operation::BarrierInit, -1, 64);
    }
    let run = |n: u64| {
        let of = started(0, n);
        let at = 100 * (n + 1);
        [
            start(Operation::BarrierInit, 0, 0, 1, (at, at + 1)),
            complete(of, CompletingCall::Wait, 1, (at + 2, at + 3)),
        ]
    };
    for n in 0..4 {
        trace.processes[0].chunks[0].records.extend(run(n));
    }
    trace.processes[1].chunks[0].records.extend(run(0));
    trace.processes[1].chunks.push(TestChunk {
        ordinal: 2,
        first_record: 4,
        records: run(3).to_vec(),
        ..TestChunk::default()
    });
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Barrier_init");
    assert_eq!((found.instances, found.incomplete, found.calls), (1, 3, 6));
}

fn ring(communicator: u32, rank: u32, n: u32) -> Definition {
    let neighbours = vec![(rank + n - 1) % n, NO_RANK, (rank + n - 1) % n];
    Definition::Topology(Topology {
        communicator,
        out_neighbours: neighbours.clone(),
        in_neighbours: neighbours,
    })
}

#[test]
fn in_a_neighborhood_a_process_waits_for_those_it_receives_from() {
    let mut trace = TestTrace::new(3);
    for (rank, process) in (0u32..).zip(&mut trace.processes) {
        process.define(communicator(2, 50, 3, rank));
        process.definitions.push(ring(2, rank, 3));
        let stamps = [(100, 400), (300, 420), (200, 500)][rank as usize];
        process.call(call(Operation::NeighborAllgather, 2, -1, 8, stamps));
        // Of this communicator nobody has told the neighbours.
        process.call(call(Operation::NeighborAlltoall, 0, -1, 8, (600, 700)));
    }
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Neighbor_allgather");
    assert_eq!((found.instances, found.calls), (1, 3));
    // 0 waits for 2, 2 for 1.
    assert_eq!(sum(&found.wait_ns), Some((3, 100 + 100)));
    assert!(found.wait_states.is_empty());
    let unknown = only(&analysis, "MPI_Neighbor_alltoall");
    assert_eq!((unknown.instances, &unknown.wait_ns), (1, &None));
}

/// Three calls of each rank; the phases are 1, 2 and 1 again, of which rank 1 is late to the third.
fn in_phases() -> TestTrace {
    let mut trace = TestTrace::new(2);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        let rank = rank as u64;
        for (n, level) in [(0, None), (1, Some(1)), (2, Some(-2)), (3, Some(1))] {
            let at = 1000 * n;
            if let Some(level) = level {
                process.call(phase(level, at + 10));
            }
            let enter = at + 100 + 50 * rank;
            process.call(call(Operation::Barrier, 0, -1, 0, (enter, at + 200)));
            process.call(begin(Operation::Ibarrier, 0, -1, 0, (at + 300, at + 310)));
        }
        for n in 0..4 {
            process.call(wait(2 * n + 1, (5000 + n, 5000 + n + 1)));
        }
        if rank == 0 {
            process.call(phase(7, 6000));
        }
        process.call(call(Operation::Barrier, 0, -1, 0, (6100, 6200)));
    }
    trace
}

#[test]
fn phases_are_told_and_restrict_to_what_all_ranks_began_in_them() {
    let trace = in_phases();
    let analysis = trace.analyze();
    let levels: BTreeMap<i32, _> = analysis.phases.iter().map(|p| (p.level, p)).collect();
    assert_eq!(levels.keys().copied().collect::<Vec<_>>(), [-2, 1, 7]);
    let first = levels[&1];
    assert_eq!((first.processes, first.begun), (2, 4));
    assert_eq!((first.from_ns, first.to_ns), (1010, 6200));
    // Rank 0 until it begins phase 7, rank 1 until the end.
    assert_eq!(first.time_ns, 1000 + (6000 - 3010) + 1000 + (6200 - 3010));
    // Two barriers and two nonblocking ones; the last barrier is in two phases.
    assert_eq!((first.calls, first.wait_ns), (8, Some(2 * 50)));
    assert_eq!(levels[&-2].calls, 4);
    assert_eq!((levels[&7].calls, levels[&7].wait_ns), (0, None));

    let restricted = |level| {
        let selection = Selection {
            phase: Some(level),
            ..Selection::default()
        };
        trace.analyze_part(&selection)
    };
    let part = restricted(1);
    assert_eq!(only(&part, "MPI_Barrier").instances, 2);
    // Those begun in it are completed in it or not.
    assert_eq!(only(&part, "MPI_Ibarrier").instances, 2);
    assert_eq!(only(&restricted(-2), "MPI_Barrier").instances, 1);
    assert!(restricted(7).operations.is_empty());
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 5);
    let text = collbench_report::to_text(&analysis, None);
    let told = "\n  phase level 1: 8.18 us of all ranks together, 1 % of it waiting in 8 calls; level -2: \
        2.00 us of\n        all ranks together, 2 % of it waiting in 4 calls; 1 more";
    assert_has(&text, told);

    let directory = trace.in_directory();
    let selection = Selection {
        phase: Some(3),
        ..Selection::default()
    };
    let refused = analyze_part(directory.path(), &selection);
    let expected = "--phase 3: not in this trace; its phases: -2, 1, 7";
    assert_eq!(refused.unwrap_err().to_string(), expected);
}

/// Stamps of the initiating and of the completing call.
type Spans = ((u64, u64), (u64, u64));

/// Sum of the waits, straight from their definition.
fn waits(operation: Operation, root: usize, calls: &[Spans], n_together: u64) -> i64 {
    let n = calls.len();
    let depends = |i: usize, j: usize| match operation.semantics() {
        Semantics::OneToMany => j == root && i != root,
        Semantics::ManyToOne => i == root,
        Semantics::Prefix => j < i,
        _ => true,
    };
    let of = |i: usize| {
        let ((begun, _), (asked, left)) = calls[i];
        let others = (0..n).filter(|&j| j != i && depends(i, j));
        let release = others.map(|j| calls[j].0.0).max().unwrap_or(begun);
        release.min(left).saturating_sub(asked) / n_together
    };
    (0..n).map(|i| of(i) as i64).sum()
}

fn operations() -> impl Strategy<Value = Operation> {
    prop::sample::select(vec![
        Operation::Ibarrier,
        Operation::Iallreduce,
        Operation::Ialltoallw,
        Operation::Ibcast,
        Operation::Iscatterv,
        Operation::Igather,
        Operation::Ireduce,
        Operation::Iscan,
        Operation::Iexscan,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn waits_and_parts_are_those_of_the_definitions(
        operation in operations(),
        root in 0usize..4,
        n_together in 1u32..4,
        spans in prop::collection::vec((0u64..1000, 1u64..50, 0u64..1000, 1u64..1000), 4),
    ) {
        let calls: Vec<_> = spans
            .iter()
            .map(|&(at, begin, between, end)| {
                let begun = (at, at + begin);
                (begun, (begun.1 + between, begun.1 + between + end))
            })
            .collect();
        let is_rooted = operation.semantics().is_rooted();
        let bytes = if operation == Operation::Ibarrier { 0 } else { 8 };
        let mut trace = TestTrace::new(4);
        for (process, &(begun, ended)) in trace.processes.iter_mut().zip(&calls) {
            let root = if is_rooted { root as i32 } else { -1 };
            process.call(begin(operation, 0, root, bytes, begun));
            process.call(complete(world(0), CompletingCall::Waitsome, n_together, ended));
        }
        let analysis = trace.analyze();
        let found = only(&analysis, operation.name());
        let share = |(from, to): (u64, u64)| ((to - from) / u64::from(n_together)) as i64;
        let expected = waits(operation, root, &calls, n_together.into());
        prop_assert_eq!(sum(&found.wait_ns), Some((4, expected)));
        let begun: i64 = calls.iter().map(|c| (c.0.1 - c.0.0) as i64).sum();
        let ended: i64 = calls.iter().map(|c| share(c.1)).sum();
        prop_assert_eq!(sum(&found.call_time_ns), Some((4, begun + ended)));
        let last = calls.iter().map(|c| c.0.0).max().unwrap();
        let lags: i64 = calls.iter().map(|c| (last - c.0.0) as i64).sum();
        prop_assert_eq!(sum(&found.arrival_lag_ns), Some((4, lags)));
    }

    #[test]
    fn records_of_any_content_end_no_analysis(
        changes in prop::collection::vec((0usize..2, 0usize..4000, 0usize..32, any::<u8>()), 1..40),
    ) {
        let mut trace = interleaved(20);
        for (chunk, record, byte, value) in changes {
            for process in &mut trace.processes[..2] {
                let records = &mut process.chunks[chunk].records;
                let at = record % records.len();
                let mut bytes: [u8; 32] = zerocopy_bytes(&records[at]);
                bytes[byte] ^= value;
                records[at] = of_bytes(&bytes);
            }
        }
        let analysis: Analysis = trace.analyze();
        prop_assert!(analysis.trace.calls > 0);
        let calls: u64 = analysis.ranks.iter().map(|rank| rank.calls).sum();
        prop_assert_eq!(calls, analysis.trace.calls);
        let again = trace.analyze();
        prop_assert!(to_json(&Document::of(&analysis)) == to_json(&Document::of(&again)));
    }
}

fn zerocopy_bytes(record: &Record) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&record.enter.get().to_le_bytes());
    bytes[8..16].copy_from_slice(&record.word().bits().to_le_bytes());
    bytes[16..20].copy_from_slice(&record.communicator.get().to_le_bytes());
    bytes[20..24].copy_from_slice(&record.root.get().to_le_bytes());
    bytes[24..].copy_from_slice(&record.leave.get().to_le_bytes());
    bytes
}

fn of_bytes(bytes: &[u8; 32]) -> Record {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // A free slot would end the chunk.
    Record::of_words([word(8), word(16)], word(0).max(START), word(24))
}

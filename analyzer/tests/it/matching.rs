//! Calls of built traces become the instances that they were made as.

use collbench_analyzer::RunFiles;
use collbench_analyzer::results::Remark;
use collbench_analyzer::steps::{Adder, Clocks, Communicators, Merge, Outcome, Run, match_calls};
use collbench_formats::{
    CODE_INTERNAL, Communicator, CompletingCall, Definition, Direction, Operation, Record, Running,
    UNKNOWN_COMMUNICATOR,
};

use crate::built::{
    START, TestChunk, TestTrace, analyze_in_windows, begin, call, codes, communicator, complete,
    counts, initiation, inter, message, only, shown, split, start, started, totals,
};

/// Number of complete instances.
struct Instances(u64);

impl Adder for Instances {
    type Sums = Self;
    type Rows = ();

    fn take(&mut self, matched: Outcome<'_>) {
        self.0 += u64::from(matches!(matched, Outcome::Complete(_)));
    }

    fn hand_over_rows(&mut self) {}

    fn finish(self) -> Self {
        self
    }
}

impl Merge for Instances {
    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }
}

/// Largest number of calls that waited for others at one time, in windows of 1,000 records.
fn window(trace: &TestTrace) -> u64 {
    let directory = trace.in_directory();
    let files = RunFiles::open(directory.path()).unwrap();
    let run = Run::read(&files).unwrap();
    let clocks = Clocks::fit(&run);
    let communicators = Communicators::agree(&run, &clocks);
    let (instances, irregularities) = match_calls(
        &run,
        &clocks,
        &communicators,
        Some(1000),
        &mut |_| {},
        &|| Instances(0),
    );
    assert!(instances.0 > 0);
    irregularities.largest_window
}

#[test]
fn the_nth_call_of_each_rank_is_the_nth_instance_however_far_apart_in_time() {
    let mut trace = TestTrace::new(2);
    for n in 0..100 {
        trace.world(
            Operation::Reduce,
            0,
            8,
            &[(1_000_000 + 10 * n, 1_000_005 + 10 * n), (n, n + 1)],
        );
    }
    let analysis = trace.analyze();
    let reduce = only(&analysis, "MPI_Reduce");
    assert_eq!(counts(reduce), [100, 0, 200]);
    assert_eq!(
        totals(reduce)["lag"].unwrap().1,
        (0..100).map(|n| 1_000_000 + 9 * n).sum::<i64>()
    );
}

#[test]
fn ranks_that_drift_apart_do_not_fill_the_memory() {
    let mut trace = TestTrace::new(4);
    for n in 0..20_000u64 {
        // Rank 0, the root, is done with each only after all others ended.
        let late = 1_000_000_000 + 10 * n;
        trace.world(
            Operation::Reduce,
            0,
            8,
            &[(late, late + 1), (n, n + 1), (n, n + 1), (n, n + 1)],
        );
    }
    let window = window(&trace);
    assert!(window <= 200, "{window} waiting calls");
}

#[test]
fn what_is_under_way_all_the_time_does_not_hold_up_what_comes_behind() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (1, 2)));
        for n in 1..20_000 {
            process.call(call(Operation::Barrier, 0, -1, 0, (10 * n, 10 * n + 5)));
        }
        let of = initiation(0, 0);
        let ended = (300_000, 300_001);
        process.call(complete(of, CompletingCall::Wait, 1, ended));
    }
    let window = window(&trace);
    assert!(window <= 2000, "{window} waiting calls");
    assert_eq!(only(&trace.analyze(), "MPI_Ibarrier").instances, 1);
}

#[test]
fn starts_of_many_persistent_collectives_on_few_communicators_do_not_fill_the_memory() {
    const MADE: u32 = 20;
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        for index in 0..MADE {
            process.persistent((index, index.into()), Operation::AllreduceInit, -1, 8);
        }
        for n in 0..20_000u64 {
            let definition = n as u32 % MADE;
            let (at, number) = (10 * n + 1, n / u64::from(MADE));
            process.call(start(
                Operation::AllreduceInit,
                0,
                definition,
                1,
                (at, at + 1),
            ));
            let of = started(definition, number);
            process.call(complete(of, CompletingCall::Wait, 1, (at + 2, at + 3)));
        }
    }
    let window = window(&trace);
    assert!(window <= 2000, "{window} waiting calls");
    let analysis = trace.analyze();
    let found = only(&analysis, "MPI_Allreduce_init");
    assert_eq!((found.instances, found.incomplete), (20_000, 0));
}

/// Three ranks, each of them root of broadcasts to the next, all of which it makes before it
/// comes to those of the one before: everybody is ahead of somebody.
fn ring(n_calls: u64) -> TestTrace {
    let mut trace = TestTrace::new(3);
    for rank in 0..3u32 {
        for (index, first) in [(2, rank), (3, (rank + 2) % 3)] {
            let mut members = [first, (first + 1) % 3];
            members.sort_unstable();
            let process = &mut trace.processes[rank as usize];
            process.define(split(index, 10 + u64::from(first), &members, rank, 0));
            let root = members.iter().position(|&m| m == first).unwrap() as i32;
            for n in 0..n_calls {
                let at = 10_000 * u64::from(index) + 10 * n + u64::from(rank);
                process.call(call(Operation::Bcast, index, root, 8, (at, at + 2)));
            }
        }
    }
    trace
}

#[test]
fn ranks_that_all_wait_for_one_another_are_taken_further() {
    let trace = ring(700);
    let directory = trace.in_directory();
    let analyze = |window| shown(&analyze_in_windows(directory.path(), window));
    let expected = analyze(1 << 20);
    for window in [1, 30, 1000] {
        assert_eq!(analyze(window), expected, "windows of {window} records");
    }
    let analysis = trace.analyze();
    let instances: u64 = analysis.operations.iter().map(|o| o.instances).sum();
    assert_eq!((instances, analysis.trace.complete), (2100, true));
    let window = window(&trace);
    assert!((1000..4000).contains(&window), "{window} waiting calls");
}

#[test]
fn calls_of_the_library_itself_have_an_order_of_their_own_and_are_not_counted() {
    let mut trace = TestTrace::new(2);
    let internal = |at: u64| {
        Record::call(
            Operation::Allreduce,
            CODE_INTERNAL,
            0,
            -1,
            8,
            START + at,
            START + at + 5,
        )
    };
    // Rank 0 makes its internal call before, rank 1 after the first barrier.
    trace.processes[0].call(internal(1));
    trace.barrier(&[(10, 30), (20, 30)]);
    trace.processes[1].call(internal(40));
    trace.barrier(&[(110, 130), (120, 130)]);
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 2);
    assert_eq!(analysis.totals.len(), 1);
    assert_eq!((analysis.trace.calls, analysis.ranks[0].calls), (4, 2));
    assert_eq!(codes(&analysis), ["internal_calls"]);
    assert!(analysis.trace.complete);
}

#[test]
fn the_begin_and_end_of_mpi_are_not_counted_but_end_the_run() {
    let mut trace = TestTrace::new(1);
    trace.processes[0].call(call(
        Operation::Finalize,
        UNKNOWN_COMMUNICATOR,
        -1,
        0,
        (5000, 9000),
    ));
    let analysis = trace.analyze();
    assert_eq!(analysis.trace.calls, 0);
    assert!(analysis.totals.is_empty());
    // The anchor at the end is taken 1 us behind the last leave.
    assert_eq!(analysis.trace.duration_ns, 10_000);
    assert_eq!(codes(&analysis), Vec::<&str>::new());
}

#[test]
fn threads_of_a_process_are_merged_by_the_time_of_entering() {
    let mut trace = TestTrace::new(2);
    // Barrier, allreduce, barrier on the world; in rank 1 by two threads in turn.
    trace.processes[0]
        .call(call(Operation::Barrier, 0, -1, 0, (10, 20)))
        .call(call(Operation::Allreduce, 0, -1, 8, (30, 40)))
        .call(call(Operation::Barrier, 0, -1, 0, (50, 60)));
    trace.processes[1]
        .call(call(Operation::Barrier, 0, -1, 0, (11, 20)))
        .call(call(Operation::Barrier, 0, -1, 0, (51, 60)));
    trace.processes[1].thread(1, vec![call(Operation::Allreduce, 0, -1, 8, (31, 40))]);
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), Vec::<&str>::new());
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 2);
    assert_eq!(only(&analysis, "MPI_Allreduce").instances, 1);
}

/// 30 barriers of two ranks, of which rank 1 enters each `n` ns late.
fn thirty_barriers() -> TestTrace {
    let mut trace = TestTrace::new(2);
    for n in 0..30u64 {
        trace.barrier(&[(100 * n, 100 * n + 50), (100 * n + n, 100 * n + 50)]);
    }
    trace
}

#[test]
fn a_missing_chunk_costs_its_own_instances_only() {
    let mut trace = thirty_barriers();
    // Rank 1 keeps calls 0 to 9 and 20 to 29: its second chunk is lost.
    let records = trace.processes[1].chunks[0].records.clone();
    trace.processes[1].chunks = vec![
        TestChunk {
            records: records[..10].to_vec(),
            ..TestChunk::default()
        },
        TestChunk {
            ordinal: 2,
            first_record: 20,
            sequences: vec![(0, 0, 20)],
            records: records[20..].to_vec(),
            ..TestChunk::default()
        },
    ];
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(counts(barrier), [20, 10, 50]);
    let expected: i64 = (0..10).chain(20..30).sum();
    assert_eq!(totals(barrier)["lag"], Some((40, expected)));
    assert!(!analysis.trace.complete);
    assert_eq!(codes(&analysis), ["incomplete", "incomplete_instances"]);
}

#[test]
fn a_table_that_says_fewer_calls_than_there_are_is_told() {
    let mut trace = TestTrace::new(1);
    let barrier = |at: u64| call(Operation::Barrier, 0, -1, 0, (at, at + 1));
    trace.processes[0].call(barrier(1)).call(barrier(2));
    trace.processes[0].chunks.push(TestChunk {
        ordinal: 1,
        first_record: 2,
        sequences: vec![(0, 0, 1)],
        records: vec![barrier(3)],
        ..TestChunk::default()
    });
    assert_eq!(codes(&trace.analyze()), ["sequence_conflict"]);
    trace.processes[0].chunks[1].sequences[0].2 = 2;
    assert_eq!(codes(&trace.analyze()), Vec::<&str>::new());
}

#[test]
fn calls_that_are_not_one_collective_are_set_aside_and_named() {
    let mut trace = TestTrace::new(3);
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (10, 20)));
    trace.processes[1].call(call(Operation::Allreduce, 0, -1, 8, (10, 20)));
    trace.processes[2].call(call(Operation::Barrier, 0, -1, 0, (10, 20)));
    trace.world(Operation::Bcast, 0, 8, &[(30, 40), (30, 40), (30, 40)]);
    trace.processes[2].chunks[0].records[1].root = 2.into();
    let analysis = trace.analyze();
    assert_eq!(
        codes(&analysis),
        ["mismatched_calls", "incomplete_instances"]
    );
    let found = Remark::Mismatched {
        n_instances: 2,
        first: 0,
    };
    assert_eq!(analysis.remarks[0], found);
    let calls = analysis.mismatches[0].calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (&*call.operation, &call.ranks[..]))
        .collect();
    let expected: [(&str, &[u32]); 2] = [("MPI_Allreduce", &[1]), ("MPI_Barrier", &[0, 2])];
    assert_eq!(calls, expected);
    assert_eq!(only(&analysis, "MPI_Barrier").incomplete, 1);
    assert_eq!(analysis.totals["MPI_Bcast"].calls, 3);
    assert_eq!(analysis.totals["MPI_Bcast"].instances, 0);
}

#[test]
fn calls_on_an_unknown_communicator_are_counted_not_matched() {
    let mut trace = TestTrace::new(2);
    for (process, index) in trace.processes.iter_mut().zip([UNKNOWN_COMMUNICATOR, 99]) {
        process.call(call(Operation::Barrier, index, -1, 0, (10, 30)));
    }
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(
        (barrier.communicator, barrier.calls, barrier.instances),
        (None, 2, 0)
    );
    assert_eq!(analysis.ranks[1].calls_by_class["MPI_Barrier"], 1);
    assert_eq!(analysis.totals["MPI_Barrier"].call_time_ns, 40);
    assert_eq!(codes(&analysis), ["incomplete", "unknown_communicator"]);
    // A handle that the recorder did not know is no damage; an index without definition is.
    let damage = &analysis.trace.damage;
    assert_eq!((damage.len(), damage[0].rank), (1, Some(1)));
    assert!(
        damage[0].what.contains("the first on communicator 99"),
        "{damage:?}"
    );
}

#[test]
fn a_constructor_over_a_group_is_matched_by_the_communicator_that_it_makes() {
    let mut trace = TestTrace::new(4);
    // Ranks 1 and 3 make one among barriers of all; they have no place in the order of these.
    trace.barrier(&[(10, 20), (10, 20), (10, 20), (10, 20)]);
    for (rank, stamps) in [(1u32, (30, 90)), (3, (50, 95))] {
        let made = Communicator {
            constructor: Operation::CommCreateGroup.code(),
            ..split(2, 50, &[1, 3], rank, 0)
        };
        trace.processes[rank as usize].define(made).call(call(
            Operation::CommCreateGroup,
            0,
            2,
            0,
            stamps,
        ));
    }
    trace.barrier(&[(100, 120); 4]);
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 2);
    let made = only(&analysis, "MPI_Comm_create_group");
    assert_eq!(
        (made.communicator, made.instances, made.calls),
        (Some(0), 1, 2)
    );
    assert_eq!(totals(made)["wait"], Some((2, 20)));
    assert_eq!(made.last_arrivals, [0, 0, 0, 1]);
    assert_eq!(analysis.ranks[3].calls_by_class["MPI_Comm_create_group"], 1);
    assert_eq!(
        analysis.communicators[2].name,
        "MPI_Comm_create_group 1 of MPI_COMM_WORLD"
    );
}

#[test]
fn classes_tell_how_large_the_communicator_is() {
    let mut trace = TestTrace::new(4);
    for rank in 0..4u32 {
        let members: &[u32] = if rank < 2 { &[0, 1] } else { &[2, 3] };
        let process = &mut trace.processes[rank as usize];
        process
            .define(split(2, 20 + u64::from(rank / 2), members, rank, 0))
            .define(Communicator {
                parent: 0,
                constructor: Operation::CommDup.code(),
                ..communicator(3, 30, 4, rank)
            })
            .define(inter(4, 40, [&[0, 1], &[2, 3]], rank))
            .define(split(5, 100 + u64::from(rank), &[rank], rank, 9));
        for index in 0..6 {
            let at = 100 * u64::from(index);
            process.call(call(Operation::Barrier, index, -1, 0, (at, at + 10)));
        }
    }
    let analysis = trace.analyze();
    let classes: Vec<(&str, u64)> = analysis.ranks[2]
        .calls_by_class
        .iter()
        .map(|(class, &n)| (class.as_str(), n))
        .collect();
    assert_eq!(
        classes,
        [
            ("MPI_Barrier", 2),
            ("MPI_Barrier:inter", 1),
            ("MPI_Barrier:self", 2),
            ("MPI_Barrier:sub", 1)
        ]
    );
    // By first member, members, order of creation; all of one process together.
    let shown: Vec<(&str, u64, Vec<u32>)> = analysis
        .communicators
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                c.size,
                c.ranks.iter().flatten().copied().collect(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("MPI_Comm_split 1 of MPI_COMM_WORLD", 2, vec![0, 1]),
            ("MPI_COMM_WORLD", 4, vec![0, 1, 2, 3]),
            ("MPI_COMM_SELF", 1, vec![0, 1, 2, 3]),
            ("MPI_Comm_dup 1 of MPI_COMM_WORLD", 4, vec![0, 1, 2, 3]),
            (
                "MPI_Intercomm_create 1 of MPI_COMM_WORLD",
                4,
                vec![0, 1, 2, 3]
            ),
            ("MPI_Comm_split 1 of MPI_COMM_WORLD", 2, vec![2, 3]),
        ]
    );
    // One process alone is never late: that is not resolved.
    let own = analysis
        .operations
        .iter()
        .find(|o| o.communicator == Some(2))
        .unwrap();
    assert_eq!((own.instances, own.last_unresolved), (8, 8));
}

#[test]
fn in_a_job_of_one_process_every_communicator_is_as_large_as_the_job() {
    let mut trace = TestTrace::new(1);
    for index in [0, 1] {
        trace.processes[0].call(call(Operation::Barrier, index, -1, 0, (10, 20)));
    }
    let analysis = trace.analyze();
    assert_eq!(analysis.ranks[0].calls_by_class.len(), 1);
    assert_eq!(analysis.ranks[0].calls_by_class["MPI_Barrier"], 2);
    assert_eq!(analysis.communicators.len(), 2);
}

#[test]
fn names_given_by_the_program_are_shown() {
    let mut trace = TestTrace::new(2);
    for rank in 0..2u32 {
        trace.processes[rank as usize].define(split(2, 20, &[0, 1], rank, 3));
        trace.processes[rank as usize]
            .definitions
            .push(Definition::CommunicatorName {
                index: 2,
                name: "solver".into(),
            });
    }
    assert_eq!(trace.analyze().communicators[2].name, "solver");
}

#[test]
fn definitions_that_contradict_one_another_are_told() {
    let mut trace = TestTrace::new(2);
    trace.processes[0].define(split(2, 20, &[0, 1], 0, 0));
    trace.processes[1].define(Communicator {
        size: 3,
        ..split(2, 20, &[0, 1], 1, 0)
    });
    for process in &mut trace.processes {
        process.call(call(Operation::Barrier, 2, -1, 0, (10, 20)));
    }
    let analysis = trace.analyze();
    assert_eq!(
        codes(&analysis),
        [
            "incomplete",
            "communicator_conflict",
            "unknown_communicator",
            "incomplete_instances"
        ]
    );
    assert!(!analysis.trace.complete);
    let damage = &analysis.trace.damage;
    assert_eq!(damage[0].rank, Some(1));
    assert!(
        damage[0]
            .what
            .contains("the definition of communicator 2 contradicts"),
        "{damage:?}"
    );
    // Its known members, rank 0 alone, sort before those of the world.
    assert_eq!(analysis.communicators[0].ranks, [Some(0), None]);
}

#[test]
fn a_remote_group_of_another_world_is_a_hole() {
    let mut trace = TestTrace::new(1);
    let mut made = inter(2, 9, [&[0], &[7]], 0);
    made.remote_first_member = collbench_formats::NO_RANK;
    made.remote_size = 3;
    trace.processes[0].define(made);
    trace.processes[0].call(call(Operation::Barrier, 2, -1, 0, (10, 20)));
    let analysis = trace.analyze();
    let communicator = &analysis.communicators[2];
    assert_eq!(communicator.ranks, [Some(0), None, None, None]);
    assert_eq!(communicator.groups.as_ref().unwrap()[1].len(), 3);
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(counts(barrier), [0, 1, 1]);
}

#[test]
fn calls_of_a_hundred_threads_are_put_in_order() {
    let operation = |i: u64| match i % 2 {
        0 => Operation::Barrier,
        _ => Operation::Allreduce,
    };
    let at = |i: u64| (1000 + 10 * i, 1005 + 10 * i);
    let mut trace = TestTrace::new(2);
    trace.processes[1].chunks.clear();
    let n_threads = 101;
    for thread in 0..n_threads as u32 {
        trace.processes[1].chunks.push(TestChunk {
            thread,
            ..TestChunk::default()
        });
    }
    for i in 0..1000 {
        let record = call(operation(i), 0, -1, 0, at(i));
        trace.processes[0].call(record);
        // One thread after the other, in an order that is not that of their numbers.
        let thread = i as usize * 37 % n_threads;
        trace.processes[1].chunks[thread].records.push(record);
    }
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), [""; 0]);
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 500);
    assert_eq!(only(&analysis, "MPI_Allreduce").instances, 500);
}

#[test]
fn behind_a_gap_a_process_of_several_threads_goes_on_from_the_table() {
    let mut trace = thirty_barriers();
    // In rank 1 thread 1 makes calls 0 to 4 and thread 0 the others, of which 10 to 19 are lost.
    let records = trace.processes[1].chunks[0].records.clone();
    let chunk = |thread, ordinal, first_record, calls, records: &[Record]| TestChunk {
        thread,
        ordinal,
        first_record,
        sequences: vec![(0, 0, calls)],
        records: records.to_vec(),
        ..TestChunk::default()
    };
    trace.processes[1].chunks = vec![
        chunk(0, 0, 0, 5, &records[5..10]),
        chunk(0, 2, 15, 20, &records[20..]),
        chunk(1, 0, 0, 0, &records[..5]),
    ];
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!((barrier.instances, barrier.incomplete), (20, 10));
    let expected: i64 = (0..10).chain(20..30).sum();
    assert_eq!(totals(barrier)["lag"], Some((40, expected)));
}

#[test]
fn an_operation_is_told_apart_by_root_and_by_power_of_two_of_its_largest_payload() {
    let mut trace = TestTrace::new(2);
    for (n, (root, payload)) in [(0, 0), (0, 8), (0, 15), (0, 16), (1, 16), (0, 31)]
        .into_iter()
        .enumerate()
    {
        let at = 1000 * n as u64;
        trace.world(
            Operation::Bcast,
            root,
            payload,
            &[(at, at + 10), (at, at + 10)],
        );
    }
    // The largest of any rank counts: 8 and 40 bytes are an instance of 32 to 63.
    for (process, payload) in trace.processes.iter_mut().zip([8, 40]) {
        process.call(call(Operation::Allgatherv, 0, -1, payload, (9000, 9010)));
    }
    let analysis = trace.analyze();
    let mut bcasts: Vec<_> = analysis
        .operations
        .iter()
        .filter(|o| o.operation == "MPI_Bcast")
        .map(|o| {
            (
                o.root.unwrap(),
                o.bytes_min.unwrap(),
                o.bytes_max.unwrap(),
                o.instances,
            )
        })
        .collect();
    bcasts.sort_unstable();
    assert_eq!(
        bcasts,
        [(0, 0, 0, 1), (0, 8, 15, 2), (0, 16, 31, 2), (1, 16, 16, 1)]
    );
    let allgatherv = only(&analysis, "MPI_Allgatherv");
    assert_eq!(
        (allgatherv.bytes_min, allgatherv.bytes_max),
        (Some(8), Some(40))
    );
}

/// Instances in which calls contradict one another are looked at in another way, between those in
/// which they agree.
#[test]
fn messages_are_found_in_all_instances_around_one_that_is_irregular() {
    const CALLS: u64 = 40;
    let mut trace = TestTrace::new(2);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.with_messages();
        for i in 0..CALLS {
            let at = 1_000 * (i + 1);
            let record = match i {
                // With two roots.
                17 => call(Operation::Bcast, 0, rank as i32, 8, (at, at + 500)),
                _ => call(Operation::Allreduce, 0, -1, 8, (at, at + 500)),
            };
            process.call(record);
            // Of the time in front of the call, with a stamp from there.
            let before = Running {
                elapsed_ticks: 300,
                on_core_us: 0,
                n_blocked: 0,
                n_preempted: 0,
            };
            process.call(Record::of_words(before.words(), START + at - 1, 0));
            let other = 1 - rank as u32;
            process.call(message(Direction::Send, 0, other, (at + 100, at + 200)));
            process.call(message(Direction::Receive, 0, other, (at + 200, at + 400)));
        }
    }
    let analysis = trace.analyze();
    let ends = analysis.trace.message_ends.as_ref().unwrap();
    // What contradicts itself is no complete instance.
    assert_eq!((ends.paired, ends.sends_elsewhere), (2 * (CALLS - 1), 2));
    let allreduce = only(&analysis, "MPI_Allreduce");
    let edges = allreduce.edges.as_ref().unwrap();
    let messages: Vec<u64> = edges.iter().map(|edge| edge.messages).collect();
    assert_eq!(messages, [CALLS - 1, CALLS - 1]);
}

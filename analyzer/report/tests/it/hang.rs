//! Where a run hung: who waits in what for whom, who never arrived and what they did last, and calls
//! that contradict one another, in runs that hang and in runs that go through by luck.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{HangSummary, RankState};
use collbench_formats::{
    CODE_INTERNAL, CompletingCall, Definition, Direction, Initiation, Operation,
    PersistentCollective, Record, Topology,
};
use collbench_report::{Document, to_text};

use crate::built::{
    TestChunk, TestTrace, begin, call, codes, communicator, complete, message, split, start,
};

/// A trace of so many ranks, all of which end without `MPI_Finalize`.
fn killed(n_ranks: u32) -> TestTrace {
    let mut trace = TestTrace::new(n_ranks);
    for process in &mut trace.processes {
        process.is_finalized = false;
    }
    trace
}

fn hang(analysis: &Analysis) -> &HangSummary {
    analysis.hang.as_ref().expect("the trace is incomplete")
}

fn screen(analysis: &Analysis) -> String {
    let text = anstream::adapter::strip_str(&to_text(analysis, None)).to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of the document.
fn in_words(analysis: &Analysis) -> Vec<String> {
    let hang = Document::of(analysis).hang;
    hang.expect("the trace is incomplete").in_words
}

#[track_caller]
fn assert_says(analysis: &Analysis, expected: &str) {
    let said = in_words(analysis);
    assert!(
        said.iter().any(|sentence| sentence == expected),
        "{said:#?}"
    );
    assert!(screen(analysis).contains(expected), "{}", screen(analysis));
}

fn remark(analysis: &Analysis, code: &str) -> Option<String> {
    let remarks = Document::of(analysis).remarks.into_iter();
    let mut remarks = remarks.filter(|remark| remark.code == code);
    remarks.next().map(|remark| remark.text)
}

fn internal(record: Record) -> Record {
    let code = record.code.get() | CODE_INTERNAL;
    Record {
        code: code.into(),
        ..record
    }
}

/// Rank `skipping` leaves one allreduce out and does `then` instead.
fn skipped(
    n_ranks: u32,
    skipping: usize,
    then: impl Fn(&mut crate::built::TestProcess),
) -> Analysis {
    let mut trace = killed(n_ranks);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.call(call(Operation::Allreduce, 0, -1, 8, (100, 150)));
        if rank == skipping {
            then(process)
        } else {
            let enter = 300 + rank as u64 % 7;
            process.call(call(Operation::Allreduce, 0, -1, 8, (enter, 0)));
        }
    }
    trace.analyze()
}

#[test]
fn who_never_came_is_told_with_the_last_that_it_did() {
    let analysis = skipped(4, 2, |_| {});
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert_eq!(unfinished.operations, ["MPI_Allreduce"]);
    assert_eq!(unfinished.inside, [0, 1, 3]);
    assert_eq!(unfinished.inside_since_ns, [300, 301, 303]);
    assert_eq!(unfinished.never_came, [2]);
    assert_eq!(
        (unfinished.bytes_min, unfinished.bytes_max),
        (Some(8), Some(8))
    );
    assert!(unfinished.unknown.is_empty() && unfinished.roots.is_empty());
    let hang = hang(&analysis);
    assert_eq!((hang.end_ns, &hang.waiting[..]), (303, &[0, 1, 3][..]));
    assert!(hang.cycles.is_empty());
    let rank = &hang.ranks[2];
    assert_eq!((rank.state, rank.last_seen_ns), (RankState::Outside, 150));
    let last = rank.last_call.as_ref().unwrap();
    assert_eq!(
        (
            last.operation.as_deref(),
            last.communicator,
            last.sequence,
            last.enter_ns,
            last.leave_ns
        ),
        (Some("MPI_Allreduce"), Some(0), Some(0), 100, Some(150))
    );
    assert_eq!(hang.ranks[0].state, RankState::Waiting);
    assert_eq!(hang.ranks[0].unfinished, [0]);
    assert_eq!(hang.ranks[0].last_call.as_ref().unwrap().leave_ns, None);
    assert_says(
        &analysis,
        "ranks 0-1, 3 have been waiting in MPI_Allreduce (call 1 on MPI_COMM_WORLD, 8 bytes) since \
         t = 300 ns (the last of them since t = 303 ns); rank 2 never arrived: it left MPI_Allreduce (call \
         0 on MPI_COMM_WORLD) at 150 ns and called no collective in the 153 ns after that",
    );
    let told = remark(&analysis, "waiting_at_the_end").unwrap();
    assert!(told.starts_with("3 ranks were in a collective"), "{told}");
    assert!(told.contains("rank 2 never arrived"), "{told}");
}

/// Messages follow the record of the call that they belong to.
#[test]
fn a_call_is_under_way_with_its_messages_behind_it_too() {
    let mut trace = killed(2);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        let other = 1 - rank as u32;
        process.with_messages();
        process.call(call(Operation::Allreduce, 0, -1, 8, (100, 150)));
        process.call(message(Direction::Send, 0, other, (110, 120)));
        process.call(message(Direction::Receive, 0, other, (120, 140)));
        if rank == 0 {
            process.call(call(Operation::Allreduce, 0, -1, 8, (300, 0)));
            process.call(message(Direction::Send, 0, other, (310, 320)));
            process.call(message(Direction::Receive, 0, other, (320, 0)));
        }
    }
    let blocking = trace.analyze();
    assert!(remark(&blocking, "abandoned_calls").is_none());
    assert_says(
        &blocking,
        "rank 0 has been waiting in MPI_Allreduce (call 1 on MPI_COMM_WORLD, 8 bytes) since t = 300 \
         ns; rank 1 never arrived: it left MPI_Allreduce (call 0 on MPI_COMM_WORLD) at 150 ns and \
         called no collective in the 170 ns after that",
    );

    let process = &mut trace.processes[0];
    process.chunks[0].records.truncate(3);
    process.call(begin(Operation::Iallreduce, 0, -1, 8, (200, 210)));
    let of = Initiation::Nonblocking {
        communicator: 0,
        position: 1,
    };
    process.call(complete(of, CompletingCall::Wait, 1, (300, 0)));
    process.call(message(Direction::Receive, 0, 1, (320, 0)));
    let waiting = trace.analyze();
    let damage = &waiting.trace.damage[0];
    let in_flight = damage.in_flight.as_ref().unwrap();
    assert_eq!(
        (&*in_flight.operation, in_flight.completing.as_deref()),
        ("MPI_Iallreduce", Some("MPI_Wait"))
    );
}

#[test]
fn of_a_thousand_ranks_all_but_one_are_told_as_ranges() {
    let analysis = skipped(1024, 512, |_| {});
    let unfinished = &analysis.unfinished[0];
    let others: Vec<u32> = (0..1024).filter(|&rank| rank != 512).collect();
    assert_eq!(unfinished.inside, others);
    assert_eq!(unfinished.never_came, [512]);
    assert_eq!(hang(&analysis).waiting, others);
    assert_says(
        &analysis,
        "ranks 0-511, 513-1023 have been waiting in MPI_Allreduce (call 1 on MPI_COMM_WORLD, 8 \
         bytes) since t = 300 ns (the last of them since t = 306 ns); rank 512 never arrived: it left \
         MPI_Allreduce (call 0 on MPI_COMM_WORLD) at 150 ns and called no collective in the 156 ns \
         after that",
    );
}

#[test]
fn who_never_came_may_be_in_finalize_or_in_abort_or_past_both() {
    let in_finalize = skipped(3, 1, |process| {
        process.call(call(Operation::Finalize, 0, -1, 0, (200, 0)));
    });
    assert_eq!(hang(&in_finalize).ranks[1].state, RankState::InFinalize);
    let expected = "rank 1 never arrived: it has been in MPI_Finalize since t = 200 ns";
    let [sentence] = &in_words(&in_finalize)[..] else {
        panic!("{:?}", in_words(&in_finalize));
    };
    assert!(sentence.ends_with(expected), "{sentence}");
    assert_eq!(hang(&in_finalize).waiting, [0, 2]);

    let in_abort = skipped(3, 1, |process| {
        process.call(call(Operation::Abort, 0, -1, 0, (200, 0)));
    });
    assert_eq!(hang(&in_abort).ranks[1].state, RankState::InAbort);
    assert!(in_words(&in_abort)[0].ends_with("it has been in MPI_Abort since t = 200 ns"));

    let finished = skipped(3, 1, |process| {
        process.call(call(Operation::Finalize, 0, -1, 0, (200, 210)));
        process.is_finalized = true;
    });
    assert_eq!(hang(&finished).ranks[1].state, RankState::Finished);
    let expected = "rank 1 never arrived: it called MPI_Finalize at 200 ns and returned from it";
    assert!(
        in_words(&finished)[0].contains(expected),
        "{:?}",
        in_words(&finished)
    );
}

/// Two communicators of all, called in another order by two ranks.
fn crossed() -> TestTrace {
    let mut trace = killed(3);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        for (index, name) in [(2, "A"), (3, "B")] {
            process.define(split(
                index,
                u64::from(index) * 7,
                &[0, 1, 2],
                rank as u32,
                u64::from(index),
            ));
            let name = name.to_owned();
            process
                .definitions
                .push(Definition::CommunicatorName { index, name });
        }
    }
    trace.processes[0].call(call(Operation::Bcast, 2, 1, 64, (100, 0)));
    trace.processes[1].call(call(Operation::Barrier, 3, -1, 0, (90, 0)));
    trace
}

#[test]
fn a_cycle_of_waiting_over_two_communicators_is_named() {
    let analysis = crossed().analyze();
    let hang = hang(&analysis);
    let [cycle] = &hang.cycles[..] else {
        panic!("{:?}", hang.cycles);
    };
    assert_eq!(cycle.ranks, [0, 1]);
    let operations = |index: &usize| &*analysis.unfinished[*index].operations[0];
    let waited_in: Vec<&str> = cycle.unfinished.iter().map(operations).collect();
    assert_eq!(waited_in, ["MPI_Bcast", "MPI_Barrier"]);
    assert_eq!(
        in_words(&analysis)[0],
        "a circular wait: rank 0 waits in MPI_Bcast (call 0 on A, root rank 1, 64 bytes) for \
         rank 1, which waits in MPI_Barrier (call 0 on B) for rank 0"
    );
    assert_says(
        &analysis,
        "rank 0 has been waiting in MPI_Bcast (call 0 on A, root rank 1, 64 bytes) since t = 100 ns; \
         rank 1 never arrived: it has been in MPI_Barrier (call 0 on B) since t = 90 ns; rank 2 never \
         arrived: it called no collective at all",
    );
}

#[test]
fn a_chain_that_ends_somewhere_is_no_cycle() {
    // As above, but rank 0 waits for the root of its broadcast only, and rank 1 for rank 2.
    let mut trace = crossed();
    trace.processes[0].chunks[0].records.clear();
    trace.processes[0].call(call(Operation::Bcast, 2, 1, 64, (100, 0)));
    trace.processes[1].chunks[0].records.clear();
    trace.processes[1].call(call(Operation::Bcast, 3, 2, 64, (90, 0)));
    let analysis = trace.analyze();
    assert!(
        hang(&analysis).cycles.is_empty(),
        "{:?}",
        hang(&analysis).cycles
    );
    assert_eq!(analysis.unfinished.len(), 2);
}

#[test]
fn only_those_are_waited_for_on_whom_a_rank_depends() {
    // Rank 1 waits on A, ranks 0 and 2 never arrived; rank 2 waits on B for the two others.
    let cycles = |operation: Operation, sources: &[u32]| {
        let mut trace = crossed();
        for process in &mut trace.processes {
            process.chunks[0].records.clear();
        }
        let topology = Topology {
            communicator: 2,
            in_neighbours: sources.to_vec(),
            out_neighbours: sources.to_vec(),
        };
        let definition = Definition::Topology(topology);
        trace.processes[1].definitions.push(definition);
        trace.processes[1].call(call(operation, 2, 0, 8, (10, 0)));
        trace.processes[2].call(call(Operation::Barrier, 3, -1, 0, (10, 0)));
        let analysis = trace.analyze();
        let cycles = hang(&analysis).cycles.iter();
        cycles.map(|cycle| cycle.ranks.clone()).collect::<Vec<_>>()
    };
    let none: Vec<Vec<u32>> = Vec::new();
    assert_eq!(cycles(Operation::Allreduce, &[]), [[1, 2]]);
    assert_eq!(cycles(Operation::Scan, &[]), none, "for rank 0 only");
    assert_eq!(cycles(Operation::Bcast, &[]), none, "for the root, rank 0");
    assert_eq!(cycles(Operation::Reduce, &[]), none, "likewise");
    assert_eq!(cycles(Operation::NeighborAllgather, &[0]), none);
    assert_eq!(cycles(Operation::NeighborAllgather, &[0, 2]), [[1, 2]]);
}

#[test]
fn a_cycle_of_many_is_found_through_all() {
    const N: u32 = 200;
    let mut trace = killed(N);
    // Each rank waits on a communicator of two for its neighbour.
    for rank in 0..N {
        let next = (rank + 1) % N;
        let pair = |other: u32| {
            if other == 0 {
                [0, N - 1]
            } else {
                [other - 1, other]
            }
        };
        let process = &mut trace.processes[rank as usize];
        process.define(split(2, 100 + u64::from(rank), &pair(rank), rank, 0));
        process.define(split(3, 100 + u64::from(next), &pair(next), rank, 0));
        process.call(call(Operation::Allreduce, 3, -1, 8, (10, 0)));
    }
    let analysis = trace.analyze();
    let [cycle] = &hang(&analysis).cycles[..] else {
        panic!("{:?}", hang(&analysis).cycles);
    };
    let all: Vec<u32> = (0..N).collect();
    assert_eq!(cycle.ranks, all);
    let sentence = &in_words(&analysis)[0];
    assert!(
        sentence.contains("and so on, 200 ranks in total"),
        "{sentence}"
    );
}

#[test]
fn a_barrier_beside_a_broadcast_is_named_where_it_hangs_and_where_it_goes_through() {
    let trace = |leave: u64, is_finalized: bool| {
        let mut trace = TestTrace::new(3);
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            process.is_finalized = is_finalized;
            process.call(match rank {
                2 => call(Operation::Barrier, 0, -1, 0, (10, leave)),
                _ => call(Operation::Bcast, 0, 0, 8, (10, leave)),
            });
        }
        trace.analyze()
    };
    let words = "different operations at call 0 on MPI_COMM_WORLD: MPI_Barrier by rank 2; MPI_Bcast with \
                 root 0 by ranks 0-1";
    let hanging = trace(0, false);
    assert_says(&hanging, words);
    let went_through = trace(20, true);
    assert!(went_through.hang.is_none() && went_through.trace.complete);
    for (analysis, is_through) in [(hanging, false), (went_through, true)] {
        let [mismatch] = &analysis.mismatches[..] else {
            panic!("{:?}", analysis.mismatches);
        };
        assert_eq!(
            (&*mismatch.kind, mismatch.went_through),
            ("operations", is_through)
        );
        let calls: Vec<_> = mismatch
            .calls
            .iter()
            .map(|c| (&*c.operation, &c.ranks[..]))
            .collect();
        let expected = [("MPI_Barrier", &[2][..]), ("MPI_Bcast", &[0, 1])];
        assert_eq!(calls, expected);
        assert!(
            remark(&analysis, "mismatched_calls")
                .unwrap()
                .contains(words)
        );
    }
}

#[test]
fn different_roots_are_named_also_where_not_all_came() {
    for leave in [0, 20] {
        let mut trace = killed(4);
        trace.processes[1].call(call(Operation::Reduce, 0, 0, 8, (10, leave)));
        trace.processes[2].call(call(Operation::Reduce, 0, 3, 8, (10, leave)));
        let analysis = trace.analyze();
        assert_eq!(analysis.mismatches[0].kind, "roots");
        assert_eq!(analysis.mismatches[0].calls[1].root, Some(3));
        assert_says(
            &analysis,
            "different roots at call 0 on MPI_COMM_WORLD: MPI_Reduce with root 0 by rank 1; MPI_Reduce \
             with root 3 by rank 2",
        );
    }
}

#[test]
fn roots_that_agree_are_no_mismatch_though_the_first_rank_never_came() {
    let mut trace = killed(3);
    for rank in 1..3 {
        trace.processes[rank].call(call(Operation::Reduce, 0, 0, 8, (10, 0)));
    }
    let analysis = trace.analyze();
    assert!(analysis.mismatches.is_empty(), "{:?}", analysis.mismatches);
    assert_eq!(analysis.unfinished[0].roots, [0]);
    assert_eq!(analysis.unfinished[0].never_came, [0]);
}

#[test]
fn sizes_that_must_be_equal_are_compared_and_others_are_not() {
    use Operation as Op;
    // Operation, payloads by rank, whether they contradict one another.
    let cases: [(Op, [u64; 3], bool); 15] = [
        (Op::Allreduce, [8, 8, 16], true),
        (Op::Allreduce, [0, 8, 8], true),
        (Op::Allreduce, [8, 8, 8], false),
        (Op::Bcast, [8, 8, 4], true),
        (Op::Reduce, [8, 4, 8], true),
        (Op::Gather, [8, 8, 9], true),
        (Op::Allgather, [8, 9, 8], true),
        (Op::Alltoall, [24, 24, 12], true),
        (Op::ReduceScatterBlock, [8, 8, 9], true),
        (Op::Scan, [8, 9, 8], true),
        (Op::Scatter, [24, 8, 8], false),
        (Op::Scatter, [24, 8, 9], true),
        (Op::Scatter, [16, 8, 8], true),
        (Op::Allgatherv, [8, 9, 10], false),
        (Op::NeighborAllgather, [8, 9, 10], false),
    ];
    for (operation, payloads, are_apart) in cases {
        let root = if operation.semantics().is_rooted() {
            0
        } else {
            -1
        };
        for is_finished in [true, false] {
            let mut trace = TestTrace::new(3);
            for (process, payload) in trace.processes.iter_mut().zip(payloads) {
                process.is_finalized = is_finished;
                let leave = if is_finished { 20 } else { 0 };
                process.call(call(operation, 0, root, payload, (10, leave)));
            }
            let analysis = trace.analyze();
            let kinds: Vec<_> = analysis.mismatches.iter().map(|m| &*m.kind).collect();
            let expected: &[&str] = if are_apart { &["sizes"] } else { &[] };
            assert_eq!(kinds, expected, "{operation:?} {payloads:?} {is_finished}");
            let has_remark = codes(&analysis).contains(&"mismatched_sizes");
            assert_eq!(has_remark, are_apart, "{operation:?} {payloads:?}");
        }
    }
}

#[test]
fn sizes_of_an_intercommunicator_and_unknown_ones_accuse_nobody() {
    let mut trace = TestTrace::new(3);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        let mut record = call(Operation::Allreduce, 0, -1, 8, (10, 20));
        if rank == 1 {
            let code = record.code.get() | collbench_formats::CODE_PAYLOAD_UNKNOWN;
            record = call(Operation::Allreduce, 0, -1, 0, (10, 20));
            record.code = code.into();
        }
        process.call(record);
        process.define(crate::built::inter(2, 9, [&[0], &[1, 2]], rank as u32));
        let (payload, root) = [(8, -2), (0, 0), (0, 0)][rank];
        process.call(call(Operation::Bcast, 2, root, payload, (30, 40)));
    }
    let analysis = trace.analyze();
    assert!(analysis.mismatches.is_empty(), "{:?}", analysis.mismatches);
}

#[test]
fn blocking_beside_nonblocking_is_named_and_who_waits_for_it_is_known() {
    let mut trace = killed(2);
    let waiting = &mut trace.processes[0];
    waiting.call(begin(Operation::Ibarrier, 0, -1, 0, (10, 12)));
    let of = Initiation::Nonblocking {
        communicator: 0,
        position: 0,
    };
    waiting.call(complete(of, CompletingCall::Wait, 1, (20, 0)));
    trace.processes[1].call(call(Operation::Barrier, 0, -1, 0, (15, 0)));
    let analysis = trace.analyze();
    assert_eq!(analysis.mismatches[0].kind, "blocking_and_nonblocking");
    assert_says(
        &analysis,
        "a blocking and a nonblocking operation at call 0 on MPI_COMM_WORLD: MPI_Barrier by rank 1; \
         MPI_Ibarrier by rank 0",
    );
    assert_eq!(hang(&analysis).waiting, [0, 1]);
    assert!(!codes(&analysis).contains(&"stray_completions"));
    let last = hang(&analysis).ranks[0].last_call.as_ref().unwrap();
    assert_eq!(
        (last.operation.as_deref(), last.completing.as_deref()),
        (Some("MPI_Ibarrier"), Some("MPI_Wait"))
    );
}

#[test]
fn what_is_never_completed_before_finalize_is_a_remark_and_what_a_killed_rank_left_is_none() {
    let mut trace = TestTrace::new(3);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (10, 12)));
        process.call(begin(Operation::Iallreduce, 0, -1, 8, (13, 14)));
        let position = |position| Initiation::Nonblocking {
            communicator: 0,
            position,
        };
        if rank != 1 {
            process.call(complete(position(0), CompletingCall::Wait, 1, (20, 30)));
        }
        process.call(complete(position(1), CompletingCall::Wait, 1, (40, 50)));
    }
    let whole = trace.analyze();
    assert!(whole.trace.complete && whole.hang.is_none());
    let [found] = &whole.never_completed[..] else {
        panic!("{:?}", whole.never_completed);
    };
    assert_eq!(
        (&*found.operation, found.sequence, &found.ranks[..]),
        ("MPI_Ibarrier", 0, &[1][..])
    );
    let told = remark(&whole, "never_completed").unwrap();
    assert!(
        told.contains("1 nonblocking collective was initiated"),
        "{told}"
    );
    assert!(
        told.contains("MPI_Ibarrier (call 0 on MPI_COMM_WORLD) by rank 1"),
        "{told}"
    );

    trace.processes[1].is_finalized = false;
    let killed = trace.analyze();
    assert!(killed.never_completed.is_empty());
    assert!(!codes(&killed).contains(&"never_completed"));
}

#[test]
fn starts_of_persistent_collectives_are_waited_for_by_their_numbers() {
    let mut trace = killed(2);
    for process in &mut trace.processes {
        let collective = PersistentCollective {
            index: 0,
            communicator: 0,
            position: 0,
            operation: Operation::AllreduceInit.code(),
            root: -1,
            payload_bytes: Some(8),
        };
        process
            .definitions
            .push(Definition::PersistentCollective(collective));
    }
    let of = |start| Initiation::Persistent {
        definition: 0,
        start,
    };
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.call(start(Operation::AllreduceInit, 0, 0, 1, (10, 11)));
        process.call(complete(of(0), CompletingCall::Wait, 1, (12, 20)));
        if rank == 0 {
            process.call(start(Operation::AllreduceInit, 0, 0, 1, (30, 31)));
            process.call(complete(of(1), CompletingCall::Wait, 1, (32, 0)));
        }
    }
    let analysis = trace.analyze();
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert!(unfinished.persistent);
    assert_eq!(
        (unfinished.sequence, &unfinished.never_came[..]),
        (1, &[1][..])
    );
    assert_says(
        &analysis,
        "rank 0 has been waiting in MPI_Wait for MPI_Allreduce_init (start 1 on MPI_COMM_WORLD, 8 \
         bytes) since t = 32 ns; rank 1 never arrived: it left MPI_Wait (start 0 on MPI_COMM_WORLD) at \
         20 ns and called no collective in the 12 ns after that",
    );
}

#[test]
fn all_that_one_waitall_waits_for_is_waited_in() {
    let mut trace = killed(2);
    let process = &mut trace.processes[0];
    for position in 0..3 {
        process.call(begin(
            Operation::Ibarrier,
            0,
            -1,
            0,
            (10 + position, 10 + position),
        ));
    }
    for position in 0..3 {
        let of = Initiation::Nonblocking {
            communicator: 0,
            position,
        };
        process.call(complete(of, CompletingCall::Waitall, 3, (20, 0)));
    }
    let process = &mut trace.processes[1];
    process.call(begin(Operation::Ibarrier, 0, -1, 0, (10, 11)));
    let analysis = trace.analyze();
    let inside: Vec<_> = analysis
        .unfinished
        .iter()
        .map(|u| (&u.inside[..], &u.begun[..]))
        .collect();
    let (none, rank_1): (&[u32], &[u32]) = (&[], &[1]);
    assert_eq!(inside, [(&[0][..], rank_1), (&[0], none), (&[0], none)]);
    assert_eq!(hang(&analysis).ranks[0].unfinished, [0, 1, 2]);
}

#[test]
fn a_call_that_the_library_makes_below_another_one_does_not_hide_that() {
    let mut trace = killed(2);
    for rank in 0..2 {
        let process = &mut trace.processes[rank];
        process.call(call(Operation::CommDup, 0, -1, 0, (10, 0)));
        process.call(internal(call(Operation::Allreduce, 0, -1, 8, (11, 12))));
        if rank == 0 {
            process.call(internal(call(Operation::Allreduce, 0, -1, 8, (13, 0))));
        }
    }
    let analysis = trace.analyze();
    assert!(!codes(&analysis).contains(&"abandoned_calls"));
    let dup = analysis
        .unfinished
        .iter()
        .find(|u| u.operations == ["MPI_Comm_dup"])
        .unwrap();
    assert_eq!((&dup.inside[..], dup.internal), (&[0, 1][..], false));
    let below = analysis.unfinished.iter().find(|u| u.internal).unwrap();
    assert_eq!(
        (&below.inside[..], &below.never_came[..]),
        (&[0][..], &[1][..])
    );
    assert_eq!(hang(&analysis).waiting, [0, 1]);
}

#[test]
fn a_call_that_never_returned_though_the_thread_went_on_is_not_waited_in() {
    let mut trace = killed(2);
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (10, 0)));
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (20, 0)));
    let analysis = trace.analyze();
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert_eq!((unfinished.sequence, &unfinished.inside[..]), (1, &[0][..]));
}

#[test]
fn who_has_no_file_or_stopped_recording_is_accused_of_nothing() {
    let mut trace = killed(4);
    for rank in [0, 2] {
        trace.processes[rank].call(call(Operation::Barrier, 0, -1, 0, (10, 0)));
    }
    // Rank 3: recording stopped for want of space.
    let directory = {
        let mut trace = trace.clone();
        trace.processes.remove(1);
        trace.in_directory()
    };
    let file = directory.path().join("rank-000003.trace");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[44] = 1;
    std::fs::write(&file, bytes).unwrap();
    let analysis =
        crate::built::analyze(directory.path(), &collbench_analyzer::Selection::default());
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert_eq!(unfinished.inside, [0, 2]);
    assert!(unfinished.never_came.is_empty());
    assert_eq!((&unfinished.unknown[..], unfinished.no_file), (&[3][..], 1));
    let states: Vec<_> = hang(&analysis)
        .ranks
        .iter()
        .map(|rank| rank.state)
        .collect();
    assert_eq!(
        states,
        [
            RankState::Waiting,
            RankState::Waiting,
            RankState::NotRecorded
        ]
    );
    let sentence = &in_words(&analysis)[0];
    assert!(!sentence.contains("never arrived"), "{sentence}");
    assert!(
        sentence.contains("it is not known whether rank 3 arrived"),
        "{sentence}"
    );
    assert!(
        sentence.contains("there is no file of 1 other process"),
        "{sentence}"
    );
}

#[test]
fn of_a_file_that_was_cut_it_is_not_known_what_came_behind() {
    let mut trace = killed(2);
    for n in 0..100 {
        trace.world(Operation::Barrier, -1, 0, &[(10 * n + 10, 10 * n + 15); 2]);
    }
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (2000, 0)));
    let directory = trace.in_directory();
    let file = directory.path().join("rank-000001.trace");
    let bytes = std::fs::read(&file).unwrap();
    // In the midst of its records: a chunk is said to be longer.
    let cut = bytes.len() - 50 * 32;
    std::fs::write(&file, &bytes[..cut]).unwrap();
    let analysis =
        crate::built::analyze(directory.path(), &collbench_analyzer::Selection::default());
    assert_eq!(hang(&analysis).ranks[1].state, RankState::Damaged);
    let last = analysis
        .unfinished
        .iter()
        .find(|u| u.inside == [0])
        .unwrap();
    assert!(last.never_came.is_empty(), "{last:?}");
    assert_eq!(last.unknown, [1]);
}

#[test]
fn who_had_left_finalize_never_came_though_its_file_was_not_ended() {
    // Killed after the file was cut to size and before it was marked as finished.
    let mut trace = killed(2);
    trace.world(Operation::Barrier, -1, 0, &[(10, 15); 2]);
    trace.processes[0].call(call(Operation::Allreduce, 0, -1, 8, (20, 0)));
    trace.processes[1].call(call(Operation::Finalize, 0, -1, 0, (30, 90)));
    let directory = trace.in_directory();
    let file = directory.path().join("rank-000001.trace");
    let bytes = std::fs::read(&file).unwrap();
    let finalize = trace.processes[1].chunks[0].records[1].enter.to_bytes();
    let at = bytes.windows(8).rposition(|word| word == finalize).unwrap();
    std::fs::write(&file, &bytes[..at + 32]).unwrap();
    let analysis =
        crate::built::analyze(directory.path(), &collbench_analyzer::Selection::default());
    let damage = &analysis.trace.damage;
    assert!(
        damage
            .iter()
            .any(|found| found.what.contains("the file ends here")),
        "{damage:?}"
    );
    assert_eq!(hang(&analysis).ranks[1].state, RankState::Finished);
    assert_eq!(analysis.unfinished[0].never_came, [1]);
    let [sentence] = &in_words(&analysis)[..] else {
        panic!("{:?}", in_words(&analysis));
    };
    let expected = "rank 1 never arrived: it called MPI_Finalize at 30 ns and returned from it";
    assert!(sentence.ends_with(expected), "{sentence}");
}

#[test]
fn what_lies_in_a_gap_was_lost_and_what_lies_behind_is_known() {
    // Rank 1 lost a chunk of five barriers; the table of the next one says so. It is missing in
    // the 12th.
    let mut trace = killed(2);
    for n in 0..11 {
        trace.world(Operation::Barrier, -1, 0, &[(10 * n + 10, 10 * n + 15); 2]);
    }
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (2000, 0)));
    let of_rank_1 = &mut trace.processes[1];
    let records = std::mem::take(&mut of_rank_1.chunks[0].records);
    of_rank_1.chunks[0].records = records[..3].to_vec();
    of_rank_1.chunks.push(TestChunk {
        ordinal: 2,
        first_record: 8,
        sequences: vec![(0, 0, 8)],
        records: records[8..].to_vec(),
        ..TestChunk::default()
    });
    let analysis = trace.analyze();
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert_eq!(
        (unfinished.sequence, &unfinished.never_came[..]),
        (11, &[1][..])
    );
    assert_eq!(hang(&analysis).ranks[1].state, RankState::Outside);
}

#[test]
fn a_rank_of_a_part_is_told_by_its_world_rank() {
    let mut trace = killed(6);
    for rank in [1u32, 3, 5] {
        let process = &mut trace.processes[rank as usize];
        process.define(split(2, 77, &[5, 3, 1], rank, 0));
        if rank != 3 {
            process.call(call(Operation::Bcast, 2, 1, 32, (10, 0)));
        }
    }
    let analysis = trace.analyze();
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert_eq!(
        (&unfinished.inside[..], &unfinished.never_came[..]),
        (&[1, 5][..], &[3][..])
    );
    assert_eq!(unfinished.roots, [3], "the rank of the world");
}

#[test]
fn with_nobody_in_a_call_the_last_calls_are_told() {
    let mut trace = killed(2);
    trace.world(Operation::Barrier, -1, 0, &[(10, 20); 2]);
    let analysis = trace.analyze();
    assert_says(
        &analysis,
        "ranks 0-1 were in no collective; the last call was MPI_Barrier (call 0 on MPI_COMM_WORLD), left \
         at 20 ns",
    );
    assert!(hang(&analysis).waiting.is_empty());
}

#[test]
fn one_process_communicators_are_waited_in_alone() {
    let mut trace = killed(2);
    let own = communicator(2, 900, 1, 0);
    trace.processes[1].define(collbench_formats::Communicator {
        first_member: 1,
        ..own
    });
    trace.processes[1].call(call(Operation::Barrier, 1, -1, 0, (10, 0)));
    let analysis = trace.analyze();
    let [unfinished] = &analysis.unfinished[..] else {
        panic!("{:?}", analysis.unfinished);
    };
    assert_eq!((&unfinished.inside[..], unfinished.no_file), (&[1][..], 0));
    assert!(unfinished.never_came.is_empty());
}

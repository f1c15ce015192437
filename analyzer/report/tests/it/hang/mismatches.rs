//! Calls that contradict one another, in runs that hang and in runs that go through by luck.

use super::*;

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
        let mismatch = one(&analysis.mismatches);
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
    let of = initiation(0, 0);
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

//! Nonblocking and persistent collectives, and calls below others, that are under way when a run ends.

use super::*;

#[test]
fn what_is_never_completed_before_finalize_is_a_remark_and_what_a_killed_rank_left_is_none() {
    let mut trace = TestTrace::new(3);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.call(begin(Operation::Ibarrier, 0, -1, 0, (10, 12)));
        process.call(begin(Operation::Iallreduce, 0, -1, 8, (13, 14)));
        let position = |position| initiation(0, position);
        if rank != 1 {
            process.call(complete(position(0), CompletingCall::Wait, 1, (20, 30)));
        }
        process.call(complete(position(1), CompletingCall::Wait, 1, (40, 50)));
    }
    let whole = trace.analyze();
    assert!(whole.trace.complete && whole.hang.is_none());
    let found = one(&whole.never_completed);
    assert_eq!(
        (&*found.operation, found.sequence, &found.ranks[..]),
        ("MPI_Ibarrier", 0, &[1][..])
    );
    let told = remark(&whole, "never_completed").unwrap();
    assert_has(&told, "1 nonblocking collective was initiated");
    assert_has(&told, "MPI_Ibarrier (call 0 on MPI_COMM_WORLD) by rank 1");

    trace.processes[1].is_finalized = false;
    let killed = trace.analyze();
    assert!(killed.never_completed.is_empty());
    assert!(!codes(&killed).contains(&"never_completed"));
}

#[test]
fn starts_of_persistent_collectives_are_waited_for_by_their_numbers() {
    let mut trace = killed(2);
    for process in &mut trace.processes {
        process.persistent((0, 0), Operation::AllreduceInit, -1, 8);
    }
    let of = |start| started(0, start);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.call(start(Operation::AllreduceInit, 0, 0, 1, (10, 11)));
        process.call(complete(of(0), CompletingCall::Wait, 1, (12, 20)));
        if rank == 0 {
            process.call(start(Operation::AllreduceInit, 0, 0, 1, (30, 31)));
            process.call(complete(of(1), CompletingCall::Wait, 1, (32, 0)));
        }
    }
    let analysis = trace.analyze();
    let unfinished = one(&analysis.unfinished);
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
        let of = initiation(0, position);
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
    let unfinished = one(&analysis.unfinished);
    assert_eq!((unfinished.sequence, &unfinished.inside[..]), (1, &[0][..]));
}

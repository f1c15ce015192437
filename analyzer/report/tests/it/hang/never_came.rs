//! Who never arrived, and what it did last.

use super::*;

#[test]
fn who_never_came_is_told_with_the_last_that_it_did() {
    let analysis = skipped(4, 2, |_| {});
    let unfinished = one(&analysis.unfinished);
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
    assert_has(&told, "rank 2 never arrived");
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
    let of = initiation(0, 1);
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
    let damage = &in_finalize.trace.damage;
    let of_rank_1 = damage.iter().find(|found| found.rank == Some(1)).unwrap();
    let ended = "the process ended inside MPI_Finalize";
    assert!(of_rank_1.what.ends_with(ended), "{of_rank_1:?}");
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

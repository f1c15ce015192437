//! What is not known of a hang: records, files and ranks that are missing.

use super::*;

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
    let unfinished = one(&analysis.unfinished);
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
    assert_has(sentence, "it is not known whether rank 3 arrived");
    assert_has(sentence, "there is no file of 1 other process");
}

#[test]
fn of_a_file_that_was_cut_it_is_not_known_what_came_behind() {
    let mut trace = killed(2);
    for n in 0..100 {
        trace.barrier(&[(10 * n + 10, 10 * n + 15); 2]);
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
    trace.barrier(&[(10, 15); 2]);
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
        trace.barrier(&[(10 * n + 10, 10 * n + 15); 2]);
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
    let unfinished = one(&analysis.unfinished);
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
    let unfinished = one(&analysis.unfinished);
    assert_eq!(
        (&unfinished.inside[..], &unfinished.never_came[..]),
        (&[1, 5][..], &[3][..])
    );
    assert_eq!(unfinished.roots, [3], "the rank of the world");
}

#[test]
fn with_nobody_in_a_call_the_last_calls_are_told() {
    let mut trace = killed(2);
    trace.barrier(&[(10, 20); 2]);
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
    let unfinished = one(&analysis.unfinished);
    assert_eq!((&unfinished.inside[..], unfinished.no_file), (&[1][..], 0));
    assert!(unfinished.never_came.is_empty());
}

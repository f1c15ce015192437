//! Time stamps that cannot be true: damage, and in no figure.

use collbench_analyzer::Analysis;
use collbench_formats::{CompletingCall, Direction, Operation, Record};

use crate::built::{
    START, TestChunk, TestTrace, call, codes, complete, counts, message, only, start, started,
    totals,
};

/// Ms, in the ticks of these traces.
const MS: u64 = 1_000_000;

/// Two ranks, ten barriers one ms apart that take 100 and 50 us.
fn barriers() -> TestTrace {
    let mut trace = TestTrace::new(2);
    for n in 0..10 {
        let (first, second) = (n * MS + 10, n * MS + 50_010);
        let leave = n * MS + 100_010;
        trace.barrier(&[(first, leave), (second, leave)]);
    }
    trace
}

/// The barriers, with one call of rank 1 changed after all that follows from it was made.
fn damaged(at: usize, change: impl FnOnce(&mut Record)) -> Analysis {
    let trace = barriers();
    let directory = trace.in_directory();
    let path = directory.path().join("rank-000001.trace");
    let mut bytes = std::fs::read(&path).unwrap();
    let record = &mut trace.processes[1].chunks[0].records[at].clone();
    let begin = offset_of(&bytes, record);
    change(record);
    bytes[begin..begin + 32].copy_from_slice(&bytes_of(record));
    std::fs::write(&path, bytes).unwrap();
    crate::built::analyze(directory.path(), &collbench_analyzer::Selection::default())
}

fn bytes_of(record: &Record) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&record.enter.get().to_le_bytes());
    bytes[8..14].copy_from_slice(&record.payload);
    bytes[14..16].copy_from_slice(&record.code.get().to_le_bytes());
    bytes[16..20].copy_from_slice(&record.communicator.get().to_le_bytes());
    bytes[20..24].copy_from_slice(&record.root.get().to_le_bytes());
    bytes[24..].copy_from_slice(&record.leave.get().to_le_bytes());
    bytes
}

fn offset_of(file: &[u8], record: &Record) -> usize {
    let wanted = bytes_of(record);
    let mut slots = (0..file.len() - 31).step_by(32);
    slots.find(|&at| file[at..at + 32] == wanted).unwrap()
}

/// The call of rank 1 at `at` is told and counted, and everything else is as without it.
fn assert_only_this_is_lost(analysis: &Analysis, at: usize, told: &[&str]) {
    let trace = barriers();
    let offset = offset_of(
        &trace.processes[1].bytes(),
        &trace.processes[1].chunks[0].records[at],
    );
    assert!(!analysis.trace.complete);
    assert_eq!(
        codes(analysis),
        ["incomplete", "incomplete_instances", "impossible_stamps"]
    );
    let damage = &analysis.trace.damage;
    assert_eq!((damage.len(), damage[0].rank), (1, Some(1)), "{damage:?}");
    let what = &damage[0].what;
    let place = format!("rank-000001.trace: offset {offset}: ");
    assert!(what.starts_with(&place), "{what}");
    let record = format!("record {at} of chunk 0 of thread 0");
    for part in told.iter().chain(&["MPI_Barrier", record.as_str()]) {
        assert!(what.contains(part), "{part}: {what}");
    }
    // The same with the instance left out: that of rank 0 is counted by its own time.
    let mut without = barriers();
    for process in &mut without.processes {
        process.chunks[0].records.remove(at);
    }
    let expected = without.analyze();
    let (found, expected) = (
        only(analysis, "MPI_Barrier"),
        only(&expected, "MPI_Barrier"),
    );
    assert_eq!((found.calls, expected.calls), (20, 18));
    assert_eq!((found.instances, found.incomplete), (9, 1));
    assert_eq!(found.last_arrivals, expected.last_arrivals);
    assert_eq!(found.first_departures, expected.first_departures);
    let (mut found, expected) = (totals(found), totals(expected));
    let call_time = expected["call"].map(|(n, total)| (n + 1, total + 100_000));
    assert_eq!(found.insert("call", expected["call"]), Some(call_time));
    assert_eq!(found, expected);
    assert_eq!(analysis.totals["MPI_Barrier"].call_time_ns, 1_450_000);
    let times: Vec<i64> = analysis.ranks.iter().map(|r| r.call_time_ns).collect();
    assert_eq!(times, [1_000_000, 450_000]);
    assert!(
        analysis.trace.duration_ns < 10 * MS as i64,
        "{}",
        analysis.trace.duration_ns
    );
}

#[test]
fn a_leave_before_its_enter_is_damage() {
    for at in [0, 4, 9] {
        let analysis = damaged(at, |record| {
            record.leave = (record.enter.get() - START / 2).into();
        });
        let expected = format!(
            "leave expected at {} ticks or later, found {}",
            START + at as u64 * MS + 50_010,
            START / 2 + at as u64 * MS + 50_010
        );
        assert_only_this_is_lost(&analysis, at, &[&expected]);
    }
}

#[test]
fn a_leave_after_the_end_is_damage() {
    for at in [0, 4, 9] {
        let analysis = damaged(at, |record| {
            record.leave = (record.leave.get() ^ 1 << 50).into();
        });
        assert_only_this_is_lost(&analysis, at, &["leave expected at ", "ticks or earlier"]);
    }
}

#[test]
fn an_enter_after_the_end_is_damage() {
    for at in [0, 4, 9] {
        let analysis = damaged(at, |record| {
            record.enter = (record.enter.get() ^ 1 << 45).into();
        });
        assert_only_this_is_lost(&analysis, at, &["enter expected at ", "ticks or earlier"]);
    }
}

#[test]
fn an_enter_before_its_chunk_was_opened_is_damage() {
    for enter in [0, 1, START - 400] {
        let analysis = damaged(4, |record| record.enter = enter.into());
        let found = format!("ticks or later, found {enter}");
        assert_only_this_is_lost(&analysis, 4, &["enter expected at ", &found]);
    }
}

#[test]
fn an_enter_after_the_next_chunk_was_opened_is_damage_but_a_leave_is_not() {
    let mut trace = barriers();
    let chunks = &mut trace.processes[1].chunks;
    let records = chunks[0].records.split_off(5);
    chunks.push(TestChunk {
        ordinal: 1,
        first_record: 5,
        sequences: vec![(0, 0, 5)],
        records,
        ..TestChunk::default()
    });
    assert!(trace.analyze().trace.complete);
    let mut late_leave = trace.clone();
    late_leave.processes[1].chunks[0].records[4].leave = (START + 5 * MS + 70_000).into();
    assert!(late_leave.analyze().trace.complete);
    let record = &mut trace.processes[1].chunks[0].records[4];
    record.enter = (START + 5 * MS + 60_000).into();
    record.leave = (START + 5 * MS + 70_000).into();
    let analysis = trace.analyze();
    assert_eq!(analysis.trace.damage.len(), 1);
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 9);
}

#[test]
fn starts_of_one_call_may_stand_on_both_sides_of_a_chunk_that_was_opened_for_one_of_them() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        for index in 0..2 {
            process.persistent((index, index.into()), Operation::BarrierInit, -1, 0);
        }
        let begun = (500, 600);
        let start = |index| start(Operation::BarrierInit, 0, index, 2, begun);
        let of = |definition| started(definition, 0);
        let end = |index| complete(of(index), CompletingCall::Waitall, 2, (700, 800));
        process.call(start(0));
        process.chunks.push(TestChunk {
            ordinal: 1,
            first_record: 1,
            records: vec![start(1), end(0), end(1)],
            opened: 100,
            ..TestChunk::default()
        });
    }
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), [] as [&str; 0]);
    let started = only(&analysis, "MPI_Barrier_init");
    assert_eq!((started.instances, started.incomplete), (2, 0));
}

#[test]
fn the_begin_of_mpi_lies_before_the_first_chunk_but_not_before_the_first_anchor() {
    let init = |enter| {
        let mut trace = barriers();
        for process in &mut trace.processes {
            let record = Record::call(Operation::Init, 0, 0, -1, 0, enter, START);
            process.chunks[0].records.insert(0, record);
        }
        trace.analyze()
    };
    assert!(init(START - 500).trace.complete);
    let analysis = init(START - 600);
    assert_eq!(analysis.trace.damage.len(), 2);
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 10);
}

#[test]
fn without_an_end_a_call_may_come_hours_but_not_weeks_after_all_others() {
    let hour = 3_600_000 * MS;
    for (later, is_possible) in [(5 * hour, true), (14 * 24 * hour, false)] {
        let mut trace = barriers();
        trace.processes[1].call(call(Operation::Barrier, 0, -1, 0, (later, 0)));
        trace.is_killed();
        let analysis = trace.analyze();
        let is_told = codes(&analysis).contains(&"impossible_stamps");
        assert_eq!(is_told, !is_possible);
        assert_eq!(only(&analysis, "MPI_Barrier").calls, 21);
        assert_eq!(analysis.trace.duration_ns > 10 * MS as i64, is_possible);
        assert_eq!(analysis.unfinished[0].inside, [1]);
    }
}

#[test]
fn of_many_impossible_stamps_a_few_are_listed_and_the_others_counted() {
    let mut trace = barriers();
    for record in &mut trace.processes[1].chunks[0].records {
        record.leave = (record.enter.get() - 1).into();
    }
    let analysis = trace.analyze();
    let damage = &analysis.trace.damage;
    assert_eq!(damage.len(), 5);
    assert!(damage[4].what.contains("6 more records"), "{damage:?}");
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(counts(barrier), [0, 10, 20]);
    assert_eq!(barrier.call_time_ns.as_ref().unwrap().n, 10);
}

#[test]
fn with_several_threads_a_call_keeps_its_place_in_the_order() {
    // Rank 1 calls from two threads in turn; calls of unlike payload are kept apart.
    let mut trace = TestTrace::new(2);
    let mut threads = [Vec::new(), Vec::new()];
    for n in 0..10u64 {
        let record = call(
            Operation::Allreduce,
            0,
            -1,
            1 << n,
            (n * MS + 10, n * MS + 20),
        );
        trace.processes[0].call(record);
        threads[n as usize % 2].push(record);
    }
    for (of_first, bit) in [(true, 45), (false, 45), (true, 24), (false, 24)] {
        let mut trace = trace.clone();
        let mut threads = threads.clone();
        let record = &mut threads[usize::from(!of_first)][2];
        record.enter = (record.enter.get() | 1 << bit).into();
        let chunks = (0..2).zip(threads).map(|(thread, records)| TestChunk {
            thread,
            records,
            ..TestChunk::default()
        });
        trace.processes[1].chunks = chunks.collect();
        trace.processes[1].is_finalized = false;
        let analysis = trace.analyze();
        let stamps = analysis.trace.damage.iter();
        assert_eq!(stamps.filter(|d| d.what.contains("impossible")).count(), 1);
        assert_eq!(analysis.operations.len(), 10);
        for operation in &analysis.operations {
            assert_eq!(operation.bytes_min, operation.bytes_max, "{operation:?}");
        }
    }
}

#[test]
fn a_process_is_seen_last_when_its_last_call_returned_though_messages_in_it_follow() {
    let mut trace = barriers();
    for process in &mut trace.processes {
        process.with_messages().is_finalized = false;
        let at = 9 * MS + 50_020;
        process.call(message(Direction::Send, 0, 0, (at, at + 100)));
    }
    let hang = trace.analyze().hang.unwrap();
    let last_ns = (9 * MS + 100_010) as i64;
    for rank in &hang.ranks {
        let left_ns = rank.last_call.as_ref().and_then(|call| call.leave_ns);
        assert_eq!((rank.last_seen_ns, left_ns), (last_ns, Some(last_ns)));
    }
    assert_eq!(hang.end_ns, last_ns);
}

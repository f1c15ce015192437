//! Missing, cut, foreign and mixed files.

use std::fs;
use std::path::Path;

use collbench_analyzer::{Analysis, AnalyzeError, Selection};
use collbench_formats::{ClockSource, Communicator, Operation, Record};
use collbench_report::to_text;
use proptest::prelude::*;
use tempfile::tempdir;

use crate::built::{
    TestTrace, analyze, analyze_part, assert_has, call, codes, counts, inter, only,
};
use crate::generated;

fn failure(directory: &Path) -> String {
    match analyze_part(directory, &Selection::default()) {
        Err(AnalyzeError::Run(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn text(analysis: &Analysis) -> String {
    generated::plain(&to_text(analysis, None))
}

/// Four ranks, of which rank 2 is killed before its third allreduce.
fn killed() -> TestTrace {
    let mut trace = TestTrace::new(4);
    for n in 0..2 {
        trace.world(Operation::Allreduce, -1, 8, &[(100 * n, 100 * n + 50); 4]);
    }
    for rank in [0, 1, 3] {
        trace.processes[rank].call(call(Operation::Allreduce, 0, -1, 8, (300, 0)));
    }
    trace.is_killed();
    trace
}

#[test]
fn of_a_killed_rank_it_is_told_what_the_others_waited_in() {
    let analysis = killed().analyze();
    assert!(!analysis.trace.complete);
    assert_eq!(analysis.ranks[2].calls, 2);
    let damage = &analysis.trace.damage;
    assert_eq!(
        damage.iter().map(|d| d.rank.unwrap()).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    let call = damage[0].in_flight.as_ref().unwrap();
    assert_eq!(
        (&*call.operation, call.communicator, call.sequence),
        ("MPI_Allreduce", Some(0), Some(2))
    );
    assert_eq!(damage[2].in_flight, None);
    let unfinished = &analysis.unfinished[0];
    assert_eq!(unfinished.inside, [0, 1, 3]);
    assert_eq!(unfinished.never_came, [2]);
    let allreduce = only(&analysis, "MPI_Allreduce");
    assert_eq!(counts(allreduce), [2, 1, 11]);
    assert_eq!(allreduce.call_time_ns.as_ref().unwrap().n, 8);
    let text = text(&analysis);
    let told = "ranks 0-1, 3 have been waiting in MPI_Allreduce (call 2 on MPI_COMM_WORLD, 8 \
                bytes) since t = 300 ns; rank 2 never arrived";
    let words: Vec<&str> = text
        .lines()
        .take(4)
        .flat_map(str::split_whitespace)
        .collect();
    assert!(words.join(" ").contains(told), "{text}");
}

#[test]
fn ranks_without_a_file_are_named() {
    let mut trace = TestTrace::new(4);
    trace.barrier(&[(10, 20); 4]);
    trace.processes.remove(1);
    let analysis = trace.analyze();
    assert_eq!(analysis.trace.damage.len(), 1);
    assert_eq!(analysis.trace.damage[0].rank, Some(1));
    assert_eq!(analysis.trace.damage[0].what, "no file");
    assert_eq!(
        analysis.communicators[0].ranks,
        [Some(0), None, Some(2), Some(3)]
    );
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(counts(barrier), [0, 1, 3]);
    assert_eq!(barrier.last_arrivals.len(), 4);
}

#[test]
fn a_world_of_billions_is_told_in_one_line() {
    let mut trace = TestTrace::new(1);
    trace.processes[0].identity.world_size = u32::MAX;
    trace.barrier(&[(10, 20)]);
    let analysis = trace.analyze();
    assert_eq!(analysis.trace.damage.len(), 4097);
    assert!(
        analysis.trace.damage[0]
            .what
            .contains("no file of 4294967294 ranks")
    );
}

#[test]
fn foreign_empty_and_cut_files_among_good_ones_are_damage() {
    let mut trace = TestTrace::new(2);
    trace.barrier(&[(10, 20); 2]);
    let directory = trace.in_directory();
    let good = fs::read(directory.path().join("rank-000000.trace")).unwrap();
    fs::write(directory.path().join("a.trace"), "not one\x1b[2J").unwrap();
    fs::write(directory.path().join("b.trace"), "").unwrap();
    fs::write(directory.path().join("c.trace"), &good[..300]).unwrap();
    fs::create_dir(directory.path().join("d.trace")).unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    let what: Vec<&str> = analysis
        .trace
        .damage
        .iter()
        .map(|d| d.what.as_str())
        .collect();
    assert!(what[0].starts_with("a.trace: ") && what[0].contains("not a collbench trace"));
    assert!(what[1].starts_with("b.trace: ") && what[1].contains("empty"));
    assert!(what[2].starts_with("c.trace: ") && what[2].contains("ends inside its header"));
    assert!(what[3].starts_with("d.trace: ") && what[3].contains("not a regular file"));
    assert!(!text(&analysis).contains('\x1b'));
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 1);
}

#[test]
fn a_file_cut_anywhere_is_analysed_up_to_there() {
    let mut trace = TestTrace::new(2);
    for n in 0..50 {
        trace.barrier(&[(100 * n, 100 * n + 50); 2]);
    }
    let directory = trace.in_directory();
    let path = directory.path().join("rank-000001.trace");
    let whole = fs::read(&path).unwrap();
    let first_chunk = whole.len() - 4096;
    let mut seen = Vec::new();
    for cut in (first_chunk..whole.len()).step_by(331) {
        fs::write(&path, &whole[..cut]).unwrap();
        let analysis = analyze(directory.path(), &Selection::default());
        let expected = cut.saturating_sub(first_chunk + 128) / 32;
        let barrier = only(&analysis, "MPI_Barrier");
        assert_eq!(barrier.instances, expected.min(50) as u64, "cut at {cut}");
        if expected < 50 {
            assert!(!analysis.trace.complete);
        }
        seen.push(expected);
    }
    assert!(seen.iter().any(|&n| n > 0 && n < 50));
}

#[test]
fn directories_that_are_no_trace_are_refused_with_a_remedy() {
    let directory = tempdir().unwrap();
    let message = failure(&directory.path().join("nothing"));
    assert!(
        message.contains("cannot be opened") && message.contains("collbench-record"),
        "{message}"
    );
    let message = failure(directory.path());
    assert!(
        message.contains("*.trace") && message.contains("an empty directory"),
        "{message}"
    );
    fs::write(directory.path().join("notes.txt"), "x").unwrap();
    let message = failure(&directory.path().join("notes.txt"));
    assert_has(&message, "not a directory");
    let message = failure(directory.path());
    assert_has(&message, "one other file");
    fs::write(directory.path().join("x.trace"), "x").unwrap();
    let message = failure(directory.path());
    assert!(
        message.contains("none of its 1 *.trace files") && message.contains("x.trace"),
        "{message}"
    );
    let report = directory.path().join("report");
    fs::create_dir(&report).unwrap();
    let message = failure(&report);
    let meant = format!("did you mean {}?", directory.path().display());
    assert!(message.ends_with(&meant), "{message}");
}

#[test]
fn two_runs_in_one_directory_are_refused_naming_both() {
    let first = TestTrace::new(2);
    let directory = first.in_directory();
    let mut second = TestTrace::new(3);
    for process in &mut second.processes {
        process.identity.world = 78;
        process.on_host("n09");
    }
    fs::write(
        directory.path().join("other.trace"),
        second.processes[2].bytes(),
    )
    .unwrap();
    let message = failure(directory.path());
    for part in [
        "two runs",
        "rank-000000.trace",
        "ranks 0-1 of 2",
        "on n01",
        "other.trace",
        "rank 2 of 3",
        "on n09",
        "move",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn two_files_of_one_rank_are_refused_naming_both() {
    let trace = TestTrace::new(2);
    let directory = trace.in_directory();
    fs::write(
        directory.path().join("again.trace"),
        trace.processes[1].bytes(),
    )
    .unwrap();
    let message = failure(directory.path());
    for part in [
        "two files of rank 1",
        "again.trace",
        "rank-000001.trace",
        "remove",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn spawned_worlds_are_set_aside() {
    let mut trace = TestTrace::new(1);
    trace.processes[0].define(inter(2, 9, [&[0], &[1]], 0));
    let directory = trace.in_directory();
    let mut child = TestTrace::new(1);
    child.processes[0].identity.world = 5;
    child.processes[0].identity.spawned = true;
    fs::write(
        directory.path().join("child.trace"),
        child.processes[0].bytes(),
    )
    .unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    assert_eq!(codes(&analysis), ["spawned_set_aside"]);
    assert_eq!(analysis.ranks.len(), 1);
}

#[test]
fn without_run_json_the_command_is_that_of_the_process() {
    let directory = TestTrace::new(1).in_directory();
    let manifest = directory.path().join("run.json");
    let analysis = analyze(directory.path(), &Selection::default());
    assert_eq!(analysis.trace.command, ["mpirun", "./app"]);
    fs::write(&manifest, r#"{"schema":"other/1"}"#).unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    assert_eq!(codes(&analysis), ["run_json_unreadable"]);
    fs::remove_file(manifest).unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    assert_eq!(codes(&analysis), ["run_json_missing"]);
    assert_eq!(analysis.trace.command, ["./app", "-x"]);
    assert!(analysis.trace.complete);
}

#[test]
fn messages_about_hostile_names_are_inert() {
    let active = "n\x1b[2J\u{202e}\n";
    let mut first = TestTrace::new(2);
    first.processes[0].on_host(active);
    let directory = first.in_directory();
    let mut second = TestTrace::new(2);
    second.processes[1].identity.world = 78;
    let name = format!("a{active}.trace");
    fs::write(directory.path().join(&name), second.processes[1].bytes()).unwrap();
    let two_runs = failure(directory.path());
    fs::write(directory.path().join(&name), first.processes[0].bytes()).unwrap();
    let two_files = failure(directory.path());
    let nowhere = failure(&directory.path().join(active));
    for message in [two_runs, two_files, nowhere] {
        assert_has(&message, "n\\u{1b}[2J\\u{202e}\\n");
        assert!(!message.contains(char::is_control), "{message}");
    }
}

#[test]
fn a_chunk_behind_more_records_than_can_be_is_behind_a_gap() {
    let mut trace = TestTrace::new(2);
    trace.barrier(&[(10, 20); 2]);
    trace.barrier(&[(30, 40); 2]);
    trace.processes[1].chunks[0].first_record = u64::MAX;
    assert_eq!(only(&trace.analyze(), "MPI_Barrier").calls, 4);
}

#[test]
fn a_damaged_size_lists_no_members_that_nobody_knows() {
    let mut trace = TestTrace::new(2);
    trace.processes[0].define(Communicator {
        size: 1 << 20,
        ..crate::built::communicator(2, 9, 1, 0)
    });
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), ["members_not_listed"]);
    let large = analysis.communicators.iter().find(|c| c.size == 1 << 20);
    assert_eq!(large.unwrap().ranks, [Some(0)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_flipped_bytes_make_the_analysis_panic(
        flips in prop::collection::vec((0usize..1 << 20, any::<u8>()), 1..40),
        cut in 0usize..40_000,
    ) {
        let directory = killed().in_directory();
        let path = directory.path().join("rank-000001.trace");
        let mut bytes = fs::read(&path).unwrap();
        let length = bytes.len();
        for (at, value) in flips {
            bytes[at % length] = value;
        }
        bytes.truncate(cut.max(256));
        fs::write(&path, bytes).unwrap();
        if let Ok(analysis) =
            analyze_part(directory.path(), &Selection::default())
        {
            text(&analysis);
            let _ = collbench_report::to_json(&collbench_report::Document::of(&analysis));
        }
    }

    #[test]
    fn no_records_make_the_analysis_panic(
        seeds in prop::collection::vec(
            (0..Operation::ALL.len(), 0u16..8, 0u32..6, -4i32..6, any::<[u64; 3]>(), [0usize..4, 0..4]),
            1..200,
        ),
        table in prop::collection::vec((0u32..6, any::<u32>(), any::<u64>()), 0..4),
        anchors in any::<[[u64; 5]; 2]>(),
        is_tsc: bool,
    ) {
        let mut trace = TestTrace::new(4);
        for rank in 0..4u32 {
            let members: &[u32] = if rank < 2 { &[0, 1] } else { &[2, 3] };
            let process = &mut trace.processes[rank as usize];
            process
                .define(crate::built::split(2, 20 + u64::from(rank / 2), members, rank, 0))
                .define(inter(3, 30, [&[0, 1], &[2, 3]], rank))
                .define(Communicator { size: 1 << 30, ..crate::built::communicator(4, 40, 2, 0) });
            process.chunks[0].sequences = table.clone();
            process.identity.anchors = anchors.to_vec();
            if is_tsc {
                process.identity.clock.source = ClockSource::Tsc;
            }
        }
        for (n, (operation, flags, communicator, root, [payload, enter, leave], sizes)) in
            seeds.into_iter().enumerate()
        {
            // Times of any size, and of the size of each other.
            let shifts = sizes.map(|size| [0, 20, 44, 60][size]);
            // The first half is called by all, so that there are whole instances.
            let callers = if n < 100 { 0..4 } else { n % 4..n % 4 + 1 };
            let record = Record::call(
                Operation::ALL[operation],
                flags << 10,
                communicator,
                root,
                payload,
                (enter >> shifts[0]).max(1),
                leave >> shifts[1],
            );
            trace.processes[callers]
                .iter_mut()
                .for_each(|process| _ = process.call(record));
        }
        let directory = trace.in_directory();
        let analysis = analyze(directory.path(), &Selection::default());
        text(&analysis);
        let report = directory.path().join("report");
        collbench_report::write_report(&analysis, &report, 100).unwrap();
    }
}

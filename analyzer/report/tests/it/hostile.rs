//! Traces made to bring an analysis down: too many of something, too long, of the wrong kind.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use collbench_analyzer::{Analysis, Follower, Look, Selection};
use collbench_formats::{Communicator, Definition, Operation, write};
use collbench_report::{Document, running_to_text, to_json, to_text, write_report};

use crate::built::{
    START, TestChunk, TestTrace, analyze, analyze_in_windows, assert_has, call, codes, only,
};
use crate::generated;

fn text(analysis: &Analysis) -> String {
    generated::plain(&to_text(analysis, None))
}

/// Two ranks that `n` times make a communicator of `MPI_COMM_WORLD` and free it.
fn made_and_freed(n: u32) -> TestTrace {
    let mut trace = TestTrace::new(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        for i in 0..n {
            let index = 2 + i;
            let at = 100 * u64::from(i);
            process.define(Communicator {
                constructor: Operation::CommDup.code(),
                ..crate::built::split(index, 1000 + u64::from(i), &[0, 1], rank, u64::from(i))
            });
            process.call(call(Operation::CommDup, 0, index as i32, 0, (at, at + 20)));
            process.call(call(Operation::CommFree, index, -1, 0, (at + 30, at + 40)));
        }
    }
    trace
}

#[test]
fn communicators_made_alike_are_shown_together_where_there_are_many() {
    let analysis = made_and_freed(1000).analyze();
    assert_eq!(analysis.communicators.len(), 1002);
    let analysis = made_and_freed(1001).analyze();
    let names = analysis.communicators.iter().map(|c| c.name.as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "MPI_COMM_WORLD",
            "MPI_COMM_SELF",
            "MPI_Comm_dup of MPI_COMM_WORLD (1001 communicators)"
        ]
    );
    assert_eq!(codes(&analysis), ["communicators_together"]);
    let freed = only(&analysis, "MPI_Comm_free");
    assert_eq!(
        (freed.communicator, freed.instances, freed.calls),
        (Some(2), 1001, 2002)
    );
    assert_eq!(freed.call_time_ns.as_ref().unwrap().total, 20_020);
    assert!(analysis.trace.complete);
}

#[test]
fn lanes_that_were_put_away_go_on_where_they_were() {
    // So many that lanes are put away, and calls on each once more after all others.
    let n = 6000;
    let mut trace = made_and_freed(n);
    for process in &mut trace.processes {
        process.chunks[0]
            .records
            .retain(|record| record.communicator.get() == 0);
        for round in 0..3 {
            for i in 0..n {
                let at = 1_000_000 + 100 * u64::from(round * n + i);
                let operation = [
                    Operation::Barrier,
                    Operation::Allreduce,
                    Operation::CommFree,
                ];
                let operation = operation[round as usize];
                process.call(call(operation, 2 + i, -1, 0, (at, at + 10)));
            }
        }
    }
    let directory = trace.in_directory();
    let in_windows = |window| analyze_in_windows(directory.path(), window);
    let analysis = in_windows(500);
    for operation in ["MPI_Barrier", "MPI_Allreduce", "MPI_Comm_free"] {
        let found = only(&analysis, operation);
        assert_eq!(
            (found.instances, found.calls),
            (6000, 12_000),
            "{operation}"
        );
    }
    assert_eq!(codes(&analysis), ["communicators_together"]);
    assert_eq!(
        to_json(&Document::of(&analysis)),
        to_json(&Document::of(&in_windows(1 << 18)))
    );
}

#[test]
fn communicators_of_other_names_or_members_stay_apart() {
    let mut trace = made_and_freed(1500);
    for process in &mut trace.processes {
        for definition in &mut process.definitions {
            if let Definition::Communicator(communicator) = definition {
                if communicator.index == 700 {
                    communicator.name = "mine".into();
                } else if communicator.index == 800 {
                    // Of the same two, the other way round.
                    communicator.rank = 1 - communicator.rank;
                }
            }
        }
    }
    let analysis = trace.analyze();
    let names: Vec<&str> = analysis
        .communicators
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.contains(&"mine"));
    assert!(names.contains(&"MPI_Comm_dup of MPI_COMM_WORLD (1498 communicators)"));
}

/// Text that is long and would do something.
fn hostile_text(length: usize) -> String {
    let active = "</script><hostile>\x1b[2J\u{202e}]]>\n\r\u{0}\"'&\u{9b}";
    active.repeat(length / active.len())
}

#[test]
fn names_of_ten_megabytes_are_cut_and_inert() {
    let long = hostile_text(10_000_000);
    let mut trace = TestTrace::new(2);
    trace.barrier(&[(10, 20), (15, 20)]);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        process.identity.host.name.clone_from(&long);
        process.define(Communicator {
            name: long.clone(),
            ..crate::built::split(2, 9, &[0, 1], rank, 0)
        });
        for index in 3..40 {
            process.define(Communicator {
                parent: 2,
                ..crate::built::split(
                    index,
                    100 + u64::from(index),
                    &[0, 1],
                    rank,
                    u64::from(index),
                )
            });
            process.call(call(
                Operation::Allreduce,
                index,
                -1,
                8,
                (u64::from(index) * 100, 0),
            ));
        }
    }
    trace.processes[0].identity.mpi.library_version = hostile_text(1_000_000);
    let directory = trace.in_directory();
    let command =
        serde_json::json!({"schema": "collbench.run/1", "command": [hostile_text(1_000_000)]});
    fs::write(directory.path().join("run.json"), command.to_string()).unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    let text = text(&analysis);
    assert!(text.len() < 100_000, "{} bytes of text", text.len());
    assert_eq!(text.find(|c: char| c.is_control() && c != '\n'), None);
    let json = to_json(&Document::of(&analysis));
    assert_eq!(json.find(|c: char| c.is_control() && c != '\n'), None);
    // The library's version is there, every character escaped; the command is cut.
    assert!(json.len() < 8_000_000, "{} bytes of JSON", json.len());
    assert_eq!(analysis.trace.command[0].chars().count(), 4096 + 3);
    let report = directory.path().join("report");
    write_report(&analysis, &report, 5).unwrap();
    for entry in fs::read_dir(report).unwrap() {
        let path = entry.unwrap().path();
        let content = fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|e| e == "svg" || e == "html") {
            assert!(!content.contains("<hostile"), "{path:?}");
            assert!(content.len() < 5_000_000, "{path:?}: {}", content.len());
        }
    }
}

#[test]
fn a_thousand_clocks_of_one_host_name_are_told_apart() {
    let mut trace = TestTrace::new(1100);
    for (n, process) in trace.processes.iter_mut().enumerate() {
        process.identity.host.boot_id = format!("{n}");
    }
    let analysis = trace.analyze();
    assert_eq!(analysis.clock.hosts.len(), 1100);
    assert_eq!(analysis.clock.hosts[1099].host, "n01 (1100)");
}

#[test]
fn many_chunks_of_one_call_are_read_as_one_long_one() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.chunks = (0..10_000)
            .map(|n| {
                let at = 100 * u64::from(n);
                TestChunk {
                    ordinal: n,
                    first_record: u64::from(n),
                    records: vec![call(Operation::Barrier, 0, -1, 0, (at, at + 50))],
                    ..TestChunk::default()
                }
            })
            .collect();
    }
    let analysis = trace.analyze();
    assert!(analysis.trace.complete);
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 10_000);
}

#[test]
fn a_file_of_nothing_but_chunk_headers_has_no_calls() {
    let trace = TestTrace::new(2);
    let directory = trace.in_directory();
    let path = directory.path().join("rank-000001.trace");
    let mut bytes = fs::read(&path).unwrap();
    for ordinal in 1..2000 {
        let place = write::ChunkPosition {
            thread: ordinal % 7,
            ordinal,
            first_record: u64::MAX,
            first_call: 0,
            anchor: crate::built::anchor(START),
            prepare: (u64::MAX, 0),
        };
        bytes.extend(write::records_chunk(&place, &[], &[], ordinal % 2 == 0));
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
    }
    fs::write(&path, bytes).unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    assert!(!analysis.trace.complete);
    assert_eq!(analysis.trace.calls, 0);
    assert!(text(&analysis).lines().count() < 60);
}

#[test]
fn pipes_loops_and_files_without_permission_are_damage() {
    let directory = TestTrace::new(1).in_directory();
    let within = |name: &str| directory.path().join(name);
    let made = Command::new("mkfifo").arg(within("pipe.trace")).status();
    assert!(made.unwrap().success());
    symlink("loop.trace", within("loop.trace")).unwrap();
    symlink("nothing", within("nowhere.trace")).unwrap();
    fs::remove_file(within("run.json")).unwrap();
    symlink("pipe.trace", within("run.json")).unwrap();
    let analysis = analyze(directory.path(), &Selection::default());
    let what: Vec<&str> = analysis
        .trace
        .damage
        .iter()
        .map(|d| d.what.as_str())
        .collect();
    for (found, part) in what.iter().zip([
        "loop.trace",
        "nowhere.trace",
        "pipe.trace: cannot be opened: not a regular file",
    ]) {
        assert!(found.starts_with(part), "{found}");
    }
    assert_eq!(what.len(), 3);
    assert!(codes(&analysis).contains(&"run_json_unreadable"));
}

/// The command collbench-analyze, to be run by somebody who may not read everything. `place` is a
/// directory for it: where it was built need not be open to others.
fn as_somebody_else(place: &Path) -> Command {
    let analyze = place.join("collbench-analyze");
    fs::copy(env!("CARGO_BIN_EXE_collbench-analyze"), &analyze).unwrap();
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(analyze);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65_534);
    }
    command
}

#[test]
fn a_file_that_may_not_be_read_is_named_with_what_to_do() {
    let mut trace = TestTrace::new(2);
    trace.barrier(&[(10, 20), (15, 20)]);
    let directory = trace.in_directory();
    let forbidden = directory.path().join("rank-000001.trace");
    fs::set_permissions(&forbidden, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let place = tempfile::tempdir().unwrap();
    let mut command = as_somebody_else(place.path());
    let out = command.arg("--no-pictures").arg(directory.path()).output();
    let out = out.unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(3), "{text}");
    let text = generated::in_one_line(&text);
    assert_has(
        &text,
        "rank-000001.trace: cannot be opened: Permission denied",
    );
    // None that can be read is an error.
    fs::remove_file(directory.path().join("rank-000000.trace")).unwrap();
    let mut command = as_somebody_else(place.path());
    let out = command.arg("--no-pictures").arg(directory.path()).output();
    let out = out.unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert_has(&text, "ask its owner for permission to read it");
}

#[test]
fn counts_of_all_sizes_are_taken_without_a_panic() {
    for count in [
        0,
        1,
        1 << 31,
        (1 << 32) - 1,
        1 << 32,
        1 << 62,
        1 << 63,
        u64::MAX,
    ] {
        let mut trace = TestTrace::new(2);
        trace.world(Operation::Allreduce, -1, count, &[(10, 20); 2]);
        let process = &mut trace.processes[1];
        process.chunks[0].first_record = count;
        process.chunks[0].sequences = vec![(0, count as u32, count), (count as u32, 7, count)];
        process.identity.anchors = vec![[count; 5], [count / 2; 5]];
        process.identity.clock.granularity_ticks = count;
        process.identity.world_size = (count as u32).max(2);
        process.define(Communicator {
            size: (count as u32).max(2),
            position: count,
            parent: count as u32,
            ..crate::built::communicator(count as u32, count, 2, 1)
        });
        let analysis = trace.analyze();
        text(&analysis);
        assert!(to_json(&Document::of(&analysis)).len() < 1 << 20);
    }
}

/// What a report takes beside its directory must not depend on where that is.
#[test]
fn a_report_that_cannot_be_written_is_told_inertly() {
    let analysis = TestTrace::new(1).analyze();
    let error = write_report(&analysis, Path::new("/dev/null/\x1b[2J"), 5).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("--output") && !message.contains('\x1b'),
        "{message}"
    );
}

#[test]
fn names_of_files_that_are_not_read_do_nothing_on_the_screen_of_a_running_program() {
    let directory = TestTrace::hanging().in_directory();
    let name = "a\r\u{9b}2Jb\u{202e}.trace";
    symlink("nowhere", directory.path().join(name)).unwrap();
    let Ok(Look::Running(running)) = Follower::new(directory.path()).look() else {
        panic!("the program has not ended");
    };
    let screen = running_to_text(&running);
    let screen = generated::plain(&screen);
    assert_has(&screen, r"a\r\u{9b}2Jb\u{202e}.trace: ");
    assert_eq!(screen.find(['\r', '\u{9b}', '\u{202e}']), None, "{screen}");
}

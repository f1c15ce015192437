//! Traces made small: the same to the byte when made large again, and in all that is said of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use collbench_tests::{
    Finished, Form, Job, Workspace, command, have, program, rank_files, run, skip_unless,
};

const MPI: &[&str] = &["mpirun", "mpicc"];

/// The bytes of the rank files of a trace, by name.
fn bytes_by_name(trace: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = rank_files(trace).into_iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(&path).unwrap())
    });
    files.collect()
}

fn n_bytes(trace: &Path) -> usize {
    bytes_by_name(trace).values().map(Vec::len).sum()
}

#[track_caller]
fn compact(words: &[&str], traces: &[&Path]) -> Finished {
    let command = command("collbench-compact");
    let mut line = vec![command.to_str().unwrap()];
    line.extend(words);
    line.extend(traces.iter().map(|trace| trace.to_str().unwrap()));
    run(&line)
}

/// Text, JSON and pictures of a trace, by name; the report is removed.
fn all_output(trace: &Path, status: i32) -> BTreeMap<String, String> {
    let analyze = command("collbench-analyze");
    let finished = run(&[analyze.as_os_str(), trace.as_os_str()]).expect(status);
    let report = trace.join("report");
    let mut output = BTreeMap::from([("text".to_owned(), finished.stdout)]);
    for entry in fs::read_dir(&report).unwrap() {
        let path = entry.unwrap().path();
        output.insert(
            path.display().to_string(),
            fs::read_to_string(&path).unwrap(),
        );
    }
    fs::remove_dir_all(report).unwrap();
    output
}

#[test]
fn a_recorded_trace_says_the_same_when_it_is_small_and_comes_back() {
    skip_unless!(have(MPI));
    for (name, ranks) in [("every.c", 4), ("kinds.c", 4), ("threads.c", 2)] {
        let workspace = Workspace::new();
        let argument = match name {
            "threads.c" => "100",
            _ => workspace.path().to_str().unwrap(),
        };
        let job = Job::new(ranks, program(name), &[argument]);
        let trace = job.recorded(workspace.path());
        let recorded = bytes_by_name(&trace);
        let said = all_output(&trace, 0);
        let path = trace.join(recorded.keys().next().unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap();

        compact(&[], &[&trace]).expect(0);
        let small = bytes_by_name(&trace);
        assert_eq!(small.len(), ranks);
        for (name, bytes) in &small {
            assert!(bytes.len() < recorded[name].len() / 2, "{name}");
        }
        let after = fs::metadata(&path).unwrap();
        assert_ne!(after.ino(), before.ino());
        for property in [MetadataExt::mode, MetadataExt::uid] {
            assert_eq!(property(&after), property(&before));
        }
        assert_eq!(after.modified().unwrap(), before.modified().unwrap());
        for (what, text) in all_output(&trace, 0) {
            assert!(text == said[&what], "{name}: {what} differs");
        }

        // Once more: nothing to do. Back: as it was.
        compact(&[], &[&trace]).expect(0);
        assert!(bytes_by_name(&trace) == small);
        compact(&["--expand"], &[&trace]).expect(0);
        assert!(bytes_by_name(&trace) == recorded, "{name}: other bytes");
    }
}

#[test]
fn recording_makes_it_small_at_once_in_both_forms() {
    skip_unless!(have(MPI));
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let job = Job {
            options: &["--compact"],
            form,
            ..Job::new(2, program("loop.c"), &["5000"])
        };
        let (finished, trace) = job.record(workspace.path());
        let finished = finished.expect(0);
        finished.must_say("2 ranks, 10000 calls");
        let bytes = n_bytes(&trace);
        let said = all_output(&trace, 0);
        compact(&["--expand"], &[&trace]).expect(0);
        // Of each time some bits: more of them the busier the machine.
        let expanded = n_bytes(&trace);
        assert!(expanded > 10_000 * 32);
        assert!(
            bytes * 4 < expanded,
            "{form:?}: {bytes} of {expanded} bytes"
        );
        assert!(all_output(&trace, 0) == said);
    }
}

#[test]
fn a_killed_run_stays_killed_and_another_directory_leaves_the_first_alone() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let (_, trace) =
        Job::new(2, program("ends.c"), &["kill", "1", "5000"]).record(workspace.path());
    let recorded = bytes_by_name(&trace);
    let said = all_output(&trace, 3);
    let out = workspace.join("small");
    compact(&[], &[&trace, &out]).expect(0);
    assert!(bytes_by_name(&trace) == recorded);
    assert!(n_bytes(&out) < n_bytes(&trace));
    assert!(out.join("run.json").exists());
    // Never over something that is there.
    let refused = compact(&[], &[&trace, &out]).expect(1);
    refused.must_say("already exists");

    // The processes are of this host, and nobody has their files open: known to have ended.
    compact(&[], &[&trace]).expect(0);
    assert!(bytes_by_name(&trace) == bytes_by_name(&out));
    for (what, text) in all_output(&trace, 3) {
        assert!(text == said[&what], "{what} differs");
    }
}

#[test]
fn what_is_damaged_or_may_still_be_written_stays_as_it_is_and_is_named() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let (_, trace) =
        Job::new(2, program("ends.c"), &["kill", "1", "5000"]).record(workspace.path());
    let names: Vec<String> = bytes_by_name(&trace).into_keys().collect();
    let path = |n: usize| trace.join(&names[n]);
    // Somebody has this one open, as its process would.
    let writer = fs::OpenOptions::new().write(true).open(path(0)).unwrap();
    // And this one has no chunk where one should begin.
    let mut bytes = fs::read(path(1)).unwrap();
    bytes[4096] ^= 1;
    fs::write(path(1), bytes).unwrap();
    let before = bytes_by_name(&trace);
    let refused = compact(&[], &[&trace]).expect(3);
    refused.must_say("may still be running");
    assert!(refused.stderr.contains("not a chunk") || refused.stderr.contains("expected a chunk"));
    assert!(
        names.iter().all(|name| refused.stderr.contains(name)),
        "{refused}"
    );
    assert!(bytes_by_name(&trace) == before);
    drop(writer);
    compact(&[], &[&trace]).expect(3);
    let after = bytes_by_name(&trace);
    assert!(after[&names[0]].len() < before[&names[0]].len());
    assert!(after[&names[1]] == before[&names[1]]);
}

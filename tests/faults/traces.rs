//! Traces that are none, or not whole: analyzed as far as they go, and named.

use std::fs;
use std::path::Path;

use collbench_tests::{Finished, Workspace, analyze, command, have, rank_files, run, skip_unless};

use super::{MPI, damage_of, good_trace};

#[test]
fn what_is_no_trace_is_refused_by_name() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.join("empty")).unwrap();
    fs::create_dir(workspace.join("foreign")).unwrap();
    fs::write(
        workspace.join("foreign/some.trace"),
        b"not one of ours\n".repeat(1000),
    )
    .unwrap();
    fs::write(workspace.join("file"), "text").unwrap();
    for (name, named) in [
        ("empty", "empty"),
        ("foreign", "some.trace"),
        ("file", "file"),
        ("missing", "missing"),
    ] {
        let analysis = analyze(&workspace.join(name), &[]).expect(1);
        let Finished { stdout, stderr, .. } = &analysis.finished;
        assert!(stderr.contains(named), "{name}: {stderr}");
        assert_eq!(stdout, "", "{name}");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
    }
}

#[test]
fn a_missing_empty_or_foreign_file_costs_its_rank_and_is_named() {
    skip_unless!(have(MPI));
    for (what, spoil) in [
        (
            "missing",
            &(|path: &Path| fs::remove_file(path).unwrap()) as &dyn Fn(&Path),
        ),
        ("empty", &|path| fs::write(path, b"").unwrap()),
        ("foreign", &|path| {
            fs::write(path, b"not one of ours\n".repeat(1000)).unwrap()
        }),
    ] {
        let workspace = Workspace::new();
        let trace = good_trace(&workspace, 3);
        let files = rank_files(&trace);
        let spoiled = files.last().unwrap();
        spoil(spoiled);
        let analysis = analyze(&trace, &[]).expect(3);
        assert_eq!(analysis.json["trace"]["complete"], false, "{what}");
        let whole = analysis
            .array("/ranks")
            .iter()
            .filter(|rank| rank["calls"] == 1001)
            .count();
        assert_eq!(whole, 2, "{what}: the other ranks are analyzed");
        let lost = (0..3)
            .find(|rank| {
                !analysis
                    .array("/ranks")
                    .iter()
                    .any(|entry| entry["rank"] == *rank)
            })
            .unwrap();
        damage_of(&analysis, lost);
        let said =
            analysis.json["trace"]["damage"].to_string() + &analysis.json["remarks"].to_string();
        if what != "missing" {
            let name = spoiled.file_name().unwrap().to_str().unwrap();
            assert!(said.contains(name), "{what}: {name} in {said}");
        }
    }
}

#[test]
fn a_file_cut_at_any_place_is_analyzed_up_to_there() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let files = rank_files(&trace);
    let whole = fs::read(&files[1]).unwrap();
    let mut most = 0;
    let cuts = 24;
    for cut in 0..cuts {
        // From nothing to all but one byte.
        let length = (whole.len() - 1) * cut / (cuts - 1);
        fs::write(&files[1], &whole[..length]).unwrap();
        let analysis = analyze(&trace, &[]);
        let Finished { status, stderr, .. } = &analysis.finished;
        assert!(
            [0, 3].contains(status),
            "cut at {length}: {}",
            analysis.finished
        );
        assert!(!stderr.contains("panicked"), "cut at {length}: {stderr}");
        let calls = |rank: usize| {
            let entries = analysis.array("/ranks");
            let entry = entries.iter().find(|entry| entry["rank"] == rank);
            entry.map_or(0, |entry| entry["calls"].as_u64().unwrap())
        };
        let (a, b) = (calls(0), calls(1));
        let (full, cut_short) = (a.max(b), a.min(b));
        assert_eq!(full, 1001, "cut at {length}: the other rank is whole");
        assert!(
            cut_short >= most,
            "cut at {length}: {cut_short} calls, but {most} before"
        );
        if cut_short < 1001 {
            assert_eq!(*status, 3, "cut at {length}: calls are missing");
            assert!(
                !analysis.array("/trace/damage").is_empty(),
                "cut at {length}"
            );
        }
        most = cut_short;
    }
    assert!(
        most > 0,
        "nothing was ever read of a file that lacks one byte"
    );
}

#[test]
fn two_runs_in_one_directory_are_refused_and_both_are_named() {
    skip_unless!(have(MPI));
    let (one, other) = (Workspace::new(), Workspace::new());
    let (trace, other_trace) = (good_trace(&one, 2), good_trace(&other, 2));
    // The rank files of the other run beside, and then instead of one of, those of the first.
    for instead in [false, true] {
        let mixed = one.join(format!("mixed-{instead}"));
        fs::create_dir(&mixed).unwrap();
        for entry in fs::read_dir(&trace).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, mixed.join(path.file_name().unwrap())).unwrap();
            }
        }
        let strangers = rank_files(&other_trace);
        let stranger = if instead {
            mixed.join(strangers[1].file_name().unwrap())
        } else {
            mixed.join("stranger.trace")
        };
        fs::copy(&strangers[1], &stranger).unwrap();

        let analysis = analyze(&mixed, &[]).expect(1);
        let stderr = &analysis.finished.stderr;
        assert!(stderr.contains("run"), "{stderr}");
        let stranger_name = stranger.file_name().unwrap().to_str().unwrap();
        let own_name = rank_files(&trace)[0]
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        assert!(
            stderr.contains(stranger_name),
            "a file of the other run: {stderr}"
        );
        assert!(stderr.contains(&own_name), "a file of this run: {stderr}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_that_names_the_place() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    fs::write(workspace.join("in-the-way"), "").unwrap();
    let output = workspace.join("in-the-way/report");
    let finished = run(&[
        command("collbench-analyze").to_str().unwrap(),
        "-o",
        output.to_str().unwrap(),
        trace.to_str().unwrap(),
    ])
    .expect(1);
    finished.must_say("in-the-way");
}

#[test]
fn without_pictures_nothing_is_written() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = good_trace(&workspace, 2);
    let list = || {
        let mut names: Vec<_> = fs::read_dir(&trace)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = list();
    let _ = analyze(&trace, &[]).expect(0);
    assert_eq!(list(), before);
}

//! The command: exit status, what goes where, and what it says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use collbench_formats::Operation;
use tempfile::TempDir;

use crate::built::{TestTrace, assert_has, call};
use crate::generated::printed;

fn analyze(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collbench-analyze"))
        .args(arguments)
        .output()
        .unwrap()
}

fn good() -> TempDir {
    let mut trace = TestTrace::new(2);
    trace.barrier(&[(0, 400), (300, 410)]);
    trace.world(Operation::Bcast, 0, 8, &[(1000, 1400), (900, 1410)]);
    trace.in_directory()
}

fn path(directory: &TempDir) -> &str {
    directory.path().to_str().unwrap()
}

/// The names of what is in a folder, sorted.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_screen_without_a_terminal_has_as_many_columns_as_the_variable_says() {
    let directory = good();
    let longest = |columns: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_collbench-analyze"))
            .args(["--no-pictures", path(&directory)])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((60..=80).contains(&longest("80")), "{}", longest("80"));
    assert!((81..=100).contains(&longest("100")), "{}", longest("100"));
    for nonsense in ["", "0", "wide"] {
        assert_eq!(longest(nonsense), longest("100"));
    }
}

#[test]
fn text_names_the_report_and_the_report_is_there() {
    let directory = good();
    let text = printed(&[path(&directory)]);
    assert_has(&text, "report/index.html");
    assert!(!text.contains('\x1b'), "no escapes into a pipe: {text}");
    let report = directory.path().join("report");
    assert_eq!(
        names_in(&report),
        [
            "analysis.json",
            "arrival-order-1-MPI_Bcast.svg",
            "arrival-order-2-MPI_Barrier.svg",
            "departure-order-1-MPI_Bcast.svg",
            "departure-order-2-MPI_Barrier.svg",
            "durations-1-MPI_Bcast.svg",
            "durations-2-MPI_Barrier.svg",
            "imbalance-1-MPI_Bcast.dot",
            "imbalance-1-MPI_Bcast.svg",
            "imbalance-2-MPI_Barrier.dot",
            "imbalance-2-MPI_Barrier.svg",
            "index.html",
            "serialization-2-MPI_Barrier.svg",
            "timeline-1-MPI_Bcast.svg",
            "timeline-2-MPI_Barrier.svg",
            "timeline.svg",
            "timemap-1-MPI_Bcast-without-waits.svg",
            "timemap-1-MPI_Bcast.svg",
            "timemap-2-MPI_Barrier-without-waits.svg",
            "timemap-2-MPI_Barrier.svg",
            "waits-over-time.svg"
        ]
    );
    assert!(
        fs::read_to_string(report.join("index.html"))
            .unwrap()
            .contains("MPI_Bcast")
    );

    // A second report of fewer operations leaves no picture of the first behind.
    let output = analyze(&[path(&directory), "--top", "1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(!report.join("timemap-2-MPI_Barrier.svg").exists());
    assert!(!report.join("arrival-order-2-MPI_Barrier.svg").exists());
    assert!(!report.join("imbalance-2-MPI_Barrier.dot").exists());
    assert_eq!(
        output.stdout,
        fs::read(report.join("analysis.json")).unwrap()
    );
}

#[test]
fn a_look_at_a_part_leaves_the_report_of_the_whole_and_says_where_its_own_is() {
    let directory = good();
    analyze(&[path(&directory)]);
    let content = |name: &str| fs::read(directory.path().join(name)).unwrap();
    let whole = (
        names_in(&directory.path().join("report")),
        content("report/analysis.json"),
    );
    for (options, name) in [
        (&["--operation", "bcast"][..], "report-MPI_Bcast"),
        (&["--ranks", "1"], "report-ranks-1"),
        (&["--communicator", "0"], "report-communicator-0"),
        (&["--from", "100"], "report-from-100s"),
        (&["--to", "1.5e-6"], "report-to-0.0000015s"),
    ] {
        let text = printed(&[options, &[path(&directory)]].concat());
        let page = format!("{name}/index.html");
        assert!(text.trim_end().ends_with(&page), "{text}");
        assert_has(&text, "  part  only ");
        let document: serde_json::Value =
            collbench_schemas::read(content(&format!("{name}/analysis.json")));
        assert!(document["restriction"].is_object() && !content(&page).is_empty());
        let report = directory.path().join("report");
        assert!(
            (names_in(&report), content("report/analysis.json")) == whole,
            "{name}"
        );
    }
    let document: serde_json::Value = collbench_schemas::read(&whole.1);
    assert!(document["restriction"].is_null());
    // Where the user says so, it goes elsewhere.
    let elsewhere = directory.path().join("elsewhere");
    let output = elsewhere.to_str().unwrap();
    analyze(&["--ranks", "0", "-o", output, path(&directory)]);
    assert!(elsewhere.join("index.html").exists());
    assert!(!directory.path().join("report-ranks-0").exists());
}

#[test]
fn json_alone_is_one_document_and_no_file_is_written() {
    let directory = good();
    let output = analyze(&["--format", "json", "--no-pictures", path(&directory)]);
    let json: serde_json::Value = collbench_schemas::read(&output.stdout);
    assert_eq!(json["schema"], "collbench.analysis/1");
    assert_eq!(json["totals"]["MPI_Barrier"]["instances"], 1);
    assert!(output.stderr.is_empty());
    assert!(!directory.path().join("report").exists());
}

#[test]
fn an_incomplete_trace_ends_with_3_a_missing_one_with_1() {
    let mut trace = TestTrace::new(2);
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (0, 0)));
    trace.processes[0].is_finalized = false;
    let directory = trace.in_directory();
    assert_eq!(
        analyze(&["--no-pictures", path(&directory)]).status.code(),
        Some(3)
    );

    let mut trace = TestTrace::new(2);
    trace.barrier(&[(500, 400), (300, 410)]);
    let directory = trace.in_directory();
    let output = analyze(&["--no-pictures", path(&directory)]);
    assert_eq!(output.status.code(), Some(3), "a leave before its enter");
    let output = analyze(&["--no-pictures", "/nonexistent/trace"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with("collbench-analyze: /nonexistent/trace"),
        "{message}"
    );
}

#[test]
fn several_traces_are_compared_and_one_that_is_incomplete_ends_with_3() {
    let (one, two) = (good(), good());
    let text = printed(&["--no-pictures", path(&one), path(&two)]);
    assert_has(&text, "B against A");
    let output = analyze(&[
        "--no-pictures",
        "--format",
        "json",
        path(&one),
        path(&two),
        path(&one),
    ]);
    let json: serde_json::Value = collbench_schemas::read(&output.stdout);
    assert_eq!(json["schema"], "collbench.comparison/1");
    assert_eq!(json["traces"].as_array().unwrap().len(), 3);

    let mut trace = TestTrace::new(2);
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (0, 0)));
    trace.processes[0].is_finalized = false;
    let broken = trace.in_directory();
    let output = analyze(&["--no-pictures", path(&one), path(&broken)]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("INCOMPLETE")
    );
    let output = analyze(&["--no-pictures", path(&one), "/nonexistent/trace"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_comparison_leaves_pictures_its_document_and_a_page() {
    let (one, two, out) = (good(), good(), TempDir::new().unwrap());
    let report = out.path().join("report");
    let output = ["-o", report.to_str().unwrap(), path(&one), path(&two)];
    let text = printed(&output);
    assert_has(&text, "report/index.html");
    assert_eq!(
        names_in(&report),
        [
            "comparison.json",
            "index.html",
            "one-rank-1-MPI_Bcast.svg",
            "one-rank-2-MPI_Barrier.svg",
            "side-by-side-1-MPI_Bcast.svg",
            "side-by-side-2-MPI_Barrier.svg"
        ]
    );
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(page.contains("Timemaps side by side"));

    // One of fewer operations leaves no picture of the first behind.
    let fewer = [&output[..], &["--top", "1", "--format", "json"]].concat();
    let document = analyze(&fewer).stdout;
    assert!(!report.join("one-rank-2-MPI_Barrier.svg").exists());
    assert_eq!(document, fs::read(report.join("comparison.json")).unwrap());
}

#[test]
fn wrong_usage_ends_with_2() {
    let directory = good();
    let trace = path(&directory);
    for arguments in [
        &[][..],
        &["--format", "xml", trace],
        &["--threads", "0", trace],
        &["--ranks", "a-b", trace],
        &["--ranks", "7", trace],
        &["--from", "now", trace],
        &["--operation", "MPI_Send", trace],
        &["--communicator", "none", trace],
        &[trace, trace, "--ranks", "7"],
    ] {
        let output = analyze(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            !output.stderr.is_empty() && output.stdout.is_empty(),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_that_names_a_way_out() {
    let directory = good();
    let blocked = directory.path().join("file");
    fs::write(&blocked, "").unwrap();
    let output = analyze(&[path(&directory), "-o", blocked.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_has(&message, "--no-pictures");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("MPI_Barrier") && !text.contains("index.html"),
        "{text}"
    );
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let directory = good();
    let mut child = Command::new(env!("CARGO_BIN_EXE_collbench-analyze"))
        .args(["--no-pictures", path(&directory)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn help_version_completions_and_man_page_are_there() {
    for (arguments, part) in [
        (&["--help"][..], "Exit status"),
        (&["--version"], "collbench-analyze 0.1.0"),
        (&["--completions", "bash"], "complete"),
        (&["--man"], ".TH collbench-analyze"),
    ] {
        assert_has(&printed(arguments), part);
    }
}

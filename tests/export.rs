//! Exports of traces: what other programs read is what the analysis says, and nothing else is touched.

use std::fs;
use std::path::{Path, PathBuf};

use collbench_tests::{Workspace, check_exports, command, run, run_in, source_dir};

/// A trace of a scenario of the analyzer's tests.
fn generated(workspace: &Workspace, scenario: &str) -> PathBuf {
    let scenarios = source_dir().join("../analyzer/tests/scenarios");
    generated_from(workspace, &scenarios.join(scenario).with_extension("toml"))
}

fn generated_from(workspace: &Workspace, scenario: &Path) -> PathBuf {
    let name = scenario.file_stem().unwrap();
    let trace = workspace.join(name.to_str().unwrap());
    let generate = command("collbench-generate");
    run(&[
        generate.as_os_str(),
        scenario.as_os_str(),
        trace.as_os_str(),
    ])
    .expect(0);
    trace
}

fn export(arguments: &[&str]) -> Vec<String> {
    let command = command("collbench-export");
    let command = command.to_str().unwrap().to_owned();
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    std::iter::once(command).chain(arguments).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn exports_say_what_the_analysis_says() {
    let workspace = Workspace::new();
    let scenarios = [
        "everything",
        "hosts",
        "inside",
        "inside_nonblocking",
        "nonblocking",
        "own-trees",
        "verdicts/coarse-clock",
        "verdicts/late-in-a-scan",
        "verdicts/polls-for-a-slow-rank",
    ];
    for scenario in scenarios {
        check_exports(&generated(&workspace, scenario), false);
    }
    let hostile = source_dir().join("browser/scenarios/hostile.toml");
    check_exports(&generated_from(&workspace, &hostile), false);
}

#[test]
fn of_a_damaged_trace_there_is_what_is_left() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "nonblocking");
    let files = names(&trace);
    let file = files.iter().rfind(|name| name.ends_with(".trace")).unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(trace.join(file))
        .unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length / 3 * 2).unwrap();
    check_exports(&trace, false);
    let out = workspace.join("out.csv");
    let arguments = [
        trace.to_str().unwrap(),
        "--to",
        "csv",
        "-o",
        out.to_str().unwrap(),
    ];
    run(&export(&arguments)).expect(3);
    assert!(fs::read_to_string(out).unwrap().lines().count() > 100);
}

#[test]
fn an_export_replaces_only_exports_and_only_if_asked_to() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "nonblocking");
    let trace = trace.to_str().unwrap();
    let work = workspace.join("work");
    fs::create_dir(&work).unwrap();
    let in_work = |arguments: &[&str]| run_in(&work, &[], &export(arguments));

    let arguments = [trace, "--to", "csv", "-o", "tables"];
    let said = "collbench-export: 1386 calls written to tables as csv";
    in_work(&arguments).expect(0).must_say(said);
    assert_eq!(names(&work), ["tables"]);
    let before = fs::read(work.join("tables/calls.csv")).unwrap();
    in_work(&arguments).expect(1).must_say("--force");
    in_work(&[&arguments[..], &["--force", "--ranks", "0"]].concat()).expect(0);
    let after = fs::read(work.join("tables/calls.csv")).unwrap();
    assert!(after.len() < before.len() / 2);

    fs::write(work.join("tables/thesis.tex"), "mine").unwrap();
    let refused = in_work(&[&arguments[..], &["--force"]].concat()).expect(1);
    refused.must_say("thesis.tex");
    assert_eq!(fs::read(work.join("tables/calls.csv")).unwrap(), after);
    assert_eq!(names(&work), ["tables"]);

    for (arguments, said) in [
        (&["--to", "parquet", "-o", "-"][..], "-o -"),
        (
            &["--to", "csv", "-o", "x", "--table", "nothing"],
            "calls, instances",
        ),
        (
            &["--to", "sqlite", "-o", "x", "--table", "calls"],
            "--table",
        ),
        (&["--to", "7.5", "-o", "x"], "FORMAT is missing"),
        (&["--to", "xml", "-o", "x"], "parquet, csv, sqlite"),
        (&["--to", "csv", "-o", "x", "--ranks", "99"], "99"),
        (&["--to", "csv", "-o", ".."], "-o .."),
        (&["--to", "perfetto", "-o", "x", "--max-size", "1K"], "1M"),
    ] {
        in_work(&[&[trace][..], arguments].concat())
            .expect(2)
            .must_say(said);
    }
    in_work(&["nowhere", "--to", "csv", "-o", "x"])
        .expect(1)
        .must_say("nowhere");
    assert_eq!(names(&work), ["tables"]);
}

#[test]
fn nothing_is_left_of_an_export_that_fails() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "everything");
    let work = workspace.join("work");
    fs::create_dir(&work).unwrap();
    for (format, output) in [
        ("csv", "tables"),
        ("csv", "calls.csv"),
        ("parquet", "tables"),
        ("sqlite", "trace.db"),
        ("perfetto", "trace.pftrace"),
    ] {
        // No file may become longer than 16 KiB: as on a full disk.
        let limited = "ulimit -f 16; trap '' XFSZ; exec \"$@\"";
        let arguments = [trace.to_str().unwrap(), "--to", format, "-o", output];
        let line = ["bash", "-c", limited, "bash"].map(str::to_owned).to_vec();
        let failed = run_in(&work, &[], &[line, export(&arguments)].concat()).expect(1);
        failed.must_say("collbench-export: ");
        assert_eq!(names(&work), [""; 0], "{format}: {failed}");
    }
}

#[test]
fn calls_stream_to_standard_output_until_nobody_reads_them() {
    let workspace = Workspace::new();
    let trace = generated(&workspace, "nonblocking");
    let trace = trace.to_str().unwrap();
    let whole = run(&export(&[trace, "--to", "csv", "-o", "-"])).expect(0);
    assert!(whole.stdout.starts_with("instance,rank,thread,operation,"));
    let head = "\"$@\" | head -n 1; exit ${PIPESTATUS[0]}";
    let line = ["bash", "-c", head, "bash"].map(str::to_owned).to_vec();
    for format in ["csv", "perfetto"] {
        let arguments = export(&[trace, "--to", format, "-o", "-"]);
        let head = run(&[line.clone(), arguments].concat()).expect(0);
        assert_eq!(head.stderr, "", "{head}");
    }
}

#[test]
fn a_perfetto_trace_stays_below_its_size_and_says_what_is_left_out() {
    let workspace = Workspace::new();
    let scenario = workspace.join("long.toml");
    let short = source_dir().join("../analyzer/benches/scenarios/small.toml");
    fs::copy(short, &scenario).unwrap();
    let trace = generated_from(&workspace, &scenario);
    let out = workspace.join("trace.pftrace");
    let arguments = [
        trace.to_str().unwrap(),
        "--to",
        "perfetto",
        "-o",
        out.to_str().unwrap(),
    ];
    run(&export(&arguments)).expect(0);
    let whole = fs::metadata(&out).unwrap().len();
    let limited = [&arguments[..], &["--force", "--max-size", "1000000"]].concat();
    let said = run(&export(&limited)).expect(0);
    said.must_say("instances are left out");
    let part = fs::metadata(&out).unwrap().len();
    assert!(
        whole > 1_100_000 && part <= 1_000_000 && part > 800_000,
        "{part} of {whole}"
    );
}

#[test]
fn the_command_beside_the_timeline_of_an_instance_exports_that_instance() {
    let workspace = Workspace::new();
    let work = workspace.join("it's $(touch harm) <b>");
    fs::create_dir(&work).unwrap();
    let trace = work.join("trace");
    fs::rename(generated(&workspace, "inside_one_host"), &trace).unwrap();
    let trace = trace.to_str().unwrap().to_owned();
    let analyze = command("collbench-analyze");
    run(&[analyze.to_str().unwrap(), &trace]).expect(0);
    let page = fs::read_to_string(Path::new(&trace).join("report/index.html")).unwrap();
    let commands = page.split("<pre><code>collbench-export ").skip(1);
    let commands = commands.map(|rest| rest.split("</code>").next().unwrap());
    let commands = commands.map(|words| {
        let words = words.replace("&#39;", "'").replace("&#60;", "<");
        words.replace("&#62;", ">").replace("&#38;", "&")
    });
    let of_instances = commands.filter(|words| words.contains("-o instance-"));
    let of_instances: Vec<String> = of_instances.collect();
    assert!(of_instances.len() > 10);
    let exporter = command("collbench-export");
    let in_shell = |words: &str| {
        let script = format!("\"$0\" {words}");
        let exporter = exporter.to_str().unwrap();
        run_in(&work, &[], &["bash", "-c", &script, exporter]).expect(0);
    };
    in_shell(&of_instances[0]);
    assert!(fs::metadata(work.join("instance-1.pftrace")).unwrap().len() > 100);
    for (number, words) in (1..).zip(&of_instances).step_by(5) {
        let as_csv = words.replace("--to perfetto", "--to csv");
        in_shell(&as_csv.replace(".pftrace", ".csv"));
        let csv = fs::read_to_string(work.join(format!("instance-{number}.csv"))).unwrap();
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().unwrap();
        let column = |name| head.iter().position(|other| *other == name).unwrap();
        let calls: Vec<Vec<&str>> = lines.collect();
        // Those of one instance, which begins when the command says.
        assert!(calls.len() > 1);
        let instance = column("instance");
        assert!(
            calls
                .iter()
                .all(|call| call[instance] == calls[0][instance]),
            "{words}"
        );
        let enters = calls
            .iter()
            .map(|call| call[column("enter_ns")].parse::<u64>().unwrap());
        let from = words
            .split("--from ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        let from_ns = from.parse::<f64>().unwrap() * 1e9;
        assert_eq!(enters.min(), Some(from_ns.round() as u64), "{words}");
        let operation = format!("--operation {} ", calls[0][column("operation")]);
        assert!(words.contains(&operation), "{words}");
        let ranks: Vec<&str> = calls.iter().map(|call| call[column("rank")]).collect();
        let all: Vec<String> = (0..calls.len()).map(|rank| rank.to_string()).collect();
        assert_eq!(ranks, all, "{words}");
    }
    assert!(!work.join("harm").exists());
}

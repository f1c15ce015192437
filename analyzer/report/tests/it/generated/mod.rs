//! A generated trace, what is true of it, and what the analysis says.

// Each test uses its part of it.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use collbench_analyzer::{Analysis, Selection};
use serde_json::Value;

/// Folders with scenarios, from the folder of the analyzer.
pub const SCENARIOS: [&str; 2] = ["tests/scenarios", "tests/scenarios/verdicts"];

/// The scenarios in some folders, in their order.
pub fn scenarios(folders: &[&str]) -> Vec<PathBuf> {
    let analyzer = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(analyzer.join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort_unstable();
    files
}

/// The trace of a scenario, in a folder; without a seed, with its own.
pub fn trace_in(folder: &Path, scenario: &str, seed: Option<u64>) -> PathBuf {
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).unwrap();
    let trace = folder.join("trace");
    collbench_generate::generate(&file, &trace, seed, true).unwrap();
    trace
}

/// The analysis of a generated trace; without a seed, with that of the scenario.
pub fn analysis(scenario: &str, seed: Option<u64>) -> Analysis {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_in(directory.path(), scenario, seed);
    crate::built::analyze(&trace, &Selection::default())
}

/// A screen without styles.
pub fn plain(screen: &str) -> String {
    anstream::adapter::strip_str(screen).to_string()
}

/// A screen without styles, in one line.
pub fn in_one_line(screen: &str) -> String {
    plain(screen)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// What the command prints, which succeeds.
pub fn printed(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collbench-analyze"));
    let output = command.args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {text}");
    text
}

pub struct Case {
    pub truth: Value,
    pub analysis: Value,
}

pub fn case(scenario: &str) -> Case {
    case_with(scenario, &[])
}

pub fn case_with(scenario: &str, options: &[&str]) -> Case {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_in(directory.path(), scenario, None);
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
        output.stdout
    };
    let analysis = run(Command::new(env!("CARGO_BIN_EXE_collbench-analyze"))
        .args(["--format", "json", "--no-pictures"])
        .args(options)
        .arg(&trace));
    let truth = fs::read(trace.join("truth.json")).unwrap();
    Case {
        truth: collbench_schemas::read(truth),
        analysis: collbench_schemas::read(analysis),
    }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("an integer, not {value}"))
}

/// World ranks of the communicator, as text.
fn ranks(document: &Value, communicator: &Value) -> String {
    document["communicators"][number(communicator) as usize]["ranks"].to_string()
}

/// For each tree of the truth what the analysis has of it.
pub fn trees(case: &Case) -> Vec<(String, &Value, &Value)> {
    let mut found: BTreeMap<(String, String, String, i64), Vec<&Value>> = BTreeMap::new();
    for operation in list(&case.analysis["operations"]) {
        let Some(most) = operation["bytes_max"].as_i64() else {
            continue;
        };
        let class = most.checked_ilog2().map_or(0, |exponent| 1 << exponent);
        let key = (
            operation["operation"].to_string(),
            ranks(&case.analysis, &operation["communicator"]),
            operation["root"].to_string(),
            class,
        );
        let graphs = match &operation["trees"] {
            Value::Null => continue,
            trees => trees,
        };
        found.entry(key).or_default().extend(list(graphs));
    }
    let of_truth = list(&case.truth["trees"]).iter().map(|expected| {
        let key = (
            expected["operation"].to_string(),
            ranks(&case.truth, &expected["communicator"]),
            expected["root"].to_string(),
            number(&expected["bytes_class"]),
        );
        let graphs = &found[&key];
        assert_eq!(graphs.len(), 1, "{key:?}");
        (format!("{key:?}"), expected, graphs[0])
    });
    of_truth.collect()
}

//! Known truth first: traces whose every figure is known, from the generator, through the commands
//! as people call them. Runs without MPI.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collbench_formats::{Operation, Semantics};
use proptest::prelude::*;
use serde_json::Value;

use crate::generated::trace_in;

mod clocks;
mod damage;
mod imbalance;
mod invariance;
mod operations;
mod own_trees;
mod random;
mod tree_leaves;

/// Every blocking collective on every kind of communicator.
const EVERYTHING: &str = include_str!("../../../../tests/scenarios/everything.toml");
/// The same kinds on three hosts.
const HOSTS: &str = include_str!("../../../../tests/scenarios/hosts.toml");
/// Trees, message by message, on three hosts.
const INSIDE: &str = include_str!("../../../../tests/scenarios/inside.toml");
/// What begins before it is waited for.
const NONBLOCKING: &str = include_str!("../../../../tests/scenarios/nonblocking.toml");

/// One generated trace, its truth, and what the analysis says.
struct Case {
    truth: Value,
    analysis: Value,
    status: i32,
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command can be started")
}

/// Exit status and the bytes on stdout.
fn analyze(trace: &Path, more: &[&str]) -> (i32, Vec<u8>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collbench-analyze"));
    command
        .args(["--format", "json", "--no-pictures"])
        .args(more)
        .arg(trace);
    let output = run(&mut command);
    let status = output.status.code().expect("it was not killed");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!([0, 3].contains(&status), "status {status}: {words}");
    (status, output.stdout)
}

fn json(bytes: &[u8]) -> Value {
    collbench_schemas::read(bytes)
}

impl Case {
    fn new(scenario: &str) -> Self {
        Self::with(scenario, None)
    }

    fn with(scenario: &str, seed: Option<u64>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let trace = trace_in(directory.path(), scenario, seed);
        let truth = json(&fs::read(trace.join("truth.json")).unwrap());
        let (status, stdout) = analyze(&trace, &[]);
        Self {
            truth,
            analysis: json(&stdout),
            status,
        }
    }

    fn remarks(&self) -> Vec<&str> {
        list(&self.analysis["remarks"])
            .iter()
            .map(|remark| text(&remark["code"]))
            .collect()
    }

    fn culprits(&self) -> Vec<&Value> {
        list(&self.analysis["imbalance"])
            .iter()
            .filter(|verdict| !verdict["culprit"].is_null())
            .collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_else(|| panic!("a list, not {value}"))
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("a string, not {value}"))
}

fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("an integer, not {value}"))
}

/// How far a time in the analysis may be from the truth, and which of the truths it is.
#[derive(Clone, Copy)]
struct Tolerance {
    /// For each time, ns.
    ns: i64,
    /// And this part of it, in ppm: a clock that is not aligned runs at its own rate.
    ppm: i64,
    /// Stamps that are further apart than this have a resolved order, ns.
    apart_ns: i64,
    /// `global` or `within_hosts`.
    truth: &'static str,
}

const EXACT: Tolerance = Tolerance {
    ns: 0,
    ppm: 0,
    apart_ns: 0,
    truth: "global",
};

impl Tolerance {
    fn check(self, what: &str, found: &Value, expected: i64, n: i64) {
        let found = number(found);
        let allowed = self.ns * n + expected.abs() * self.ppm / 1_000_000;
        assert!(
            (found - expected).abs() <= allowed,
            "{what}: {found} found, {expected} expected, {allowed} off allowed"
        );
    }

    fn check_distribution(self, what: &str, found: &Value, expected: &Value) {
        let n = number(&expected["n"]);
        if n == 0 {
            assert!(found.is_null(), "{what}: {found} found, null expected");
            return;
        }
        assert!(!found.is_null(), "{what}: null found, {expected} expected");
        assert_eq!(number(&found["n"]), n, "{what}: n");
        let total = number(&expected["total"]);
        self.check(&format!("{what}: total"), &found["total"], total, n);
        for end in ["min", "max"] {
            self.check(
                &format!("{what}: {end}"),
                &found[end],
                number(&expected[end]),
                1,
            );
        }
        // Rounded to whole ns.
        let mean = number(&found["mean"]);
        assert!(
            (mean - total / n).abs() <= 1 + self.ns + (total / n).abs() * self.ppm / 1_000_000,
            "{what}: mean {mean} of {n} with total {total}"
        );
        let (low, high) = (
            number(&expected["median"][0]),
            number(&expected["median"][1]),
        );
        let median = number(&found["median"]);
        // Quantiles are within 0.1 %.
        let off =
            |value: i64| 1 + self.ns + value.abs() / 1000 + value.abs() * self.ppm / 1_000_000;
        assert!(
            median >= low - off(low) && median <= high + off(high),
            "{what}: median {median} found, {low} to {high} expected"
        );
    }
}

/// For each communicator of the truth, its id in the analysis.
fn communicator_ids(case: &Case) -> Vec<i64> {
    let missing: Vec<i64> = list(&case.truth["ranks"])
        .iter()
        .filter(|rank| rank["records"] == 0)
        .map(|rank| number(&rank["rank"]))
        .collect();
    type Key = (String, String, Vec<Option<i64>>);
    let mut found: BTreeMap<Key, Vec<i64>> = BTreeMap::new();
    for communicator in list(&case.analysis["communicators"]) {
        let ranks = list(&communicator["ranks"])
            .iter()
            .map(Value::as_i64)
            .collect();
        let key = (
            text(&communicator["name"]).to_owned(),
            text(&communicator["kind"]).to_owned(),
            ranks,
        );
        found
            .entry(key)
            .or_default()
            .push(number(&communicator["id"]));
    }
    for ids in found.values_mut() {
        ids.sort_unstable_by(|a, b| b.cmp(a));
    }
    let mut ids = Vec::new();
    for communicator in list(&case.truth["communicators"]) {
        let name = match text(&communicator["name"]) {
            "world" => "MPI_COMM_WORLD",
            "self" => "MPI_COMM_SELF",
            name => name,
        };
        let is_known = |rank: &i64| !missing.contains(rank);
        let ranks: Vec<Option<i64>> = list(&communicator["ranks"])
            .iter()
            .map(|rank| rank.as_i64().filter(is_known))
            .collect();
        // The entry of all one-process communicators lists those that there are.
        let ranks = match name {
            "MPI_COMM_SELF" => ranks.into_iter().filter(Option::is_some).collect(),
            _ => ranks,
        };
        let key = (
            name.to_owned(),
            text(&communicator["kind"]).to_owned(),
            ranks,
        );
        // Of the same name and members, the one made first has the smallest id.
        let id = found.get_mut(&key).and_then(Vec::pop);
        ids.push(id.unwrap_or_else(|| panic!("no communicator {key:?} in {found:?}")));
    }
    ids
}

fn byte_class(bytes: &Value) -> u64 {
    let bytes = bytes
        .as_u64()
        .unwrap_or_else(|| panic!("bytes, not {bytes}"));
    bytes.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

/// Compares everything of which the truth speaks.
fn compare(case: &Case, tolerance: Tolerance) {
    let Case {
        truth, analysis, ..
    } = case;
    assert_eq!(analysis["trace"]["calls"], truth["calls"]);
    let duration = number(&truth["duration_ns"]);
    tolerance.check(
        "duration of the run",
        &analysis["trace"]["duration_ns"],
        duration,
        2,
    );

    let ids = communicator_ids(case);
    let mut entries: BTreeMap<(String, i64, Option<i64>, u64), &Value> = BTreeMap::new();
    for entry in list(&analysis["operations"]) {
        let key = (
            text(&entry["operation"]).to_owned(),
            number(&entry["communicator"]),
            entry["root"].as_i64(),
            byte_class(&entry["bytes_max"]),
        );
        assert!(
            entries.insert(key.clone(), entry).is_none(),
            "{key:?} twice"
        );
    }
    for expected in list(&truth["operations"]) {
        let key = (
            text(&expected["operation"]).to_owned(),
            ids[number(&expected["communicator"]) as usize],
            expected["root"].as_i64(),
            byte_class(&expected["bytes_class"]),
        );
        let found = entries
            .remove(&key)
            .unwrap_or_else(|| panic!("{key:?} is missing"));
        compare_operation(&format!("{key:?}"), found, expected, tolerance);
    }
    assert!(entries.is_empty(), "beyond the truth: {:?}", entries.keys());
    compare_totals(analysis, truth);

    let found: BTreeMap<i64, &Value> = list(&analysis["ranks"])
        .iter()
        .map(|rank| (number(&rank["rank"]), rank))
        .collect();
    for expected in list(&truth["ranks"]) {
        let rank = number(&expected["rank"]);
        let Some(found) = found.get(&rank) else {
            assert_eq!(expected["records"], 0, "rank {rank} is missing");
            continue;
        };
        for field in ["host", "calls", "calls_by_operation", "calls_by_class"] {
            assert_eq!(found[field], expected[field], "rank {rank}: {field}");
        }
        let wait = match tolerance.truth {
            "global" => &expected["wait_ns"],
            _ => &expected["wait_within_hosts_ns"],
        };
        if found["wait_ns"].is_null() {
            assert_eq!(number(wait), 0, "rank {rank}: no wait is known");
            continue;
        }
        let n = number(&expected["calls"]);
        tolerance.check(
            &format!("rank {rank}: wait"),
            &found["wait_ns"],
            number(wait),
            n,
        );
    }
}

fn compare_totals(analysis: &Value, truth: &Value) {
    let mut calls: BTreeMap<&str, i64> = BTreeMap::new();
    for expected in list(&truth["operations"]) {
        *calls.entry(text(&expected["operation"])).or_default() += number(&expected["calls"]);
    }
    for (operation, calls) in calls {
        let found = &analysis["totals"][operation]["calls"];
        assert_eq!(found, calls, "total of {operation}");
    }
}

fn compare_operation(what: &str, found: &Value, expected: &Value, tolerance: Tolerance) {
    for field in ["calls", "instances", "incomplete", "bytes_min", "bytes_max"] {
        assert_eq!(found[field], expected[field], "{what}: {field}");
    }
    let times = &expected[tolerance.truth];
    let call_time = &expected["call_time_ns"];
    tolerance.check_distribution(
        &format!("{what}: call time"),
        &found["call_time_ns"],
        call_time,
    );
    for field in [
        "initiation_ns",
        "between_ns",
        "completion_ns",
        "exposed_ns",
        "overlap_bound_ns",
    ] {
        let what = format!("{what}: {field}");
        tolerance.check_distribution(&what, &found[field], &expected[field]);
    }
    if !found["tests"].is_null() {
        assert_eq!(found["tests"], expected["tests"], "{what}: tests");
    }
    for field in [
        "duration_ns",
        "wait_ns",
        "arrival_lag_ns",
        "core_ns",
        "departure_wait_ns",
    ] {
        let what = format!("{what}: {field}");
        tolerance.check_distribution(&what, &found[field], &times[field]);
    }
    compare_wait_states(what, found, times, tolerance);

    // Who arrived last is known if all are on one host and no other arrival is too close.
    let within = times["core_ns"]["n"] != 0 || tolerance.truth == "global";
    let is_clear = expected["closest_ns"]
        .as_i64()
        .is_none_or(|ns| ns > tolerance.apart_ns.max(2 * tolerance.ns));
    if !within || !is_clear {
        return;
    }
    for (field, unresolved, tied) in [
        ("last_arrivals", "last_unresolved", "last_tied"),
        ("first_departures", "first_unresolved", "first_tied"),
    ] {
        assert_eq!(found[unresolved], expected[tied], "{what}: {unresolved}");
        let n = |value: &Value| list(value).iter().map(number).sum::<i64>();
        assert_eq!(
            n(&found[field]) + number(&found[unresolved]),
            number(&found["instances"]),
            "{what}: {field} and {unresolved}"
        );
        if list(&found[field]).len() == list(&expected[field]).len() {
            assert_eq!(found[field], expected[field], "{what}: {field}");
        }
    }
    for field in ["arrival_order", "departure_order"] {
        let of_instances = list(&expected[field])
            .iter()
            .flat_map(list)
            .map(number)
            .sum::<i64>();
        if of_instances > 0 {
            assert_eq!(found[field], expected[field], "{what}: {field}");
        }
    }
}

fn compare_wait_states(what: &str, found: &Value, times: &Value, tolerance: Tolerance) {
    let name = text(&found["operation"]);
    let operation = Operation::ALL.iter().find(|op| op.name() == name);
    let operation = operation.unwrap_or_else(|| panic!("{name}"));
    let (waiting, completion) = match operation.blocking().name() {
        "MPI_Barrier" => ("Wait at Barrier", Some("Barrier Completion")),
        "MPI_Bcast" | "MPI_Scatter" | "MPI_Scatterv" => ("Late Broadcast", None),
        "MPI_Gather" | "MPI_Gatherv" | "MPI_Reduce" => ("Early Reduce", None),
        "MPI_Scan" | "MPI_Exscan" => ("Early Scan", None),
        "MPI_Comm_free" => return,
        _ if operation.semantics() == Semantics::Neighborhood => {
            assert_eq!(
                found["wait_states"],
                Value::Object(Default::default()),
                "{what}"
            );
            return;
        }
        _ => ("Wait at N x N", Some("N x N Completion")),
    };
    let total = |field: &str| (number(&times[field]["total"]), number(&times[field]["n"]));
    let (wait, n) = total("wait_ns");
    if n > 0 {
        let what = format!("{what}: {waiting}");
        // Those for others on the way of the data are states of their own.
        let on_the_way = ["Late Receiver", "Late Receiver (assumed)", "Late Sender"];
        let states = &found["wait_states"];
        let others = on_the_way.map(|state| states[state].as_i64().unwrap_or(0));
        let found = number(&states[waiting]) + others.iter().sum::<i64>();
        tolerance.check(&what, &found.into(), wait, n);
    }
    // Nobody left before the last had come, so that completion and departure wait are one.
    let (departure_wait, n) = total("departure_wait_ns");
    if let (Some(name), true) = (completion, n > 0 && tolerance.truth == "global") {
        let what = format!("{what}: {name}");
        tolerance.check(&what, &found["wait_states"][name], departure_wait, n);
    }
}

fn with(scenario: &str, replacements: &[(&str, &str)]) -> String {
    replacements
        .iter()
        .fold(scenario.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
}

/// The only entry of an operation.
fn operation<'c>(case: &'c Case, name: &str) -> &'c Value {
    let mut entries = list(&case.analysis["operations"])
        .iter()
        .filter(|entry| text(&entry["operation"]) == name);
    let entry = entries.next().unwrap_or_else(|| panic!("no {name}"));
    assert!(entries.next().is_none(), "several of {name}");
    entry
}

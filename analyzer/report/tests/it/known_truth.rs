//! Known truth first: traces whose every figure is known, from the generator, through the commands
//! as people call them. Runs without MPI.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use collbench_formats::{Operation, Semantics};
use proptest::prelude::*;
use serde_json::Value;

/// Every blocking collective on every kind of communicator.
const EVERYTHING: &str = include_str!("../../../tests/scenarios/everything.toml");
/// The same kinds on three hosts.
const HOSTS: &str = include_str!("../../../tests/scenarios/hosts.toml");
/// Trees, message by message, on three hosts.
const INSIDE: &str = include_str!("../../../tests/scenarios/inside.toml");
/// What begins before it is waited for.
const NONBLOCKING: &str = include_str!("../../../tests/scenarios/nonblocking.toml");

/// One generated trace, its truth, and what the analysis says.
struct Case {
    truth: Value,
    analysis: Value,
    status: i32,
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command can be started")
}

/// The trace of a scenario, drawn with another seed than its own, if there is one.
fn generate(directory: &Path, scenario: &str, seed: Option<u64>) -> PathBuf {
    let file = directory.join("scenario.toml");
    fs::write(&file, scenario).unwrap();
    let out = directory.join("trace");
    collbench_generate::generate(&file, &out, seed, true).unwrap();
    out
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
    serde_json::from_slice(bytes).expect("one JSON document")
}

impl Case {
    fn new(scenario: &str) -> Self {
        Self::with(scenario, None)
    }

    fn with(scenario: &str, seed: Option<u64>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let trace = generate(directory.path(), scenario, seed);
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
        tolerance.check(&what, &found["wait_states"][waiting], wait, n);
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

#[test]
fn all_operations_and_communicators_come_back_exactly() {
    let case = Case::new(EVERYTHING);
    assert_eq!(case.status, 0);
    assert_eq!(case.analysis["trace"]["complete"], true);
    // Of one rank nothing comes into its MPI_Exscan, which is an error of the program.
    assert_eq!(case.remarks(), ["mismatched_sizes", "internal_calls"]);
    compare(&case, EXACT);
    for expected in list(&case.truth["ranks"]) {
        let found = &case.analysis["ranks"][number(&expected["rank"]) as usize];
        for field in ["last", "first"] {
            assert_eq!(found[field], expected[field], "{field}");
        }
    }
    // All 17, or the test does not test what it says.
    let collectives = list(&case.truth["operations"])
        .iter()
        .map(|entry| text(&entry["operation"]))
        .filter(|name| !name.starts_with("MPI_Comm_") && !name.starts_with("MPI_Cart_"))
        .filter(|name| !name.starts_with("MPI_Intercomm_"))
        .collect::<std::collections::BTreeSet<_>>();
    assert_eq!(collectives.len(), 17, "{collectives:?}");
}

#[test]
fn what_begins_before_it_is_waited_for_comes_back_exactly() {
    let case = Case::new(NONBLOCKING);
    // MPI_Iexscan with different sizes.
    assert_eq!((case.status, case.remarks()), (0, vec!["mismatched_sizes"]));
    compare(&case, EXACT);
    let operations = || list(&case.truth["operations"]).iter();
    let begun = operations().filter(|entry| number(&entry["between_ns"]["n"]) > 0);
    let names: std::collections::BTreeSet<_> = begun.map(|e| text(&e["operation"])).collect();
    assert_eq!(names.len(), 17, "{names:?}");
    // The test means something only where somebody waits, and somebody overlaps.
    let allreduce = operations().find(|entry| entry["operation"] == "MPI_Iallreduce");
    let waits = &allreduce.expect("it is in the scenario")["global"]["wait_ns"];
    assert!(number(&waits["total"]) > 0 && number(&waits["min"]) == 0);
    let levels: Vec<i64> = list(&case.analysis["phases"])
        .iter()
        .map(|phase| number(&phase["level"]))
        .collect();
    assert_eq!(levels, [-7, 1]);
    let tsc = with(
        NONBLOCKING,
        &[("clock = \"raw\"", "clock = \"tsc\"\nghz = 2.5")],
    );
    compare(&Case::new(&tsc), EXACT);
}

#[test]
fn neither_threads_nor_the_length_of_chunks_show_in_nonblocking_results() {
    let directory = tempfile::tempdir().unwrap();
    let trace = generate(directory.path(), NONBLOCKING, None);
    let (_, expected) = analyze(&trace, &["--threads", "1"]);
    assert!(analyze(&trace, &["--threads", "3"]).1 == expected);
    for length in [1, 7, 2000] {
        let length = format!("chunk_calls = {length}");
        let scenario = with(NONBLOCKING, &[("chunk_calls = 60", &length)]);
        compare(&Case::new(&scenario), EXACT);
    }
}

#[test]
fn the_phases_of_a_program_divide_its_calls() {
    let directory = tempfile::tempdir().unwrap();
    let trace = generate(directory.path(), NONBLOCKING, None);
    let of = |level: &str| {
        let (status, stdout) = analyze(&trace, &["--phase", level]);
        assert_eq!(status, 0);
        let analysis = json(&stdout);
        let calls = list(&analysis["operations"]).iter();
        let calls: i64 = calls.map(|entry| number(&entry["calls"])).sum();
        let phases = list(&analysis["phases"]).iter();
        let phase = phases.filter(|phase| number(&phase["level"]).to_string() == level);
        let told: Vec<i64> = phase.map(|phase| number(&phase["calls"])).collect();
        assert_eq!(told, [calls], "{level}");
        calls
    };
    // Of six ranks; three constructors come before.
    assert_eq!((of("1"), of("-7")), (6 * 12 * 12, 6 * 12 * 7));
}

#[test]
fn a_rank_killed_with_collectives_under_way_leaves_what_there_is() {
    let scenario = NONBLOCKING.replace("thread = 1, ", "");
    for after_calls in [8, 30, 61, 100, 150, 171] {
        check_killed(&scenario, after_calls, after_calls % 2 == 0);
    }
}

#[test]
fn ticks_of_two_and_a_half_gigahertz_come_back_exactly() {
    let tsc = with(
        EVERYTHING,
        &[("clock = \"raw\"", "clock = \"tsc\"\nghz = 2.5")],
    );
    compare(&Case::new(&tsc), EXACT);
}

#[test]
fn the_kernels_own_monotonic_clock_comes_back_exactly() {
    let monotonic = with(EVERYTHING, &[("clock = \"raw\"", "clock = \"monotonic\"")]);
    compare(&Case::new(&monotonic), EXACT);
}

#[test]
fn odd_tick_rates_come_back_within_a_nanosecond() {
    for ghz in ["2.399987", "1.000001", "3.7", "0.0241", "2.893197"] {
        let odd = with(
            EVERYTHING,
            &[("clock = \"raw\"", &format!("clock = \"tsc\"\nghz = {ghz}"))],
        );
        // A tick is up to 1 ns, or 41 ns at 24.1 MHz, in each of two stamps; and the rate is known
        // to 0.5 ns over the run.
        let ns = if ghz == "0.0241" { 42 } else { 2 };
        let case = Case::new(&odd);
        compare(&case, Tolerance { ns, ..EXACT });
    }
}

#[test]
fn coarse_ticks_and_hasty_anchors_come_back_within_their_error() {
    let coarse = with(
        EVERYTHING,
        &[(
            "clock = \"raw\"",
            "clock = \"tsc\"\nghz = 2.1\ngranularity_ticks = 26\nanchor_width_ns = 80\n\
             anchor_jitter_ns = 40",
        )],
    );
    let case = Case::new(&coarse);
    // 26 ticks are 12.4 ns; anchors that are 40 ns off at both ends of 14 ms are 6 ppm.
    compare(
        &case,
        Tolerance {
            ns: 14,
            ppm: 12,
            ..EXACT
        },
    );
}

#[test]
fn threads_of_a_process_come_back_exactly() {
    let threads = with(
        EVERYTHING,
        &[("# threads", "[threads]\nhalves = 1\nbridge = 2\nself = 3\n")],
    );
    let case = Case::new(&threads);
    assert_eq!(case.status, 0);
    compare(&case, EXACT);
}

#[test]
fn chunks_of_any_length_give_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for chunk_calls in ["1", "7", "50", "100000"] {
        let length = format!("chunk_calls = {chunk_calls}");
        let scenario = with(EVERYTHING, &[("chunk_calls = 50", &length)]);
        let trace = generate(directory.path(), &scenario, None);
        seen.push(analyze(&trace, &[]).1);
    }
    assert!(seen.iter().all(|bytes| *bytes == seen[0]));
}

#[test]
fn hosts_are_compared_each_within_itself() {
    let case = Case::new(HOSTS);
    assert_eq!(case.status, 0);
    assert!(
        case.remarks().contains(&"clocks_not_aligned"),
        "{:?}",
        case.remarks()
    );
    compare(
        &case,
        Tolerance {
            truth: "within_hosts",
            ..EXACT
        },
    );
    // What is not known is not 0.
    let world = list(&case.analysis["operations"])
        .iter()
        .filter(|entry| entry["communicator"] == 0);
    for entry in world {
        assert!(entry["core_ns"].is_null(), "{entry}");
        assert_eq!(entry["last_unresolved"], entry["instances"], "{entry}");
    }
    let clock = &case.analysis["clock"];
    assert_eq!(list(&clock["hosts"]).len(), 3);
    // Host b is late to every allreduce, which clocks that are not aligned cannot show.
    let communicators = list(&case.analysis["communicators"]);
    for verdict in case.culprits() {
        let name = &communicators[number(&verdict["communicator"]) as usize]["name"];
        assert_eq!(name, "node", "{verdict}");
    }
}

#[test]
fn messages_leave_what_is_seen_from_outside_as_it_is() {
    let case = Case::new(INSIDE);
    compare(
        &case,
        Tolerance {
            truth: "within_hosts",
            ..EXACT
        },
    );
    let messages = &case.analysis["trace"]["messages"];
    assert_eq!(messages, &case.truth["messages"]);
    assert!(number(messages) > 3_000);
}

#[test]
fn drifting_hosts_come_back_within_their_drift() {
    let drifting = with(
        HOSTS,
        &[
            ("# drift b", "drift_ppm = 25.5\noffset_ns = -123456789"),
            ("# drift c", "drift_ppm = -60.0\noffset_ns = 987654321012"),
        ],
    );
    let case = Case::new(&drifting);
    compare(
        &case,
        Tolerance {
            ns: 2,
            ppm: 61,
            apart_ns: 0,
            truth: "within_hosts",
        },
    );
}

/// Four hosts at different rates, and messages between them that take the same time both ways.
fn aligned() -> String {
    with(
        HOSTS,
        &[
            ("[latency]", "[exchanges]\none_way_ns = 1000\n\n[latency]"),
            ("# drift b", "drift_ppm = 25.5\noffset_ns = -123456789"),
            ("# drift c", "drift_ppm = -60.0\noffset_ns = 987654321012"),
        ],
    )
}

#[test]
fn hosts_that_were_measured_are_compared_with_one_another() {
    let case = Case::new(&aligned());
    assert_eq!(case.status, 0);
    assert_eq!(case.remarks(), [] as [&str; 0]);
    // Reading the clocks errs by a few ns; the drift of b and c is taken out.
    compare(
        &case,
        Tolerance {
            ns: 12,
            ppm: 0,
            apart_ns: 300,
            truth: "global",
        },
    );
    let clock = &case.analysis["clock"];
    assert_eq!(clock["method"], "offsets smoothed jointly");
    for (host, offset_ns, drift_ppm) in [(1, -123_456_789, 25.5), (2, 987_654_321_012, -60.0)] {
        let found = &clock["hosts"][host];
        let off = number(&found["offset_ns"]) - offset_ns;
        assert!(off.abs() < 200, "{found}");
        let drift = found["drift_ppm"].as_f64().unwrap();
        assert!((drift - drift_ppm).abs() < 0.2, "{found}");
        assert!(
            (1_000..1_100).contains(&number(&found["bound_ns"])),
            "{found}"
        );
        assert!(
            (50..300).contains(&number(&found["uncertainty_ns"])),
            "{found}"
        );
    }
    // What is told apart by host adds up to the whole.
    let is_world = |entry: &&Value| entry["communicator"] == 0 && !entry["core_ns"].is_null();
    for entry in list(&case.analysis["operations"]).iter().filter(is_world) {
        let [inside, across] = [&entry["stages"][0], &entry["stages"][1]];
        for (direction, whole) in [("down_ns", "wait_ns"), ("up_ns", "departure_wait_ns")] {
            let total = |dist: &Value| number(&dist["total"]);
            let parts = total(&inside[direction]) + total(&across[direction]);
            assert_eq!(parts, total(&entry[whole]), "{direction} of {entry}");
        }
        let uncertainty = number(&entry["wait_ns"]["uncertainty_ns"]);
        assert!((50..400).contains(&uncertainty), "{uncertainty}");
    }
    let culprits = case.culprits();
    let late: Vec<&Value> = culprits.iter().map(|verdict| &verdict["culprit"]).collect();
    assert!(
        late.contains(&&serde_json::json!({ "kind": "host", "id": "b" })),
        "{late:?}"
    );
}

#[test]
fn ranks_that_run_ahead_in_reduces_come_back_exactly() {
    // The root needs 40 us for what takes the others 1 us: they end 20,000 calls ahead.
    let scenario = "
        schema = 1
        grid_ns = 10
        chunk_calls = 500
        [[hosts]]
        name = \"a\"
        ranks = 4
        clock = \"raw\"
        [[program]]
        repeat = 20000
        operation = \"MPI_Reduce\"
        bytes = 64
        root = 2
        work = [{ uniform_ns = [500, 1500] }, { constant_ns = 40000, ranks = [2] }]
        [[program]]
        repeat = 5000
        operation = \"MPI_Bcast\"
        bytes = 8
        root = 1
        work = [{ constant_ns = 40000, ranks = [0] }]";
    let case = Case::new(scenario);
    assert_eq!(case.status, 0);
    compare(&case, EXACT);
    let reduce = operation(&case, "MPI_Reduce");
    assert_eq!(number(&reduce["instances"]), 20_000);
    assert_eq!(
        reduce["last_arrivals"],
        serde_json::json!([0, 0, 20_000, 0])
    );
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

/// A line for each rank that the analysis calls damaged.
fn damage(case: &Case) -> BTreeMap<i64, &Value> {
    list(&case.analysis["trace"]["damage"])
        .iter()
        .map(|damage| (number(&damage["rank"]), damage))
        .collect()
}

fn check_killed(scenario: &str, after_calls: i64, in_flight: bool) {
    let fault = format!("rank = 4\nkilled_after_calls = {after_calls}\nin_flight = {in_flight}");
    let case = Case::new(&format!("{scenario}\n[[faults]]\n{fault}\n"));
    assert_eq!(case.status, 3);
    assert_eq!(case.analysis["trace"]["complete"], false);
    let found = damage(&case);
    for expected in list(&case.truth["ranks"]) {
        let rank = number(&expected["rank"]);
        let calls = &case.analysis["ranks"][rank as usize]["calls"];
        assert_eq!(calls, &expected["calls"]);
        if rank == 4 {
            assert_eq!(number(calls), after_calls + i64::from(in_flight));
        }
        let under_way = &found[&rank]["in_flight"];
        let of_truth = &expected["in_flight"];
        if of_truth.is_null() {
            assert!(under_way.is_null(), "rank {rank}: {under_way}");
            continue;
        }
        assert_eq!(under_way["operation"], of_truth["operation"], "rank {rank}");
        assert_eq!(under_way["sequence"], of_truth["sequence"], "rank {rank}");
    }
    compare(&case, EXACT);
}

#[test]
fn a_killed_rank_keeps_its_calls_and_shows_what_the_others_wait_in() {
    // The constructors, and once through everything.
    for after_calls in (0..8).chain(300..340) {
        check_killed(EVERYTHING, after_calls, after_calls % 2 == 0);
    }
}

#[test]
fn a_program_that_exits_without_finalize_is_incomplete_and_exact() {
    let scenario = format!("{EVERYTHING}\n[[faults]]\nrank = 0\nno_finalize = true\n");
    let case = Case::new(&scenario);
    assert_eq!(case.status, 3);
    assert_eq!(damage(&case).keys().copied().collect::<Vec<_>>(), [0]);
    compare(&case, EXACT);
}

/// Reduces and allreduces on the world only: what a cut costs is then known for every call.
const PLAIN: &str = "
    schema = 1
    grid_ns = 10
    chunk_calls = 40
    [[hosts]]
    name = \"a\"
    ranks = 3
    clock = \"raw\"
    [[program]]
    repeat = 150
    steps = [
      { operation = \"MPI_Allreduce\", bytes = 8, work = [{ uniform_ns = [0, 5000] }] },
      { operation = \"MPI_Reduce\", bytes = 800, work = [{ uniform_ns = [0, 5000] }] },
    ]
    ";

#[test]
fn a_file_cut_anywhere_gives_what_is_left_of_it() {
    let faults = [
        "cut_at_fraction = 0.5",
        "cut_at_fraction = 0.93",
        "cut_at_byte = 23456",
    ];
    for fault in faults {
        let case = Case::new(&format!("{PLAIN}\n[[faults]]\nrank = 1\n{fault}\n"));
        assert_eq!(case.status, 3, "{fault}");
        assert_eq!(
            damage(&case).keys().copied().collect::<Vec<_>>(),
            [1],
            "{fault}"
        );
        let cut = &case.truth["ranks"][1];
        assert!(
            number(&cut["calls"]) > 50 && number(&cut["calls"]) < 290,
            "{cut}"
        );
        compare(&case, EXACT);
    }
}

#[test]
fn behind_a_damaged_chunk_calls_are_matched_again() {
    // A whole chunk of several communicators' calls is lost; the tables of the later ones say
    // where they go on.
    for chunk in [1, 4, 6] {
        for scenario in [PLAIN, EVERYTHING] {
            let fault = format!("[[faults]]\nrank = 1\ndamaged_chunk = {chunk}\n");
            let case = Case::new(&format!("{scenario}\n{fault}"));
            assert_eq!(case.status, 3);
            let incomplete: i64 = list(&case.truth["operations"])
                .iter()
                .map(|entry| number(&entry["incomplete"]))
                .sum();
            assert!(incomplete >= 38, "{incomplete}");
            compare(&case, EXACT);
        }
    }
}

#[test]
fn a_missing_file_costs_the_instances_of_its_rank() {
    let case = Case::new(&format!("{PLAIN}\n[[faults]]\nrank = 1\nmissing = true\n"));
    assert_eq!(case.status, 3);
    assert_eq!(damage(&case).keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(number(&case.analysis["trace"]["calls"]), 600);
    compare(&case, EXACT);
    for entry in list(&case.analysis["operations"]) {
        assert_eq!(
            (number(&entry["instances"]), number(&entry["incomplete"])),
            (0, 150)
        );
        assert!(entry["wait_ns"].is_null() && entry["duration_ns"].is_null());
    }
}

#[test]
fn a_recording_that_reached_its_size_is_incomplete_and_exact() {
    let fault = "[[faults]]\nrank = 2\nsize_reached_after_calls = 77\n";
    let case = Case::new(&format!("{PLAIN}\n{fault}"));
    assert_eq!(case.status, 3);
    assert_eq!(number(&case.analysis["ranks"][2]["calls"]), 77);
    let words = text(&damage(&case)[&2]["what"]);
    assert!(words.contains("size") && words.contains("223"), "{words}");
    compare(&case, EXACT);
}

/// Damage is told with the name of the file that has it.
fn without_file_names((status, stdout): &(i32, Vec<u8>)) -> (i32, String) {
    let text = String::from_utf8_lossy(stdout);
    let lines = text.lines().map(|line| match line.split_once(".trace: ") {
        Some((_, damage)) => damage,
        None => line,
    });
    (*status, lines.flat_map(|line| [line, "\n"]).collect())
}

#[test]
fn neither_file_names_nor_threads_change_a_byte() {
    let killed = format!("{EVERYTHING}\n[[faults]]\nrank = 2\nkilled_after_calls = 400\n");
    for scenario in [EVERYTHING, HOSTS, &killed] {
        let directory = tempfile::tempdir().unwrap();
        let trace = generate(directory.path(), scenario, None);
        let first = analyze(&trace, &["--threads", "1"]);
        assert!(first == analyze(&trace, &["--threads", "2"]));
        let mut files: Vec<PathBuf> = fs::read_dir(&trace)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "trace")
            })
            .collect();
        for round in 1..5 {
            // Names in another order, and directory entries made in another order.
            let moved: Vec<PathBuf> = (0..files.len())
                .map(|i| trace.join(format!("{}-{round}.trace", (i + round) * 37 % 11)))
                .collect();
            for (from, to) in files.iter().zip(&moved) {
                fs::rename(from, to).unwrap();
            }
            files = moved;
            let found = without_file_names(&analyze(&trace, &[]));
            assert!(without_file_names(&first) == found, "round {round}");
        }
    }
}

#[test]
fn a_common_shift_of_all_clocks_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for shift in [
        "",
        "uptime_ns = 1000000\n",
        "uptime_ns = 9000000000000000\nstarted_unix_ns = 1\n",
    ] {
        let scenario = with(EVERYTHING, &[("seed = 11", &format!("seed = 11\n{shift}"))]);
        let trace = generate(directory.path(), &scenario, None);
        seen.push(analyze(&trace, &[]));
    }
    assert!(seen.iter().all(|found| *found == seen[0]));
}

#[test]
fn an_offset_of_a_host_changes_nothing_within_hosts() {
    let plain = Case::new(HOSTS);
    let offset = with(
        HOSTS,
        &[
            ("# drift b", "offset_ns = -77000000000"),
            ("# drift c", "offset_ns = 5000000"),
        ],
    );
    let offset = Case::new(&offset);
    for part in ["operations", "ranks", "imbalance", "totals"] {
        assert_eq!(plain.analysis[part], offset.analysis[part], "{part}");
    }
}

/// Eight ranks in 200 allreduces; `work` is what they do between.
fn allreduces(work: &str) -> String {
    format!(
        "schema = 1
        [[hosts]]
        name = \"a\"
        ranks = 8
        granularity_ticks = 26
        ghz = 2.4
        [latency]
        base_ns = 3000
        departure_ns = 200
        jitter = {{ exponential_ns = 500 }}
        [[program]]
        repeat = 200
        operation = \"MPI_Allreduce\"
        bytes = 8
        work = [{work}]"
    )
}

const SEEDS: std::ops::Range<u64> = 0..20;

fn with_seed(scenario: &str, seed: u64) -> Case {
    Case::with(scenario, Some(seed))
}

#[test]
fn one_late_rank_is_the_culprit() {
    let late = allreduces(
        "{ normal_ns = [1000000, 20000] }, { constant_ns = 5000000, ranks = [5], share = 0.6 }",
    );
    for seed in SEEDS {
        let case = with_seed(&late, seed);
        let culprits = case.culprits();
        assert_eq!(culprits.len(), 1, "seed {seed}");
        let culprit = &culprits[0]["culprit"];
        assert_eq!(
            (text(&culprit["kind"]), number(&culprit["id"])),
            ("rank", 5),
            "seed {seed}"
        );
    }
}

#[test]
fn a_rank_that_is_always_late_is_last_in_all_instances() {
    let late =
        allreduces("{ normal_ns = [1000000, 20000] }, { constant_ns = 5000000, ranks = [3] }");
    let case = Case::new(&late);
    let allreduce = operation(&case, "MPI_Allreduce");
    assert_eq!(
        allreduce["last_arrivals"],
        serde_json::json!([0, 0, 0, 200, 0, 0, 0, 0])
    );
    assert_eq!(number(&case.analysis["ranks"][3]["wait_ns"]), 0);
}

#[test]
fn where_nobody_in_particular_is_late_there_is_no_culprit() {
    for work in [
        "{ normal_ns = [1000000, 50000] }",
        "{ exponential_ns = 300000 }",
        "{ normal_ns = [1000000, 20000] }, { constant_ns = 5000000, moves_every = 1 }",
        "{ normal_ns = [1000000, 20000] }, { constant_ns = 2000000, moves_every = 5 }",
        "{ normal_ns = [1000000, 20000] }, \
         { noise = { period_ns = 10000000, length_ns = 300000 } }",
    ] {
        let scenario = allreduces(work);
        let with_culprit: Vec<u64> = SEEDS
            .filter(|&seed| !with_seed(&scenario, seed).culprits().is_empty())
            .collect();
        assert!(
            with_culprit.is_empty(),
            "{work}: a culprit with seeds {with_culprit:?}"
        );
    }
}

#[test]
fn who_comes_at_the_same_time_is_not_told_apart() {
    // All at once, and rank 7 always less than a step of the clock later.
    for work in [
        "{ constant_ns = 1000000 }",
        "{ constant_ns = 1000000 }, { constant_ns = 9, ranks = [7] }",
    ] {
        let scenario = with(
            &allreduces(work),
            &[
                ("jitter = { exponential_ns = 500 }", ""),
                ("departure_ns = 200", "departure_ns = 0"),
            ],
        );
        let case = Case::new(&scenario);
        let allreduce = operation(&case, "MPI_Allreduce");
        assert_eq!(number(&allreduce["last_unresolved"]), 200, "{work}");
        assert_eq!(number(&allreduce["first_unresolved"]), 200, "{work}");
        assert_eq!(case.culprits(), Vec::<&Value>::new(), "{work}");
    }
}

#[test]
fn sums_of_long_traces_are_those_of_the_truth() {
    let scenario = "schema = 1\ntruth = \"counts\"\n[[hosts]]\nname = \"a\"\nranks = 4\n\
                    [[program]]\nrepeat = 400000\noperation = \"MPI_Reduce\"\nbytes = 8\n\
                    work = [{ exponential_ns = 1000 }]\n";
    let case = Case::new(scenario);
    assert_eq!(case.status, 0);
    let found = &case.analysis["operations"][0];
    let wait = &case.truth["operations"][0]["global"]["wait_ns"];
    let off = number(&found["wait_ns"]["total"]) - number(&wait["total"]);
    assert!(off.abs() < 400_000, "{off} ns in 400,000 waits");
}

/// A step of a random program, as a line of the scenario.
fn step() -> impl Strategy<Value = String> {
    let operations = prop::sample::select(vec![
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Gather",
        "MPI_Gatherv",
        "MPI_Scatter",
        "MPI_Scatterv",
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Alltoall",
        "MPI_Alltoallv",
        "MPI_Alltoallw",
        "MPI_Reduce",
        "MPI_Allreduce",
        "MPI_Reduce_scatter",
        "MPI_Reduce_scatter_block",
        "MPI_Scan",
        "MPI_Exscan",
    ]);
    let on = prop::sample::select(vec!["world", "self", "parts", "turned", "bridge"]);
    let bytes = prop::collection::vec(prop_oneof![Just(0u32), 1u32..5000], 5);
    (operations, on, bytes, any::<bool>(), 0u32..20_000, 1u32..4).prop_map(
        |(operation, on, bytes, same, work, repeat)| {
            // A scan has no meaning between two groups.
            let on = match operation {
                "MPI_Scan" | "MPI_Exscan" if on == "bridge" => "world",
                _ => on,
            };
            let bytes = match (operation, same) {
                ("MPI_Barrier", _) => String::new(),
                (_, true) => format!("bytes = {}, ", bytes[0]),
                (_, false) => format!("bytes = {bytes:?}, "),
            };
            let is_rooted = ["MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Reduce"]
                .iter()
                .any(|rooted| operation.starts_with(rooted) && !operation.contains("_scatter"));
            let root = if is_rooted {
                "root = \"rotating\", "
            } else {
                ""
            };
            format!(
                "{{ operation = \"{operation}\", on = \"{on}\", {bytes}{root}repeat = {repeat}, \
                 work = [{{ exponential_ns = {work} }}] }},"
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24,
        failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_come_back_exactly(
        steps in prop::collection::vec(step(), 1..12),
        two_hosts: bool,
        seed in 0u64..1000,
    ) {
        let hosts = if two_hosts { "[[hosts]]\nname = \"a\"\nranks = 3\nghz = 2.5\n\
                     [[hosts]]\nname = \"b\"\nranks = 2\nclock = \"raw\"\noffset_ns = 5000\n".to_owned() } else { "[[hosts]]\nname = \"a\"\nranks = 5\nghz = 2.5\n".to_owned() };
        let scenario = format!(
            "schema = 1\nseed = {seed}\ngrid_ns = 100\nchunk_calls = 16\nplacement = \"round-robin\"\n\
             latency = {{ base_ns = 900, jitter = {{ exponential_ns = 900 }} }}\n{hosts}\
             [[program]]\noperation = \"MPI_Comm_split\"\nsplit = {{ colours = [0, 1, 0, 1, 1] }}\nmakes = \"parts\"\n\
             [[program]]\noperation = \"MPI_Comm_dup\"\nmakes = \"copy\"\n\
             [[program]]\noperation = \"MPI_Comm_create\"\nsplit = {{ reversed = true }}\nmakes = \"turned\"\n\
             [[program]]\noperation = \"MPI_Intercomm_create\"\non = \"parts\"\nmakes = \"bridge\"\n\
             [[program]]\nrepeat = 4\nsteps = [\n{}\n]\n",
            steps.join("\n")
        );
        let case = Case::new(&scenario);
        prop_assert_eq!(case.status, 0);
        let truth = if two_hosts { "within_hosts" } else { "global" };
        compare(&case, Tolerance { truth, ..EXACT });
    }
}

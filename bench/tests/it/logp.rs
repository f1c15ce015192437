//! `collbench-bench logp`: a simulated network, and two processes of one host.

use std::path::Path;

use serde_json::Value;

use crate::launch::{finished, mpirun};

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The number at a place in a document.
#[track_caller]
fn number(document: &Value, pointer: &str) -> f64 {
    let found = document.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} is no number"))
}

const SIMULATED: &str = "o_s=1400,o_r=2200,g=7600,L=6300,G=0.5,capacity=10,processes=3";

fn simulate(folder: &Path, format: &str) -> Vec<u8> {
    let line = format!(
        "logp --simulate {SIMULATED} --largest 1024 --format {format} --output pictures \
         --links links.json"
    );
    let output = finished(&line, folder);
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn the_network_of_the_command_line_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let json = simulate(folder.path(), "json");
    let document: Value = collbench_schemas::read(json);
    assert_eq!(document["schema"], "collbench.bench.logp/1");
    assert_eq!(document["network"], "simulated");
    assert_eq!(document["pairs"].as_array().unwrap().len(), 3);
    assert_eq!(document["invalid"], Value::Array(Vec::new()));
    let parameters = "/classes/0/parameters";
    for (name, expected) in [
        ("send_overhead/ns", 1_400.0),
        ("receive_overhead/ns", 2_200.0),
        ("gap/ns", 7_600.0),
        ("latency/ns", 6_300.0),
        ("regimes/capacity", 10.0),
    ] {
        let found = number(&document, &format!("{parameters}/{name}"));
        assert!((found / expected - 1.0).abs() < 0.05, "{name}: {found}");
    }
    // The points from which a parameter was read are points of the signature.
    let from = document.pointer("/classes/0/parameters/gap/from").unwrap();
    let of_curve = document
        .pointer("/classes/0/signature/curves/0/points")
        .unwrap();
    let lengths = of_curve.as_array().unwrap().iter();
    let lengths: Vec<&Value> = lengths.map(|point| &point["m"]).collect();
    for at in from.as_array().unwrap() {
        assert!(lengths.contains(&&at["m"]), "{at}");
    }
    let links: Value = collbench_schemas::read(read(&folder.path().join("links.json")));
    assert_eq!(links["schema"], "collbench.links/1");
    assert!((number(&links, "/classes/0/G_ns") / 0.5 - 1.0).abs() < 0.05);
    assert_eq!(links["links"].as_array().unwrap().len(), 3);
    for name in [
        "summary",
        "signature-lan",
        "bulk-signature-lan",
        "bulk-surface-lan",
        "times-lan",
        "bandwidth-lan",
        "overhead-lan",
    ] {
        let picture = read(&folder.path().join(format!("pictures/{name}.svg")));
        assert!(!picture.contains("nothing was measured"), "{name}");
    }
    // The same command finds the same.
    let again: Value = collbench_schemas::read(simulate(folder.path(), "json"));
    assert!(again["classes"] == document["classes"]);
    let text = String::from_utf8(simulate(folder.path(), "text")).unwrap();
    assert!(text.contains("its capacity is 10 requests"), "{text}");
    assert!(text.contains("as the model says"), "{text}");
}

#[test]
fn two_processes_exchange_small_and_large_messages_undamaged() {
    exchange("point-to-point", "point_to_point");
}

#[test]
fn one_sided_operations_carry_the_same_messages() {
    exchange("one-sided", "one_sided");
}

fn exchange(over: &str, network: &str) {
    let folder = tempfile::tempdir().unwrap();
    // Open MPI sends messages of more than 4 KiB to processes of the same host in several pieces. What
    // matters is what arrives, not how long it takes: each operation may yield the core.
    let line = format!(
        "logp --batches 4 --seconds 0.01 --over {over} --smallest 16384 --largest 16384 \
         --format json --output pictures"
    );
    let document = mpirun(2, &line, folder.path());
    assert_eq!(document["network"], network);
    assert_eq!(document["hosts"].as_array().unwrap().len(), 2);
    assert_eq!(document["classes"][0]["name"], "same host");
    // L is known, or it has a bound.
    let of_class = &document["classes"][0];
    let is_bounded = of_class["latency_at_most_ns"]
        .as_f64()
        .is_some_and(|ns| ns > 0.0);
    assert_eq!(of_class["parameters"]["latency"].is_null(), is_bounded);
    let sizes = of_class["sizes"].as_array().unwrap();
    assert_eq!(sizes.len(), 1);
    for size in sizes {
        assert!(number(size, "/signature/round_trip/ns") > 0.0, "{size}");
        assert!(number(size, "/get/ns") > 0.0);
        // On a busy machine a point may be interrupted in all its batches: then there is no signature
        // to read parameters from.
        if !size["parameters"].is_null() {
            assert!(number(size, "/parameters/gap/ns") > 0.0, "{size}");
        }
    }
    let invalid = document["invalid"].as_array().unwrap();
    let is_damage = |words: &Value| words.as_str().unwrap().contains("other data");
    assert!(!invalid.iter().any(is_damage), "{invalid:?}");
    assert!(read(&folder.path().join("pictures/signature-same-host.svg")).contains("D = "));
}

#[test]
fn one_process_has_nobody_to_send_to() {
    let output = finished("logp", Path::new("."));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("mpirun -n 2 collbench-bench logp"), "{said}");
}

/// Two hosts of two ranks, whose clocks differ by seconds and drift apart; o_s = 300 ns and
/// o_r = 160 ns.
const RECORDED: &str = r#"
schema = 1
name = "messages between two hosts"
seed = 3

[[hosts]]
name = "node1"
ranks = 2

[[hosts]]
name = "node2"
ranks = 2
offset_ns = 7919000000
drift_ppm = 15

[network]
in_host_ns = 900
across_hosts_ns = 9000
send_ns = 300
receive_ns = 160

[[program]]
repeat = 100
steps = [
  { operation = "MPI_Barrier", tree = "linear", work = [{ uniform_ns = [0, 30000] }] },
  { operation = "MPI_Allreduce", bytes = 64, tree = "recursive-doubling", work = [{ uniform_ns = [0, 30000] }] },
]
"#;

#[test]
fn parameters_are_found_in_the_messages_of_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, trace) = (folder.path().join("s.toml"), folder.path().join("trace"));
    std::fs::write(&scenario, RECORDED).unwrap();
    collbench_generate::generate(&scenario, &trace, None, false).unwrap();
    let read = |format: &str| {
        let line = format!("logp --format {format} --trace trace");
        let output = finished(&line, folder.path());
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let document: Value = collbench_schemas::read(read("json"));
    assert_eq!(document["schema"], "collbench.bench.logp/1");
    assert_eq!(document["network"], "recorded");
    assert_eq!(document["hosts"][3], "node2");
    for (class, name, transit_ns) in [(0, "same host", 900.0), (1, "LAN", 9_000.0)] {
        assert_eq!(document["classes"][class]["name"], name);
        // Messages leave the sender when it begins to send.
        let latency_ns = transit_ns - 300.0;
        for (parameter, expected) in [
            ("send_overhead", 300.0),
            ("receive_overhead", 160.0),
            ("latency", latency_ns),
        ] {
            let found = number(&document, &format!("/classes/{class}/{parameter}/ns"));
            let difference = (found / expected - 1.0).abs();
            assert!(difference < 0.05, "{name}: {parameter} is {found}");
        }
    }
    // Within a host no rank sends to two others one after the other.
    assert_eq!(document["classes"][0]["send_interval"], Value::Null);
    assert_eq!(number(&document, "/classes/1/send_interval/ns"), 300.0);
    assert_eq!(document["beside"], Value::Array(Vec::new()));
    let text = String::from_utf8(read("text")).unwrap();
    assert!(text.contains("8.70 us +- 0 ns"), "{text}");
    // Beside what the benchmark measured.
    simulate(folder.path(), "text");
    let beside = |file: &str| {
        let line = format!("logp --trace trace --beside {file}");
        finished(&line, folder.path())
    };
    let text = String::from_utf8(beside("links.json").stdout).unwrap();
    let row = text.lines().find(|line| line.contains("LAN, benchmark"));
    let row = row.unwrap_or_else(|| panic!("{text}"));
    for time in ["1.40 us", "2.20 us", "7.60 us", "6.30 us", "0.5000 ns"] {
        assert!(row.contains(time), "{time}: {row}");
    }
    let refused = beside("s.toml");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--beside s.toml"), "{said}");
}

#[test]
fn a_folder_without_a_trace_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = finished("logp --trace .", folder.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("expected a trace directory"), "{said}");
}

//! `collbench-bench gsum`: under a launcher, and with one process of several threads.

use std::fs;
use std::path::Path;

use collbench_tree_files::TreeFile;
use serde_json::Value;

use crate::launch::{finished, mpirun, one_process};

const EXCHANGE: &str = "[[tree]]\noperations = \"allreduce\"\nshape = \"exchange\"\n";
const CHAIN: &str = "[[tree]]\noperations = [\"allreduce\", \"bcast\"]\nshape = \"chain 1\"\n";

fn write_trees(folder: &Path) {
    fs::write(folder.join("exchange.toml"), EXCHANGE).unwrap();
    fs::write(folder.join("chain.toml"), CHAIN).unwrap();
}

fn names(document: &Value) -> Vec<&str> {
    let configurations = document["configurations"].as_array().unwrap().iter();
    let names = configurations.map(|of| of["name"].as_str().unwrap());
    names.collect()
}

/// Everything was measured, and nothing was wrong.
fn check(document: &Value, rounds: u64) {
    assert_eq!(document["schema"], "collbench.bench.gsum/1");
    let counted = document["rounds"].as_u64().unwrap();
    let left_out = document["invalid"].as_array().unwrap().iter();
    let left_out: u64 = left_out.map(|of| of["n"].as_u64().unwrap()).sum();
    assert_eq!(counted + left_out, rounds);
    for of in document["configurations"].as_array().unwrap() {
        assert_eq!(of["wrong_results"], 0, "{of}");
        assert_eq!(of["call_ns"].is_null(), counted == 0, "{of}");
        assert!(counted == 0 || of["call_ns"]["n"] == counted, "{of}");
        assert!(counted == 0 || of["median_ns"]["value"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn two_trees_and_the_library_are_measured_in_turns_by_three_processes() {
    let folder = tempfile::tempdir().unwrap();
    write_trees(folder.path());
    let line = "gsum --trees exchange.toml --trees chain.toml --library --all-rounds --calls 20 \
                --rounds 7 --format json --output pictures";
    let document = mpirun(3, line, folder.path());
    assert_eq!(names(&document), ["library", "exchange.toml", "chain.toml"]);
    check(&document, 7);
    assert_eq!(document["rounds"], 7);
    assert_eq!(
        (
            document["processes"].as_u64(),
            document["payload_bytes"].as_u64()
        ),
        (Some(3), Some(12))
    );
    let comparisons = document["comparisons"].as_array().unwrap();
    let with: Vec<_> = comparisons
        .iter()
        .map(|of| (&of["with"], &of["against"]))
        .collect();
    assert!(
        with.iter()
            .all(|of| *of == (&"library".into(), &"first".into())),
        "{with:?}"
    );
    assert_eq!(with.len(), 2);
    assert_eq!(document["remarks"], Value::Array(Vec::new()));
    let picture = fs::read_to_string(folder.path().join("pictures/rounds.svg")).unwrap();
    assert!(picture.contains("chain.toml"));
}

#[test]
fn threads_of_one_process_are_leaves_and_a_call_without_a_tree_goes_to_the_library() {
    let folder = tempfile::tempdir().unwrap();
    write_trees(folder.path());
    let line = "gsum --threads 3 --trees chain.toml --trees exchange.toml --operation bcast --calls 10 \
                --rounds 6 --bytes 40000 --control --collectors-cost --format json";
    let document = one_process(line, folder.path());
    check(&document, 6);
    assert_eq!(
        names(&document),
        [
            "chain.toml, collectors off",
            "chain.toml, collectors on",
            "exchange.toml",
            "chain.toml, collectors off, again",
            "chain.toml, collectors on, again",
            "exchange.toml, again",
        ]
    );
    let collectors = document["configurations"].as_array().unwrap().iter();
    let collectors: Vec<_> = collectors.map(|of| &of["tree"]["collectors"]).collect();
    // Three threads, and what they have together.
    assert_eq!(
        collectors[..3],
        [&Value::from(0), &Value::from(4), &Value::Null]
    );
    assert_eq!(
        document["remarks"],
        serde_json::json!([
            "exchange.toml: no tree fits MPI_Bcast of 40,000 bytes on 1 rank; the \
                            calls go to the MPI library"
        ])
    );
}

#[test]
fn hosts_that_are_not_there_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = EXCHANGE.to_owned() + "hosts = [\"no-such-host\"]\n";
    fs::write(folder.path().join("wrong.toml"), text).unwrap();
    let output = finished("gsum --trees wrong.toml", folder.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("wrong.toml:4:10: no host is called \"no-such-host\""),
        "{said}"
    );
}

#[test]
fn a_payload_that_is_no_number_of_values_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = finished("gsum --bytes 10", folder.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("a multiple"));
}

#[test]
fn calibration_tries_all_operations_and_writes_the_trees_that_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let line = "gsum --calibrate found.toml --format json";
    let document = mpirun(2, line, folder.path());
    assert_eq!(document["schema"], "collbench.bench.calibration/1");
    let calls = document["calls"].as_array().unwrap();
    // Seven payloads of six operations, and a barrier.
    assert_eq!(calls.len(), 43);
    let path = folder.path().join("found.toml");
    // On a busy machine it may be that no tree was certainly faster.
    let is_written = !document["file"].is_null();
    assert_eq!(path.exists(), is_written);
    let rules = if is_written {
        let file = TreeFile::read(&path).unwrap();
        assert_eq!(file.remarks, Vec::new());
        file.rules.rules
    } else {
        Vec::new()
    };
    for call in calls {
        let name = call["operation"].as_str().unwrap();
        let bytes = call["payload_bytes"].as_u64().unwrap();
        let candidates = call["candidates"].as_array().unwrap();
        let is_one_way = ["MPI_Reduce", "MPI_Bcast", "MPI_Gather", "MPI_Scatter"].contains(&name);
        // Two processes make one tree, and an exchange.
        assert_eq!(candidates.len(), if is_one_way { 1 } else { 2 }, "{call}");
        let mut rules = rules.iter().map(|rule| &rule.calls);
        let has_tree = rules.any(|calls| {
            let (least, most) = calls.bytes;
            calls.operations[0].operation().name() == name && (least..=most).contains(&bytes)
        });
        assert_eq!(has_tree, !call["tree"].is_null(), "{call}");
    }
    fs::write(&path, "").unwrap();
    let output = finished("gsum --calibrate found.toml", folder.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("found.toml: exists already"), "{said}");
}

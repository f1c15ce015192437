//! `collbench-bench clock` under a launcher, on the one host of the tests: offsets between
//! processes with one clock are errors.

use serde_json::Value;

use crate::launch::{launch, mpirun};

fn has_three_undisturbed(pair: &Value) -> bool {
    let bursts = pair["bursts"].as_array().unwrap().iter();
    bursts
        .filter(|burst| burst["is_disturbed"] == false)
        .count()
        >= 3
}

#[test]
fn processes_of_one_host_are_found_to_have_one_clock() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        "clock --exchanges 200 --duration 0.5 --interval 0.05 --format json --output pictures";
    let document = mpirun(3, line, folder.path());
    assert_eq!(document["schema"], "collbench.bench.clock/1");
    assert_eq!(document["has_one_clock"], true);
    let pairs = document["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2);
    for pair in pairs {
        let number = |pointer: &str| pair.pointer(pointer).and_then(Value::as_f64).unwrap();
        let counted: f64 = pair["histogram"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["n"].as_f64().unwrap())
            .sum();
        assert_eq!(counted, number("/round_trip_ns/n"));
        let bursts = pair["bursts"].as_array().unwrap();
        assert!(bursts.len() > 1, "{bursts:?}");
        // Two readings of one clock: an offset is an error, of at most half a round trip.
        let counted = bursts.iter().filter(|burst| burst["is_disturbed"] == false);
        let longest = counted.map(|burst| burst["rtt_ns"].as_u64().unwrap()).max();
        let error = number("/error_ns/max");
        assert!(error <= longest.unwrap() as f64 / 2.0 + 1.0, "{pair}");
        assert!(number("/error_ns/n") >= 1.0);
    }
    let hundred = document["stop_rule"].as_array().unwrap().iter();
    let hundred = hundred.clone().find(|q| q["unimproved"] == 100).unwrap();
    assert!(hundred["exchanges"].as_f64().unwrap() > 100.0, "{hundred}");
    let sizes: Vec<_> = document["synchronization"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["hosts"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [2, 3]);
    for name in [
        "round-trips",
        "drift",
        "held-out",
        "stop-rule-quality",
        "stop-rule-cost",
        "synchronization",
    ] {
        let picture = folder.path().join("pictures").join(format!("{name}.svg"));
        let picture = std::fs::read_to_string(&picture).unwrap();
        // A burst is compared with two neighbours; on a busy machine there may not be so many.
        let is_empty = name == "held-out" && !pairs.iter().any(has_three_undisturbed);
        assert_eq!(picture.contains("nothing was measured"), is_empty, "{name}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_ends_all_processes_before_they_measure() {
    let folder = tempfile::tempdir().unwrap();
    let output = launch(3, "clock --output /proc/nowhere", folder.path());
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("rank 0 on"), "{said}");
    assert!(
        said.contains("--output /proc/nowhere: cannot be written"),
        "{said}"
    );
}

//! `collbench-bench sor`: under a launcher, and with one process of several threads.

use std::fs;

use serde_json::Value;

use crate::launch::{finished, mpirun, one_process};

/// All solutions are right, and found in as many steps.
fn check(document: &Value) -> u64 {
    assert_eq!(document["schema"], "collbench.bench.sor/1");
    let configurations = document["configurations"].as_array().unwrap();
    let steps = configurations[0]["steps"].as_u64().unwrap();
    for of in configurations {
        assert_eq!(of["wrong_results"], 0, "{of}");
        assert_eq!(of["steps"], steps, "{of}");
        assert!(of["largest_error"].as_f64().unwrap() < 1e-6, "{of}");
    }
    steps
}

#[test]
fn the_equation_is_solved_over_a_tree_and_the_library_and_by_threads_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let tree = "[[tree]]\noperations = \"allreduce\"\nshape = \"binomial\"\n";
    fs::write(folder.path().join("tree.toml"), tree).unwrap();
    let line =
        "sor --trees tree.toml --library --size 20 --tolerance 1e-9 --rounds 3 --format json";
    let by_processes = mpirun(3, &format!("{line} -o pictures"), folder.path());
    let steps = check(&by_processes);
    assert!((20..400).contains(&steps), "{steps}");
    let names = by_processes["configurations"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|of| &of["name"]).collect();
    assert_eq!(names, ["library", "tree.toml"]);
    for of in by_processes["configurations"].as_array().unwrap() {
        let counted = by_processes["rounds"].as_u64().unwrap();
        let calls = &of["call_ns"]["n"];
        assert!(counted == 0 || *calls == counted * 3 * steps, "{of}");
    }
    assert!(folder.path().join("pictures/rounds.svg").exists());

    let by_threads = one_process(&format!("{line} --threads 4"), folder.path());
    assert_eq!(check(&by_threads), steps);
    let error = |document: &Value| document["configurations"][0]["largest_error"].clone();
    assert_eq!(error(&by_threads), error(&by_processes));
}

#[test]
fn more_leaves_than_rows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = finished("sor --threads 3 --size 2", folder.path());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--size 2: there are 3 leaves"), "{said}");
}

//! `collbench-bench overlap` under a launcher: operations with all kinds of arguments on a tiny grid,
//! and their results shown again without a launcher.

use std::path::Path;

use serde_json::Value;

use crate::launch::{alone, document, finished, mpirun};

#[test]
fn operations_are_measured_and_results_are_shown_again_without_a_launcher() {
    let folder = tempfile::tempdir().unwrap();
    let line = "overlap --operation \
                ibcast,igatherv,ialltoallw,ireduce_scatter,iscan,ineighbor_alltoallw \
                --communication 1ms --computation 1ms --runs 1 --memory 64 --output out --format json";
    let document = mpirun(2, line, folder.path());
    assert_eq!(document["schema"], "collbench.bench.overlap/1");
    assert_eq!(document["has_one_clock"], true);
    assert_eq!(document["configuration"], "basic");
    let grids = document["grids"].as_array().unwrap();
    assert_eq!(grids.len(), 6);
    let mut n_measured = 0;
    for grid in grids {
        let communications = grid["communications"].as_array().unwrap();
        assert_eq!(communications.len(), 1, "{}", grid["operation"]);
        let cells = grid["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 1);
        for cell in cells {
            // On a busy machine a size may not be found, or no run may begin in time.
            assert_eq!(
                cell["measured"].is_null(),
                !cell["empty"].is_null(),
                "{cell}"
            );
            let measured = &cell["measured"];
            if measured.is_null() {
                continue;
            }
            n_measured += 1;
            let number = |name: &str| measured[name].as_f64().unwrap();
            let alone = [
                number("communication_alone_ns"),
                number("computation_alone_ns"),
            ];
            let ideal = alone[0].max(alone[1]);
            let expected = (number("total_ns") - ideal) / alone[0].min(alone[1]);
            assert!((number("overhead") - expected).abs() < 1e-6, "{measured}");
            assert!(number("computation_slowdown") > 0.0 && number("communication") > 0.0);
            assert_eq!(measured["processes"].as_array().unwrap().len(), 2);
            // Of one run nobody knows how far it may be off.
            assert!(measured["overhead_error"].is_null());
        }
    }
    let out = folder.path().join("out");
    let lines = std::fs::read_to_string(out.join("overlap.jsonl")).unwrap();
    let cells = lines
        .lines()
        .filter(|line| line.starts_with(r#"{"cell""#))
        .count();
    assert!(cells >= n_measured, "{cells} {n_measured}");
    for file in [
        "overlap.html",
        "impact.svg",
        "overhead-ibcast.svg",
        "concurrency-iscan.svg",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let shown = finished("overlap --compare out out", folder.path());
    assert!(shown.status.success(), "{shown:?}");
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert_eq!(shown.matches("MPI_Iscan").count(), 2, "{shown}");
}

/// The document of a simulated library, which needs no launcher.
fn simulated(progress: &str, configuration: &str, folder: &Path) -> Value {
    let line = format!(
        "overlap --simulate {progress} --operation ibcast --communication 1ms..16ms \
         --computation 1ms..16ms --thorough --configuration {configuration} --format json \
         --output {configuration}"
    );
    document(&mut alone(&line, folder))
}

#[test]
fn configurations_of_a_simulated_library_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    for (progress, configuration, diagnosis) in [
        ("in-wait", "basic", "no_progression"),
        ("slowing=2", "shared", "computation_slowed"),
        ("background", "dedicated", "good_overlap"),
    ] {
        let document = simulated(progress, configuration, folder.path());
        let cells = document["grids"][0]["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 25);
        for measured in cells.iter().map(|cell| &cell["measured"]) {
            let number = |name: &str| measured[name].as_f64().unwrap();
            let shorter = number("communication_alone_ns").min(number("computation_alone_ns"));
            let runs = measured["runs_ns"].as_array().unwrap().iter();
            let farthest = runs.map(|run| (run.as_f64().unwrap() - number("total_ns")).abs());
            let expected = farthest.fold(0.0, f64::max) / shorter;
            assert!(
                (number("overhead_error") - expected).abs() < 1e-9,
                "{measured}"
            );
        }
        let has = |cell: &&Value| cell["measured"]["diagnosis"] == diagnosis;
        let n = cells.iter().filter(has).count();
        // A communication that is long enough hides a slowed computation.
        assert!(n >= 15, "{configuration}: {n} cells are {diagnosis}");
    }
    let line = "overlap --compare basic shared dedicated --output all";
    let compared = finished(line, folder.path());
    assert!(compared.status.success(), "{compared:?}");
    let picture = std::fs::read_to_string(folder.path().join("all/overhead-ibcast-1.svg"));
    assert!(picture.unwrap().contains("dedicated: overhead ratio"));
}

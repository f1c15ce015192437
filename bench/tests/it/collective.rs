//! `collbench-bench collective` under a launcher.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::launch::{document, finished, launch, launcher, mpirun};

/// Runs it on three ranks, and reads its document.
fn measured(line: &str, folder: &Path) -> Value {
    mpirun(3, &format!("collective --format json {line}"), folder)
}

fn points(document: &Value) -> &[Value] {
    document["points"].as_array().unwrap()
}

/// The names of all operations.
fn operations(folder: &Path) -> Vec<String> {
    let output = finished("collective --list", folder);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_operation_is_measured_and_an_interrupted_run_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = operations(folder);
    assert_eq!(names.len(), 3 * 17 + 2 + 9 + 7 + 6);
    // Persistent collectives came with MPI 4; Open MPI 4 has them under another prefix.
    // No start is in time to 0 us, so that a window is given up.
    let text = format!(
        "repetitions = [2, 4]\nseconds = 0.5\ntolerance_us = 0.0\nstart = \"barrier\"\n\
         [[measure]]\noperations = {names:?}\nlengths = [9]\nroots = [2]\n\
         [[measure]]\noperations = [\"master-MPI_Waitsome\", \"master-MPI_Isend\"]\n\
         lengths = [100000]\npieces = [1, 40]\n\
         [[measure]]\noperations = [\"MPI_Bcast\"]\nlengths = [9, 10]\nroots = [2]\n\
         [[measure]]\noperations = [\"MPI_Bcast\"]\nlengths = [0, 8]\nprocesses = [2]\n\
         starts = [\"window\"]\narrivals = \"late:1\"\ndelay_us = 30.0\n"
    );
    fs::write(folder.join("plan.toml"), text).unwrap();
    let line = "--plan plan.toml --output results --samples";
    let first = measured(line, folder);
    assert_eq!(first["schema"], "collbench.bench.collective/1");
    assert_eq!(first["run"]["ranks"], 3);
    let found: BTreeSet<&str> = points(&first)
        .iter()
        .map(|point| point["operation"].as_str().unwrap())
        .collect();
    assert_eq!(found.len(), names.len());
    // What two parts of the plan name is measured once.
    let of_9 = |point: &&Value| point["operation"] == "MPI_Bcast" && point["bytes"] == 9;
    assert_eq!(points(&first).iter().filter(of_9).count(), 1);
    for point in points(&first) {
        let number = |field: &str| point[field].as_u64().unwrap();
        assert!(number("made") >= 2, "{point}");
        let samples = point["samples"].as_array().unwrap();
        assert_eq!(samples.len() as u64, number("made"));
        if point["arrivals"].is_string() {
            assert_eq!(point["delays_ns"], serde_json::json!([0, 30_000]));
            assert_eq!(point["processes"], 2);
            continue;
        }
        // After a barrier no start is invalid.
        assert_eq!(number("missed") + number("delayed"), 0);
        assert!(point["time_ns"].is_number(), "{point}");
        let ranks = if point["pattern"] == "ping-pong" {
            2
        } else {
            3
        };
        assert_eq!(samples[0]["enter_ns"].as_array().unwrap().len(), ranks);
    }
    let results = folder.join("results");
    let csv = fs::read_to_string(results.join("collective.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + points(&first).len());
    assert!(
        fs::read_to_string(results.join("samples.csv"))
            .unwrap()
            .lines()
            .count()
            > 100
    );

    // As if a run had crashed in MPI_Scan, and another been killed within the line of the last point.
    let journal = results.join("points.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let is_scan = |line: &str| line.contains("\"point\"") && line.contains("\"MPI_Scan\"");
    let mut kept: Vec<&str> = text.lines().filter(|line| !is_scan(line)).collect();
    // What is noted behind the last point, as on a busy machine, goes as well.
    let last = kept.iter().rposition(|line| line.contains("\"point\""));
    kept.truncate(last.expect("a point") + 1);
    let cut = kept.join("\n");
    fs::write(&journal, &cut[..cut.len() - 40]).unwrap();
    let second = measured(line, folder);
    assert_eq!(points(&second).len(), points(&first).len());
    let again: Vec<&str> = points(&second)
        .iter()
        .zip(points(&first))
        .filter(|(one, other)| one["samples"] != other["samples"])
        .map(|(one, _)| one["operation"].as_str().unwrap())
        .collect();
    assert!(again.len() <= 2 && again.contains(&"MPI_Scan"), "{again:?}");
    let text = fs::read_to_string(&journal).unwrap();
    let new = text.lines().skip(kept.len());
    let begun: Vec<&str> = new.filter(|line| line.starts_with("{\"begin\"")).collect();
    // A start that is given up begins the point again.
    let begun = begun.iter().filter(|line| !line.contains("arrivals"));
    let begun: Vec<_> = begun.collect();
    assert!((1..=2).contains(&begun.len()), "{begun:?}");
    assert!(
        begun.iter().any(|line| line.contains("MPI_Scan")),
        "{begun:?}"
    );
    assert_eq!(first["run"]["points_before"], 0);
    assert_eq!(second["run"]["points_before"], points(&first).len() - 2);

    // When all is measured, the same command has nothing to add: neither a date nor a clock error.
    let document = fs::read(results.join("collective.json")).unwrap();
    let third = measured(line, folder);
    assert_eq!(third["run"], second["run"]);
    assert!(document == fs::read(results.join("collective.json")).unwrap());
    let text = launch(3, &format!("collective {line}"), folder);
    let said = String::from_utf8_lossy(&text.stderr);
    assert!(said.contains("nothing is left to measure"), "{said}");
    let printed = String::from_utf8_lossy(&text.stdout);
    assert!(printed.contains("points measured before"), "{printed}");
}

#[test]
fn a_plan_that_cannot_be_measured_is_refused_with_its_line_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[measure]]\noperations = [\"MPI_Bcast\"]\nprocesses = [64]\n";
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    let output = launch(2, "collective --plan plan.toml", folder.path());
    assert!(!output.status.success());
    assert_eq!(output.stdout, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("plan.toml:3: 64 processes: this job has 2"),
        "{said}"
    );
}

#[test]
fn all_start_schemes_are_compared_and_their_runs_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let line = "collective --format json --compare-schemes --operation MPI_Allreduce --bytes 64 \
                --repetitions 20 --seconds 0.5 --keep runs";
    let run = || {
        let mut command = launcher(3, line, folder.path());
        document(command.args(["--network", "a made up network"]))
    };
    let first = run();
    assert_eq!(first["run"]["placement"].as_array().unwrap().len(), 3);
    assert_eq!(first["run"]["network"][0], "a made up network");
    let starts: Vec<&str> = points(&first)
        .iter()
        .map(|point| point["start"].as_str().unwrap())
        .collect();
    assert_eq!(starts.len(), 9);
    for point in points(&first) {
        let number = |field: &str| point[field].as_u64().unwrap();
        let is_loop = point["start"].as_str().unwrap().starts_with("loop");
        assert_eq!(point["loop_length"].is_null(), !is_loop);
        let has_instants = point["window_ns"].is_number();
        assert!(has_instants || number("missed") + number("delayed") == 0);
        let valid = number("made") - number("missed") - number("delayed");
        // On a busy machine no start may have been in time; then nothing is said of the time.
        assert_eq!(point["time_ns"].is_number(), valid > 0, "{point}");
        assert_eq!(point["skew_ns"].is_object(), valid > 0, "{point}");
    }
    run();
    let listed = mpirun(1, "results runs --format json", folder.path());
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!((&run["state"], &run["ranks"]), (&"ended".into(), &3.into()));
    }
    let files = [0, 1].map(|idx| runs[idx]["path"].as_str().unwrap().to_owned());
    let together = |action: &str| {
        let [one, other] = &files;
        let line = format!("collective {action} {one} {other} --format json");
        mpirun(1, &line, folder.path())
    };
    let merged = together("--merge");
    assert_eq!(merged["run"]["runs"], 2);
    let compared = together("--compare");
    assert_eq!(points(&compared).len(), 9);
    assert_eq!(compared["files"][1], files[1].as_str());
    assert_eq!(points(&merged).len(), 9);
}

#[test]
fn a_start_that_no_repetition_holds_is_given_up_and_another_gives_times() {
    let folder = tempfile::tempdir().unwrap();
    // Clocks are read after the instant of a start, so that no start is valid.
    let text = "tolerance_us = 0.0\nrepetitions = [4, 200]\nseconds = 0.5\n\
                [[measure]]\noperations = [\"MPI_Allreduce\"]\nfrom = 8\nto = 64\n\
                starts = [\"round-time\"]\n\
                [[measure]]\noperations = [\"MPI_Bcast\"]\nlengths = [8]\n\
                arrivals = \"late:1\"\ndelay_us = 50000.0\n\
                [[measure]]\noperations = [\"MPI_Scan\"]\nlengths = [8]\n\
                starts = [\"window\", \"barrier\"]\n";
    fs::write(folder.path().join("plan.toml"), text).unwrap();
    let line = "--plan plan.toml --output results";
    let document = measured(line, folder.path());
    for point in points(&document) {
        let (start, asked) = (&point["start"], &point["start_asked"]);
        if point["operation"] == "MPI_Scan" {
            // Starts that are compared stay what they are.
            assert!(asked.is_null(), "{point}");
            assert_eq!(point["time_ns"].is_number(), start == "barrier", "{point}");
            assert!(
                start == "barrier" || point["made"].as_u64() <= Some(100),
                "{point}"
            );
            continue;
        }
        let of_bcast = point["operation"] == "MPI_Bcast";
        assert_eq!(asked, if of_bcast { "window" } else { "round-time" });
        assert_eq!(start, "barrier");
        assert!(point["time_ns"].is_number(), "{point}");
        assert!(point["skew_ns"]["median"].is_number(), "{point}");
        if of_bcast {
            // Processes arrive apart after a barrier, too.
            assert_eq!(point["delays_ns"], serde_json::json!([0, 50_000_000, 0]));
            let longest = point["reductions"]["span"]["max"].as_f64().unwrap();
            assert!(longest >= 5e7, "{point}");
        }
    }
    // What was given up is not tried again.
    let output = launch(3, &format!("collective {line}"), folder.path());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nothing is left to measure"), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "Start window was given up at 1 point",
        "Start round-time was given up at",
    ] {
        assert_eq!(printed.matches(expected).count(), 1, "{printed}");
    }
}

#[test]
fn four_processes_have_a_time_at_every_length_on_any_number_of_cores() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |line: &str| mpirun(4, line, folder.path());
    let one_start = |points: &[Value]| {
        let start = |point: &Value| (point["start"].clone(), point["start_asked"].clone());
        assert!(points.iter().all(|point| start(point) == start(&points[0])));
        let (start, asked) = start(&points[0]);
        assert_eq!(start == "window", asked.is_null());
    };
    let collective = measured(
        "collective --operation MPI_Allreduce --bytes 8:65536 --seconds 0.1 --format json",
    );
    assert!(points(&collective).len() >= 14);
    assert!(
        points(&collective)
            .iter()
            .all(|point| point["time_ns"].is_number())
    );
    one_start(points(&collective));
    let nonblocking = measured(
        "nonblocking --operation MPI_Iallreduce --bytes 8,4096 --interval 0,1024 --seconds 0.1 \
         --format json",
    );
    assert_eq!(points(&nonblocking).len(), 4);
    assert!(
        points(&nonblocking)
            .iter()
            .all(|point| point["overlap"].is_object())
    );
    one_start(points(&nonblocking));
}

#[test]
fn what_invalidating_the_caches_takes_is_no_part_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let line = "collective --cold-cache --operation MPI_Barrier,MPI_Wtime --start barrier,loop-imb \
                --repetitions 10 --seconds 0.2 --format json";
    let document = mpirun(2, line, folder.path());
    assert_eq!(document["run"]["has_cold_caches"], true);
    let of = |operation: &str, start: &str| {
        let mut points = points(&document).iter();
        let is_wanted = |point: &&Value| point["operation"] == operation && point["start"] == start;
        points.find(is_wanted).unwrap().clone()
    };
    // A loop has the invalidations between its operations, and more is subtracted for them than for
    // a measurement that has them before its begin.
    let subtracted = |point: &Value| point["subtracted_ns"].as_f64().unwrap();
    let (alone, in_loop) = (of("MPI_Barrier", "barrier"), of("MPI_Barrier", "loop-imb"));
    assert!(
        subtracted(&in_loop) > 100.0 * subtracted(&alone),
        "{alone} {in_loop}"
    );
    // Calls without a partner have no messages.
    assert!(subtracted(&of("MPI_Wtime", "loop-mpbench")) < subtracted(&in_loop));
}

#[test]
fn algorithms_are_measured_in_turns_beside_the_choice_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let line = "collective --algorithms --operation MPI_Bcast,MPI_Ibcast --bytes 64,4096 \
                --start barrier --repetitions 20 --seconds 0.5 --seed 7 --format json";
    let output = launch(2, line, folder.path());
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("has none to choose from"), "{said}");
        eprintln!("SKIPPED: needs Open MPI");
        return;
    }
    let document: Value = collbench_schemas::read(&output.stdout);
    assert_eq!(document["run"]["seed"], 7);
    let selection = document["selection"].as_array().unwrap();
    assert_eq!(selection.len(), 2, "nonblocking ones have no algorithms");
    for selected in selection {
        let candidates = selected["candidates"].as_array().unwrap();
        let names: BTreeSet<Option<&str>> = candidates
            .iter()
            .map(|one| one["algorithm"].as_str())
            .collect();
        assert_eq!(names.len(), candidates.len());
        assert!(
            names.contains(&None) && names.contains(&Some("binomial")),
            "{names:?}"
        );
        assert!(candidates.iter().all(|one| one["time_ns"].is_number()));
    }
    assert_eq!(
        points(&document).len(),
        2 * selection[0]["candidates"].as_array().unwrap().len() + 2
    );
}

#[test]
fn trees_of_a_file_are_measured_in_turns_beside_the_choice_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let all = "[\"allreduce\", \"reduce\", \"bcast\", \"barrier\", \"gather\", \"scatter\", \"allgather\"]";
    let text = format!(
        "[[tree]]\noperations = {all}\nbytes = \"0-4096\"\nshape = \"linear\"\n\
         [[tree]]\noperations = \"bcast\"\nshape = \"binomial\"\n"
    );
    fs::write(folder.path().join("t.toml"), text).unwrap();
    let names = "MPI_Allreduce,MPI_Reduce,MPI_Bcast,MPI_Barrier,MPI_Gather,MPI_Scatter,MPI_Allgather,MPI_Scan";
    for element in ["byte", "int", "double"] {
        let line = format!(
            "--trees t.toml --operation {names} --bytes 0,24,20000 --root 1 --processes 2,3 \
             --start barrier --repetitions 10 --seconds 0.05 --element {element}"
        );
        let document = measured(&line, folder.path());
        let is_over_trees = |point: &&Value| point["algorithm"] == "trees of t.toml";
        let mut found: Vec<(&str, u64)> = points(&document)
            .iter()
            .filter(is_over_trees)
            .filter(|point| point["processes"] == 3)
            .map(|point| {
                assert!(point["time_ns"].is_number(), "{point}");
                let bytes = point["bytes"].as_u64().unwrap_or(0);
                (point["operation"].as_str().unwrap(), bytes)
            })
            .collect();
        found.sort_unstable();
        let mut expected = vec![("MPI_Barrier", 0), ("MPI_Bcast", 20_000)];
        for name in names.split(',') {
            if name != "MPI_Barrier" && name != "MPI_Scan" {
                expected.extend([(name, 0), (name, 24)]);
            }
        }
        expected.sort_unstable();
        assert_eq!(
            found, expected,
            "no tree is for MPI_Scan, nor for other long messages"
        );
        let selection = document["selection"].as_array().unwrap();
        assert_eq!(selection.len(), 2 * expected.len());
        for selected in selection {
            assert_eq!(selected["candidates"].as_array().unwrap().len(), 2);
        }
    }
    let output = launch(2, "collective --trees none.toml", folder.path());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("none.toml"),
        "{said}"
    );
}

#[test]
fn overheads_of_nonblocking_operations_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let line = "nonblocking --format json --operation MPI_Ibcast,MPI_Ibarrier --bytes 4096 \
                --interval 0,2048 --start barrier --repetitions 30 --output results";
    let document = mpirun(2, line, folder.path());
    assert_eq!(document["schema"], "collbench.bench.nonblocking/1");
    let tests: Vec<u64> = points(&document)
        .iter()
        .map(|point| point["tests"].as_u64().unwrap())
        .collect();
    // A barrier has no bytes, so that the interval asks for one test.
    assert_eq!(tests, [0, 3, 0, 1]);
    for point in points(&document) {
        let median = |figure: &str| point["overlap"][figure]["median"].as_f64().unwrap();
        assert_eq!(point["invalid"], 0);
        assert!(point["iterations"].as_u64().unwrap() > 0);
        assert_eq!(median("tests_ns") > 0.0, point["tests"] != 0, "{point}");
        assert!(median("initiation_ns") > 0.0);
        let computation = point["computation_ns"].as_f64().unwrap();
        let beyond = median("total_ns") - computation;
        assert!(
            (median("work_overhead_ns") - beyond).abs() <= 1.0,
            "{point}"
        );
        assert!(median("time_overhead_ns") <= median("total_ns"), "{point}");
    }
    let results = folder.path().join("results");
    assert!(results.join("overhead-MPI_Ibcast-2.svg").exists());
    let csv = fs::read_to_string(results.join("nonblocking.csv")).unwrap();
    assert_eq!(csv.lines().count(), 5);
    let refused = launch(1, "nonblocking --operation MPI_Bcast", folder.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("MPI_Bcast is not nonblocking"), "{said}");
}

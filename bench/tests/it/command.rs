//! The command line of collbench-bench, as far as it needs neither MPI nor the recorder.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn bench() -> Command {
    Command::new(env!("CARGO_BIN_EXE_collbench-bench"))
}

/// It fails, prints nothing, and says this.
#[track_caller]
fn fails(arguments: &[&str], said: &str) {
    let failed = bench().args(arguments).assert().code(1);
    failed.stdout("").stderr(contains(said));
}

#[test]
fn help_version_completions_and_man_are_there() {
    for arguments in [
        &["--help"][..],
        &["overhead", "--help"],
        &["clock", "--help"],
        &["gsum", "--help"],
        &["sor", "--help"],
        &["logp", "--help"],
        &["overlap", "--help"],
        &["collective", "--help"],
        &["results", "--help"],
        &["--version"],
        &["--completions", "bash"],
        &["--man"],
    ] {
        bench()
            .args(arguments)
            .assert()
            .success()
            .stdout(contains("collbench"));
    }
    bench()
        .arg("--man")
        .assert()
        .stdout(contains(".TH collbench-bench 1").and(contains(".TH collbench-bench-overhead 1")));
}

#[test]
fn wrong_usage_ends_with_status_2() {
    for arguments in [
        &[][..],
        &["nonsense"],
        &["overhead", "--batches", "0"],
        &["overhead", "--calls", "many"],
        &["overhead", "--operation", "gather"],
        &["overhead", "--threads", "3"],
        &["overhead", "--ranks", "3"],
        &["overhead", "--ranks", "2", "--threads", "2"],
        &["overhead", "--ranks", "2", "--calls", "1000"],
        &["overhead", "--threads", "2", "--operation", "ibarrier"],
        &["clock", "--exchanges", "9"],
        &["clock", "--interval", "0"],
        &["clock", "--clock", "sundial"],
        &["clock", "--simulate", "1"],
        &["clock", "--simulate", "8", "--duration", "3"],
        &["gsum", "--threads", "0"],
        &["gsum", "--operation", "alltoall"],
        &["gsum", "--bytes", "3"],
        &["gsum", "--wait", "long"],
        &["sor", "--size", "0"],
        &["sor", "--tolerance", "1"],
        &["logp", "--largest", "1e9"],
        &["logp", "--smallest", "0"],
        &["logp", "--batches", "3"],
        &["logp", "--trace", "trace", "--links", "file"],
        &["logp", "--simulate", "o=3"],
        &["logp", "--simulate", "g=3", "--clock", "raw"],
        &["overlap", "--operation", "bcast"],
        &["overlap", "--communication", "1s..1ms"],
        &["overlap", "--computation", "5"],
        &["overlap", "--factor", "1"],
        &["overlap", "--runs", "0"],
        &["results"],
        &["results", "runs", "--compare", "--merge"],
        &["collective", "--keep", "runs", "--output", "run"],
        &["overlap", "--compare", "a", "--runs", "3"],
        &["--man", "overhead"],
    ] {
        bench().args(arguments).assert().code(2);
    }
}

#[test]
fn several_ranks_and_a_recorded_measurement_are_refused() {
    bench()
        .arg("overhead")
        .env("OMPI_COMM_WORLD_SIZE", "2")
        .assert()
        .code(1)
        .stderr(contains("one process"));
    bench()
        .arg("overhead")
        .env("COLLBENCH_OUTPUT", "/nowhere")
        .assert()
        .code(1)
        .stderr(contains("do not record it"));
}

#[test]
fn two_ranks_without_two_cores_are_refused() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.unwrap().trim().split([',', '-']).next().unwrap();
    Command::new("taskset")
        .args(["-c", first, env!("CARGO_BIN_EXE_collbench-bench")])
        .args(["overhead", "--ranks", "2"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("needs 2 cores"));
}

#[test]
fn a_launcher_that_starts_no_ranks_is_named_with_its_message() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("SKIPPED: needs two cores");
        return;
    }
    for (launcher, said) in [
        ("no-such-launcher -n 2", "no-such-launcher"),
        ("ls --no-such-option", "no-such-option"),
    ] {
        fails(&["overhead", "--ranks", "2", "--launcher", launcher], said);
    }
}

#[test]
fn a_trace_that_would_not_fit_is_refused_before_anything_runs() {
    fails(&["overhead", "--calls", "100000000000"], "TMPDIR");
}

#[test]
fn clocks_of_one_process_cannot_be_compared() {
    fails(&["clock", "--duration", "0.1"], "mpirun -n 2");
}

#[test]
fn overlap_of_one_process_cannot_be_measured() {
    fails(&["overlap", "--communication", "1ms"], "mpirun -n 2");
}

#[test]
fn a_file_that_is_no_result_of_overlap_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    std::fs::write(&path, "{}").unwrap();
    for path in [path, folder.path().join("missing.json")] {
        let path = path.to_str().unwrap();
        fails(&["overlap", "--compare", path], path);
    }
}

#[test]
fn rounds_of_many_hosts_are_simulated_without_a_launcher() {
    let folder = tempfile::tempdir().unwrap();
    let simulate = |format: &str| {
        let output = folder.path().join("pictures");
        let mut bench = bench();
        bench.args(["clock", "--simulate", "64", "--format", format, "--output"]);
        bench.arg(output).assert().success()
    };
    simulate("text").stdout(contains("64       6"));
    let json = simulate("json").get_output().stdout.clone();
    let document: serde_json::Value = collbench_schemas::read(json);
    assert_eq!(document["schema"], "collbench.bench.clock.simulation/1");
    let groups = document["groups"].as_array().unwrap();
    let of_64 = groups.iter().filter(|group| group["hosts"] == 64);
    for group in of_64 {
        assert_eq!(group["rounds"], 6);
        assert!(group["ratio"].as_f64().unwrap() >= 6.0, "{group}");
    }
    let picture = folder.path().join("pictures/synchronization-simulated.svg");
    assert!(
        std::fs::read_to_string(picture)
            .unwrap()
            .contains("64 hosts")
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_named_before_anything_is_measured() {
    let output = "/proc/nowhere";
    fails(&["clock", "--simulate", "2", "--output", output], output);
}

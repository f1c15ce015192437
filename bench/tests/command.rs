//! The command line of collbench-bench, as far as it needs neither MPI nor the recorder.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn bench() -> Command {
    Command::new(env!("CARGO_BIN_EXE_collbench-bench"))
}

#[test]
fn help_version_completions_and_man_are_there() {
    for arguments in [
        &["--help"][..],
        &["overhead", "--help"],
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
        &["overhead", "--threads", "2", "--operation", "ibarrier"],
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
fn a_trace_that_would_not_fit_is_refused_before_anything_runs() {
    bench()
        .args(["overhead", "--calls", "100000000000"])
        .assert()
        .code(1)
        .stderr(contains("TMPDIR"));
}

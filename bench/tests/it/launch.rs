//! Starting the command, with a launcher and without. Its arguments are given as a line of words.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// What makes processes of one host yield their cores.
const YIELD: (&str, &str) = ("OMPI_MCA_mpi_yield_when_idle", "1");

/// A command line that starts so many processes; this package is only built with MPI, so there is a
/// launcher.
pub(crate) fn launcher(ranks: u32, line: &str, folder: &Path) -> Command {
    let mut mpirun = Command::new("mpirun");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        mpirun.arg("--allow-run-as-root");
    }
    mpirun
        .args(["--oversubscribe", "-n", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_collbench-bench"))
        .args(line.split_whitespace())
        .env(YIELD.0, YIELD.1)
        .current_dir(folder);
    mpirun
}

/// So many processes, to their end.
pub(crate) fn launch(ranks: u32, line: &str, folder: &Path) -> Output {
    launcher(ranks, line, folder).output().expect("mpirun")
}

/// The document that so many processes print.
#[track_caller]
pub(crate) fn mpirun(ranks: u32, line: &str, folder: &Path) -> Value {
    document(&mut launcher(ranks, line, folder))
}

/// The document that one process without a launcher prints.
#[track_caller]
pub(crate) fn one_process(line: &str, folder: &Path) -> Value {
    document(alone(line, folder).env(YIELD.0, YIELD.1))
}

/// One process without a launcher, to its end.
pub(crate) fn finished(line: &str, folder: &Path) -> Output {
    alone(line, folder).output().expect("the command")
}

/// A command line of one process without a launcher.
pub(crate) fn alone(line: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collbench-bench"));
    command.args(line.split_whitespace()).current_dir(folder);
    command
}

/// The document that a command prints.
#[track_caller]
pub(crate) fn document(command: &mut Command) -> Value {
    let output = command.output().expect("the command");
    assert!(output.status.success(), "{output:?}");
    collbench_schemas::read(output.stdout)
}

//! Nothing is lost and nobody is harmed: programs that end badly, places that cannot be written or
//! are full, limits, hostile neighbours, traces that are none.
//!
//! Most of it is a matrix ([`matrix::Fault`]): each row is a program with a fault, run without and
//! with recording; results, output and exit status must be the same, and the trace must have all
//! that happened before. `make test` prints the rows.

mod commands;
mod deaths;
mod interruptions;
mod limits;
mod matrix;
mod places;
mod planted;
mod safety;
mod traces;

use std::path::PathBuf;

use collbench_tests::{Analysis, Finished, Job, Workspace, command, program, rank_files, run_in};
use serde_json::Value;

const MPI: &[&str] = &["mpirun", "mpicc"];

/// A good trace of `ranks` ranks of 1001 calls each, as a start for mischief.
fn good_trace(workspace: &Workspace, ranks: usize) -> PathBuf {
    let trace = Job::new(ranks, program("many.c"), &["1000"]).recorded(workspace.path());
    assert_eq!(rank_files(&trace).len(), ranks);
    trace
}

#[track_caller]
fn damage_of(analysis: &Analysis, rank: usize) -> &Value {
    let damage = analysis.array("/trace/damage");
    damage
        .iter()
        .find(|damage| damage["rank"] == rank)
        .unwrap_or_else(|| panic!("no damage of rank {rank} in {damage:#?}"))
}

fn record_command(workspace: &Workspace, options: &[&str], words: &[&str]) -> Finished {
    let recorder = command("collbench-record");
    let line = [&[recorder.to_str().unwrap()], options, words].concat();
    run_in(workspace.path(), &[], &line)
}

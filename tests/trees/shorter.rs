//! Counts that differ between the processes of an operation, which is an error of the program.

use std::fs;

use collbench_tests::{Cluster, Job, Workspace, have, program, skip_unless};

use super::unrecorded;

/// Another shape for each number of processes.
const SHAPES: &str = "\
[[tree]]
operations = ['allreduce', 'allgather']
size = '2-3'
shape = 'exchange'
[[tree]]
operations = ['reduce', 'bcast', 'gather', 'scatter']
size = '2-3'
shape = 'linear'
[[tree]]
operations = ['allreduce', 'reduce', 'bcast', 'gather', 'scatter', 'allgather']
size = 4
shape = 'binomial'
[[tree]]
operations = ['allreduce', 'reduce', 'bcast', 'gather', 'scatter', 'allgather']
size = 5
shape = 'in-order binary'
[[tree]]
operations = ['allreduce', 'reduce', 'bcast', 'gather', 'scatter', 'allgather']
shape = 'chain 2'
";
/// Levels, which are joined in two ways.
const LEVELS: &str = "\
[[tree]]
operations = ['allreduce', 'allgather']
shape = { ranks = 'linear', hosts = 'exchange' }
[[tree]]
operations = ['reduce', 'bcast', 'gather', 'scatter']
shape = { ranks = '2-ary', hosts = 'binomial' }
";

/// What the processes print if nothing was wrong.
fn all_done(n_ranks: usize) -> Vec<String> {
    let ranks = 0..n_ranks;
    ranks.map(|rank| format!("{rank} done, 0 wrong")).collect()
}

#[test]
fn a_count_that_is_too_short_is_an_error_and_overruns_nothing() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let job = Job::new(6, program("shorter.c"), &["1", "60"]);
    let finished = unrecorded(&job, SHAPES);
    assert_eq!(finished.expect(0).sorted_lines(), all_done(6));
}

#[test]
fn nor_does_it_overrun_anything_over_several_hosts() {
    let Some(cluster) = Cluster::up("shorter", &["--hosts", "2", "--slots", "2"]) else {
        return;
    };
    let folder = Workspace::new();
    let file = folder.join("trees.toml");
    fs::write(&file, LEVELS).unwrap();
    let finished = cluster.run_over_trees(&folder, 4, (&file, &[]), "shorter.c", &["2", "40"]);
    assert_eq!(finished.expect(0).sorted_lines(), all_done(4));
}

//! Random programs of mixed collectives, with other operations under way around them.

use collbench_tests::{Finished, Job, Workspace, have, long_or, program, skip_unless};

use super::{recorded_over, unrecorded};

/// Trees for all operations; by payload and size some calls go to the library.
const TREES: [&str; 4] = [
    "[[tree]]\n\
     operations = ['allreduce', 'reduce', 'bcast', 'barrier', 'gather', 'scatter', 'allgather']\n\
     shape = 'binomial'\n",
    "[[tree]]\noperations = ['allreduce', 'barrier', 'allgather']\nshape = 'exchange'\n\
     [[tree]]\noperations = ['bcast', 'reduce', 'gather', 'scatter']\nshape = 'linear'\n",
    "wait = 'sleep'\n\
     [[tree]]\noperations = ['allreduce', 'barrier', 'allgather']\nbytes = '0-1KiB'\n\
     shape = 'exchange'\n\
     [[tree]]\noperations = ['allreduce', 'reduce', 'bcast', 'gather', 'scatter']\n\
     bytes = '0-8KiB'\nsize = '3-'\nshape = '3-ary'\n",
    "[[tree]]\n\
     operations = ['allreduce', 'reduce', 'bcast', 'barrier', 'gather', 'scatter', 'allgather']\n\
     root = 1\nshape = 'chain 2'\n",
];

#[test]
fn random_programs_with_others_under_way_give_what_they_give_with_the_library() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    for seed in 1..=long_or(200, 2) {
        as_with_the_library(seed, |folder, job| {
            let trees = TREES[seed % TREES.len()];
            if seed % 4 == 1 {
                recorded_over(folder, job, trees).0
            } else {
                unrecorded(job, trees)
            }
        });
    }
}

/// Runs the random program of a seed with the library and over trees, by `run` in a folder: every rank prints the same.
#[track_caller]
pub(super) fn as_with_the_library(seed: usize, run: impl FnOnce(&Workspace, &Job<'_>) -> Finished) {
    let n_threads = (seed % 2 + 1).to_string();
    let seed_given = seed.to_string();
    let job = Job::new(
        2 + (seed + 1) % 4,
        program("woven.c"),
        &[&seed_given, "150", &n_threads],
    );
    let folder = Workspace::new();
    let plain = job.plain(folder.path()).expect(0);
    assert_eq!(
        run(&folder, &job).expect(0).sorted_lines(),
        plain.sorted_lines(),
        "seed {seed}"
    );
}

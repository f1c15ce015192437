//! Random programs of mixed collectives, with other operations under way around them.

use std::fs;

use collbench_tests::{Job, Workspace, have, long_or, program};

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
    if !have(&["mpirun", "mpicc"]) {
        return;
    }
    for seed in 1..=long_or(200, 2) {
        let n_threads = (seed % 2 + 1).to_string();
        let seed_given = seed.to_string();
        let job = Job::new(
            2 + (seed + 1) % 4,
            program("woven.c"),
            &[&seed_given, "150", &n_threads],
        );
        let folder = Workspace::new();
        let plain = job.plain(folder.path()).expect(0);
        let file = folder.join("trees.toml");
        fs::write(&file, TREES[seed % TREES.len()]).unwrap();
        let options = ["--trees", file.to_str().unwrap(), "--no-trace"];
        let is_recorded = seed % 4 == 1;
        let job = Job {
            options: &options[..if is_recorded { 2 } else { 3 }],
            ..job.clone()
        };
        let (finished, _) = job.record(folder.path());
        assert_eq!(
            finished.expect(0).sorted_lines(),
            plain.sorted_lines(),
            "seed {seed}"
        );
    }
}

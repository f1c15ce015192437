//! Operations over trees of our own on the processes of an MPI library.

use collbench_tests::{Finished, Job, Workspace, have, skip_unless};

/// Runs `trees-under-mpi` with some words for the launcher, to its end.
#[track_caller]
fn run(ranks: usize, options: &[&str], arguments: &[&str]) -> Finished {
    let folder = Workspace::new();
    let job = Job {
        launcher_options: options,
        ..Job::new(ranks, env!("CARGO_BIN_EXE_trees-under-mpi"), arguments)
    };
    job.plain(folder.path()).expect(0)
}

#[test]
fn random_operations_over_random_trees_give_what_they_are_by_definition() {
    skip_unless!(have(&["mpirun"]));
    for ranks in 1..=9 {
        let seed = (ranks * 1000).to_string();
        let finished = run(ranks, &[], &["check", &seed, "25"]);
        let expected: Vec<String> = (0..ranks)
            .map(|rank| format!("rank {rank}: 25 trees"))
            .collect();
        assert_eq!(finished.sorted_lines(), expected);
    }
}

#[test]
fn threads_of_several_processes_take_part_in_random_operations_over_random_trees() {
    skip_unless!(have(&["mpirun"]));
    let finished = run(3, &[], &["threads", "500", "20"]);
    let expected = ["rank 0: 20 trees", "rank 1: 20 trees", "rank 2: 20 trees"];
    assert_eq!(finished.sorted_lines(), expected);
}

#[test]
fn a_large_send_under_way_goes_on_while_its_sender_waits_in_any_operation() {
    skip_unless!(have(&["mpirun"]));
    // Over TCP the library moves nothing by itself.
    for options in [&[][..], &["--mca", "btl", "tcp,self"]] {
        let finished = run(2, options, &["outstanding"]);
        let expected = ["rank 0: no operation hung", "rank 1: no operation hung"];
        assert_eq!(finished.sorted_lines(), expected);
    }
}

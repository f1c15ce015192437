//! Several candidates for the same calls, and others all the time, at random.

use std::collections::BTreeSet;

use collbench_adapt::read_log;
use collbench_tests::{Finished, Job, Workspace, analyze, have, long_or, program};

use super::woven::as_with_the_library;
use super::{tree_file, unrecorded_with};

/// Candidates for all operations, the library among them.
const ALL: &str = "\
[[tree]]
operations = ['allreduce', 'barrier', 'allgather']
adapt = { library = true }
candidate = [{ shape = 'exchange' }, { shape = 'binomial' }, { shape = 'linear' }]

[[tree]]
operations = ['reduce', 'bcast', 'gather', 'scatter']
adapt = { library = 'first', results = 'any' }
candidate = [{ shape = 'binomial' }, { shape = 'linear' }, { shape = 'chain 2' }]
";

/// Runs a job over trees without a trace, with other candidates at random.
#[track_caller]
fn at_random(job: &Job<'_>, trees: &str, seed: usize) -> Finished {
    unrecorded_with(job, trees, &["--adapt", &format!("random:{seed}")])
}

#[test]
fn random_programs_over_candidates_at_random_give_what_they_give_with_the_library() {
    if !have(&["mpirun", "mpicc"]) {
        return;
    }
    for seed in 1..=long_or(200, 3) {
        as_with_the_library(seed, |_, job| at_random(job, ALL, seed));
    }
}

#[test]
fn sums_have_the_same_bits_with_any_candidates_unless_any_results_are_asked_for() {
    if !have(&["mpirun", "mpicc"]) {
        return;
    }
    // The first and the third combine in the same grouping, 0 + (1 + (2 + (3 + 4))), and the others do not.
    let trees = |results: &str| {
        format!(
            "[[tree]]\noperations = ['allreduce', 'reduce']\n\
             adapt = {{ library = true, results = '{results}' }}\n\
             candidate = [{{ shape = 'linear' }}, {{ shape = 'binomial' }}, {{ shape = 'chain 1' }},\n\
             {{ shape = 'chain 2' }}]\n"
        )
    };
    let job = Job::new(5, program("rounded.c"), &["60"]);
    let sum = |trees: &str, seed: usize| at_random(&job, trees, seed).expect(0).stdout;
    let sums = |results: &str, n_seeds: usize| -> BTreeSet<String> {
        let trees = trees(results);
        (1..=n_seeds).map(|seed| sum(&trees, seed)).collect()
    };
    let of_first = {
        let first = "[[tree]]\noperations = ['allreduce', 'reduce']\nshape = 'linear'\n";
        sum(first, 0)
    };
    assert_eq!(sums("same", long_or(20, 3)), [of_first].into());
    assert!(
        sums("any", long_or(20, 3)).len() > 1,
        "the library or another tree had its turn"
    );
}

#[test]
fn decisions_are_in_the_log_with_the_tree_file_and_in_the_trace() {
    if !have(&["mpirun", "mpicc"]) {
        return;
    }
    let folder = Workspace::new();
    let log = folder.join("adapt.log");
    let file = tree_file(&folder, ALL);
    let log_given = log.to_str().unwrap();
    let options = ["--trees", &file, "--adapt-log", log_given];
    let job = Job {
        options: &options,
        ..Job::new(3, program("steady.c"), &["400", "100"])
    };
    let (finished, trace) = job.record(folder.path());
    finished.expect(0);
    let (text, entries) = read_log(&std::fs::read_to_string(&log).unwrap()).unwrap();
    assert_eq!(text, ALL);
    let of_allreduce = entries
        .iter()
        .filter(|entry| entry.subject.operation == "allreduce");
    let last = of_allreduce.clone().next_back().unwrap();
    assert_eq!(last.candidates[last.in_use].0, "in-use");
    assert_eq!(last.subject.candidates, [Some(1), Some(2), Some(3), None]);

    let analysis = analyze(&trace, &[]);
    let adaptations = analysis.json["adaptations"].as_array().unwrap();
    let allreduce = adaptations
        .iter()
        .find(|of| of["operation"] == "MPI_Allreduce")
        .unwrap();
    let points = allreduce["points"].as_array().unwrap();
    assert_eq!(points.len(), of_allreduce.count());
    let times: Vec<i64> = points
        .iter()
        .map(|point| point["at_ns"].as_i64().unwrap())
        .collect();
    assert!(times.is_sorted() && times[0] > 0);
    assert_eq!(allreduce["calls"], last.calls);
    assert_eq!(allreduce["candidates"][3]["name"], "the MPI library");
}

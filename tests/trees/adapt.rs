//! Several candidates for the same calls, and others all the time, at random.

use std::collections::BTreeSet;

use collbench_adapt::{Entry, first_lines, read_log};
use collbench_tests::{
    Finished, Job, Workspace, analyze, command, have, long_or, program, run, skip_unless,
};

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
    skip_unless!(have(&["mpirun", "mpicc"]));
    for seed in 1..=long_or(200, 3) {
        as_with_the_library(seed, |_, job| at_random(job, ALL, seed));
    }
}

#[test]
fn each_of_many_calls_gives_what_it_should_while_candidates_change_at_random() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    // A million changes of the candidate in all, if there is time.
    let n_calls = long_or(40_000, 2_000);
    for seed in 1..=long_or(72, 2) {
        let n_threads = if seed % 4 == 1 { 4 } else { 1 };
        let [seed_given, calls, threads] =
            [seed, n_calls / n_threads, n_threads].map(|of| of.to_string());
        let arguments = [&*seed_given, &calls, &threads];
        let job = Job::new(3 + (seed - 1) % 6, program("checked.c"), &arguments);
        let finished = at_random(&job, ALL, seed).expect(0);
        let said = format!("{calls} calls in each of {threads} threads\n");
        assert_eq!(finished.stdout, said);
    }
}

#[test]
fn sums_have_the_same_bits_with_any_candidates_unless_any_results_are_asked_for() {
    skip_unless!(have(&["mpirun", "mpicc"]));
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
    assert_eq!(sums("same", long_or(20, 3)), [of_first.clone()].into());
    assert!(
        sums("any", long_or(20, 3)).len() > 1,
        "the library or another tree had its turn"
    );

    // What was found is a tree file with these bits, even where there was nothing to choose.
    let none_like_it = "[[tree]]\noperations = ['allreduce', 'reduce']\nadapt = {}\n\
        candidate = [{ shape = 'linear' }, { shape = 'binomial' }]\n";
    let (_, entries) = logged(&job, none_like_it, &[]);
    let of_sums = entries.iter().find(|entry| entry.subject.keeps_grouping);
    assert_eq!(of_sums.unwrap().subject.candidates, [Some(1)]);
    let lines: String = entries.iter().map(Entry::line).collect();
    let folder = Workspace::new();
    let log = folder.join("adapt.log");
    std::fs::write(&log, first_lines(none_like_it) + &lines).unwrap();
    let from_log = [
        command("collbench-tree").into_os_string(),
        "from-log".into(),
        log.into(),
    ];
    let found = run(&from_log).expect(0).stdout;
    assert_eq!(sum(&found, 0), of_first, "{found}");
}

#[test]
fn decisions_are_in_the_log_with_the_tree_file_and_in_the_trace() {
    skip_unless!(have(&["mpirun", "mpicc"]));
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

/// Runs a job over the trees of a file, with a log of its decisions; its control points.
#[track_caller]
fn logged(job: &Job<'_>, trees: &str, more: &[&str]) -> (Finished, Vec<Entry>) {
    let folder = Workspace::new();
    let log = folder.join("adapt.log");
    let more = [more, &["--adapt-log", log.to_str().unwrap()]].concat();
    let finished = unrecorded_with(job, trees, &more).expect(0);
    let (_, entries) = read_log(&std::fs::read_to_string(&log).unwrap()).unwrap();
    (finished, entries)
}

/// A log in which the candidate at a position was in use, and others took twice as long.
fn log_of(trees: &str, entry: &Entry, in_use: usize) -> String {
    let mut entry = entry.clone();
    entry.in_use = in_use;
    for (nth, (standing, _, total_ns)) in entry.candidates.iter_mut().enumerate() {
        let (word, factor) = if nth == in_use {
            ("in-use", 1)
        } else {
            ("worse", 2)
        };
        (*standing, *total_ns) = (word.to_owned(), Some(100_000 * factor));
    }
    entry.gains.fill(None);
    first_lines(trees) + &entry.line()
}

#[test]
fn a_program_begins_with_what_an_earlier_run_has_found_about_the_same_calls() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let trees = "[[tree]]\noperations = ['allreduce']\nadapt = { library = true, results = 'any' }\n\
        candidate = [{ shape = 'exchange' }, { shape = 'binomial' }, { shape = 'linear' }]\n";
    const UNMET: &str = "1 of 1 classes of calls in the log";
    let job = |n_ranks| Job::new(n_ranks, program("loop.c"), &["100"]);
    let of_allreduce = |entries: &[Entry]| {
        let mut entries = entries.iter();
        entries
            .find(|entry| entry.subject.operation == "allreduce")
            .cloned()
            .unwrap()
    };
    let (_, entries) = logged(&job(3), trees, &[]);
    let first = of_allreduce(&entries);
    assert_eq!((first.before, first.candidates[0].1), (0, 4));

    let folder = Workspace::new();
    let from = folder.join("earlier.log");
    let options = ["--adapt-from", from.to_str().unwrap()];
    std::fs::write(&from, log_of(trees, &first, 2)).unwrap();
    // A tree file is the same with a line more.
    let (finished, entries) = logged(&job(3), &format!("# moved\n{trees}"), &options);
    let calls = |of: &Entry| -> Vec<u64> { of.candidates.iter().map(|of| of.1).collect() };
    let learned = of_allreduce(&entries);
    assert_eq!((learned.before, learned.subject.line), (2, 2));
    assert_eq!(calls(&learned), [0, 0, first.calls, 0]);
    assert!(!finished.stderr.contains(UNMET), "{finished}");

    let (finished, entries) = logged(&job(2), trees, &options);
    assert_eq!(calls(&of_allreduce(&entries)), calls(&first));
    assert_eq!(finished.stderr.matches(UNMET).count(), 1, "{finished}");
    let (finished, entries) = logged(&job(3), &trees.replace("'exchange'", "'chain 1'"), &options);
    assert_eq!(calls(&of_allreduce(&entries)), calls(&first));
    assert_eq!(finished.stderr.matches(UNMET).count(), 1, "{finished}");
}

#[test]
fn what_was_found_changes_no_bits_of_sums() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    // The first and the third combine in the same grouping, and the second does not.
    const TREES: &str = "[[tree]]\noperations = ['allreduce', 'reduce']\nadapt = {}\n\
        candidate = [{ shape = 'linear' }, { shape = 'binomial' }, { shape = 'chain 1' }]\n";
    let job = Job::new(5, program("rounded.c"), &["60"]);
    let (finished, entries) = logged(&job, TREES, &[]);
    let of_allreduce = |entry: &&Entry| entry.subject.operation == "allreduce";
    let entry = entries.iter().find(of_allreduce).unwrap();
    assert_eq!(entry.subject.candidates, [Some(1), Some(3)]);
    let mut with_all = entry.clone();
    with_all.subject.candidates = vec![Some(1), Some(2), Some(3)];
    with_all.candidates.push(entry.candidates[0].clone());
    with_all.gains.push(None);
    let folder = Workspace::new();
    let from = folder.join("earlier.log");
    let options = ["--adapt-from", from.to_str().unwrap()];
    for (log, before) in [
        (log_of(TREES, entry, 1), 1),
        (log_of(TREES, &with_all, 1), 0),
    ] {
        std::fs::write(&from, log).unwrap();
        let (again, entries) = logged(&job, TREES, &options);
        assert_eq!(again.stdout, finished.stdout);
        assert_eq!(entries.iter().find(of_allreduce).unwrap().before, before);
    }
}

#[test]
fn what_is_no_log_of_an_earlier_run_is_named_before_the_program_starts() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let begin = first_lines(ALL);
    let no_tree = first_lines("[[tree]]\nshape = 'linear'\n");
    for (log, status, more, said) in [
        (
            None,
            125,
            "best",
            "expected a log that --adapt-log has written",
        ),
        (
            Some("a\n"),
            125,
            "best",
            "line 1: expected collbench.adapt/1",
        ),
        (
            Some(&*format!("{begin}tree=1\n")),
            125,
            "best",
            &*format!(
                "line {}: expected a control point",
                begin.lines().count() + 1
            ),
        ),
        (Some(&*no_tree), 125, "best", "earlier.log:2:"),
        (Some(&*begin), 2, "off", "leave one of both out"),
        (Some(&*begin), 2, "log", "leave one of both out"),
    ] {
        let folder = Workspace::new();
        let from = folder.join("earlier.log");
        if let Some(log) = log {
            std::fs::write(&from, log).unwrap();
        }
        let options = ["--adapt", more, "--adapt-from", from.to_str().unwrap()];
        let job = Job::new(2, program("steady.c"), &["1"]);
        let finished = unrecorded_with(&job, ALL, &options).expect(status);
        assert!(finished.stderr.contains(said), "{finished}");
        assert_eq!(finished.stdout, "");
    }
}

//! The names by which Open MPI calls its algorithms: what it said of each call is what is told of each
//! instance, whatever else ran in the same run, and whatever the graph could be besides.

use std::collections::BTreeMap;

use collbench_tests::{Analysis, Job, Workspace, have, program, side_by_side, skip_unless};
use serde_json::Value;

fn record(ranks: usize, source: &str, arguments: &[&str], options: &[&str]) -> Analysis {
    let workspace = Workspace::new();
    let job = Job {
        options: &["--layers", "calls,messages,algorithms"],
        launcher_options: options,
        ..Job::new(ranks, program(source), arguments)
    };
    job.analyzed(workspace.path())
}

/// Whether one of its algorithms does it: a communicator is made by several collectives.
fn of_the_program(operation: &str) -> bool {
    !operation.starts_with("MPI_Comm_") && !operation.starts_with("MPI_Intercomm_")
}

/// By operation and name, the calls in which the library has begun it.
fn counted(analysis: &Analysis) -> BTreeMap<(String, String), u64> {
    let all = analysis.array("/algorithms").iter();
    let all = all.map(|one| {
        let text = |field: &str| one[field].as_str().unwrap().to_owned();
        let calls = one["calls"].as_u64().unwrap();
        ((text("operation"), text("name")), calls)
    });
    all.filter(|((operation, _), _)| of_the_program(operation))
        .collect()
}

/// Calls by algorithm: those of the entries of `operations` with that name, and those of their trees.
fn told(analysis: &Analysis) -> [BTreeMap<(String, String), u64>; 2] {
    let mut all = [BTreeMap::new(), BTreeMap::new()];
    for entry in analysis.array("/operations") {
        let operation = entry["operation"].as_str().unwrap();
        if !of_the_program(operation) {
            continue;
        }
        let calls = entry["calls"].as_u64().unwrap();
        let n = calls / entry["instances"].as_u64().unwrap();
        let mut add = |which: usize, name: &Value, calls: u64| {
            for name in name.as_str().iter().flat_map(|names| names.split(" + ")) {
                let of: &mut BTreeMap<_, u64> = &mut all[which];
                *of.entry((operation.to_owned(), name.to_owned()))
                    .or_default() += calls;
            }
        };
        add(0, &entry["library_name"], calls);
        for tree in entry["trees"].as_array().unwrap() {
            assert_eq!(tree["algorithm"], entry["algorithm"]);
            add(
                1,
                &tree["library_name"],
                n * tree["instances"].as_u64().unwrap(),
            );
        }
    }
    all
}

/// That all instances are told as the library said, and none of their graphs contradicts that. All ranks
/// have to say the same.
fn check(analysis: &Analysis, of: &str) {
    let counted = counted(analysis);
    let [by_entry, by_tree] = told(analysis);
    assert_eq!(by_entry, counted, "{of}");
    assert_eq!(by_tree, counted, "{of}");
    check_names(analysis, of);
}

fn check_names(analysis: &Analysis, of: &str) {
    for entry in analysis.array("/operations") {
        assert_eq!(entry["contradicted"], 0, "{of}: {entry}");
        let name = entry["algorithm"].as_str();
        if entry["library_name"].is_string() && of_the_program(entry["operation"].as_str().unwrap())
        {
            let name = name.unwrap();
            assert!(
                !name.contains("unrecognized") && !name.contains("graph"),
                "{of}: {entry}"
            );
        }
    }
}

/// Algorithms of coll_tuned: the operation, how many there are, and that for two processes alone.
const TUNED: [(&str, u32, Option<u32>); 14] = [
    ("allgather", 6, Some(6)),
    ("allgatherv", 5, Some(5)),
    ("allreduce", 6, None),
    ("alltoall", 5, Some(5)),
    ("alltoallv", 2, None),
    ("barrier", 6, Some(5)),
    ("bcast", 9, None),
    ("exscan", 2, None),
    ("gather", 3, None),
    ("reduce", 7, None),
    ("reduce_scatter", 4, None),
    ("reduce_scatter_block", 4, None),
    ("scan", 2, None),
    ("scatter", 3, None),
];

#[test]
fn each_instance_is_told_by_the_algorithm_that_was_asked_for() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let forced = |ranks: usize, choose: &dyn Fn(u32, Option<u32>) -> Option<u32>| {
        let mut options = vec!["coll_tuned_use_dynamic_rules".to_owned(), "1".to_owned()];
        for (operation, n, of_two) in TUNED {
            if let Some(number) = choose(n, of_two) {
                options.push(format!("coll_tuned_{operation}_algorithm"));
                options.push(number.to_string());
            }
        }
        let pairs = options.chunks(2);
        let words = pairs.flat_map(|pair| ["--mca", &pair[0], &pair[1]]);
        let analysis = record(ranks, "said.c", &["2"], &words.collect::<Vec<_>>());
        check(&analysis, &format!("{ranks} ranks, {options:?}"));
        analysis
    };
    side_by_side(&[1, 2, 3, 4, 5, 6, 7, 8, 9], |&number| {
        forced(4, &|n, of_two| {
            (number <= n && of_two != Some(number)).then_some(number)
        });
    });
    // Of two processes nearly all graphs are one.
    let names = |analysis: &Analysis, operation: &str| -> Vec<String> {
        let entries = analysis.array("/operations").iter();
        let entries = entries.filter(|entry| entry["operation"] == operation);
        let mut names: Vec<String> = entries
            .map(|entry| entry["algorithm"].as_str().unwrap().to_owned())
            .collect();
        names.dedup();
        names
    };
    let both = forced(2, &|_, of_two| of_two);
    assert_eq!(names(&both, "MPI_Alltoall"), ["two-process exchange"]);
    assert_eq!(names(&both, "MPI_Barrier"), ["two-process exchange"]);
    let others = forced(2, &|n, of_two| of_two.map(|_| 2.min(n)));
    assert_eq!(names(&others, "MPI_Alltoall"), ["pairwise"]);
    assert_eq!(names(&others, "MPI_Barrier"), ["double ring"]);
}

#[test]
fn what_differs_from_call_to_call_is_told_apart() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    side_by_side(&[3, 4, 6], |&ranks| {
        let analysis = record(ranks, "said.c", &["2"], &[]);
        check(&analysis, &format!("{ranks} ranks"));
    });
    let analysis = record(4, "messages.c", &["3", "100", "1"], &[]);
    check(&analysis, "messages.c");
}

#[test]
fn processes_that_give_or_take_nothing_leave_a_graph_with_a_name() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    side_by_side(&[2, 4, 5], |&ranks| {
        let analysis = record(ranks, "zeros.c", &["2"], &[]);
        check_names(&analysis, &format!("{ranks} ranks"));
        for entry in analysis.array("/operations") {
            let name = entry["algorithm"].as_str().unwrap_or_default();
            assert!(!name.contains("no tree"), "{ranks} ranks: {entry}");
            assert!(!name.contains("unrecognized"), "{ranks} ranks: {entry}");
        }
    });
}

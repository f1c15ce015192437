//! Spanning trees of our own whose leaves are threads, their subtrees, and crossings that take long.

use super::own_trees::{stages, tree, true_stages};
use super::*;

/// Two threads in each of four processes on two hosts; the second thread of rank 0 acts for the wrappers
/// at the root.
const THREADS: &str = r#"
schema = 1
name = "threads"
[[hosts]]
name = "a"
ranks = 2
clock = "raw"
[[hosts]]
name = "b"
ranks = 2
clock = "raw"
[exchanges]
n = 200
one_way_ns = 10000
[[trees]]
name = "trees.toml:1"
entry_ns = 150
exit_ns = 250
threads = 2
thread_ns = 7000
wrappers = [
  { name = "on b", kind = "gred", owner = 4, contributors = [4, 5, 6, 7], down_ns = 700, up_ns = 400, departure_ns = 300 },
  { name = "from b", kind = "proxy", owner = 4, contributors = ["on b"], down_ns = 40000, up_ns = 44000 },
  { name = "of a", kind = "gred", owner = 1, contributors = [0, 1, 2, 3], down_ns = 500, up_ns = 300, departure_ns = 350 },
  { name = "on a", kind = "gred", owner = 1, contributors = ["of a", "from b"], down_ns = 1100, up_ns = 600, departure_ns = 200 },
  { name = "result", kind = "core", owner = 1, contributors = ["on a"], down_ns = 130 },
]
[[program]]
repeat = 60
steps = [
  { operation = "MPI_Allreduce", bytes = 8, over = "trees.toml:1", work = [{ uniform_ns = [20000, 90000] }] },
  { operation = "MPI_Reduce", bytes = 32, root = 3, over = "trees.toml:1", work = [{ uniform_ns = [20000, 90000] }] },
  { operation = "MPI_Bcast", bytes = 64, root = 2, over = "trees.toml:1", work = [{ uniform_ns = [20000, 90000] }] },
  { operation = "MPI_Barrier" },
]
"#;

/// The path of a thread in an operation.
fn true_path<'t>(truth: &'t Value, operation: &str, rank: i64, thread: i64) -> &'t Value {
    let mut paths = list(&truth["paths"]).iter();
    let is_it = |of: &&Value| {
        text(&of["operation"]) == operation
            && (number(&of["rank"]), number(&of["thread"])) == (rank, thread)
    };
    paths.find(is_it).expect("each thread has a path")
}

#[test]
fn threads_without_calls_belong_to_the_call_of_their_process() {
    let case = Case::new(THREADS);
    assert_eq!(case.status, 0);
    assert!(
        !case.remarks().contains(&"passes_missing"),
        "{:?}",
        case.remarks()
    );
    for operation in ["MPI_Allreduce", "MPI_Reduce", "MPI_Bcast"] {
        let own = &tree(&case.analysis, operation)["own"];
        assert_eq!(number(&own["threads"]), 2);
        assert_eq!(number(&own["without"]), 0, "{operation}");
        let paths = list(&own["paths"]);
        let of = paths
            .iter()
            .map(|path| (number(&path["rank"]), number(&path["thread"])));
        let all: Vec<(i64, i64)> = (0..4).flat_map(|rank| [(rank, 0), (rank, 1)]).collect();
        assert_eq!(of.collect::<Vec<_>>(), all);
        for path in paths {
            let (rank, thread) = (number(&path["rank"]), number(&path["thread"]));
            let truth = true_path(&case.truth, operation, rank, thread);
            let which = format!("thread {thread} of rank {rank} in {operation}");
            if operation == "MPI_Allreduce" {
                assert_eq!(stages(path), true_stages(truth), "{which}");
                // The mean of the whole, without waits for others.
                let own_time = &path["without_waits"];
                assert_eq!(number(&own_time["n"]), 60);
                let waits = true_stages(truth).into_iter();
                let parts = waits.filter(|(kind, ..)| kind != "arrival_wait");
                let expected: i64 = parts.map(|(_, _, ns)| ns).sum();
                let found = number(&own_time["mean_ns"]);
                assert!(
                    (found - expected).abs() <= 12,
                    "{which}: {found}, not {expected}"
                );
            } else {
                let whole = &list(&truth["stages"])[0]["time_ns"];
                let expected = number(&whole["total"]) / number(&whole["n"]);
                let found = number(&path["path_ns"]["mean"]);
                assert!(
                    (found - expected).abs() <= 1,
                    "{which}: {found}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn where_threads_are_found_does_not_depend_on_the_threads_of_the_analysis() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = THREADS.replace("repeat = 60", "repeat = 1500");
    let trace = trace_in(directory.path(), &scenario, None);
    let (_, one) = analyze(&trace, &["--threads", "1"]);
    let document = json(&one);
    assert_eq!(number(&tree(&document, "MPI_Bcast")["own"]["without"]), 0);
    for threads in ["2", "5"] {
        let (_, other) = analyze(&trace, &["--threads", threads]);
        assert!(other == one, "{threads} threads");
    }
}

#[test]
fn a_subtree_of_a_host_is_measured_as_a_gred_is() {
    let case = Case::new(THREADS);
    let own = &tree(&case.analysis, "MPI_Allreduce")["own"];
    let subtrees = list(&own["subtrees"]);
    assert_eq!(subtrees.len(), 2);
    for (subtree, (host, ranks, wrapper)) in
        subtrees.iter().zip([("a", [0, 1], 2), ("b", [2, 3], 0)])
    {
        assert_eq!(text(&subtree["host"]), host);
        assert_eq!(subtree["ranks"], serde_json::json!(ranks));
        assert_eq!(subtree["wrappers"], serde_json::json!([wrapper]));
        let (down, up, departure) = if host == "a" {
            (500, 300, 350)
        } else {
            (700, 400, 300)
        };
        let mean = |of: &str| number(&subtree[of]["mean_ns"]);
        assert_eq!((mean("down"), mean("up")), (down, up));
        assert_eq!(2 * mean("departure_wait"), 3 * departure);
        let points = list(&subtree["serialization"]);
        let points: Vec<(i64, i64)> = points
            .iter()
            .map(|point| (number(&point["position"]), number(&point["mean_ns"])))
            .collect();
        let expected: Vec<(i64, i64)> = (0..4).map(|at| (at, up + at * departure)).collect();
        assert_eq!(points, expected);
    }
}

#[test]
fn crossings_that_take_long_are_listed_with_their_instances_and_hosts() {
    let scenario = THREADS
        .replace(
            "up_ns = 44000 }",
            "up_ns = 44000, jitter = { constant_ns = 900000, share = 0.02 } }",
        )
        .replace("repeat = 60", "repeat = 300");
    let case = Case::new(&scenario);
    let own = &tree(&case.analysis, "MPI_Allreduce")["own"];
    let proxies = list(&own["proxies"]);
    assert_eq!(proxies.len(), 1);
    let proxy = &proxies[0];
    assert_eq!(
        (text(&proxy["from_host"]), text(&proxy["to_host"])),
        ("b", "a")
    );
    let outliers = list(&proxy["outliers"]);
    let of = |direction: &str| {
        let those = outliers
            .iter()
            .filter(|it| text(&it["direction"]) == direction);
        those.collect::<Vec<_>>()
    };
    // On the way to the root a part of the delay may be waiting for a late receiver.
    for (direction, usual, least) in [("down", 40_000, 200_000), ("up", 44_000, 900_000)] {
        let transfer = &proxy[direction]["transfer_ns"];
        let found = of(direction);
        assert!(!found.is_empty(), "{transfer}");
        if direction == "up" {
            let n_long = (number(&transfer["total"]) - number(&transfer["n"]) * usual) / 900_000;
            assert_eq!(found.len() as i64, n_long.min(8), "{outliers:?}");
        }
        assert_eq!(number(&found[0]["ns"]), number(&transfer["max"]));
        for outlier in &found {
            let ns = number(&outlier["ns"]);
            assert!((least..usual + 902_000).contains(&ns), "{outlier}");
        }
        let mut sequences: Vec<i64> = found.iter().map(|it| number(&it["sequence"])).collect();
        sequences.sort_unstable();
        sequences.dedup();
        assert_eq!(sequences.len(), found.len());
        // Every fourth call on the communicator is an allreduce, the first of them.
        assert!(
            sequences.iter().all(|sequence| sequence % 4 == 0),
            "{sequences:?}"
        );
    }
    // With a usual crossing there is none.
    let healthy = Case::new(THREADS);
    let own = &tree(&healthy.analysis, "MPI_Allreduce")["own"];
    assert!(list(&list(&own["proxies"])[0]["outliers"]).is_empty());
}

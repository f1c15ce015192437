//! Spanning trees of our own: every stage of every path comes back as it was chosen.

use super::*;

use crate::built::assert_has;

/// Spanning trees of our own on three hosts, with all event collectors on, with some, and with an
/// exchange.
pub(super) const OWN_TREES: &str = include_str!("../../../../tests/scenarios/own-trees.toml");

/// The tree of an operation.
pub(super) fn tree<'a>(analysis: &'a Value, operation: &str) -> &'a Value {
    let operations = list(&analysis["operations"]).iter();
    let mut trees = operations
        .filter(|of| text(&of["operation"]) == operation)
        .flat_map(|of| of["trees"].as_array().into_iter().flatten());
    let is_own = |tree: &&Value| !tree["own"].is_null();
    trees
        .find(is_own)
        .unwrap_or_else(|| panic!("{operation} has no tree of our own"))
}

/// Mean, to the nearest, as the analysis rounds it.
fn mean(time: &Value) -> i64 {
    let (n, total) = (number(&time["n"]), number(&time["total"]));
    let half = if total < 0 { -n / 2 } else { n / 2 };
    (total + half) / n
}

/// The stages in the analysis that take any time: kind, wrapper where there is one, and mean.
pub(super) fn stages(path: &Value) -> Vec<(String, Option<i64>, i64)> {
    let stages = list(&path["stages"]).iter();
    let stages = stages.map(|stage| {
        let wrappers = stage["wrappers"].as_array();
        let wrapper = wrappers.and_then(|all| all.last()).map(number);
        (
            text(&stage["kind"]).to_owned(),
            wrapper,
            number(&stage["mean_ns"]),
        )
    });
    stages.filter(|(_, _, ns)| *ns != 0).collect()
}

/// Those in the truth.
pub(super) fn true_stages(path: &Value) -> Vec<(String, Option<i64>, i64)> {
    let stages = list(&path["stages"]).iter();
    let stages = stages.map(|stage| {
        let kind = text(&stage["kind"]).to_owned();
        (kind, stage["wrapper"].as_i64(), mean(&stage["time_ns"]))
    });
    stages.filter(|(_, _, ns)| *ns != 0).collect()
}

/// The path of a rank in an operation.
fn true_path<'t>(truth: &'t Value, operation: &str, rank: i64) -> &'t Value {
    let mut paths = list(&truth["paths"]).iter();
    let is_it = |of: &&Value| text(&of["operation"]) == operation && number(&of["rank"]) == rank;
    paths.find(is_it).expect("each rank has a path")
}

/// The sum of the means of some stages.
fn sum(
    stages: &[(String, Option<i64>, i64)],
    is_wanted: impl Fn(&str, Option<i64>) -> bool,
) -> i64 {
    let wanted = stages
        .iter()
        .filter(|(kind, wrapper, _)| is_wanted(kind, *wrapper));
    wanted.map(|(_, _, ns)| ns).sum()
}

#[test]
fn every_stage_of_every_path_comes_back_exactly() {
    let case = Case::new(OWN_TREES);
    assert_eq!(case.status, 0);
    for (operation, name) in [
        ("MPI_Allreduce", "trees.toml:1"),
        ("MPI_Barrier", "trees.toml:9"),
    ] {
        let tree = tree(&case.analysis, operation);
        let own = &tree["own"];
        assert_eq!(text(&own["name"]), name);
        let n = (number(&tree["instances"]), number(&own["without"]));
        assert_eq!(n, (40, 0));
        assert!(list(&own["summed"]).is_empty());
        let paths = list(&own["paths"]);
        assert_eq!(paths.len(), 6);
        for path in paths {
            let rank = number(&path["rank"]);
            let truth = true_path(&case.truth, operation, rank);
            assert_eq!(
                stages(path),
                true_stages(truth),
                "rank {rank} in {operation}"
            );
            let n_rounded = list(&path["stages"]).len() as i64;
            assert!(
                number(&path["unattributed_ns"]).abs() <= n_rounded,
                "{path}"
            );
        }
        // The critical path is whole, too.
        let path = &tree["critical_path"];
        let total = |part: &str| {
            let parts = list(&path[part]).iter();
            parts.map(|part| number(&part["total_ns"])).sum::<i64>()
        };
        let late = list(&path["begins"]).iter();
        let late: i64 = late.map(|begin| number(&begin["late_ns"])).sum();
        assert_eq!(number(&path["instances"]), 40);
        assert_eq!(
            total("hops") + total("stays") + late,
            number(&path["duration_ns"])
        );
    }
}

#[test]
fn stages_between_two_event_collectors_with_others_off_between_them_are_summed() {
    let case = Case::new(OWN_TREES);
    let own = &tree(&case.analysis, "MPI_Allgather")["own"];
    assert_eq!(own["summed"], serde_json::json!([[0, 1], [4, 5]]));
    for path in list(&own["paths"]) {
        let rank = number(&path["rank"]);
        let found = stages(path);
        let truth = true_stages(true_path(&case.truth, "MPI_Allgather", rank));
        let agrees = |found: i64, of_truth: i64| {
            assert!(
                (found - of_truth).abs() <= 5,
                "{found}, not {of_truth} ns: {path}"
            );
        };
        // The gred and the core at host a.
        let at_core = ["node_down", "core", "node_up"];
        agrees(
            sum(&found, |kind, _| kind == "core"),
            sum(&truth, |kind, wrapper| {
                at_core.contains(&kind) && wrapper >= Some(4)
            }),
        );
        // The gred at host b and its proxy.
        if [2, 3].contains(&rank) {
            let core = truth.iter().position(|(kind, ..)| kind == "core").unwrap();
            let down = ["node_down", "late_receiver", "transfer"];
            agrees(
                sum(&found, |kind, wrapper| {
                    (kind, wrapper) == ("node_down", Some(1))
                }),
                sum(&truth[..core], |kind, of| {
                    down.contains(&kind) && of <= Some(1)
                }),
            );
            let up = ["node_up", "transfer"];
            agrees(
                sum(&found, |kind, wrapper| {
                    (kind, wrapper) == ("node_up", Some(1))
                }),
                sum(&truth[core..], |kind, of| {
                    up.contains(&kind) && of <= Some(1)
                }),
            );
        }
        // What is before the gred at host c is part of it.
        if [4, 5].contains(&rank) {
            assert_eq!(sum(&found, |kind, _| kind == "entry"), 0);
            let gred = ("node_down", Some(2));
            agrees(
                sum(&found, |kind, wrapper| (kind, wrapper) == gred),
                sum(&truth, |kind, wrapper| {
                    kind == "entry" || (kind, wrapper) == gred
                }),
            );
        }
        let whole: i64 = truth.iter().map(|(_, _, ns)| ns).sum();
        agrees(sum(&found, |_, _| true), whole);
    }
}

#[test]
fn paths_to_a_root_and_from_it_are_whole() {
    let case = Case::new(OWN_TREES);
    for operation in ["MPI_Reduce", "MPI_Bcast"] {
        let own = &tree(&case.analysis, operation)["own"];
        assert_eq!(number(&own["without"]), 0);
        for path in list(&own["paths"]) {
            let truth = true_path(&case.truth, operation, number(&path["rank"]));
            let whole = mean(&list(&truth["stages"])[0]["time_ns"]);
            assert_eq!(number(&path["path_ns"]["mean"]), whole);
            let n_rounded = list(&path["stages"]).len() as i64;
            assert!(
                number(&path["unattributed_ns"]).abs() <= n_rounded,
                "{path}"
            );
        }
    }
}

#[test]
fn the_document_does_not_depend_on_the_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_in(directory.path(), OWN_TREES, None);
    let (_, one) = analyze(&trace, &["--threads", "1"]);
    for threads in ["2", "5"] {
        assert!(
            analyze(&trace, &["--threads", threads]).1 == one,
            "{threads} threads"
        );
    }
}

#[test]
fn instances_of_a_damaged_file_are_not_measured() {
    let faults = "[[faults]]\nrank = 2\ndamaged_chunk = 0\n";
    let head = OWN_TREES.replace("schema = 1\n", "schema = 1\nchunk_calls = 500\n");
    let case = Case::new(&format!("{head}{faults}"));
    assert_eq!(case.status, 3);
    let own = &tree(&case.analysis, "MPI_Allreduce")["own"];
    let paths = list(&own["paths"]);
    assert_eq!(paths.len(), 6);
    let of = |path: &Value| number(&path["path_ns"]["n"]);
    assert!(
        paths.iter().all(|path| (1..40).contains(&of(path))),
        "{own}"
    );
}

#[test]
fn a_slow_hop_of_a_tree_is_named_with_its_proxy() {
    let slow = OWN_TREES.replace(
        "down_ns = 52000, up_ns = 56000",
        "down_ns = 2000000, up_ns = 2000000",
    );
    assert_ne!(slow, OWN_TREES);
    // A third host that the slow one is compared with.
    let four = slow
        .replace("[exchanges]", "[[hosts]]\nname = \"d\"\nranks = 2\nclock = \"raw\"\n[exchanges]")
        .replace(
            "  { name = \"on a\", kind = \"gred\", owner = 0, contributors = [0, 1, \"from b\", \"from c\"]",
            "  { name = \"on d\", kind = \"gred\", owner = 6, contributors = [6, 7], down_ns = 900 },\n\
             { name = \"from d\", kind = \"proxy\", owner = 6, contributors = [\"on d\"], down_ns = 41000, up_ns = 45000 },\n\
             { name = \"on a\", kind = \"gred\", owner = 0, contributors = [0, 1, \"from b\", \"from c\", \"from d\"]",
        );
    let exchange = four
        .replace(
            "  { name = \"all\", kind",
            "  { name = \"on d\", kind = \"gred\", owner = 6, contributors = [6, 7], down_ns = 700 },\n  { name = \"all\", kind",
        )
        .replace("\"on b\", \"on c\"], down_ns = 61000", "\"on b\", \"on c\", \"on d\"], down_ns = 61000");
    let case = Case::new(&exchange);
    let causes = list(&case.analysis["causes"]);
    let slow = causes
        .iter()
        .find(|cause| text(&cause["kind"]) == "slow_link");
    let said = text(&slow.expect("the link is found")["text"]);
    assert_has(said, "between a and c");
    assert_has(said, "proxy 3 from rank 5 (c) to rank 0 (a)");
}

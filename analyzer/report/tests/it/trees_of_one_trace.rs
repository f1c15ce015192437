//! One operation over several spanning trees of our own in one trace: each is an entry of its own, and one
//! picture has the serialization curves of all.

use std::fs;

use collbench_analyzer::{Analysis, Selection};
use collbench_report::write_report;

/// Four ranks of one host, in one gred or in two levels, and an operation over no tree.
const SCENARIO: &str = r#"
schema = 1
name = "configurations"
[[hosts]]
name = "a"
ranks = 4
clock = "raw"
[[trees]]
name = "flat.toml, line 1"
entry_ns = 150
exit_ns = 250
wrappers = [
  { name = "all", kind = "gred", owner = 0, contributors = [0, 1, 2, 3], down_ns = 700, up_ns = 400, departure_ns = 3000 },
  { name = "result", kind = "core", owner = 0, contributors = ["all"], down_ns = 130 },
]
[[trees]]
name = "deep.toml, line 1"
entry_ns = 150
exit_ns = 250
wrappers = [
  { name = "left", kind = "gred", owner = 0, contributors = [0, 1], down_ns = 700, up_ns = 400, departure_ns = 1000 },
  { name = "right", kind = "gred", owner = 2, contributors = [2, 3], down_ns = 700, up_ns = 400, departure_ns = 1000 },
  { name = "both", kind = "gred", owner = 0, contributors = ["left", "right"], down_ns = 500, up_ns = 300, departure_ns = 1000 },
  { name = "result", kind = "core", owner = 0, contributors = ["both"], down_ns = 130 },
]
[[program]]
repeat = 50
steps = [
  { operation = "MPI_Allreduce", bytes = 8, over = "flat.toml, line 1", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Allreduce", bytes = 8, over = "deep.toml, line 1", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Allreduce", bytes = 8, over = "deep.toml, line 1", work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Allreduce", bytes = 8, work = [{ exponential_ns = 3000 }] },
]
"#;

fn generated(directory: &std::path::Path) -> Analysis {
    let trace = crate::generated::trace_in(directory, SCENARIO, Some(7));
    crate::built::analyze(&trace, &Selection::default())
}

#[test]
fn each_tree_is_an_entry_of_its_own_and_so_are_calls_over_none() {
    let directory = tempfile::tempdir().unwrap();
    let analysis = generated(directory.path());
    let operations = analysis.operations.iter();
    let mut found: Vec<_> = operations
        .map(|operation| {
            let trees = operation.trees.as_deref().unwrap_or_default();
            let own = trees.iter().filter_map(|tree| tree.own.as_ref());
            let names: Vec<&str> = own.map(|own| &*own.name).collect();
            (
                operation.algorithm.as_deref(),
                operation.instances,
                names.join("; "),
            )
        })
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            (None, 50, String::new()),
            (
                Some("tree of deep.toml, line 1"),
                100,
                "deep.toml, line 1".to_owned()
            ),
            (
                Some("tree of flat.toml, line 1"),
                50,
                "flat.toml, line 1".to_owned()
            ),
        ]
    );
}

#[test]
fn the_serialization_curves_of_all_trees_are_in_one_picture() {
    let directory = tempfile::tempdir().unwrap();
    let analysis = generated(directory.path());
    let output = directory.path().join("report");
    write_report(&analysis, &output, 10).unwrap();
    let of_flat = analysis.operations.iter().position(|operation| {
        let algorithm = operation.algorithm.as_deref();
        algorithm == Some("tree of flat.toml, line 1")
    });
    let file = format!("serialization-{}-MPI_Allreduce.svg", of_flat.unwrap() + 1);
    let picture = fs::read_to_string(output.join(file)).unwrap();
    for name in [
        "tree of flat.toml, line 1",
        "tree of deep.toml, line 1",
        "the MPI library",
    ] {
        assert!(picture.contains(name), "{name}");
    }
}

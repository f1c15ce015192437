//! Every document keeps what it promises, whatever the program did: of all scenarios there are, each
//! with several seeds.

use std::path::{Path, PathBuf};

use collbench_analyzer::{Options, RunFiles, Selection, analyze};
use collbench_report::{Document, to_json};
use serde_json::Value;

use crate::generated;

/// All scenarios of the tests.
fn scenarios() -> Vec<PathBuf> {
    let files = generated::scenarios(&generated::SCENARIOS);
    assert!(files.len() > 12, "{files:?}");
    files
}

/// Operations in which the critical paths spend most of their time until some rank arrives, while ranks are in it for longer and
/// nobody is said to wait: what is told of messages then contradicts the verdict.
fn contradicting_waits(document: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let mut found = Vec::new();
    for operation in list(&document["operations"]) {
        let blocking = operation["completion_ns"].is_null();
        for tree in list(&operation["trees"]).iter().filter(|_| blocking) {
            let path = &tree["critical_path"];
            let begins = list(&path["begins"]);
            let late: i64 = begins.iter().map(|begin| number(&begin["late_ns"])).sum();
            let waits = number(&operation["wait_ns"]["total"]);
            let in_calls = number(&operation["call_time_ns"]["total"]);
            let is_mostly_late = late > number(&path["duration_ns"]) / 2;
            if is_mostly_late && waits < late / 20 && in_calls > late {
                found.push(format!(
                    "{}: {late} ns until a rank arrives, {waits} ns of waiting in {in_calls} ns",
                    operation["operation"]
                ));
            }
        }
    }
    found
}

#[test]
fn figures_of_all_scenarios_add_up() {
    let mut broken = Vec::new();
    for file in scenarios() {
        for seed in 0..2 {
            let directory = tempfile::tempdir().unwrap();
            collbench_generate::generate(&file, directory.path(), Some(seed), false).unwrap();
            let selections = [
                Selection::default(),
                Selection {
                    ranks: vec![(0, 1)],
                    ..Selection::default()
                },
                Selection {
                    from_ns: Some(20_000_000),
                    ..Selection::default()
                },
            ];
            // A restricted look is described by the same sums.
            for selection in &selections[..if seed == 0 { 3 } else { 1 }] {
                let options = Options {
                    selection: selection.clone(),
                    ..Options::default()
                };
                let files = RunFiles::open(directory.path()).unwrap();
                let analysis = analyze(&files, &options, &mut |_| {});
                let text = to_json(&Document::of(&analysis.unwrap()));
                let document = collbench_schemas::read(text);
                let name = file.file_name().unwrap().to_string_lossy();
                let mut found = crate::invariants::broken(&document);
                found.extend(contradicting_waits(&document));
                broken.extend(found.iter().map(|it| format!("{name}, seed {seed}: {it}")));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn a_figure_that_does_not_add_up_is_found() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios/inside_one_host.toml");
    let directory = tempfile::tempdir().unwrap();
    collbench_generate::generate(&file, directory.path(), None, false).unwrap();
    let files = RunFiles::open(directory.path()).unwrap();
    let analysis = analyze(&files, &Options::default(), &mut |_| {});
    let document: Value = collbench_schemas::read(to_json(&Document::of(&analysis.unwrap())));
    assert_eq!(crate::invariants::broken(&document), [] as [String; 0]);
    let operations = document["operations"].as_array().unwrap();
    let has_path = |of: &Value| of.pointer("/trees/0/critical_path/begins/0").is_some();
    let inside = operations.iter().position(has_path).unwrap();
    for (place, value) in [
        ("/totals/MPI_Allreduce/calls", 1),
        ("/ranks/0/call_time_ns", 1),
        ("/ranks/1/calls", 1),
        ("/ranks/1/last", 100),
        ("/operations/0/instances", 1),
        ("/operations/0/last_unresolved", 1_000),
        ("/operations/0/duration_ns/min", -1),
        ("/operations/0/duration_ns/median", 0),
        ("/operations/0/wait_ns/total", 1_i64 << 50),
        ("/operations/0/duration_histogram/0/n", 1_000),
        ("/operations/INSIDE/edges/0/messages", 1),
        (
            "/operations/INSIDE/trees/0/critical_path/begins/0/late_ns",
            1,
        ),
        ("/operations/INSIDE/trees/0/hotspot/share", 2),
        ("/imbalance/0/resolved", 1_000_000),
        ("/imbalance/0/all_waits_caused_ns", 1),
        ("/timeline/ranks/0/wait_ns/0", 1_i64 << 50),
        ("/trace/messages", 1),
    ] {
        let place = &place.replace("INSIDE", &inside.to_string());
        let mut changed = document.clone();
        *changed.pointer_mut(place).expect(place) = value.into();
        assert_ne!(
            crate::invariants::broken(&changed),
            [] as [String; 0],
            "{place}"
        );
    }
}

//! Documents are read into the types that they are written from, and written again as they were.

use std::path::{Path, PathBuf};

use collbench_analyzer::compare::Comparison;
use collbench_analyzer::results::{Culprit, OwnTreeSummary};
use collbench_analyzer::{Analysis, Selection};
use collbench_formats::Operation;
use collbench_report::{ComparisonDocument, Document, to_json};

use crate::built::{TestTrace, call};
use crate::generated;

/// The scenarios of the tests.
fn scenarios() -> Vec<PathBuf> {
    let folders = [&generated::SCENARIOS[..], &["../tests/browser/scenarios"]].concat();
    let files = generated::scenarios(&folders);
    assert!(files.len() > 17, "{files:?}");
    files
}

fn generated(scenario: &Path) -> Analysis {
    let directory = tempfile::tempdir().unwrap();
    collbench_generate::generate(scenario, directory.path(), None, false).unwrap();
    crate::built::analyze(directory.path(), &Selection::default())
}

/// Of four ranks three are in a broadcast at the end.
fn hung() -> Analysis {
    let mut trace = TestTrace::new(4);
    let times = [(0, 900), (100, 910), (300, 920), (20, 930)];
    trace.barrier(&times);
    for rank in [0, 1, 3] {
        trace.processes[rank].call(call(Operation::Bcast, 0, 2, 64, (2000, 0)));
    }
    trace.is_killed();
    trace.analyze()
}

/// As another program has it: without what is in memory only.
fn as_read<'a>(mut document: Document<'a>) -> Document<'a> {
    document.clock.to_mut().courses.clear();
    for operation in document.operations.to_mut() {
        operation.beyond = None;
        operation.duration_parts.clear();
        for tree in operation.trees.iter_mut().flatten() {
            if let Some(figures) = &mut tree.figures {
                figures.lines.clear();
            }
            if let Some(own) = &mut tree.own {
                forget_estimates(own);
            }
        }
    }
    for verdict in document.imbalance.to_mut() {
        let mut hosts = verdict.hosts.to_vec();
        hosts.iter_mut().for_each(|host| host.members.clear());
        verdict.hosts = hosts.into();
    }
    document
}

/// Takes out what comparisons are judged from.
fn forget_estimates(own: &mut OwnTreeSummary) {
    let mut paths = own.paths.to_vec();
    let of_paths = paths.iter_mut().map(|path| path.without_waits.as_mut());
    let of_subtrees = own.subtrees.iter_mut().flat_map(|of| {
        let parts = [&mut of.down, &mut of.up, &mut of.departure_wait];
        parts.map(Option::as_mut)
    });
    let of_stages = own.stages.iter_mut().map(|stage| Some(&mut stage.time));
    for time in of_paths.chain(of_subtrees).chain(of_stages).flatten() {
        time.estimate = None;
    }
    if !own.paths.is_left_out() {
        own.paths = paths.into();
    }
}

#[track_caller]
fn is_read_as_it_was_written(analysis: &Analysis) {
    let document = Document::of(analysis);
    let json = to_json(&document);
    collbench_schemas::read(&json);
    let read: Document<'static> = serde_json::from_str(&json).unwrap();
    assert!(to_json(&read) == json, "{}", analysis.trace.directory);
    assert_eq!(read, as_read(document));
}

#[test]
fn documents_of_all_scenarios_are_read_as_they_were_written() {
    let mut before: Option<Analysis> = None;
    for scenario in scenarios() {
        let analysis = generated(&scenario);
        is_read_as_it_was_written(&analysis);
        if let Some(before) = before {
            let both = [before, analysis.clone()];
            let comparison = Comparison::new(&both);
            let json = to_json(&ComparisonDocument::of(&comparison, &both));
            collbench_schemas::read(&json);
            let read: ComparisonDocument<'static> = serde_json::from_str(&json).unwrap();
            assert!(to_json(&read) == json, "{}", scenario.display());
            assert_eq!(read.operations.len(), comparison.operations.len());
        }
        before = Some(analysis);
    }
}

#[test]
fn the_document_of_a_hang_is_read_as_it_was_written() {
    let analysis = hung();
    assert_eq!(analysis.hang.as_ref().unwrap().waiting, [0, 1, 3]);
    is_read_as_it_was_written(&analysis);
}

#[test]
fn a_document_of_a_newer_version_is_read_as_far_as_it_is_known() {
    let mut value = serde_json::to_value(Document::of(&hung())).unwrap();
    value["moon"] = "full".into();
    value["operations"][0]["moon"] = 7.into();
    value["operations"][0]["operation"] = "MPI_Newest".into();
    value["remarks"][0]["code"] = "newest".into();
    value["hang"]["ranks"][0]["state"] = "levitating".into();
    value["imbalance"][0]["culprit"] = serde_json::json!({"kind": "node", "id": {"n": [1]}});
    let read: Document<'static> = serde_json::from_value(value).unwrap();
    assert_eq!(read.operations[0].operation, "MPI_Newest");
    assert_eq!(read.remarks[0].code, "newest");
    assert_eq!(
        read.hang.unwrap().ranks[0].state,
        collbench_analyzer::results::RankState::Newer
    );
    assert_eq!(read.imbalance[0].culprit, Some(Culprit::Newer));
}

#[test]
fn a_document_of_an_older_version_is_read_without_what_came_later() {
    let json = to_json(&Document::of(&hung()));
    let mut value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let later = [
        ("operations", "contradicted"),
        ("operations", "failed"),
        ("operations", "outliers"),
        ("operations", "left_out"),
        ("imbalance", "all_waits_caused_ns"),
        ("imbalance", "resolved"),
    ];
    for (list, name) in later {
        for fields in value[list].as_array_mut().unwrap() {
            let field = fields.as_object_mut().unwrap().remove(name);
            assert!(field.is_some(), "{list}[].{name}");
        }
    }
    let document: Document<'_> = serde_json::from_value(value).unwrap();
    assert_eq!(document.operations[0].failed, 0);
    assert!(document.operations[0].outliers.is_empty());
    assert_eq!(document.imbalance[0].resolved, 0);
}

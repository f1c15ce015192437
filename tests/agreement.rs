//! What is said of the inside of collectives and of their outside is the same: of all scenarios that there
//! are, and of a program with a late rank. (Each trace that another test analyzes is held to it, too: see
//! `analyze`.)

use std::path::{Path, PathBuf};

use collbench_tests::{
    Job, Workspace, agreements, alone, analyze, command, have, program, run, skip_unless,
    source_dir,
};
use serde_json::Value;

/// Folders of scenarios, from the top of the repository.
const FOLDERS: [&str; 3] = [
    "analyzer/tests/scenarios",
    "analyzer/tests/scenarios/verdicts",
    "tests/browser/scenarios",
];

fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files.sort();
    files
}

#[test]
fn in_all_scenarios_critical_paths_begin_at_the_last_to_come_or_it_is_said_why_not() {
    let workspace = Workspace::new();
    let (mut n, mut n_known) = (0, 0);
    for folder in FOLDERS {
        let folder = source_dir().join("..").join(folder);
        for scenario in scenarios(&folder) {
            let trace = workspace.join("trace");
            let generate = command("collbench-generate");
            run(&[
                generate.as_os_str(),
                "--force".as_ref(),
                scenario.as_os_str(),
                trace.as_os_str(),
            ])
            .expect(0);
            let analysis = analyze(&trace, &[]);
            stages_add_up(&analysis.json);
            n += 1;
            n_known += agreements(&analysis.json)
                .iter()
                .map(|one| one.known)
                .sum::<u64>();
        }
    }
    assert!(n > 15 && n_known > 300, "{n_known} paths of {n} scenarios");
}

/// Of what is on one host: the stages of a way take no longer than it.
fn stages_add_up(document: &Value) -> usize {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut n = 0;
    if list(&document["trace"]["hosts"]).len() > 1 {
        return n;
    }
    for operation in list(&document["operations"]) {
        let trees = list(&operation["trees"]);
        for way in trees.iter().flat_map(|tree| list(&tree["ways"])) {
            let stages = list(&way["stages"]);
            let Some(rest) = way["unattributed_ns"].as_i64() else {
                continue;
            };
            let means = stages
                .iter()
                .map(|stage| stage["mean_ns"].as_i64().unwrap());
            let all = means.sum::<i64>() + rest;
            assert_eq!(all, way["way_ns"]["mean"].as_i64().unwrap(), "{way}");
            // Each mean is rounded by itself.
            assert!(
                rest >= -(stages.len() as i64),
                "{}: {way}",
                operation["operation"]
            );
            n += 1;
        }
    }
    n
}

#[test]
fn stages_that_are_in_some_instances_only_do_not_take_longer_than_the_way() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let workspace = Workspace::new();
    let job = Job::new(4, program("some_rounds.c"), &[]);
    let (finished, trace) = job.record(workspace.path());
    let _ = finished.expect(0);
    let analysis = analyze(&trace, &["--top", "20"]).expect(0);
    assert!(stages_add_up(&analysis.json) > 0);
}

#[test]
fn who_is_late_is_who_is_waited_for_inside_too() {
    let _alone = alone();
    skip_unless!(have(&["mpirun", "mpicc"]));
    for (ranks, late, count) in [(4, "3", 12), (6, "1", 8)] {
        let workspace = Workspace::new();
        let count_of = count.to_string();
        let job = Job::new(ranks, program("waited.c"), &[late, &count_of]);
        let (finished, trace) = job.record(workspace.path());
        let _ = finished.expect(0);
        let analysis = analyze(&trace, &["--top", "20"]).expect(0);
        let late: u64 = late.parse().unwrap();
        for name in [
            "MPI_Barrier",
            "MPI_Allreduce",
            "MPI_Comm_dup",
            "MPI_Alltoall",
        ] {
            let of_world = |operation: &&Value| operation["operation"] == name;
            let operations = analysis.array("/operations").iter().filter(of_world);
            let operation = operations
                .max_by_key(|one| one["instances"].as_u64())
                .unwrap();
            let trees = operation["trees"].as_array().unwrap();
            let begins = trees.iter().flat_map(|tree| {
                let begins = tree["critical_path"]["begins"].as_array();
                begins.cloned().unwrap_or_default()
            });
            let (mut n, mut n_late) = (0, 0);
            for begin in begins {
                let instances = begin["instances"].as_u64().unwrap();
                n += instances;
                n_late += if begin["rank"] == late { instances } else { 0 };
            }
            let last = operation["last_arrivals"][late as usize].as_u64().unwrap();
            // Of the instances in which it arrived last, some may have taken long for another reason.
            assert!(2 * n > count, "{name}: known of {n} of {count}");
            assert!(
                2 * n_late >= last,
                "{name}: {n_late} of {n} begin at {late}, last in {last}"
            );
        }
    }
}

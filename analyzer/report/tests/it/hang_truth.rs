//! Where generated runs hang, of 64 and of 1,024 ranks, some of which are killed: who waits in what
//! is that of the generator's truth, rank by rank.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use collbench_analyzer::results::RankState;
use collbench_analyzer::{Analysis, Options, RunFiles, analyze};
use collbench_generate::generate;
use collbench_report::Document;
use serde_json::Value;

/// Every fourth rank is a part; then the world and the parts take turns. Three ranks are killed,
/// one has no file, of one recording stops.
fn scenario(n_ranks: usize) -> String {
    let faults: String = [
        "rank = 17\nkilled_after_calls = 12\nin_flight = false",
        "rank = 22\nkilled_after_calls = 13\nin_flight = true",
        "rank = 31\nkilled_after_calls = 11",
        "rank = 42\nmissing = true",
        "rank = 50\nsize_reached_after_calls = 5",
    ]
    .map(|fault| format!("[[faults]]\n{fault}\n"))
    .concat();
    format!(
        r#"
        schema = 1
        grid_ns = 10
        [[hosts]]
        name = "a"
        ranks = {n_ranks}
        clock = "raw"
        [[program]]
        steps = [
          {{ operation = "MPI_Comm_split", split = {{ every = 4 }}, makes = "part" }},
        ]
        [[program]]
        repeat = 10
        steps = [
          {{ operation = "MPI_Allreduce", bytes = 8, work = [{{ uniform_ns = [0, 5000] }}] }},
          {{ operation = "MPI_Bcast", on = "part", bytes = 800, root = "rotating" }},
          {{ operation = "MPI_Barrier", on = "part", work = [{{ uniform_ns = [0, 5000] }}] }},
        ]
        {faults}"#
    )
}

/// Operation, communicator (members in the world), position.
type Place = (String, Vec<u32>, u64);

fn ranks_of(list: &Value) -> Vec<u32> {
    let ranks = list.as_array().unwrap().iter();
    ranks.map(|rank| rank.as_u64().unwrap() as u32).collect()
}

/// Who waits in what, by the truth, of those of whom there is a file that tells.
fn waits_in_truth(truth: &Value) -> BTreeMap<Place, BTreeSet<u32>> {
    let mut waits: BTreeMap<Place, BTreeSet<u32>> = BTreeMap::new();
    for rank in truth["ranks"].as_array().unwrap() {
        let in_flight = &rank["in_flight"];
        if in_flight.is_null() {
            continue;
        }
        let communicator = in_flight["communicator"].as_u64().unwrap() as usize;
        let members = ranks_of(&truth["communicators"][communicator]["ranks"]);
        let place = (
            in_flight["operation"].as_str().unwrap().to_owned(),
            members,
            in_flight["sequence"].as_u64().unwrap(),
        );
        let waiting = waits.entry(place).or_default();
        waiting.insert(rank["rank"].as_u64().unwrap() as u32);
    }
    waits
}

fn check(n_ranks: usize) -> Analysis {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("trace");
    let file = directory.path().join("scenario.toml");
    fs::write(&file, scenario(n_ranks)).unwrap();
    generate(&file, &out, Some(5), false).unwrap();
    let truth: Value = collbench_schemas::read(fs::read(out.join("truth.json")).unwrap());
    let files = RunFiles::open(&out).unwrap();
    let analysis = analyze(&files, &Options::default(), &mut |_| {}).unwrap();
    let expected = waits_in_truth(&truth);
    assert!(expected.len() > 2, "{expected:?}");
    let mut found: BTreeMap<Place, BTreeSet<u32>> = BTreeMap::new();
    for unfinished in &analysis.unfinished {
        let communicator = &analysis.communicators[unfinished.communicator];
        // The missing file leaves a hole in the list.
        let mut members: Vec<u32> = communicator.ranks.iter().flatten().copied().collect();
        let every = n_ranks / communicator.size as usize;
        let first = if every == 1 { 0 } else { members[0] };
        let all = (first as usize..n_ranks)
            .step_by(every)
            .map(|rank| rank as u32);
        members = all.collect();
        let place = (
            unfinished.operations[0].to_string(),
            members.clone(),
            unfinished.sequence,
        );
        let inside: BTreeSet<u32> = unfinished.inside.iter().copied().collect();
        assert!(!inside.contains(&50) && !unfinished.never_came.contains(&50));
        // Nobody is counted twice, and nobody is missing.
        let lists = [
            &unfinished.inside,
            &unfinished.left,
            &unfinished.never_came,
            &unfinished.unknown,
        ];
        let mut everyone: Vec<u32> = lists.into_iter().flatten().copied().collect();
        everyone.sort_unstable();
        members.retain(|&rank| rank != 42);
        assert_eq!(everyone, members);
        assert_eq!(unfinished.no_file, communicator.size - members.len() as u64);
        assert!(unfinished.unknown.iter().all(|&rank| rank == 50));
        found.insert(place, inside);
    }
    let seen: BTreeMap<Place, BTreeSet<u32>> = expected
        .into_iter()
        .map(|(place, mut ranks)| {
            ranks.retain(|&rank| rank != 42 && rank != 50);
            (place, ranks)
        })
        .collect();
    assert_eq!(found, seen);
    let hang = analysis.hang.as_ref().unwrap();
    let waiting: BTreeSet<u32> = hang.waiting.iter().copied().collect();
    assert_eq!(waiting, seen.into_values().flatten().collect());
    let state = |rank: u32| hang.ranks.iter().find(|r| r.rank == rank).unwrap().state;
    assert_eq!(state(17), RankState::Outside);
    assert_eq!(state(50), RankState::NotRecorded);
    assert!(hang.ranks.iter().all(|rank| rank.rank != 42));
    assert!(hang.cycles.is_empty(), "{:?}", hang.cycles);
    analysis
}

#[test]
fn who_waits_in_what_is_exact_with_64_ranks() {
    check(64);
}

#[test]
fn who_waits_in_what_is_exact_with_1024_ranks() {
    let analysis = check(1024);
    let in_words = Document::of(&analysis).hang.unwrap().in_words;
    assert!(
        in_words
            .iter()
            .any(|words| words.contains("rank 17 never arrived")),
        "{in_words:#?}"
    );
}

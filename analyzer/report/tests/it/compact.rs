//! Compact traces say the same as those that they were made of: to the byte, in all that an
//! analysis writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collbench_analyzer::Selection;
use collbench_formats::compact::{Compaction, expands_to};
use collbench_formats::{Operation, RankTrace, Records};
use collbench_generate::generate;
use collbench_report::{Document, to_json, to_text, write_report};

use crate::built::{TestTrace, analyze_in_windows, analyze_part, call, split};
use crate::generated;

/// Everything that is written of a trace, by name.
fn all_output(trace: &Path) -> BTreeMap<String, String> {
    let report = trace.join("report");
    let analysis = analyze_part(trace, &Selection::default()).expect("it is a trace");
    write_report(&analysis, &report, 50).expect("the folder can be written");
    let mut output = BTreeMap::from([("text".to_owned(), to_text(&analysis, Some(&report)))]);
    for entry in fs::read_dir(&report).expect("the report is there") {
        let path = entry.expect("an entry").path();
        let content = fs::read_to_string(&path).expect("text");
        output.insert(path.display().to_string(), content);
    }
    fs::remove_dir_all(report).expect("it was made above");
    output
}

/// Compacts the files of a directory, but for those that cannot be; gives how many were.
fn compact(trace: &Path) -> usize {
    let mut n = 0;
    for entry in fs::read_dir(trace).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trace")
        {
            continue;
        }
        let recorded = fs::read(&path).expect("a file");
        let Ok(parts) = Compaction::of(&recorded) else {
            continue;
        };
        let compact: Vec<u8> = parts.flatten().collect();
        expands_to(&compact, &recorded).expect("nothing is lost");
        fs::write(&path, compact).expect("the file can be written");
        n += 1;
    }
    n
}

fn assert_same(scenario: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    generate(scenario, &trace, None, false).expect("the scenario is good");
    let recorded = all_output(&trace);
    assert!(compact(&trace) > 1, "{}", scenario.display());
    let compacted = all_output(&trace);
    assert_eq!(
        recorded.keys().collect::<Vec<_>>(),
        compacted.keys().collect::<Vec<_>>()
    );
    for (name, content) in &recorded {
        assert!(
            *content == compacted[name],
            "{}: {name}",
            scenario.display()
        );
    }
}

#[test]
fn every_scenario_gives_the_same_text_json_and_pictures() {
    let scenarios = generated::scenarios(&generated::SCENARIOS);
    assert!(scenarios.len() > 5);
    for path in &scenarios {
        assert_same(path);
    }
}

#[test]
fn killed_cut_and_damaged_ranks_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("faults.toml");
    let text = r#"
schema = 1
name = "faults"
chunk_calls = 700
[[hosts]]
name = "node1"
ranks = 6
ghz = 2.5
[[program]]
repeat = 3000
steps = [
  { operation = "MPI_Allreduce", bytes = 8, work = [{ normal_ns = [50000, 20000] }] },
  { operation = "MPI_Iallreduce", bytes = 16 },
  { operation = "MPI_Bcast", bytes = 100000, root = 2 },
  { complete = "MPI_Waitall" },
]
[[faults]]
rank = 1
killed_after_calls = 2500
[[faults]]
rank = 2
no_finalize = true
[[faults]]
rank = 3
damaged_chunk = 1
[[faults]]
rank = 4
size_reached_after_calls = 2200
"#;
    fs::write(&scenario, text).unwrap();
    assert_same(&scenario);
}

/// Four ranks in chunks of several blocks, with stamps that cannot be true.
fn long_trace() -> TestTrace {
    let mut trace = TestTrace::new(4);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        let members: &[u32] = if rank < 2 { &[0, 1] } else { &[2, 3] };
        process.define(split(2, 20 + u64::from(rank / 2), members, rank, 0));
        for n in 0..9000 {
            let on = [0, 2][usize::from(n % 7 < 3)];
            let enter = 10_000 + 1000 * n + u64::from(rank) * 90 + n % 13;
            process.call(call(
                Operation::Allreduce,
                on,
                -1,
                8 * (n % 3),
                (enter, enter + 700),
            ));
        }
        process.chunks[0].records[4000 + rank as usize].leave = 5.into();
        process.chunks[0].records[2047].enter = (1 << 60).into();
    }
    trace
}

#[test]
fn blocks_are_read_in_any_order_and_wrong_stamps_are_told_where_they_were_recorded() {
    let directory = long_trace().in_directory();
    let json = |window| {
        let analysis = analyze_in_windows(directory.path(), window);
        to_json(&Document::of(&analysis))
    };
    let windows = [1 << 18, 4096, 3];
    let recorded: Vec<String> = windows.iter().map(|&window| json(window)).collect();
    assert!(recorded[0].contains("impossible time stamp"));
    assert_eq!(compact(directory.path()), 4);
    for (window, recorded) in windows.iter().zip(recorded) {
        assert!(json(*window) == recorded, "windows of {window} records");
    }
}

#[test]
fn a_flipped_bit_in_a_compact_trace_is_a_remark_and_costs_one_chunk() {
    let directory = long_trace().in_directory();
    compact(directory.path());
    let path = directory.path().join("rank-000001.trace");
    let mut bytes = fs::read(&path).unwrap();
    let trace = RankTrace::parse(&bytes).unwrap();
    let Records::Packed(packed) = trace.chunks[0].records else {
        panic!("it is compact");
    };
    let at = packed.span(2).0 as usize + 9;
    bytes[at] ^= 4;
    fs::write(&path, bytes).unwrap();
    let analysis = analyze_part(directory.path(), &Selection::default()).unwrap();
    assert!(!analysis.trace.complete);
    let told = analysis.trace.damage.iter();
    let told: Vec<&str> = told.map(|damage| &*damage.what).collect();
    assert!(
        told.iter()
            .any(|what| what.contains("damaged part of a compact trace")),
        "{told:?}"
    );
}

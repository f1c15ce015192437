//! The screen and the document of two small traces, as they are: what changes in them is seen.

use std::path::Path;

use collbench_analyzer::{Analysis, Selection};
use collbench_formats::{AlgorithmStart, Definition, Layer, LayerState, Operation, Record};
use collbench_report::{Document, to_json, to_text, to_text_within};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::built::{START, TestTrace, assert_has, call, split};
use crate::generated;

fn plain(analysis: &Analysis) -> String {
    let text = to_text(analysis, Some(Path::new("trace/report")));
    generated::plain(&text)
}

/// Four ranks; rank 2 comes 5 us late to each of 200 allreduces; a bcast now and then, and
/// barriers on halves.
fn late() -> TestTrace {
    let mut trace = TestTrace::new(4);
    for rank in 0..4u32 {
        let members: &[u32] = if rank < 2 { &[0, 1] } else { &[2, 3] };
        trace.processes[rank as usize].define(split(2, 20 + u64::from(rank / 2), members, rank, 0));
    }
    for n in 0..200u64 {
        let at = 20_000 * n;
        let stamps = [
            (at + n % 7 * 40, at + 5_900),
            (at + 20, at + 5_950),
            (at + 5_000, at + 5_800),
            (at + n % 5 * 60, at + 6_000),
        ];
        trace.world(Operation::Allreduce, -1, 8, &stamps);
        if n % 50 == 0 {
            let at = at + 10_000;
            trace.world(
                Operation::Bcast,
                1,
                1000,
                &[
                    (at, at + 900),
                    (at + 500, at + 600),
                    (at + 80, at + 950),
                    (at, at + 990),
                ],
            );
            for (rank, process) in trace.processes.iter_mut().enumerate() {
                let enter = at + 2000 + 100 * rank as u64;
                process.call(call(Operation::Barrier, 2, -1, 0, (enter, at + 2500)));
            }
        }
    }
    trace
}

/// Three of four ranks in a bcast at the end, one killed, with hostile names.
fn broken() -> TestTrace {
    let mut trace = TestTrace::hanging();
    for process in &mut trace.processes {
        process.identity.host.name = "n01\u{1b}[31m\u{202e}".into();
        process.identity.mpi.library_version = "Open\u{9b}2J MPI".into();
    }
    trace
}

#[test]
fn the_screen_of_a_run_with_a_late_rank() {
    insta::assert_snapshot!(plain(&late().analyze()));
}

#[test]
fn the_screen_of_an_incomplete_run() {
    insta::assert_snapshot!(plain(&broken().analyze()));
}

#[test]
fn the_document_of_an_incomplete_run() {
    insta::assert_snapshot!(to_json(&Document::of(&broken().analyze())));
}

#[test]
fn the_screen_of_a_run_without_calls() {
    insta::assert_snapshot!(plain(&TestTrace::new(2).analyze()));
}

#[test]
fn where_one_process_ran_it_is_asked_whether_the_launcher_was_forgotten() {
    let screen = plain(&TestTrace::new(1).analyze());
    assert_has(
        &screen,
        "the run has one process, so nobody waits for anybody",
    );
}

#[test]
fn every_line_of_a_screen_fits_its_columns_and_is_inert() {
    let mut hostile = broken();
    for process in &mut hostile.processes {
        process.define(collbench_formats::Communicator {
            name: format!("x\n\x1b]0;title\x07{}", "long ".repeat(100)),
            ..split(2, 20, &[0, 1, 2, 3], process.identity.rank, 0)
        });
        let at = 1500;
        process.chunks[0].records.insert(
            1,
            Record::call(Operation::Barrier, 0, 2, -1, 0, START + at, START + at + 10),
        );
    }
    for trace in [late(), broken(), hostile] {
        let analysis = trace.analyze();
        let text = plain(&analysis);
        for columns in [80, 100, 120] {
            let screen = to_text_within(&analysis, None, columns);
            for line in generated::plain(&screen).lines() {
                assert!(line.width() <= columns, "{line}");
            }
        }
        for output in [text, to_json(&Document::of(&analysis))] {
            let is_active = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
            assert!(!output.chars().any(is_active), "{output}");
        }
    }
}

/// Thirty operations on a dozen communicators, who is late changing from one to the next, with a
/// name for each communicator.
fn thirty_operations(name: &str) -> TestTrace {
    let mut trace = TestTrace::new(4);
    for index in 0..12u32 {
        for process in &mut trace.processes {
            let rank = process.identity.rank;
            process.define(collbench_formats::Communicator {
                name: name.to_owned(),
                ..split(
                    2 + index,
                    100 + u64::from(index),
                    &[0, 1, 2, 3],
                    rank,
                    index.into(),
                )
            });
        }
    }
    for n in 0..3_000u64 {
        let (kind, at) = (n % 30, n * 5_000);
        // In the first of twenty sections somebody else than later.
        let late = if n < 1_000 { kind % 3 } else { kind % 4 };
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            let delay = if rank as u64 == late {
                1_500
            } else {
                (n * 131 + rank as u64 * 37) % 90
            };
            let long = if n % 977 == 5 { 2_000 } else { 0 };
            let operation = if kind < 12 {
                Operation::Allreduce
            } else {
                Operation::Alltoallv
            };
            process.call(call(
                operation,
                2 + (kind % 12) as u32,
                -1,
                1 << (kind * 2),
                (at + delay, at + 1_700 + long),
            ));
        }
    }
    trace
}

#[test]
fn the_screen_of_thirty_operations_fits_40_lines() {
    let text = plain(&thirty_operations("domain").analyze());
    assert!(text.lines().count() <= 40, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_does_not_fit_is_at_a_place_that_there_is() {
    let analysis = thirty_operations("domain").analyze();
    let without = collbench_report::to_text(&analysis, None);
    assert!(without.contains("- and 1 more: see --format json\n"));
    assert!(!without.contains("analysis.json") && !without.contains("index.html"));
    let with = collbench_report::to_text(&analysis, Some(Path::new("trace/report")));
    assert!(
        with.contains("- and 1 more: see trace/report/index.html\n"),
        "{with}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn whatever_the_names_no_line_is_wider_than_100_columns(
        name in prop::sample::select(vec!["", "x", "\u{6f22}\u{5b57}", "\u{1b}[2J", "a b ", "e\u{301}"]),
        times in 1usize..60,
    ) {
        let mut trace = thirty_operations(&name.repeat(times));
        for process in &mut trace.processes {
            process.identity.host.name = name.repeat(times);
            process.identity.mpi.library_version = name.repeat(times);
            process.identity.command = vec![name.repeat(times)];
        }
        let text = plain(&trace.analyze());
        for line in text.lines() {
            prop_assert!(line.width() <= 100, "{}", line);
        }
        prop_assert!(text.lines().count() <= 40, "{}", text);
    }
}

#[test]
fn escapes_in_the_document_stand_for_the_names_as_they_are() {
    let json: serde_json::Value =
        serde_json::from_str(&to_json(&Document::of(&broken().analyze()))).unwrap();
    assert_eq!(json["trace"]["hosts"][0], "n01\u{1b}[31m\u{202e}");
    assert_eq!(json["trace"]["mpi_library"], "Open\u{9b}2J MPI");
}

/// Two ranks whose library has begun so many algorithms in its reduces.
fn with_algorithms(n: u32) -> TestTrace {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.identity.layers.push(LayerState::new(
            Layer::Algorithms,
            true,
            LayerState::BY_DEFAULT,
        ));
        for index in 0..n {
            process.definitions.push(Definition::Algorithm {
                index,
                name: format!("reduce_intra_number_{index}"),
            });
        }
    }
    for at in (0..20u64).map(|n| 10_000 * n) {
        trace.world(Operation::Reduce, 0, 8, &[(at, at + 500); 2]);
        for process in &mut trace.processes {
            let begun = AlgorithmStart {
                index: (at / 10_000) as u32 % n,
            };
            let begun = Record::of_words(begun.words(), START + at, START + at);
            process.call(begun);
        }
    }
    trace
}

#[test]
fn names_of_algorithms_are_told_whole_and_the_others_counted() {
    let line = |n| {
        let screen = plain(&with_algorithms(n).analyze());
        let line = screen.lines().find(|line| line.starts_with("  names "));
        line.unwrap().to_owned()
    };
    assert_eq!(
        line(1),
        "  names MPI_Reduce uses reduce_intra_number_0 (40 calls of 8 bytes)"
    );
    assert_eq!(
        line(4),
        "  names MPI_Reduce uses reduce_intra_number_0 (10 calls of 8 bytes) and 3 others"
    );
}

#[test]
fn a_screen_of_nothing_that_was_asked_for_says_so() {
    let selection = Selection {
        from_ns: Some(1_000_000_000_000),
        ..Selection::default()
    };
    let screen = plain(&late().analyze_part(&selection));
    assert_has(
        &screen,
        "calls none in the selected part; the run took 3.99 ms",
    );
    assert_has(&screen, "  - none in the selected part\n");
}

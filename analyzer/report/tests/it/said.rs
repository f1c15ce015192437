//! What the MPI library said of single calls: it is carried to their instances, call by call.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::OperationSummary;
use collbench_formats::{
    AlgorithmStart, CODE_INTERNAL, CompletingCall, Definition, Direction, Layer, LayerState,
    Operation, Record,
};

use crate::built::{
    START, TestProcess, TestTrace, assert_has, begin, call, codes, complete, initiation, message,
    split,
};
use crate::generated;

const NAMES: [&str; 6] = [
    "bcast_intra_bintree",
    "bcast_intra_pipeline",
    "allreduce_intra_nonoverlapping",
    "reduce_intra_pipeline",
    "alltoall_intra_pairwise",
    "bcast_intra_of_tomorrow",
];

/// The library begins an algorithm.
fn said(name: usize, at: u64) -> Record {
    let begun = AlgorithmStart { index: name as u32 };
    Record::of_words(begun.words(), START + at, 0)
}

/// Processes that note algorithms, each with indexes of its own order, and messages if asked for.
fn trace(n: u32, has_messages: bool) -> TestTrace {
    let mut trace = TestTrace::new(n);
    for process in &mut trace.processes {
        if has_messages {
            process.with_messages();
        }
        process.identity.layers.push(LayerState::new(
            Layer::Algorithms,
            true,
            LayerState::BY_DEFAULT,
        ));
        for (index, name) in (0..).zip(NAMES) {
            process.definitions.push(Definition::Algorithm {
                index,
                name: name.into(),
            });
        }
    }
    trace
}

fn each(trace: &mut TestTrace, mut of: impl FnMut(&mut TestProcess, u32)) {
    for (process, rank) in trace.processes.iter_mut().zip(0..) {
        of(process, rank);
    }
}

/// From 0 to 1, at about a time.
fn one_message(process: &mut TestProcess, rank: u32, at: u64) {
    match rank {
        0 => process.call(message(Direction::Send, 0, 1, (at + 10, at + 20))),
        _ => process.call(message(Direction::Receive, 0, 0, (at + 10, at + 30))),
    };
}

/// Algorithm, name by the library, and instances of the entries of an operation.
fn told(analysis: &Analysis, operation: &str) -> Vec<(String, String, u64)> {
    let all = analysis.operations.iter();
    let all = all.filter(|one| one.operation == operation);
    let text = |name: &Option<String>| name.clone().unwrap_or_default();
    let of = |one: &OperationSummary| {
        for tree in one.trees.iter().flatten() {
            assert_eq!(tree.algorithm, one.algorithm);
            assert_eq!(tree.library_name, one.library_name);
        }
        (text(&one.algorithm), text(&one.library_name), one.instances)
    };
    let mut told: Vec<_> = all.map(of).collect();
    told.sort();
    told
}

fn entry(algorithm: &str, library_name: &str, n: u64) -> (String, String, u64) {
    (algorithm.into(), library_name.into(), n)
}

#[test]
fn calls_alike_in_all_but_what_was_said_are_told_apart() {
    for has_messages in [true, false] {
        let mut trace = trace(2, has_messages);
        for at in (0..30).map(|n| 1000 * n) {
            each(&mut trace, |process, rank| {
                process.call(call(Operation::Bcast, 0, 0, 8, (at, at + 500)));
                // Two of three so, the third otherwise; and one of which nothing was said.
                match at / 1000 {
                    29 => {}
                    n if n % 3 < 2 => drop(process.call(said(0, at))),
                    _ => drop(process.call(said(1, at))),
                }
                if has_messages {
                    one_message(process, rank, at);
                }
            });
        }
        let analysis = trace.analyze();
        let mut expected = vec![
            entry("binary", NAMES[0], 20),
            entry("pipeline", NAMES[1], 9),
        ];
        expected.push(entry(if has_messages { "linear" } else { "" }, "", 1));
        expected.sort();
        assert_eq!(told(&analysis, "MPI_Bcast"), expected);
        let counted = analysis.algorithms.unwrap();
        let calls: Vec<u64> = counted.iter().map(|one| one.calls).collect();
        assert_eq!(calls, [40, 18]);
    }
}

#[test]
fn what_is_said_in_parts_among_messages_and_in_calls_below_is_kept_apart() {
    let mut trace = trace(2, true);
    for at in (0..3).map(|n| 1000 * n) {
        each(&mut trace, |process, rank| {
            process.call(call(Operation::Allreduce, 0, -1, 8, (at, at + 500)));
            process.call(said(2, at));
            process.call(said(3, at));
            let (there, back) = match rank {
                1 => (Direction::Send, Direction::Receive),
                _ => (Direction::Receive, Direction::Send),
            };
            process.call(message(there, 0, 1 - rank, (at + 10, at + 20)));
            // A call of the library's own says what is none of this.
            let mut below = call(Operation::Barrier, 0, -1, 0, (at + 30, at + 60));
            below.code = (below.code.get() | CODE_INTERNAL).into();
            process.call(below);
            process.call(said(4, at + 40));
            process.call(said(0, at + 70));
            process.call(message(back, 0, 1 - rank, (at + 80, at + 90)));
        });
    }
    let name = format!("{} + {} + {}", NAMES[2], NAMES[3], NAMES[0]);
    let expected = entry("pipeline to the root, binary back", &name, 3);
    assert_eq!(told(&trace.analyze(), "MPI_Allreduce"), [expected]);
}

#[test]
fn what_ranks_say_differently_or_nobody_knows_is_kept_and_the_graph_decides() {
    let mut trace = trace(2, true);
    for at in (0..4).map(|n| 1000 * n) {
        each(&mut trace, |process, rank| {
            process.call(call(Operation::Bcast, 0, 0, 8, (at, at + 500)));
            match (at / 1000, rank) {
                // Each says something else, by turns.
                (0, _) => drop(process.call(said(rank as usize, at))),
                (1, _) => drop(process.call(said(1 - rank as usize, at))),
                // One says nothing.
                (2, 0) => {}
                (2, _) => drop(process.call(said(1, at))),
                _ => drop(process.call(said(5, at))),
            }
            one_message(process, rank, at);
        });
    }
    let both = format!("{} | {}", NAMES[0], NAMES[1]);
    let expected = [
        entry("linear", &both, 2),
        entry("linear", NAMES[5], 1),
        entry("pipeline", NAMES[1], 1),
    ];
    assert_eq!(told(&trace.analyze(), "MPI_Bcast"), expected);
}

#[test]
fn a_graph_that_contradicts_what_was_said_is_counted_and_told() {
    let mut trace = trace(3, true);
    // Nobody sends to 2 directly, in a tree of two children.
    for at in (0..5).map(|n| 1000 * n) {
        each(&mut trace, |process, rank| {
            process.call(call(Operation::Bcast, 0, 0, 8, (at, at + 500)));
            process.call(said(0, at));
            if rank > 0 {
                let stamps = (at + 10 * u64::from(rank), at + 30 * u64::from(rank));
                process.call(message(Direction::Receive, 0, rank - 1, stamps));
            }
            if rank < 2 {
                let stamps = (at + 40 * u64::from(rank) + 5, at + 40 * u64::from(rank) + 8);
                process.call(message(Direction::Send, 0, rank + 1, stamps));
            }
        });
    }
    let analysis = trace.analyze();
    let found = &analysis.operations[0];
    assert_eq!(told(&analysis, "MPI_Bcast"), [entry("binary", NAMES[0], 5)]);
    assert_eq!(found.contradicted, 5);
    let also = &found.trees.as_ref().unwrap()[0].also;
    assert!(also.contains(&"pipeline".into()), "{also:?}");
    assert!(codes(&analysis).contains(&"algorithm_contradicted"));
}

#[test]
fn what_is_said_of_a_call_that_only_begins_is_told_of_the_whole() {
    let mut trace = trace(2, false);
    each(&mut trace, |process, _| {
        for at in [0, 1000] {
            process.call(begin(Operation::Ialltoall, 0, -1, 8, (at, at + 100)));
            process.call(said(4, at));
        }
        for (position, at) in [(0, 2000), (1, 3000)] {
            let of = initiation(0, position);
            process.call(complete(of, CompletingCall::Wait, 1, (at, at + 50)));
        }
    });
    let expected = entry("pairwise", NAMES[4], 2);
    assert_eq!(told(&trace.analyze(), "MPI_Ialltoall"), [expected]);
}

#[test]
fn the_screen_tells_communicators_on_which_it_is_done_alike_together() {
    let mut trace = trace(4, false);
    let mut at = 0;
    for made in 0..6u32 {
        let members = if made < 5 {
            vec![0, 1, 2, 3]
        } else {
            vec![0, 1]
        };
        each(&mut trace, |process, rank| {
            process.call(call(Operation::CommSplit, 0, -1, 0, (at, at + 100)));
            if members.contains(&rank) {
                let made_by = u64::from(made);
                process.define(split(2 + made, 50 + made_by, &members, rank, made_by));
                process.call(call(Operation::Bcast, 2 + made, 0, 8, (at + 200, at + 300)));
                process.call(said(usize::from(made == 5), at + 200));
            }
        });
        at += 1000;
    }
    let screen = collbench_report::to_text(&trace.analyze(), None);
    let told = screen.split("Algorithms").nth(1).unwrap();
    let told = told.split("\n\n").next().unwrap();
    let told = generated::in_one_line(told);
    assert_has(&told, "and 3 others: binary (5 instances of 8 bytes)");
    assert_has(&told, "pipeline (1 instance of 8 bytes)");
    assert_eq!(told.matches("MPI_Bcast").count(), 2, "{told}");
}

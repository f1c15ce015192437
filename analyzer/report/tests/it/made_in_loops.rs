//! Communicators that a program makes again and again.

use collbench_analyzer::Analysis;
use collbench_formats::{
    CallSite, Communicator, Definition, Layer, LayerState, Module, Operation, SiteFrame,
};
use collbench_report::to_text;

use crate::built::{TestProcess, TestTrace, call, codes, split};
use crate::generated;

/// Ranks that make communicators at two places in the program, at 16 and 32.
fn ranks(n: u32) -> TestTrace {
    let mut trace = TestTrace::new(n);
    for process in &mut trace.processes {
        let layers = &mut process.identity.layers;
        layers.push(LayerState::new(Layer::Sites, true, ""));
        process.definitions.push(Definition::Module(Module {
            index: 0,
            path: "/tmp/app".to_owned(),
            build_id: Vec::new(),
        }));
        for (index, address) in [(0, 16), (1, 32)] {
            process.definitions.push(Definition::CallSite(CallSite {
                index,
                frames: vec![SiteFrame { module: 0, address }],
                is_whole: true,
            }));
        }
    }
    trace
}

/// A communicator made from `site`, and an allreduce on it.
fn make(process: &mut TestProcess, communicator: Communicator, site: u32) {
    let index = communicator.index;
    process.define(communicator);
    let made_at = Definition::CommunicatorSite { index, site };
    process.definitions.push(made_at);
    let at = 1000 * u64::from(index);
    let sum = call(Operation::Allreduce, index, -1, 8, (at, at + 100));
    process.call(sum);
}

fn dup(index: u32, rank: u32) -> Communicator {
    let position = u64::from(index);
    Communicator {
        constructor: Operation::CommDup.code(),
        ..split(index, 1000 + position, &[0, 1], rank, position)
    }
}

fn names(analysis: &Analysis) -> Vec<&str> {
    let all = analysis.communicators.iter();
    all.map(|of| of.name.as_str()).collect()
}

/// The rows of an operation on the screen.
fn rows(analysis: &Analysis, operation: &str) -> Vec<String> {
    let text = generated::plain(&to_text(analysis, None));
    let lines = text.lines().map(str::trim);
    let rows = lines.filter(|line| line.starts_with(&format!("{operation} ")));
    rows.map(generated::in_one_line).collect()
}

#[test]
fn what_a_loop_makes_at_one_place_is_one_communicator_of_the_results() {
    let mut trace = ranks(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        for index in 2..6 {
            make(process, dup(index, rank), 0);
        }
        // Made alike, but twice only.
        make(process, dup(6, rank), 1);
        make(process, dup(7, rank), 1);
    }
    let analysis = trace.analyze();
    let together = "MPI_Comm_dup of MPI_COMM_WORLD (4 communicators)";
    let last = ["MPI_Comm_dup 5", "MPI_Comm_dup 6"].map(|name| format!("{name} of MPI_COMM_WORLD"));
    assert_eq!(
        names(&analysis),
        [
            "MPI_COMM_WORLD",
            "MPI_COMM_SELF",
            together,
            &last[0],
            &last[1]
        ]
    );
    let of_loop = &analysis.communicators[2];
    assert_eq!((of_loop.count, of_loop.size), (4, 2));
    assert_eq!(analysis.sites[of_loop.site.unwrap()].place(), "app+0x10");
    assert_eq!(codes(&analysis), ["communicators_together"]);
    let operations = analysis.operations.iter();
    let on: Vec<_> = operations
        .map(|of| (of.communicator, of.instances))
        .collect();
    assert_eq!(on, [(Some(2), 4), (Some(3), 1), (Some(4), 1)]);
    let rows = rows(&analysis, "MPI_Allreduce");
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert!(
        rows[0].starts_with("MPI_Allreduce dup (4) - 8 8 4"),
        "{rows:?}"
    );
}

#[test]
fn communicators_of_other_members_made_at_one_place_are_one_row_for_each_size() {
    let mut trace = ranks(4);
    // Each step makes a pair, and the others are three in the last one.
    let steps: [&[u32]; 5] = [&[0, 1], &[1, 2], &[2, 3], &[0, 3], &[0, 1, 2]];
    for (position, members) in (0..).zip(steps) {
        for &rank in members {
            let index = 2 + position as u32;
            let made = split(index, 500 + position, members, rank, position);
            make(&mut trace.processes[rank as usize], made, 0);
        }
    }
    let analysis = trace.analyze();
    let all = names(&analysis);
    let alike = all
        .iter()
        .filter(|name| **name == "MPI_Comm_split of MPI_COMM_WORLD");
    assert_eq!(alike.count(), 4, "{all:?}");
    let rows = rows(&analysis, "MPI_Allreduce");
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(
        rows[0].starts_with("MPI_Allreduce split (4) - 8 8 4"),
        "{rows:?}"
    );
    assert!(
        rows[1].starts_with("MPI_Allreduce split 5 - 8 3 1"),
        "{rows:?}"
    );
}

#[test]
fn what_a_loop_makes_of_what_it_made_has_one_parent() {
    let mut trace = ranks(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        for step in 0..3 {
            let parent = dup(2 + 2 * step, rank);
            let half = Communicator {
                parent: parent.index,
                ..split(3 + 2 * step, 2000 + u64::from(step), &[0, 1], rank, 0)
            };
            make(process, parent, 0);
            make(process, half, 1);
        }
    }
    let analysis = trace.analyze();
    assert_eq!(
        names(&analysis)[2..],
        [
            "MPI_Comm_dup of MPI_COMM_WORLD (3 communicators)",
            "MPI_Comm_split of communicator 2 (3 communicators)"
        ]
    );
}

#[test]
fn names_that_the_program_gave_stay_apart() {
    let mut trace = ranks(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        for index in 2..8 {
            let name = if index % 2 == 0 { "rows" } else { "columns" };
            let made = Communicator {
                name: name.to_owned(),
                ..dup(index, rank)
            };
            make(process, made, 0);
        }
    }
    let analysis = trace.analyze();
    let expected = ["rows (3 communicators)", "columns (3 communicators)"];
    assert_eq!(names(&analysis)[2..], expected);
    let cells = rows(&analysis, "MPI_Allreduce");
    assert!(
        cells[0].starts_with("MPI_Allreduce rows (3) -"),
        "{cells:?}"
    );
}

#[test]
fn the_other_way_round_is_another_communicator() {
    let mut trace = ranks(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        for index in 2..8 {
            let mut made = dup(index, rank);
            if index % 2 == 1 {
                made.rank = 1 - made.rank;
            }
            make(process, made, 0);
        }
    }
    let analysis = trace.analyze();
    let ranks = analysis.communicators[2..].iter();
    let ranks: Vec<_> = ranks.map(|of| (of.count, of.ranks.clone())).collect();
    let both = [[Some(0), Some(1)], [Some(1), Some(0)]];
    assert_eq!(ranks, both.map(|ranks| (3, ranks.to_vec())));
    assert_eq!(n_calls(&analysis), 12);
}

/// Calls of all allreduces.
fn n_calls(analysis: &Analysis) -> u64 {
    let all = analysis.operations.iter();
    all.filter(|of| of.operation == "MPI_Allreduce")
        .map(|of| of.calls)
        .sum()
}

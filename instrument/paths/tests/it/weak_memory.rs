//! Short courses of operations of one host, few enough for Miri, which runs threads in any order and
//! lets loads return old values wherever the memory model allows that. docs/testing.md says how to run
//! them so, and under ThreadSanitizer.

use collbench_formats::tree::WrapperKind;
use collbench_paths::{Idle, InProcess, SimulatedCosts, Team, TeamOptions, WaitPolicy};

use crate::call::Call;
use crate::flat_tree::flat_tree;
use crate::random::Random;
use crate::run::on_all_with;

/// Calls of a course.
const CALLS: usize = if cfg!(miri) { 10 } else { 1000 };

/// Courses over a tree; a million calls in all if `COLLBENCH_TESTS_LONG` is in the environment, for ThreadSanitizer.
fn n_courses() -> u64 {
    match std::env::var_os("COLLBENCH_TESTS_LONG") {
        _ if cfg!(miri) => 1,
        Some(_) => 250,
        None => 1,
    }
}

/// `n_ranks` pass short values, and values that are divided among them, over a tree of this kind.
fn courses(kind: WrapperKind, n_ranks: u32) {
    for seed in 0..n_courses() {
        course(kind, n_ranks, seed);
    }
}

fn course(kind: WrapperKind, n_ranks: u32, seed: u64) {
    let owner = match kind {
        WrapperKind::Exchange => 0,
        _ => n_ranks - 1,
    };
    let tree = flat_tree(kind, 0..n_ranks, owner);
    let options = TeamOptions {
        segment_bytes: 144,
        // Copies by the kernel are not what is tried here.
        copy_once_from: usize::MAX,
        divide_from: 200,
        copy_slices_from: usize::MAX,
        divide_to_root_from: 200,
        ..TeamOptions::new(WaitPolicy::new(Idle::Yield))
    };
    let on_rank = {
        let tree = tree.clone();
        move |team: &mut Team<InProcess>, me: u32| {
            let mut calls = Random::new(seed);
            let mut delays = Random::new(seed << 8 | u64::from(me));
            for _ in 0..CALLS {
                let call = Call {
                    count: calls.below(40),
                    ..Call::random(&mut calls, n_ranks as usize)
                };
                (0..delays.below(3)).for_each(|_| std::thread::yield_now());
                let got = call.got(team, n_ranks, me);
                if let Some(expected) = call.expected(&tree, me) {
                    assert!(got == expected, "rank {me}, {call:?}, {kind:?}");
                }
            }
        }
    };
    let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
    on_all_with(processes, &tree, options, on_rank);
}

#[test]
fn two_ranks_that_read_one_another_get_what_was_written() {
    courses(WrapperKind::Exchange, 2);
}

#[test]
fn three_ranks_that_read_one_another_get_what_was_written() {
    courses(WrapperKind::Exchange, 3);
}

#[test]
fn two_ranks_below_one_of_them_get_what_was_written() {
    courses(WrapperKind::Gred, 2);
}

#[test]
fn three_ranks_below_one_of_them_get_what_was_written() {
    courses(WrapperKind::Gred, 3);
}

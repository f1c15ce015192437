//! Short courses of operations of one host, few enough for Miri, which runs threads in any order and
//! lets loads return old values wherever the memory model allows that:
//!
//!     MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..64" cargo +nightly miri test \
//!         -p collbench-paths --test it weak_memory

use collbench_formats::tree::WrapperKind;
use collbench_paths::{Idle, InProcess, SimulatedCosts, Team, TeamOptions, WaitPolicy};

use crate::call::Call;
use crate::flat_tree::flat_tree;
use crate::random::Random;
use crate::run::on_all_with;

/// Calls of a course.
const CALLS: usize = if cfg!(miri) { 10 } else { 2000 };

/// All orders in which `n_ranks` pass short values, and values that are divided among them, over a tree of
/// this kind.
fn course(kind: WrapperKind, n_ranks: u32) {
    let owner = match kind {
        WrapperKind::Exchange => 0,
        _ => n_ranks - 1,
    };
    let tree = flat_tree(kind, 0..n_ranks, owner);
    let mut random = Random::new(u64::from(n_ranks));
    let calls: Vec<Call> = (0..CALLS)
        .map(|_| Call {
            count: random.below(40),
            ..Call::random(&mut random, n_ranks as usize)
        })
        .collect();
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
        let (tree, calls) = (tree.clone(), calls.clone());
        move |team: &mut Team<InProcess>, me: u32| {
            let mut random = Random::new(u64::from(me));
            let all = calls.iter().map(|call| {
                (0..random.below(3)).for_each(|_| std::thread::yield_now());
                call.got(team, tree.n_ranks(), me)
            });
            all.collect::<Vec<_>>()
        }
    };
    let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
    let results = on_all_with(processes, &tree, options, on_rank);
    for (me, results) in (0..).zip(results) {
        for (call, got) in calls.iter().zip(results) {
            if let Some(expected) = call.expected(&tree, me) {
                assert!(got == expected, "rank {me}, {call:?}, {kind:?}");
            }
        }
    }
}

#[test]
fn two_ranks_that_read_one_another_get_what_was_written() {
    course(WrapperKind::Exchange, 2);
}

#[test]
fn three_ranks_that_read_one_another_get_what_was_written() {
    course(WrapperKind::Exchange, 3);
}

#[test]
fn two_ranks_below_one_of_them_get_what_was_written() {
    course(WrapperKind::Gred, 2);
}

#[test]
fn three_ranks_below_one_of_them_get_what_was_written() {
    course(WrapperKind::Gred, 3);
}

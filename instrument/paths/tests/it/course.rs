//! Courses of random operations over random trees.

use std::ops::Range;
use std::time::Duration;

use collbench_paths::{InProcess, SimulatedCosts, Team};

use crate::call::Call;
use crate::random::{Random, random_tree};
use crate::run::on_all_ranks;

/// What disturbs a rank before a call.
fn dawdle(random: &mut Random) {
    match random.below(40) {
        0 => std::thread::sleep(Duration::from_micros(random.below(300) as u64)),
        1..=8 => (0..random.below(30)).for_each(|_| std::thread::yield_now()),
        _ => {}
    }
}

/// Runs a course of `n_calls` over a tree made from `seed`, and compares all results.
fn course(seed: u64, n_calls: usize) {
    let mut random = Random::new(seed);
    let n_ranks = 1 + random.below(9);
    let tree = random_tree(&mut random, n_ranks);
    // At least an element of a matrix for each of nine runs or ranks.
    let segment_bytes = [144, 200, 1000, 4096][random.below(4)];
    let calls: Vec<Call> = (0..n_calls)
        .map(|_| Call::random(&mut random, n_ranks))
        .collect();
    let on_rank = {
        let (tree, calls) = (tree.clone(), calls.clone());
        move |team: &mut Team<InProcess>, me: u32| {
            let mut random = Random::new(seed ^ u64::from(me + 1) << 40);
            let all = calls.iter().map(|call| {
                dawdle(&mut random);
                call.got(team, tree.n_ranks(), me)
            });
            all.collect::<Vec<_>>()
        }
    };
    let results = on_all_ranks(&tree, segment_bytes, SimulatedCosts::default(), on_rank);
    for (me, results) in (0..).zip(results) {
        for (nth, (call, got)) in calls.iter().zip(results).enumerate() {
            if let Some(expected) = call.expected(&tree, me) {
                assert!(
                    got == expected,
                    "seed {seed}, rank {me}, call {nth}: {call:?}\n{tree:#?}\n{segment_bytes}"
                );
            }
        }
    }
}

/// Which random trees are tried: `COLLBENCH_RANDOM_TREES` in the environment, as their number or,
/// to try them in several runs, as in `1000..2000`; otherwise as many as take some seconds.
fn seeds() -> Range<u64> {
    let Ok(given) = std::env::var("COLLBENCH_RANDOM_TREES") else {
        return 0..1000;
    };
    let (first, end) = given.split_once("..").unwrap_or(("0", &given));
    let number = |text: &str| text.parse().expect("COLLBENCH_RANDOM_TREES is no number");
    number(first)..number(end)
}

#[test]
fn random_operations_over_random_trees_give_what_they_are_by_definition() {
    // Among the others are two in which one process brings the values of two partners of an
    // exchange, or puts other values together between giving its own and taking those of partners.
    for seed in seeds().chain([722, 2767]) {
        course(seed, 12);
    }
}

#[test]
fn ranks_may_run_ahead_for_thousands_of_operations() {
    for seed in 0..4 {
        course(seed + (1 << 32), 1500);
    }
}

//! Long values that processes of one host copy from where the root has them, where that is granted.

use collbench_formats::tree::WrapperKind;
use collbench_paths::{Error, Idle, InProcess, SimulatedCosts, TeamOptions, Transport, WaitPolicy};

use crate::flat_tree::flat_tree;
use crate::random::{Random, random_tree};
use crate::run::on_all_with;

fn options(copy_once_from: usize, segment_bytes: usize) -> TeamOptions {
    TeamOptions {
        copy_once_from,
        segment_bytes,
        ..TeamOptions::new(WaitPolicy::new(Idle::Yield))
    }
}

fn bytes_of(salt: u64, n: usize) -> Vec<u8> {
    let mut random = Random::new(salt);
    (0..n).map(|_| random.next() as u8).collect()
}

#[test]
fn broadcasts_are_what_the_root_has_whoever_is_refused() {
    for seed in 0..150 {
        let mut random = Random::new(seed + 40_000);
        let n_ranks = 2 + random.below(7);
        let tree = match random.below(4) {
            0 => random_tree(&mut random, n_ranks),
            1 => flat_tree(WrapperKind::Exchange, 0..n_ranks as u32, 0),
            _ => flat_tree(
                WrapperKind::Gred,
                0..n_ranks as u32,
                random.below(n_ranks) as u32,
            ),
        };
        let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
        let processes = processes.into_iter().map(|process| match random.below(3) {
            0 => process.granting(random.below(6) as u64),
            _ => process,
        });
        let processes = processes.collect();
        let options = options(1 + random.below(600), [64, 144, 1000][random.below(3)]);
        let calls: Vec<(u64, usize, u32, u32, usize)> = (0..30)
            .map(|_| {
                let n = random.below(3000);
                let odd = random.below(n_ranks) as u32;
                // One process may have a buffer of another length, which is an error of the program.
                let own = if random.one_in(4) {
                    random.below(3000)
                } else {
                    n
                };
                (random.next(), n, random.below(n_ranks) as u32, odd, own)
            })
            .collect();
        let expected = calls.clone();
        let results = on_all_with(processes, &tree, options, move |team, me| {
            let mut got = Vec::new();
            for &(salt, n, root, odd, own) in &calls {
                let n = if me == odd { own } else { n };
                let mut buffer = if me == root {
                    bytes_of(salt, n)
                } else {
                    vec![0xcc; n]
                };
                let outcome = team.bcast(&mut buffer, root);
                // The root may change what it has as soon as it is out of the call.
                got.push((outcome, buffer.clone()));
                buffer.fill(0xee);
            }
            got
        });
        for (me, of_rank) in (0..).zip(&results) {
            for (&(salt, n, root, odd, own), (outcome, got)) in expected.iter().zip(of_rank) {
                let given = bytes_of(salt, if root == odd { own } else { n });
                let room = if me == odd { own } else { n };
                let n_stored = given.len().min(room);
                assert_eq!(got[..n_stored], given[..n_stored], "seed {seed}, rank {me}");
                assert!(got[n_stored..].iter().all(|&byte| byte == 0xcc));
                let is_too_long = given.len() > room;
                let error = Err(Error::Truncated);
                assert_eq!(
                    *outcome,
                    if is_too_long { error } else { Ok(()) },
                    "seed {seed}"
                );
            }
        }
    }
}

#[test]
fn only_long_values_are_copied_once_and_no_more_by_a_root_that_knows_of_a_refusal() {
    let tree = flat_tree(WrapperKind::Gred, 0..4, 2);
    let costs = SimulatedCosts::default;
    // Copies that ranks other than 0 have asked for after broadcasts of 99, 100, 100 and 100 bytes.
    let n_asked = |n_granted: u64| {
        let processes = InProcess::processes(tree.hosts(), costs());
        let granting = |process: InProcess| {
            let n_granted = if process.rank() == 3 { n_granted } else { 10 };
            process.granting(n_granted)
        };
        let processes = processes.into_iter().map(granting).collect();
        let results = on_all_with(processes, &tree, options(100, 64), |team, me| {
            let n_asked: [u64; 4] = [99, 100, 100, 100].map(|n| {
                let mut buffer = if me == 0 { bytes_of(7, n) } else { vec![0; n] };
                team.bcast(&mut buffer, 0).unwrap();
                assert_eq!(buffer, bytes_of(7, n));
                team.transport().n_asked_to_copy()
            });
            n_asked
        });
        results[1..].to_vec()
    };
    // The machine may forbid it altogether; then each process asks once.
    let all = n_asked(u64::MAX);
    assert!(
        all == [[0, 1, 2, 3]; 3] || all == [[0, 1, 1, 1]; 3],
        "{all:?}"
    );
    if all == [[0, 1, 2, 3]; 3] {
        assert_eq!(n_asked(1), [[0, 1, 2, 2]; 3]);
    }
    assert_eq!(n_asked(0), [[0, 1, 1, 1]; 3]);
}

//! Long reductions that the processes of one host divide among them.

use std::sync::Arc;

use collbench_formats::tree::{Collective, WrapperKind, Wrappers};
use collbench_paths::{
    Buffers, Elements, Error, Idle, InProcess, Kernel, Reduction, SimulatedCosts, TeamOptions,
    WaitPolicy,
};

use crate::call::Call;
use crate::flat_tree::flat_tree;
use crate::random::{Random, with_collectors};
use crate::reference::Op;
use crate::run::on_all_with;

/// All ranks of one host contribute to one wrapper, in any order.
fn any_flat_tree(random: &mut Random, n_ranks: u32) -> Wrappers {
    let mut ranks: Vec<u32> = (0..n_ranks).collect();
    if random.one_in(2) {
        (0..ranks.len()).for_each(|nth| ranks.swap(nth, random.below(n_ranks as usize)));
    }
    let kind = if random.one_in(2) {
        WrapperKind::Gred
    } else {
        WrapperKind::Exchange
    };
    let owner = ranks[0];
    flat_tree(kind, ranks, owner)
}

/// A random call, every other one an allreduce, with up to 600 elements of each rank.
fn long_call(random: &mut Random, n_ranks: usize) -> Call {
    let call = Call::random(random, n_ranks);
    Call {
        collective: if random.one_in(2) {
            Collective::Allreduce
        } else {
            call.collective
        },
        count: random.below(601),
        ..call
    }
}

fn options(random: &mut Random, segment_bytes: usize) -> TeamOptions {
    TeamOptions {
        segment_bytes,
        // Never, where it is longer than all values.
        copy_once_from: random.below(3000),
        divide_from: random.below(1000),
        divide_to_root_from: random.below(3000),
        ..TeamOptions::new(WaitPolicy::new(Idle::Yield))
    }
}

/// The processes of one host, some of which are refused copies sooner or later.
fn processes(random: &mut Random, tree: &Wrappers) -> Vec<InProcess> {
    let all = InProcess::processes(tree.hosts(), SimulatedCosts::default());
    let all = all.into_iter().map(|process| match random.below(4) {
        0 => process.granting(random.below(40) as u64),
        _ => process,
    });
    all.collect()
}

#[test]
fn divided_reductions_give_the_same_bits_whoever_is_refused_and_leave_others_alone() {
    for seed in 0..15 {
        let mut random = Random::new(seed + 90_000);
        let n_ranks = 2 + random.below(8);
        let mut tree = any_flat_tree(&mut random, n_ranks as u32);
        if random.one_in(3) {
            tree = with_collectors(&tree, || random.one_in(2));
        }
        let segment_bytes = [144, 200, 1000][random.below(3)];
        let options = options(&mut random, segment_bytes);
        let processes = processes(&mut random, &tree);
        let calls: Arc<[Call]> = (0..12).map(|_| long_call(&mut random, n_ranks)).collect();
        let executed = Arc::clone(&calls);
        let results = on_all_with(processes, &tree, options, move |team, me| {
            let all = executed.iter();
            all.map(|call| call.got(team, n_ranks as u32, me))
                .collect::<Vec<_>>()
        });
        for (me, got) in (0..).zip(results) {
            for (nth, (call, got)) in calls.iter().zip(got).enumerate() {
                if let Some(expected) = call.expected(&tree, me) {
                    assert!(
                        got == expected,
                        "seed {seed}, rank {me}, call {nth}: {call:?}\n{options:?}\n{tree:#?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_process_with_another_length_is_an_error_for_all_and_later_ones_are_right() {
    for seed in 0..15 {
        let mut random = Random::new(seed + 91_000);
        let n_ranks = 2 + random.below(6);
        let tree = any_flat_tree(&mut random, n_ranks as u32);
        let options = options(&mut random, 144);
        let processes = processes(&mut random, &tree);
        let odd = random.below(n_ranks) as u32;
        let (n, own) = (random.below(500), random.below(500));
        let outcomes = on_all_with(processes, &tree, options, move |team, me| {
            let count = if me == odd { own } else { n };
            let mut values = 1_u64.to_ne_bytes().repeat(count);
            let first = team.allreduce(Buffers::InPlace(&mut values), &mut Op::Sum);
            let mut sum = 1_u64.to_ne_bytes().repeat(n + 1);
            for _ in 0..5 {
                team.allreduce(Buffers::InPlace(&mut sum), &mut Op::Sum)
                    .unwrap();
                team.bcast(&mut sum, odd).unwrap();
            }
            (first, sum)
        });
        let expected = (n_ranks as u64).pow(5).to_ne_bytes().repeat(n + 1);
        for (first, sum) in outcomes {
            let error = if n == own {
                Ok(())
            } else {
                Err(Error::Truncated)
            };
            assert_eq!(first, error, "seed {seed}: {own} for {n}, {options:?}");
            assert!(sum == expected, "seed {seed}: {own} for {n}, {options:?}");
        }
    }
}

#[test]
fn gaps_between_elements_stay_as_they_are() {
    let mut random = Random::new(92_000);
    let tree = any_flat_tree(&mut random, 3);
    let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
    let options = TeamOptions {
        divide_from: 1,
        segment_bytes: 144,
        ..TeamOptions::new(WaitPolicy::new(Idle::Yield))
    };
    const N: usize = 700;
    let results = on_all_with(processes, &tree, options, |team, me| {
        let mut kernel = Kernel::new(Reduction::Maxloc, Elements::DoubleInt).unwrap();
        let element = |nth: usize| {
            let value = ((nth * 7 + me as usize * 5) % 11) as f64;
            let mut bytes = [0xaa; 16];
            bytes[..8].copy_from_slice(&value.to_ne_bytes());
            bytes[8..12].copy_from_slice(&me.to_ne_bytes());
            bytes
        };
        let given: Vec<u8> = (0..N).flat_map(element).collect();
        let mut result = vec![0xbb; given.len()];
        team.allreduce(Buffers::Two(&given, &mut result), &mut kernel)
            .unwrap();
        result
    });
    for result in results {
        for (nth, element) in result.chunks(16).enumerate() {
            let values = (0..3).map(|rank| ((nth * 7 + rank * 5) % 11, rank));
            // The lowest rank among equal ones.
            let (value, rank) = values
                .max_by_key(|&(value, rank)| (value, 3 - rank))
                .unwrap();
            assert_eq!(element[..8], (value as f64).to_ne_bytes());
            assert_eq!(element[8..12], (rank as u32).to_ne_bytes());
            assert_eq!(element[12..], [0xbb; 4]);
        }
    }
}

#[test]
fn each_process_copies_its_slice_from_each_other_one_and_theirs_from_where_results_go() {
    let tree = any_flat_tree(&mut Random::new(93_000), 4);
    let n_asked = |idle, from| {
        let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
        let options = TeamOptions {
            copy_once_from: from,
            copy_slices_from: from,
            divide_from: 100,
            ..TeamOptions::new(WaitPolicy::new(idle))
        };
        on_all_with(processes, &tree, options, |team, _| {
            let in_place = [96, 104].map(|n| {
                let mut values = vec![1; n];
                team.allreduce(Buffers::InPlace(&mut values), &mut Op::Sum)
                    .unwrap();
                assert_eq!(values, vec![4; n]);
                team.transport().n_asked_to_copy()
            });
            // Slices of the last one are copied in two parts.
            let apart = [104, 4 * (100 << 10)].map(|n| {
                let mut result = vec![0; n];
                team.allreduce(Buffers::Two(&vec![1; n], &mut result), &mut Op::Sum)
                    .unwrap();
                assert!(result == vec![4; n]);
                team.transport().n_asked_to_copy()
            });
            let all = [in_place, apart].concat();
            (0..4)
                .map(|nth| all[nth] - all[nth.max(1) - 1])
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(n_asked(Idle::Yield, usize::MAX), vec![vec![0, 0, 0, 0]; 4]);
    let expect = |all: Vec<Vec<_>>, granted: [_; 4]| {
        // The machine may forbid it; then each process asks once.
        let is_forbidden = all == vec![vec![0, 1, 0, 0]; 4];
        assert!(is_forbidden || all == vec![granted.to_vec(); 4], "{all:?}");
    };
    // In rounds, since the shared memory has room for two segments of each.
    expect(n_asked(Idle::Yield, 100), [0, 3, 3, 21]);
    expect(n_asked(Idle::Spin, 100), [0, 3, 6, 9]);
}

#[test]
fn values_of_which_some_processes_have_no_slice_are_exchanged_all_the_same() {
    for n_ranks in [2, 3] {
        let tree = any_flat_tree(&mut Random::new(94_000), n_ranks);
        let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
        let options = TeamOptions {
            copy_once_from: 0,
            copy_slices_from: 0,
            divide_from: 0,
            ..TeamOptions::new(WaitPolicy::new(Idle::Spin))
        };
        on_all_with(processes, &tree, options, move |team, _| {
            let mut kernel = Kernel::new(Reduction::Sum, Elements::Int64).unwrap();
            for n in [0, 1, 2, 3, 7] {
                let mut result = vec![0; 8 * n];
                let given = 3_u64.to_ne_bytes().repeat(n);
                team.allreduce(Buffers::Two(&given, &mut result), &mut kernel)
                    .unwrap();
                assert_eq!(result, (3 * u64::from(n_ranks)).to_ne_bytes().repeat(n));
            }
        });
    }
}

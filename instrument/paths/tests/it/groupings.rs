//! Results to the bit, as the groupings of trees say that predictions are made from.

use collbench_formats::tree::{Collective, Wrappers};
use collbench_paths::SimulatedCosts;
use collbench_schedules::own_trees::{TreeCall, grouping, numerics};

use crate::call::Call;
use crate::random::{Random, random_tree};
use crate::reference::Op;
use crate::run::on_all_ranks;

/// A reduction of doubles.
fn random_call(random: &mut Random, n_ranks: usize) -> Call {
    Call {
        collective: [Collective::Allreduce, Collective::Reduce][random.below(2)],
        op: Op::Floats,
        ..Call::random(random, n_ranks)
    }
}

fn tree_call(call: Call) -> TreeCall {
    TreeCall {
        collective: call.collective,
        root: call.root,
        bytes: call.count as u64 * 8,
        element_bytes: 8,
    }
}

/// What a grouping says that each rank gets, as bytes; empty where it gets nothing.
fn predicted(tree: &Wrappers, call: Call) -> Vec<Vec<u8>> {
    let grouping = grouping(tree, &tree_call(call)).expect("trees do such calls");
    let grouping = grouping.expect("it reduces");
    let values: Vec<Vec<u8>> = (0..tree.n_ranks()).map(|rank| call.value(rank)).collect();
    let mut all = vec![Vec::new(); values.len()];
    for element in 0..call.count {
        let of_rank = |rank: usize| {
            let bytes = &values[rank][8 * element..][..8];
            f64::from_ne_bytes(bytes.try_into().unwrap())
        };
        let results = grouping.evaluate(of_rank, |one, other| one + other);
        for (all, result) in all.iter_mut().zip(results) {
            all.extend(
                result
                    .iter()
                    .flat_map(|(_, value)| value.to_bits().to_ne_bytes()),
            );
        }
    }
    all
}

#[test]
fn groupings_are_those_of_the_definition() {
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let n_ranks = 1 + random.below(12);
        let tree = random_tree(&mut random, n_ranks);
        let call = random_call(&mut random, n_ranks);
        for (rank, predicted) in (0..).zip(predicted(&tree, call)) {
            let expected = call.expected(&tree, rank).unwrap_or_default();
            assert_eq!(predicted, expected, "rank {rank}: {call:?}\n{tree:#?}");
        }
    }
}

#[test]
fn results_have_the_bits_of_the_grouping_whatever_way_they_go() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let n_ranks = 2 + random.below(8);
        let tree = random_tree(&mut random, n_ranks);
        // Also so long that the work is divided among the processes of a host.
        let count = [20, 200, 3000][random.below(3)];
        let call = Call {
            count,
            ..random_call(&mut random, n_ranks)
        };
        let n = tree.n_ranks();
        let got = on_all_ranks(&tree, 1024, SimulatedCosts::default(), move |team, me| {
            call.got(team, n, me)
        });
        let predicted = predicted(&tree, call);
        for (rank, (got, predicted)) in got.iter().zip(&predicted).enumerate() {
            let is_given = call.collective == Collective::Allreduce || rank == call.root as usize;
            assert!(
                !is_given || got == predicted,
                "rank {rank}: {call:?}\n{tree:#?}"
            );
        }
    }
}

/// Trees of the same rule on other hosts, and what is said of them.
#[test]
fn what_is_same_for_other_mappings_is_so_in_what_is_executed() {
    let (mut n_same, mut n_other) = (0, 0);
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let n_ranks = 2 + random.below(7);
        let tree = random_tree(&mut random, n_ranks);
        let other = random_tree(&mut random, n_ranks);
        let call = Call {
            // So many that a difference shows in one of them.
            count: 500,
            ..random_call(&mut random, n_ranks)
        };
        let others = std::slice::from_ref(&other);
        let said = numerics(&tree, &tree_call(call), others, |_| None).unwrap();
        let root = call.root;
        let [one, other] = [&tree, &other].map(|tree| call.expected(tree, root));
        match said.same_for_other_mappings {
            Some(true) => assert_eq!(one, other, "{call:?}"),
            Some(false) => assert_ne!(one, other, "{call:?}"),
            None => panic!("the other mapping is known"),
        }
        let is_same = said.same_for_other_mappings == Some(true);
        *(if is_same { &mut n_same } else { &mut n_other }) += 1;
    }
    assert!(n_same > 50 && n_other > 50, "{n_same} {n_other}");
}

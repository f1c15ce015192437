//! What event collectors record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use collbench_formats::tree::{Contributor, WrapperKind, Wrappers};
use collbench_paths::{Buffers, Error, InProcess, Pass, SimulatedCosts, Team};

use crate::random::{Random, random_tree, with_collectors};
use crate::reference::Op;
use crate::run::on_all_ranks;

/// Each segment has two words, and each rank brings five.
const SEGMENT_BYTES: usize = 144;
const SEGMENTS: [u32; 2] = [0, 1];

/// All passes of one operation over a tree, by collector and segment.
fn passes(
    tree: &Wrappers,
    operation: impl Fn(&mut Team<InProcess>) -> Result<(), Error> + Clone + Send + 'static,
) -> HashMap<(u32, u32), Pass> {
    let all = on_all_ranks(
        tree,
        SEGMENT_BYTES,
        SimulatedCosts::default(),
        move |team, _| {
            let passes = Arc::new(Mutex::new(Vec::new()));
            let collected = Arc::clone(&passes);
            team.set_collect(Some(Box::new(move |pass| {
                collected.lock().unwrap().push(pass);
            })));
            operation(team).unwrap();
            team.set_collect(None);
            operation(team).unwrap();
            std::mem::take(&mut *passes.lock().unwrap())
        },
    );
    let mut found = HashMap::new();
    for pass in all.into_iter().flatten() {
        assert_eq!(pass.call, 1, "{pass:?}");
        let earlier = found.insert((pass.collector, pass.segment), pass);
        assert_eq!(earlier, None, "{tree:#?}");
    }
    found
}

/// All places for event collectors: contributor, wrapper, number.
fn places(tree: &Wrappers) -> Vec<(Contributor, u32, u32)> {
    let wrappers = (0..).zip(tree.all());
    let of_wrapper = wrappers.flat_map(|(idx, wrapper)| {
        let contributors = wrapper.contributors.iter();
        contributors.map(move |&of| {
            let number = match of {
                Contributor::Rank(rank) => rank,
                Contributor::Wrapper(above) => tree.n_ranks() + above,
            };
            (of, idx, number)
        })
    });
    of_wrapper.collect()
}

fn trees() -> impl Iterator<Item = Wrappers> {
    (0..120).map(|seed| {
        let mut random = Random::new(seed + 10_000);
        let n_ranks = 2 + random.below(8);
        let tree = random_tree(&mut random, n_ranks);
        with_collectors(&tree, || random.one_in(2))
    })
}

#[test]
fn collectors_that_are_on_see_each_value_come_down_and_go_back_in_the_order_of_the_tree() {
    for tree in trees() {
        let found = passes(&tree, |team| {
            let mut values = [1; 30 * 8];
            team.allreduce(Buffers::InPlace(&mut values), &mut Op::Sum)
        });
        let places = places(&tree);
        let on = places
            .iter()
            .filter(|(of, idx, _)| tree.collects(*of, *idx));
        assert_eq!(found.len(), on.count() * SEGMENTS.len(), "{tree:#?}");
        for segment in SEGMENTS {
            let pass = |number| found.get(&(number, segment));
            for &(of, idx, number) in &places {
                let Some(above) = pass(number) else {
                    assert!(!tree.collects(of, idx));
                    continue;
                };
                assert!(0 < above.down && above.down <= above.up);
                if let Some(below) = pass(tree.n_ranks() + idx) {
                    assert!(above.down <= below.down, "{tree:#?}");
                    assert!(below.up <= above.up, "{tree:#?}");
                }
                // Nobody leaves a join before the last has come.
                let beside = places.iter().filter(|(_, other, _)| *other == idx);
                for other in beside.filter_map(|&(_, _, number)| pass(number)) {
                    assert!(other.down <= above.up, "{tree:#?}");
                }
            }
        }
    }
}

/// The wrappers on the path of a rank.
fn path(tree: &Wrappers, rank: u32) -> Vec<Contributor> {
    let first = tree.first_wrappers()[rank as usize];
    let wrappers = tree.path(first).map(|(idx, _)| Contributor::Wrapper(idx));
    std::iter::once(Contributor::Rank(rank))
        .chain(wrappers)
        .collect()
}

/// Whether all ranks are above a contributor.
fn is_above_nobody_else(tree: &Wrappers, of: Contributor) -> bool {
    (0..tree.n_ranks()).all(|rank| path(tree, rank).contains(&of))
}

/// Checks a one-way operation: collectors on the path of the root see one direction, all others the
/// other one.
fn check_one_way(tree: &Wrappers, found: &HashMap<(u32, u32), Pass>, root: u32, to_root: bool) {
    let path = path(tree, root);
    for (of, idx, number) in places(tree) {
        for segment in SEGMENTS {
            let expects = tree.collects(of, idx) && !is_above_nobody_else(tree, of);
            let pass = found.get(&(number, segment));
            assert_eq!(
                pass.is_some(),
                expects,
                "{of:?} to {idx}, root {root}\n{tree:#?}"
            );
            if let Some(pass) = pass {
                let is_down = path.contains(&of) != to_root;
                assert_eq!((pass.down > 0, pass.up > 0), (is_down, !is_down));
            }
        }
    }
}

#[test]
fn collectors_see_a_value_once_where_data_flow_one_way() {
    for (nth, tree) in trees().enumerate() {
        let root = nth as u32 % tree.n_ranks();
        let found = passes(&tree, move |team| {
            let mut values = [1; 30 * 8];
            team.reduce(Buffers::InPlace(&mut values), &mut Op::Sum, root)
        });
        check_one_way(&tree, &found, root, true);
        let found = passes(&tree, move |team| team.bcast(&mut [1; 30 * 8], root));
        check_one_way(&tree, &found, root, false);
    }
}

#[test]
fn the_bottommost_wrapper_of_most_trees_is_a_core_and_of_some_an_exchange() {
    let n_exchanges = trees().filter(|tree| tree.bottommost().kind == WrapperKind::Exchange);
    let n_exchanges = n_exchanges.count();
    assert!((20..80).contains(&n_exchanges), "{n_exchanges}");
}

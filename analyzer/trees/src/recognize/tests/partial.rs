//! Schedules in which some messages are missing because a process has nothing to send or to
//! receive.

use super::*;

/// Without the messages, from the root of a tree, that carry nothing for any process below.
fn pruned(schedule: &Schedule, takes: impl Fn(u32) -> bool) -> Schedule {
    let mut has: BTreeSet<u32> = (0..schedule.n).filter(|&rank| takes(rank)).collect();
    let mut left = Schedule::new(schedule.n);
    for sent in schedule.sent.iter().rev() {
        if has.contains(&sent.to) {
            has.insert(sent.from);
            left.send(sent.from, sent.to);
        }
    }
    left.sent.reverse();
    left
}

fn only(schedule: &Schedule, is_left: impl Fn(&Sent) -> bool) -> Schedule {
    let mut left = Schedule::new(schedule.n);
    left.sent = schedule.sent.iter().copied().filter(is_left).collect();
    left
}

fn is_no_tree(found: &Flat) -> bool {
    found.names.contains(&Pattern::Unrecognized)
}

#[test]
fn part_of_a_tree_is_a_tree_whichever_processes_are_missing() {
    use Operation::{Allgatherv, Allreduce, Bcast, Gatherv, ReduceScatter, Scatterv};
    for n in 2..=8 {
        for schedule in [
            star(n),
            chain(n, 1),
            nomial_from_near(n, 2),
            nomial_from_far(n, 2),
            nomial_from_far(n, 3),
        ] {
            let name = schedule.recognize(Bcast, Some(0)).names[0];
            for some in 1..1u32 << n {
                let takes = |rank| some >> rank & 1 == 1;
                let up = pruned(&schedule, takes);
                if up.sent.is_empty() {
                    continue;
                }
                let down = up.reversed();
                for (operation, root, schedule) in [
                    (Scatterv, Some(0), &up),
                    (Gatherv, Some(0), &down),
                    (Allgatherv, None, &up),
                    (ReduceScatter, None, &down),
                ] {
                    let found = schedule.recognize(operation, root);
                    assert!(!is_no_tree(&found), "{operation:?} {n} {some:b}: {found:?}");
                    let is_known = found.names.iter().any(|&found| match found {
                        Pattern::To(part) | Pattern::From(part) => Pattern::Rooted(part) == name,
                        _ => found == name || matches!(found, Pattern::Rooted(_)),
                    });
                    assert!(is_known, "{operation:?} {n} {some:b}: {found:?}");
                }
                // If there is no reason to leave processes out, the name is their number.
                let found = up.recognize(Bcast, Some(0)).names[0];
                let n_up = up.sent.len() as u32 + 1;
                let is_all = n_up == n;
                assert_eq!(found == Pattern::Rooted(Rooted::TreeOfSome(n_up)), !is_all);
                // To a root and not back: MPICH reduces nothing.
                if is_all && n > 2 {
                    let found = down.recognize(Allreduce, None);
                    assert!(matches!(found.names[0], Pattern::To(_)), "{n}: {found:?}");
                }
            }
        }
    }
}

#[test]
fn a_reduction_may_be_scattered_to_some_or_to_no_processes() {
    for n in 3..=9 {
        let reduce = nomial_from_far(n, 2).reversed();
        for some in 0..1u32 << n {
            let scattered = only(&star(n), |sent| some >> sent.to & 1 == 1);
            for is_apart in [true, false] {
                let mut all = Schedule::new(n);
                reduce
                    .sent
                    .iter()
                    .for_each(|sent| all.send(sent.from, sent.to));
                if is_apart {
                    all = all.next_group();
                }
                scattered
                    .sent
                    .iter()
                    .for_each(|sent| all.send(sent.from, sent.to));
                let found = all.recognize(Operation::ReduceScatter, None);
                assert!(!is_no_tree(&found), "{n} {some:b} {is_apart}: {found:?}");
                let name = found.names[0].to_string();
                assert!(
                    name.contains("to the root"),
                    "{n} {some:b} {is_apart}: {name}"
                );
            }
        }
    }
}

#[test]
fn part_of_an_exchange_is_recognized() {
    for n in 3..=9 {
        let halving = folded_by(n, |n| {
            let mut distances: Vec<u32> = doubling(n).collect();
            distances.reverse();
            distances
        });
        let ring = around(n, (1..n).map(|_| 1));
        let pairwise = around(n, 1..n);
        for left_out in 0..1u32 << n {
            let has = |rank: u32| left_out >> rank & 1 == 0;
            for (operation, schedule, name) in [
                (
                    Operation::ReduceScatter,
                    &halving,
                    Pattern::RecursiveHalving,
                ),
                (Operation::Allgatherv, &ring, Pattern::Ring),
            ] {
                // There are no data for these.
                let left = only(schedule, |sent| has(sent.to));
                if left.sent.is_empty() {
                    continue;
                }
                let found = left.recognize(operation, None);
                assert!(
                    !is_no_tree(&found),
                    "{operation:?} {n} {left_out:b}: {found:?}"
                );
                // It may also be a tree to its root with a few messages back.
                let is_other = matches!(found.names[0], Pattern::ToAndFrom(..));
                assert!(
                    found.names.contains(&name) || is_other,
                    "{operation:?} {n} {left_out:b}: {found:?}"
                );
            }
            let left = only(&pairwise, |sent| has(sent.from));
            if !left.sent.is_empty() {
                let found = left.recognize(Operation::Alltoallv, None);
                assert_eq!(found.names[0], Pattern::Pairwise, "{n} {left_out:b}");
            }
        }
    }
    // One of two sends nothing.
    for (from, to) in [(0, 1), (1, 0)] {
        let mut one = Schedule::new(2);
        one.send(from, to);
        let found = one.recognize(Operation::Alltoallv, None);
        assert_eq!(found.names[0], Pattern::Linear);
    }
}

#[test]
fn the_everyday_cases_have_names() {
    let first = |n, edges: &[(u32, u32)], operation| {
        let mut schedule = Schedule::new(n);
        edges.iter().for_each(|&(from, to)| schedule.send(from, to));
        schedule.recognize(operation, None).names[0].to_string()
    };
    // Only rank 0 has something to send.
    let found = first(4, &[(0, 1), (0, 2), (1, 3)], Operation::Allgatherv);
    assert_eq!(found, "binomial from the root, nothing to it");
    // One element, which belongs to rank 0.
    let found = first(4, &[(1, 0), (2, 0), (3, 1)], Operation::ReduceScatter);
    assert_eq!(found, "binomial to the root, nothing back");
    // It belongs to rank 3: there is no root.
    let found = first(4, &[(0, 2), (1, 3), (2, 3)], Operation::ReduceScatter);
    assert_eq!(found, "recursive halving");
    let found = first(5, &[(0, 1), (2, 1), (1, 3)], Operation::Allreduce);
    assert_eq!(
        found,
        "tree of 4 of the processes to the root, nothing back"
    );
}

//! Reductions whose result is scattered or gathered, and gathering with synchronization: graphs
//! that are equal for few ranks, and graphs of other numbers of ranks than powers of two.

use super::*;

const ROOTED: fn(Rooted) -> Pattern = Pattern::Rooted;

#[test]
fn halving_begins_with_the_farthest_and_a_butterfly_with_the_nearest() {
    for n in SIZES {
        let halving = folded_by(n, |n| {
            let mut distances: Vec<u32> = doubling(n).collect();
            distances.reverse();
            distances
        });
        let found = halving.recognize(Operation::ReduceScatter, None);
        is(&found, Pattern::RecursiveHalving, n);
        assert!(
            !found.names.contains(&Pattern::RecursiveDoubling),
            "{n} ranks"
        );
        if n > 2 && n.is_power_of_two() {
            let found = folded(n, 1).recognize(Operation::ReduceScatterBlock, None);
            assert_eq!(
                found.names,
                [Pattern::Butterfly, Pattern::RecursiveDoubling]
            );
        }
    }
}

/// Thakur et al. 2005, section 4.4, for any number of ranks: with the rank at distance 1, 2, 4 ...;
/// a rank without such a partner gets that partner's data from a rank of the same half that has
/// them.
fn doubling_of_any(n: u32) -> Schedule {
    let mut schedule = Schedule::new(n);
    for distance in doubling(n) {
        let partners = (0..n).map(|rank| (rank, rank ^ distance));
        schedule.together(partners.filter(|(_, partner)| *partner < n));
        for first in (0..n).step_by(2 * distance as usize) {
            let half = first..(first + distance).min(n);
            let mut has: Vec<bool> = half.clone().map(|rank| (rank ^ distance) < n).collect();
            if !has.contains(&true) {
                continue;
            }
            let mut hop = distance / 2;
            while hop > 0 {
                for from in half.clone() {
                    let (at, to) = ((from - first) as usize, from ^ hop);
                    if has[at] && to > from && !has[(to - first) as usize] {
                        schedule.send(from, to);
                        has[(to - first) as usize] = true;
                    }
                }
                hop /= 2;
            }
            assert!(has.iter().all(|has| *has));
        }
    }
    schedule
}

#[test]
fn doubling_is_known_also_where_partners_are_missing() {
    for n in SIZES.into_iter().filter(|n| !n.is_power_of_two()) {
        let found = doubling_of_any(n).recognize(Operation::ReduceScatter, None);
        assert_eq!(found.names, [Pattern::RecursiveDoubling], "{n} ranks");
    }
}

/// Traeff 2005: the parts are halved from the nearest rank on, so they end up elsewhere.
fn butterfly_of_any(n: u32) -> Schedule {
    let n_active = 1 << n.ilog2();
    let rest = n - n_active;
    let rank = |number: u32| {
        if number < rest {
            2 * number + 1
        } else {
            number + rest
        }
    };
    let mut schedule = Schedule::new(n);
    (0..rest).for_each(|pair| schedule.send(2 * pair, 2 * pair + 1));
    let mut parts = vec![0..n_active; n_active as usize];
    for distance in doubling(n_active) {
        let pairs = (0..n_active).map(|number| (rank(number), rank(number ^ distance)));
        schedule.together(pairs);
        for (number, part) in (0..).zip(&mut parts) {
            let middle = (part.start + part.end) / 2;
            *part = match number & distance {
                0 => part.start..middle,
                _ => middle..part.end,
            };
        }
    }
    for (number, part) in (0..).zip(parts) {
        if part.start < rest {
            schedule.send(rank(number), rank(part.start) - 1);
        }
    }
    let back = (0..n_active).map(|number: u32| {
        let bits = n_active.ilog2();
        let part = (0..bits).fold(0, |part, bit| {
            part | (number >> bit & 1) << (bits - 1 - bit)
        });
        (rank(number), rank(part))
    });
    schedule.together(back.filter(|(from, to)| from != to));
    schedule
}

#[test]
fn a_butterfly_is_known_with_what_ends_up_elsewhere() {
    for n in SIZES.into_iter().filter(|n| *n > 3) {
        let found = butterfly_of_any(n).recognize(Operation::ReduceScatter, None);
        assert_eq!(found.names, [Pattern::Butterfly], "{n} ranks");
    }
}

#[test]
fn two_or_three_ranks_that_exchange_halves_are_no_tree_and_no_gathering() {
    let rabenseifner = ROOTED(Rooted::Rabenseifner);
    for operation in [Operation::Reduce, Operation::Ireduce] {
        for root in [0, 1] {
            let mut two = Schedule::new(2);
            two.together([(0, 1), (1, 0)]);
            two.send(1 - root, root);
            let found = two.recognize(operation, Some(root));
            assert_eq!(found.names, [rabenseifner], "root {root}");
        }
        let mut three = Schedule::new(3);
        three.together([(0, 1), (1, 0)]);
        three.send(1, 0);
        three.together([(0, 2), (2, 0)]);
        three.send(2, 0);
        let found = three.recognize(operation, Some(0));
        assert_eq!(found.names, [rabenseifner]);
    }
    let mut in_order = Schedule::new(2);
    in_order.send(0, 1);
    in_order.send(1, 0);
    let found = in_order.recognize(Operation::Reduce, Some(0));
    assert_eq!(found.names, [ROOTED(Rooted::Tree(Tree::InOrderBinary))]);
}

#[test]
fn gathering_with_synchronization_is_recognized_for_any_number_of_ranks_and_any_root() {
    for n in SIZES {
        for root in [0, 1, n - 1] {
            let mut schedule = Schedule::new(n);
            for rank in (0..n).filter(|rank| *rank != root) {
                schedule.send(root, rank);
                schedule.send(rank, root);
                schedule.send(rank, root);
            }
            let found = schedule.recognize(Operation::Gather, Some(root));
            assert_eq!(
                found.names,
                [ROOTED(Rooted::LinearSynchronized)],
                "{n}, {root}"
            );
        }
    }
}

#[test]
fn ranks_with_nothing_to_send_or_to_receive_may_be_missing_from_a_linear_algorithm() {
    let linear = [ROOTED(Rooted::Tree(Tree::Linear))];
    let [mut there, mut back] = [Schedule::new(6), Schedule::new(6)];
    for rank in [1, 2, 5] {
        there.send(3, rank);
        back.send(rank, 3);
    }
    let found = there.recognize(Operation::Scatterv, Some(3));
    assert_eq!((&found.names[..], found.directed.len()), (&linear[..], 3));
    let found = back.recognize(Operation::Gatherv, Some(3));
    assert_eq!((&found.names[..], found.directed.len()), (&linear[..], 3));
    // If each rank has as much to send as any other, none can be left out.
    let found = back.recognize(Operation::Gather, Some(3));
    assert_eq!(found.names, [ROOTED(Rooted::TreeOfSome(4))]);
    let mut both = Schedule::new(6);
    both.send(2, 0);
    both.send(5, 0);
    let mut both = both.next_group();
    (1..6).for_each(|rank| both.send(0, rank));
    let found = both.recognize(Operation::Allgatherv, None);
    let tree = Rooted::Tree(Tree::Linear);
    assert_eq!(found.names, [Pattern::ToAndFrom(tree, tree)]);
}

#[test]
fn a_broadcast_may_use_rank_0_and_a_scan_may_send_it_the_sum() {
    for n in SIZES.into_iter().filter(|n| *n > 3) {
        let mut schedule = Schedule::new(n);
        schedule.send(2, 0);
        for sent in nomial_from_far(n, 2).sent {
            schedule.send(sent.from, sent.to);
        }
        let found = schedule.recognize(Operation::Ibcast, Some(2));
        let name = ROOTED(Rooted::ByWayOfFirst(Tree::Binomial));
        assert_eq!(
            (found.names[0], found.is_tree()),
            (name, false),
            "{n} ranks"
        );
        let mut schedule = Schedule::new(n);
        for distance in doubling(n) {
            let partners = (0..n).map(|rank| (rank, rank ^ distance));
            schedule.together(partners.filter(|(_, partner)| *partner < n));
        }
        schedule.send(n - 1, 0);
        let found = schedule.recognize(Operation::Iscan, None);
        assert_eq!(found.names, [Pattern::RecursiveDoubling], "{n} ranks");
    }
}

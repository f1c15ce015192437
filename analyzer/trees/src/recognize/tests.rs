//! Schedules of published algorithms, process by process and round by round, compared with the
//! models, which are sets of edges.

use std::collections::BTreeSet;

use super::super::algorithm::{Pattern, Rooted, Tree};
use super::recognized::Flat;
use super::*;

mod groups;
mod levels;
mod library_names;
mod partial;
mod reductions;

/// On an intracommunicator.
fn places(hosts: &[u32]) -> Placement<'_> {
    Placement {
        hosts,
        groups: None,
    }
}

/// A schedule under construction.
struct Schedule {
    n: u32,
    sent: Vec<Sent>,
    /// The current step of each rank.
    steps: Vec<u32>,
    group: u32,
}

impl Schedule {
    fn new(n: u32) -> Self {
        Self {
            n,
            sent: Vec::new(),
            steps: vec![0; n as usize],
            group: 0,
        }
    }

    /// Messages that are sent and posted before any of them is waited for.
    fn together(&mut self, messages: impl IntoIterator<Item = (u32, u32)>) {
        let mut receivers = BTreeSet::new();
        for (from, to) in messages {
            receivers.insert(to);
            self.sent.push(Sent {
                from,
                to,
                step_of_sender: self.steps[from as usize],
                step_of_receiver: self.steps[to as usize],
                group: self.group,
            });
        }
        for to in receivers {
            self.steps[to as usize] += 1;
        }
    }

    fn send(&mut self, from: u32, to: u32) {
        self.together([(from, to)]);
    }

    /// The following messages have another tag.
    fn next_group(mut self) -> Self {
        self.group += 1;
        self
    }

    /// All ranks shifted by `root`, modulo n.
    fn rotated(mut self, root: u32) -> Self {
        for sent in &mut self.sent {
            sent.from = (sent.from + root) % self.n;
            sent.to = (sent.to + root) % self.n;
        }
        self
    }

    /// Every message in the other direction, in reverse order.
    fn reversed(&self) -> Self {
        let mut back = Self::new(self.n);
        for sent in self.sent.iter().rev() {
            back.send(sent.to, sent.from);
        }
        back
    }

    fn recognize(&self, operation: Operation, root: Option<u32>) -> Flat {
        let mut sent = self.sent.clone();
        sent.sort_by_key(|sent| sent.from);
        flat(operation, self.n, root, &sent).unwrap()
    }
}

/// Each rank that has the data sends them on, at distance 1, 2, 4 ...; with base k, to k - 1
/// others.
fn nomial_from_near(n: u32, k: u32) -> Schedule {
    let mut schedule = Schedule::new(n);
    let mut n_informed = 1;
    while n_informed < n {
        for from in 0..n_informed {
            for nth in 1..k {
                let to = from + nth * n_informed;
                if to < n {
                    schedule.send(from, to);
                }
            }
        }
        n_informed *= k;
    }
    schedule
}

/// A range of ranks, of which the first has the data, is cut into k parts, and the first rank of
/// each part gets them.
fn nomial_from_far(n: u32, k: u32) -> Schedule {
    fn spread(schedule: &mut Schedule, first: u32, size: u32, k: u32) {
        if size <= 1 {
            return;
        }
        let part = size / k;
        for nth in 1..k {
            if first + nth * part < schedule.n {
                schedule.send(first, first + nth * part);
            }
        }
        for nth in 0..k {
            spread(schedule, first + nth * part, part, k);
        }
    }
    let mut schedule = Schedule::new(n);
    let size = (0..).map(|power| k.pow(power)).find(|size| *size >= n);
    spread(&mut schedule, 0, size.unwrap(), k);
    schedule
}

/// The lengths of k chains: ranks are distributed one by one.
fn chain(n: u32, k: u32) -> Schedule {
    let mut lengths = vec![0; k as usize];
    for rank in 0..n - 1 {
        lengths[(rank % k) as usize] += 1;
    }
    let mut schedule = Schedule::new(n);
    let mut next = 1;
    for length in lengths {
        let mut from = 0;
        for _ in 0..length {
            schedule.send(from, next);
            from = next;
            next += 1;
        }
    }
    schedule
}

fn star(n: u32) -> Schedule {
    let mut schedule = Schedule::new(n);
    (1..n).for_each(|to| schedule.send(0, to));
    schedule
}

/// The first of two ranks has the data of both, and so on; the others wait until they get the
/// result.
fn folded(n: u32, rounds: u32) -> Schedule {
    folded_by(n, |n| (0..rounds).flat_map(|_| doubling(n)).collect())
}

/// A butterfly among a power of two of ranks with given distances.
fn folded_by(n: u32, distances: impl Fn(u32) -> Vec<u32>) -> Schedule {
    let mut schedule = Schedule::new(n);
    let mut active: Vec<u32> = (0..n).collect();
    let n_active = 1usize << n.ilog2();
    let mut stood_aside = Vec::new();
    while active.len() > n_active {
        let at = stood_aside.len();
        let (even, odd) = (active[at], active[at + 1]);
        schedule.send(even, odd);
        stood_aside.push((even, odd));
        active.remove(at);
    }
    for distance in distances(n_active as u32) {
        let pairs = (0..n_active).map(|at| (active[at], active[at ^ distance as usize]));
        schedule.together(pairs);
    }
    for (even, odd) in stood_aside {
        schedule.send(odd, even);
    }
    schedule
}

/// This number of rounds, in each of which every rank sends to the one at the given distance.
fn around(n: u32, distances: impl IntoIterator<Item = u32>) -> Schedule {
    let mut schedule = Schedule::new(n);
    for distance in distances {
        schedule.together((0..n).map(|rank| (rank, (rank + distance) % n)));
    }
    schedule
}

fn doubling(n: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(1), |distance| Some(distance * 2)).take_while(move |d| *d < n)
}

const SIZES: [u32; 18] = [
    2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 24, 31, 64, 100, 257,
];

/// Asserts that a name is among those that fit, and with enough ranks that it is the first.
fn is(found: &Flat, name: Pattern, n: u32) {
    let names = &found.names;
    assert!(names.contains(&name), "{n} ranks: {names:?}, not {name:?}");
    assert!(n < 9 || names[0] == name, "{n} ranks: {names:?}");
}

#[test]
fn trees_are_known_for_any_number_of_ranks_and_any_root() {
    for n in SIZES {
        let trees = [
            (Tree::Linear, star(n)),
            (Tree::Pipeline, chain(n, 1)),
            (Tree::Binomial, nomial_from_near(n, 2)),
            (Tree::Binomial, nomial_from_far(n, 2)),
        ];
        let of_base = [3, 4, 8].into_iter().filter(|k| k + 1 < n);
        let of_base = of_base.flat_map(|k| {
            [
                (Tree::Knomial(k), nomial_from_near(n, k)),
                (Tree::Knomial(k), nomial_from_far(n, k)),
                (Tree::Chain(k), chain(n, k)),
            ]
        });
        for (tree, schedule) in trees.into_iter().chain(of_base) {
            let back = schedule.reversed();
            let name = Pattern::Rooted(Rooted::Tree(tree));
            for root in [0, n / 2, n - 1] {
                let up = schedule.recognize(Operation::Bcast, Some(0));
                is(&up, name, n);
                assert!(
                    up.directed
                        .iter()
                        .all(|(_, direction)| *direction == Direction::Up)
                );
                let facts = up.tree.unwrap();
                assert_eq!((facts.root, up.directed.len()), (0, n as usize - 1));
                let moved = Schedule {
                    sent: back.sent.clone(),
                    steps: vec![],
                    ..back
                };
                let down = moved.rotated(root).recognize(Operation::Reduce, Some(root));
                is(&down, name, n);
                assert_eq!(down.tree.unwrap().root, root);
                assert!(
                    down.directed
                        .iter()
                        .all(|(_, direction)| *direction == Direction::Down)
                );
            }
        }
    }
}

#[test]
fn binary_trees_are_those_of_the_published_tables() {
    let edges = |edges: &[(u32, u32)], n| {
        let mut schedule = Schedule::new(n);
        edges.iter().for_each(|&(from, to)| schedule.send(from, to));
        schedule
    };
    let first = |schedule: Schedule, operation, root| {
        schedule.recognize(operation, Some(root)).names[0].to_string()
    };
    // As measured with Open MPI, and in rows of 1, 2, 4 ...
    let by_levels = [(0, 1), (0, 2), (1, 3), (1, 5), (2, 4), (2, 6), (3, 7)];
    let in_rows = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7)];
    assert_eq!(first(edges(&by_levels, 8), Operation::Bcast, 0), "binary");
    assert_eq!(first(edges(&in_rows, 8), Operation::Bcast, 0), "binary");
    let ternary = [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 4),
        (1, 5),
        (1, 6),
        (2, 7),
        (2, 8),
    ];
    assert_eq!(first(edges(&ternary, 9), Operation::Bcast, 0), "k-ary(3)");
    let split = [(1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5), (0, 7)];
    let split = [&by_levels[..], &split].concat();
    assert_eq!(first(edges(&split, 8), Operation::Bcast, 0), "split binary");
    // The figures beside the definition in coll_base_topo.c, children to parents.
    let four = [(2, 3), (1, 3), (0, 1)];
    let nine = [
        (7, 8),
        (3, 8),
        (6, 7),
        (5, 7),
        (4, 5),
        (2, 3),
        (1, 3),
        (0, 1),
    ];
    for (n, tree, root) in [(4, &four[..], 1), (9, &nine[..], 4)] {
        let last = n - 1;
        let onward = [tree, &[(last, root)]].concat();
        for (edges_to_root, root) in [(tree, last), (&onward[..], root)] {
            let found = edges(edges_to_root, n).recognize(Operation::Reduce, Some(root));
            let in_order = Pattern::Rooted(Rooted::Tree(Tree::InOrderBinary));
            assert!(found.names.contains(&in_order), "{found:?}");
        }
    }
}

#[test]
fn the_root_may_have_changed_places_with_rank_0() {
    // As in Open MPI's nonblocking broadcast.
    let mut schedule = Schedule::new(6);
    for (from, to) in [(2, 1), (2, 0), (2, 4), (1, 3), (1, 5)] {
        schedule.send(from, to);
    }
    let found = schedule.recognize(Operation::Ibcast, Some(2));
    assert_eq!(found.names[0].to_string(), "binomial");
}

#[test]
fn a_tree_of_no_name_is_sent_with_its_height_and_fan_out() {
    let mut schedule = Schedule::new(7);
    for (from, to) in [(2, 0), (2, 6), (0, 1), (0, 3), (0, 5), (3, 4)] {
        schedule.send(from, to);
    }
    let found = schedule.recognize(Operation::Bcast, Some(2));
    assert_eq!(found.names[0].to_string(), "unrecognized tree");
    let facts = TreeFacts {
        root: 2,
        height: 3,
        fan_out: 3,
    };
    assert_eq!(found.tree, Some(facts));
    // Two paths to one rank, a circle, and a rank that receives nothing.
    for (from, to) in [(5, 4), (4, 2), (4, 4)] {
        let mut other = Schedule {
            sent: schedule.sent.clone(),
            steps: vec![9; 7],
            ..schedule
        };
        other.send(from, to);
        let found = other.recognize(Operation::Bcast, Some(2));
        assert_eq!(
            (found.names[0], found.is_tree()),
            (Pattern::Unrecognized, false)
        );
    }
    let mut other = Schedule::new(7);
    other.sent = schedule.sent[1..].to_vec();
    assert!(!other.recognize(Operation::Bcast, Some(2)).is_tree());
}

#[test]
fn an_exchange_is_recognized_even_if_messages_arrive_before_the_own_is_sent() {
    for n in SIZES.into_iter().filter(|n| *n > 2) {
        for (count, name) in [(1, Pattern::RecursiveDoubling), (2, Pattern::Rabenseifner)] {
            let mut schedule = folded(n, count);
            for sent in &mut schedule.sent {
                sent.step_of_sender = 2 * sent.step_of_sender + 1;
                sent.step_of_receiver *= 2;
            }
            // Three ranks with one message in each direction are ambiguous.
            if n > 3 || count > 1 {
                is(&schedule.recognize(Operation::Allreduce, None), name, n);
            }
        }
    }
}

#[test]
fn exchanges_are_recognized_for_any_number_of_ranks() {
    use Operation::{Allgather, Allreduce, Alltoall, Barrier, ReduceScatter};
    for n in SIZES {
        let check = |schedule: Schedule, operation, name| {
            is(&schedule.recognize(operation, None), name, n);
        };
        check(folded(n, 1), Allreduce, Pattern::RecursiveDoubling);
        check(folded(n, 2), Allreduce, Pattern::Rabenseifner);
        let ring = |rounds: u32| around(n, (0..rounds).map(|_| 1));
        check(ring(2 * (n - 1)), Allreduce, Pattern::Ring);
        check(ring(4 * (n - 1)), Allreduce, Pattern::SegmentedRing);
        check(ring(2), Barrier, Pattern::DoubleRing);
        if n == 2 {
            for operation in [Allgather, Alltoall, Barrier] {
                check(ring(1), operation, Pattern::TwoProcesses);
            }
            continue;
        }
        check(folded(n, 1), Barrier, Pattern::RecursiveDoubling);
        check(around(n, doubling(n)), Barrier, Pattern::Dissemination);
        check(ring(n - 1), Allgather, Pattern::Ring);
        check(ring(n - 1), ReduceScatter, Pattern::Ring);
        let back = doubling(n).map(|distance| n - distance);
        check(around(n, back), Allgather, Pattern::Bruck);
        // Loch and Koslovski 2021: the halves first, then twice as many parts in each step.
        if n.is_power_of_two() {
            let parts = doubling(n).flat_map(|part| (0..part).map(move |_| n / 2 / part));
            check(around(n, parts), Allgather, Pattern::Sparbit);
        }
        check(around(n, doubling(n)), Alltoall, Pattern::Bruck);
        if n.is_power_of_two() {
            check(folded(n, 1), Allgather, Pattern::RecursiveDoubling);
        }
        if n.is_multiple_of(2) {
            // With one neighbour and the other alternately.
            let mut schedule = Schedule::new(n);
            for round in 0..n / 2 {
                schedule.together((0..n).map(|rank| match (rank + round) % 2 {
                    0 => (rank, (rank + 1) % n),
                    _ => (rank, (rank + n - 1) % n),
                }));
            }
            check(schedule, Allgather, Pattern::NeighborExchange);
        }
        if n < 100 {
            check(around(n, 1..n), Alltoall, Pattern::Pairwise);
            let mut at_once = Schedule::new(n);
            at_once.together((1..n).flat_map(|d| (0..n).map(move |rank| (rank, (rank + d) % n))));
            check(at_once, Alltoall, Pattern::Linear);
        }
    }
}

#[test]
fn data_may_flow_to_a_root_and_back() {
    for n in SIZES {
        let name = |to, from| Pattern::ToAndFrom(Rooted::Tree(to), Rooted::Tree(from));
        // One after the other: no rank is released before all have sent something.
        let chained = |to: &Schedule, from: &Schedule, is_apart: bool| {
            let mut all = Schedule::new(n);
            to.sent.iter().for_each(|sent| all.send(sent.from, sent.to));
            all = if is_apart { all.next_group() } else { all };
            from.sent
                .iter()
                .for_each(|sent| all.send(sent.from, sent.to));
            all
        };
        let (near, far) = (nomial_from_near(n, 2), nomial_from_far(n, 2));
        for is_apart in [true, false] {
            let both = chained(&far.reversed(), &near, is_apart);
            let found = both.recognize(Operation::Allreduce, None);
            assert!(found.is_tree());
            assert_eq!(found.tree.unwrap().root, 0);
            if n > 4 {
                assert_eq!(
                    found.names,
                    [name(Tree::Binomial, Tree::Binomial)],
                    "{n} ranks"
                );
            }
            let there = chained(&star(n).reversed(), &star(n), is_apart);
            let found = there.recognize(Operation::Barrier, None);
            assert_eq!(found.names, [name(Tree::Linear, Tree::Linear)], "{n} ranks");
            let downwards = found
                .directed
                .iter()
                .filter(|(_, direction)| *direction == Direction::Down);
            assert_eq!(downwards.count(), n as usize - 1);
        }
    }
}

#[test]
fn a_broadcast_may_scatter_and_gather() {
    for n in SIZES.into_iter().filter(|n| *n > 2) {
        let mut schedule = nomial_from_far(n, 2);
        let scatter = schedule.sent.len();
        (0..n - 1).for_each(|_| schedule.together((0..n).map(|rank| (rank, (rank + 1) % n))));
        let found = schedule.rotated(1).recognize(Operation::Bcast, Some(1));
        let name = Pattern::Rooted(Rooted::ScatterRing);
        assert!(found.names.contains(&name), "{n} ranks: {found:?}");
        // For the last ranks there were no data to scatter.
        let mut schedule = nomial_from_far(n, 2);
        schedule.sent.truncate(scatter - 1);
        (0..n - 1).for_each(|_| schedule.together((0..n).map(|rank| (rank, (rank + 1) % n))));
        let found = schedule.recognize(Operation::Bcast, Some(0));
        assert!(found.names.contains(&name), "{n} ranks: {found:?}");
        if n.is_power_of_two() {
            let mut schedule = nomial_from_far(n, 2);
            for sent in folded(n, 1).sent.chunks(n as usize) {
                schedule.together(sent.iter().map(|sent| (sent.from, sent.to)));
            }
            let found = schedule.recognize(Operation::Bcast, Some(0));
            let name = Pattern::Rooted(Rooted::ScatterRecursiveDoubling);
            is(&found, name, n);
        }
    }
}

/// The messages of two schedules, those of the second after those of the first and with another
/// tag.
fn then(first: Schedule, second: &Schedule) -> Schedule {
    let mut both = first.next_group();
    for sent in &second.sent {
        both.send(sent.from, sent.to);
    }
    both
}

#[test]
fn a_broadcast_after_an_exchange_is_named_with_it() {
    for n in SIZES {
        let back = nomial_from_far(n, 2);
        let found = then(around(n, doubling(n)), &back).recognize(Operation::Barrier, None);
        let [Pattern::DisseminationAndFrom(Rooted::Tree(_))] = found.names[..] else {
            panic!("{n}: {:?}", found.names);
        };
        assert!(found.tree.is_none(), "{n}");
        // A broadcast from elsewhere, or along no tree, is none of these; with two processes it has
        // another name.
        for other in [back.rotated(1), around(n, [1])]
            .into_iter()
            .filter(|_| n > 2)
        {
            let found = then(around(n, doubling(n)), &other).recognize(Operation::Barrier, None);
            assert_eq!(found.names, [Pattern::Unrecognized], "{n}");
        }
    }
    for n in SIZES.into_iter().filter(|n| n.is_power_of_two() && *n > 2) {
        for is_sent in [false, true] {
            let mut sums = folded(n, 1);
            if is_sent {
                sums.send(n - 1, 0);
            }
            let scanned = then(sums, &nomial_from_far(n, 2));
            let names = scanned.recognize(Operation::Scan, None).names;
            assert!(
                matches!(names[..], [Pattern::RecursiveDoublingAndFrom(_)]),
                "{n}: {names:?}"
            );
        }
    }
}

#[test]
fn what_a_process_sends_to_itself_is_not_looked_at() {
    for n in SIZES.into_iter().filter(|&n| n < 32) {
        let mut all = Schedule::new(n);
        all.together((0..n).flat_map(|from| (0..n).map(move |to| (from, to))));
        let names = recognize(
            Operation::Alltoall,
            places(&vec![0; n as usize]),
            None,
            &all.sent,
        );
        let name = names.unwrap().names[0].to_string();
        let expected = match n {
            2 => "two-process exchange",
            _ => "linear",
        };
        assert_eq!(name, expected, "{n}");
        let alone: Vec<Sent> = (all.sent.into_iter().filter(|s| s.from == s.to)).collect();
        assert!(
            recognize(
                Operation::Alltoall,
                places(&vec![0; n as usize]),
                None,
                &alone
            )
            .is_none()
        );
    }
}

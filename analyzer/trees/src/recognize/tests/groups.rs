//! Intercommunicators: groups of 3 and 5 ranks, numbered one after the other.

use super::*;

const GROUPS: [u32; 8] = [0, 0, 0, 1, 1, 1, 1, 1];

fn name(schedule: &Schedule, operation: Operation, root: Option<u32>) -> String {
    let mut sent = schedule.sent.clone();
    sent.sort_by_key(|sent| sent.from);
    let places = Placement {
        hosts: &[0; 8],
        groups: Some(&GROUPS),
    };
    let found = recognize(operation, places, root, &sent).unwrap();
    assert!(!found.is_tree());
    found.names[0].to_string()
}

#[test]
fn a_root_communicates_with_the_other_group_directly_or_through_its_leader() {
    let mut direct = Schedule::new(8);
    (3..8).for_each(|rank| direct.send(1, rank));
    assert_eq!(name(&direct, Operation::Ibcast, Some(1)), "linear");
    let mut direct = Schedule::new(8);
    (0..3).for_each(|rank| direct.send(rank, 6));
    assert_eq!(name(&direct, Operation::Gather, Some(6)), "linear");
    let mut led = Schedule::new(8);
    for (from, to) in [(2, 3), (3, 4), (3, 5), (4, 6), (4, 7)] {
        led.send(from, to);
    }
    assert_eq!(
        name(&led, Operation::Bcast, Some(2)),
        "binary, by way of rank 0"
    );
    let back = led.reversed();
    assert_eq!(
        name(&back, Operation::Reduce, Some(2)),
        "binary, by way of rank 0"
    );
    // Another rank of the root's group takes part.
    led.send(0, 1);
    assert_eq!(
        name(&led, Operation::Bcast, Some(2)),
        "graph that is no tree"
    );
}

#[test]
fn groups_exchange_directly_or_between_their_leaders() {
    let mut direct = Schedule::new(8);
    let all = (0..3).flat_map(|one| (3..8).flat_map(move |other| [(one, other), (other, one)]));
    direct.together(all);
    assert_eq!(name(&direct, Operation::Alltoall, None), "linear");
    let mut led = Schedule::new(8);
    let within = [(1, 0), (2, 0), (4, 3), (5, 3), (6, 3), (7, 3)];
    within.iter().for_each(|&(from, to)| led.send(from, to));
    let mut led = led.next_group();
    led.together([(0, 3), (3, 0)]);
    let mut led = led.next_group();
    within.iter().for_each(|&(from, to)| led.send(to, from));
    assert_eq!(
        name(&led, Operation::Allreduce, None),
        "two groups: recursive doubling between their leaders, linear within them to the leader \
         and back"
    );
}

#[test]
fn one_group_gives_and_the_other_one_gets() {
    let given = |has_broadcast: bool| {
        let mut led = Schedule::new(8);
        (4..8).for_each(|rank| led.send(rank, 3));
        let mut led = led.next_group();
        // An empty message in one direction.
        led.together([(0, 3), (3, 0)]);
        let mut led = led.next_group();
        led.send(0, 1);
        if has_broadcast {
            led.send(1, 2);
        } else {
            led.send(0, 2);
        }
        led
    };
    assert_eq!(
        name(&given(true), Operation::Allgather, None),
        "two groups, of which one gives: linear within it to the leader, two-process exchange \
         between the leaders, pipeline from the leader within the other"
    );
    // Rank 2 is left out.
    let mut short = Schedule::new(8);
    (4..8).for_each(|rank| short.send(rank, 3));
    short.together([(0, 3), (3, 0)]);
    short.send(0, 1);
    let found = name(&short, Operation::Allgather, None);
    assert!(!found.contains("gives"), "{found}");
    // What neither group could send to the other.
    let found = name(&given(false), Operation::Allreduce, None);
    assert!(!found.contains("gives"), "{found}");
}

#[test]
fn groups_give_to_the_leader_of_the_other_one() {
    let to_other = || {
        let mut schedule = Schedule::new(8);
        for rank in 0..8 {
            schedule.send(rank, if rank < 3 { 3 } else { 0 });
        }
        schedule
    };
    assert_eq!(
        name(&to_other(), Operation::IreduceScatterBlock, None),
        "two groups: linear to the leader of the other one"
    );
    let mut within = to_other().next_group();
    for (from, to) in [(0, 1), (0, 2), (3, 4), (3, 5), (3, 6), (3, 7)] {
        within.send(from, to);
    }
    assert_eq!(
        name(&within, Operation::ReduceScatter, None),
        "two groups: linear to the leader of the other one, linear from it within"
    );
    for is_again in [true, false] {
        let mut back = to_other();
        for rank in 0..8 {
            if is_again || rank % 3 > 0 {
                back.send(if rank < 3 { 3 } else { 0 }, rank);
            }
        }
        assert_eq!(
            name(&back, Operation::Ibarrier, None),
            "two groups: linear to the leader of the other one and back"
        );
    }
}

#[test]
fn a_group_that_has_nothing_to_give_leaves_the_others_direct() {
    for operation in [
        Operation::Alltoallv,
        Operation::Alltoallw,
        Operation::Iallgatherv,
    ] {
        let mut one_way = Schedule::new(8);
        one_way.together((0..3).flat_map(|one| (3..8).map(move |other| (one, other))));
        assert_eq!(name(&one_way, operation, None), "linear");
    }
}

use collbench_formats::{Direction, NO_RANK, Operation};
use zerocopy::FromBytes;

use super::*;

const WORLD: u32 = 0;

fn collective(position: u64) -> OwnCollective {
    OwnCollective {
        local: 0,
        call_order: CallOrder::Application,
        position,
    }
}

fn record(enter: u64, leave: u64) -> Record {
    // With 8 bytes to send.
    let bytes: Vec<u8> = [enter, 8, 0, leave]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    *Record::ref_from_bytes(&bytes).unwrap()
}

fn message(communicator: u32, tag: u16) -> Message {
    Message {
        direction: Direction::Send,
        is_nonblocking: true,
        partner: NO_RANK,
        communicator,
        tag,
        bytes: 8,
    }
}

/// Owners of messages of one thread, one after the other.
#[derive(Default)]
struct Trial {
    owners: Owners,
    n: u32,
}

impl Trial {
    fn call(&mut self, enter: u64, leave: u64, of: CallOf) {
        self.owners.call(0, &record(enter, leave), WORLD, of);
    }

    fn owner(&mut self, begin: u64, communicator: u32, tag: u16) -> Owner {
        self.n += 1;
        let location = RecordAt {
            chunk: 0,
            record: self.n,
        };
        let message = message(communicator, tag);
        self.owners
            .owner(0, location, &record(begin, begin + 1), &message)
    }
}

#[test]
fn a_tag_that_is_seen_where_a_collective_begins_is_its_own_until_it_is_complete() {
    let mut trial = Trial::default();
    trial.call(0, 10, CallOf::Initiation(collective(0)));
    assert_eq!(trial.owner(5, WORLD, 70), Owner::Outstanding(collective(0)));
    trial.call(20, 30, CallOf::Initiation(collective(1)));
    assert_eq!(
        trial.owner(25, WORLD, 69),
        Owner::Outstanding(collective(1))
    );
    // In a blocking collective, its own and those of others.
    trial.call(40, 50, CallOf::Blocking(collective(2)));
    assert_eq!(trial.owner(41, WORLD, 9), Owner::TheCall);
    assert_eq!(
        trial.owner(42, WORLD, 70),
        Owner::Outstanding(collective(0))
    );
    // In no call.
    assert_eq!(
        trial.owner(60, WORLD, 69),
        Owner::Outstanding(collective(1))
    );
    trial.owners.complete(collective(0));
    trial.owners.complete(collective(1));
    assert!(trial.owners.is_idle());
    assert_eq!(trial.owner(70, WORLD, 70), Owner::TheCall);
}

#[test]
fn a_call_that_calls_the_application_back_goes_on_behind_what_that_calls() {
    let mut trial = Trial::default();
    let around = Some(collective(0));
    trial.call(0, 100, CallOf::Blocking(collective(0)));
    trial.call(10, 20, CallOf::Initiation(collective(1)));
    assert_eq!(
        trial.owner(15, WORLD, 70),
        Owner::Outstanding(collective(1))
    );
    assert_eq!(trial.owners.calls_around(0, 15), [around, None]);
    trial.call(30, 40, CallOf::Blocking(collective(2)));
    assert_eq!(
        trial.owner(35, WORLD, 70),
        Owner::Outstanding(collective(1))
    );
    let below = Some(collective(2));
    assert_eq!(trial.owners.calls_around(0, 35), [around, below]);
    assert_eq!(trial.owners.calls_around(0, 41), [around, None]);
    // Behind what was called there, in the call around it.
    assert_eq!(trial.owner(60, WORLD, 9), Owner::TheCall);
    assert_eq!(
        trial.owner(61, WORLD, 70),
        Owner::Outstanding(collective(1))
    );
    // The next one is in none.
    trial.call(100, 110, CallOf::Blocking(collective(3)));
    let next = Some(collective(3));
    assert_eq!(trial.owners.calls_around(0, 105), [next, None]);
}

#[test]
fn a_tag_that_comes_later_is_of_the_oldest_collective_without_one() {
    let mut trial = Trial::default();
    for position in 0..3 {
        let begin = 10 * position;
        trial.call(begin, begin + 5, CallOf::Initiation(collective(position)));
    }
    // The second one has a tag from its own call; only one was there.
    assert_eq!(
        trial.owner(22, WORLD, 68),
        Owner::Outstanding(collective(2))
    );
    assert_eq!(
        trial.owner(50, WORLD, 70),
        Owner::Outstanding(collective(0))
    );
    assert_eq!(
        trial.owner(51, WORLD, 69),
        Owner::Outstanding(collective(1))
    );
    assert_eq!(
        trial.owner(52, WORLD, 70),
        Owner::Outstanding(collective(0))
    );
    // None is left, and another communicator has none.
    assert_eq!(trial.owner(53, WORLD, 67), Owner::TheCall);
    assert_eq!(trial.owner(54, 4, 70), Owner::TheCall);
}

#[test]
fn a_tag_that_comes_later_is_nobodys_while_older_collectives_go_on_that_are_not_known() {
    let mut trial = Trial::default();
    trial.owners.begin_at(50);
    trial.call(0, 10, CallOf::Initiation(collective(0)));
    trial.call(20, 30, CallOf::Initiation(collective(1)));
    // From its own call.
    assert_eq!(
        trial.owner(25, WORLD, 69),
        Owner::Outstanding(collective(1))
    );
    assert_eq!(trial.owner(40, WORLD, 70), Owner::TheCall);
    assert_eq!(
        trial.owner(51, WORLD, 68),
        Owner::Outstanding(collective(0))
    );
}

#[test]
fn in_a_blocking_call_a_tag_that_those_never_have_is_of_what_was_begun_before() {
    // Of Open MPI -40 and of MPICH 300 can only be nonblocking, -17 and 2 only blocking.
    let tags = |tag: i16| tag as u16;
    for (library, begun, blocking) in [
        (Tags::OpenMpi, [tags(-40), tags(-41)], tags(-17)),
        (Tags::Mpich, [300, 301], 2),
    ] {
        let mut trial = Trial {
            owners: Owners::new(library, [].into_iter()),
            ..Trial::default()
        };
        trial.call(0, 5, CallOf::Initiation(collective(0)));
        trial.call(10, 20, CallOf::Blocking(collective(1)));
        assert_eq!(trial.owner(11, WORLD, blocking), Owner::TheCall);
        let found = trial.owner(12, WORLD, begun[0]);
        assert_eq!(found, Owner::Outstanding(collective(0)), "{library:?}");
        // No other is under way.
        assert_eq!(trial.owner(13, WORLD, begun[1]), Owner::TheCall);
    }
    let mut trial = Trial::default();
    trial.call(0, 5, CallOf::Initiation(collective(0)));
    trial.call(10, 20, CallOf::Blocking(collective(1)));
    assert_eq!(trial.owner(12, WORLD, tags(-40)), Owner::TheCall);
}

#[test]
fn what_has_nothing_to_send_gets_a_tag_that_comes_later_only_where_nothing_else_may() {
    let mut trial = Trial::default();
    let mut nothing_to_send = record(0, 5);
    nothing_to_send.payload = [0; 6];
    trial.owners.call(
        0,
        &nothing_to_send,
        WORLD,
        CallOf::Initiation(collective(0)),
    );
    trial.call(10, 15, CallOf::Initiation(collective(1)));
    for (position, tag) in [(1, 70), (0, 71)] {
        assert_eq!(
            trial.owner(20, WORLD, tag),
            Owner::Outstanding(collective(position))
        );
    }
}

#[test]
fn of_persistent_collectives_that_start_together_each_has_the_tag_of_its_turn() {
    let start = |local: usize, position: u64| OwnCollective {
        local,
        call_order: CallOrder::Persistent(local as u32),
        position,
    };
    let tags = |tag: i16| tag as u16;
    for (library, tags) in [
        (Tags::OpenMpi, [tags(-50), tags(-51), tags(-52), tags(-60)]),
        // In the part of a host.
        (Tags::Mpich, [0x4190, 0x4191, 0x4192, 0x41a0]),
    ] {
        let mut trial = Trial {
            owners: Owners::new(library, [WORLD; 3].into_iter()),
            ..Trial::default()
        };
        let begun = |of| Owner::Outstanding(of);
        for round in 0..2 {
            let [first, second, third] = [0, 1, 2].map(|local| start(local, round));
            let at = 100 * round;
            for one in [second, first, third] {
                trial.call(at, at + 10, CallOf::Initiation(one));
            }
            // That of the second comes first; the first one has no message in this call.
            assert_eq!(trial.owner(at + 1, WORLD, tags[1]), begun(second));
            assert_eq!(trial.owner(at + 2, WORLD, tags[2]), begun(third));
            // A nonblocking one has none of their tags.
            trial.call(at + 20, at + 30, CallOf::Initiation(collective(round)));
            trial.call(at + 40, at + 50, CallOf::Nothing);
            let later = trial.owner(at + 60, WORLD, tags[3] + round as u16);
            assert_eq!(later, begun(collective(round)), "{library:?}");
            assert_eq!(trial.owner(at + 61, WORLD, tags[0]), begun(first));
            // What is known needs no message at the start.
            assert_eq!(trial.owner(at + 62, WORLD, tags[2]), begun(third));
            for one in [first, second, third, collective(round)] {
                trial.owners.complete(one);
            }
        }
    }
}

fn tag(tag: i16) -> u16 {
    tag as u16
}

fn of_open_mpi() -> Trial {
    Trial {
        owners: Owners::new(Tags::OpenMpi, [].into_iter()),
        ..Trial::default()
    }
}

#[test]
fn a_message_is_of_the_call_that_it_is_told_to_be_for_whichever_it_is_in() {
    let mut trial = of_open_mpi();
    trial.call(0, 100, CallOf::Blocking(collective(5)));
    let first = message(WORLD, tag(-40));
    assert!(trial.owners.asks_for_maker(&first));
    trial.owners.is_made_by(&first, collective(3));
    assert!(!trial.owners.asks_for_maker(&first));
    assert_eq!(
        trial.owner(5, WORLD, tag(-40)),
        Owner::Outstanding(collective(3))
    );
    // What has no tag at first has the next that nobody has.
    trial.owners.begins_for(collective(3), WORLD);
    assert_eq!(
        trial.owner(6, WORLD, tag(-41)),
        Owner::Outstanding(collective(3))
    );
    assert_eq!(trial.owner(7, WORLD, tag(-42)), Owner::TheCall);
    // That of its own call; those before on the same communicator are done.
    let own = message(WORLD, tag(-43));
    trial.owners.is_made_by(&own, collective(5));
    for tag in [tag(-43), tag(-40), tag(-41)] {
        assert_eq!(trial.owner(8, WORLD, tag), Owner::TheCall);
    }
    // Several have this tag, of which each is told; and blocking ones are not asked for.
    let of_leaders = message(WORLD, tag(-31079));
    trial.owners.is_made_by(&of_leaders, collective(6));
    assert!(trial.owners.asks_for_maker(&of_leaders));
    assert!(!trial.owners.asks_for_maker(&message(WORLD, tag(-17))));
}

#[test]
fn where_nothing_is_told_tags_that_are_left_are_of_the_only_communicator_being_made() {
    let idup = |at: u64| Record::call(Operation::CommIdup, 0, WORLD, 1, 0, at, at + 5);
    let mut trial = of_open_mpi();
    let begin = |trial: &mut Trial, position: u64| {
        let record = idup(10 * position + 1);
        let of = CallOf::Initiation(collective(position));
        trial.owners.call(0, &record, WORLD, of);
    };
    begin(&mut trial, 0);
    for tag in [tag(-40), tag(-41), tag(-40)] {
        assert_eq!(
            trial.owner(8, WORLD, tag),
            Owner::Outstanding(collective(0))
        );
    }
    // Of two it is not known which.
    begin(&mut trial, 1);
    assert_eq!(trial.owner(18, WORLD, tag(-42)), Owner::TheCall);
    trial.owners.complete(collective(0));
    assert_eq!(
        trial.owner(19, WORLD, tag(-43)),
        Owner::Outstanding(collective(1))
    );
    trial.owners.complete(collective(1));
    assert!(trial.owners.is_idle() && trial.owners.made.is_empty());
    assert_eq!(trial.owner(20, WORLD, tag(-43)), Owner::TheCall);
}

#[test]
fn what_is_blocking_in_a_call_that_begins_something_is_of_that() {
    let mut trial = of_open_mpi();
    trial.call(0, 10, CallOf::Initiation(collective(0)));
    // Such as the gather of an ordered access to a file, on a communicator of the library's own.
    assert_eq!(
        trial.owner(5, 9, tag(-19)),
        Owner::Outstanding(collective(0))
    );
    assert_eq!(trial.owner(15, 9, tag(-19)), Owner::TheCall);
}

#[test]
fn of_many_under_way_each_ends_as_soon_as_of_a_few() {
    let mut trial = Trial::default();
    let n = 200_000;
    for position in 0..n {
        let begin = 10 * position;
        trial.call(begin, begin + 5, CallOf::Initiation(collective(position)));
    }
    // Looking through all of them each time takes minutes.
    for position in (1..n).rev() {
        trial.owners.complete(collective(position));
    }
    let owner = trial.owner(10 * n, WORLD, 70);
    assert_eq!(owner, Owner::Outstanding(collective(0)));
}

#[test]
fn what_was_looked_at_ahead_is_not_handed_on_again() {
    let mut trial = Trial::default();
    trial.call(0, 10, CallOf::Initiation(collective(0)));
    assert_eq!(trial.owner(5, WORLD, 70), Owner::Outstanding(collective(0)));
    let until = RecordAt {
        chunk: 0,
        record: 3,
    };
    trial.owners.has_looked_at(0, until);
    assert!(trial.owners.is_looked_at(0, until));
    assert_eq!(trial.owner(12, WORLD, 70), Owner::TheCall);
    assert_eq!(trial.owner(13, WORLD, 70), Owner::TheCall);
    assert_eq!(
        trial.owner(14, WORLD, 70),
        Owner::Outstanding(collective(0))
    );
}

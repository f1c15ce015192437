//! Whose a message is, where collectives go on outside the calls that began them.
//!
//! A nonblocking collective goes on in any later call, recorded or not, so its messages may stand
//! behind any record. They have a tag of their own: MPI libraries take a new one for each such
//! collective on a communicator. It is learnt from the messages inside the call that begins the
//! collective; where there are none, the first that comes later with a tag that is nobody's is of
//! the oldest collective on its communicator that has no tag yet. All other messages inside a call
//! are that call's.
//!
//! Where a ring has overwritten what began earlier, a tag that comes later may be that of a collective
//! of which nothing is known, until the last of those is complete: till then it is nobody's.
//!
//! Memory grows with the collectives that are under way, not with messages.

use std::collections::BTreeMap;

use collbench_formats::{Message, Record};

use crate::calls::Place;
use crate::instance::Lane;

/// A collective of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnCollective {
    /// Binding of its communicator, or index of the process's persistent collective.
    pub(crate) local: usize,
    pub(crate) lane: Lane,
    pub(crate) position: u64,
}

/// What a call is to the messages inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOf {
    /// A blocking collective.
    Blocking(OwnCollective),
    /// It begins one that goes on later.
    Begin(OwnCollective),
    /// Its messages are nobody's.
    Nothing,
}

/// A call, while records behind it are looked at.
#[derive(Debug, Clone, Copy)]
struct Around {
    leave: u64,
    communicator: u32,
    of: CallOf,
}

/// What is known of one thread.
#[derive(Debug, Default)]
struct ThreadState {
    /// Its last call of the application, and the last one of the MPI library itself.
    calls: [Option<Around>; 2],
    /// The messages up to this one were looked at before.
    looked_at: Option<Place>,
}

/// Whose a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The call that it is in, or nobody.
    TheCall,
    /// One that was begun before, and the blocking call that the message is in, if it is.
    Begun(OwnCollective, Option<OwnCollective>),
}

/// Tells the owners of the messages of one process.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    threads: BTreeMap<u32, ThreadState>,
    /// The collectives under way.
    open: BTreeMap<OwnCollective, Open>,
    by_tag: BTreeMap<(u32, u16), OwnCollective>,
    /// By communicator, then as they were begun, those without a tag.
    untagged: BTreeMap<(u32, u64), OwnCollective>,
    n_begun: u64,
    /// When the last collective that is not known was complete, ticks.
    unknown_until: u64,
}

/// A collective under way.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Its communicator, as the records call it.
    communicator: u32,
    /// How many were begun before it.
    nth: u64,
    /// Its tag, once that is known.
    tag: Option<u16>,
}

impl Owners {
    /// Whether no collective is under way, so that every message is the call's that it is in.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Before anything else: when the last of those is complete that had begun before, ticks.
    pub(crate) fn begin_at(&mut self, unknown_until: u64) {
        self.unknown_until = unknown_until;
    }

    /// A thread has made a call.
    pub(crate) fn call(&mut self, thread: u32, record: &Record, communicator: u32, of: CallOf) {
        let state = self.threads.entry(thread).or_default();
        state.calls[usize::from(record.is_internal())] = Some(Around {
            leave: record.leave.get(),
            communicator,
            of,
        });
        if let CallOf::Begin(collective) = of {
            let nth = self.n_begun;
            self.n_begun += 1;
            let open = Open {
                communicator,
                nth,
                tag: None,
            };
            if let Some(before) = self.open.insert(collective, open) {
                self.untagged.remove(&(before.communicator, before.nth));
            }
            self.untagged.insert((communicator, nth), collective);
        }
    }

    /// A collective is complete: from now on its tag is nobody's.
    pub(crate) fn complete(&mut self, collective: OwnCollective) {
        let Some(open) = self.open.remove(&collective) else {
            return;
        };
        match open.tag {
            Some(tag) => drop(self.by_tag.remove(&(open.communicator, tag))),
            None => drop(self.untagged.remove(&(open.communicator, open.nth))),
        }
    }

    /// The messages of a thread up to a place were looked at ahead of their turn.
    pub(crate) fn has_looked_at(&mut self, thread: u32, until: Place) {
        self.threads.entry(thread).or_default().looked_at = Some(until);
    }

    /// Whether the record at a place was looked at ahead of its turn.
    pub(crate) fn is_looked_at(&self, thread: u32, place: Place) -> bool {
        let state = self.threads.get(&thread);
        state.is_some_and(|state| state.looked_at.is_some_and(|until| place <= until))
    }

    /// Whose the message of a record is, at its turn. What was looked at before is nobody's.
    pub(crate) fn owner(
        &mut self,
        thread: u32,
        place: Place,
        record: &Record,
        message: &Message,
    ) -> Owner {
        let state = self.threads.entry(thread).or_default();
        if state.looked_at.is_some_and(|until| place <= until) {
            return Owner::TheCall;
        }
        let begin = record.enter.get();
        let [own, internal] = state.calls;
        let is_in = |call: &Around| begin < call.leave || call.leave == 0;
        let around = internal.filter(is_in).or(own.filter(is_in));
        self.owner_in(around.as_ref(), begin, message)
    }

    /// Whose a message is that is in a call which completes collectives.
    pub(crate) fn owner_in_completion(&mut self, record: &Record, message: &Message) -> Owner {
        self.owner_in(None, record.enter.get(), message)
    }

    fn owner_in(&mut self, around: Option<&Around>, begin: u64, message: &Message) -> Owner {
        let way = (message.communicator, message.tag);
        let blocking = around.and_then(|around| match around.of {
            CallOf::Blocking(blocking) => Some(blocking),
            _ => None,
        });
        if let Some(&collective) = self.by_tag.get(&way) {
            return Owner::Begun(collective, blocking);
        }
        let is_here = around.is_some_and(|around| around.communicator == message.communicator);
        let found = match around.map(|around| around.of) {
            Some(CallOf::Begin(collective)) if is_here => {
                let open = self.open.get(&collective);
                // A second tag of the same collective is not known to be its own.
                open.filter(|open| open.tag.is_none()).map(|_| collective)
            }
            Some(CallOf::Blocking(_)) if is_here || message.is_on_hidden_communicator() => None,
            Some(CallOf::Nothing) => None,
            _ if begin < self.unknown_until => None,
            _ => {
                let of_communicator = (message.communicator, 0)..=(message.communicator, u64::MAX);
                let mut oldest = self.untagged.range(of_communicator);
                oldest.next().map(|(_, &collective)| collective)
            }
        };
        let Some(collective) = found else {
            return Owner::TheCall;
        };
        self.by_tag.insert(way, collective);
        if let Some(open) = self.open.get_mut(&collective) {
            self.untagged.remove(&(open.communicator, open.nth));
            open.tag = Some(message.tag);
        }
        Owner::Begun(collective, blocking)
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::{Direction, NO_RANK};
    use zerocopy::FromBytes;

    use super::*;

    const WORLD: u32 = 0;

    fn collective(position: u64) -> OwnCollective {
        OwnCollective {
            local: 0,
            lane: Lane::Application,
            position,
        }
    }

    fn record(enter: u64, leave: u64) -> Record {
        let bytes: Vec<u8> = [enter, 0, 0, leave]
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

    /// Owners of messages of one thread, one behind the other.
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
            let place = Place {
                chunk: 0,
                record: self.n,
            };
            let message = message(communicator, tag);
            self.owners
                .owner(0, place, &record(begin, begin + 1), &message)
        }
    }

    #[test]
    fn a_tag_that_is_seen_where_a_collective_begins_is_its_own_until_it_is_complete() {
        let mut trial = Trial::default();
        trial.call(0, 10, CallOf::Begin(collective(0)));
        assert_eq!(trial.owner(5, WORLD, 70), Owner::Begun(collective(0), None));
        trial.call(20, 30, CallOf::Begin(collective(1)));
        assert_eq!(
            trial.owner(25, WORLD, 69),
            Owner::Begun(collective(1), None)
        );
        // In a blocking collective, its own and those of others.
        trial.call(40, 50, CallOf::Blocking(collective(2)));
        assert_eq!(trial.owner(41, WORLD, 9), Owner::TheCall);
        let inside = Some(collective(2));
        assert_eq!(
            trial.owner(42, WORLD, 70),
            Owner::Begun(collective(0), inside)
        );
        // In no call.
        assert_eq!(
            trial.owner(60, WORLD, 69),
            Owner::Begun(collective(1), None)
        );
        trial.owners.complete(collective(0));
        trial.owners.complete(collective(1));
        assert!(trial.owners.is_idle());
        assert_eq!(trial.owner(70, WORLD, 70), Owner::TheCall);
    }

    #[test]
    fn a_tag_that_comes_later_is_of_the_oldest_collective_without_one() {
        let mut trial = Trial::default();
        for position in 0..3 {
            let begin = 10 * position;
            trial.call(begin, begin + 5, CallOf::Begin(collective(position)));
        }
        // The second one has a tag from its own call; only one was there.
        assert_eq!(
            trial.owner(22, WORLD, 68),
            Owner::Begun(collective(2), None)
        );
        assert_eq!(
            trial.owner(50, WORLD, 70),
            Owner::Begun(collective(0), None)
        );
        assert_eq!(
            trial.owner(51, WORLD, 69),
            Owner::Begun(collective(1), None)
        );
        assert_eq!(
            trial.owner(52, WORLD, 70),
            Owner::Begun(collective(0), None)
        );
        // None is left, and another communicator has none.
        assert_eq!(trial.owner(53, WORLD, 67), Owner::TheCall);
        assert_eq!(trial.owner(54, 4, 70), Owner::TheCall);
    }

    #[test]
    fn a_tag_that_comes_later_is_nobodys_while_older_collectives_go_on_that_are_not_known() {
        let mut trial = Trial::default();
        trial.owners.begin_at(50);
        trial.call(0, 10, CallOf::Begin(collective(0)));
        trial.call(20, 30, CallOf::Begin(collective(1)));
        // From its own call.
        assert_eq!(
            trial.owner(25, WORLD, 69),
            Owner::Begun(collective(1), None)
        );
        assert_eq!(trial.owner(40, WORLD, 70), Owner::TheCall);
        assert_eq!(
            trial.owner(51, WORLD, 68),
            Owner::Begun(collective(0), None)
        );
    }

    #[test]
    fn of_many_under_way_each_ends_as_soon_as_of_a_few() {
        let mut trial = Trial::default();
        let n = 200_000;
        for position in 0..n {
            let begin = 10 * position;
            trial.call(begin, begin + 5, CallOf::Begin(collective(position)));
        }
        // Looking through all of them each time takes minutes.
        for position in (1..n).rev() {
            trial.owners.complete(collective(position));
        }
        let owner = trial.owner(10 * n, WORLD, 70);
        assert_eq!(owner, Owner::Begun(collective(0), None));
    }

    #[test]
    fn what_was_looked_at_ahead_is_not_handed_on_again() {
        let mut trial = Trial::default();
        trial.call(0, 10, CallOf::Begin(collective(0)));
        assert_eq!(trial.owner(5, WORLD, 70), Owner::Begun(collective(0), None));
        let until = Place {
            chunk: 0,
            record: 3,
        };
        trial.owners.has_looked_at(0, until);
        assert!(trial.owners.is_looked_at(0, until));
        assert_eq!(trial.owner(12, WORLD, 70), Owner::TheCall);
        assert_eq!(trial.owner(13, WORLD, 70), Owner::TheCall);
        assert_eq!(
            trial.owner(14, WORLD, 70),
            Owner::Begun(collective(0), None)
        );
    }
}

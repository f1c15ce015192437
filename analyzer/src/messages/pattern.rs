//! What the messages of many instances have in common.
//!
//! A program makes one collective again and again, and each time its processes send and receive
//! the same, in the same order; only times and sizes differ. So which ends belong together, and what
//! shape that makes, is found once; the ends of an instance are then compared with those.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{Direction, Record};
use collbench_stats::numbering::Numbers;
use collbench_trees::shape::{Of, Shape};

use crate::messages::message::InstanceMessage;
use crate::messages::pairing::{End, NOT_A_SLOT, Pairing};
use crate::messages::recurrence::{Following, Words};
use crate::messages::steps::Step;

/// What there is of an end besides times and bytes, in two words: partner and step; slot, group, and
/// these bits.
pub(crate) type Key = [u64; 2];

const IS_RECEIVE: u64 = 1;
/// Whether its end is known.
const HAS_END: u64 = 1 << 1;
/// Whether its partner is not known, or any.
const IS_FROM_ANY: u64 = 1 << 2;
const IS_ON_ANOTHER: u64 = 1 << 3;
/// Whether its step is in question.
const IS_IN_QUESTION: u64 = 1 << 4;
const GROUP_SHIFT: u32 = 5;
const GROUP_MASK: u64 = (1 << 27) - 1;

pub(crate) fn slot_of(key: &Key) -> usize {
    (key[1] >> 32) as usize
}

fn step_of(key: &Key) -> u32 {
    key[0] as u32
}

/// The slot of the other end; [`NOT_A_SLOT`] as a number where it has none.
pub(crate) fn partner_of(key: &Key) -> usize {
    (key[0] >> 32) as usize
}

/// The step of an end, and whether its end is known.
pub(crate) fn end_of(key: &Key) -> (Step, bool) {
    let step = Step {
        number: step_of(key),
        is_in_question: key[1] & IS_IN_QUESTION != 0,
    };
    (step, key[1] & HAS_END != 0)
}

fn group_of(key: &Key) -> usize {
    (key[1] >> GROUP_SHIFT & GROUP_MASK) as usize
}

fn group_bits(group: u32) -> u64 {
    (u64::from(group) & GROUP_MASK) << GROUP_SHIFT
}

/// What an end takes and moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) begin: Timestamp<Global>,
    /// The same as `begin` where it is not known.
    pub(crate) end: Timestamp<Global>,
    pub(crate) bytes: u64,
}

impl Moved {
    /// By the record of an end, whose two stamps, ticks, `both` converts.
    #[inline]
    pub(crate) fn of(record: &Record, both: impl Fn(u64, u64) -> [Timestamp<Global>; 2]) -> Self {
        let (enter, leave) = (record.enter.get(), record.leave.get());
        let [begin, end] = both(enter, if leave == 0 { enter } else { leave });
        Self {
            begin,
            end,
            bytes: record.word().message_bytes(),
        }
    }
}

/// One end as it is added.
pub(crate) struct NewEnd {
    pub(crate) slot: u32,
    /// Slot of the other end, or [`NOT_A_SLOT`]; `None`: any, or not known.
    pub(crate) partner: Option<u32>,
    pub(crate) direction: Direction,
    /// Number among those of [`Ends::group_of`].
    pub(crate) group: u32,
    pub(crate) is_on_another: bool,
    pub(crate) has_end: bool,
    pub(crate) step: Step,
    /// Those of its record.
    pub(crate) words: Words,
    pub(crate) moved: Moved,
}

/// Ends of messages between the groups that a collective joins, each of which is an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) n_sends: u64,
    pub(crate) n_receives: u64,
}

/// The ends of the messages of one instance, by slot and their order there.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// The recurrence that they are those of, so far. Then there are no keys, groups and words.
    following: Option<Following>,
    keys: Vec<Key>,
    words: Vec<Words>,
    moved: Vec<Moved>,
    /// Number of the communicator, and tag, of each group. Of a nonblocking collective they are
    /// others each time. The keys name all of them, in this order: so ends with the same keys have as
    /// many groups, whatever these are.
    groups: Numbers<(u32, u16)>,
}

impl Ends {
    /// Begins an instance, whose ends are likely to be those of a recurrence.
    pub(crate) fn begin(&mut self, following: Option<Following>) {
        self.following = following;
        self.keys.clear();
        self.words.clear();
        self.moved.clear();
        self.groups.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.moved.is_empty()
    }

    /// The recurrence that they are those of, so far, and what they take.
    pub(crate) fn following(&mut self) -> Option<(&mut Following, &mut Vec<Moved>)> {
        Some((self.following.as_mut()?, &mut self.moved))
    }

    /// Whether they are those of a recurrence, so far.
    pub(crate) fn is_following(&self) -> bool {
        self.following.is_some()
    }

    /// Goes on with ends that are not those of the recurrence.
    pub(crate) fn leave_recurrence(&mut self) {
        let Some(following) = self.following.take() else {
            return;
        };
        let n = self.moved.len();
        self.keys.extend_from_slice(following.keys(n));
        self.words.extend(following.words(n));
        let n_groups = self.keys.iter().map(|key| group_of(key) + 1).max();
        let groups = following.groups().take(n_groups.unwrap_or(0));
        self.groups.clear();
        self.groups.extend(groups);
    }

    /// The pattern of a recurrence that they are those of, all of them.
    fn pattern(&mut self) -> Option<PatternNumber> {
        let following = self.following.as_ref()?;
        if self.moved.len() != following.n_ends() {
            self.leave_recurrence();
            return None;
        }
        self.groups.clear();
        self.groups.extend(following.groups());
        Some(following.pattern())
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(crate) fn words(&self) -> &[Words] {
        &self.words
    }

    pub(crate) fn groups(&self) -> &[(u32, u16)] {
        self.groups.met()
    }

    /// The number of those ends that have this communicator and tag, of which one is added next.
    #[inline]
    pub(crate) fn group_of(&mut self, communicator: u32, tag: u16) -> u32 {
        self.groups.of((communicator, tag))
    }

    #[inline]
    pub(crate) fn add(&mut self, end: &NewEnd) {
        let bit = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        let bits = bit(end.direction == Direction::Receive, IS_RECEIVE)
            | bit(end.has_end, HAS_END)
            | bit(end.partner.is_none(), IS_FROM_ANY)
            | bit(end.is_on_another, IS_ON_ANOTHER)
            | bit(end.step.is_in_question, IS_IN_QUESTION);
        let partner = end.partner.unwrap_or(NOT_A_SLOT);
        self.keys.push([
            u64::from(partner) << 32 | u64::from(end.step.number),
            u64::from(end.slot) << 32 | group_bits(end.group) | bits,
        ]);
        self.words.push(end.words);
        self.moved.push(end.moved);
    }

    /// Takes out those to and from processes that are not in the instance; gives how many sends and
    /// receives these were.
    pub(crate) fn take_out_foreign(&mut self) -> Foreign {
        let is_foreign = |[partner_and_step, rest]: &Key| {
            let is_to_nobody_known = rest & (IS_FROM_ANY | IS_RECEIVE) == IS_FROM_ANY;
            let is_outside = (partner_and_step >> 32) as u32 == NOT_A_SLOT;
            is_to_nobody_known || is_outside && rest & IS_FROM_ANY == 0
        };
        let mut foreign = Foreign::default();
        for key in self.keys.iter().filter(|key| is_foreign(key)) {
            match key[1] & IS_RECEIVE {
                0 => foreign.n_sends += 1,
                _ => foreign.n_receives += 1,
            }
        }
        if foreign != Foreign::default() {
            self.retain(|key| !is_foreign(key));
        }
        foreign
    }

    /// Forgets those whose keys are not wanted, and the groups that were theirs alone.
    fn retain(&mut self, is_wanted: impl Fn(&Key) -> bool) {
        let wanted = || self.keys.iter().map(&is_wanted);
        let [mut for_words, mut for_moved] = [wanted(), wanted()];
        self.words.retain(|_| for_words.next() == Some(true));
        self.moved.retain(|_| for_moved.next() == Some(true));
        self.keys.retain(is_wanted);
        let before = std::mem::take(&mut self.groups);
        for key in &mut self.keys {
            let group = self.groups.of(before.met()[group_of(key)]);
            key[1] = key[1] & !(GROUP_MASK << GROUP_SHIFT) | group_bits(group);
        }
    }

    /// Adds all of them to what puts them together.
    fn hand_on(&self, pairing: &mut Pairing) {
        pairing.clear();
        let (mut slot, mut first) = (NOT_A_SLOT, 0);
        for (number, (key, moved)) in (0..).zip(self.keys.iter().zip(&self.moved)) {
            let [partner_and_step, rest] = *key;
            let has = |bit: u64| rest & bit != 0;
            let of = slot_of(key) as u32;
            if of != slot {
                (slot, first) = (of, number);
            }
            let (communicator, tag) = self.groups()[group_of(key)];
            let (step, has_end) = end_of(key);
            pairing.add(&End {
                number,
                slot,
                partner: (!has(IS_FROM_ANY)).then_some((partner_and_step >> 32) as u32),
                direction: if has(IS_RECEIVE) {
                    Direction::Receive
                } else {
                    Direction::Send
                },
                bytes: moved.bytes,
                tag,
                communicator,
                is_on_another: has(IS_ON_ANOTHER),
                begin: moved.begin,
                end: has_end.then_some(moved.end),
                nth: number - first,
                step,
            });
        }
    }

    fn has_any(&self) -> bool {
        let is_from_any =
            |key: &Key| key[1] & (IS_FROM_ANY | IS_RECEIVE) == IS_FROM_ANY | IS_RECEIVE;
        self.keys.iter().any(is_from_any)
    }

    fn hash(&self) -> u64 {
        let mix = |hash: u64, word: &u64| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        self.keys.as_flattened().iter().fold(0, mix)
    }
}

/// Instances of one kind whose ends are the same but for times and bytes.
#[derive(Debug)]
pub(crate) struct Pattern {
    of: Of,
    keys: Box<[Key]>,
    /// Those of the last instance that it was found for.
    groups: Vec<(u32, u16)>,
    /// The two ends of each message.
    ends: Box<[[u32; 2]]>,
    /// The messages of the last instance.
    paired: Box<[InstanceMessage]>,
    pub(crate) n_unpaired_sends: u64,
    pub(crate) n_unpaired_receives: u64,
    are_all_received: bool,
    shape: OnceLock<Arc<Shape>>,
}

impl Pattern {
    /// The messages of the last instance that it was found for.
    pub(crate) fn paired(&self) -> &[InstanceMessage] {
        &self.paired
    }

    /// Whether it is known of all messages when they came.
    pub(crate) fn are_all_received(&self) -> bool {
        self.are_all_received
    }

    /// The shape of its instances, which `find` finds.
    pub(crate) fn shape(&self, find: impl FnOnce() -> Arc<Shape>) -> Arc<Shape> {
        Arc::clone(self.shape.get_or_init(find))
    }

    fn is_of(&self, of: Of, ends: &Ends) -> bool {
        self.of == of && self.keys.as_flattened() == ends.keys.as_flattened()
    }

    /// Takes the times and bytes of an instance that is of it.
    fn take(&mut self, ends: &Ends) {
        for (message, &[send, receive]) in self.paired.iter_mut().zip(&self.ends) {
            let (send, receive) = (&ends.moved[send as usize], &ends.moved[receive as usize]);
            message.bytes = send.bytes;
            message.sent = send.begin;
            message.send_returned = send.end;
            message.posted = receive.begin;
            message.received = message.received.map(|_| receive.end);
        }
        if self.groups != ends.groups() {
            self.groups.clear();
            self.groups.extend_from_slice(ends.groups());
            for (message, &[send, _]) in self.paired.iter_mut().zip(&self.ends) {
                message.tag = self.groups[group_of(&self.keys[send as usize])].1;
            }
        }
    }
}

/// Ends of all patterns that are kept, at most. Where there are more, all are found anew.
const MAX_ENDS: usize = 1 << 19;

/// Which of the patterns it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternNumber {
    /// How often all were forgotten before.
    generation: u64,
    index: usize,
}

/// The patterns that were met.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    generation: u64,
    list: Vec<Pattern>,
    /// The last one of each kind of instance.
    last: BTreeMap<Of, usize>,
    /// By the hash of its ends.
    known: BTreeMap<(Of, u64), usize>,
    n_ends: usize,
}

impl Patterns {
    /// The pattern of an instance, which has its messages then. `None` where it has none: which
    /// receive from any process took which message is another thing each time, and more than are kept
    /// are not compared. Then `pairing` has the messages.
    pub(crate) fn find(
        &mut self,
        of: Of,
        ends: &mut Ends,
        pairing: &mut Pairing,
    ) -> Option<PatternNumber> {
        let index = match ends.pattern() {
            Some(number) if number.generation == self.generation => number.index,
            _ => {
                ends.leave_recurrence();
                self.look_up(of, ends, pairing)?
            }
        };
        let pattern = &mut self.list[index];
        debug_assert!(pattern.of == of, "a recurrence is of one kind");
        pattern.take(ends);
        Some(PatternNumber {
            generation: self.generation,
            index,
        })
    }

    /// A pattern that was found last.
    pub(crate) fn at(&self, number: PatternNumber) -> &Pattern {
        &self.list[number.index]
    }

    fn look_up(&mut self, of: Of, ends: &Ends, pairing: &mut Pairing) -> Option<usize> {
        let last = self.last.get(&of).copied();
        if let Some(index) = last.filter(|&index| self.list[index].is_of(of, ends)) {
            return Some(index);
        }
        let index = self.known_or_new(of, ends, pairing)?;
        self.last.insert(of, index);
        Some(index)
    }

    fn known_or_new(&mut self, of: Of, ends: &Ends, pairing: &mut Pairing) -> Option<usize> {
        let hash = ends.hash();
        let known = self.known.get(&(of, hash)).copied();
        if known.is_some_and(|number| self.list[number].is_of(of, ends)) {
            return known;
        }
        ends.hand_on(pairing);
        pairing.pair();
        if ends.has_any() || ends.keys.len() > MAX_ENDS || known.is_some() {
            return None;
        }
        if self.n_ends + ends.keys.len() > MAX_ENDS {
            *self = Self {
                generation: self.generation + 1,
                ..Self::default()
            };
        }
        self.n_ends += ends.keys.len();
        self.list.push(Pattern {
            of,
            keys: ends.keys.clone().into_boxed_slice(),
            groups: ends.groups().into(),
            ends: pairing.ends().into(),
            paired: pairing.paired().into(),
            n_unpaired_sends: pairing.n_unpaired_sends,
            n_unpaired_receives: pairing.n_unpaired_receives,
            are_all_received: pairing.paired().iter().all(|m| m.received.is_some()),
            shape: OnceLock::new(),
        });
        let number = self.list.len() - 1;
        self.known.insert((of, hash), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::Operation;

    use super::*;

    const OF: Of = Of {
        operation: Operation::Bcast,
        n_slots: 4,
        root: Some(0),
        hosts: 0,
    };

    /// Slot, partner, whether it is a send, tag; begins at `at` plus its number.
    type Written = (u32, Option<u32>, bool, u16);

    fn ends(written: &[Written], at: i64) -> Ends {
        let mut ends = Ends::default();
        for (number, &(slot, partner, is_send, tag)) in (0..).zip(written) {
            let begin = at + number;
            let group = ends.group_of(3, tag);
            let has_end = slot != 3;
            let end = if has_end { begin + 100 } else { begin };
            ends.add(&NewEnd {
                slot,
                partner,
                direction: if is_send {
                    Direction::Send
                } else {
                    Direction::Receive
                },
                group,
                is_on_another: false,
                has_end,
                step: Step::default(),
                words: [0; 2],
                moved: Moved {
                    begin: Timestamp::from_ns(begin),
                    end: Timestamp::from_ns(end),
                    bytes: (1000 * number + at) as u64,
                },
            });
        }
        ends
    }

    /// From 0 to 1, 2 and 3 in one tag, and from 3 to 1 in another one; the last one to nobody.
    fn written(tag: u16) -> Vec<Written> {
        vec![
            (0, Some(1), true, tag),
            (0, Some(2), true, tag),
            (0, Some(3), true, tag),
            (1, Some(3), false, tag - 1),
            (1, Some(0), false, tag),
            (2, Some(0), false, tag),
            (3, Some(0), false, tag),
            (3, Some(1), true, tag - 1),
            (3, Some(NOT_A_SLOT), true, tag),
        ]
    }

    fn by_pairing(ends: &Ends) -> (Vec<InstanceMessage>, u64, u64) {
        let mut pairing = Pairing::default();
        ends.hand_on(&mut pairing);
        pairing.pair();
        let unpaired = (pairing.n_unpaired_sends, pairing.n_unpaired_receives);
        (pairing.paired().to_vec(), unpaired.0, unpaired.1)
    }

    #[test]
    fn a_pattern_has_the_messages_of_each_instance_as_if_they_were_put_together_alone() {
        let (mut patterns, mut pairing) = (Patterns::default(), Pairing::default());
        // Two patterns by turns, and tags that are others each time.
        let other = [(0, Some(1), true, 9), (1, Some(0), false, 9)];
        for turn in 0..4u16 {
            for written in [written(50 + 2 * turn), other.to_vec()] {
                let mut ends = ends(&written, i64::from(turn) * 10_000);
                let number = patterns.find(OF, &mut ends, &mut pairing).unwrap();
                let pattern = patterns.at(number);
                let (paired, n_sends, n_receives) = by_pairing(&ends);
                assert_eq!(pattern.paired(), paired);
                assert_eq!(pattern.n_unpaired_sends, n_sends);
                assert_eq!(pattern.n_unpaired_receives, n_receives);
            }
        }
        assert_eq!(patterns.list.len(), 2);
        assert_eq!(by_pairing(&ends(&written(50), 0)).0.len(), 4);
        // What is received is not known at slot 3.
        assert!(!patterns.list[0].are_all_received() && patterns.list[1].are_all_received());
    }

    #[test]
    fn what_differs_in_more_than_times_and_bytes_is_another_pattern() {
        let (mut patterns, mut pairing) = (Patterns::default(), Pairing::default());
        let mut find =
            |of: Of, mut ends: Ends| patterns.find(of, &mut ends, &mut pairing).is_some();
        let first = written(50);
        assert!(find(OF, ends(&first, 0)));
        let mut swapped = first.clone();
        swapped.swap(0, 1);
        assert!(find(OF, ends(&swapped, 0)));
        let mut one_tag = first.clone();
        one_tag[3].3 = 50;
        assert!(find(OF, ends(&one_tag, 0)));
        let of = Of {
            root: Some(1),
            ..OF
        };
        assert!(find(of, ends(&first, 0)));
        // Which took which is not the same each time.
        let mut any = first.clone();
        any[4].1 = None;
        assert!(!find(OF, ends(&any, 0)));
        assert_eq!(patterns.list.len(), 4);
    }

    #[test]
    fn there_are_no_more_patterns_than_are_kept() {
        let (mut patterns, mut pairing) = (Patterns::default(), Pairing::default());
        for n in 0..20 {
            let written = vec![(0, Some(n), true, 7); MAX_ENDS / 8];
            let mut ends = ends(&written, 0);
            assert!(patterns.find(OF, &mut ends, &mut pairing).is_some());
            assert!(patterns.n_ends <= MAX_ENDS);
        }
        let written = vec![(0, Some(1), true, 7); MAX_ENDS + 1];
        assert!(
            patterns
                .find(OF, &mut ends(&written, 0), &mut pairing)
                .is_none()
        );
    }

    #[test]
    fn what_goes_to_another_group_is_taken_out_with_its_times() {
        let mut all = ends(&written(7), 0);
        let mut without = written(7);
        without.pop();
        // Not known to whom; and from any process, which may be one of its own.
        let end = |partner, direction| NewEnd {
            slot: 3,
            partner,
            direction,
            group: 0,
            is_on_another: false,
            has_end: true,
            step: Step::default(),
            words: [0; 2],
            moved: all.moved[0],
        };
        let more = [
            end(None, Direction::Send),
            end(Some(NOT_A_SLOT), Direction::Receive),
            end(None, Direction::Receive),
        ];
        let mut kept = ends(&without, 0);
        more.iter().for_each(|end| all.add(end));
        kept.add(&more[2]);
        let foreign = all.take_out_foreign();
        assert_eq!((foreign.n_sends, foreign.n_receives), (2, 1));
        assert_eq!(all.keys, kept.keys);
        let begins = |ends: &Ends| {
            ends.moved
                .iter()
                .map(|moved| moved.begin)
                .collect::<Vec<_>>()
        };
        assert_eq!(begins(&all), begins(&kept));
    }

    #[test]
    fn instances_that_differ_in_what_goes_to_another_group_are_of_one_pattern() {
        let (mut patterns, mut pairing) = (Patterns::default(), Pairing::default());
        let own = [(0, Some(1), true, 7), (1, Some(0), false, 7)];
        let others = [
            (0, Some(NOT_A_SLOT), true, 9),
            (0, Some(NOT_A_SLOT), true, 8),
            (0, Some(NOT_A_SLOT), false, 8),
        ];
        for n_others in [3, 0, 1, 2] {
            let mut ends = ends(&[&others[..n_others], &own].concat(), 100);
            ends.take_out_foreign();
            assert_eq!((ends.groups(), ends.words.len()), (&[(3, 7)][..], 2));
            let number = patterns.find(OF, &mut ends, &mut pairing).unwrap();
            let paired = patterns.at(number).paired();
            assert!(paired.len() == 1 && paired[0].tag == 7);
        }
        assert_eq!(patterns.list.len(), 1);
    }
}

//! Recurring records: those that follow the calls of the instances of one pattern.
//!
//! A program that calls a collective again and again leaves the same records each time, except for
//! times, bytes and, with some libraries, the tag. They are interpreted once; the records of the
//! next instance are compared as they are in the file, and only their times are extracted.
//!
//! It pays: 1,564 instructions a message, 1,767 without (scripts/ir-guard-analyze.sh at 75823dd, 64 ranks).

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_clocks::rank_clock::{BoundedStamps, RankClock};
use collbench_formats::{Record, RecordKind, RecordWord};
use collbench_trees::shape::ShapeKey;

use crate::calls::records_of_call::has_possible_stamps;
use crate::calls::records_of_call::is_of_next_gap;
use crate::messages::end::{
    ComparedEnds, EndTimes, Key, PatternNumber, Words, end_of, partner_of, slot_of,
};
use crate::messages::steps::{Arrival, Step, Steps};

/// Bits of the second word with the bytes, and with the tag.
const BYTES: u64 = RecordWord::MESSAGE_BYTES;
const TAG: u64 = RecordWord::MESSAGE_TAG;

/// The expected step, end and arrival of an end, packed into 36 bits.
#[inline]
fn expected_bits(step: Step, has_end: bool, arrival: Arrival) -> u64 {
    let which = match arrival {
        Arrival::None => 0,
        Arrival::Awaited => AWAITED,
        Arrival::Early => EARLY,
    };
    of_step(step) | which | if has_end { HAS_END } else { 0 }
}

/// Whether its end is known.
const HAS_END: u64 = 1;
/// Bits of the arrival, if there is one.
const AWAITED: u64 = 1 << 1;
const EARLY: u64 = 1 << 2;
/// Its step.
const OF_STEP: u64 = BYTES & !(HAS_END | AWAITED | EARLY);

#[inline]
fn of_step(step: Step) -> u64 {
    u64::from(step.number) << 4 | u64::from(step.is_in_question) << 3
}

/// The arrival in [`expected_bits`].
#[inline]
fn arrival_of(expected_bits: u64) -> Arrival {
    match expected_bits & (AWAITED | EARLY) {
        AWAITED => Arrival::Awaited,
        EARLY => Arrival::Early,
        _ => Arrival::None,
    }
}

/// Instances that are likely to leave equal records: one shape key and about the same payload, by
/// which libraries choose their algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecurrenceKey {
    /// Index of the communicator.
    pub(crate) communicator: usize,
    pub(crate) of: ShapeKey,
    /// Bits of the payload.
    pub(crate) magnitude: u32,
}

/// The expected records of one recurrence key.
#[derive(Debug)]
pub(crate) struct Recurrence {
    /// The pattern that they make.
    pattern: PatternNumber,
    keys: Box<[Key]>,
    groups: Box<[(u32, u16)]>,
    /// By end the words of its record, with [`expected_bits`] in place of the bytes.
    expected: Box<[Words]>,
    /// By slot its first end; and their number behind.
    begins: Box<[u32]>,
}

/// An instance whose records match a recurrence so far.
#[derive(Debug)]
pub(crate) struct Following {
    recurrence: Arc<Recurrence>,
    /// Bits in which its tags differ; `None` before the first message.
    differing: Option<u64>,
}

impl Following {
    /// The pattern that all ends make together.
    pub(crate) fn pattern(&self) -> PatternNumber {
        self.recurrence.pattern
    }

    /// How many these are.
    pub(crate) fn n_ends(&self) -> usize {
        self.recurrence.keys.len()
    }

    /// Compares the records of a call and after it with those expected of a slot. If they match,
    /// adds their times and returns `true`.
    // In a function of its own its loop keeps its registers: 1593 instructions a message instead of
    // 1605 (scripts/ir-guard-analyze.sh).
    #[inline(never)]
    pub(crate) fn take(
        &mut self,
        slot: usize,
        records: &[Record],
        clocks: (&RankClock, Option<BoundedStamps>),
        steps: &mut Steps,
        times: &mut Vec<EndTimes>,
    ) -> bool {
        let n_before = times.len();
        let is_as_expected = self.recurrence.begins.get(slot) == Some(&(n_before as u32))
            && self.compare(slot, records, clocks, steps, times);
        if !is_as_expected {
            times.truncate(n_before);
        }
        is_as_expected
    }

    fn compare(
        &mut self,
        slot: usize,
        records: &[Record],
        (clock, bounded): (&RankClock, Option<BoundedStamps>),
        steps: &mut Steps,
        times: &mut Vec<EndTimes>,
    ) -> bool {
        let all_expected = self.recurrence.of_slot(slot);
        let Some((call, mut behind)) = records.split_first() else {
            return false;
        };
        // What is said of the call.
        while let [note, others @ ..] = behind
            && note.kind() == Some(RecordKind::Note)
        {
            behind = others;
        }
        let Some((ends, [other, ..])) = behind.split_at_checked(all_expected.len()) else {
            // There may be more, in another slice.
            return false;
        };
        let within = call.enter.get()..=call.leave.get();
        let is_behind = match other.kind() {
            Some(RecordKind::Note) => is_of_next_gap(other, call.leave.get()),
            _ => !within.contains(&other.enter.get()),
        };
        let (Some(first), Some(first_expected)) = (ends.first(), all_expected.first()) else {
            return is_behind;
        };
        let tags = (first.word().bits() ^ first_expected[0]) & TAG;
        if !is_behind || self.differing.is_some_and(|known| known != tags) {
            return false;
        }
        // One after the other, so that what each loop needs stays in registers.
        let mut is_wrong = false;
        let mut latest = call.leave.get();
        for (record, next) in ends.iter().zip(all_expected) {
            let [enter, second, third, leave] = record.words();
            is_wrong |= (second ^ next[0]) & !BYTES != tags || third != next[1];
            is_wrong |= !within.contains(&enter) || !has_possible_stamps(record);
            is_wrong |= u64::from(leave != 0) != next[0] & HAS_END;
            latest = latest.max(leave);
        }
        if is_wrong {
            return false;
        }
        let n_before = times.len();
        match bounded.filter(|clock| clock.reaches(latest)) {
            Some(clock) => {
                let both = |enter, leave| [clock.global(enter), clock.global(leave)];
                times.extend(ends.iter().map(|record| EndTimes::of(record, both)));
            }
            None => {
                let clock = clock.for_many();
                let both = |enter, leave| clock.both(enter, leave);
                times.extend(ends.iter().map(|record| EndTimes::of(record, both)));
            }
        }
        for (times, next) in times[n_before..].iter().zip(all_expected) {
            let arrival = arrival_of(next[0]);
            let step = steps.step_of(arrival, times.begin.ns(), times.end.ns());
            is_wrong |= of_step(step) != next[0] & OF_STEP;
        }
        if !is_wrong {
            self.differing = Some(tags);
        }
        !is_wrong
    }

    /// Communicator and tag of the groups of the instance.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (u32, u16)> {
        let differing = RecordWord::from_bits(self.differing.unwrap_or(0)).message_tag();
        let groups = self.recurrence.groups.iter();
        groups.map(move |&(communicator, tag)| (communicator, tag ^ differing))
    }

    /// Keys of the first `n` ends.
    pub(crate) fn keys(&self, n: usize) -> &[Key] {
        &self.recurrence.keys[..n]
    }

    /// The words of the records of the first `n` ends, without bytes.
    pub(crate) fn words(&self, n: usize) -> impl Iterator<Item = Words> {
        let differing = self.differing.unwrap_or(0);
        let expected = self.recurrence.expected[..n].iter();
        expected.map(move |&[second, third]| [(second & !BYTES) ^ differing, third])
    }
}

impl Recurrence {
    /// Of ends that make a pattern.
    fn new(pattern: PatternNumber, ends: ComparedEnds<'_>, n_slots: usize) -> Self {
        let keys: Box<[Key]> = ends.keys.into();
        let ends_of = keys.iter().zip(ends.words);
        let expected = ends_of.map(|(key, &[second, third])| {
            let (step, has_end) = end_of(key);
            // A message to itself says nothing about other processes.
            let tells = has_end && partner_of(key) != slot_of(key);
            let expected_bits = expected_bits(
                step,
                has_end,
                Arrival::of(RecordWord::from_bits(second), tells),
            );
            [second & !BYTES | expected_bits, third]
        });
        let begin = |slot: usize| keys.partition_point(|key| slot_of(key) < slot) as u32;
        Self {
            pattern,
            groups: ends.groups.into(),
            expected: expected.collect(),
            begins: (0..=n_slots).map(begin).collect(),
            keys,
        }
    }

    fn of_slot(&self, slot: usize) -> &[Words] {
        let [begin, end] = [slot, slot + 1].map(|slot| self.begins[slot] as usize);
        &self.expected[begin..end]
    }
}

/// Ends of all recurrences that are kept, at most.
const MAX_ENDS: usize = 1 << 18;
/// Kinds that are kept, at most.
const MAX_KEYS: usize = 1 << 12;

/// The recurrences that were met, one for each kind of instances.
#[derive(Debug, Default)]
pub(crate) struct Recurrences {
    last: BTreeMap<RecurrenceKey, Last>,
    n_ends: usize,
}

/// The last pattern of a recurrence key, and its recurrence.
#[derive(Debug, Default)]
struct Last {
    pattern: Option<PatternNumber>,
    /// Of that pattern, or an earlier one.
    recurrence: Option<Arc<Recurrence>>,
}

impl Recurrences {
    /// What the next instance of a kind is likely to look like.
    pub(crate) fn of(&self, recurrence_key: RecurrenceKey) -> Option<Following> {
        let recurrence = self.last.get(&recurrence_key)?.recurrence.as_ref()?;
        Some(Following {
            recurrence: Arc::clone(recurrence),
            differing: None,
        })
    }

    /// Notes the pattern of an instance. A pattern that occurs twice in a row is likely to recur.
    pub(crate) fn see(
        &mut self,
        recurrence_key: RecurrenceKey,
        pattern: PatternNumber,
        ends: ComparedEnds<'_>,
    ) {
        let is_full = self.last.len() >= MAX_KEYS && !self.last.contains_key(&recurrence_key);
        if is_full || self.n_ends > MAX_ENDS {
            *self = Self::default();
        }
        let last = self.last.entry(recurrence_key).or_default();
        let is_known = |known: &Arc<Recurrence>| known.pattern == pattern;
        let is_first = last.pattern.replace(pattern) != Some(pattern);
        if is_first || last.recurrence.as_ref().is_some_and(is_known) {
            return;
        }
        let recurrence = Recurrence::new(pattern, ends, recurrence_key.of.n_slots);
        self.n_ends += recurrence.keys.len();
        let before = last.recurrence.replace(Arc::new(recurrence));
        self.n_ends -= before.map_or(0, |before| before.keys.len());
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::{Direction, Message, Operation};
    use zerocopy::{FromBytes, IntoBytes};

    use super::*;
    use crate::messages::end::words_of;
    use crate::messages::ends::{MessageEnd, MessageEnds};
    use crate::messages::pairing::Pairing;
    use crate::messages::pattern::Patterns;
    use collbench_clocks::timestamp::Timestamp;

    const OF: ShapeKey = ShapeKey {
        operation: Operation::Bcast,
        n_slots: 2,
        root: Some(0),
        hosts: 0,
    };
    const KIND: RecurrenceKey = RecurrenceKey {
        communicator: 0,
        of: OF,
        magnitude: 4,
    };

    fn record([second, third]: Words, enter: u64, leave: u64) -> Record {
        let words = [enter, second, third, leave].map(u64::to_le);
        Record::read_from_bytes(words.as_bytes()).unwrap()
    }

    fn message(is_send: bool, partner: u32, tag: u16, bytes: u64, at: u64) -> Record {
        let message = Message {
            direction: if is_send {
                Direction::Send
            } else {
                Direction::Receive
            },
            is_nonblocking: true,
            partner,
            communicator: 1,
            tag,
            bytes,
        };
        record(message.words(), at, at + 10)
    }

    /// A call with messages to and from a partner, and the call behind it.
    fn call(messages: &[Record]) -> Vec<Record> {
        let call = |enter, leave| Record::call(Operation::Bcast, 0, 1, 0, 8, enter, leave);
        let mut all = vec![call(100, 1000)];
        all.extend_from_slice(messages);
        all.push(call(1001, 2000));
        all
    }

    /// What two slots send one another, and the one sends once more when it has received.
    fn calls(tag: u16, bytes: u64) -> [Vec<Record>; 2] {
        [
            call(&[
                message(true, 1, tag, bytes, 200),
                message(false, 1, tag, bytes, 220),
                message(true, 1, tag, bytes, 240),
            ]),
            call(&[
                message(false, 0, tag, bytes, 150),
                message(true, 0, tag, bytes, 170),
                message(false, 0, tag, bytes, 190),
            ]),
        ]
    }

    /// Takes the records of both slots one by one.
    fn add_one_by_one(ends: &mut MessageEnds, calls: &[Vec<Record>]) {
        let mut steps = Steps::default();
        for (slot, records) in (0..).zip(calls) {
            steps.begin();
            for record in records {
                let Some(message) = record.message() else {
                    continue;
                };
                let [begin, end] = [record.enter.get(), record.leave.get()].map(|at| at as i64);
                let group = ends.group_of(message.communicator, message.tag);
                ends.add(&MessageEnd {
                    slot,
                    partner: Some(message.partner),
                    direction: message.direction,
                    group,
                    is_on_another: false,
                    has_end: true,
                    step: steps.step_of(
                        Arrival::of(RecordWord::from_bits(message.words()[0]), true),
                        begin,
                        end,
                    ),
                    words: words_of(record),
                    times: EndTimes {
                        begin: Timestamp::from_ns(begin),
                        end: Timestamp::from_ns(end),
                        bytes: message.bytes,
                    },
                });
            }
        }
    }

    fn one_by_one(calls: &[Vec<Record>; 2]) -> MessageEnds {
        let mut ends = MessageEnds::default();
        add_one_by_one(&mut ends, calls);
        ends
    }

    /// Recurrences that have met the calls with this tag.
    struct Met {
        patterns: Patterns,
        pairing: Pairing,
        recurrences: Recurrences,
    }

    impl Met {
        fn new(tag: u16) -> Self {
            let mut met = Self {
                patterns: Patterns::default(),
                pairing: Pairing::default(),
                recurrences: Recurrences::default(),
            };
            for _ in 0..2 {
                assert!(met.recurrences.of(KIND).is_none());
                met.see(&mut one_by_one(&calls(tag, 8)));
            }
            met
        }

        fn see(&mut self, ends: &mut MessageEnds) {
            let number = self.patterns.find(OF, ends, &mut self.pairing).unwrap();
            self.recurrences.see(KIND, number, ends.compared());
        }

        /// Ends of which as many slots as follow the recurrence were taken, and their number.
        fn follow(&self, calls: &[Vec<Record>; 2]) -> (MessageEnds, usize) {
            let clock = RankClock::in_ns();
            let mut ends = MessageEnds::default();
            ends.begin(self.recurrences.of(KIND));
            let mut steps = Steps::default();
            let follows = |(slot, records): (usize, &Vec<Record>)| {
                let (following, times) = ends.following().unwrap();
                steps.begin();
                let clocks = (&clock, clock.for_many().up_to(1 << 40));
                following.take(slot, records, clocks, &mut steps, times)
            };
            let n = (calls.iter().enumerate()).map(follows).take_while(|is| *is);
            let n = n.count();
            (ends, n)
        }
    }

    #[test]
    fn records_that_come_again_are_the_ends_that_they_are_one_by_one() {
        let mut met = Met::new(7);
        // With another tag, other bytes, and a note at the begin.
        let mut again = calls(9, 1 << 30);
        let note = record(
            [RecordWord::new(RecordKind::Note, 0, 0, 0).bits(), 0],
            50,
            50,
        );
        again[1].insert(1, note);
        let (mut ends, n) = met.follow(&again);
        assert_eq!(n, 2);
        let number = met.patterns.find(OF, &mut ends, &mut met.pairing).unwrap();
        assert!(ends.is_following());
        let paired = met.patterns.at(number).paired().to_vec();
        let mut expected = one_by_one(&again);
        let number = met.patterns.find(OF, &mut expected, &mut met.pairing);
        assert_eq!(paired, met.patterns.at(number.unwrap()).paired());
        assert!(paired.len() == 3 && paired.iter().all(|message| message.tag == 9));
        assert_eq!(ends.groups(), expected.groups());
    }

    #[test]
    fn records_that_differ_in_anything_else_are_not_followed() {
        let met = Met::new(7);
        let follows = |change: &dyn Fn(&mut Vec<Record>)| {
            let mut calls = calls(7, 8);
            change(&mut calls[1]);
            met.follow(&calls).1 == 2
        };
        assert!(follows(&|_| ()));
        let replaced = |at: usize, by: Record| follows(&move |records| records[at] = by);
        assert!(replaced(2, message(true, 0, 7, 8, 170)));
        // The direction, the partner, the tag.
        assert!(!replaced(2, message(false, 0, 7, 8, 170)));
        assert!(!replaced(2, message(true, 1, 7, 8, 170)));
        assert!(!replaced(2, message(true, 0, 8, 8, 170)));
        // Before the first has come: another step. Outside of the call, not as it returns; without an
        // end.
        assert!(!replaced(2, message(true, 0, 7, 8, 155)));
        assert!(replaced(3, message(false, 0, 7, 8, 1000)));
        assert!(!replaced(3, message(false, 0, 7, 8, 1001)));
        let last = message(false, 0, 7, 8, 190);
        assert!(!replaced(3, record(words_of(&last), 190, 0)));
        assert!(!replaced(3, record(words_of(&last), 190, 189)));
        // One more, one fewer, and nothing that shows that there is no other one.
        assert!(!follows(
            &|records| records.insert(3, message(false, 0, 7, 8, 195))
        ));
        assert!(!follows(&|records| records.retain(|r| r.enter.get() != 190)));
        assert!(!follows(&|records| records.truncate(4)));
    }

    #[test]
    fn ends_that_leave_a_recurrence_are_what_they_are_one_by_one() {
        let met = Met::new(7);
        let mut others = calls(9, 64);
        others[1][2] = message(true, 1, 9, 64, 170);
        let (mut ends, n) = met.follow(&others);
        assert_eq!(n, 1);
        ends.leave_recurrence();
        assert!(!ends.is_following());
        add_one_by_one(&mut ends, &[vec![], others[1].clone()]);
        let expected = one_by_one(&others);
        assert_eq!(ends.keys(), expected.keys());
        assert_eq!(ends.groups(), expected.groups());
        let without_bytes = |words: &Words| [words[0] & !BYTES, words[1]];
        let of_ends: Vec<Words> = ends.words().iter().map(without_bytes).collect();
        let of_expected: Vec<Words> = expected.words().iter().map(without_bytes).collect();
        assert_eq!(of_ends, of_expected);
        // Where slots are missing at the end, too.
        let (mut ends, _) = met.follow(&others);
        let mut patterns = Patterns::default();
        assert!(
            patterns
                .find(OF, &mut ends, &mut Pairing::default())
                .is_some()
        );
        assert_eq!(ends.keys(), &expected.keys()[..3]);
    }

    #[test]
    fn a_recurrence_whose_pattern_was_forgotten_is_left() {
        let mut met = Met::new(7);
        let again = calls(9, 8);
        let (mut ends, _) = met.follow(&again);
        // More than are kept.
        let one = message(true, 1, 7, 8, 200);
        for slot in 0..3 {
            let mut many = MessageEnds::default();
            let mut calls = [vec![], vec![], vec![]];
            calls[slot] = vec![one; MAX_ENDS];
            add_one_by_one(&mut many, &calls);
            assert!(met.patterns.find(OF, &mut many, &mut met.pairing).is_some());
        }
        let number = met.patterns.find(OF, &mut ends, &mut met.pairing).unwrap();
        assert_eq!(met.patterns.at(number).paired().len(), 3);
        assert_eq!(ends.groups(), one_by_one(&again).groups());
    }

    #[test]
    fn what_alternates_is_followed_by_its_kind_and_no_more_is_kept_than_is_allowed() {
        let mut met = Met::new(7);
        let mut ends = one_by_one(&calls(7, 8));
        let number = met.patterns.find(OF, &mut ends, &mut met.pairing).unwrap();
        for magnitude in 0..2 * MAX_KEYS as u32 {
            let recurrence_key = RecurrenceKey { magnitude, ..KIND };
            met.recurrences.see(recurrence_key, number, ends.compared());
            met.recurrences.see(recurrence_key, number, ends.compared());
            assert!(met.recurrences.of(recurrence_key).is_some());
            assert!(met.recurrences.last.len() <= MAX_KEYS);
            assert!(met.recurrences.n_ends <= MAX_ENDS + 6);
        }
    }
}

//! Patterns of messages that many instances share.
//!
//! A program calls a collective again and again, and mostly its processes send and receive the same
//! messages in the same order; only times and sizes differ. So the pairing of ends and the shape
//! are found once; the ends of each further instance are only compared with the pattern.
//!
//! It pays: 1,767 instructions a message where no records recur, 2,830 without
//! (scripts/ir-guard-analyze.sh at 75823dd, 64 ranks).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use collbench_trees::shape::{Shape, ShapeKey};

use crate::messages::end::{Key, PatternNumber, group_of};
use crate::messages::ends::MessageEnds;
use crate::messages::message::InstanceMessage;
use crate::messages::pairing::Pairing;

/// The common part of instances whose ends differ only in times and bytes.
#[derive(Debug)]
pub(crate) struct Pattern {
    of: ShapeKey,
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

    /// Whether the receive time of every message is known.
    pub(crate) fn are_all_received(&self) -> bool {
        self.are_all_received
    }

    /// The shape of its instances, which `find` finds.
    pub(crate) fn shape(&self, find: impl FnOnce() -> Arc<Shape>) -> Arc<Shape> {
        Arc::clone(self.shape.get_or_init(find))
    }

    fn is_of(&self, of: ShapeKey, ends: &MessageEnds) -> bool {
        self.of == of && self.keys.as_flattened() == ends.keys().as_flattened()
    }

    /// Takes the times and bytes of an instance that is of it.
    fn take(&mut self, ends: &MessageEnds) {
        for (message, &[send, receive]) in self.paired.iter_mut().zip(&self.ends) {
            let (send, receive) = (&ends.times[send as usize], &ends.times[receive as usize]);
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

/// Most ends of all patterns together. Beyond, all patterns are discarded.
const MAX_ENDS: usize = 1 << 19;

/// The patterns that were met.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    generation: u64,
    list: Vec<Pattern>,
    /// The last one of each kind of instance.
    last: BTreeMap<ShapeKey, usize>,
    /// By the hash of its ends.
    known: BTreeMap<(ShapeKey, u64), usize>,
    n_ends: usize,
}

impl Patterns {
    /// Finds the pattern of an instance, and updates its messages with the instance's times. `None`
    /// where there is none: with receives from any process, whose pairing differs each time, and
    /// beyond the limit. Then `pairing` has the messages.
    pub(crate) fn find(
        &mut self,
        of: ShapeKey,
        ends: &mut MessageEnds,
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

    fn look_up(
        &mut self,
        of: ShapeKey,
        ends: &MessageEnds,
        pairing: &mut Pairing,
    ) -> Option<usize> {
        let last = self.last.get(&of).copied();
        if let Some(index) = last.filter(|&index| self.list[index].is_of(of, ends)) {
            return Some(index);
        }
        let index = self.known_or_new(of, ends, pairing)?;
        self.last.insert(of, index);
        Some(index)
    }

    fn known_or_new(
        &mut self,
        of: ShapeKey,
        ends: &MessageEnds,
        pairing: &mut Pairing,
    ) -> Option<usize> {
        let hash = ends.hash();
        let known = self.known.get(&(of, hash)).copied();
        if known.is_some_and(|number| self.list[number].is_of(of, ends)) {
            return known;
        }
        ends.add_to(pairing);
        pairing.pair();
        if ends.has_receive_from_any() || ends.keys().len() > MAX_ENDS || known.is_some() {
            return None;
        }
        if self.n_ends + ends.keys().len() > MAX_ENDS {
            *self = Self {
                generation: self.generation + 1,
                ..Self::default()
            };
        }
        self.n_ends += ends.keys().len();
        self.list.push(Pattern {
            of,
            keys: ends.keys().into(),
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
    use collbench_clocks::timestamp::Timestamp;
    use collbench_formats::{Direction, Operation};

    use super::*;
    use crate::messages::end::EndTimes;
    use crate::messages::ends::MessageEnd;
    use crate::messages::pairing::NOT_A_SLOT;
    use crate::messages::steps::Step;

    const OF: ShapeKey = ShapeKey {
        operation: Operation::Bcast,
        n_slots: 4,
        root: Some(0),
        hosts: 0,
    };

    /// Slot, partner, whether it is a send, tag; begins at `at` plus its number.
    type Written = (u32, Option<u32>, bool, u16);

    fn ends(written: &[Written], at: i64) -> MessageEnds {
        let mut ends = MessageEnds::default();
        for (number, &(slot, partner, is_send, tag)) in (0..).zip(written) {
            let begin = at + number;
            let group = ends.group_of(3, tag);
            let has_end = slot != 3;
            let end = if has_end { begin + 100 } else { begin };
            ends.add(&MessageEnd {
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
                times: EndTimes {
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

    fn by_pairing(ends: &MessageEnds) -> (Vec<InstanceMessage>, u64, u64) {
        let mut pairing = Pairing::default();
        ends.add_to(&mut pairing);
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
        let mut find = |of: ShapeKey, mut ends: MessageEnds| {
            patterns.find(of, &mut ends, &mut pairing).is_some()
        };
        let first = written(50);
        assert!(find(OF, ends(&first, 0)));
        let mut swapped = first.clone();
        swapped.swap(0, 1);
        assert!(find(OF, ends(&swapped, 0)));
        let mut one_tag = first.clone();
        one_tag[3].3 = 50;
        assert!(find(OF, ends(&one_tag, 0)));
        let of = ShapeKey {
            root: Some(1),
            ..OF
        };
        assert!(find(of, ends(&first, 0)));
        // The pairing differs each time.
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
        let end = |partner, direction| MessageEnd {
            slot: 3,
            partner,
            direction,
            group: 0,
            is_on_another: false,
            has_end: true,
            step: Step::default(),
            words: [0; 2],
            times: all.times[0],
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
        assert_eq!(all.keys(), kept.keys());
        let begins = |ends: &MessageEnds| {
            ends.times
                .iter()
                .map(|times| times.begin)
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
            assert_eq!((ends.groups(), ends.words().len()), (&[(3, 7)][..], 2));
            let number = patterns.find(OF, &mut ends, &mut pairing).unwrap();
            let paired = patterns.at(number).paired();
            assert!(paired.len() == 1 && paired[0].tag == 7);
        }
        assert_eq!(patterns.list.len(), 1);
    }
}

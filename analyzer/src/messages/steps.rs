//! The steps of a process: which messages it can have known when it sent.
//!
//! A step ends when a message is known to have arrived, and another end begins after that. If a
//! message had arrived before the library posted its receive, the recorder does not see when the
//! library noticed it: a root that forwards it at once, and a process that exchanges with a partner
//! who was earlier, leave equal records. The partner distinguishes them: in an exchange it posted
//! its own receive before it sent.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::{Direction, RecordWord};

use crate::messages::message::InstanceMessage;

/// The step in which an end of a message begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// From 0.
    pub(crate) number: u32,
    /// Whether it is a new step only if the early message of the end before had been noticed.
    pub(crate) is_in_question: bool,
}

/// Finds the steps of a process.
#[derive(Debug)]
pub(crate) struct Steps {
    step: u32,
    /// Arrival times of messages with which no step has ended yet, ns.
    arrived: Vec<i64>,
    /// The first of them; `i64::MAX` where there is none.
    first: i64,
    /// Whether the last end is a receive whose message had arrived early.
    was_last_early: bool,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            step: 0,
            arrived: Vec::new(),
            first: i64::MAX,
            was_last_early: false,
        }
    }
}

/// What an end of a message means for the steps after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// No message arrives, or nobody saw it, or it says nothing about other processes.
    None,
    /// The receive waited for it.
    Awaited,
    /// It had arrived before the receive was posted.
    Early,
}

impl Arrival {
    /// By the second word of the record of a message.
    #[inline]
    pub(crate) fn of(word: RecordWord, shows_others: bool) -> Self {
        match Direction::of(word) {
            Direction::Receive if !shows_others => Self::None,
            Direction::Receive if word.is_nonblocking() => Self::Awaited,
            Direction::Receive => Self::Early,
            Direction::Send => Self::None,
        }
    }
}

impl Steps {
    /// Begins another process.
    pub(crate) fn begin(&mut self) {
        *self = Self {
            arrived: std::mem::take(&mut self.arrived),
            ..Self::default()
        };
        self.arrived.clear();
    }

    /// The step of the next end. `end` is ignored where no message arrives.
    #[inline(always)]
    pub(crate) fn step_of(&mut self, arrival: Arrival, begin: i64, end: i64) -> Step {
        let is_sure = self.first <= begin;
        if is_sure {
            self.look(begin);
        }
        let may_begin = self.was_last_early;
        self.was_last_early = arrival == Arrival::Early;
        self.step += u32::from(is_sure || may_begin);
        if arrival == Arrival::Awaited {
            self.arrived.push(end);
            self.first = self.first.min(end);
        }
        Step {
            number: self.step,
            is_in_question: may_begin && !is_sure,
        }
    }

    /// Removes arrivals up to a time.
    #[inline(never)]
    fn look(&mut self, at: i64) {
        let mut first = i64::MAX;
        self.arrived.retain(|&arrived| {
            let is_left = arrived > at;
            if is_left {
                first = first.min(arrived);
            }
            is_left
        });
        self.first = first;
    }
}

/// Decides which of the steps in question are steps. `in_question`: slot and number of the ends
/// that begin them.
pub(crate) fn settle(messages: &mut [InstanceMessage], in_question: &BTreeSet<(u32, u32)>) {
    let exchanged = exchanged(messages);
    let mut ends: Vec<OrderedEnd> = Vec::with_capacity(2 * messages.len());
    for (number, message) in messages.iter().enumerate() {
        ends.push(OrderedEnd {
            slot_and_number: (message.from, message.nth_of_sender),
            strict: message.step_of_sender,
            direction: Direction::Send,
            number,
        });
        ends.push(OrderedEnd {
            slot_and_number: (message.to, message.nth_of_receiver),
            strict: message.step_of_receiver,
            direction: Direction::Receive,
            number,
        });
    }
    ends.sort_unstable_by_key(|end| end.slot_and_number);
    for of_slot in ends.chunk_by(|a, b| a.slot_and_number.0 == b.slot_and_number.0) {
        let mut step = 0;
        let mut last: Option<&OrderedEnd> = None;
        // Of receives that have come at once and nobody was seen to look at: whether all are from
        // processes that this one exchanges with.
        let mut open: Option<bool> = None;
        for end in of_slot {
            let before = last.map_or(0, |last| last.strict);
            let is_asked = in_question.contains(&end.slot_and_number);
            if end.strict > before && !(is_asked && end.strict == before + 1) {
                step += end.strict - before;
                open = None;
            } else if is_asked {
                let is_exchanged = last.is_some_and(|last| {
                    last.slot_and_number.1 + 1 == end.slot_and_number.1
                        && last.direction == Direction::Receive
                        && exchanged.contains(&last.number)
                });
                open = Some(open.unwrap_or(true) && is_exchanged);
            }
            // Who exchanges with one after the other waits between a send and the next receive, or
            // what it tells somebody else.
            let is_next = match end.direction {
                Direction::Receive => last.is_some_and(|last| last.direction == Direction::Send),
                Direction::Send => !exchanged.contains(&end.number),
            };
            if open.is_some_and(|all_exchanged| !all_exchanged || is_next) {
                step += 1;
                open = None;
            }
            let message = &mut messages[end.number];
            match end.direction {
                Direction::Send => message.step_of_sender = step,
                Direction::Receive => message.step_of_receiver = step,
            }
            last = Some(end);
        }
    }
}

/// One end of a message, by slot and number there.
#[derive(Debug, Clone, Copy)]
struct OrderedEnd {
    slot_and_number: (u32, u32),
    /// Its step if all in question are steps.
    strict: u32,
    direction: Direction,
    number: usize,
}

/// The messages that are part of an exchange: both ends post their receive before they send.
fn exchanged(messages: &[InstanceMessage]) -> BTreeSet<usize> {
    // By sender and receiver, in the order of the sender.
    let mut between: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
    for message in messages {
        let ends = (message.nth_of_sender, message.nth_of_receiver);
        let there = between.entry((message.from, message.to)).or_default();
        there.push(ends);
    }
    let is_exchanged = |message: &InstanceMessage| {
        let back = between.get(&(message.to, message.from))?;
        let next = back.partition_point(|&(sent, _)| sent < message.nth_of_receiver);
        let (_, posted) = back.get(next)?;
        (*posted < message.nth_of_sender).then_some(())
    };
    let numbered = messages.iter().enumerate();
    numbered
        .filter_map(|(number, message)| is_exchanged(message).map(|()| number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use collbench_clocks::timestamp::Timestamp;

    #[test]
    fn a_step_ends_where_what_has_come_is_known_before_the_next_end_begins() {
        let (send, receive, at_once) = (Arrival::None, Arrival::Awaited, Arrival::Early);
        let mut steps = Steps::default();
        for _ in 0..2 {
            steps.begin();
            let ends = [
                // Two receives posted together, and a send while they are waited for.
                (receive, 0, 10, (0, false)),
                (receive, 1, 30, (0, false)),
                (send, 2, 3, (0, false)),
                // Behind the first.
                (send, 10, 11, (1, false)),
                (send, 12, 13, (1, false)),
                // Behind the second; what nobody saw come ends nothing.
                (Arrival::None, 35, 36, (2, false)),
                (send, 40, 41, (2, false)),
                // An early message may be known already, or noticed later.
                (at_once, 50, 51, (2, false)),
                (at_once, 52, 53, (3, true)),
                (receive, 54, 56, (4, true)),
                (at_once, 55, 57, (4, false)),
                (send, 58, 59, (5, false)),
            ];
            for (arrival, begin, end, (number, is_in_question)) in ends {
                let expected = Step {
                    number,
                    is_in_question,
                };
                assert_eq!(steps.step_of(arrival, begin, end), expected, "at {begin}");
            }
        }
    }

    /// From, to, number of the send and of the receive, and the steps of both if all are steps.
    type Written = (u32, u32, u32, u32, u32, u32);

    fn steps(written: &[Written], in_question: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let at = Timestamp::from_ns(0);
        let message = |&(from, to, nth_of_sender, nth_of_receiver, sender, receiver): &Written| {
            InstanceMessage {
                from,
                to,
                bytes: 8,
                tag: 0,
                is_on_another: false,
                is_from_any: false,
                is_send_nonblocking: false,
                sent: at,
                send_returned: at,
                posted: at,
                received: Some(at),
                nth_of_sender,
                nth_of_receiver,
                step_of_sender: sender,
                step_of_receiver: receiver,
            }
        };
        let mut messages: Vec<_> = written.iter().map(message).collect();
        settle(&mut messages, &in_question.iter().copied().collect());
        let steps = messages.iter();
        steps
            .map(|message| (message.step_of_sender, message.step_of_receiver))
            .collect()
    }

    #[test]
    fn who_exchanges_does_not_depend_on_what_came_at_once() {
        // Of three: 0 has 1 stand in for it, which exchanges with 2.
        // Nothing came at once to 1 and 2; to 2; to 1 from both.
        for (of_1_to_2, of_2, in_question) in [
            ((1, 0), 0, [].as_slice()),
            ((1, 0), 1, &[(2, 1)]),
            ((2, 0), 0, &[(1, 1), (1, 2)]),
        ] {
            let found = steps(
                &[
                    (0, 1, 0, 0, 0, 0),
                    (2, 1, 1, 1, of_2, 1),
                    (1, 2, 2, 0, of_1_to_2.0, of_1_to_2.1),
                    (1, 0, 3, 1, 2, 0),
                ],
                in_question,
            );
            assert_eq!(found, [(0, 0), (0, 1), (1, 0), (2, 0)], "{in_question:?}");
        }
    }

    #[test]
    fn a_root_depends_on_what_came_at_once() {
        // 0 receives from 1 and 2 at once, and sends to both.
        let found = steps(
            &[
                (0, 1, 2, 1, 2, 0),
                (0, 2, 3, 1, 2, 0),
                (1, 0, 0, 0, 0, 0),
                (2, 0, 0, 1, 0, 1),
            ],
            &[(0, 1), (0, 2)],
        );
        assert_eq!(found, [(2, 0), (2, 0), (0, 0), (0, 1)]);
    }

    #[test]
    fn exchanges_one_after_the_other_are_steps_and_those_at_once_are_none() {
        // 0 with 1 and then with 2, both of which were there before.
        let one_by_one = [
            (0, 1, 1, 0, 1, 0),
            (0, 2, 3, 0, 2, 0),
            (1, 0, 1, 0, 0, 0),
            (2, 0, 1, 2, 0, 1),
        ];
        let found = steps(&one_by_one, &[(0, 1), (0, 3)]);
        assert_eq!(found, [(0, 0), (1, 0), (0, 0), (0, 1)]);
        let at_once = [
            (0, 1, 2, 0, 2, 0),
            (0, 2, 3, 0, 2, 0),
            (1, 0, 1, 0, 0, 0),
            (2, 0, 1, 1, 0, 1),
        ];
        let found = steps(&at_once, &[(0, 1), (0, 2)]);
        assert_eq!(found, [(0, 0), (0, 0), (0, 0), (0, 0)]);
    }
}

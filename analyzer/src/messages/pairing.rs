//! Pairs sends with receives.
//!
//! Between two processes, the messages of one communicator and tag are received in the order in
//! which they are sent: the n-th receive takes the n-th send. Receives from any process take the
//! sends that are left, as a set: the recorder does not see which receive got which send.

use std::collections::BTreeSet;

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::Direction;

use crate::messages::message::InstanceMessage;
use crate::messages::steps;
use crate::messages::steps::Step;

/// A process that is not a member of the communicator.
pub(crate) const NOT_A_SLOT: u32 = u32::MAX;

/// One end of a message of an instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairableEnd {
    /// Among all ends of the instance.
    pub(crate) number: u32,
    pub(crate) slot: u32,
    /// Slot of the other end, or [`NOT_A_SLOT`]; `None`: any, or not known.
    pub(crate) partner: Option<u32>,
    pub(crate) direction: Direction,
    pub(crate) bytes: u64,
    pub(crate) tag: u16,
    /// A number of the communicator that is the same for both ends.
    pub(crate) communicator: u32,
    pub(crate) is_on_another: bool,
    pub(crate) is_nonblocking: bool,
    pub(crate) begin: Timestamp<Global>,
    pub(crate) end: Option<Timestamp<Global>>,
    pub(crate) nth: u32,
    pub(crate) step: Step,
}

/// Sender, receiver, communicator and tag: messages of one channel stay in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Channel {
    from: u32,
    to: u32,
    communicator: u32,
    tag: u16,
}

impl Channel {
    fn hash(self) -> u64 {
        let ends = u64::from(self.from) << 32 | u64::from(self.to);
        let order = u64::from(self.communicator) << 16 | u64::from(self.tag);
        let mixed = (ends ^ order.rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }
}

/// No end.
const NONE: u32 = u32::MAX;

/// A channel in the table, and its unpaired receives: a list through `next`.
#[derive(Debug, Clone, Copy)]
struct Entry {
    channel: Channel,
    first: u32,
    last: u32,
    /// Of which filling of the table.
    filling: u32,
}

const EMPTY: Entry = Entry {
    channel: Channel {
        from: 0,
        to: 0,
        communicator: 0,
        tag: 0,
    },
    first: NONE,
    last: NONE,
    filling: 0,
};

/// Pairs the ends of one instance.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    sends: Vec<PairableEnd>,
    receives: Vec<PairableEnd>,
    /// For each receive the next one of its channel.
    next: Vec<u32>,
    /// The channels of receives, by hash; entries of older fillings count as empty.
    table: Vec<Entry>,
    filling: u32,
    /// Receives from any.
    from_any: Vec<PairableEnd>,
    /// Sends that no receive has named.
    left: Vec<PairableEnd>,
    paired: Vec<InstanceMessage>,
    /// Slot and number of ends whose steps are in question.
    in_question: BTreeSet<(u32, u32)>,
    /// Numbers of the two ends of each, where no receive was one from any.
    ends: Vec<[u32; 2]>,
    pub(crate) n_unpaired_sends: u64,
    pub(crate) n_unpaired_receives: u64,
}

impl Pairing {
    /// Begins another instance.
    pub(crate) fn clear(&mut self) {
        self.sends.clear();
        self.receives.clear();
        self.from_any.clear();
        self.left.clear();
        self.paired.clear();
        self.ends.clear();
        self.in_question.clear();
        (self.n_unpaired_sends, self.n_unpaired_receives) = (0, 0);
    }

    /// Adds an end; those of a slot in their order.
    pub(crate) fn add(&mut self, end: &PairableEnd) {
        if end.step.is_in_question {
            self.in_question.insert((end.slot, end.nth));
        }
        match (end.direction, end.partner) {
            (Direction::Send, _) => self.sends.push(*end),
            (Direction::Receive, Some(_)) => self.receives.push(*end),
            (Direction::Receive, None) => self.from_any.push(*end),
        }
    }

    /// Pairs the ends that were added.
    pub(crate) fn pair(&mut self) {
        if self.sends.is_empty() && self.receives.is_empty() && self.from_any.is_empty() {
            return;
        }
        self.fill_table();
        let sends = std::mem::take(&mut self.sends);
        for send in &sends {
            match self.take_receive(send) {
                Some(receive) => {
                    let receive = &self.receives[receive];
                    self.paired.push(message(send, receive, false));
                    self.ends.push([send.number, receive.number]);
                }
                None => self.left.push(*send),
            }
        }
        self.sends = sends;
        let mut n_from_any = 0;
        if !self.from_any.is_empty() && !self.left.is_empty() {
            n_from_any = self.pair_from_any();
        }
        self.n_unpaired_sends = (self.left.len() - n_from_any) as u64;
        self.n_unpaired_receives =
            (self.receives.len() + self.from_any.len() - self.paired.len()) as u64;
        if !self.in_question.is_empty() {
            steps::settle(&mut self.paired, &self.in_question);
        }
    }

    /// The messages, by sender and their order there.
    pub(crate) fn paired(&self) -> &[InstanceMessage] {
        &self.paired
    }

    /// Numbers of the two ends of each, where no receive was one from any.
    pub(crate) fn ends(&self) -> &[[u32; 2]] {
        &self.ends
    }

    fn fill_table(&mut self) {
        let wanted = (self.receives.len() * 2).next_power_of_two().max(16);
        if self.table.len() < wanted {
            self.table = vec![EMPTY; wanted];
            self.filling = 0;
        }
        self.filling = self.filling.wrapping_add(1);
        if self.filling == 0 {
            self.table.fill(EMPTY);
            self.filling = 1;
        }
        self.next.clear();
        self.next.resize(self.receives.len(), NONE);
        for at in 0..self.receives.len() {
            let receive = &self.receives[at];
            let channel = Channel {
                from: receive.partner.unwrap_or(NOT_A_SLOT),
                to: receive.slot,
                communicator: receive.communicator,
                tag: receive.tag,
            };
            let cell = self.cell_of(channel);
            let entry = &mut self.table[cell];
            if entry.filling != self.filling {
                *entry = Entry {
                    channel,
                    first: at as u32,
                    last: at as u32,
                    filling: self.filling,
                };
            } else {
                self.next[entry.last as usize] = at as u32;
                entry.last = at as u32;
            }
        }
    }

    /// Index of a channel in the table, or where it would be. There is always an empty entry.
    fn cell_of(&self, channel: Channel) -> usize {
        let mask = self.table.len() - 1;
        let mut cell = channel.hash() as usize & mask;
        while self.table[cell].filling == self.filling && self.table[cell].channel != channel {
            cell = (cell + 1) & mask;
        }
        cell
    }

    /// The next receive for a send.
    fn take_receive(&mut self, send: &PairableEnd) -> Option<usize> {
        let channel = Channel {
            from: send.slot,
            to: send.partner.filter(|&to| to != NOT_A_SLOT)?,
            communicator: send.communicator,
            tag: send.tag,
        };
        let cell = self.cell_of(channel);
        let entry = &mut self.table[cell];
        if entry.filling != self.filling || entry.first == NONE {
            return None;
        }
        let receive = entry.first as usize;
        entry.first = self.next[receive];
        Some(receive)
    }

    /// Pairs remaining sends with receives from any process; returns how many.
    #[cold]
    fn pair_from_any(&mut self) -> usize {
        type Order = (u32, u32, u16);
        let of_send = |end: &PairableEnd| -> Order {
            (end.partner.unwrap_or(NOT_A_SLOT), end.communicator, end.tag)
        };
        let of_receive = |end: &PairableEnd| -> Order { (end.slot, end.communicator, end.tag) };
        self.left
            .sort_by_key(|end| (of_send(end), end.begin, end.slot, end.nth));
        self.from_any.sort_by_key(|end| {
            let end_ns = end.end.map_or(i64::MAX, |end| end.ns());
            (of_receive(end), end_ns, end.nth)
        });
        let mut receives = self.from_any.iter().peekable();
        let mut n = 0;
        for send in &self.left {
            let wanted = of_send(send);
            while receives.next_if(|end| of_receive(end) < wanted).is_some() {}
            if let Some(receive) = receives.next_if(|end| of_receive(end) == wanted) {
                self.paired.push(message(send, receive, true));
                n += 1;
            }
        }
        self.paired
            .sort_by_key(|message| (message.from, message.nth_of_sender));
        n
    }
}

fn message(send: &PairableEnd, receive: &PairableEnd, is_from_any: bool) -> InstanceMessage {
    InstanceMessage {
        from: send.slot,
        to: receive.slot,
        bytes: send.bytes,
        tag: send.tag,
        is_on_another: send.is_on_another,
        is_from_any,
        is_send_nonblocking: send.is_nonblocking,
        sent: send.begin,
        send_returned: send.end.unwrap_or(send.begin),
        posted: receive.begin,
        received: receive.end,
        nth_of_sender: send.nth,
        nth_of_receiver: receive.nth,
        step_of_sender: send.step.number,
        step_of_receiver: receive.step.number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Direction = Direction::Send;
    const RECEIVE: Direction = Direction::Receive;

    /// An end of slot 0 ... that begins at `begin`.
    fn end(
        direction: Direction,
        slot: u32,
        partner: Option<u32>,
        tag: u16,
        begin: i64,
    ) -> PairableEnd {
        PairableEnd {
            number: begin as u32,
            slot,
            partner,
            direction,
            bytes: 8,
            tag,
            communicator: 0,
            is_on_another: false,
            is_nonblocking: false,
            begin: Timestamp::from_ns(begin),
            end: Some(Timestamp::from_ns(begin + 5)),
            nth: begin as u32,
            step: Step::default(),
        }
    }

    /// From, to, when sent and when posted.
    type Pair = (u32, u32, i64, i64);

    fn pairs(pairing: &mut Pairing, ends: &[PairableEnd]) -> (Vec<Pair>, u64, u64) {
        pairing.clear();
        ends.iter().for_each(|end| pairing.add(end));
        pairing.pair();
        let pairs = pairing.paired().iter();
        let pairs = pairs.map(|m| (m.from, m.to, m.sent.ns(), m.posted.ns()));
        (
            pairs.collect(),
            pairing.n_unpaired_sends,
            pairing.n_unpaired_receives,
        )
    }

    #[test]
    fn between_two_processes_messages_of_a_tag_keep_their_order() {
        let ends = [
            end(SEND, 0, Some(1), 7, 1),
            end(SEND, 0, Some(1), 8, 2),
            end(SEND, 0, Some(1), 7, 3),
            end(RECEIVE, 1, Some(0), 8, 10),
            end(RECEIVE, 1, Some(0), 7, 11),
            end(RECEIVE, 1, Some(0), 7, 12),
        ];
        let expected = vec![(0, 1, 1, 11), (0, 1, 2, 10), (0, 1, 3, 12)];
        let mut pairing = Pairing::default();
        // Nothing is left from one instance to the next.
        for _ in 0..3 {
            assert_eq!(pairs(&mut pairing, &ends), (expected.clone(), 0, 0));
        }
    }

    #[test]
    fn what_has_no_other_end_is_counted() {
        let ends = [
            end(SEND, 0, Some(1), 7, 1),
            end(SEND, 0, Some(NOT_A_SLOT), 7, 2),
            end(SEND, 0, None, 7, 3),
            end(RECEIVE, 1, Some(0), 8, 4),
            end(RECEIVE, 2, Some(0), 7, 5),
        ];
        let mut pairing = Pairing::default();
        assert_eq!(pairs(&mut pairing, &ends), (vec![], 3, 2));
    }

    #[test]
    fn a_message_on_another_communicator_is_another_one() {
        let mut send = end(SEND, 0, Some(1), 7, 1);
        let receive = end(RECEIVE, 1, Some(0), 7, 2);
        send.communicator = 4;
        let mut pairing = Pairing::default();
        assert_eq!(pairs(&mut pairing, &[send, receive]), (vec![], 1, 1));
    }

    #[test]
    fn receives_from_any_take_what_nobody_named() {
        let ends = [
            end(SEND, 1, Some(0), 7, 20),
            end(SEND, 2, Some(0), 7, 10),
            end(SEND, 3, Some(0), 7, 15),
            end(SEND, 3, Some(0), 9, 16),
            end(RECEIVE, 0, Some(3), 7, 1),
            end(RECEIVE, 0, None, 7, 2),
            end(RECEIVE, 0, None, 7, 3),
            end(RECEIVE, 0, None, 6, 4),
        ];
        let mut pairing = Pairing::default();
        let found = pairs(&mut pairing, &ends);
        let expected = vec![(1, 0, 20, 3), (2, 0, 10, 2), (3, 0, 15, 1)];
        assert_eq!(found, (expected, 1, 1));
    }
}

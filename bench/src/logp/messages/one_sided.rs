//! Messages over one-sided operations of MPI.
//!
//! Each process has a ring of slots for each sender. A sender writes a message to the next slot
//! with one `MPI_Accumulate`; the receiver polls its own memory. Only single words are written at
//! once, in any order: so each word of a slot has the number of its message in the upper half, and
//! half a word of the message in the lower. A message has arrived when all words of its slot have
//! its number. Numbers only grow, and so the operation is `MPI_MAX`.
//!
//! Bulk data are put into a ring of their own, and flushed, before their message is written. A
//! receiver tells each sender now and then how many messages it has handled, before the sender runs
//! out of slots.

use collbench_instrument::Clock;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator};

use super::mpi_job::MpiNetwork;
use super::network::{Kind, Message, Network, WORDS};
use super::ticks::Ticks;
use super::window::Window;

/// Slots for small messages of one sender.
const SLOTS: usize = 1024;
/// Words of a slot: what the message is, its bytes of bulk data, and its words in halves.
const SLOT: usize = 2 + 2 * WORDS;
/// Slots for bulk data of one sender.
const BULK_SLOTS: usize = 8;
/// What a sender is told: how many messages, and how many bulk messages, were handled.
const HANDLED: usize = 2;

/// Messages to and from one process.
#[derive(Debug, Clone, Copy, Default)]
struct Exchanged {
    sent: u64,
    bulk_sent: u64,
    handled: u64,
    bulk_handled: u64,
}

/// This process, with windows of its own for messages.
pub(in crate::logp) struct OneSided {
    comm: SimpleCommunicator,
    /// Its rank.
    own: usize,
    ticks: Ticks,
    small: Window,
    bulk: Option<Bulk>,
    /// By process.
    exchanged: Vec<Exchanged>,
    /// The process whose messages are looked for first.
    next: usize,
    /// Bulk messages whose first or last byte was not the one that was sent.
    n_damaged: u64,
}

struct Bulk {
    window: Window,
    /// Words of a slot.
    slot: usize,
    /// What is sent.
    data: Vec<u8>,
    /// By process: those sent and handled when this was made, at which its first slot is.
    begin: Vec<(u64, u64)>,
}

impl OneSided {
    pub(in crate::logp) fn new(comm: SimpleCommunicator, clock: Clock) -> Self {
        let n = comm.size() as usize;
        Self {
            small: Window::new(comm.as_raw(), n * (SLOTS * SLOT + HANDLED)),
            ticks: Ticks::of(clock),
            bulk: None,
            exchanged: vec![Exchanged::default(); n],
            next: 0,
            n_damaged: 0,
            own: comm.rank() as usize,
            comm,
        }
    }

    /// The first word of the slot for message `number`, from 0, of a sender.
    fn slot(sender: usize, number: u64) -> usize {
        (sender * SLOTS + number as usize % SLOTS) * SLOT
    }

    /// The first word in which `receiver` says how many messages it has handled.
    fn handled_at(&self, receiver: usize) -> usize {
        self.exchanged.len() * SLOTS * SLOT + HANDLED * receiver
    }

    /// Lets the MPI library do what others ask of it.
    #[inline]
    fn progress(&self) {
        let mut flag = 0;
        // SAFETY: the communicator is valid; no message is ever sent there.
        unsafe {
            ffi::MPI_Iprobe(
                ffi::RSMPI_ANY_SOURCE,
                ffi::RSMPI_ANY_TAG,
                self.comm.as_raw(),
                &mut flag,
                ffi::RSMPI_STATUS_IGNORE,
            );
        }
    }

    /// Waits until a process has handled so many messages that there is a free slot; `bulk`: for
    /// bulk data, too.
    #[inline]
    fn wait_for_slot(&self, to: usize, bulk: bool) {
        let at = self.handled_at(to);
        let of = &self.exchanged[to];
        while of.sent - self.small.word(at) >= SLOTS as u64
            || (bulk && of.bulk_sent - self.small.word(at + 1) >= BULK_SLOTS as u64)
        {
            self.progress();
        }
    }

    /// The next message of a process, if it has arrived.
    #[inline]
    fn arrived(&self, from: usize) -> Option<Message> {
        let number = self.exchanged[from].handled;
        let at = Self::slot(from, number);
        let mut halves = [0u64; SLOT];
        for (word, half) in halves.iter_mut().enumerate() {
            let found = self.small.word(at + word);
            if found >> 32 != stamp(number) {
                return None;
            }
            *half = found & u64::from(u32::MAX);
        }
        Some(decode(&halves))
    }

    /// The next message of some process, if one has arrived, with its sender.
    #[inline]
    fn arrived_from_any(&self) -> Option<(usize, Message)> {
        let n = self.exchanged.len();
        let mut each = (0..n).map(|i| (self.next + i) % n);
        each.find_map(|from| Some((from, self.arrived(from)?)))
    }

    /// Says that a message of a process was handled, where that process should know.
    #[inline]
    fn count_handled(&mut self, from: usize, message: &Message) {
        let at = self.handled_at(self.own);
        let of = &mut self.exchanged[from];
        of.handled += 1;
        of.bulk_handled += u64::from(message.bytes > 0);
        let is_due = of.handled.is_multiple_of(SLOTS as u64 / 4)
            || (message.bytes > 0 && of.bulk_handled.is_multiple_of(BULK_SLOTS as u64 / 2));
        if is_due {
            let handled = [of.handled, of.bulk_handled];
            self.small.raise(from, at, &handled);
        }
    }

    /// Whether bulk data have arrived as they were sent.
    fn is_whole(&self, from: usize, message: &Message) -> bool {
        let Some(bulk) = &self.bulk else {
            return false;
        };
        let number = self.exchanged[from].bulk_handled - bulk.begin[from].1;
        let at = bulk.at(from, number);
        let last = message.bytes - 1;
        let byte = |at_byte: usize| bulk.window.word(at + at_byte / 8).to_ne_bytes()[at_byte % 8];
        [byte(0), byte(last)] == [message.mark(); 2]
    }
}

impl Bulk {
    /// The first word of the slot for bulk message `number` of a sender.
    fn at(&self, sender: usize, number: u64) -> usize {
        (sender * BULK_SLOTS + number as usize % BULK_SLOTS) * self.slot
    }
}

/// What the words of a message begin with: never 0, which memory has at first.
fn stamp(number: u64) -> u64 {
    (number + 1) & u64::from(u32::MAX)
}

/// The halves of a message.
fn encode(message: &Message) -> [u64; SLOT] {
    let kind = match message.kind {
        Kind::Request => 0,
        Kind::Reply => 1,
    };
    let mut halves = [0; SLOT];
    halves[0] = u64::from(message.handler) << 8 | kind;
    halves[1] = message.bytes as u64;
    for (pair, word) in halves[2..].chunks_exact_mut(2).zip(message.words) {
        pair.copy_from_slice(&[word & u64::from(u32::MAX), word >> 32]);
    }
    halves
}

/// The message of these halves.
fn decode(halves: &[u64; SLOT]) -> Message {
    let mut words = [0; WORDS];
    for (word, pair) in words.iter_mut().zip(halves[2..].chunks_exact(2)) {
        *word = pair[0] | pair[1] << 32;
    }
    Message {
        kind: if halves[0] & 0xff == 0 {
            Kind::Request
        } else {
            Kind::Reply
        },
        handler: (halves[0] >> 8) as u8,
        words,
        bytes: halves[1] as usize,
    }
}

impl Network for OneSided {
    #[inline]
    fn now_ns(&mut self) -> f64 {
        self.ticks.now_ns()
    }

    fn clock_ns(&self) -> f64 {
        self.ticks.reading_ns
    }

    #[inline]
    fn send(&mut self, to: usize, message: &Message) {
        self.wait_for_slot(to, message.bytes > 0);
        let own = self.own;
        let of = self.exchanged[to];
        if let Some(bulk) = self.bulk.as_mut().filter(|_| message.bytes > 0) {
            bulk.data[0] = message.mark();
            bulk.data[message.bytes - 1] = message.mark();
            let at = bulk.at(own, of.bulk_sent - bulk.begin[to].0);
            bulk.window.copy(to, at, &bulk.data[..message.bytes]);
        }
        let words = encode(message).map(|half| stamp(of.sent) << 32 | half);
        self.small.raise(to, Self::slot(own, of.sent), &words);
        let of = &mut self.exchanged[to];
        of.sent += 1;
        of.bulk_sent += u64::from(message.bytes > 0);
    }

    #[inline]
    fn receive(&mut self) -> Option<(usize, Message)> {
        // Where the library itself has to do what others ask of it, a message is there only then.
        let (from, message) = self.arrived_from_any().or_else(|| {
            self.progress();
            self.arrived_from_any()
        })?;
        self.next = (from + 1) % self.exchanged.len();
        if message.bytes > 0 && !self.is_whole(from, &message) {
            self.n_damaged += 1;
        }
        self.count_handled(from, &message);
        Some((from, message))
    }

    fn compute(&mut self, ns: f64) {
        self.ticks.compute(ns);
    }

    fn capacity(&self) -> usize {
        SLOTS / 2
    }
}

impl MpiNetwork for OneSided {
    fn expect(&mut self, bytes: usize) {
        let slot = bytes.div_ceil(8);
        let fits = |bulk: &Bulk| bulk.slot >= slot;
        if bytes == 0 || self.bulk.as_ref().is_some_and(fits) {
            return;
        }
        self.bulk = None;
        let n = self.exchanged.len();
        let exchanged = self.exchanged.iter();
        self.bulk = Some(Bulk {
            window: Window::new(self.comm.as_raw(), n * BULK_SLOTS * slot),
            slot,
            data: vec![0; bytes],
            begin: exchanged
                .map(|of| (of.bulk_sent, of.bulk_handled))
                .collect(),
        });
    }

    fn n_damaged(&self) -> u64 {
        self.n_damaged
    }

    fn name(&self) -> &'static str {
        "one_sided"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_from_its_halves() {
        let message = Message {
            kind: Kind::Reply,
            handler: 3,
            words: [u64::MAX, 0, 1 << 63, 0x1234_5678_9abc_def0],
            bytes: 65_536,
        };
        let halves = encode(&message);
        assert!(halves.iter().all(|half| half >> 32 == 0));
        assert_eq!(decode(&halves), message);
        assert!((0..3 * SLOTS as u64).all(|number| stamp(number) != 0));
    }

    #[test]
    fn no_two_senders_share_a_slot_and_slots_are_used_in_turn() {
        let mut seen = std::collections::BTreeSet::new();
        for sender in 0..3 {
            for number in 0..SLOTS as u64 {
                let at = OneSided::slot(sender, number);
                assert!((at..at + SLOT).all(|word| seen.insert(word)));
                assert_eq!(OneSided::slot(sender, number + SLOTS as u64), at);
            }
        }
        assert_eq!(seen.last(), Some(&(3 * SLOTS * SLOT - 1)));
    }
}

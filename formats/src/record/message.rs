//! The messages that the MPI library sends for a collective: records of kind 2.

use super::{CommunicatorWord, NO_RANK, Record, RecordKind, RecordWord, UNKNOWN_COMMUNICATOR};

/// One end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// This process sends it.
    Send,
    /// This process receives it.
    Receive,
}

/// One end of a message that the MPI library exchanges on its own behalf, within a collective.
///
/// The record's `enter` is when the library began to send, or posted the receive. The `leave` of a
/// send and of a blocking receive is when the library's call returned. The `leave` of a nonblocking
/// receive is when the library saw that the message had arrived, or 0 if it looked without a call
/// that the recorder sees. A receive that could have been waited for, but was complete when the
/// library's call returned, counts as blocking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Which end.
    pub direction: Direction,
    /// Whether the library's call returned before the message had arrived (or had been sent).
    pub is_nonblocking: bool,
    /// World rank of the other end; [`NO_RANK`] for a receive from any process, and for a process
    /// of another world.
    pub partner: u32,
    /// Index of the communicator on which it is sent; [`UNKNOWN_COMMUNICATOR`] for a communicator
    /// that the library created for its own use.
    pub communicator: u32,
    /// The lower half of the library's tag, which identifies the operation. With MPICH the upper
    /// two bits identify a part of the communicator.
    pub tag: u16,
    /// Bytes sent; for a receive, the size of its buffer. Saturates at 2^40 - 1. 0 if not known:
    /// then [`CODE_PAYLOAD_UNKNOWN`](crate::CODE_PAYLOAD_UNKNOWN) is set in the record.
    pub bytes: u64,
}

impl Message {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        let is_receive = matches!(self.direction, Direction::Receive);
        let (is_nonblocking, tag) = (self.is_nonblocking, self.tag);
        [
            RecordWord::message(is_receive, is_nonblocking, tag, self.bytes).bits(),
            CommunicatorWord::new(self.communicator, self.partner.cast_signed()).bits(),
        ]
    }

    /// Whether it is sent on a communicator that the library created for its own use.
    #[must_use]
    pub const fn is_on_hidden_communicator(&self) -> bool {
        self.communicator == UNKNOWN_COMMUNICATOR
    }

    /// World rank of the other end, where it is known.
    #[must_use]
    pub fn known_partner(&self) -> Option<u32> {
        (self.partner != NO_RANK).then_some(self.partner)
    }
}

impl Direction {
    /// The end of a message that a record describes, from its second word.
    #[must_use]
    #[inline]
    pub const fn of(word: RecordWord) -> Self {
        if word.is_receive() {
            Self::Receive
        } else {
            Self::Send
        }
    }
}

impl Record {
    /// The end of a message that the record describes; `None` for other kinds.
    #[must_use]
    #[inline]
    pub fn message(&self) -> Option<Message> {
        let word = self.word();
        if !word.is_of(RecordKind::Message) {
            return None;
        }
        Some(Message {
            direction: Direction::of(word),
            is_nonblocking: word.is_nonblocking(),
            partner: self.root.get() as u32,
            communicator: self.communicator.get(),
            tag: word.message_tag(),
            bytes: word.message_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;

    fn record(message: Message, enter: u64, leave: u64) -> Record {
        let [second, third] = message.words();
        let words = [enter, second, third, leave];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        *zerocopy::FromBytes::ref_from_bytes(&bytes[..]).unwrap()
    }

    #[test]
    fn bytes_of_a_message_are_those_of_the_format_page() {
        let message = Message {
            direction: Direction::Receive,
            is_nonblocking: true,
            partner: 5,
            communicator: 3,
            tag: -17i32 as u16,
            bytes: 0x01_0203_0405,
        };
        assert_eq!(
            record(message, 0x1122, 0x3344).as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // begin
                5, 4, 3, 2, 1, // bytes
                0xef, 0xff, // tag
                0x47, // kind 2, internal, nonblocking, receive
                3, 0, 0, 0, // communicator
                5, 0, 0, 0, // partner
                0x44, 0x33, 0, 0, 0, 0, 0, 0, // end
            ]
        );
    }

    proptest! {
        #[test]
        fn fields_of_a_message_are_read_as_they_were_written(
            is_receive: bool, is_nonblocking: bool, partner: u32, communicator: u32, tag: u16,
            bytes: u64, enter in 1u64.., leave: u64,
        ) {
            let message = Message {
                direction: if is_receive { Direction::Receive } else { Direction::Send },
                is_nonblocking,
                partner,
                communicator,
                tag,
                bytes,
            };
            let record = record(message, enter, leave);
            let expected = Message { bytes: bytes.min(RecordWord::MESSAGE_BYTES), ..message };
            prop_assert_eq!(record.message(), Some(expected));
            prop_assert_eq!(record.kind(), Some(RecordKind::Message));
            prop_assert_eq!((record.is_internal(), record.operation()), (true, None));
            prop_assert_eq!((record.enter.get(), record.leave.get()), (enter, leave));
        }
    }
}

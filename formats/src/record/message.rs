//! The messages that the MPI library sends for a collective: records of kind 2.

use super::{CODE_INTERNAL, NO_RANK, Record, RecordKind, UNKNOWN_COMMUNICATOR};

/// Bit of the second word: a receive, else a send.
const RECEIVE: u64 = 1 << 56;
/// The lower 40 bits of the second word of a message's record: its bytes.
pub const MESSAGE_BYTES: u64 = (1 << 40) - 1;
/// Where the 16 bits of the tag begin in the second word of a message's record.
pub const MESSAGE_TAG_SHIFT: u32 = 40;

/// Which end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// This process sends it.
    Send,
    /// This process receives it.
    Receive,
}

/// One end of a message that the MPI library exchanges on its own behalf, within a collective.
///
/// The record's `enter` is when the library began to send, or posted the receive. Its `leave` is,
/// for a send and a blocking receive, when the library's call returned; for a nonblocking receive
/// when the library saw that the message had come, and 0 where it looked without a call that a
/// recorder sees. A receive that could have been waited for, but was complete when the library's call
/// returned, is a blocking one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Which end.
    pub direction: Direction,
    /// Whether the library's call returned before the message was there (or out).
    pub is_nonblocking: bool,
    /// World rank of the other end; [`NO_RANK`] for a receive from any process, and for a process
    /// of another world.
    pub partner: u32,
    /// Index of the communicator that it travels on; [`UNKNOWN_COMMUNICATOR`] for one that the
    /// library has made for itself.
    pub communicator: u32,
    /// The lower half of the library's tag, by which it tells its operations apart; with MPICH the
    /// upper two bits say in which part of the communicator.
    pub tag: u16,
    /// Bytes sent; for a receive the most that it takes. Saturates at 2^40 - 1; 0 where they are not
    /// known ([`CODE_PAYLOAD_UNKNOWN`](crate::CODE_PAYLOAD_UNKNOWN) is set in the record then).
    pub bytes: u64,
}

impl Message {
    /// Bit of the second of its [`Message::words`] that [`Message::is_nonblocking`] is.
    pub const NONBLOCKING: u64 = 1 << 57;

    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        let bytes = if self.bytes > MESSAGE_BYTES {
            MESSAGE_BYTES
        } else {
            self.bytes
        };
        let mut second = bytes
            | (self.tag as u64) << MESSAGE_TAG_SHIFT
            | (CODE_INTERNAL as u64) << 48
            | (RecordKind::Message as u64) << 61;
        if matches!(self.direction, Direction::Receive) {
            second |= RECEIVE;
        }
        if self.is_nonblocking {
            second |= Self::NONBLOCKING;
        }
        [
            second,
            self.communicator as u64 | (self.partner as u64) << 32,
        ]
    }

    /// Whether it travels on a communicator that the library has made for itself.
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

/// Which end of a message a record tells of, by its second word.
#[must_use]
#[inline]
pub const fn message_direction(second: u64) -> Direction {
    match second & RECEIVE {
        0 => Direction::Send,
        _ => Direction::Receive,
    }
}

impl Record {
    /// The end of a message that the record tells of; `None` for another kind.
    #[must_use]
    #[inline]
    pub fn message(&self) -> Option<Message> {
        if self.kind() != Some(RecordKind::Message) {
            return None;
        }
        let second = self.call_word();
        Some(Message {
            direction: message_direction(second),
            is_nonblocking: second & Message::NONBLOCKING != 0,
            partner: self.root.get() as u32,
            communicator: self.communicator.get(),
            tag: (second >> MESSAGE_TAG_SHIFT) as u16,
            bytes: second & MESSAGE_BYTES,
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
        fn what_goes_into_a_message_comes_out(
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
            let expected = Message { bytes: bytes.min(MESSAGE_BYTES), ..message };
            prop_assert_eq!(record.message(), Some(expected));
            prop_assert_eq!(record.kind(), Some(RecordKind::Message));
            prop_assert_eq!((record.is_internal(), record.operation()), (true, None));
            prop_assert_eq!((record.enter.get(), record.leave.get()), (enter, leave));
        }
    }
}

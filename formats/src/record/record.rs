//! One record: 32 bytes, of one call of one rank.

use zerocopy::little_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Operation;

/// The flag in [`Record::code`]: the MPI library called it on its own behalf (inside an MPI-IO
/// routine, say); recorded, not counted.
pub const CODE_INTERNAL: u16 = 1 << 10;
/// The flag in [`Record::code`]: the call returned another code than `MPI_SUCCESS`.
pub const CODE_FAILED: u16 = 1 << 11;
/// The flag in [`Record::code`]: the payload could not be told; [`Record::payload`] is 0.
pub const CODE_PAYLOAD_UNKNOWN: u16 = 1 << 12;

/// The largest payload that a record holds, in bytes (256 TiB less one); larger ones saturate.
pub const MAX_PAYLOAD_BYTES: u64 = (1 << 48) - 1;

/// In [`Record::communicator`]: the handle was none that the recorder knows.
pub const UNKNOWN_COMMUNICATOR: u32 = u32::MAX;

/// In a rank field: not known, or not a process of this world.
pub const NO_RANK: u32 = u32::MAX;

/// In [`Record::root`]: the operation has no root.
pub const ROOT_NONE: i32 = -1;
/// In [`Record::root`]: `MPI_ROOT` on an intercommunicator, this process is the root.
pub const ROOT_IS_ME: i32 = -2;
/// In [`Record::root`]: `MPI_PROC_NULL` on an intercommunicator, another process of this
/// process's group is the root.
pub const ROOT_OTHER_OF_MY_GROUP: i32 = -3;

/// In [`Record::root`] of `MPI_Win_fence`: `MPI_MODE_NOPRECEDE` was asserted, which all processes
/// of a window do or none. Such a fence ends no epoch, and need not be a barrier (MPI 4.0, section
/// 12.5.1).
pub const FENCE_NO_PRECEDE: i32 = 1;

/// What a record is about; the upper three bits of its code.
///
/// [`RecordKind::CollectorPass`] is not written yet; it has its number already, so that a file with
/// it can be told from a damaged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordKind {
    /// One call of an MPI operation.
    Call = 1,
    /// One end of a message inside a collective: [`Message`](crate::Message).
    Message = 2,
    /// One pass of an event collector (later versions).
    CollectorPass = 3,
    /// The completion of a nonblocking or persistent collective: [`Completion`](crate::Completion),
    /// [`TestsInVain`](crate::TestsInVain).
    Completion = 4,
    /// A call of `MPI_Pcontrol`: [`Record::phase_level`].
    Phase = 5,
    /// More about a call: [`Note`](crate::Note).
    Note = 6,
}

/// One record of a trace, as it stands in the file: 32 bytes, little-endian.
///
/// The writer stores the packed word and the communicator first, then `enter` (Release), calls
/// the MPI library, and stores `leave` last (Release). So `enter == 0` is a free slot, and
/// `enter != 0` with `leave == 0` a call that was under way when the process ended.
///
/// A change to this struct is a new format version.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Record {
    /// Time of entering the call, in ticks of the process's clock; 0 in a free slot.
    pub enter: U64,
    /// Payload in bytes, 48 bits, little-endian.
    pub payload: [u8; 6],
    /// Kind (bits 13 to 15), flags (bits 10 to 12), operation number (bits 0 to 9).
    pub code: U16,
    /// Index of a communicator definition of this process, or [`UNKNOWN_COMMUNICATOR`].
    pub communicator: U32,
    /// Root rank in the communicator (on an intercommunicator: in the remote group), one of the
    /// `ROOT_` values, for constructors the index of the communicator made (-1: none), for a fence
    /// perhaps [`FENCE_NO_PRECEDE`]. Other kinds of records and starts of persistent collectives use
    /// it for what they need.
    pub root: I32,
    /// Time of leaving the call, in ticks; the commit word, 0 while the call is under way.
    pub leave: U64,
}

const _: () = assert!(size_of::<Record>() == 32 && align_of::<Record>() == 1);

/// The second word of a call record (bytes 8 to 15): payload, flags and operation.
///
/// `payload_bytes` saturates at [`MAX_PAYLOAD_BYTES`]; `flags` are `CODE_` bits.
#[must_use]
#[inline]
pub const fn pack_call_word(operation: Operation, flags: u16, payload_bytes: u64) -> u64 {
    let payload = if payload_bytes > MAX_PAYLOAD_BYTES {
        MAX_PAYLOAD_BYTES
    } else {
        payload_bytes
    };
    let code = (RecordKind::Call as u16) << 13 | flags | operation.code();
    payload | (code as u64) << 48
}

/// Payload bits, and code (kind, flags, operation), of the second word of a record.
#[must_use]
#[inline]
pub const fn split_call_word(word: u64) -> (u64, u16) {
    (word & MAX_PAYLOAD_BYTES, (word >> 48) as u16)
}

/// Payload in bytes by the second word of a record; `None` where it could not be told, and for the
/// start of a persistent collective, whose payload stands in its definition.
#[must_use]
#[inline]
pub const fn payload_of_word(word: u64) -> Option<u64> {
    let (payload, code) = split_call_word(word);
    if code & CODE_PAYLOAD_UNKNOWN != 0 || Operation::is_persistent_code(code & 0x3ff) {
        return None;
    }
    Some(payload)
}

impl Record {
    /// A free slot.
    pub const FREE: Self = Self {
        enter: U64::ZERO,
        payload: [0; 6],
        code: U16::ZERO,
        communicator: U32::ZERO,
        root: I32::ZERO,
        leave: U64::ZERO,
    };

    /// A call record. Times in ticks, `enter` > 0; `leave` 0 for a call under way; `flags` are
    /// `CODE_` bits.
    #[must_use]
    pub fn call(
        operation: Operation,
        flags: u16,
        communicator: u32,
        root: i32,
        payload_bytes: u64,
        enter: u64,
        leave: u64,
    ) -> Self {
        let word = pack_call_word(operation, flags, payload_bytes).to_le_bytes();
        let mut payload = [0; 6];
        payload.copy_from_slice(&word[..6]);
        Self {
            enter: enter.into(),
            payload,
            code: U16::from_bytes([word[6], word[7]]),
            communicator: communicator.into(),
            root: root.into(),
            leave: leave.into(),
        }
    }

    /// Whether nothing was ever stored here.
    #[must_use]
    #[inline]
    pub fn is_free(&self) -> bool {
        self.enter.get() == 0
    }

    /// Whether the call had not returned when the file was left.
    #[must_use]
    #[inline]
    pub fn is_in_flight(&self) -> bool {
        self.enter.get() != 0 && self.leave.get() == 0
    }

    /// What the record is about; `None` for a kind that this version does not know.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> Option<RecordKind> {
        match self.code.get() >> 13 {
            1 => Some(RecordKind::Call),
            2 => Some(RecordKind::Message),
            3 => Some(RecordKind::CollectorPass),
            4 => Some(RecordKind::Completion),
            5 => Some(RecordKind::Phase),
            6 => Some(RecordKind::Note),
            _ => None,
        }
    }

    /// The operation called; `None` for another kind or an unknown number.
    #[must_use]
    #[inline]
    pub fn operation(&self) -> Option<Operation> {
        match self.kind() {
            Some(RecordKind::Call) => Operation::from_code(self.code.get() & 0x3ff),
            _ => None,
        }
    }

    /// Payload in bytes; `None` where it could not be told, and for the start of a persistent
    /// collective, whose payload stands in its definition.
    #[must_use]
    #[inline]
    pub fn payload_bytes(&self) -> Option<u64> {
        payload_of_word(self.call_word())
    }

    /// The 48 bits that hold the payload of most calls.
    #[inline]
    pub(crate) fn low_word(&self) -> u64 {
        split_call_word(self.call_word()).0
    }

    /// All of it, as four little-endian words: enter, [the second](Self::call_word), communicator and
    /// root, leave.
    #[must_use]
    #[inline]
    pub fn words(&self) -> [u64; 4] {
        let words: [U64; 4] = zerocopy::transmute!(*self);
        words.map(U64::get)
    }

    /// The second word, as [`pack_call_word`] makes it: all but times, communicator and root.
    #[must_use]
    #[inline]
    pub fn call_word(&self) -> u64 {
        let [a, b, c, d, e, f] = self.payload;
        let [g, h] = self.code.to_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// Whether the MPI library called it on its own behalf.
    #[must_use]
    #[inline]
    pub fn is_internal(&self) -> bool {
        self.code.get() & CODE_INTERNAL != 0
    }

    /// Whether the call returned an error code.
    #[must_use]
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.code.get() & CODE_FAILED != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;

    #[test]
    fn bytes_of_a_record_are_those_of_the_format_page() {
        let record = Record::call(
            Operation::Bcast,
            CODE_INTERNAL,
            3,
            2,
            0x0102_0304,
            0x1122,
            0x3344,
        );
        assert_eq!(
            record.as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // enter
                0x04, 0x03, 0x02, 0x01, 0, 0, // payload
                0x02, 0x24, // code: kind 1, internal, operation 2
                3, 0, 0, 0, // communicator
                2, 0, 0, 0, // root
                0x44, 0x33, 0, 0, 0, 0, 0, 0, // leave
            ]
        );
    }

    proptest! {
        #[test]
        fn what_goes_into_a_record_comes_out(
            index in 0..Operation::ALL.len(), internal: bool, failed: bool,
            communicator: u32, root: i32, payload: u64, enter in 1u64.., leave: u64,
        ) {
            let operation = Operation::ALL[index];
            let flags = if internal { CODE_INTERNAL } else { 0 } | if failed { CODE_FAILED } else { 0 };
            let record = Record::call(operation, flags, communicator, root, payload, enter, leave);
            prop_assert_eq!(record.kind(), Some(RecordKind::Call));
            prop_assert_eq!(record.operation(), Some(operation));
            prop_assert_eq!(record.is_internal(), internal);
            prop_assert_eq!(record.has_failed(), failed);
            prop_assert_eq!(record.communicator.get(), communicator);
            prop_assert_eq!(record.root.get(), root);
            let payload = (!operation.is_persistent()).then_some(payload.min(MAX_PAYLOAD_BYTES));
            prop_assert_eq!(record.payload_bytes(), payload);
            prop_assert_eq!(record.call_word(), pack_call_word(operation, flags, record.low_word()));
            prop_assert_eq!(split_call_word(record.call_word()).1, record.code.get());
            prop_assert_eq!((record.enter.get(), record.leave.get()), (enter, leave));
            prop_assert_eq!(record.is_in_flight(), leave == 0);
        }
    }
}

//! One record: 32 bytes about one call of one rank.

use zerocopy::little_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CODE_FAILED, CODE_INTERNAL, CommunicatorWord, Operation, RecordKind, RecordWord};

/// In [`Record::communicator`]: the recorder does not know the handle.
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

/// One record of a trace, as it is in the file: 32 bytes, little-endian.
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
    /// Root rank in the communicator (on an intercommunicator: in the remote group), or one of the
    /// `ROOT_` values. For constructors: the index of the created communicator (-1: none). For a
    /// fence: [`FENCE_NO_PRECEDE`] where it applies. Other kinds of records and starts of
    /// persistent collectives use this field in their own way.
    pub root: I32,
    /// Time of leaving the call, in ticks; the commit word, 0 while the call is under way.
    pub leave: U64,
}

const _: () = assert!(size_of::<Record>() == 32 && align_of::<Record>() == 1);

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
        let second = RecordWord::call(operation, flags, payload_bytes).bits();
        let third = CommunicatorWord::new(communicator, root).bits();
        Self::of_words([second, third], enter, leave)
    }

    /// A record from its second and third word (bytes 8 to 23) and its times, in ticks.
    #[must_use]
    pub fn of_words([second, third]: [u64; 2], enter: u64, leave: u64) -> Self {
        let mut bytes = [0; size_of::<Self>()];
        for (at, word) in [enter, second, third, leave].into_iter().enumerate() {
            bytes[at * 8..][..8].copy_from_slice(&word.to_le_bytes());
        }
        zerocopy::transmute!(bytes)
    }

    /// Whether the slot is free: nothing was stored in it.
    #[must_use]
    #[inline]
    pub fn is_free(&self) -> bool {
        self.enter.get() == 0
    }

    /// Whether the call had not returned when the process ended.
    #[must_use]
    #[inline]
    pub fn is_in_flight(&self) -> bool {
        self.enter.get() != 0 && self.leave.get() == 0
    }

    /// What the record is about; `None` for a kind that this version does not know.
    #[must_use]
    #[inline]
    pub fn kind(&self) -> Option<RecordKind> {
        self.word().kind()
    }

    /// The operation called; `None` for another kind or an unknown number.
    #[must_use]
    #[inline]
    pub fn operation(&self) -> Option<Operation> {
        self.word().operation()
    }

    /// Payload in bytes. `None` where it is not known, and for the start of a persistent
    /// collective, whose payload is in its definition.
    #[must_use]
    #[inline]
    pub fn payload_bytes(&self) -> Option<u64> {
        self.word().payload_bytes()
    }

    /// The whole record as four little-endian words: enter, [the second word](Self::word),
    /// communicator and root, leave.
    #[must_use]
    #[inline]
    pub fn words(&self) -> [u64; 4] {
        let words: [U64; 4] = zerocopy::transmute!(*self);
        words.map(U64::get)
    }

    /// The second word: all fields but times, communicator and root.
    #[must_use]
    #[inline]
    pub fn word(&self) -> RecordWord {
        let [a, b, c, d, e, f] = self.payload;
        let [g, h] = self.code.to_bytes();
        RecordWord::from_bits(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }

    /// Whether the MPI library called it on its own behalf.
    #[must_use]
    #[inline]
    pub fn is_internal(&self) -> bool {
        self.word().has(CODE_INTERNAL)
    }

    /// Whether the call returned an error code.
    #[must_use]
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.word().has(CODE_FAILED)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::record::MAX_PAYLOAD_BYTES;

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
        fn fields_of_a_record_are_read_as_they_were_written(
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
            prop_assert_eq!(record.word(), RecordWord::call(operation, flags, record.word().low()));
            prop_assert_eq!(record.word().code(), record.code.get());
            prop_assert_eq!((record.enter.get(), record.leave.get()), (enter, leave));
            prop_assert_eq!(record.is_in_flight(), leave == 0);
        }
    }
}

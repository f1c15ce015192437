//! The two words of a record that say what it is about. Only this module knows their bits.
//!
//! Both are read and written by shifts and masks of 64 bits, never as structs of smaller fields: a
//! recorder stores each with one instruction, and a reader compares records by whole words.

use super::Operation;

/// Flag of a record: the MPI library made the call on its own behalf (inside an MPI-IO routine, for
/// example). It is recorded, but not counted.
pub const CODE_INTERNAL: u16 = 1 << 10;
/// Flag of a record: the call returned another code than `MPI_SUCCESS`.
pub const CODE_FAILED: u16 = 1 << 11;
/// Flag of a record: the payload is not known; [`Record::payload`](crate::Record::payload) is 0.
pub const CODE_PAYLOAD_UNKNOWN: u16 = 1 << 12;

/// The largest payload that a record holds, in bytes (256 TiB less one); larger ones saturate.
pub const MAX_PAYLOAD_BYTES: u64 = (1 << 48) - 1;

/// Position of the code in the word. The code has the number (10 bits), flags (3), kind (3).
const CODE_SHIFT: u32 = 48;
/// Position of the kind in the word.
const KIND_SHIFT: u32 = 61;
/// Mask of the number in the code.
const NUMBER: u16 = (1 << RecordWord::NUMBER_BITS) - 1;

/// Mask of the completing call in the number of a completion.
const COMPLETING_CALL: u16 = (1 << 8) - 1;
/// Bit of the number of a completion: a start of a persistent collective was completed.
const OF_PERSISTENT: u16 = 1 << 8;
/// Bit of the number of a completion: the record counts unsuccessful tests.
const UNSUCCESSFUL_TESTS: u16 = 1 << 9;

/// Position of the 16 bits of the tag of a message.
const MESSAGE_TAG_SHIFT: u32 = 40;
/// Bit of the number of a message: it is received here; otherwise sent.
const RECEIVE: u16 = 1 << 8;
/// Bit of the number of a message: the library's call returned before the message had arrived (or
/// had been sent).
const NONBLOCKING: u16 = 1 << 9;

/// Position of the 16 bits of the tag in a [`Creation`](crate::Creation) note.
const CREATION_TAG_SHIFT: u32 = 32;

const _: () = {
    assert!(CODE_FAILED > NUMBER && CODE_INTERNAL > NUMBER && CODE_PAYLOAD_UNKNOWN > NUMBER);
    assert!(CODE_PAYLOAD_UNKNOWN as u64 * 2 == 1 << (KIND_SHIFT - CODE_SHIFT));
    assert!(MAX_PAYLOAD_BYTES == (1 << CODE_SHIFT) - 1);
    // The bits of the tag of a message end where the bits of its number begin.
    assert!(RecordWord::MESSAGE_TAG & (RECEIVE as u64) << CODE_SHIFT == 0);
    assert!(RecordWord::MESSAGE_TAG & RecordWord::MESSAGE_BYTES == 0);
    let mut i = 0;
    while i < Operation::ALL.len() {
        let number = Operation::ALL[i].code();
        assert!(number > 0 && number <= NUMBER);
        i += 1;
    }
};

/// The kind of a record; the upper three bits of its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordKind {
    /// A call of an MPI operation.
    Call = 1,
    /// One end of a message inside a collective: [`Message`](crate::Message).
    Message = 2,
    /// A pass of a value through an event collector of a spanning tree of our own:
    /// [`CollectorPass`](crate::CollectorPass).
    CollectorPass = 3,
    /// The completion of a nonblocking or persistent collective: [`Completion`](crate::Completion),
    /// [`UnsuccessfulTests`](crate::UnsuccessfulTests).
    Completion = 4,
    /// A call of `MPI_Pcontrol`: [`Record::phase_level`](crate::Record::phase_level).
    Phase = 5,
    /// More about a call: [`Note`](crate::Note).
    Note = 6,
}

/// The second word of a record (bytes 8 to 15, little-endian): kind, flags, number, and 48 bits
/// that each kind uses in its own way; most calls hold their payload there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct RecordWord(u64);

impl RecordWord {
    /// Width of the number in bits.
    pub const NUMBER_BITS: u32 = 10;
    /// The bits that hold the bytes of a message.
    pub const MESSAGE_BYTES: u64 = (1 << MESSAGE_TAG_SHIFT) - 1;
    /// The bits that hold the tag of a message.
    pub const MESSAGE_TAG: u64 = 0xffff << MESSAGE_TAG_SHIFT;

    /// The word of a record of any kind. `flags` are `CODE_` bits, `number` is below 1024, and
    /// `low` saturates at [`MAX_PAYLOAD_BYTES`].
    #[must_use]
    #[inline]
    pub const fn new(kind: RecordKind, flags: u16, number: u16, low: u64) -> Self {
        debug_assert!(number <= NUMBER && flags & NUMBER == 0);
        let low = if low > MAX_PAYLOAD_BYTES {
            MAX_PAYLOAD_BYTES
        } else {
            low
        };
        let code = (kind as u16) << (KIND_SHIFT - CODE_SHIFT) | flags | number;
        Self::of_code(code, low)
    }

    /// The word of a call. `flags` are `CODE_` bits, and `payload_bytes` saturates at
    /// [`MAX_PAYLOAD_BYTES`].
    #[must_use]
    #[inline]
    pub const fn call(operation: Operation, flags: u16, payload_bytes: u64) -> Self {
        Self::new(RecordKind::Call, flags, operation.code(), payload_bytes)
    }

    /// The word of one end of a message; `bytes` saturates at 2^40 - 1.
    #[must_use]
    #[inline]
    pub const fn message(is_receive: bool, is_nonblocking: bool, tag: u16, bytes: u64) -> Self {
        let bytes = if bytes > Self::MESSAGE_BYTES {
            Self::MESSAGE_BYTES
        } else {
            bytes
        };
        // The tag also uses the lower bits of the number.
        let tagged = bytes | (tag as u64) << MESSAGE_TAG_SHIFT;
        let direction = if is_receive { RECEIVE } else { 0 };
        let way = if is_nonblocking { NONBLOCKING } else { 0 };
        let number = direction | way;
        Self(tagged | Self::new(RecordKind::Message, CODE_INTERNAL, number, 0).0)
    }

    /// The word of a completion by the call with this number, or of unsuccessful tests before it.
    #[inline]
    pub(super) const fn completion(
        call: u16,
        is_of_persistent: bool,
        is_unsuccessful: bool,
        low: u64,
    ) -> Self {
        let of = if is_of_persistent { OF_PERSISTENT } else { 0 };
        let vain = if is_unsuccessful {
            UNSUCCESSFUL_TESTS
        } else {
            0
        };
        Self::new(RecordKind::Completion, 0, call | of | vain, low)
    }

    /// The word of a note with this number.
    #[inline]
    pub(super) const fn note(number: u16, low: u64) -> Self {
        Self::new(RecordKind::Note, CODE_INTERNAL, number, low)
    }

    /// The lower 48 bits of a [`Creation`](crate::Creation) note.
    #[inline]
    pub(super) const fn creation_low(tag: u16, position: u32) -> u64 {
        (tag as u64) << CREATION_TAG_SHIFT | position as u64
    }

    /// The word with this code; `low` has no bits above the lower 48.
    #[inline]
    pub(crate) const fn of_code(code: u16, low: u64) -> Self {
        Self(low | (code as u64) << CODE_SHIFT)
    }

    /// The word with these bits.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// All of its bits.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Kind, flags and number, as they are in [`Record::code`](crate::Record::code).
    #[must_use]
    #[inline]
    pub const fn code(self) -> u16 {
        (self.0 >> CODE_SHIFT) as u16
    }

    /// The lower 48 bits.
    #[must_use]
    #[inline]
    pub const fn low(self) -> u64 {
        self.0 & MAX_PAYLOAD_BYTES
    }

    /// The word with other lower 48 bits.
    #[inline]
    pub(crate) const fn with_low(self, low: u64) -> Self {
        Self(self.0 & !MAX_PAYLOAD_BYTES | low & MAX_PAYLOAD_BYTES)
    }

    /// The kind of the record; `None` for a kind of a later version.
    #[must_use]
    #[inline]
    pub const fn kind(self) -> Option<RecordKind> {
        match self.0 >> KIND_SHIFT {
            1 => Some(RecordKind::Call),
            2 => Some(RecordKind::Message),
            3 => Some(RecordKind::CollectorPass),
            4 => Some(RecordKind::Completion),
            5 => Some(RecordKind::Phase),
            6 => Some(RecordKind::Note),
            _ => None,
        }
    }

    /// Whether the record is of this kind.
    #[must_use]
    #[inline]
    pub const fn is_of(self, kind: RecordKind) -> bool {
        self.0 >> KIND_SHIFT == kind as u64
    }

    /// Whether a flag, a `CODE_` bit, is set.
    #[must_use]
    #[inline]
    pub const fn has(self, flag: u16) -> bool {
        self.code() & flag != 0
    }

    /// The word with a flag, a `CODE_` bit, set.
    #[must_use]
    #[inline]
    pub const fn with(self, flag: u16) -> Self {
        Self(self.0 | (flag as u64) << CODE_SHIFT)
    }

    /// The number in the code, below 1024: for a call, the number of its operation.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u16 {
        self.code() & NUMBER
    }

    /// The operation called; `None` for another kind or an unknown number.
    #[must_use]
    #[inline]
    pub const fn operation(self) -> Option<Operation> {
        if self.is_of(RecordKind::Call) {
            Operation::from_code(self.number())
        } else {
            None
        }
    }

    /// Whether the record is a call of the application that is counted.
    #[must_use]
    #[inline]
    pub fn is_counted_call(self) -> bool {
        !self.has(CODE_INTERNAL) && self.operation().is_some_and(Operation::is_counted)
    }

    /// Payload of a call in bytes. `None` where it is not known, and for the start of a persistent
    /// collective, whose payload is in its definition.
    #[must_use]
    #[inline]
    pub const fn payload_bytes(self) -> Option<u64> {
        if self.has(CODE_PAYLOAD_UNKNOWN) || Operation::is_persistent_code(self.number()) {
            return None;
        }
        Some(self.low())
    }

    /// Whether a message is received here; otherwise it is sent.
    #[must_use]
    #[inline]
    pub const fn is_receive(self) -> bool {
        self.has(RECEIVE)
    }

    /// Whether the library's call for a message returned before the message had arrived (or had
    /// been sent).
    #[must_use]
    #[inline]
    pub const fn is_nonblocking(self) -> bool {
        self.has(NONBLOCKING)
    }

    /// The word of a message that had arrived when the library's call returned.
    #[must_use]
    #[inline]
    pub const fn at_once(self) -> Self {
        Self(self.0 & !((NONBLOCKING as u64) << CODE_SHIFT))
    }

    /// The bytes of a message.
    #[must_use]
    #[inline]
    pub const fn message_bytes(self) -> u64 {
        self.0 & Self::MESSAGE_BYTES
    }

    /// The tag of a message.
    #[must_use]
    #[inline]
    pub const fn message_tag(self) -> u16 {
        (self.0 >> MESSAGE_TAG_SHIFT) as u16
    }

    /// The number of the completing call.
    #[inline]
    pub(super) const fn completing_call(self) -> u16 {
        self.number() & COMPLETING_CALL
    }

    /// Whether a completion is of a start of a persistent collective.
    #[inline]
    pub(super) const fn is_of_persistent(self) -> bool {
        self.has(OF_PERSISTENT)
    }

    /// Whether the record counts unsuccessful tests.
    #[inline]
    pub(super) const fn is_unsuccessful(self) -> bool {
        self.has(UNSUCCESSFUL_TESTS)
    }

    /// The tag in a [`Creation`](crate::Creation) note.
    #[inline]
    pub(super) const fn creation_tag(self) -> u16 {
        (self.0 >> CREATION_TAG_SHIFT) as u16
    }

    /// The position in a [`Creation`](crate::Creation) note.
    #[inline]
    pub(super) const fn creation_position(self) -> u32 {
        self.0 as u32
    }
}

/// The third word of a record (bytes 16 to 23, little-endian): communicator and root, or what a
/// kind of records has in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct CommunicatorWord(u64);

impl CommunicatorWord {
    /// The word with this communicator and root: see
    /// [`Record::communicator`](crate::Record::communicator) and
    /// [`Record::root`](crate::Record::root).
    #[must_use]
    #[inline]
    pub const fn new(communicator: u32, root: i32) -> Self {
        Self(communicator as u64 | (root as u32 as u64) << 32)
    }

    /// The word with these bits.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// All of its bits.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The word with another root.
    #[must_use]
    #[inline]
    pub const fn with_root(self, root: i32) -> Self {
        Self::new(self.0 as u32, root)
    }
}

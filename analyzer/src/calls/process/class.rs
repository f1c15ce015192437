//! Classes of records, by where they are sorted to.

use collbench_formats::{
    CODE_FAILED, CODE_PAYLOAD_UNKNOWN, Operation, Record, RecordKind, RecordWord, Semantics,
};

/// Where the records of an operation are sorted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordClass {
    /// Into the order of calls on the communicator.
    Ordered,
    /// A nonblocking call: into the order of calls on the communicator; a completion follows.
    Initiation,
    /// A constructor over a group: to the communicator that it makes.
    Creation,
    /// The start of a persistent collective, which has no position in the order of calls on the
    /// communicator.
    Start,
    /// The begin or end of MPI.
    Process,
    /// The completion of a collective.
    Completion,
    /// The begin of a phase.
    Phase,
    /// One end of a message of the MPI library.
    Message,
    /// A pass of an event collector.
    Pass,
    /// More about a call.
    Note,
    /// Not known to this version.
    Unknown,
}

impl RecordClass {
    /// Whether a record of this class is a call of MPI.
    pub(super) fn is_call(self) -> bool {
        !matches!(
            self,
            Self::Unknown
                | Self::Completion
                | Self::Phase
                | Self::Message
                | Self::Pass
                | Self::Note
        )
    }
}

/// By the number of the operation.
const CLASSES: [RecordClass; 1 << RecordWord::NUMBER_BITS] = {
    let mut classes = [RecordClass::Unknown; 1 << RecordWord::NUMBER_BITS];
    let mut i = 0;
    while i < Operation::ALL.len() {
        let operation = Operation::ALL[i];
        classes[operation.code() as usize] = match operation.semantics() {
            Semantics::GroupConstructor => RecordClass::Creation,
            Semantics::Process => RecordClass::Process,
            _ if operation.is_persistent() => RecordClass::Start,
            _ if operation.is_nonblocking() => RecordClass::Initiation,
            _ => RecordClass::Ordered,
        };
        i += 1;
    }
    classes
};

#[inline]
pub(super) fn class_of(record: &Record) -> RecordClass {
    let word = record.word();
    if word.is_of(RecordKind::Call) {
        CLASSES[usize::from(word.number())]
    } else {
        match word.kind() {
            Some(RecordKind::Completion) => RecordClass::Completion,
            Some(RecordKind::Phase) => RecordClass::Phase,
            Some(RecordKind::Message) => RecordClass::Message,
            Some(RecordKind::CollectorPass) => RecordClass::Pass,
            Some(RecordKind::Note) => RecordClass::Note,
            _ => RecordClass::Unknown,
        }
    }
}

/// Whether a record with this word belongs to the same queue of a communicator as one with the word
/// `other`, which is ordered.
#[inline]
pub(super) fn is_alike(word: RecordWord, other: RecordWord) -> bool {
    // The kind, and whether the MPI library called it internally.
    const IN_COMMON: u16 =
        u16::MAX << RecordWord::NUMBER_BITS & !(CODE_FAILED | CODE_PAYLOAD_UNKNOWN);
    let differing = RecordWord::from_bits(word.bits() ^ other.bits());
    differing.code() & IN_COMMON == 0 && CLASSES[usize::from(word.number())] == RecordClass::Ordered
}

#[inline]
pub(super) fn is_message(record: &Record) -> bool {
    record.word().is_of(RecordKind::Message)
}

pub(super) fn is_pass(record: &Record) -> bool {
    record.kind() == Some(RecordKind::CollectorPass)
}

pub(super) fn is_note(record: &Record) -> bool {
    record.kind() == Some(RecordKind::Note)
}

pub(super) fn is_call(record: &Record) -> bool {
    record.kind() == Some(RecordKind::Call)
}

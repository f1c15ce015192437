//! Records about the completion of nonblocking and persistent collectives (kind 4), and records of
//! starts and phases, which also use the fields of a record in their own way.

use super::{CommunicatorWord, Operation, Record, RecordKind, RecordWord, UNKNOWN_COMMUNICATOR};

macro_rules! completing_calls {
    ($($code:literal $variant:ident $name:literal;)*) => {
        /// A call of MPI that completes requests, by its number in records of kind 4.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "the names are those of the MPI standard")]
        pub enum CompletingCall { $($variant = $code,)* }

        impl CompletingCall {
            /// All completing calls of this version, ascending by number.
            pub const ALL: &'static [CompletingCall] = &[$(CompletingCall::$variant,)*];

            /// The call with this number; `None` if this version has none.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }

            /// Its name in the MPI standard, in C spelling.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

completing_calls! {
    1 Wait "MPI_Wait";
    2 Waitall "MPI_Waitall";
    3 Waitany "MPI_Waitany";
    4 Waitsome "MPI_Waitsome";
    5 Test "MPI_Test";
    6 Testall "MPI_Testall";
    7 Testany "MPI_Testany";
    8 Testsome "MPI_Testsome";
    9 RequestFree "MPI_Request_free";
    10 FileReadAllEnd "MPI_File_read_all_end";
    11 FileWriteAllEnd "MPI_File_write_all_end";
    12 FileReadAtAllEnd "MPI_File_read_at_all_end";
    13 FileWriteAtAllEnd "MPI_File_write_at_all_end";
    14 FileReadOrderedEnd "MPI_File_read_ordered_end";
    15 FileWriteOrderedEnd "MPI_File_write_ordered_end";
}

impl CompletingCall {
    /// Whether it ends a split collective access to a file (`MPI_File_read_all_end` ...), which has
    /// no request.
    #[must_use]
    pub const fn ends_access(self) -> bool {
        self as u16 >= Self::FileReadAllEnd as u16
    }
}

/// Which initiation a completion ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Initiation {
    /// A nonblocking call, by its position.
    Nonblocking {
        /// Index of the communicator.
        communicator: u32,
        /// Position in the order of the application's calls on it, from 0.
        position: u64,
    },
    /// A start of a persistent collective.
    Persistent {
        /// Index of its [`PersistentCollective`](crate::PersistentCollective).
        definition: u32,
        /// Number of the start, from 0.
        start: u64,
    },
}

/// The completion of one collective: the record's `enter` and `leave` are those of the call that
/// completed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What was completed.
    pub of: Initiation,
    /// The call that completed it.
    pub by: CompletingCall,
    /// How many collectives that call completed, > 0: its time is shared equally among them. Each
    /// has a record with the same `enter` and `leave`.
    pub n_together: u32,
}

/// Unsuccessful tests (flag = false) of one collective. The record is directly before the record of
/// its completion, in the same thread; its `enter` and `leave` are both the `enter` of that record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsuccessfulTests {
    /// Index of the communicator, or of the definition of a persistent collective, as in the
    /// completion that follows.
    pub of_index: u32,
    /// How many tests there were, > 0; saturates at `i32::MAX`.
    pub n: u32,
    /// Ticks spent in them; of a call that tested several collectives, an equal share.
    pub spent_ticks: u64,
}

/// The start of a persistent collective: which one, and how many were started with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersistentStart {
    /// Index of its [`PersistentCollective`](crate::PersistentCollective).
    pub definition: u32,
    /// How many collectives the call (`MPI_Startall`) started, > 0: its time is shared equally
    /// among them. Each has a record with the same `enter` and `leave`.
    pub n_together: u32,
}

impl Initiation {
    /// Communicator field, payload field, and whether it is a start of a persistent collective.
    const fn fields(self) -> (u32, u64, bool) {
        match self {
            Self::Nonblocking {
                communicator,
                position,
            } => (communicator, position, false),
            Self::Persistent { definition, start } => (definition, start, true),
        }
    }
}

impl Completion {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        let (index, low, is_start) = self.of.fields();
        [
            RecordWord::completion(self.by as u16, is_start, false, low).bits(),
            CommunicatorWord::new(index, self.n_together.cast_signed()).bits(),
        ]
    }
}

impl UnsuccessfulTests {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    pub const fn words(self, of: Initiation, by: CompletingCall) -> [u64; 2] {
        let (_, _, is_start) = of.fields();
        let n = if self.n > i32::MAX as u32 {
            i32::MAX
        } else {
            self.n.cast_signed()
        };
        [
            RecordWord::completion(by as u16, is_start, true, self.spent_ticks).bits(),
            CommunicatorWord::new(self.of_index, n).bits(),
        ]
    }
}

impl PersistentStart {
    /// Bytes 8 to 23 of its record, as two little-endian words; `communicator` is an index.
    #[must_use]
    #[inline]
    pub const fn words(self, operation: Operation, communicator: u32) -> [u64; 2] {
        [
            RecordWord::call(operation, 0, self.n_together as u64).bits(),
            CommunicatorWord::new(communicator, self.definition.cast_signed()).bits(),
        ]
    }
}

/// Bytes 8 to 23 of the record of a call of `MPI_Pcontrol`, as two little-endian words.
#[must_use]
pub const fn phase_words(level: i32) -> [u64; 2] {
    [
        RecordWord::new(RecordKind::Phase, 0, 0, 0).bits(),
        CommunicatorWord::new(UNKNOWN_COMMUNICATOR, level).bits(),
    ]
}

impl Record {
    /// The second word of a completion record, and the completing call.
    fn completing(&self) -> Option<(RecordWord, CompletingCall)> {
        let word = self.word();
        if word.is_of(RecordKind::Completion) {
            Some((word, CompletingCall::from_code(word.completing_call())?))
        } else {
            None
        }
    }

    /// The completion of a collective. `None` for other records, and for numbers of a later
    /// version. If [`Record::has_failed`], the call returned an error, and another call may
    /// complete the collective again.
    #[must_use]
    pub fn completion(&self) -> Option<Completion> {
        let (word, by) = self.completing()?;
        if word.is_unsuccessful() {
            return None;
        }
        let (index, low) = (self.communicator.get(), word.low());
        let of = if word.is_of_persistent() {
            Initiation::Persistent {
                definition: index,
                start: low,
            }
        } else {
            Initiation::Nonblocking {
                communicator: index,
                position: low,
            }
        };
        Some(Completion {
            of,
            by,
            n_together: self.root.get().max(1).cast_unsigned(),
        })
    }

    /// The unsuccessful tests that it counts; `None` for other records.
    #[must_use]
    pub fn unsuccessful_tests(&self) -> Option<UnsuccessfulTests> {
        let (word, _) = self.completing()?;
        word.is_unsuccessful().then(|| UnsuccessfulTests {
            of_index: self.communicator.get(),
            n: self.root.get().max(1).cast_unsigned(),
            spent_ticks: word.low(),
        })
    }

    /// The persistent collective that a call record started; `None` for other operations.
    #[must_use]
    pub fn persistent_start(&self) -> Option<PersistentStart> {
        self.operation()?.is_persistent().then(|| PersistentStart {
            definition: self.root.get().cast_unsigned(),
            n_together: u32::try_from(self.word().low()).unwrap_or(u32::MAX).max(1),
        })
    }

    /// The level that the program gave to `MPI_Pcontrol`; `None` for other records.
    #[must_use]
    pub fn phase_level(&self) -> Option<i32> {
        self.word()
            .is_of(RecordKind::Phase)
            .then(|| self.root.get())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::record::{CODE_FAILED, MAX_PAYLOAD_BYTES};

    #[test]
    fn bytes_of_a_completion_are_those_of_the_format_page() {
        let completion = Completion {
            of: Initiation::Nonblocking {
                communicator: 3,
                position: 0x0102_0304,
            },
            by: CompletingCall::Waitall,
            n_together: 2,
        };
        let expected = [
            0x22, 0x11, 0, 0, 0, 0, 0, 0, // enter
            0x04, 0x03, 0x02, 0x01, 0, 0, // position
            0x02, 0x80, // code: kind 4, Waitall
            3, 0, 0, 0, // communicator
            2, 0, 0, 0, // completed together
            0x44, 0x33, 0, 0, 0, 0, 0, 0, // leave
        ];
        let record = Record::of_words(completion.words(), 0x1122, 0x3344);
        assert_eq!(record.as_bytes(), expected);
        assert_eq!(record.operation(), None);
    }

    proptest! {
        #[test]
        fn fields_of_a_completion_are_read_as_they_were_written(
            by in 0..CompletingCall::ALL.len(), persistent: bool,
            index: u32, number in 0..=MAX_PAYLOAD_BYTES, n in 1..=i32::MAX as u32, failed: bool,
        ) {
            let by = CompletingCall::ALL[by];
            prop_assert_eq!(CompletingCall::from_code(by as u16), Some(by));
            let of = if persistent {
                Initiation::Persistent { definition: index, start: number }
            } else {
                Initiation::Nonblocking { communicator: index, position: number }
            };
            let completion = Completion { of, by, n_together: n };
            let [mut second, third] = completion.words();
            if failed {
                second = RecordWord::from_bits(second).with(CODE_FAILED).bits();
            }
            let record = Record::of_words([second, third], 1, 0);
            prop_assert_eq!(record.completion(), Some(completion));
            prop_assert_eq!(record.unsuccessful_tests(), None);
            prop_assert_eq!((record.has_failed(), record.is_in_flight()), (failed, true));

            let tests = UnsuccessfulTests { of_index: index, n, spent_ticks: number };
            let record = Record::of_words(tests.words(of, by), 5, 5);
            prop_assert_eq!(record.unsuccessful_tests(), Some(tests));
            prop_assert_eq!(record.completion(), None);
            prop_assert_eq!((record.operation(), record.phase_level()), (None, None));
        }

        #[test]
        fn starts_and_phases_are_read_as_they_were_written(definition: u32, n in 1u32.., communicator: u32, level: i32) {
            let start = PersistentStart { definition, n_together: n };
            let record = Record::of_words(start.words(Operation::BcastInit, communicator), 1, 2);
            prop_assert_eq!(record.operation(), Some(Operation::BcastInit));
            prop_assert_eq!(record.persistent_start(), Some(start));
            prop_assert_eq!(record.communicator.get(), communicator);
            prop_assert_eq!(record.payload_bytes(), None);
            let record = Record::of_words(phase_words(level), 1, 2);
            prop_assert_eq!(record.phase_level(), Some(level));
            prop_assert_eq!((record.persistent_start(), record.completion()), (None, None));
        }
    }
}

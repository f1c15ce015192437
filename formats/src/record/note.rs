//! More about a call than its own record holds: records of kind 6.

use super::gap::{Activity, GapTime};
use super::{CommunicatorWord, Record, RecordKind, RecordWord, UNKNOWN_COMMUNICATOR};

/// The sort of a note: the number in its code.
const ALGORITHM: u16 = 1;
const RUNNING: u16 = 2;
const CREATION: u16 = 3;
// 4 to 7 are activities: see `gap`.
const CALL_SITE: u16 = 8;
const NEXT_CALL_SITE: u16 = 9;

/// More about a call than its own record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The MPI library began one of its algorithms. The note follows the record of the call in
    /// which it did.
    Algorithm(AlgorithmStart),
    /// How the thread spent its time.
    Running(Running),
    /// For which call the messages are that precede the note.
    Creation(Creation),
    /// Calls without records of their own.
    Gap(GapTime),
    /// From where in the program the calls that follow were made: in older traces.
    CallSite(CallSiteChange),
    /// From where in the program the next call was made.
    NextCallSite(NextCallSite),
}

/// From where in the program the next calls are made. It holds for the calls and completions of the
/// application that follow the note in its thread, up to the next such note or the end of the chunk.
/// The `enter` of the record is not after that of the next call. Only in older traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSiteChange {
    /// Index of its [`CallSite`](crate::CallSite), or [`NO_CALL_SITE`].
    pub index: u32,
}

/// From where in the program the next call, completion or phase of the application in this thread is made:
/// not from where [`CallSiteForecast`](crate::CallSiteForecast) says. The `enter` of the record is not after
/// that of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextCallSite {
    /// Index of its [`CallSite`](crate::CallSite), or [`NO_CALL_SITE`].
    pub index: u32,
}

/// In [`NextCallSite::index`]: it is not known from where the calls are made.
pub const NO_CALL_SITE: u32 = u32::MAX;

/// The start of an algorithm of the MPI library. The `enter` of the record is the `enter` of the
/// call, or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmStart {
    /// Index of its [`Definition`](crate::Definition).
    pub index: u32,
}

/// How long a thread ran on a core, and how often it left the core, up to the `enter` of the
/// record.
///
/// # Source
/// `getrusage(2)` with `RUSAGE_THREAD`: differences from the previous sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// Time since the previous sample, ticks. Saturates at 2^48 - 1.
    pub elapsed_ticks: u64,
    /// How much of that time the thread was on a core, us. Saturates.
    pub on_core_us: u32,
    /// Voluntary context switches: the thread waited for something, slept, or was stopped.
    /// Saturates.
    pub n_blocked: u16,
    /// Preemptions (involuntary context switches). Saturates.
    pub n_preempted: u16,
}

/// In [`Creation::tag`]: the library has posted no send and no receive yet. Its messages will have
/// the next tag on the communicator.
pub const NO_TAG: u16 = u16::MAX;

/// For which call the MPI library exchanges messages: a call that creates a communicator, file or
/// window, whose messages may be sent in any thread and within any call. The note follows the
/// records of those messages that were sent in its thread. It holds for all messages on that
/// communicator with that tag, until a note names another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    /// Index of the communicator on which they are sent, as in [`Message`](crate::Message).
    pub communicator: u32,
    /// Their tag, as in [`Message`](crate::Message), or [`NO_TAG`].
    pub tag: u16,
    /// Index of the communicator, file or window on which the call was made.
    pub on: u32,
    /// The lower half of the call's position among the calls of the application on `on`.
    pub position: u32,
}

impl AlgorithmStart {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        [
            RecordWord::note(ALGORITHM, 0).bits(),
            CommunicatorWord::new(UNKNOWN_COMMUNICATOR, self.index.cast_signed()).bits(),
        ]
    }
}

impl CallSiteChange {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        [
            RecordWord::note(CALL_SITE, 0).bits(),
            CommunicatorWord::new(UNKNOWN_COMMUNICATOR, self.index.cast_signed()).bits(),
        ]
    }

    /// The index of the call site; `None` where it is not known.
    #[must_use]
    pub const fn known(self) -> Option<u32> {
        if self.index == NO_CALL_SITE {
            None
        } else {
            Some(self.index)
        }
    }
}

impl NextCallSite {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        [
            RecordWord::note(NEXT_CALL_SITE, 0).bits(),
            CommunicatorWord::new(UNKNOWN_COMMUNICATOR, self.index.cast_signed()).bits(),
        ]
    }
}

impl Running {
    /// The recorder takes a sample at calls, and at gaps before calls, that take at least this
    /// long, ns.
    pub const LONG_NS: u64 = 100_000;

    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        let switches = self.n_blocked as u32 | (self.n_preempted as u32) << 16;
        [
            RecordWord::note(RUNNING, self.elapsed_ticks).bits(),
            CommunicatorWord::new(self.on_core_us, switches.cast_signed()).bits(),
        ]
    }
}

impl Creation {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        let low = RecordWord::creation_low(self.tag, self.position);
        [
            RecordWord::note(CREATION, low).bits(),
            CommunicatorWord::new(self.communicator, self.on.cast_signed()).bits(),
        ]
    }
}

impl Record {
    /// The note in the record; `None` for other kinds, and for notes of a later version.
    #[must_use]
    #[inline]
    pub fn note(&self) -> Option<Note> {
        let word = self.word();
        if !word.is_of(RecordKind::Note) {
            return None;
        }
        match word.number() {
            ALGORITHM => Some(Note::Algorithm(AlgorithmStart {
                index: self.root.get() as u32,
            })),
            RUNNING => {
                let switches = self.root.get() as u32;
                Some(Note::Running(Running {
                    elapsed_ticks: word.low(),
                    on_core_us: self.communicator.get(),
                    n_blocked: switches as u16,
                    n_preempted: (switches >> 16) as u16,
                }))
            }
            CREATION => Some(Note::Creation(Creation {
                communicator: self.communicator.get(),
                tag: word.creation_tag(),
                on: self.root.get() as u32,
                position: word.creation_position(),
            })),
            CALL_SITE => Some(Note::CallSite(CallSiteChange {
                index: self.root.get() as u32,
            })),
            NEXT_CALL_SITE => Some(Note::NextCallSite(NextCallSite {
                index: self.root.get() as u32,
            })),
            sort => Some(Note::Gap(GapTime::of_fields(
                Activity::of_sort(sort)?,
                word,
                self.communicator.get(),
                self.root.get() as u32,
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::{FromBytes, IntoBytes};

    use super::*;
    use crate::record::MAX_PAYLOAD_BYTES;

    fn record([second, third]: [u64; 2], enter: u64) -> Record {
        let words = [enter, second, third, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        *FromBytes::ref_from_bytes(&bytes[..]).unwrap()
    }

    #[test]
    fn bytes_of_notes_are_those_of_the_format_page() {
        assert_eq!(
            record(AlgorithmStart { index: 5 }.words(), 0x1122).as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // begin
                0, 0, 0, 0, 0, 0, // nothing
                1, 0xc4, // kind 6, internal, an algorithm
                0xff, 0xff, 0xff, 0xff, // nothing
                5, 0, 0, 0, // index
                0, 0, 0, 0, 0, 0, 0, 0, // nothing
            ]
        );
        let running = Running {
            elapsed_ticks: 0x0102_0304,
            on_core_us: 7,
            n_blocked: 2,
            n_preempted: 3,
        };
        assert_eq!(
            record(running.words(), 0x1122).as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // sampled
                4, 3, 2, 1, 0, 0, // elapsed
                2, 0xc4, // kind 6, internal, running
                7, 0, 0, 0, // on a core
                2, 0, 3, 0, // blocked, preempted
                0, 0, 0, 0, 0, 0, 0, 0, // nothing
            ]
        );
        let creation = Creation {
            communicator: 7,
            tag: -50i32 as u16,
            on: 4,
            position: 0x0102_0304,
        };
        assert_eq!(
            record(creation.words(), 0x1122).as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // written
                4, 3, 2, 1, // position
                0xce, 0xff, // tag
                3, 0xc4, // kind 6, internal, for which call
                7, 0, 0, 0, // communicator
                4, 0, 0, 0, // called on
                0, 0, 0, 0, 0, 0, 0, 0, // nothing
            ]
        );
    }

    #[test]
    fn the_call_site_of_the_next_call_has_the_bytes_of_the_format_page() {
        let next = NextCallSite { index: 5 };
        let written = record(next.words(), 0x1122);
        assert_eq!(
            written.as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // at the latest
                0, 0, 0, 0, 0, 0, // nothing
                9, 0xc4, // kind 6, internal, the next call's site
                0xff, 0xff, 0xff, 0xff, // nothing
                5, 0, 0, 0, // index
                0, 0, 0, 0, 0, 0, 0, 0, // nothing
            ]
        );
        assert_eq!(written.note(), Some(Note::NextCallSite(next)));
        assert!(!written.has_call_site());
    }

    #[test]
    fn a_change_of_the_call_site_has_the_bytes_of_the_format_page() {
        let change = CallSiteChange { index: 5 };
        let written = record(change.words(), 0x1122);
        assert_eq!(
            written.as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // at the latest
                0, 0, 0, 0, 0, 0, // nothing
                8, 0xc4, // kind 6, internal, a call site
                0xff, 0xff, 0xff, 0xff, // nothing
                5, 0, 0, 0, // index
                0, 0, 0, 0, 0, 0, 0, 0, // nothing
            ]
        );
        assert_eq!(written.note(), Some(Note::CallSite(change)));
        assert_eq!(change.known(), Some(5));
        let unknown = CallSiteChange {
            index: NO_CALL_SITE,
        };
        assert_eq!(
            record(unknown.words(), 1).note(),
            Some(Note::CallSite(unknown))
        );
        assert_eq!(unknown.known(), None);
    }

    proptest! {
        #[test]
        fn fields_of_a_note_are_read_as_they_were_written(
            index: u32, enter in 1u64.., elapsed_ticks: u64, on_core_us: u32, n_blocked: u16,
            n_preempted: u16, tag: u16, on: u32,
        ) {
            let creation = Creation { communicator: on_core_us, tag, on, position: index };
            let creation_record = record(creation.words(), enter);
            prop_assert_eq!(creation_record.note(), Some(Note::Creation(creation)));
            let algorithm = AlgorithmStart { index };
            let running = Running { elapsed_ticks, on_core_us, n_blocked, n_preempted };
            let expected = Running { elapsed_ticks: elapsed_ticks.min(MAX_PAYLOAD_BYTES), ..running };
            let started = record(algorithm.words(), enter);
            prop_assert_eq!(started.note(), Some(Note::Algorithm(algorithm)));
            let sample = record(running.words(), enter);
            prop_assert_eq!(sample.note(), Some(Note::Running(expected)));
            for record in [started, sample, creation_record] {
                prop_assert_eq!(record.enter.get(), enter);
                prop_assert_eq!((record.is_internal(), record.operation()), (true, None));
                prop_assert_eq!(record.message(), None);
            }
        }
    }
}

//! Full chunks that something may still be stored into: for how long a thread needs them.
//!
//! A chunk may be full while the call under way stands in it, whose leave time comes last, or
//! receives whose ends the library has not seen. Which ones these are is looked up when the next
//! chunk is opened, also within a call, so that calls themselves need not keep count. A thread's
//! chunks go in the order of their time, since what a ring has of a thread has no gap: those behind
//! one that is needed stay, too. So a ring holds, beyond what it keeps of old records, what a
//! thread has recorded since the call under way in it began.

use collbench_formats::{Direction, Record, RecordKind};

use crate::file::{OpenChunk, Slot, Slots};

/// A full chunk that was the current one when another was opened at last, or is needed since.
#[derive(Debug)]
pub(super) struct Retained {
    pub(super) chunk: OpenChunk,
    /// Of the records that were not finished when it was full those that are not yet.
    pub(super) slots: Vec<Slot>,
}

impl Retained {
    fn has(&self, slot: Slot) -> bool {
        self.chunk.has(slot)
    }
}

/// The records of a chunk that a call of its thread will come back to.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    pub(super) slots: Vec<Slot>,
    /// Whether nothing before the chunk is unfinished: the thread was in no call when one of its
    /// records began.
    pub(super) is_all: bool,
}

impl Unfinished {
    /// Among those of one chunk which the calling thread has taken.
    pub(super) fn among(taken: Slots) -> Self {
        let mut found = Self::default();
        for slot in taken.iter().rev() {
            let Some(record) = slot.record() else { break };
            if is_unfinished(&record) {
                found.slots.push(slot);
            }
            found.is_all = begins_at_rest(&record);
            if found.is_all {
                break;
            }
        }
        found
    }
}

/// Whether a call will come back to a record. The end of a nonblocking receive is not waited for:
/// where it will be stored, the thread knows the receive besides.
fn is_unfinished(record: &Record) -> bool {
    if record.enter.get() == 0 {
        return true;
    }
    let is_open = record.leave.get() == 0;
    match record.kind() {
        Some(RecordKind::Note) => false,
        Some(RecordKind::Message) => {
            is_open
                && record.message().is_none_or(|message| {
                    message.direction == Direction::Send || !message.is_nonblocking
                })
        }
        _ => is_open,
    }
}

/// Whether a record is that of a call whose slot was taken in no other call. The starts of one
/// MPI_Startall take theirs within it, one behind the other, and leave together.
fn begins_at_rest(record: &Record) -> bool {
    let is_own = record.kind() == Some(RecordKind::Call) && !record.is_internal();
    is_own && (record.leave.get() != 0 || record.persistent_start().is_none())
}

/// Gives back the chunks that are not needed any more, at the opening of another: `unfinished` are
/// records of the chunk behind them, `posted` receives whose ends may still be stored.
pub(super) fn release(retained: &mut Vec<Retained>, unfinished: &Unfinished, posted: &[Slot]) {
    for older in &mut *retained {
        if unfinished.is_all {
            // What is left was given up: an error handler of the program did not come back.
            older.slots.clear()
        } else {
            older.slots.retain(|slot| !slot.has_left())
        }
    }
    let is_needed =
        |older: &Retained| !older.slots.is_empty() || posted.iter().any(|slot| older.has(*slot));
    let n = retained.iter().position(is_needed);
    retained.drain(..n.unwrap_or(retained.len()));
}

#[cfg(test)]
mod tests {
    use collbench_formats::{
        AlgorithmStart, CODE_INTERNAL, CompletingCall, Completion, Initiation, Message, NO_RANK,
        Operation, PersistentStart, RecordWord,
    };
    use zerocopy::FromBytes;

    use super::*;
    use crate::file::slot::tests::slots_of;

    fn record(enter: u64, [second, third]: [u64; 2], leave: u64) -> Record {
        let words = [enter, second, third, leave];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        *Record::ref_from_bytes(&bytes).unwrap()
    }

    fn call(flags: u16, enter: u64, leave: u64) -> Record {
        record(
            enter,
            [RecordWord::call(Operation::Bcast, flags, 8).bits(), 0],
            leave,
        )
    }

    fn message(direction: Direction, is_nonblocking: bool, leave: u64) -> Record {
        let message = Message {
            direction,
            is_nonblocking,
            partner: NO_RANK,
            communicator: 0,
            tag: 9,
            bytes: 8,
        };
        record(5, message.words(), leave)
    }

    fn completion(enter: u64, leave: u64) -> Record {
        let completion = Completion {
            of: Initiation::Nonblocking {
                communicator: 0,
                position: 0,
            },
            by: CompletingCall::Waitall,
            n_together: 2,
        };
        record(enter, completion.words(), leave)
    }

    fn start(leave: u64) -> Record {
        let start = PersistentStart {
            definition: 0,
            n_together: 2,
        };
        record(5, start.words(Operation::BcastInit, 0), leave)
    }

    /// Which of some records are unfinished, and whether that is all.
    fn found(records: &[Record]) -> (Vec<usize>, bool) {
        let slots = slots_of(records);
        let found = Unfinished::among(slots);
        let index = |slot: &Slot| slots.before(*slot).len();
        let mut indexes: Vec<usize> = found.slots.iter().map(index).collect();
        indexes.sort_unstable();
        (indexes, found.is_all)
    }

    #[test]
    fn behind_the_last_call_of_the_application_nothing_older_is_unfinished() {
        let (send, receive) = (Direction::Send, Direction::Receive);
        // Its own call left: whatever stands before it, nobody comes back to.
        assert_eq!(found(&[call(0, 5, 0), call(0, 5, 9)]), (vec![], true));
        // Under way, with a blocking receive, behind a send that is through.
        let inside = [
            message(send, true, 0),
            call(0, 5, 0),
            message(send, true, 6),
            message(receive, false, 0),
        ];
        assert_eq!(found(&inside), (vec![1, 3], true));
        // The end of a nonblocking receive nobody may ever see.
        assert_eq!(found(&[message(receive, true, 0)]), (vec![], false));
        assert_eq!(found(&[message(send, true, 0)]), (vec![0], false));
    }

    #[test]
    fn calls_of_the_library_itself_say_nothing_of_what_is_older() {
        let internal = |leave| call(CODE_INTERNAL, 5, leave);
        assert_eq!(found(&[call(0, 5, 0), internal(7)]), (vec![0], true));
        assert_eq!(found(&[internal(7), internal(0)]), (vec![1], false));
        assert_eq!(found(&[]), (vec![], false));
    }

    #[test]
    fn calls_that_take_several_slots_come_back_to_all_of_them() {
        let waits = [call(0, 5, 6), completion(7, 0), completion(7, 0)];
        assert_eq!(found(&waits), (vec![1, 2], true));
        // Taken, but not stamped yet.
        let unstamped = [completion(0, 0), completion(0, 0)];
        assert_eq!(found(&unstamped), (vec![0, 1], false));
        assert_eq!(found(&[start(0), start(0)]), (vec![0, 1], false));
        assert_eq!(found(&[start(0), start(8)]), (vec![], true));
    }

    #[test]
    fn notes_are_finished_once_they_are_stamped() {
        let words = AlgorithmStart { index: 3 }.words();
        assert_eq!(found(&[record(5, words, 0)]), (vec![], false));
        assert_eq!(found(&[record(0, words, 0)]), (vec![0], false));
    }
}

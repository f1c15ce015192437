//! Full chunks into which something may still be stored, and how long a thread retains them.
//!
//! A full chunk may have the record of the call under way, whose leave is stored last, or of
//! receives whose end the library has not seen. Which ones these are is looked up when the next
//! chunk is opened, also inside a call, so that calls themselves need not count. A thread's chunks
//! are released in the order of their time, since a ring has the records of a thread without a gap:
//! chunks after one that is needed stay too. So a ring holds, beyond the old records that it
//! retains, what a thread has recorded since the call under way in it was entered.

use collbench_formats::{Direction, Record, RecordKind};

use crate::file::{OpenChunk, Slot, Slots};

/// A full chunk that was the current one before the last one was opened, or that is still needed.
#[derive(Debug)]
pub(super) struct Retained {
    pub(super) chunk: OpenChunk,
    /// Records that were unfinished when it became full, and still are.
    pub(super) slots: Vec<Slot>,
}

impl Retained {
    fn has(&self, slot: Slot) -> bool {
        self.chunk.has(slot)
    }
}

/// The records of a chunk into which a call of its thread will still store.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    pub(super) slots: Vec<Slot>,
    /// Whether nothing before the chunk is unfinished: the thread was in no call when one of its
    /// records began.
    pub(super) is_all: bool,
}

impl Unfinished {
    /// The unfinished records among the slots that the calling thread has taken in one chunk.
    pub(super) fn among(taken: Slots) -> Self {
        let mut found = Self::default();
        for slot in taken.iter().rev() {
            let Some(record) = slot.record() else { break };
            if is_unfinished(&record) {
                found.slots.push(slot);
            }
            found.is_all = begins_outside_calls(&record);
            if found.is_all {
                break;
            }
        }
        found
    }
}

/// Whether a call will store into a record again. A nonblocking receive does not count: if its
/// leave will be stored, it is in the thread's list of receives.
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

/// Whether a record is of a call whose slot was taken outside of other calls. The starts of one
/// MPI_Startall take their slots inside it, one after the other, and leave together.
fn begins_outside_calls(record: &Record) -> bool {
    let is_own = record.kind() == Some(RecordKind::Call) && !record.is_internal();
    is_own && (record.leave.get() != 0 || record.persistent_start().is_none())
}

/// Releases the chunks that are not needed any more, when another one is opened: `unfinished` are
/// records of the chunk after them, and `posted` are receives whose leave may still be stored.
pub(super) fn release(retained: &mut Vec<Retained>, unfinished: &Unfinished, posted: &[Slot]) {
    for older in &mut *retained {
        if unfinished.is_all {
            // What is left was abandoned: an error handler of the program did not return.
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
    fn after_the_last_call_of_the_application_nothing_older_is_unfinished() {
        let (send, receive) = (Direction::Send, Direction::Receive);
        // Its own call has left: nothing will be stored into records before it.
        assert_eq!(found(&[call(0, 5, 0), call(0, 5, 9)]), (vec![], true));
        // Under way, with a blocking receive, after a send that has ended.
        let inside = [
            message(send, true, 0),
            call(0, 5, 0),
            message(send, true, 6),
            message(receive, false, 0),
        ];
        assert_eq!(found(&inside), (vec![1, 3], true));
        // The end of a nonblocking receive may never be seen.
        assert_eq!(found(&[message(receive, true, 0)]), (vec![], false));
        assert_eq!(found(&[message(send, true, 0)]), (vec![0], false));
    }

    #[test]
    fn internal_calls_do_not_show_whether_older_records_are_finished() {
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

//! The records that follow a call in its thread: its messages, and notes on it.

use collbench_formats::{Message, Note, Record, RecordKind};

use crate::trace::record_at::RecordAt;
use crate::trace::records::RecordReader;

/// Records read at a time.
pub(crate) const SLICE: usize = 64;

/// Whether the stamps of a message are possible: it does not end before it begins.
pub(crate) fn has_possible_stamps(record: &Record) -> bool {
    record.leave.get() == 0 || record.enter.get() <= record.leave.get()
}

/// Whether a record is of a call nested in another one with these times, made by a function of the
/// application that the MPI library called back. Records of operations that one call starts or
/// completes together have equal times and are not nested.
pub(crate) fn is_within(record: &Record, enter: u64, leave: u64) -> bool {
    let (begin, end) = (record.enter.get(), record.leave.get());
    (begin, end) != (enter, leave) && (enter..leave).contains(&begin) && (1..=leave).contains(&end)
}

/// Whether a record behind a call that was left at `leave` is a note on the time after the call, so
/// that nothing behind it belongs to the call.
pub(crate) fn is_of_next_gap(record: &Record, leave: u64) -> bool {
    record.enter.get() > leave && matches!(record.note(), Some(Note::Gap(_)))
}

/// Passes to `look` the messages of the call at a location (or of the call that completed
/// collectives there), with their locations: those after it that began no later than it returned,
/// without those of nested calls of the library. Returns the location of the last record that
/// belongs to the call.
///
/// A clock with coarse steps may show the begin of the last message and the return alike.
pub(crate) fn each_message(
    reader: &RecordReader<'_>,
    location: RecordAt,
    look: impl FnMut(RecordAt, &Record, &Message),
) -> RecordAt {
    each_message_or_note(reader, location, look, |_| {})
}

/// As [`each_message`], and passes the notes on the call, and the passes of event collectors in it,
/// to `add_note`.
pub(crate) fn each_message_or_note(
    reader: &RecordReader<'_>,
    mut location: RecordAt,
    mut look: impl FnMut(RecordAt, &Record, &Message),
    mut add_note: impl FnMut(&Record),
) -> RecordAt {
    let chunks = reader.chunks();
    let thread = chunks[location.chunk as usize].thread;
    let mut records = reader.slice(location, SLICE);
    let (enter, leave) = (records[0].enter.get(), records[0].leave.get());
    let is_completion = records[0].kind() == Some(RecordKind::Completion);
    let mut last = location;
    // End of the latest nested call, ticks, inclusive.
    let mut below_until = 0;
    let mut n_before = 1;
    loop {
        for (record, at) in records[n_before..]
            .iter()
            .zip(location.record + n_before as u32..)
        {
            let here = RecordAt {
                record: at,
                ..location
            };
            let begin = record.enter.get();
            // A note about the time before the call follows it with an earlier stamp.
            if record.kind() == Some(RecordKind::Note) {
                if is_of_next_gap(record, leave) {
                    return last;
                }
                if (enter..=leave).contains(&begin) && begin > below_until {
                    add_note(record);
                }
                last = here;
                continue;
            }
            if begin > leave || begin < enter {
                return last;
            }
            if let Some(message) = record.message() {
                if begin > below_until && has_possible_stamps(record) {
                    look(here, record, &message);
                }
                last = here;
                continue;
            }
            if record.kind() == Some(RecordKind::CollectorPass) {
                if begin > below_until {
                    add_note(record);
                }
                last = here;
                continue;
            }
            // A call of the application is nested where the library has called the application
            // back.
            let is_below = record.is_internal() || is_within(record, enter, leave);
            match record.kind() {
                // Those of a call that completed several stand next to each other.
                Some(RecordKind::Completion) if is_completion && begin == enter => {}
                Some(RecordKind::Call | RecordKind::Completion) if is_below => {
                    below_until = record.leave.get().max(below_until);
                }
                Some(RecordKind::Call | RecordKind::Completion) => return last,
                _ => {}
            }
            last = here;
        }
        location.record += records.len() as u32;
        while location.record as usize >= chunks[location.chunk as usize].records.len() {
            location.chunk += 1;
            location.record = 0;
            let next = chunks.get(location.chunk as usize);
            if next.is_none_or(|next| next.thread != thread) {
                return last;
            }
        }
        records = reader.slice(location, SLICE);
        n_before = 0;
    }
}

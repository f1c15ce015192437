//! The last activity of a process, from the records at the end of its file.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{Chunk, CompletingCall, Operation, Record, RecordKind};

use crate::trace::record_at::RecordAt;

/// The last known activity of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastSeen {
    /// Its last stamp or clock reading.
    pub at: Timestamp<Global>,
    /// The call that returned last; `None` if there is none.
    pub returned: Option<LastCall>,
}

/// A call that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastCall {
    /// What was called, or (with `completing`) what was completed, if that is known.
    pub operation: Option<Operation>,
    /// The call that completed it.
    pub completing: Option<CompletingCall>,
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    pub communicator: Option<usize>,
    /// Position among the calls on it; `None` where several threads make it ambiguous.
    pub sequence: Option<u64>,
    /// Whether `sequence` is the number of a start of a persistent collective.
    pub is_persistent: bool,
    /// When it was entered.
    pub enter: Timestamp<Global>,
    /// When it was left.
    pub leave: Timestamp<Global>,
}

/// Location of the last record that `is_wanted` in a thread with these chunks; `first` is the
/// number of its first chunk in the file.
pub(crate) fn last_location(
    chunks: &[Chunk<'_>],
    first: usize,
    is_wanted: impl Fn(&Record) -> bool,
) -> Option<RecordAt> {
    let mut back = chunks.iter().enumerate().rev();
    back.find_map(|(at, chunk)| {
        let mut back = chunk.records.iter().rev();
        let n_behind = back.position(|record| is_wanted(&record))?;
        Some(RecordAt {
            chunk: (first + at) as u32,
            record: (chunk.records.len() - 1 - n_behind) as u32,
        })
    })
}

/// Whether a record shows that the application made progress: it is neither an internal call of the
/// MPI library nor a message or note inside a call.
pub(crate) fn is_own(record: &Record) -> bool {
    match record.kind() {
        Some(RecordKind::Call) => !record.is_internal(),
        Some(RecordKind::Message | RecordKind::Note) => false,
        _ => true,
    }
}

/// Whether a record is a call of the application that has returned.
pub(crate) fn has_returned(record: &Record) -> bool {
    let is_call = match record.kind() {
        Some(RecordKind::Call) => !record.is_internal() && record.operation().is_some(),
        Some(RecordKind::Completion) => record.completion().is_some(),
        _ => false,
    };
    is_call && record.leave.get() != 0
}

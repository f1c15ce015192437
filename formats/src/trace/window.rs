//! Which calls of a process a ring still holds.
//!
//! A ring overwrites the oldest chunk that holds no call under way. So each thread has its newest
//! records without a gap, and a thread that made few calls has older records than the others. The
//! window begins when the newest of the threads' first chunks was opened: from then on all calls of
//! the process are there, and the table of that chunk says what came before.

use super::Chunk;
use crate::file::{ProcessState, SequenceEntry, SequenceOf};
use crate::record::Record;

/// The window of a process's records that its ring retains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// The size of the ring, bytes, > 0.
    pub keep_bytes: u64,
    /// All calls from this time on are there, ticks; 0 as long as nothing was overwritten.
    pub begin_ticks: u64,
    /// How many calls had been entered before that time.
    pub sequences: &'a [SequenceEntry],
    /// Records that were overwritten.
    pub n_records_overwritten: u64,
    /// Records that are there from before the window, in threads that made few calls.
    pub n_records_before: u64,
    /// Calls of the application among the overwritten records and those from before the window.
    pub n_calls_dropped: u64,
    /// Calls of the application in the window.
    pub n_calls_in_window: u64,
}

impl<'a> Window<'a> {
    /// The window of these chunks, which are ordered by thread and number.
    pub(crate) fn of_chunks(chunks: &[Chunk<'a>], keep_bytes: u64) -> Self {
        let mut window = Self {
            keep_bytes,
            begin_ticks: 0,
            sequences: &[],
            n_records_overwritten: 0,
            n_records_before: 0,
            n_calls_dropped: 0,
            n_calls_in_window: 0,
        };
        for of_thread in chunks.chunk_by(|a, b| a.thread == b.thread) {
            let (Some(first), Some(last)) = (of_thread.first(), of_thread.last()) else {
                continue;
            };
            let before = |chunk: &Chunk<'_>| chunk.header.first_call.get();
            let in_last = last.records.iter().filter(is_call).count();
            let n_calls = before(last).saturating_add(in_last as u64);
            let in_window = &mut window.n_calls_in_window;
            *in_window = in_window.saturating_add(n_calls.saturating_sub(before(first)));
            if first.ordinal == 0 {
                continue;
            }
            let records = &mut window.n_records_overwritten;
            *records = records.saturating_add(first.header.first_record.get());
            let calls = &mut window.n_calls_dropped;
            *calls = calls.saturating_add(before(first));
            let opened = first.header.prepare_begin.get().max(1);
            if opened > window.begin_ticks {
                (window.begin_ticks, window.sequences) = (opened, first.sequences);
            }
        }
        window.count_before(chunks);
        window
    }

    /// Counts the records from before the window.
    fn count_before(&mut self, chunks: &[Chunk<'_>]) {
        for chunk in chunks {
            if chunk.opened_ticks >= self.begin_ticks {
                continue;
            }
            let records = chunk.records.contiguous();
            let n = records.partition_point(|r| r.enter.get() < self.begin_ticks);
            let calls = records[..n].iter().filter(|record| is_call(record));
            let n_calls = (calls.count() as u64).min(self.n_calls_in_window);
            self.n_records_before += n as u64;
            self.n_calls_in_window -= n_calls;
            self.n_calls_dropped = self.n_calls_dropped.saturating_add(n_calls);
        }
    }

    /// Whether calls were overwritten.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.begin_ticks > 0
    }

    /// State of the process when the window began, if the table has it.
    #[must_use]
    pub fn process_state(&self) -> Option<ProcessState> {
        let mut entries = self.sequences.iter().map(SequenceEntry::of);
        entries.find_map(|of| match of {
            SequenceOf::Process(state) => Some(state),
            _ => None,
        })
    }
}

/// Whether a record is a call of the application that is counted.
fn is_call(record: &Record) -> bool {
    record.word().is_counted_call()
}

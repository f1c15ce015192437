//! One chunk of records of a rank file that was read.

use super::records::Records;
use crate::file::{ChunkHeader, SequenceEntry};
use crate::record::Record;

/// One chunk of records.
///
/// A file of 100 GB has 100,000 chunks and more, each in pages of its own. Fields that are looked
/// up for all of them are held here, so that they take no access to the file.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Where it begins in the file, in bytes; of a compact file, in the file as it was recorded.
    pub offset: u64,
    /// Where its records begin in the file, in bytes; of a compact file, in the file as it was
    /// recorded.
    pub content: u64,
    /// Number of its thread: see [`ChunkHeader::thread`].
    pub thread: u32,
    /// Its number among the chunks of the thread: see [`ChunkHeader::ordinal`].
    pub ordinal: u32,
    /// When it was opened, ticks; 0 if no reading was taken.
    pub opened_ticks: u64,
    /// How long the recorder held up the application for it, ticks.
    pub pause_ticks: u64,
    /// Its header, in the file.
    pub header: &'a ChunkHeader,
    /// Calls entered on each communicator before the chunk was opened.
    pub sequences: &'a [SequenceEntry],
    /// Its records, in the order in which their calls were entered; no free slots.
    pub records: Records<'a>,
}

impl Chunk<'_> {
    /// Where in the file the bytes begin and end that hold the `n` records from `first` on. `n` is
    /// > 0, and the chunk has these records.
    #[must_use]
    #[inline]
    pub fn span(&self, first: usize, n: usize) -> (u64, u64) {
        match &self.records {
            Records::InPlace(_) => {
                let offset_of = |at: usize| self.content + (at * size_of::<Record>()) as u64;
                (offset_of(first), offset_of(first + n))
            }
            Records::Packed(packed) => {
                let span = |at| packed.span(packed.block_of(at).0);
                (span(first).0, span(first + n - 1).1)
            }
        }
    }
}

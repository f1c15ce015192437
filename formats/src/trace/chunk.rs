//! One chunk of records of a rank file that was read.

use super::records::Records;
use crate::file::{ChunkHeader, SequenceEntry};
use crate::record::Record;

/// One chunk of records.
///
/// A file of 100 GB has 100,000 of these and more, in pages of their own: what is looked up for
/// all of them is held here, so that it takes no access to the file.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Where it begins in the file, in bytes; of a compact file in the file as it was recorded.
    pub offset: u64,
    /// Where its records begin, likewise.
    pub content: u64,
    /// Its thread: see [`ChunkHeader::thread`].
    pub thread: u32,
    /// Its number among those of the thread: see [`ChunkHeader::ordinal`].
    pub ordinal: u32,
    /// When it was opened, ticks; 0 without a reading.
    pub opened_ticks: u64,
    /// How long the application stood still for it, ticks.
    pub pause_ticks: u64,
    /// Its header, in the file.
    pub header: &'a ChunkHeader,
    /// Calls begun on each communicator before the chunk.
    pub sequences: &'a [SequenceEntry],
    /// Its records, in the order in which their calls began; no free slots.
    pub records: Records<'a>,
}

impl Chunk<'_> {
    /// Where the bytes begin and end in the file that hold some of its records: `n` from the
    /// `first` on, > 0, which are there.
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

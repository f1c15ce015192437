//! Packed content: records in blocks, and bytes.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::block;
use super::columns::inflated;
use crate::file::ChunkHeader;
use crate::record::Record;

/// The most bytes that anything but records may have when it is unpacked: a definition of the
/// largest size fits, with what surrounds it.
pub const MAX_PACKED_BYTES: usize = 17 << 20;

/// The most records that a block may have.
const MAX_BLOCK_RECORDS: usize = 1 << 16;

/// Largest ratio of deflation; a record is at least one byte before it is deflated.
const MAX_DEFLATION_RATIO: usize = 1032;

/// The header of the records of a chunk; the ends of the blocks follow it.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct RecordsHead {
    pub(super) n_records: U32,
    /// Records in each block but the last, > 0.
    pub(super) block_records: U32,
}

/// The header of deflated bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BytesHead {
    /// Length of the unpacked bytes.
    pub(super) length: U32,
    /// Length without the zeros at the end, which are not deflated.
    pub(super) trimmed: U32,
}

/// Deflated bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedBytes<'a> {
    length: usize,
    trimmed: usize,
    bytes: &'a [u8],
}

impl<'a> PackedBytes<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (head, bytes) = BytesHead::ref_from_prefix(bytes).ok()?;
        let (length, trimmed) = (head.length.get() as usize, head.trimmed.get() as usize);
        let fits = trimmed <= length
            && length <= MAX_PACKED_BYTES
            && trimmed <= bytes.len().saturating_mul(MAX_DEFLATION_RATIO);
        fits.then_some(Self {
            length,
            trimmed,
            bytes,
        })
    }

    /// Unpacks the bytes; `None` if that fails.
    pub(crate) fn unpack(&self) -> Option<Vec<u8>> {
        inflated(self.bytes, self.trimmed, self.length)
    }
}

/// The records of a chunk in a compact file: blocks that are unpacked one by one.
#[derive(Debug, Clone, Copy)]
pub struct PackedRecords<'a> {
    n_records: usize,
    block_records: usize,
    /// The end of each block in `blocks`, in bytes.
    ends: &'a [U32],
    blocks: &'a [u8],
    /// Where the blocks begin in the file, in bytes.
    at: u64,
}

impl<'a> PackedRecords<'a> {
    /// The records in the content of a part, which begins at `at` in the file, and the bytes that
    /// followed them in the chunk; `None` if they do not fit into the content.
    pub(super) fn of(
        bytes: &'a [u8],
        at: u64,
        chunk: &ChunkHeader,
    ) -> Option<(Self, Option<PackedBytes<'a>>)> {
        let (head, rest) = RecordsHead::ref_from_prefix(bytes).ok()?;
        let n_records = head.n_records.get() as usize;
        let block_records = head.block_records.get() as usize;
        let room = chunk.length.get() - u64::from(chunk.content_at.get());
        let stated = chunk.closed.get().checked_sub(1);
        let fits = (1..=MAX_BLOCK_RECORDS).contains(&block_records)
            && n_records as u64 <= room / size_of::<Record>() as u64
            && n_records <= bytes.len().saturating_mul(MAX_DEFLATION_RATIO)
            && stated.is_none_or(|stated| n_records as u64 <= stated);
        if !fits {
            return None;
        }
        let n_blocks = n_records.div_ceil(block_records);
        let (ends, rest) = <[U32]>::ref_from_prefix_with_elems(rest, n_blocks).ok()?;
        let is_ordered = ends.is_sorted_by(|a, b| a.get() < b.get());
        let end = ends.last().map_or(0, |end| end.get() as usize);
        let (blocks, trailing) = rest.split_at_checked(end).filter(|_| is_ordered)?;
        let this = Self {
            n_records,
            block_records,
            ends,
            blocks,
            at: at + (bytes.len() - rest.len()) as u64,
        };
        match trailing {
            [] => Some((this, None)),
            trailing => Some((this, Some(PackedBytes::of(trailing)?))),
        }
    }

    /// Number of records.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.n_records
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_records == 0
    }

    /// Number of blocks.
    #[must_use]
    pub fn n_blocks(&self) -> usize {
        self.ends.len()
    }

    /// The block that holds a record, and the record's index in it.
    #[must_use]
    #[inline]
    pub fn block_of(&self, record: usize) -> (usize, usize) {
        (record / self.block_records, record % self.block_records)
    }

    /// The index of the first record of a block.
    pub(super) fn first_of(&self, block: usize) -> usize {
        block * self.block_records
    }

    /// Where the bytes of a block begin and end in the file.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn span(&self, block: usize) -> (u64, u64) {
        let (from, to) = self.within(block);
        (self.at + from as u64, self.at + to as u64)
    }

    fn within(&self, block: usize) -> (usize, usize) {
        let before = block.checked_sub(1);
        let end = |block: usize| self.ends[block].get() as usize;
        (before.map_or(0, end), end(block))
    }

    /// The records of a block. If its bytes cannot be unpacked to so many records in spite of their
    /// checksum, the records are of a kind that no version knows.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn unpack(&self, block: usize) -> Vec<Record> {
        let (from, to) = self.within(block);
        // A file that is cut while it is read has zeros there, also as the ends of blocks.
        let bytes = self.blocks.get(from..to).unwrap_or_default();
        let n = (self.n_records - block * self.block_records).min(self.block_records);
        let mut records = Vec::new();
        if block::unpack(bytes, n, &mut records).is_none() {
            records.clear();
            records.resize(n, Record::FREE);
        }
        records
    }
}

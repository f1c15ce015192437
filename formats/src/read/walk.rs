//! Goes from chunk to chunk of a recorded rank file, past what is damaged.

use zerocopy::FromBytes;

use crate::file::{
    CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, PLACE_MAGIC, SequenceEntry,
};
use crate::record::Record;

/// How many bytes of sequence tables may still be summed and found wrong. In a file that has only
/// headers whose tables extend to its end, the search for the next valid one would otherwise take
/// time proportional to the square of its length.
pub(crate) struct ChecksumBudget(pub(crate) u64);

/// The chunk header at the start of `bytes` and the table after it, if they are complete, their
/// checksum is correct, and the budget allows to check it. (For a table within [`CHUNK_ALIGN`] it
/// always does.)
pub(crate) fn parse_chunk_header<'a>(
    bytes: &'a [u8],
    budget: &mut ChecksumBudget,
) -> Option<(&'a ChunkHeader, &'a [SequenceEntry])> {
    let (header, rest) = ChunkHeader::ref_from_prefix(bytes).ok()?;
    let n_sequences = header.n_sequences.get() as usize;
    let is_plausible = header.magic == CHUNK_MAGIC
        && header.length.get() >= CHUNK_ALIGN
        && header.length.get() % CHUNK_ALIGN == 0
        && header.content_at.get() as usize == ChunkHeader::content_offset(n_sequences)
        && u64::from(header.content_at.get()) <= header.length.get();
    if !is_plausible {
        return None;
    }
    let (sequences, _) = <[SequenceEntry]>::ref_from_prefix_with_elems(rest, n_sequences).ok()?;
    let n_bytes = size_of_val(sequences) as u64;
    if n_bytes > budget.0.max(CHUNK_ALIGN) {
        return None;
    }
    let is_valid = header.checksum(sequences) == header.crc32.get();
    if !is_valid {
        budget.0 = budget.0.saturating_sub(n_bytes);
    }
    is_valid.then_some((header, sequences))
}

/// A chunk, and those of its bytes that are in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundChunk<'a> {
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) header: &'a ChunkHeader,
    pub(crate) sequences: &'a [SequenceEntry],
    /// From its first byte to its end, or to the end of the file.
    pub(crate) bytes: &'a [u8],
}

impl FoundChunk<'_> {
    /// What it holds; `None` for a kind of a later version.
    pub(crate) fn kind(&self) -> Option<ChunkKind> {
        ChunkKind::from_code(self.header.kind.get())
    }
}

/// What is found next in a file.
pub(crate) enum Step<'a> {
    Chunk(FoundChunk<'a>),
    /// The place of a chunk in a ring, which its recorder was about to reuse.
    Place {
        offset: u64,
        bytes: &'a [u8],
    },
    /// Something else, up to the next chunk (or such a place) or the end.
    Skipped {
        offset: u64,
        skipped: &'a [u8],
    },
}

/// Iterator over the chunks of a file.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: u64,
    is_ring: bool,
    checksums: ChecksumBudget,
}

impl<'a> Walk<'a> {
    /// Starts at the first chunk of the file with this header.
    pub(crate) fn of(bytes: &'a [u8], header: &FileHeader) -> Self {
        Self {
            bytes,
            at: header.header_length.get(),
            is_ring: header.keep_bytes.get() > 0,
            checksums: ChecksumBudget(bytes.len() as u64),
        }
    }

    /// Length of the place at the start of these bytes, if it is the place of a chunk in a ring
    /// that its recorder was about to reuse.
    fn place_in_ring(&self, bytes: &[u8]) -> Option<u64> {
        let (header, _) = ChunkHeader::ref_from_prefix(bytes).ok()?;
        let length = header.length.get();
        let is_place = self.is_ring
            && header.magic == PLACE_MAGIC
            && length >= CHUNK_ALIGN
            && length % CHUNK_ALIGN == 0
            && length <= bytes.len() as u64;
        is_place.then_some(length)
    }

    /// Where the next valid chunk (or place in a ring) after `at` begins, or the end of the bytes.
    fn next_chunk(&mut self, at: u64) -> u64 {
        let mut next = at;
        loop {
            next = (next + 1).next_multiple_of(CHUNK_ALIGN);
            if next >= self.bytes.len() as u64 {
                return self.bytes.len() as u64;
            }
            let rest = &self.bytes[next as usize..];
            let is_chunk = rest.starts_with(&CHUNK_MAGIC)
                && parse_chunk_header(rest, &mut self.checksums).is_some();
            if is_chunk || self.place_in_ring(rest).is_some() {
                return next;
            }
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let offset = self.at;
        let length = self.bytes.len() as u64;
        if offset >= length {
            return None;
        }
        // The casts are lossless: both are below a length in memory.
        let rest = &self.bytes[offset as usize..];
        if let Some((header, sequences)) = parse_chunk_header(rest, &mut self.checksums) {
            self.at = offset.saturating_add(header.length.get());
            return Some(Step::Chunk(FoundChunk {
                offset,
                header,
                sequences,
                bytes: &rest[..header.length.get().min(rest.len() as u64) as usize],
            }));
        }
        if let Some(length) = self.place_in_ring(rest) {
            self.at = offset + length;
            let bytes = &rest[..length as usize];
            return Some(Step::Place { offset, bytes });
        }
        self.at = self.next_chunk(offset);
        let skipped = &rest[..(self.at - offset) as usize];
        Some(Step::Skipped { offset, skipped })
    }
}

/// The records in the content of a chunk: as many as a closed chunk states, or those before the
/// first free slot of an open one.
pub(crate) fn used_records<'a>(header: &ChunkHeader, content: &'a [u8]) -> &'a [Record] {
    let n_bytes = content.len() / size_of::<Record>() * size_of::<Record>();
    let slots = <[Record]>::ref_from_bytes(&content[..n_bytes])
        .expect("records have no alignment and the length is a multiple of theirs");
    // No recorder makes a chunk with more; 32 bits number them.
    let slots = &slots[..slots.len().min(u32::MAX as usize)];
    match header.closed.get() {
        0 => &slots[..used_slots(slots)],
        n => &slots[..(n - 1).min(slots.len() as u64) as usize],
    }
}

/// Number of used slots in an open chunk: those before the first free one.
fn used_slots(slots: &[Record]) -> usize {
    // Slots are used in order, so a binary search finds the first free one.
    slots.partition_point(|slot| !slot.is_free())
}

//! Rank files rewritten without loss, at a fraction of their size.
//!
//! [`Compaction`] makes the bytes of a compact file from those of a recorded one, and [`Expansion`]
//! the recorded ones from the compact ones. Both are exact, byte for byte, whatever state the
//! process left the file in. [`RankTrace::parse`](crate::RankTrace::parse) reads both forms.
//!
//! A compact file has one part for each chunk, so that damage affects only one chunk. Records are
//! packed in blocks, so that a reader needs memory for one block at a time. The layout is in
//! `FORMAT.md`.

mod block;
mod columns;
mod expand;
mod packed;
mod parts;
#[cfg(test)]
mod tests;

pub use expand::{Expansion, Mismatch, Piece, compared, expands_to};
pub(crate) use packed::PackedBytes;
pub use packed::{MAX_PACKED_BYTES, PackedRecords};
pub use parts::is_compact;
pub(crate) use parts::{Held, PackedChunk, PartContent, Parts};

use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use crate::file::ChunkKind;
use crate::read::{FormatError, FoundChunk, Step, Walk, parse_header, used_records};
use crate::record::Record;
use block::BLOCK_RECORDS;
use columns::deflated;
use packed::{BytesHead, RecordsHead};
use parts::{CompactHeader, PART_ALIGN, PartHeader, PartKind};

/// Why a rank file is not compacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCompactable {
    /// It is not a rank file that can be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// It is a compact file already.
    #[error("it is already compact")]
    IsCompact,
    /// Bytes that are not a chunk, where a chunk should begin.
    #[error(
        "offset {offset}: expected a chunk, found something else; a damaged file is left unchanged"
    )]
    NotAChunk {
        /// Where, in bytes.
        offset: u64,
    },
    /// A chunk that has, besides records, more than a reader would unpack.
    #[error("offset {offset}: {length} bytes besides records, expected at most {MAX_PACKED_BYTES}")]
    TooLong {
        /// Where, in bytes.
        offset: u64,
        /// Bytes in it.
        length: usize,
    },
}

/// The source of a part.
#[derive(Debug, Clone, Copy)]
enum Found<'a> {
    Chunk(FoundChunk<'a>),
    /// The place of a chunk in a ring that was about to be reused; see [`Step::Place`].
    Place {
        offset: u64,
        bytes: &'a [u8],
    },
}

/// The bytes of a compact file, piece by piece, in order: the packed bytes of a recorded one.
#[derive(Debug)]
pub struct Compaction<'a> {
    head: Option<Vec<u8>>,
    found: std::vec::IntoIter<Found<'a>>,
}

impl<'a> Compaction<'a> {
    /// Prepares to compact a recorded file: finished, left by a process that was killed, or cut;
    /// not one that is being written.
    ///
    /// # Errors
    /// [`NotCompactable`] if anything in the file cannot be read.
    pub fn of(bytes: &'a [u8]) -> Result<Self, NotCompactable> {
        if is_compact(bytes) {
            return Err(NotCompactable::IsCompact);
        }
        let (header, _) = parse_header(bytes)?;
        let begin = header.header_length.get().min(bytes.len() as u64);
        let mut found = Vec::new();
        let too_long = |offset, length| NotCompactable::TooLong { offset, length };
        for step in Walk::of(bytes, &header) {
            match step {
                Step::Place { offset, bytes } => {
                    if bytes.len() > MAX_PACKED_BYTES {
                        return Err(too_long(offset, bytes.len()));
                    }
                    found.push(Found::Place { offset, bytes });
                }
                Step::Chunk(chunk) => {
                    let content = content_of(&chunk);
                    let length = match chunk.kind() {
                        Some(ChunkKind::Records) => records_of(&chunk, content).1.len(),
                        _ => content.len(),
                    };
                    if length > MAX_PACKED_BYTES {
                        return Err(too_long(chunk.offset, length));
                    }
                    found.push(Found::Chunk(chunk));
                }
                Step::Skipped { skipped, .. } if skipped.iter().all(|&byte| byte == 0) => {}
                Step::Skipped { offset, .. } => return Err(NotCompactable::NotAChunk { offset }),
            }
        }
        // The casts are lossless: `begin` is at most a length in memory.
        if begin as usize > MAX_PACKED_BYTES {
            return Err(too_long(0, begin as usize));
        }
        let recorded_head = &bytes[..begin as usize];
        let mut head = CompactHeader::new(bytes.len() as u64, found.len() as u32)
            .as_bytes()
            .to_vec();
        head.extend(part(PartKind::Head, 0, &packed_bytes(recorded_head)));
        Ok(Self {
            head: Some(head),
            found: found.into_iter(),
        })
    }
}

impl Iterator for Compaction<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if let Some(head) = self.head.take() {
            return Some(head);
        }
        let chunk = match self.found.next()? {
            Found::Chunk(chunk) => chunk,
            Found::Place { offset, bytes } => {
                return Some(part(PartKind::Place, offset, &packed_bytes(bytes)));
            }
        };
        let content = content_of(&chunk);
        let mut bytes = chunk.bytes[..chunk.bytes.len() - content.len()].to_vec();
        // A file may be cut between the table and the content.
        bytes.resize(chunk.header.content_at.get() as usize, 0);
        match chunk.kind() {
            Some(ChunkKind::Records) => {
                let (records, trailing) = records_of(&chunk, content);
                bytes.extend(packed_records(records, trailing));
            }
            _ => bytes.extend(packed_bytes(content)),
        }
        Some(part(PartKind::Chunk, chunk.offset, &bytes))
    }
}

/// The bytes of a chunk after its header and table.
fn content_of<'a>(chunk: &FoundChunk<'a>) -> &'a [u8] {
    let content_at = chunk.header.content_at.get() as usize;
    chunk.bytes.get(content_at..).unwrap_or_default()
}

/// The records in the content of a chunk, and the bytes after them without the zeros at the end.
fn records_of<'a>(chunk: &FoundChunk<'a>, content: &'a [u8]) -> (&'a [Record], &'a [u8]) {
    let records = used_records(chunk.header, content);
    (records, trimmed(&content[size_of_val(records)..]))
}

/// The bytes without the zeros at their end.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0);
    &bytes[..end.map_or(0, |last| last + 1)]
}

fn part(kind: PartKind, offset: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = PartHeader::new(kind, offset, content).as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(PART_ALIGN), 0);
    bytes
}

/// The bytes, deflated without the zeros at their end.
fn packed_bytes(bytes: &[u8]) -> Vec<u8> {
    let trimmed = trimmed(bytes);
    let head = BytesHead {
        length: (bytes.len() as u32).into(),
        trimmed: (trimmed.len() as u32).into(),
    };
    let mut packed = head.as_bytes().to_vec();
    packed.extend(deflated(trimmed));
    packed
}

/// The records of a chunk in blocks, and the bytes after them, which are an unfinished slot.
fn packed_records(records: &[Record], trailing: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::new();
    let mut ends = Vec::new();
    for records in records.chunks(BLOCK_RECORDS) {
        blocks.extend(block::pack(records));
        ends.push(U32::new(blocks.len() as u32));
    }
    let head = RecordsHead {
        n_records: (records.len() as u32).into(),
        block_records: (BLOCK_RECORDS as u32).into(),
    };
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend_from_slice(ends.as_bytes());
    bytes.extend(blocks);
    if !trailing.is_empty() {
        bytes.extend(packed_bytes(trailing));
    }
    bytes
}

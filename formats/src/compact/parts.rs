//! The parts of a compact file, each with its own checksums.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::packed::{PackedBytes, PackedRecords};
use crate::file::{
    COMPACT_VERSION, ChunkHeader, ChunkKind, FILE_MAGIC, FileHeader, Identity, SequenceEntry,
};
use crate::read::{ChecksumBudget, Damage, FormatError, parse_chunk_header, parse_header};
use crate::record::Record;

const PART_MAGIC: [u8; 4] = *b"CBCP";
/// Parts begin at multiples of this many bytes.
pub(super) const PART_ALIGN: usize = 8;

/// Files are shorter than this, so that sums of offsets do not overflow.
const MAX_RECORDED_LENGTH: u64 = 1 << 62;

/// The first bytes of a compact file.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct CompactHeader {
    magic: [u8; 8],
    version: U16,
    reserved: U16,
    /// CRC-32 of this header, with this field as 0.
    crc32: U32,
    /// Length of the recorded file, in bytes.
    recorded_length: U64,
    /// Number of parts after the first one, each of one chunk.
    n_parts: U32,
    reserved_end: U32,
}

/// The header of a part.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct PartHeader {
    magic: [u8; 4],
    kind: U32,
    /// Length of the content after this header, in bytes.
    length: U64,
    /// Where the content was in the recorded file, in bytes.
    offset: U64,
    /// CRC-32 of the content and of the zeros after it, up to the next part.
    content_crc32: U32,
    /// CRC-32 of this header, with this field as 0.
    crc32: U32,
}

const _: () = assert!(size_of::<CompactHeader>() == 32 && size_of::<PartHeader>() == 32);

/// What a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum PartKind {
    /// File header and identity.
    Head = 1,
    /// A chunk.
    Chunk = 2,
    /// The place of a chunk in a ring, which was about to be reused.
    Place = 3,
}

impl CompactHeader {
    pub(super) fn new(recorded_length: u64, n_parts: u32) -> Self {
        let mut header = Self {
            magic: FILE_MAGIC,
            version: COMPACT_VERSION.into(),
            reserved: U16::ZERO,
            crc32: U32::ZERO,
            recorded_length: recorded_length.into(),
            n_parts: n_parts.into(),
            reserved_end: U32::ZERO,
        };
        header.crc32 = header.checksum().into();
        header
    }

    fn checksum(&self) -> u32 {
        let crc32 = U32::ZERO;
        crc32fast::hash(Self { crc32, ..*self }.as_bytes())
    }
}

impl PartHeader {
    pub(super) fn new(kind: PartKind, offset: u64, content: &[u8]) -> Self {
        let mut header = Self {
            magic: PART_MAGIC,
            kind: (kind as u32).into(),
            length: (content.len() as u64).into(),
            offset: offset.into(),
            content_crc32: content_checksum(content).into(),
            crc32: U32::ZERO,
        };
        header.crc32 = header.checksum().into();
        header
    }

    fn checksum(&self) -> u32 {
        let crc32 = U32::ZERO;
        crc32fast::hash(Self { crc32, ..*self }.as_bytes())
    }

    /// The header at the start of the bytes, if it is valid.
    fn at_start_of(bytes: &[u8]) -> Option<&Self> {
        let (header, _) = Self::ref_from_prefix(bytes).ok()?;
        let is_valid = header.magic == PART_MAGIC && header.crc32.get() == header.checksum();
        is_valid.then_some(header)
    }
}

/// Whether the bytes begin like a compact file.
#[must_use]
pub fn is_compact(bytes: &[u8]) -> bool {
    bytes.starts_with(&FILE_MAGIC) && bytes.get(8..10) == Some(&COMPACT_VERSION.to_le_bytes())
}

/// The checksum of content followed by zeros up to a multiple of [`PART_ALIGN`].
fn content_checksum(content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(content);
    let n_padding = content.len().next_multiple_of(PART_ALIGN) - content.len();
    hasher.update(&[0; PART_ALIGN][..n_padding]);
    hasher.finalize()
}

/// The content of the part with this header, at the start of the bytes, and the checksum of that
/// content; `None` if the bytes end before it does.
fn content_at_start<'a>(header: &PartHeader, bytes: &'a [u8]) -> Option<(&'a [u8], u32)> {
    let length = usize::try_from(header.length.get()).ok()?;
    let padded = bytes.get(..length.checked_next_multiple_of(PART_ALIGN)?)?;
    Some((&padded[..length], crc32fast::hash(padded)))
}

/// The parts of a compact file that hold chunks.
#[derive(Debug, Clone)]
pub(crate) struct Parts<'a> {
    header: &'a CompactHeader,
    bytes: &'a [u8],
    /// Where the next part begins.
    at: usize,
}

/// A part of a compact file that holds a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// Where its content began in the recorded file, in bytes.
    pub(crate) offset: u64,
    pub(crate) held: Held<'a>,
}

/// What a part holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Held<'a> {
    Chunk(PackedChunk<'a>),
    Place(PackedBytes<'a>),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedChunk<'a> {
    pub(crate) header: &'a ChunkHeader,
    pub(crate) sequences: &'a [SequenceEntry],
    /// Header and sequence table, as they were recorded, up to the content.
    pub(crate) opening: &'a [u8],
    pub(crate) content: PartContent<'a>,
}

/// What a chunk holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PartContent<'a> {
    /// Records, and the bytes after them.
    Records(PackedRecords<'a>, Option<PackedBytes<'a>>),
    /// Definitions, or content of a later version.
    Other(PackedBytes<'a>),
}

impl<'a> Parts<'a> {
    /// The parts of a file; `None` if it is not compact.
    ///
    /// # Errors
    /// [`FormatError`] if it is compact and its header or first part is damaged.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Option<Self>, FormatError> {
        if !is_compact(bytes) {
            return Ok(None);
        }
        let length = bytes.len() as u64;
        let cut = |expected: usize| FormatError::CutInHeader {
            length,
            expected: expected as u64,
        };
        let head_at = size_of::<CompactHeader>();
        let (header, _) = CompactHeader::ref_from_prefix(bytes).map_err(|_| cut(head_at))?;
        let (expected, found) = (header.checksum(), header.crc32.get());
        let damaged = |offset, what, expected, found| FormatError::DamagedHeader {
            offset,
            what,
            expected: u64::from(expected),
            found: u64::from(found),
        };
        if expected != found {
            return Err(damaged(12, "checksum", expected, found));
        }
        let recorded_length = header.recorded_length.get();
        if recorded_length > MAX_RECORDED_LENGTH {
            return Err(FormatError::DamagedHeader {
                offset: 16,
                what: "length of the recorded file, at most",
                expected: MAX_RECORDED_LENGTH,
                found: recorded_length,
            });
        }
        let head = &bytes[head_at..];
        let (part, content) = PartHeader::ref_from_prefix(head)
            .map_err(|_| cut(head_at + size_of::<PartHeader>()))?;
        let (expected, found) = (part.checksum(), part.crc32.get());
        if expected != found {
            return Err(damaged(60, "checksum of the first part", expected, found));
        }
        let content_at = head_at + size_of::<PartHeader>();
        let Some((content, found)) = content_at_start(part, content) else {
            let end = part.length.get().saturating_add(content_at as u64);
            return Err(FormatError::CutInHeader {
                length,
                expected: end,
            });
        };
        let expected = part.content_crc32.get();
        if expected != found {
            return Err(damaged(56, "checksum of the file header", expected, found));
        }
        let end = content_at + content.len();
        Ok(Some(Self {
            header,
            bytes,
            at: end.next_multiple_of(PART_ALIGN),
        }))
    }

    /// File header and identity, as they were recorded, up to the first chunk; `None` if they
    /// cannot be unpacked.
    pub(crate) fn recorded_head(&self) -> Option<Vec<u8>> {
        let head = &self.bytes[size_of::<CompactHeader>()..];
        let part = PartHeader::at_start_of(head)?;
        let content = &head[size_of::<PartHeader>()..][..part.length.get() as usize];
        PackedBytes::of(content)?.unpack()
    }

    /// File header and identity.
    ///
    /// # Errors
    /// [`FormatError`] if they are damaged.
    pub(crate) fn header(&self) -> Result<(FileHeader, Identity), FormatError> {
        parse_header(&self.recorded_head().unwrap_or_default())
    }

    /// Length of the recorded file, in bytes.
    pub(crate) fn recorded_length(&self) -> u64 {
        self.header.recorded_length.get()
    }

    /// The number of parts that the header states.
    pub(crate) fn n_stated(&self) -> u32 {
        self.header.n_parts.get()
    }

    /// Up to where the file was read, in bytes.
    pub(crate) fn read_to(&self) -> u64 {
        self.at as u64
    }

    fn part(&self, header: &PartHeader, at: usize, content: &'a [u8]) -> Option<Part<'a>> {
        let offset = header.offset.get();
        let length_from_here = self.recorded_length().checked_sub(offset)?;
        if header.kind.get() == PartKind::Place as u32 {
            let held = Held::Place(PackedBytes::of(content)?);
            return Some(Part { offset, held });
        }
        if header.kind.get() != PartKind::Chunk as u32 {
            return None;
        }
        let mut budget = ChecksumBudget(content.len() as u64);
        let (chunk, sequences) = parse_chunk_header(content, &mut budget)?;
        let (opening, packed) = content.split_at_checked(chunk.content_at.get() as usize)?;
        let held = Held::Chunk(PackedChunk {
            header: chunk,
            sequences,
            opening,
            content: match ChunkKind::from_code(chunk.kind.get()) {
                Some(ChunkKind::Records) => {
                    let at = (at + opening.len()) as u64;
                    let (records, trailing) = PackedRecords::of(packed, at, chunk)?;
                    let offset_of_end = opening.len() + records.len() * size_of::<Record>();
                    let is_within = offset_of_end as u64 <= length_from_here;
                    if !records.is_empty() && !is_within {
                        return None;
                    }
                    PartContent::Records(records, trailing)
                }
                _ => PartContent::Other(PackedBytes::of(packed)?),
            },
        });
        Some(Part { offset, held })
    }

    /// Where the next valid part after `at` begins, or the end of the file.
    fn next_part(&self, at: usize) -> usize {
        let starts = (at + PART_ALIGN..self.bytes.len()).step_by(PART_ALIGN);
        starts
            .into_iter()
            .find(|&start| PartHeader::at_start_of(&self.bytes[start..]).is_some())
            .unwrap_or(self.bytes.len())
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        let begin = self.at;
        let rest = self.bytes.get(begin..).filter(|rest| !rest.is_empty())?;
        let offset = begin as u64;
        let Some(header) = PartHeader::at_start_of(rest) else {
            self.at = self.next_part(begin);
            let skipped = (self.at - begin) as u64;
            return Some(Err(Damage::DamagedPart { offset, skipped }));
        };
        let content_at = begin + size_of::<PartHeader>();
        let Some((content, found)) = content_at_start(header, &self.bytes[content_at..]) else {
            self.at = self.bytes.len();
            return Some(Err(Damage::Cut {
                length: self.bytes.len() as u64,
                expected: header.length.get().saturating_add(content_at as u64),
            }));
        };
        self.at = content_at + content.len().next_multiple_of(PART_ALIGN);
        let skipped = (self.at - begin) as u64;
        let is_valid = found == header.content_crc32.get();
        let part = is_valid.then(|| self.part(header, content_at, content));
        Some(
            part.flatten()
                .ok_or(Damage::DamagedPart { offset, skipped }),
        )
    }
}

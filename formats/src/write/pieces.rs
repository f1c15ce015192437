//! Pieces of a rank file.
//!
//! A file is [`file_header`], followed by chunks ([`definitions_chunk`], [`records_chunk`]). The
//! recorder writes the same bytes in place.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes, Unaligned};

use crate::file::{
    Anchor, CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, Communicator, Definition, FileHeader,
    Identity, MetaError, SequenceEntry, encode_meta,
};
use crate::record::Record;

/// Length of the header of a definition's entry: length and CRC-32. The encoding and padding to 8
/// follow.
pub const DEFINITION_ENTRY_HEADER: usize = 8;

/// File header and identity, up to the first chunk. `end` is the anchor of an orderly end and the
/// number of records in all chunks, or `None` for a process that did not reach `MPI_Finalize`.
///
/// # Errors
/// [`MetaError::Codec`] if the identity takes more than [`MAX_META_BYTES`](crate::MAX_META_BYTES).
pub fn file_header(identity: &Identity, end: Option<(Anchor, u64)>) -> Result<Vec<u8>, MetaError> {
    file_header_with(identity, |header| {
        if let Some((anchor, n_records)) = end {
            header.finalize(anchor, n_records);
        }
    })
}

/// File header and identity, up to the first chunk; `fill` sets the fields about the end of
/// recording.
pub(super) fn file_header_with(
    identity: &Identity,
    fill: impl FnOnce(&mut FileHeader),
) -> Result<Vec<u8>, MetaError> {
    let (encoded, crc32) = encode_meta(identity)?;
    let length = (size_of::<FileHeader>() + encoded.len()).next_multiple_of(CHUNK_ALIGN as usize);
    let mut header = FileHeader::recording((&encoded, crc32), length as u64);
    fill(&mut header);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&encoded);
    bytes.resize(length, 0);
    Ok(bytes)
}

/// One entry of a definitions chunk.
///
/// # Errors
/// [`MetaError::Codec`] if it takes more than [`MAX_META_BYTES`](crate::MAX_META_BYTES).
pub fn definition_entry(definition: &Definition) -> Result<Vec<u8>, MetaError> {
    let (encoded, crc32) = encode_meta(definition)?;
    let mut entry =
        Vec::with_capacity((DEFINITION_ENTRY_HEADER + encoded.len()).next_multiple_of(8));
    entry.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
    entry.extend_from_slice(&crc32.to_le_bytes());
    entry.extend_from_slice(&encoded);
    entry.resize(entry.len().next_multiple_of(8), 0);
    Ok(entry)
}

/// Buffer for the entry of a communicator with a short name.
pub type EntryRoom = [u8; 128];

/// The [`definition_entry`] of a communicator, encoded without heap allocation; `None` if the entry
/// is longer than `room`.
#[must_use]
#[inline]
pub fn communicator_entry<'r>(
    communicator: &Communicator,
    room: &'r mut EntryRoom,
) -> Option<&'r [u8]> {
    let (header, body) = room.split_at_mut(DEFINITION_ENTRY_HEADER);
    let n = communicator_body(communicator, body)?;
    let crc32 = crc32fast::hash(body.get(..n)?);
    header[..4].copy_from_slice(&(n as u32).to_le_bytes());
    header[4..].copy_from_slice(&crc32.to_le_bytes());
    let length = (DEFINITION_ENTRY_HEADER + n).next_multiple_of(8);
    room.get_mut(DEFINITION_ENTRY_HEADER + n..length)?.fill(0);
    room.get(..length)
}

/// The definition of a communicator up to the name, encoded as the codec does it. Programs define
/// them by the thousand, and the codec takes several times as long.
#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct CommunicatorBody {
    variant: U32,
    index: U32,
    id: U64,
    parent: U32,
    constructor: U16,
    position: U64,
    kind: U32,
    size: U32,
    rank: U32,
    remote_size: U32,
    first_member: U32,
    remote_first_member: U32,
    name_length: U64,
}

/// Writes it to the begin of `room`; returns its length in bytes.
#[inline]
fn communicator_body(communicator: &Communicator, room: &mut [u8]) -> Option<usize> {
    let Communicator {
        index,
        id,
        parent,
        constructor,
        position,
        kind,
        size,
        rank,
        remote_size,
        first_member,
        remote_first_member,
        ref name,
    } = *communicator;
    let body = CommunicatorBody {
        variant: U32::ZERO,
        index: index.into(),
        id: id.into(),
        parent: parent.into(),
        constructor: constructor.into(),
        position: position.into(),
        kind: (kind as u32).into(),
        size: size.into(),
        rank: rank.into(),
        remote_size: remote_size.into(),
        first_member: first_member.into(),
        remote_first_member: remote_first_member.into(),
        name_length: (name.len() as u64).into(),
    };
    let length = size_of::<CommunicatorBody>();
    room.get_mut(..length)?.copy_from_slice(body.as_bytes());
    room.get_mut(length..length + name.len())?
        .copy_from_slice(name.as_bytes());
    Some(length + name.len())
}

/// Position of a chunk in its thread and in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPosition {
    /// Number of the thread within the process; 0 for definitions.
    pub thread: u32,
    /// Number of the chunk among the chunks of its thread, from 0.
    pub ordinal: u32,
    /// Records of the thread in earlier chunks.
    pub first_record: u64,
    /// Calls of the application among those; only counted in rings, otherwise 0.
    pub first_call: u64,
    /// Clocks when it was opened.
    pub anchor: Anchor,
    /// Begin and end of making its pages ready, ticks; zeros if they were not made ready.
    pub prepare: (u64, u64),
}

/// The beginning of a chunk, for the recorder and for the functions below: header and sequence
/// table up to the content, with the magic, and open.
#[must_use]
pub fn chunk_opening(
    kind: ChunkKind,
    length: u64,
    place: &ChunkPosition,
    sequences: &[SequenceEntry],
) -> Vec<u8> {
    let content_at = ChunkHeader::content_offset(sequences.len());
    let mut header = ChunkHeader {
        magic: CHUNK_MAGIC,
        kind: (kind as u32).into(),
        length: length.into(),
        thread: place.thread.into(),
        ordinal: place.ordinal.into(),
        n_sequences: (sequences.len() as u32).into(),
        content_at: (content_at as u32).into(),
        crc32: U32::ZERO,
        reserved: U32::ZERO,
        anchor: place.anchor,
        prepare_begin: place.prepare.0.into(),
        prepare_end: place.prepare.1.into(),
        first_record: place.first_record.into(),
        last_leave: U64::ZERO,
        closed: U64::ZERO,
        first_call: place.first_call.into(),
    };
    header.crc32 = header.checksum(sequences).into();
    let mut bytes = Vec::with_capacity(content_at);
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(sequences.as_bytes());
    bytes.resize(content_at, 0);
    bytes
}

/// A chunk of records, closed if `closed`. `records` are in the order in which their calls were
/// entered.
#[must_use]
pub fn records_chunk(
    place: &ChunkPosition,
    sequences: &[SequenceEntry],
    records: &[Record],
    closed: bool,
) -> Vec<u8> {
    let length = (ChunkHeader::content_offset(sequences.len()) + size_of_val(records))
        .next_multiple_of(CHUNK_ALIGN as usize);
    let mut bytes = chunk_opening(ChunkKind::Records, length as u64, place, sequences);
    bytes.extend_from_slice(records.as_bytes());
    bytes.resize(length, 0);
    if closed {
        let last_leave = records
            .iter()
            .map(|record| record.leave.get())
            .max()
            .unwrap_or(0);
        close(&mut bytes, last_leave, records.len() as u64);
    }
    bytes
}

/// A closed chunk of definitions.
///
/// # Errors
/// [`MetaError::Codec`] if one takes more than [`MAX_META_BYTES`](crate::MAX_META_BYTES).
pub fn definitions_chunk(
    ordinal: u32,
    anchor: Anchor,
    definitions: &[Definition],
) -> Result<Vec<u8>, MetaError> {
    let mut content = Vec::new();
    for definition in definitions {
        content.extend_from_slice(&definition_entry(definition)?);
    }
    let length =
        (ChunkHeader::content_offset(0) + content.len()).next_multiple_of(CHUNK_ALIGN as usize);
    let place = ChunkPosition {
        thread: 0,
        ordinal,
        first_record: 0,
        first_call: 0,
        anchor,
        prepare: (0, 0),
    };
    let mut bytes = chunk_opening(ChunkKind::Definitions, length as u64, &place, &[]);
    bytes.extend_from_slice(&content);
    bytes.resize(length, 0);
    close(&mut bytes, 0, content.len() as u64);
    Ok(bytes)
}

fn close(chunk: &mut [u8], last_leave: u64, n: u64) {
    let at = std::mem::offset_of!(ChunkHeader, last_leave);
    chunk[at..at + 8].copy_from_slice(&last_leave.to_le_bytes());
    let at = std::mem::offset_of!(ChunkHeader, closed);
    chunk[at..at + 8].copy_from_slice(&(n + 1).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommunicatorKind, NO_RANK};

    #[test]
    fn the_entry_of_a_communicator_is_that_of_the_codec_and_a_long_one_is_none() {
        for length in 0..300 {
            let name = "x".repeat(length);
            for (n, kind) in [(0, CommunicatorKind::Intra), (1, CommunicatorKind::Inter)] {
                let communicator = Communicator {
                    index: 7 + n,
                    id: 0x0102_0304_0506_0708,
                    parent: 3 << n,
                    constructor: 128 + 256,
                    position: 99 << 40,
                    kind,
                    size: 0x0a0b_0c0d,
                    rank: 2,
                    remote_size: 5,
                    first_member: 1,
                    remote_first_member: NO_RANK,
                    name: name.clone(),
                };
                let definition = Definition::Communicator(communicator.clone());
                let entry = definition_entry(&definition).unwrap();
                let mut room = [0xff; _];
                let short = communicator_entry(&communicator, &mut room);
                if entry.len() <= size_of::<EntryRoom>() {
                    assert_eq!(short, Some(&entry[..]))
                } else {
                    assert_eq!(short, None)
                }
            }
        }
    }
}

//! Where the pieces of a rank file stand, and their checksums made right again.
//!
//! A mutation behind a checksum would otherwise only ever test the checksum.

use std::mem::offset_of;

use collbench_formats::compact::is_compact;
use collbench_formats::{
    CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, SequenceEntry,
};
use zerocopy::FromBytes;

/// Offsets of all that begins as a chunk does.
pub(crate) fn chunks(bytes: &[u8]) -> Vec<usize> {
    let begins = (0..bytes.len()).step_by(CHUNK_ALIGN as usize);
    begins
        .filter(|&at| bytes[at..].starts_with(&CHUNK_MAGIC))
        .collect()
}

/// Offsets and lengths of the encoded definitions in the definitions chunk at `chunk`; the
/// entry's length and checksum are the 8 bytes before each.
pub(crate) fn definitions(bytes: &[u8], chunk: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let Ok((header, _)) = ChunkHeader::ref_from_prefix(&bytes[chunk..]) else {
        return found;
    };
    if ChunkKind::from_code(header.kind.get()) != Some(ChunkKind::Definitions) {
        return found;
    }
    let mut at = chunk.saturating_add(header.content_at.get() as usize);
    while let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let length = u32::from_le_bytes(*length) as usize;
        let begin = at + 8;
        if length == 0 || length > bytes.len().saturating_sub(begin) {
            break;
        }
        found.push((begin, length));
        at = (begin + length).next_multiple_of(8);
    }
    found
}

/// Makes the checksums of a compact file right: of its header and its parts.
fn make_parts_right(bytes: &mut [u8]) {
    const HEADER: usize = 32;
    let mut at = HEADER;
    while let Some(header) = bytes.get(at..at + HEADER) {
        let length = u64::from_le_bytes(header[8..16].try_into().expect("8 bytes"));
        let Some(end) = usize::try_from(length)
            .ok()
            .and_then(|length| {
                (at + HEADER)
                    .checked_add(length)?
                    .checked_next_multiple_of(8)
            })
            .filter(|&end| end <= bytes.len())
        else {
            break;
        };
        let content = crc32_of(&bytes[at + HEADER..end]);
        put(bytes, at + 24, &content.to_le_bytes());
        put(bytes, at + 28, &[0; 4]);
        let header = crc32_of(&bytes[at..at + HEADER]);
        put(bytes, at + 28, &header.to_le_bytes());
        at = end;
    }
    put(bytes, 12, &[0; 4]);
    let header = crc32_of(&bytes[..HEADER.min(bytes.len())]);
    put(bytes, 12, &header.to_le_bytes());
}

/// Makes all checksums of a rank file those of what stands there now: of header, identity,
/// chunks and definitions; of a compact one those of its parts.
pub(crate) fn make_right(bytes: &mut [u8]) {
    if is_compact(bytes) {
        make_parts_right(bytes);
        return;
    }
    for chunk in chunks(bytes) {
        for (at, length) in definitions(bytes, chunk) {
            let crc32 = crc32_of(&bytes[at..at + length]);
            put(bytes, at - 4, &crc32.to_le_bytes());
        }
        if let Some(crc32) = chunk_checksum(&bytes[chunk..]) {
            let at = chunk + offset_of!(ChunkHeader, crc32);
            put(bytes, at, &crc32.to_le_bytes());
        }
    }
    let Ok((header, rest)) = FileHeader::ref_from_prefix(bytes) else {
        return;
    };
    let length = header.identity_length.get() as usize;
    if let Some(identity) = rest.get(..length) {
        let crc32 = crc32_of(identity);
        put(
            bytes,
            offset_of!(FileHeader, identity_crc32),
            &crc32.to_le_bytes(),
        );
    }
    if let Ok((header, _)) = FileHeader::ref_from_prefix(bytes) {
        let crc32 = header.checksum();
        put(
            bytes,
            offset_of!(FileHeader, header_crc32),
            &crc32.to_le_bytes(),
        );
    }
}

fn chunk_checksum(bytes: &[u8]) -> Option<u32> {
    let (header, rest) = ChunkHeader::ref_from_prefix(bytes).ok()?;
    let n = header.n_sequences.get() as usize;
    let (sequences, _) = <[SequenceEntry]>::ref_from_prefix_with_elems(rest, n).ok()?;
    Some(header.checksum(sequences))
}

fn crc32_of(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Puts `value` at `at`, as far as there are bytes.
pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (byte, &new) in bytes.iter_mut().skip(at).zip(value) {
        *byte = new;
    }
}

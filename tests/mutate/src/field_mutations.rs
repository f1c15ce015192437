//! Mutations of single fields of headers, sequence tables and records, with all checksums made
//! right again.
#![allow(clippy::ptr_arg, reason = "all mutations have one form")]

use std::mem::offset_of;

use collbench_formats::{Anchor, ChunkHeader, FileHeader, Record, SequenceEntry};
use zerocopy::FromBytes;

use crate::checksums::{self, chunks, put};
use crate::random::Random;

/// Offset and bytes of a field in its struct.
type Field = (usize, usize);

/// The fields of an [`Anchor`] that stands at an offset.
const fn anchor(at: usize) -> [Field; 5] {
    [
        (at + offset_of!(Anchor, ticks), 8),
        (at + offset_of!(Anchor, raw_ns), 8),
        (at + offset_of!(Anchor, monotonic_ns), 8),
        (at + offset_of!(Anchor, realtime_ns), 8),
        (at + offset_of!(Anchor, width_ticks), 8),
    ]
}

const FILE_HEADER: [Field; 14] = [
    (offset_of!(FileHeader, version), 2),
    (offset_of!(FileHeader, meta_codec), 2),
    (offset_of!(FileHeader, record_bytes), 2),
    (offset_of!(FileHeader, chunk_header_bytes), 2),
    (offset_of!(FileHeader, header_length), 8),
    (offset_of!(FileHeader, identity_length), 4),
    (offset_of!(FileHeader, reserved), 4),
    (offset_of!(FileHeader, finalized), 4),
    (offset_of!(FileHeader, stop_reason), 4),
    (offset_of!(FileHeader, stop_ticks), 8),
    (offset_of!(FileHeader, calls_after_stop), 8),
    (offset_of!(FileHeader, stop_text), 8),
    (offset_of!(FileHeader, n_records), 8),
    (offset_of!(FileHeader, keep_bytes), 8),
];
const END_ANCHOR: [Field; 5] = anchor(offset_of!(FileHeader, end_anchor));

const CHUNK_HEADER: [Field; 13] = [
    (offset_of!(ChunkHeader, kind), 4),
    (offset_of!(ChunkHeader, length), 8),
    (offset_of!(ChunkHeader, thread), 4),
    (offset_of!(ChunkHeader, ordinal), 4),
    (offset_of!(ChunkHeader, n_sequences), 4),
    (offset_of!(ChunkHeader, content_at), 4),
    (offset_of!(ChunkHeader, reserved), 4),
    (offset_of!(ChunkHeader, prepare_begin), 8),
    (offset_of!(ChunkHeader, prepare_end), 8),
    (offset_of!(ChunkHeader, first_record), 8),
    (offset_of!(ChunkHeader, last_leave), 8),
    (offset_of!(ChunkHeader, closed), 8),
    (offset_of!(ChunkHeader, first_call), 8),
];
const CHUNK_ANCHOR: [Field; 5] = anchor(offset_of!(ChunkHeader, anchor));

const SEQUENCE_ENTRY: [Field; 3] = [
    (offset_of!(SequenceEntry, communicator), 4),
    (offset_of!(SequenceEntry, internal_calls), 4),
    (offset_of!(SequenceEntry, calls), 8),
];

const RECORD: [Field; 6] = [
    (offset_of!(Record, enter), 8),
    (offset_of!(Record, payload), 6),
    (offset_of!(Record, code), 2),
    (offset_of!(Record, communicator), 4),
    (offset_of!(Record, root), 4),
    (offset_of!(Record, leave), 8),
];

/// Sets a field of the file header.
pub(crate) fn set_in_file_header(bytes: &mut Vec<u8>, random: &mut Random) {
    let field = *random.pick(&[&FILE_HEADER[..], &END_ANCHOR[..]].concat());
    set(bytes, 0, field, random);
}

/// Sets a field of the header of some chunk.
pub(crate) fn set_in_chunk_header(bytes: &mut Vec<u8>, random: &mut Random) {
    let found = chunks(bytes);
    if found.is_empty() {
        return;
    }
    let at = *random.pick(&found);
    let field = *random.pick(&[&CHUNK_HEADER[..], &CHUNK_ANCHOR[..]].concat());
    set(bytes, at, field, random);
}

/// Sets a field of an entry of some chunk's sequence table.
pub(crate) fn set_in_sequence_table(bytes: &mut Vec<u8>, random: &mut Random) {
    let tables: Vec<(usize, usize)> = chunks(bytes)
        .into_iter()
        .filter_map(|at| Some((at, header(bytes, at)?.n_sequences.get() as usize)))
        .filter(|&(_, n)| n > 0)
        .collect();
    if tables.is_empty() {
        return;
    }
    let &(chunk, n) = random.pick(&tables);
    let entry = chunk + size_of::<ChunkHeader>() + random.below(n) * size_of::<SequenceEntry>();
    let field = *random.pick(&SEQUENCE_ENTRY);
    set(bytes, entry, field, random);
}

/// Sets a field of a few records of some chunk.
pub(crate) fn set_in_records(bytes: &mut Vec<u8>, random: &mut Random) {
    let found = chunks(bytes);
    if found.is_empty() {
        return;
    }
    let chunk = *random.pick(&found);
    let Some(header) = header(bytes, chunk) else {
        return;
    };
    let content = chunk.saturating_add(header.content_at.get() as usize);
    let n = (header.closed.get() as usize).clamp(1, 64);
    for _ in 0..random.length(8) {
        let record = content.saturating_add(random.below(n) * size_of::<Record>());
        let field = *random.pick(&RECORD);
        set(bytes, record, field, random);
    }
}

fn header(bytes: &[u8], at: usize) -> Option<ChunkHeader> {
    let (header, _) = ChunkHeader::read_from_prefix(bytes.get(at..)?).ok()?;
    Some(header)
}

/// Sets a field to a hostile value, or to one near that which it has.
fn set(bytes: &mut [u8], at: usize, (offset, width): Field, random: &mut Random) {
    let at = at.saturating_add(offset);
    let Some(old) = bytes.get(at..at.saturating_add(width)) else {
        return;
    };
    let mut value = [0; 8];
    value[..width].copy_from_slice(old);
    let value = match random.below(4) {
        0 => u64::from_le_bytes(value)
            .wrapping_add(random.below(5) as u64)
            .wrapping_sub(2),
        1 => u64::from_le_bytes(value) ^ (1 << random.below(8 * width)),
        _ => random.hostile(),
    };
    put(bytes, at, &value.to_le_bytes()[..width]);
    checksums::make_right(bytes);
}

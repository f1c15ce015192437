//! The records of a rank file, taken out, changed and put back; what counts them is made right.
//!
//! Single fields can be set in place; records that are taken out, or added, need the chunk to be
//! made anew, and all that comes behind it in its thread to begin later.

use std::mem::offset_of;

use collbench_formats::{
    CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, FileHeader, Record, RecordKind,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::checksums::{self, chunks, put};

/// Changes a list of records: those of one chunk.
pub(crate) type ChangeRecords<'c> = &'c mut dyn FnMut(&mut Vec<Record>);

/// A chunk whose records are others now.
struct Changed {
    thread: u32,
    ordinal: u32,
    /// By how many they are more.
    more: i64,
}

/// Changes the records of each chunk, in the order of the file.
pub(crate) fn rewrite(bytes: &mut Vec<u8>, change: ChangeRecords<'_>) {
    let mut changed = Vec::new();
    // Where a chunk grows, what is behind it moves.
    let places = (0..).step_by(CHUNK_ALIGN as usize);
    for chunk in places {
        let Some(rest) = bytes.get(chunk..) else {
            break;
        };
        if !rest.starts_with(&CHUNK_MAGIC) {
            continue;
        }
        let Some((header, mut records)) = records_at(bytes, chunk) else {
            continue;
        };
        let before = records.len();
        change(&mut records);
        let more = records.len() as i64 - before as i64;
        put_back(bytes, chunk, &header, &records);
        changed.push(Changed {
            thread: header.thread.get(),
            ordinal: header.ordinal.get(),
            more,
        });
    }
    begin_later(bytes, &changed);
    count_all(bytes, changed.iter().map(|chunk| chunk.more).sum());
    checksums::make_right(bytes);
}

/// Whether any end of a message is in the file.
pub(crate) fn has_messages(bytes: &[u8]) -> bool {
    let is_message = |record: &Record| record.kind() == Some(RecordKind::Message);
    let of_chunks = chunks(bytes).into_iter();
    of_chunks
        .filter_map(|chunk| records_at(bytes, chunk))
        .any(|(_, records)| records.iter().any(is_message))
}

/// Header and records of a chunk of records; those of an open one up to the first free slot.
fn records_at(bytes: &[u8], chunk: usize) -> Option<(ChunkHeader, Vec<Record>)> {
    let (header, _) = ChunkHeader::read_from_prefix(bytes.get(chunk..)?).ok()?;
    if ChunkKind::from_code(header.kind.get()) != Some(ChunkKind::Records) {
        return None;
    }
    let of_chunk = bytes.get(chunk..end_of(bytes, chunk, &header))?;
    let content = of_chunk.get(header.content_at.get() as usize..)?;
    let n = content.len() / size_of::<Record>();
    let (slots, _) = <[Record]>::ref_from_prefix_with_elems(content, n).ok()?;
    let n = match header.closed.get().checked_sub(1) {
        Some(n) => usize::try_from(n).ok()?,
        None => slots.iter().take_while(|slot| !slot.is_free()).count(),
    };
    Some((header, slots.get(..n)?.to_vec()))
}

/// Where a chunk ends: the last one of a file that ended in order where its records do.
fn end_of(bytes: &[u8], chunk: usize, header: &ChunkHeader) -> usize {
    let length = usize::try_from(header.length.get()).unwrap_or(usize::MAX);
    chunk.saturating_add(length).min(bytes.len())
}

fn put_back(bytes: &mut Vec<u8>, chunk: usize, header: &ChunkHeader, records: &[Record]) {
    let content = header.content_at.get() as usize;
    let needed = content + size_of_val(records);
    let length = (needed.next_multiple_of(CHUNK_ALIGN as usize) as u64).max(header.length.get());
    let end = end_of(bytes, chunk, header);
    let mut slots = records.as_bytes().to_vec();
    // The last chunk of a file that ended in order is cut behind its records.
    let is_whole = (end - chunk) as u64 == header.length.get();
    if is_whole {
        slots.resize(length as usize - content, 0);
    }
    bytes.splice(chunk + content..end, slots);
    let mut set = |field: usize, value: u64| put(bytes, chunk + field, &value.to_le_bytes());
    set(offset_of!(ChunkHeader, length), length);
    if header.closed.get() > 0 {
        let leaves = records.iter().map(|record| record.leave.get());
        let last_leave = leaves.max().unwrap_or(0);
        set(offset_of!(ChunkHeader, last_leave), last_leave);
        set(offset_of!(ChunkHeader, closed), 1 + records.len() as u64);
    }
}

/// Lets each chunk begin behind the records that come before it in its thread now.
fn begin_later(bytes: &mut [u8], changed: &[Changed]) {
    for chunk in chunks(bytes) {
        let Ok((header, _)) = ChunkHeader::read_from_prefix(&bytes[chunk..]) else {
            continue;
        };
        if ChunkKind::from_code(header.kind.get()) != Some(ChunkKind::Records) {
            continue;
        }
        let is_before = |other: &&Changed| {
            other.thread == header.thread.get() && other.ordinal < header.ordinal.get()
        };
        let more: i64 = changed.iter().filter(is_before).map(|it| it.more).sum();
        let first = header.first_record.get().wrapping_add_signed(more);
        let field = chunk + offset_of!(ChunkHeader, first_record);
        put(bytes, field, &first.to_le_bytes());
    }
}

/// Makes the number of all records in the file header right, where it has one.
fn count_all(bytes: &mut [u8], more: i64) {
    let Ok((header, _)) = FileHeader::read_from_prefix(bytes) else {
        return;
    };
    if header.end_crc32.get() == 0 {
        return;
    }
    let n = header.n_records.get().wrapping_add_signed(more);
    let crc32 = FileHeader::end_checksum(&header.end_anchor, n);
    put(bytes, offset_of!(FileHeader, n_records), &n.to_le_bytes());
    put(
        bytes,
        offset_of!(FileHeader, end_crc32),
        &crc32.to_le_bytes(),
    );
}

#[cfg(test)]
mod tests {
    use collbench_formats::compact::is_compact;
    use collbench_formats::{Damage, RankTrace};

    use super::*;
    use crate::base::Bases;

    fn parsed(bytes: &[u8]) -> (Vec<Record>, Vec<Damage>) {
        let trace = RankTrace::parse(bytes).unwrap();
        let chunks = trace.chunks.iter();
        let records = chunks.flat_map(|chunk| chunk.records.iter()).collect();
        (records, trace.damage)
    }

    #[test]
    fn a_file_with_each_record_twice_or_without_every_third_has_no_more_damage_than_before() {
        let scratch = tempfile::tempdir().unwrap();
        let bases = Bases::generate(scratch.path()).unwrap();
        let mut n_files = 0;
        for (name, trace) in bases.all() {
            for file in trace.rank_files() {
                let bytes = trace.bytes(&file).to_vec();
                // Of a damaged chunk it is not known what was in it; rings count calls, too.
                if is_compact(&bytes) || name.contains("faults") || name.contains("ring") {
                    continue;
                }
                let (records, damage) = parsed(&bytes);
                let twice = |list: &mut Vec<Record>| {
                    *list = list.iter().flat_map(|&record| [record, record]).collect();
                };
                let mut n = 0;
                let without = |list: &mut Vec<Record>| {
                    list.retain(|_| {
                        n += 1;
                        n % 3 != 0
                    });
                };
                let mut doubled = bytes.clone();
                rewrite(&mut doubled, &mut { twice });
                let expected = records.iter().flat_map(|&record| [record, record]);
                let (found, damage_of_doubled) = parsed(&doubled);
                assert_eq!(damage_of_doubled, damage, "{name}");
                let expected: Vec<Record> = expected.collect();
                assert!(found == expected, "{name}");
                let mut thinned = bytes.clone();
                rewrite(&mut thinned, &mut { without });
                let (left, damage_of_left) = parsed(&thinned);
                assert_eq!(
                    (left.len(), damage_of_left),
                    (records.len() - records.len() / 3, damage)
                );
                let mut same = bytes.clone();
                rewrite(&mut same, &mut |_| {});
                assert_eq!(same, bytes, "{name}");
                n_files += 1;
            }
        }
        assert!(n_files > 10);
    }
}

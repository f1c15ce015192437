//! The newest records of a rank file that is being written, as a small rank file of their own.
//!
//! Only new parts of the file are read: headers of new chunks, definitions, and the last records.
//! They are copied into an image of a ring that has retained just these, so that it is read as any
//! other file. A chunk of a ring that is overwritten while it is read has another header
//! afterwards, and is left out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use collbench_formats::write::{ChunkPosition, Sequences, records_chunk};
use collbench_formats::{
    CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, FILE_MAGIC, FileHeader, PLACE_MAGIC, Record,
    SequenceEntry,
};
use zerocopy::FromBytes;

const RECORD_BYTES: u64 = size_of::<Record>() as u64;

/// Most bytes of a table or of definitions that are accepted: a damaged length must not cost
/// memory.
const MAX_BYTES: u64 = 64 << 20;

/// A rank file that is followed.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    /// File header and identity.
    head: Vec<u8>,
    is_ring: bool,
    /// Up to where chunks are known; of a ring nothing is.
    known_to: u64,
    /// The chunks of records that are known, but for old ones, in the order of the file.
    chunks: Vec<KnownChunk>,
    /// Offsets of the definitions, and what those that are closed hold.
    definitions: BTreeMap<u64, Option<Vec<u8>>>,
}

#[derive(Debug, Clone, Copy)]
struct KnownChunk {
    offset: u64,
    header: ChunkHeader,
}

/// A chunk, read.
struct ReadChunk {
    header: ChunkHeader,
    table: Vec<SequenceEntry>,
    records: Vec<Record>,
}

impl Tail {
    /// Follows a file that is open; `None` while its header is not there.
    pub(super) fn open(file: File) -> io::Result<Option<Self>> {
        let mut head = vec![0; size_of::<FileHeader>()];
        if file.metadata()?.len() < head.len() as u64 {
            return Ok(None);
        }
        file.read_exact_at(&mut head, 0)?;
        let Ok(header) = FileHeader::read_from_bytes(&head) else {
            return Ok(None);
        };
        let length = header.header_length.get();
        let possible = head.len() as u64..=file.metadata()?.len().min(MAX_BYTES);
        if header.magic != FILE_MAGIC || !possible.contains(&length) {
            return Ok(None);
        }
        head.resize(length as usize, 0);
        file.read_exact_at(&mut head, 0)?;
        Ok(Some(Self {
            file,
            is_ring: header.keep_bytes.get() > 0,
            head,
            known_to: length,
            chunks: Vec::new(),
            definitions: BTreeMap::new(),
        }))
    }

    /// A rank file with the newest `n` records, or a little more.
    pub(super) fn newest(&mut self, n: usize) -> io::Result<Vec<u8>> {
        self.read_image(n).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("became shorter while it was read"),
            _ => error,
        })
    }

    fn read_image(&mut self, n: usize) -> io::Result<Vec<u8>> {
        let fixed = size_of::<FileHeader>();
        self.file.read_exact_at(&mut self.head[..fixed], 0)?;
        self.find_chunks()?;
        let definitions = self.read_definitions()?;
        let chunks = self.read_newest(n)?;
        let image = Image::of(chunks, n);
        let mut bytes = self.head.clone();
        image.put_header(&mut bytes);
        bytes.extend(definitions);
        image.put_chunks(&mut bytes);
        Ok(bytes)
    }

    /// Looks for chunks behind those that are known.
    fn find_chunks(&mut self) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        let mut at = self.known_to;
        if self.is_ring {
            at = self.head.len() as u64;
            self.chunks.clear();
        }
        while at.saturating_add(size_of::<ChunkHeader>() as u64) <= end {
            let Some(header) = self.header_at(at)? else {
                // Room that was reserved, and is not used yet; or, rarely, never will be.
                at += CHUNK_ALIGN;
                continue;
            };
            let is_chunk = header.magic == CHUNK_MAGIC;
            match ChunkKind::from_code(header.kind.get()).filter(|_| is_chunk) {
                Some(ChunkKind::Records) => self.chunks.push(KnownChunk { offset: at, header }),
                Some(ChunkKind::Definitions) => drop(self.definitions.entry(at).or_default()),
                None => {}
            }
            at = at.saturating_add(header.length.get());
            self.known_to = at;
        }
        Ok(())
    }

    /// The header of the chunk (or place of a ring) at an offset, if there is one.
    fn header_at(&self, at: u64) -> io::Result<Option<ChunkHeader>> {
        let mut bytes = [0; size_of::<ChunkHeader>()];
        self.file.read_exact_at(&mut bytes, at)?;
        let header: ChunkHeader = zerocopy::transmute!(bytes);
        let is_known = header.magic == CHUNK_MAGIC || header.magic == PLACE_MAGIC;
        let length = header.length.get();
        let is_plausible = length >= CHUNK_ALIGN && length.is_multiple_of(CHUNK_ALIGN);
        Ok((is_known && is_plausible).then_some(header))
    }

    /// The chunks of definitions; those that are closed were read once.
    fn read_definitions(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        let offsets: Vec<u64> = self.definitions.keys().copied().collect();
        for at in offsets {
            if let Some(Some(bytes)) = self.definitions.get(&at) {
                all.extend_from_slice(bytes);
                continue;
            }
            let Some(header) = self.header_at(at)? else {
                continue;
            };
            let length = header.length.get().min(self.there_from(at)?);
            let mut bytes = vec![0; length as usize];
            self.read_as_far(&mut bytes, at)?;
            all.extend_from_slice(&bytes);
            if header.closed.get() > 0 {
                self.definitions.insert(at, Some(bytes));
            }
        }
        Ok(all)
    }

    /// Bytes that the file has from an offset on, as many as are believed: lengths that it states
    /// are no longer.
    fn there_from(&self, at: u64) -> io::Result<u64> {
        let length = self.file.metadata()?.len();
        Ok(length.saturating_sub(at).min(MAX_BYTES))
    }

    /// Reads what there is; the rest stays zero.
    fn read_as_far(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read_at(&mut bytes[done..], at + done as u64)? {
                0 => break,
                n => done += n,
            }
        }
        Ok(())
    }

    /// For each thread the chunks with its newest `n` records; older ones are forgotten.
    fn read_newest(&mut self, n: usize) -> io::Result<Vec<ReadChunk>> {
        let mut by_thread: BTreeMap<u32, Vec<KnownChunk>> = BTreeMap::new();
        for known in &self.chunks {
            let thread = by_thread.entry(known.header.thread.get()).or_default();
            thread.push(*known);
        }
        let mut chunks = Vec::new();
        let mut needed = Vec::new();
        for mut of_thread in by_thread.into_values() {
            of_thread.sort_by_key(|known| known.header.ordinal.get());
            let mut n_found = 0;
            let mut newest = Vec::new();
            for known in of_thread.iter().rev() {
                let Some(read) = self.read_chunk(known)? else {
                    break;
                };
                needed.push(known.offset);
                n_found += read.records.len();
                newest.push(read);
                if n_found >= n {
                    break;
                }
            }
            chunks.extend(newest.into_iter().rev());
        }
        self.chunks.retain(|known| needed.contains(&known.offset));
        Ok(chunks)
    }

    /// A chunk as far as it is written; `None` if another one is there now.
    fn read_chunk(&self, known: &KnownChunk) -> io::Result<Option<ReadChunk>> {
        let KnownChunk { offset, .. } = *known;
        let same = |found: &ChunkHeader| found.crc32 == known.header.crc32;
        let Some(header) = self.header_at(offset)?.filter(same) else {
            return Ok(None);
        };
        let content_at = u64::from(header.content_at.get());
        let room = header.length.get().saturating_sub(content_at);
        if header.length.get() > MAX_BYTES || room == 0 {
            return Ok(None);
        }
        let n_table = header.n_sequences.get() as usize * size_of::<SequenceEntry>();
        let at = size_of::<ChunkHeader>() as u64;
        let there = self.there_from(offset)?;
        let mut table = vec![0; n_table.min(content_at.min(there) as usize)];
        self.read_as_far(&mut table, offset + at)?;
        let length = match header.closed.get() {
            0 => room,
            n => room.min((n - 1).saturating_mul(RECORD_BYTES)),
        };
        let length = length.min(there.saturating_sub(content_at));
        let mut content = vec![0; (length / RECORD_BYTES * RECORD_BYTES) as usize];
        self.read_as_far(&mut content, offset + content_at)?;
        if !self.header_at(offset)?.is_some_and(|found| same(&found)) {
            return Ok(None);
        }
        let (Ok(table), Ok(slots)) = (
            <[SequenceEntry]>::ref_from_bytes(&table),
            <[Record]>::ref_from_bytes(&content),
        ) else {
            return Ok(None);
        };
        let n_used = slots.iter().take_while(|slot| !slot.is_free()).count();
        Ok(Some(ReadChunk {
            header,
            table: table.to_vec(),
            records: slots[..n_used].to_vec(),
        }))
    }
}

/// A small rank file with the newest records.
struct Image {
    /// By thread and number.
    chunks: Vec<ReadChunk>,
    /// What was left out before, if anything was: from when on all is there, and what had begun
    /// until then.
    begin: Option<(u64, Vec<SequenceEntry>)>,
}

impl Image {
    /// Of the chunks of a process, by thread and number, the newest `n` records of each thread.
    fn of(mut chunks: Vec<ReadChunk>, n: usize) -> Self {
        let of_threads = chunks.chunk_by(|a, b| a.header.thread == b.header.thread);
        let begins = of_threads.filter_map(|thread| {
            let n_there: usize = thread.iter().map(|chunk| chunk.records.len()).sum();
            let n_before = n_there.saturating_sub(n);
            let mut records = thread.iter().flat_map(|chunk| &chunk.records);
            let is_cut = n_before > 0 || thread[0].header.ordinal.get() > 0;
            // Of a chunk without records it is the chunk's begin.
            let first = records.nth(n_before).map(|record| record.enter.get());
            let begin = thread[0].header.prepare_begin.get().max(1);
            is_cut.then(|| {
                if n_before > 0 {
                    first.unwrap_or(begin)
                } else {
                    begin
                }
            })
        });
        let begin = begins.max();
        let begin = begin.and_then(|begin| Some((begin, begun_at(begin, &chunks)?.table())));
        if let Some((begin, _)) = &begin {
            for chunk in &mut chunks {
                let n_before = chunk.records.partition_point(|r| r.enter.get() < *begin);
                chunk.records.drain(..n_before);
            }
        }
        Self { chunks, begin }
    }

    /// Makes the header that of a file with these records.
    fn put_header(&self, bytes: &mut [u8]) {
        let n: u64 = self
            .chunks
            .iter()
            .map(|chunk| chunk.records.len() as u64)
            .sum();
        let mut put =
            |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(offset_of!(FileHeader, n_records), n);
        let keep_bytes = self.begin.as_ref().map_or(0, |_| (n * RECORD_BYTES).max(1));
        put(offset_of!(FileHeader, keep_bytes), keep_bytes);
        // That of the whole file is not that of this number of records.
        bytes[offset_of!(FileHeader, end_crc32)..][..4].fill(0);
    }

    fn put_chunks(&self, bytes: &mut Vec<u8>) {
        for thread in self
            .chunks
            .chunk_by(|a, b| a.header.thread == b.header.thread)
        {
            let begin = self.begin.as_ref();
            // Those that end before the begin say nothing more.
            let is_before = |chunk: &&ReadChunk| begin.is_some() && chunk.records.is_empty();
            let n_before = thread
                .iter()
                .take_while(is_before)
                .count()
                .min(thread.len() - 1);
            let mut n_records = 0;
            for (i, chunk) in thread[n_before..].iter().enumerate() {
                let header = &chunk.header;
                let prepare = (header.prepare_begin.get(), header.prepare_end.get());
                let first = begin.filter(|_| i == 0);
                let place = ChunkPosition {
                    thread: header.thread.get(),
                    ordinal: i as u32 + u32::from(begin.is_some()),
                    first_record: n_records,
                    first_call: 0,
                    anchor: header.anchor,
                    prepare: first.map_or(prepare, |(begin, _)| (*begin, *begin)),
                };
                let table = first.map_or(&chunk.table, |(_, table)| table);
                let mut records = chunk.records.clone();
                n_records += records.len() as u64;
                // Behind the last record of an open chunk is a free slot.
                records.push(Record::FREE);
                bytes.extend(records_chunk(&place, table, &records, false));
            }
        }
    }
}

/// What had begun at an instant, by the latest table from before and the records since.
fn begun_at(begin: u64, chunks: &[ReadChunk]) -> Option<Sequences> {
    let before = chunks
        .iter()
        .filter(|chunk| chunk.header.prepare_begin.get() <= begin);
    let base = before.max_by_key(|chunk| chunk.header.prepare_begin.get())?;
    let mut sequences = Sequences::of_table(&base.table);
    let from = base.header.prepare_begin.get();
    let records = chunks.iter().flat_map(|chunk| &chunk.records);
    for record in records.filter(|r| (from..begin).contains(&r.enter.get())) {
        if let Some(made) = made_by(record) {
            sequences.add_communicator(made);
        }
        sequences.see(record);
    }
    Some(sequences)
}

/// Index of the communicator that a call has made.
fn made_by(record: &Record) -> Option<u32> {
    let semantics = record.operation()?.semantics();
    let made = u32::try_from(record.root.get()).ok()?;
    semantics.is_constructor().then_some(made)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use collbench_formats::Anchor;
    use collbench_formats::write::chunk_opening;

    use super::*;

    /// A file header that says that it is of this length, and a chunk that says so of itself.
    fn file(header_length: u64, chunk_length: u64) -> Vec<u8> {
        let mut bytes = vec![0; CHUNK_ALIGN as usize];
        bytes[..8].copy_from_slice(&FILE_MAGIC);
        bytes[offset_of!(FileHeader, header_length)..][..8]
            .copy_from_slice(&header_length.to_le_bytes());
        let place = ChunkPosition {
            thread: 0,
            ordinal: 0,
            first_record: 0,
            first_call: 0,
            anchor: Anchor::NONE,
            prepare: (0, 0),
        };
        bytes.extend(chunk_opening(ChunkKind::Records, chunk_length, &place, &[]));
        bytes.resize(2 * CHUNK_ALIGN as usize, 0);
        bytes
    }

    #[test]
    fn lengths_that_cannot_be_are_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rank.trace");
        let open = |header_length, chunk_length| {
            fs::write(&path, file(header_length, chunk_length)).unwrap();
            Tail::open(File::open(&path).unwrap()).unwrap()
        };
        for length in [0, 100, 255, 3 * CHUNK_ALIGN, u64::MAX] {
            assert!(open(length, CHUNK_ALIGN).is_none(), "{length}");
        }
        for length in [0, CHUNK_ALIGN, 1 << 62, !(CHUNK_ALIGN - 1)] {
            let mut tail = open(CHUNK_ALIGN, length).unwrap();
            assert_eq!(
                tail.newest(10).unwrap().len() as u64 / CHUNK_ALIGN,
                1 + u64::from(length == CHUNK_ALIGN)
            );
        }
    }
}

//! The file of one rank, written chunk by chunk, as a recorder leaves it.
//!
//! The place of a chunk in the file is reserved when it is opened, and its bytes are written when
//! it is full. Only the records of open chunks are in memory. The recorder itself does not use
//! this: it stores into a mapping, one record at a time.

use std::io::{self, Seek, SeekFrom, Write};
use std::mem::offset_of;

use super::pieces::{
    ChunkPosition, definition_entry, definitions_chunk, file_header_with, records_chunk,
};
use super::sequences::Sequences;
use crate::file::{
    Anchor, CHUNK_ALIGN, ChunkHeader, Definition, Identity, PLACE_MAGIC, SequenceEntry, StopReason,
};
use crate::record::Record;

/// Size of the first chunk of definitions and of later ones, bytes.
const DEFINITIONS_BYTES: [u64; 2] = [4096, 16384];

/// Writes a rank file.
///
/// First define things ([`RankFileWriter::define`]), then write records, each into an open chunk of
/// its thread ([`RankFileWriter::open_chunk`], [`RankFileWriter::push`]), with more definitions in
/// between, and at last call [`RankFileWriter::finish`]. Whole chunks with tables of their own can
/// be appended ([`RankFileWriter::append_chunk`], [`RankFileWriter::append_definitions`]).
#[derive(Debug)]
pub struct RankFileWriter<W> {
    out: W,
    identity: Identity,
    /// Where the next chunk begins.
    end: u64,
    threads: Vec<ThreadChunks>,
    sequences: Sequences,
    definitions: Option<DefinitionsChunk>,
    /// Chunks of definitions so far.
    n_definition_chunks: u32,
    /// End of the definitions, bytes.
    definitions_end: u64,
    /// Includes the records of chunks that a ring has overwritten.
    n_records: u64,
    written: Vec<WrittenChunk>,
    ring: Option<Ring>,
}

/// A chunk of records that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenChunk {
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Where its records begin in the file, in bytes.
    pub content: u64,
    /// Bytes reserved for it.
    pub length: u64,
    /// Number of its records.
    pub n_records: u64,
    /// Number of its thread.
    pub thread: u32,
}

impl WrittenChunk {
    /// Where its last record ends in the file, in bytes.
    #[must_use]
    pub fn end_of_records(&self) -> u64 {
        self.content + self.n_records * size_of::<Record>() as u64
    }
}

/// How recording stopped before the process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop<'t> {
    /// Why.
    pub reason: StopReason,
    /// When, ticks.
    pub ticks: u64,
    /// Calls of the application after that.
    pub calls_after: u64,
    /// The recorder's description, of at most [`STOP_TEXT_BYTES`](crate::STOP_TEXT_BYTES) bytes.
    pub text: &'t str,
}

/// Lengths of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLengths {
    /// With the space reserved for all chunks: the length that a killed process leaves.
    pub reserved: u64,
    /// Up to the last record or definition, where a recorder that ends in order cuts the file.
    pub used: u64,
}

#[derive(Debug, Default)]
struct ThreadChunks {
    next_ordinal: u32,
    n_written: u64,
    /// Calls of the application among those records.
    n_calls_written: u64,
    open: Option<OpenChunk>,
}

#[derive(Debug)]
struct OpenChunk {
    offset: u64,
    length: u64,
    place: ChunkPosition,
    sequences: Vec<SequenceEntry>,
    records: Vec<Record>,
    /// How many records fit into it.
    room: usize,
    n_calls: u64,
}

#[derive(Debug)]
struct DefinitionsChunk {
    offset: u64,
    length: u64,
    used: u64,
    ordinal: u32,
    /// Anchor of the first definition.
    anchor: Option<Anchor>,
    definitions: Vec<Definition>,
}

#[derive(Debug, Clone, Copy)]
struct Ring {
    /// How many chunks of records are retained, besides the last one of each thread.
    keep_chunks: usize,
    keep_bytes: u64,
}

impl<W: Write + Seek> RankFileWriter<W> {
    /// Writes the header of a file that is being recorded at the begin of `out`.
    ///
    /// # Errors
    /// If the identity is too large, or `out` fails.
    pub fn new(out: W, identity: Identity) -> io::Result<Self> {
        let mut writer = Self {
            out,
            identity,
            end: 0,
            threads: Vec::new(),
            sequences: Sequences::default(),
            definitions: None,
            n_definition_chunks: 0,
            definitions_end: 0,
            n_records: 0,
            written: Vec::new(),
            ring: None,
        };
        writer.end = writer.write_header(None, None)?;
        Ok(writer)
    }

    /// Makes the file a ring of `keep_bytes` bytes, which retains `keep_chunks` chunks of records
    /// besides the last one of each thread. Must be called before anything is defined.
    pub fn keep_newest(&mut self, keep_chunks: usize, keep_bytes: u64) {
        self.ring = Some(Ring {
            keep_chunks,
            keep_bytes,
        });
        self.sequences.keep_process();
    }

    /// Counts records that the ring had overwritten before this writer began.
    pub fn add_overwritten(&mut self, n_records: u64) {
        self.n_records += n_records;
    }

    /// Appends a definition; `anchor` is called if it is the first one of a chunk.
    ///
    /// # Errors
    /// If the definition is too large, or the file cannot be written.
    pub fn define(
        &mut self,
        definition: Definition,
        anchor: impl FnOnce() -> Anchor,
    ) -> io::Result<()> {
        let entry = definition_entry(&definition).map_err(io::Error::other)?;
        let has_room = |chunk: &DefinitionsChunk| chunk.used + entry.len() as u64 <= chunk.length;
        if !self.definitions.as_ref().is_some_and(has_room) {
            self.write_definitions(true)?;
            self.take_room_for_definitions(entry.len());
        }
        self.sequences.define(&definition);
        if let Some(chunk) = &mut self.definitions {
            chunk.anchor.get_or_insert_with(anchor);
            chunk.used += entry.len() as u64;
            chunk.definitions.push(definition);
        }
        Ok(())
    }

    /// Reserves the place of the next chunk of definitions, large enough for an entry of
    /// `entry_bytes` bytes. A recorder reserves the first one before all other chunks.
    pub fn take_room_for_definitions(&mut self, entry_bytes: usize) {
        let [first, later] = DEFINITIONS_BYTES;
        let ordinal = self.n_definition_chunks;
        let step = if ordinal == 0 { first } else { later };
        let used = ChunkHeader::content_offset(0) as u64;
        let length = (used + entry_bytes as u64).next_multiple_of(step);
        self.definitions = Some(DefinitionsChunk {
            offset: self.end,
            length,
            used,
            ordinal,
            anchor: None,
            definitions: Vec::new(),
        });
        self.end += length;
        self.n_definition_chunks += 1;
    }

    fn write_definitions(&mut self, is_closed: bool) -> io::Result<()> {
        let Some(chunk) = self.definitions.take() else {
            return Ok(());
        };
        self.definitions_end = chunk.offset + chunk.used;
        let Some(anchor) = chunk.anchor else {
            return Ok(());
        };
        let mut bytes = definitions_chunk(chunk.ordinal, anchor, &chunk.definitions)
            .map_err(io::Error::other)?;
        if !is_closed {
            bytes[offset_of!(ChunkHeader, closed)..][..8].fill(0);
        }
        self.write_at(&bytes, chunk.offset)
    }

    /// Whether a chunk of the thread is open.
    #[must_use]
    pub fn has_open_chunk(&self, thread: u32) -> bool {
        let of_thread = self.threads.get(thread as usize);
        of_thread.is_some_and(|thread| thread.open.is_some())
    }

    /// Opens the next chunk of a thread, for `room` records, > 0; the first of them is entered at
    /// `first_enter`, ticks.
    pub fn open_chunk(&mut self, thread: u32, room: usize, anchor: Anchor, first_enter: u64) {
        let sequences = self.sequences.table();
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, ThreadChunks::default);
        }
        let slots = &mut self.threads[index];
        debug_assert!(slots.open.is_none(), "the chunk before is closed");
        // The table of a ring has what was entered before this call.
        let is_ring = self.ring.is_some();
        let begin = if is_ring { first_enter } else { 0 };
        let place = ChunkPosition {
            thread,
            ordinal: slots.next_ordinal,
            first_record: slots.n_written,
            first_call: if is_ring { slots.n_calls_written } else { 0 },
            anchor,
            prepare: (begin, begin),
        };
        slots.next_ordinal += 1;
        let content_at = ChunkHeader::content_offset(sequences.len());
        let length = (content_at + room * size_of::<Record>()) as u64;
        let length = length.next_multiple_of(CHUNK_ALIGN);
        slots.open = Some(OpenChunk {
            offset: self.end,
            length,
            place,
            sequences,
            records: Vec::with_capacity(room),
            room,
            n_calls: 0,
        });
        self.end += length;
    }

    /// Appends a record to the open chunk of its thread, and closes the chunk when it is full.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If no chunk of the thread is open.
    pub fn push(&mut self, thread: u32, record: Record) -> io::Result<()> {
        let slots = &mut self.threads[thread as usize];
        let chunk = slots.open.as_mut().expect("the caller has opened one");
        chunk.records.push(record);
        chunk.n_calls += u64::from(record.word().is_counted_call());
        let is_full = chunk.records.len() == chunk.room;
        self.n_records += 1;
        self.sequences.see(&record);
        if is_full {
            self.write_chunk(thread, true)?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, thread: u32, is_closed: bool) -> io::Result<()> {
        let slots = &mut self.threads[thread as usize];
        let Some(mut chunk) = slots.open.take() else {
            return Ok(());
        };
        let n_records = chunk.records.len() as u64;
        slots.n_written += n_records;
        slots.n_calls_written += chunk.n_calls;
        let content_at = ChunkHeader::content_offset(chunk.sequences.len()) as u64;
        self.written.push(WrittenChunk {
            offset: chunk.offset,
            content: chunk.offset + content_at,
            length: chunk.length,
            n_records,
            thread,
        });
        if !is_closed {
            // The rest of a chunk that a process left open is ready and free.
            chunk.records.resize(chunk.room, Record::FREE);
        }
        let bytes = records_chunk(&chunk.place, &chunk.sequences, &chunk.records, is_closed);
        self.write_at(&bytes, chunk.offset)
    }

    /// Appends a whole chunk of records with a table of its own, unchanged.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_chunk(
        &mut self,
        place: &ChunkPosition,
        sequences: &[SequenceEntry],
        records: &[Record],
        is_closed: bool,
    ) -> io::Result<()> {
        let bytes = records_chunk(place, sequences, records, is_closed);
        let offset = self.end;
        self.end += bytes.len() as u64;
        self.n_records += records.len() as u64;
        self.written.push(WrittenChunk {
            offset,
            content: offset + ChunkHeader::content_offset(sequences.len()) as u64,
            length: bytes.len() as u64,
            n_records: records.len() as u64,
            thread: place.thread,
        });
        self.write_at(&bytes, offset)
    }

    /// Appends a whole chunk of definitions.
    ///
    /// # Errors
    /// If a definition is too large, or the file cannot be written.
    pub fn append_definitions(
        &mut self,
        anchor: Anchor,
        definitions: &[Definition],
    ) -> io::Result<()> {
        let ordinal = self.n_definition_chunks;
        let bytes = definitions_chunk(ordinal, anchor, definitions).map_err(io::Error::other)?;
        for definition in definitions {
            self.sequences.define(definition);
        }
        let offset = self.end;
        self.end += bytes.len() as u64;
        self.definitions_end = self.end;
        self.n_definition_chunks += 1;
        self.write_at(&bytes, offset)
    }

    /// The chunks of records that were written, in the order in which they were closed.
    #[must_use]
    pub fn chunks(&self) -> &[WrittenChunk] {
        &self.written
    }

    /// Writes what is left, and the end into the header. `ended` are the clocks in `MPI_Finalize`,
    /// or `None` for a process that did not reach it. Returns the length that the file should have.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(
        &mut self,
        ended: Option<Anchor>,
        stop: Option<Stop<'_>>,
    ) -> io::Result<FileLengths> {
        let is_closed = ended.is_some();
        for thread in 0..self.threads.len() as u32 {
            self.write_chunk(thread, is_closed)?;
        }
        self.drop_oldest()?;
        self.write_definitions(is_closed)?;
        let header_end = self.write_header(ended, stop)?;
        let ends = self.written.iter().map(WrittenChunk::end_of_records);
        Ok(FileLengths {
            reserved: self.end,
            used: ends
                .chain([self.definitions_end, header_end])
                .max()
                .unwrap_or(0),
        })
    }

    /// Clears the places of the chunks that a ring does not retain.
    fn drop_oldest(&mut self) -> io::Result<()> {
        let Some(ring) = self.ring else {
            return Ok(());
        };
        let is_last = |at: usize| {
            let thread = self.written[at].thread;
            self.written[at + 1..].iter().all(|it| it.thread != thread)
        };
        let full: Vec<_> = (0..self.written.len()).filter(|&at| !is_last(at)).collect();
        let n_dropped = full.len().saturating_sub(ring.keep_chunks);
        for &at in &full[..n_dropped] {
            let WrittenChunk { offset, length, .. } = self.written[at];
            self.write_at(&empty_place(length), offset)?;
        }
        Ok(())
    }

    /// Writes header and identity; returns where they end.
    fn write_header(&mut self, ended: Option<Anchor>, stop: Option<Stop<'_>>) -> io::Result<u64> {
        let header = file_header_with(&self.identity, |header| {
            if let Some(anchor) = ended {
                header.finalize(anchor, self.n_records);
            }
            if let Some(ring) = self.ring {
                header.keep_bytes = ring.keep_bytes.into();
            }
            if let Some(stop) = stop {
                header.stop_reason = (stop.reason as u32).into();
                header.stop_ticks = stop.ticks.into();
                header.calls_after_stop = stop.calls_after.into();
                let room = header.stop_text.iter_mut();
                room.zip(stop.text.bytes())
                    .for_each(|(to, from)| *to = from);
            }
        })
        .map_err(io::Error::other)?;
        self.write_at(&header, 0)?;
        Ok(header.len() as u64)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(offset))?;
        self.out.write_all(bytes)
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// An empty place of `length` bytes, whose chunk was overwritten, and which is not reused.
fn empty_place(length: u64) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    bytes[..4].copy_from_slice(&PLACE_MAGIC);
    bytes[offset_of!(ChunkHeader, length)..][..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::RankTrace;
    use crate::trace::tests::{anchor, calls, identity};

    /// A file of two threads that call alternately, in chunks of 100 records.
    fn written(keep_chunks: Option<usize>) -> Vec<u8> {
        let mut writer = RankFileWriter::new(Cursor::default(), identity()).unwrap();
        writer.take_room_for_definitions(0);
        if let Some(keep_chunks) = keep_chunks {
            writer.keep_newest(keep_chunks, 1 << 16);
        }
        for (i, record) in (0..1000).zip(calls(0, 1000)) {
            let name = Definition::CommunicatorName {
                index: i,
                name: format!("communicator {i}"),
            };
            writer.define(name, || anchor(95)).unwrap();
            let enter = record.enter.get();
            if !writer.has_open_chunk(i % 2) {
                writer.open_chunk(i % 2, 100, anchor(enter), enter);
            }
            writer.push(i % 2, record).unwrap();
        }
        let lengths = writer.finish(Some(anchor(1 << 20)), None).unwrap();
        let mut bytes: Vec<u8> = writer.into_inner().into_inner();
        assert!(lengths.used <= bytes.len() as u64 && lengths.used <= lengths.reserved);
        bytes.truncate(lengths.used as usize);
        bytes
    }

    #[test]
    fn a_file_written_call_by_call_is_complete() {
        let bytes = written(None);
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, []);
        assert_eq!(trace.definitions.len(), 1000);
        let n_before = |chunk: &crate::Chunk<'_>| match chunk.sequences {
            [] => 0,
            [entry] => entry.calls.get(),
            several => panic!("{several:?}"),
        };
        let mut found = Vec::new();
        for chunk in &trace.chunks {
            let n_of_thread = 100 * u64::from(chunk.ordinal);
            assert_eq!(chunk.header.first_record.get(), n_of_thread);
            assert_eq!(n_before(chunk), 2 * n_of_thread + u64::from(chunk.thread));
            found.extend(chunk.records.iter());
        }
        found.sort_by_key(|record| record.enter.get());
        assert_eq!(found, calls(0, 1000));
    }

    #[test]
    fn a_ring_has_its_newest_chunks_and_counts_earlier_records() {
        let bytes = written(Some(3));
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, []);
        // Three chunks, and the last one of each thread.
        let n_retained: usize = trace.chunks.iter().map(|chunk| chunk.records.len()).sum();
        assert_eq!((trace.chunks.len(), n_retained), (5, 500));
        let window = trace.window.unwrap();
        assert!(window.is_cut() && window.process_state().is_some());
        assert_eq!(window.n_records_overwritten, 500);
        assert_eq!(window.n_calls_in_window + window.n_calls_dropped, 1000);
    }
}

//! The file of one rank, written chunk by chunk.
//!
//! A chunk's place in the file is taken when it is opened, as a recorder does; its bytes are
//! written when it is full. Only the records of open chunks are in memory. The file is opened
//! anew for each chunk: a scenario may have more ranks than a process may have descriptors.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use collbench_formats::write::{self, ChunkPlace};
use collbench_formats::{
    Anchor, CHUNK_ALIGN, CODE_INTERNAL, ChunkHeader, CompletingCall, Definition, FileHeader,
    Identity, Initiation, Operation, Record, SequenceEntry, StopReason, TestsInVain,
};

use super::clock::HostClock;
use super::ring::{Ring, empty_place};

/// How long before its first call a chunk is opened, if the rank was not in a call then.
const OPENED_BEFORE_NS: u64 = 100;
/// Bytes of the first chunk of definitions, and of those after it.
const DEFINITIONS_BYTES: [u64; 2] = [4096, 16384];

/// One call as the simulation made it. Times are global, in ns since the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRecord {
    pub(crate) thread: u32,
    pub(crate) enter: u64,
    /// `None`: the process ended inside the call.
    pub(crate) leave: Option<u64>,
    pub(crate) body: Body,
}

/// What a record says besides its times.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    Call {
        operation: Operation,
        flags: u16,
        communicator: u32,
        root: i32,
        payload: u64,
    },
    /// The start of a persistent collective, a completion, a phase: bytes 8 to 23.
    Words([u64; 2]),
    /// Tests in vain before a completion.
    Tests {
        of: Initiation,
        by: CompletingCall,
        n: u32,
        spent_ns: u64,
    },
}

impl Body {
    /// Whether it is a call of the application that is counted.
    pub(crate) fn is_counted(&self) -> bool {
        let operation = match *self {
            Self::Call {
                operation, flags, ..
            } => (flags & CODE_INTERNAL == 0).then_some(operation),
            Self::Words(words) => Record::of_words(words, 1, 1).operation(),
            Self::Tests { .. } => None,
        };
        operation.is_some_and(Operation::is_counted)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    /// In MPI_Finalize, which it left at this time.
    Finalized(u64),
    /// Otherwise.
    Died,
}

/// Recording that stopped before the process did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    pub(crate) at: u64,
    pub(crate) calls_after: u64,
}

/// Bytes that are written at once.
const PIECE_BYTES: usize = 64 << 10;

/// A rank file that is being written.
#[derive(Debug)]
pub(crate) struct RankFile {
    path: PathBuf,
    identity: Identity,
    clock: HostClock,
    grid_ns: u64,
    chunk_calls: usize,
    /// Where the next chunk begins.
    end: u64,
    threads: Vec<ThreadChunks>,
    /// Calls begun, by communicator index, ascending.
    sequences: Vec<SequenceEntry>,
    definitions: DefinitionsChunk,
    n_records: u64,
    n_anchors: u64,
    /// Where the processes' threads overlap, calls are put in order before they are written.
    waiting: Option<Vec<NewRecord>>,
    /// The chunks of records that are written.
    layout: Vec<WrittenChunk>,
    ring: Option<Ring>,
}

#[derive(Debug, Clone, Copy)]
struct WrittenChunk {
    offset: u64,
    content_at: u64,
    n: u64,
    thread: usize,
}

#[derive(Debug)]
struct ThreadChunks {
    /// As the scenario numbers it; in the file it has its index.
    label: u32,
    next_ordinal: u32,
    n_written: u64,
    /// Calls of the application among those.
    n_calls_written: u64,
    last_leave: u64,
    open: Option<OpenChunk>,
}

#[derive(Debug)]
struct OpenChunk {
    offset: u64,
    place: ChunkPlace,
    sequences: Vec<SequenceEntry>,
    records: Vec<Record>,
    n_calls: u64,
}

#[derive(Debug, Default)]
struct DefinitionsChunk {
    offset: u64,
    length: u64,
    used: u64,
    ordinal: u32,
    anchor: Option<Anchor>,
    definitions: Vec<Definition>,
}

impl RankFile {
    /// Makes the file. `sorts`: records come in any order and are kept until the end.
    /// `keep_chunks`: it is a ring, of so many chunks.
    pub(crate) fn create(
        directory: &Path,
        identity: Identity,
        clock: HostClock,
        grid_ns: u64,
        chunk_calls: usize,
        sorts: bool,
        keep_chunks: Option<usize>,
    ) -> io::Result<Self> {
        let name = format!(
            "rank-{}.{:016x}.{}.trace",
            identity.rank, identity.world, identity.pid
        );
        let path = directory.join(name);
        let header = write::file_header(&identity, None).map_err(io::Error::other)?;
        let file = File::create_new(&path)?;
        file.write_all_at(&header, 0)?;
        let [first, _] = DEFINITIONS_BYTES;
        Ok(Self {
            path,
            identity,
            clock,
            grid_ns,
            chunk_calls,
            end: header.len() as u64 + first,
            threads: Vec::new(),
            sequences: Vec::new(),
            definitions: DefinitionsChunk {
                offset: header.len() as u64,
                length: first,
                ..DefinitionsChunk::default()
            },
            n_records: 0,
            n_anchors: 2,
            waiting: sorts.then(Vec::new),
            layout: Vec::new(),
            ring: keep_chunks.map(Ring::new),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn anchor(&mut self, t: u64) -> Anchor {
        self.n_anchors += 1;
        let name = [
            self.identity.world,
            u64::from(self.identity.rank),
            self.n_anchors,
        ];
        self.clock.anchor(t, &name)
    }

    /// Appends a definition, made at `t`.
    pub(crate) fn define(&mut self, definition: Definition, t: u64) -> io::Result<()> {
        let entry = write::definition_entry(&definition).map_err(io::Error::other)?;
        let room = self.definitions.length - ChunkHeader::content_offset(0) as u64;
        if self.definitions.used + entry.len() as u64 > room {
            self.write_definitions(true)?;
            let [_, later] = DEFINITIONS_BYTES;
            let least = ChunkHeader::content_offset(0) + entry.len();
            let length = (least as u64).next_multiple_of(later);
            self.definitions = DefinitionsChunk {
                offset: self.end,
                length,
                ordinal: self.definitions.ordinal + 1,
                ..DefinitionsChunk::default()
            };
            self.end += length;
        }
        if self.definitions.anchor.is_none() {
            self.definitions.anchor = Some(self.anchor(t));
        }
        self.definitions.used += entry.len() as u64;
        let made = self.ring.as_mut().and_then(|ring| ring.define(&definition));
        if let Some(index) = made {
            self.sequence_of(index);
        }
        self.definitions.definitions.push(definition);
        Ok(())
    }

    fn write_definitions(&mut self, closed: bool) -> io::Result<()> {
        let chunk = &self.definitions;
        let Some(anchor) = chunk.anchor else {
            return Ok(());
        };
        let mut bytes = write::definitions_chunk(chunk.ordinal, anchor, &chunk.definitions)
            .map_err(io::Error::other)?;
        if !closed {
            put(&mut bytes, std::mem::offset_of!(ChunkHeader, closed), 0);
        }
        self.write_at(&bytes, chunk.offset)
    }

    /// Appends a call. Calls of one thread come in their order.
    pub(crate) fn push(&mut self, record: NewRecord) -> io::Result<()> {
        match &mut self.waiting {
            Some(waiting) => {
                waiting.push(record);
                Ok(())
            }
            None => self.append(record),
        }
    }

    fn append(&mut self, record: NewRecord) -> io::Result<()> {
        let known = self.threads.iter().position(|t| t.label == record.thread);
        let thread = match known {
            Some(thread) => thread,
            None => {
                self.threads.push(ThreadChunks {
                    label: record.thread,
                    next_ordinal: 0,
                    n_written: 0,
                    n_calls_written: 0,
                    last_leave: 0,
                    open: None,
                });
                self.threads.len() - 1
            }
        };
        if self.threads[thread].open.is_none() {
            self.open_chunk(thread, record.enter);
        }
        let enter = self.clock.ticks(record.enter);
        let leave = record.leave.map_or(0, |leave| self.clock.ticks(leave));
        let slots = &mut self.threads[thread];
        slots.last_leave = record.leave.unwrap_or(record.enter);
        let chunk = slots.open.as_mut().expect("opened above");
        chunk.records.push(match record.body {
            Body::Call {
                operation,
                flags,
                communicator,
                root,
                payload,
            } => Record::call(operation, flags, communicator, root, payload, enter, leave),
            Body::Words(words) => Record::of_words(words, enter, leave),
            Body::Tests {
                of,
                by,
                n,
                spent_ns,
            } => {
                let tests = TestsInVain {
                    of_index: match of {
                        Initiation::Nonblocking { communicator, .. } => communicator,
                        Initiation::Persistent { definition, .. } => definition,
                    },
                    n,
                    spent_ticks: enter - self.clock.ticks(record.enter.saturating_sub(spent_ns)),
                };
                Record::of_words(tests.words(of, by), enter, enter)
            }
        });
        chunk.n_calls += u64::from(record.body.is_counted());
        let is_full = chunk.records.len() == self.chunk_calls;
        self.n_records += 1;
        self.count(&record);
        if is_full {
            self.write_chunk(thread, true)?;
        }
        Ok(())
    }

    /// Where the entry of a communicator stands in the table.
    fn sequence_of(&mut self, index: u32) -> usize {
        self.sequences
            .binary_search_by_key(&index, |entry| entry.communicator.get())
            .unwrap_or_else(|at| {
                let entry = SequenceEntry {
                    communicator: index.into(),
                    internal_calls: 0.into(),
                    calls: 0.into(),
                };
                self.sequences.insert(at, entry);
                at
            })
    }

    fn count(&mut self, record: &NewRecord) {
        if let Some(ring) = &mut self.ring {
            ring.see(record);
        }
        let Body::Call {
            operation,
            flags,
            communicator: index,
            ..
        } = record.body
        else {
            return;
        };
        let semantics = operation.semantics();
        if !semantics.is_matched() {
            return;
        }
        let at = self.sequence_of(index);
        let entry = &mut self.sequences[at];
        match flags & CODE_INTERNAL {
            0 => entry.calls += 1,
            _ => entry.internal_calls += 1,
        }
        let is_freed = semantics == collbench_formats::Semantics::Free && record.leave.is_some();
        if is_freed {
            self.sequences.remove(at);
        }
    }

    fn open_chunk(&mut self, thread: usize, first_enter: u64) {
        let before = OPENED_BEFORE_NS.next_multiple_of(self.grid_ns);
        let at = first_enter
            .saturating_sub(before)
            .max(self.threads[thread].last_leave)
            .min(first_enter);
        let anchor = self.anchor(at);
        let sequences = match &self.ring {
            Some(ring) => ring.table(&self.sequences),
            None => self.sequences.clone(),
        };
        // What is in the table of a ring has begun before this call.
        let begin = self.ring.as_ref().map(|_| self.clock.ticks(first_enter));
        let slots = &mut self.threads[thread];
        let place = ChunkPlace {
            thread: thread as u32,
            ordinal: slots.next_ordinal,
            first_record: slots.n_written,
            first_call: self.ring.as_ref().map_or(0, |_| slots.n_calls_written),
            anchor,
            prepare: begin.map_or((0, 0), |begin| (begin, begin)),
        };
        slots.next_ordinal += 1;
        let content_at = ChunkHeader::content_offset(sequences.len());
        slots.open = Some(OpenChunk {
            offset: self.end,
            place,
            sequences,
            records: Vec::with_capacity(self.chunk_calls),
            n_calls: 0,
        });
        let length = content_at + self.chunk_calls * size_of::<Record>();
        self.end += (length as u64).next_multiple_of(CHUNK_ALIGN);
    }

    fn write_chunk(&mut self, thread: usize, closed: bool) -> io::Result<()> {
        let slots = &mut self.threads[thread];
        let Some(mut chunk) = slots.open.take() else {
            return Ok(());
        };
        let n = chunk.records.len() as u64;
        slots.n_written += n;
        slots.n_calls_written += chunk.n_calls;
        let content_at = ChunkHeader::content_offset(chunk.sequences.len()) as u64;
        self.layout.push(WrittenChunk {
            offset: chunk.offset,
            content_at: chunk.offset + content_at,
            n,
            thread,
        });
        if !closed {
            // The rest of a chunk that a process left open is made ready and free.
            chunk.records.resize(self.chunk_calls, Record::FREE);
        }
        let bytes = write::records_chunk(&chunk.place, &chunk.sequences, &chunk.records, closed);
        self.write_at(&bytes, chunk.offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        // As the recorder makes its room: how much is written at once decides how large the
        // pieces are that the system keeps the file in, and maps at once.
        let mut offset = offset;
        for piece in bytes.chunks(PIECE_BYTES) {
            file.write_all_at(piece, offset)?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// Writes what is left, and the end into the header.
    pub(crate) fn finish(&mut self, ending: Ending, stop: Option<Stop>) -> io::Result<()> {
        if let Some(mut waiting) = self.waiting.take() {
            // The sort is stable: calls of one thread that begin together stay in order.
            waiting.sort_by_key(|record| record.enter);
            for record in waiting {
                self.append(record)?;
            }
        }
        let is_closed = matches!(ending, Ending::Finalized(_));
        for thread in 0..self.threads.len() {
            self.write_chunk(thread, is_closed)?;
        }
        self.drop_oldest()?;
        self.write_definitions(is_closed)?;
        let end = match ending {
            Ending::Finalized(t) => Some((self.anchor(t), self.n_records)),
            Ending::Died => None,
        };
        let mut header = write::file_header(&self.identity, end).map_err(io::Error::other)?;
        if let Some(ring) = &self.ring {
            let bytes = (ring.keep_chunks * self.chunk_calls * size_of::<Record>()) as u64;
            let at = std::mem::offset_of!(FileHeader, keep_bytes);
            put(&mut header, at, bytes);
        }
        if let Some(stop) = stop {
            let reason = std::mem::offset_of!(FileHeader, stop_reason);
            let text = std::mem::offset_of!(FileHeader, stop_text);
            let words = b"the size allowed for a rank is reached";
            header[reason..reason + 4]
                .copy_from_slice(&(StopReason::SizeReached as u32).to_le_bytes());
            header[text..text + words.len()].copy_from_slice(words);
            put(
                &mut header,
                std::mem::offset_of!(FileHeader, stop_ticks),
                self.clock.ticks(stop.at),
            );
            put(
                &mut header,
                std::mem::offset_of!(FileHeader, calls_after_stop),
                stop.calls_after,
            );
        }
        self.write_at(&header, 0)?;
        let length = if is_closed { self.used_end() } else { self.end };
        OpenOptions::new()
            .write(true)
            .open(&self.path)?
            .set_len(length)
    }

    /// Empties the places of the chunks that a ring does not keep.
    fn drop_oldest(&mut self) -> io::Result<()> {
        let Some(ring) = &self.ring else {
            return Ok(());
        };
        let layout = &self.layout;
        let is_last = |at: usize| {
            layout[at + 1..]
                .iter()
                .all(|it| it.thread != layout[at].thread)
        };
        let full: Vec<_> = (0..layout.len()).filter(|&at| !is_last(at)).collect();
        let n_dropped = full.len().saturating_sub(ring.keep_chunks);
        for chunk in full[..n_dropped].iter().map(|&at| &layout[at]) {
            let end = chunk.content_at + self.chunk_calls as u64 * size_of::<Record>() as u64;
            self.write_at(&empty_place(end - chunk.offset), chunk.offset)?;
        }
        Ok(())
    }

    /// End of what is written last, where a recorder that ends in order cuts the file.
    fn used_end(&self) -> u64 {
        let records = self
            .layout
            .iter()
            .map(|chunk| chunk.content_at + chunk.n * size_of::<Record>() as u64);
        let content = ChunkHeader::content_offset(0) as u64;
        let definitions = self.definitions.offset + content + self.definitions.used;
        records.max().unwrap_or(0).max(definitions)
    }

    /// Cuts the file; gives how many records are left.
    pub(crate) fn cut(&self, at: u64) -> io::Result<u64> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        let at = at.min(file.metadata()?.len());
        file.set_len(at)?;
        let records_before =
            |chunk: &WrittenChunk| at.saturating_sub(chunk.content_at) / size_of::<Record>() as u64;
        let left = self
            .layout
            .iter()
            .map(|chunk| chunk.n.min(records_before(chunk)));
        Ok(left.sum())
    }

    /// Damages the header of a chunk of records; gives the records in it, counted over the file.
    pub(crate) fn damage_chunk(&self, number: u64) -> io::Result<Range<u64>> {
        let mut first = 0;
        for (i, chunk) in (0u64..).zip(&self.layout) {
            if i == number {
                let at = chunk.offset + std::mem::offset_of!(ChunkHeader, crc32) as u64;
                self.write_at(&[0; 4], at)?;
                return Ok(first..first + chunk.n);
            }
            first += chunk.n;
        }
        Ok(0..0)
    }

    /// Length of the file, bytes.
    pub(crate) fn length(&self) -> io::Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

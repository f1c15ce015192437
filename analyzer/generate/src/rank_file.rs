//! The file of one rank, with timestamps of its host's clock.
//!
//! The file is reopened for each chunk: a scenario may have more ranks than a process may have
//! descriptors.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use collbench_formats::write::{self, RankFileWriter, WrittenChunk};
use collbench_formats::{
    Activity, Anchor, ChunkHeader, CompletingCall, Definition, GapTime, Identity, Initiation,
    NO_RANK, Operation, Record, RecordWord, StopReason, UnsuccessfulTests,
};

use super::clock::HostClock;
use super::delay::SpentIn;

/// Time between opening a chunk and its first call, if the rank was not in a call then.
const OPENED_BEFORE_NS: u64 = 100;

/// One simulated call. Times are global, ns since the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRecord {
    pub(crate) thread: u32,
    pub(crate) enter: u64,
    /// `None`: the process ended inside the call.
    pub(crate) leave: Option<u64>,
    pub(crate) body: Body,
}

/// Content of a record besides its times.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    Call {
        operation: Operation,
        flags: u16,
        communicator: u32,
        root: i32,
        payload: u64,
    },
    /// Bytes 8 to 23 of the start of a persistent collective, a completion, or a phase.
    Words([u64; 2]),
    /// Unsuccessful tests before a completion.
    Tests {
        of: Initiation,
        by: CompletingCall,
        n: u32,
        spent_ns: u64,
    },
    /// Calls without records, in the time up to `enter`.
    Gap { in_calls: SpentIn, ns: u64 },
}

impl Body {
    /// Whether it is a call of the application that is counted.
    pub(crate) fn is_counted(&self) -> bool {
        match *self {
            Self::Call {
                operation, flags, ..
            } => RecordWord::call(operation, flags, 0).is_counted_call(),
            Self::Words([second, _]) => RecordWord::from_bits(second).is_counted_call(),
            Self::Tests { .. } | Self::Gap { .. } => false,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    /// With MPI_Finalize, which it left at this time.
    Finalized(u64),
    /// In any other way.
    Died,
}

/// Recording that stopped before the process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop {
    pub(crate) at: u64,
    pub(crate) calls_after: u64,
}

/// Bytes that are written at once.
const PIECE_BYTES: usize = 64 << 10;

/// A file that is open only while it is written.
#[derive(Debug)]
struct ClosedFile {
    path: PathBuf,
    /// Position of the next write.
    at: u64,
}

impl ClosedFile {
    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.path)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}

impl Write for ClosedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = self.open()?;
        // Like the recorder's allocation of file space: the size of a write determines the size of
        // the pieces in which the system stores and maps the file.
        for piece in bytes.chunks(PIECE_BYTES) {
            file.write_all_at(piece, self.at)?;
            self.at += piece.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for ClosedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let found = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length()?.checked_add_signed(by),
        };
        self.at = found.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Clock readings of one rank.
#[derive(Debug)]
struct Readings {
    clock: HostClock,
    world: u64,
    rank: u32,
    n: u64,
}

impl Readings {
    fn anchor(&mut self, t: u64) -> Anchor {
        self.n += 1;
        self.clock
            .anchor(t, &[self.world, u64::from(self.rank), self.n])
    }
}

/// A rank file under construction.
#[derive(Debug)]
pub(crate) struct RankFile {
    path: PathBuf,
    writer: RankFileWriter<ClosedFile>,
    readings: Readings,
    grid_ns: u64,
    chunk_calls: usize,
    /// The index of a thread here is its number in the file.
    threads: Vec<Thread>,
    /// If threads of the process overlap, calls are sorted before they are written.
    waiting: Option<Vec<NewRecord>>,
}

#[derive(Debug)]
struct Thread {
    /// Number of the thread in the scenario.
    label: u32,
    last_leave: u64,
}

impl RankFile {
    /// Creates the file. `sorts`: records come in any order and are kept until the end.
    /// `keep_chunks`: it is a ring of this number of chunks.
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
        File::create_new(&path)?;
        let readings = Readings {
            clock,
            world: identity.world,
            rank: identity.rank,
            // The anchors of MPI_Init are in the identity.
            n: 2,
        };
        let out = ClosedFile {
            path: path.clone(),
            at: 0,
        };
        let mut writer = RankFileWriter::new(out, identity)?;
        writer.take_room_for_definitions(0);
        if let Some(keep_chunks) = keep_chunks {
            let keep_bytes = keep_chunks * chunk_calls * size_of::<Record>();
            writer.keep_newest(keep_chunks, keep_bytes as u64);
        }
        Ok(Self {
            path,
            writer,
            readings,
            grid_ns,
            chunk_calls,
            threads: Vec::new(),
            waiting: sorts.then(Vec::new),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a definition made at `t`.
    pub(crate) fn define(&mut self, definition: Definition, t: u64) -> io::Result<()> {
        self.writer.define(definition, || self.readings.anchor(t))
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
        let index = known.unwrap_or_else(|| {
            self.threads.push(Thread {
                label: record.thread,
                last_leave: 0,
            });
            self.threads.len() - 1
        });
        let thread = &mut self.threads[index];
        let clock = &self.readings.clock;
        let enter = clock.ticks(record.enter);
        let leave = record.leave.map_or(0, |leave| clock.ticks(leave));
        let in_file = match record.body {
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
                let tests = UnsuccessfulTests {
                    of_index: match of {
                        Initiation::Nonblocking { communicator, .. } => communicator,
                        Initiation::Persistent { definition, .. } => definition,
                    },
                    n,
                    spent_ticks: enter - clock.ticks(record.enter.saturating_sub(spent_ns)),
                };
                Record::of_words(tests.words(of, by), enter, enter)
            }
            Body::Gap { in_calls, ns } => {
                let ticks = enter - clock.ticks(record.enter.saturating_sub(ns));
                let gap = GapTime {
                    activity: in_calls.activity,
                    ticks,
                    n_calls: in_calls.n_calls,
                    longest_ticks: match in_calls.activity {
                        // All of them in a row.
                        Activity::Polling => ticks,
                        _ => ticks / u64::from(in_calls.n_calls),
                    },
                    partner: in_calls.partner.unwrap_or(NO_RANK),
                };
                Record::of_words(gap.words(), enter, 0)
            }
        };
        if !self.writer.has_open_chunk(index as u32) {
            let before = OPENED_BEFORE_NS.next_multiple_of(self.grid_ns);
            let at = record.enter.saturating_sub(before);
            let at = at.max(thread.last_leave).min(record.enter);
            let anchor = self.readings.anchor(at);
            self.writer
                .open_chunk(index as u32, self.chunk_calls, anchor, enter);
        }
        thread.last_leave = record.leave.unwrap_or(record.enter);
        self.writer.push(index as u32, in_file)
    }

    /// Writes the rest, and the end into the header.
    pub(crate) fn finish(&mut self, ending: Ending, stop: Option<Stop>) -> io::Result<()> {
        if let Some(mut waiting) = self.waiting.take() {
            // The sort is stable: calls of one thread with the same enter stay in order.
            waiting.sort_by_key(|record| record.enter);
            for record in waiting {
                self.append(record)?;
            }
        }
        let ended = match ending {
            Ending::Finalized(t) => Some(self.readings.anchor(t)),
            Ending::Died => None,
        };
        let stop = stop.map(|stop| write::Stop {
            reason: StopReason::SizeReached,
            ticks: self.readings.clock.ticks(stop.at),
            calls_after: stop.calls_after,
            text: "the maximum size per rank is reached",
        });
        let lengths = self.writer.finish(ended, stop)?;
        let length = if ended.is_some() {
            lengths.used
        } else {
            lengths.reserved
        };
        self.open()?.set_len(length)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.path)
    }

    /// Truncates the file; returns the number of remaining records.
    pub(crate) fn cut(&self, at: u64) -> io::Result<u64> {
        let file = self.open()?;
        let at = at.min(file.metadata()?.len());
        file.set_len(at)?;
        let records_before =
            |chunk: &WrittenChunk| at.saturating_sub(chunk.content) / size_of::<Record>() as u64;
        let chunks = self.writer.chunks().iter();
        Ok(chunks
            .map(|chunk| chunk.n_records.min(records_before(chunk)))
            .sum())
    }

    /// Damages the header of a chunk of records; returns the records in it, counted over the file.
    pub(crate) fn damage_chunk(&self, number: u64) -> io::Result<Range<u64>> {
        let mut first = 0;
        for (i, chunk) in (0u64..).zip(self.writer.chunks()) {
            if i == number {
                let at = chunk.offset + std::mem::offset_of!(ChunkHeader, crc32) as u64;
                self.open()?.write_all_at(&[0; 4], at)?;
                return Ok(first..first + chunk.n_records);
            }
            first += chunk.n_records;
        }
        Ok(0..0)
    }

    /// Length of the file, bytes.
    pub(crate) fn length(&self) -> io::Result<u64> {
        Ok(std::fs::metadata(&self.path)?.len())
    }
}

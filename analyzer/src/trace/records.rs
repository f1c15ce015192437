//! The records of a process as slices: in the file, or unpacked from a compact trace.
//!
//! Records of a plain file are read in place. Packed records are unpacked block by block when they
//! are needed. The most recent blocks are retained, since calls are read again soon, when those of
//! the other processes have been found.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

use collbench_formats::{Chunk, Record, Records};

use crate::trace::record_at::{RecordAt, RecordRun};

/// Least and greatest number of blocks retained for a process.
const LEAST_KEPT: usize = 4;
const MOST_KEPT: usize = 64;
/// Blocks of all processes together that are kept; each is 64 KiB.
const KEPT_IN_ALL: usize = 1024;

/// Chunk, and block in it.
type BlockAt = (u32, usize);
type Block = Arc<Vec<Record>>;

/// Gives access to the records of a process.
#[derive(Debug)]
pub(crate) struct RecordReader<'a> {
    chunks: &'a [Chunk<'a>],
    n_kept: usize,
    /// The retained blocks, most recently used first.
    recent: Mutex<Vec<(BlockAt, Block)>>,
}

/// Consecutive records.
#[derive(Debug, Clone)]
pub(crate) enum Slice<'a> {
    InPlace(&'a [Record]),
    Unpacked(Block, Range<usize>),
}

impl Deref for Slice<'_> {
    type Target = [Record];

    #[inline]
    fn deref(&self) -> &[Record] {
        match self {
            Self::InPlace(records) => records,
            Self::Unpacked(block, range) => &block[range.clone()],
        }
    }
}

impl Slice<'_> {
    /// The first `n` of them.
    #[inline]
    pub(crate) fn first(self, n: usize) -> Self {
        match self {
            Self::InPlace(records) => Self::InPlace(&records[..n]),
            Self::Unpacked(block, range) => Self::Unpacked(block, range.start..range.start + n),
        }
    }
}

impl<'a> RecordReader<'a> {
    /// The reader of one of `n_processes`.
    pub(crate) fn new(chunks: &'a [Chunk<'a>], n_processes: usize) -> Self {
        Self {
            chunks,
            n_kept: (KEPT_IN_ALL / n_processes.max(1)).clamp(LEAST_KEPT, MOST_KEPT),
            recent: Mutex::default(),
        }
    }

    /// All chunks of records, by thread, then by their order in time.
    #[inline]
    pub(crate) fn chunks(&self) -> &'a [Chunk<'a>] {
        self.chunks
    }

    /// Consecutive records from a location on: `n`, or fewer where the chunk or its block ends.
    #[inline]
    pub(crate) fn slice(&self, location: RecordAt, n: usize) -> Slice<'a> {
        let first = location.record as usize;
        match &self.chunks[location.chunk as usize].records {
            Records::InPlace(records) => {
                Slice::InPlace(&records[first..records.len().min(first + n)])
            }
            Records::Packed(packed) => {
                let (block, at) = packed.block_of(first);
                let records = self.block((location.chunk, block));
                let end = records.len().min(at + n);
                Slice::Unpacked(records, at..end)
            }
        }
    }

    /// The record at a location.
    pub(crate) fn record(&self, location: RecordAt) -> Record {
        self.slice(location, 1)[0]
    }

    /// Passes the records of a run to `look`, one contiguous part at a time, with the number of those before it.
    #[inline]
    pub(crate) fn each(
        &self,
        run: &RecordRun,
        last: &mut LastBlock,
        mut look: impl FnMut(usize, &[Record]),
    ) {
        let n = run.n as usize;
        let mut n_before = 0;
        while n_before < n {
            let location = run.location.plus(n_before);
            let (first, records) = self.around(location, last);
            let records = &records[location.record as usize - first..];
            let records = &records[..records.len().min(n - n_before)];
            look(n_before, records);
            n_before += records.len();
        }
    }

    /// The records that lie one behind the other in memory around a location: those of the chunk, or of a block of it; and the
    /// index of the first of them in the chunk.
    #[inline]
    pub(crate) fn around<'s>(
        &'s self,
        location: RecordAt,
        last: &'s mut LastBlock,
    ) -> (usize, &'s [Record]) {
        match &self.chunks[location.chunk as usize].records {
            Records::InPlace(records) => (0, records),
            Records::Packed(packed) => {
                let (block, at) = packed.block_of(location.record as usize);
                let records = last.block(self, (location.chunk, block));
                (location.record as usize - at, records)
            }
        }
    }

    fn block(&self, location: BlockAt) -> Block {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let block = match recent.iter().position(|(kept, _)| *kept == location) {
            Some(at) => recent.remove(at).1,
            None => {
                recent.truncate(self.n_kept - 1);
                // While holding the lock: other threads are likely to need the same block soon.
                match &self.chunks[location.0 as usize].records {
                    Records::Packed(packed) => Arc::new(packed.unpack(location.1)),
                    Records::InPlace(_) => Block::default(),
                }
            }
        };
        recent.insert(0, (location, Arc::clone(&block)));
        block
    }
}

/// The block read last, likely to be read next.
#[derive(Debug, Default)]
pub(crate) struct LastBlock(Option<(BlockAt, Block)>);

impl LastBlock {
    fn block(&mut self, reader: &RecordReader<'_>, location: BlockAt) -> &Block {
        if self.0.as_ref().is_none_or(|(last, _)| *last != location) {
            self.0 = None;
        }
        let (_, block) = self
            .0
            .get_or_insert_with(|| (location, reader.block(location)));
        block
    }
}

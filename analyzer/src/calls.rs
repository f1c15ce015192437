//! The calls of one process, in the order in which they began: its threads merged by enter time.

use collbench_formats::{Chunk, Record, SequenceEntry};

/// Reads the records of a process in place, one at a time.
#[derive(Debug)]
pub struct CallStream<'a> {
    threads: Vec<ThreadStream<'a>>,
}

#[derive(Debug)]
struct ThreadStream<'a> {
    chunks: &'a [Chunk<'a>],
    /// Records left of the first of `chunks`.
    records: &'a [Record],
    /// Records delivered, and lost, so far.
    n_before: u64,
    is_at_chunk_start: bool,
}

/// One record, and what the stream knows of its place.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The record.
    pub record: &'a Record,
    /// Whether it is the last of its thread.
    pub is_last_of_thread: bool,
    /// Set at the first record of a chunk.
    pub chunk: Option<ChunkStart<'a>>,
}

/// A chunk that begins with the record at hand.
#[derive(Debug, Clone, Copy)]
pub struct ChunkStart<'a> {
    /// Calls that had begun on each communicator.
    pub sequences: &'a [SequenceEntry],
    /// Whether records of the thread are missing right before it.
    pub is_behind_gap: bool,
}

impl<'a> CallStream<'a> {
    /// The stream over all chunks of a rank file, which are ordered by thread and number.
    #[must_use]
    pub fn new(chunks: &'a [Chunk<'a>]) -> Self {
        let threads = chunks
            .chunk_by(|a, b| a.header.thread == b.header.thread)
            .map(ThreadStream::new)
            .collect();
        Self { threads }
    }

    /// Whether the process made calls from one thread only, so that the sequence tables must
    /// agree with the records exactly.
    #[must_use]
    pub fn is_single_threaded(&self) -> bool {
        self.threads.len() < 2
    }
}

impl<'a> Iterator for CallStream<'a> {
    type Item = Step<'a>;

    #[inline]
    fn next(&mut self) -> Option<Step<'a>> {
        if let [thread] = &mut self.threads[..] {
            return thread.next();
        }
        // Few threads: looking at the head of each is quicker than keeping a heap.
        let earliest = self
            .threads
            .iter()
            .enumerate()
            .filter_map(|(i, thread)| Some((thread.records.first()?.enter.get(), i)))
            .min()?;
        self.threads[earliest.1].next()
    }
}

impl<'a> ThreadStream<'a> {
    fn new(chunks: &'a [Chunk<'a>]) -> Self {
        let mut this = Self {
            chunks,
            records: &[],
            n_before: 0,
            is_at_chunk_start: false,
        };
        this.enter_chunk();
        this
    }

    /// Goes to the first chunk that has records.
    fn enter_chunk(&mut self) {
        while let Some(chunk) = self.chunks.first() {
            self.records = chunk.records;
            self.is_at_chunk_start = true;
            if !self.records.is_empty() {
                break;
            }
            self.chunks = &self.chunks[1..];
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Step<'a>> {
        let (record, rest) = self.records.split_first()?;
        self.records = rest;
        let mut chunk = None;
        if self.is_at_chunk_start {
            self.is_at_chunk_start = false;
            let this = &self.chunks[0];
            let first_record = this.header.first_record.get();
            chunk = Some(ChunkStart {
                sequences: this.sequences,
                is_behind_gap: first_record > self.n_before,
            });
            self.n_before = self.n_before.max(first_record);
        }
        self.n_before += 1;
        if rest.is_empty() {
            self.chunks = &self.chunks[1..];
            self.enter_chunk();
        }
        Some(Step {
            record,
            is_last_of_thread: self.records.is_empty(),
            chunk,
        })
    }
}

//! The calls of one process, in the order in which they began: its threads merged by enter time.

use collbench_formats::{Chunk, Record, SequenceEntry};

use crate::stamps::{Contradiction, ImpossibleStamp, ImpossibleStamps, StampLimits};

/// Impossible stamps of a thread that are told one by one.
const MAX_LISTED: usize = 4;

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
    limits: StampLimits,
    /// Between what the calls of the first of `chunks` must begin, ticks.
    enter_limits: (u64, u64),
    impossible: ImpossibleStamps,
}

/// One record, and what the stream knows of its place.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The record.
    pub record: &'a Record,
    /// When the call began, ticks; where its stamps cannot be true, a guess between its
    /// neighbours.
    pub enter: u64,
    /// Whether its stamps can be true.
    pub is_possible: bool,
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
    /// The stream over all chunks of a rank file, which are ordered by thread and number;
    /// `limits` are those of the file.
    #[must_use]
    pub fn new(chunks: &'a [Chunk<'a>], limits: StampLimits) -> Self {
        let threads = chunks
            .chunk_by(|a, b| a.header.thread == b.header.thread)
            .map(|chunks| ThreadStream::new(chunks, limits))
            .collect();
        Self { threads }
    }

    /// Whether the process made calls from one thread only, so that the sequence tables must
    /// agree with the records exactly.
    #[must_use]
    pub fn is_single_threaded(&self) -> bool {
        self.threads.len() < 2
    }

    /// The impossible stamps met so far.
    #[must_use]
    pub fn impossible(&self) -> ImpossibleStamps {
        let mut all = ImpossibleStamps::default();
        for thread in &self.threads {
            all.n += thread.impossible.n;
            all.listed.extend_from_slice(&thread.impossible.listed);
        }
        all.listed.truncate(MAX_LISTED);
        all
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
            .filter_map(|(i, thread)| Some((thread.next_enter()?, i)))
            .min()?;
        self.threads[earliest.1].next()
    }
}

impl<'a> ThreadStream<'a> {
    fn new(chunks: &'a [Chunk<'a>], limits: StampLimits) -> Self {
        let mut this = Self {
            chunks,
            records: &[],
            n_before: 0,
            is_at_chunk_start: false,
            limits,
            enter_limits: (0, u64::MAX),
            impossible: ImpossibleStamps::default(),
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
                let next = self.chunks.get(1).map(|next| &next.header.anchor);
                self.enter_limits = self.limits.of_chunk(&chunk.header.anchor, next);
                break;
            }
            self.chunks = &self.chunks[1..];
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Step<'a>> {
        let (record, rest) = self.records.split_first()?;
        let (mut enter, mut is_possible) = (record.enter.get(), true);
        if !self.limits.allow(self.enter_limits, record)
            && let Some(contradiction) = self.limits.contradiction(self.enter_limits, record)
        {
            enter = self.guess_enter(record);
            is_possible = false;
            self.note(contradiction);
        }
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
        // A damaged header may have said any number.
        self.n_before = self.n_before.saturating_add(1);
        if rest.is_empty() {
            self.chunks = &self.chunks[1..];
            self.enter_chunk();
        }
        Some(Step {
            record,
            enter,
            is_possible,
            is_last_of_thread: self.records.is_empty(),
            chunk,
        })
    }

    /// When the next call began, for merging.
    #[inline]
    fn next_enter(&self) -> Option<u64> {
        let record = self.records.first()?;
        if self.limits.allow(self.enter_limits, record) {
            return Some(record.enter.get());
        }
        let contradiction = self.limits.contradiction(self.enter_limits, record);
        Some(match contradiction {
            Some(_) => self.guess_enter(record),
            None => record.enter.get(),
        })
    }

    /// About when the call at hand began, whose stamps cannot both be true: the first of them
    /// that lies between its neighbours in the thread, else the nearer neighbour.
    #[cold]
    fn guess_enter(&self, record: &Record) -> u64 {
        let (begin, end) = self.enter_limits;
        let within = |enter: u64| enter.max(begin).min(end);
        let chunk_records = self.chunks[0].records;
        let at = chunk_records.len() - self.records.len();
        let before = match at.checked_sub(1) {
            Some(previous) => within(chunk_records[previous].enter.get()),
            None => begin,
        };
        let after = match self.records.get(1) {
            Some(next) => within(next.enter.get()),
            None => end,
        };
        let (enter, leave) = (record.enter.get(), record.leave.get());
        let is_last = self.records.len() == 1 && self.chunks.len() == 1;
        let is_between = |stamp: &u64| (before..=after).contains(stamp);
        match [enter, leave].into_iter().find(is_between) {
            Some(stamp) => stamp,
            // The end may be a day away.
            None if enter < before || is_last => before,
            None => after.max(before),
        }
    }

    /// Notes what is wrong with the record at hand.
    #[cold]
    fn note(&mut self, contradiction: Contradiction) {
        self.impossible.n += 1;
        if self.impossible.listed.len() == MAX_LISTED {
            return;
        }
        let chunk = &self.chunks[0];
        let record = chunk.records.len() - self.records.len();
        let content = chunk.offset + u64::from(chunk.header.content_at.get());
        self.impossible.listed.push(ImpossibleStamp {
            offset: content + (record * size_of::<Record>()) as u64,
            thread: chunk.header.thread.get(),
            chunk: chunk.header.ordinal.get(),
            record,
            contradiction,
        });
    }
}

//! The calls of one process, in the order in which they began: its threads merged by enter time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use collbench_formats::{Chunk, Record, Records, SequenceEntry};

use crate::calls::stamps::{Contradiction, ImpossibleStamp, ImpossibleStamps, StampLimits};
use crate::trace::record_at::RecordAt;
use crate::trace::records::{RecordReader, Slice};

/// Impossible stamps of a thread that are listed.
const MAX_LISTED: usize = 4;

/// Reads the records of a process, some at a time.
#[derive(Debug)]
pub(crate) struct CallStream {
    threads: Vec<ThreadStream>,
    /// Where there are several threads: when the next call of each began, and the thread. The
    /// first is at the top.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    limits: StampLimits,
    /// Up to where any thread has given back.
    given_back: u64,
}

#[derive(Debug)]
struct ThreadStream {
    /// Indexes of the chunks that are left; the first is being read.
    chunks: Range<usize>,
    /// Records of that one that were delivered.
    at: usize,
    /// Records delivered, and lost, so far.
    n_before: u64,
    /// Between what the calls of the chunk must begin, ticks.
    enter_limits: (u64, u64),
    /// Where those that were delivered end.
    read_to: u64,
    /// The file up to here is done with.
    given_back: u64,
    impossible: ImpossibleStamps,
}

/// Consecutive records of one thread, also consecutive in the order of the process's calls.
#[derive(Debug, Clone)]
pub(crate) struct Batch<'a> {
    /// At least one.
    pub(crate) records: Slice<'a>,
    /// Location of the first of them.
    pub(crate) location: RecordAt,
    /// Whether their stamps can be true. If not it is one record, which began at about
    /// [`guess_enter`].
    pub(crate) is_possible: bool,
    /// How many of them, from the first, are known to be of calls that have returned and began one after the other.
    pub(crate) n_in_order: usize,
    /// Set where a chunk begins with the first of them.
    pub(crate) chunk: Option<ChunkStart<'a>>,
}

/// A chunk that begins with the record at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkStart<'a> {
    /// Calls that had begun on each communicator.
    pub(crate) sequences: &'a [SequenceEntry],
    /// Whether records of the thread are missing right before it.
    pub(crate) is_behind_gap: bool,
}

impl CallStream {
    /// The stream over all chunks of a rank file, which are ordered by thread and number;
    /// `limits` are those of the file.
    /// Of a ring, what is missing before the first chunk of a thread is no gap.
    pub(crate) fn new(reader: &RecordReader<'_>, limits: StampLimits, is_ring: bool) -> Self {
        let chunks = reader.chunks();
        let mut this = Self {
            threads: Vec::new(),
            heads: BinaryHeap::new(),
            limits,
            given_back: 0,
        };
        let mut begin = 0;
        for of_thread in chunks.chunk_by(|a, b| a.thread == b.thread) {
            let end = begin + of_thread.len();
            let first = of_thread.first().filter(|_| is_ring);
            let mut thread = ThreadStream {
                chunks: begin..end,
                at: 0,
                n_before: first.map_or(0, |chunk| chunk.header.first_record.get()),
                enter_limits: (0, u64::MAX),
                read_to: 0,
                given_back: 0,
                impossible: ImpossibleStamps::default(),
            };
            thread.enter_chunk(chunks, &limits);
            this.threads.push(thread);
            begin = end;
        }
        if this.threads.len() > 1 {
            let heads = this.threads.iter().enumerate();
            let heads =
                heads.filter_map(|(i, t)| Some(Reverse((t.next_enter(reader, &limits)?, i))));
            this.heads = heads.collect();
        }
        this
    }

    /// Whether the process made calls from one thread only, so that the sequence tables must
    /// agree with the records exactly.
    pub(crate) fn is_single_threaded(&self) -> bool {
        self.threads.len() < 2
    }

    /// The impossible stamps met so far.
    pub(crate) fn impossible(&self) -> ImpossibleStamps {
        let mut all = ImpossibleStamps::default();
        for thread in &self.threads {
            all.n += thread.impossible.n;
            all.listed.extend_from_slice(&thread.impossible.listed);
        }
        all.listed.truncate(MAX_LISTED);
        all
    }

    /// The next records, no more than `limit`; `None` at the end.
    pub(crate) fn next<'a>(
        &mut self,
        reader: &RecordReader<'a>,
        limit: usize,
    ) -> Option<Batch<'a>> {
        let limits = &self.limits;
        if let [thread] = &mut self.threads[..] {
            return thread.next(reader, limits, limit, None);
        }
        let Reverse((_, thread)) = self.heads.pop()?;
        // Up to where the other thread begins its call; at the same tick the lower one is first.
        let until = self
            .heads
            .peek()
            .map(|Reverse((enter, other))| enter.saturating_add(u64::from(thread < *other)));
        let stream = &mut self.threads[thread];
        let batch = stream.next(reader, limits, limit, until);
        if let Some(enter) = stream.next_enter(reader, limits) {
            self.heads.push(Reverse((enter, thread)));
        }
        batch
    }

    /// What of the file was read and not given back before, `[from, to)` in bytes, thread by
    /// thread, where it is `step` bytes or more.
    pub(crate) fn done_with(&mut self, step: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let most = &mut self.given_back;
        self.threads.iter_mut().filter_map(move |thread| {
            let (from, at) = (thread.given_back, thread.read_to);
            (at >= from + step).then(|| {
                thread.given_back = at;
                *most = at.max(*most);
                (from, at)
            })
        })
    }

    /// Up to where any thread has given back.
    pub(crate) fn given_back(&self) -> u64 {
        self.given_back
    }
}

impl ThreadStream {
    /// Goes to the first chunk that has records.
    fn enter_chunk(&mut self, chunks: &[Chunk<'_>], limits: &StampLimits) {
        self.at = 0;
        while let Some(chunk) = chunks[self.chunks.clone()].first() {
            if !chunk.records.is_empty() {
                self.enter_limits = enter_limits(chunks, limits, self.chunks.start);
                break;
            }
            self.chunks.start += 1;
        }
    }

    fn next<'a>(
        &mut self,
        reader: &RecordReader<'a>,
        limits: &StampLimits,
        limit: usize,
        until: Option<u64>,
    ) -> Option<Batch<'a>> {
        let chunks = reader.chunks();
        let chunk = chunks[self.chunks.clone()].first()?;
        let location = RecordAt {
            chunk: self.chunks.start as u32,
            record: self.at as u32,
        };
        let records = reader.slice(location, limit);
        let is_allowed = |record: &Record| {
            limits.allow(self.enter_limits, record)
                || limits.contradiction(self.enter_limits, record).is_none()
        };
        let (n, n_in_order) = match until {
            None => {
                let n_in_order = limits.n_in_order(self.enter_limits, &records);
                let n = self.n_allowed(&records, n_in_order, limits);
                (n, n_in_order)
            }
            Some(until) => {
                let records = records.iter().enumerate();
                let allowed = records
                    .take_while(|(i, r)| is_allowed(r) && (*i == 0 || r.enter.get() < until));
                (allowed.count(), 0)
            }
        };
        let is_possible = n > 0;
        let records = records.first(n.max(1));
        if !is_possible {
            self.note(chunk, &records[0], limits);
        }
        let start = (self.at == 0).then(|| {
            let first_record = chunk.header.first_record.get();
            let is_behind_gap = first_record > self.n_before;
            self.n_before = self.n_before.max(first_record);
            ChunkStart {
                sequences: chunk.sequences,
                is_behind_gap,
            }
        });
        self.at += records.len();
        let last = chunk.span(self.at - 1, 1);
        self.read_to = match &chunk.records {
            // Its block is looked at again.
            Records::Packed(packed) if self.at < packed.len() => last.0,
            _ => last.1,
        };
        // A damaged header may have said any number.
        self.n_before = self.n_before.saturating_add(records.len() as u64);
        if self.at == chunk.records.len() {
            self.chunks.start += 1;
            self.enter_chunk(chunks, limits);
        }
        Some(Batch {
            records,
            location,
            is_possible,
            n_in_order,
            chunk: start,
        })
    }

    /// How many of some records have stamps that can be true, up to the first that has not; so have the first `n`.
    fn n_allowed(&self, records: &[Record], mut n: usize, limits: &StampLimits) -> usize {
        let within = self.enter_limits;
        loop {
            let rest = records[n..].iter();
            n += rest.take_while(|r| limits.allow(within, r)).count();
            match records.get(n) {
                Some(record) if limits.contradiction(within, record).is_none() => n += 1,
                _ => return n,
            }
        }
    }

    /// When the next call began, for merging.
    fn next_enter(&self, reader: &RecordReader<'_>, limits: &StampLimits) -> Option<u64> {
        if self.chunks.is_empty() {
            return None;
        }
        let location = RecordAt {
            chunk: self.chunks.start as u32,
            record: self.at as u32,
        };
        let record = &reader.record(location);
        let is_wrong = !limits.allow(self.enter_limits, record)
            && limits.contradiction(self.enter_limits, record).is_some();
        Some(if is_wrong {
            guess_enter(reader, limits, location)
        } else {
            record.enter.get()
        })
    }

    /// Notes what is wrong with the record at hand.
    #[cold]
    fn note(&mut self, chunk: &Chunk<'_>, record: &Record, limits: &StampLimits) {
        let contradiction: Option<Contradiction> = limits.contradiction(self.enter_limits, record);
        self.impossible.n += 1;
        let Some(contradiction) = contradiction else {
            return;
        };
        if self.impossible.listed.len() < MAX_LISTED {
            self.impossible.listed.push(ImpossibleStamp {
                offset: chunk.content + (self.at * size_of::<Record>()) as u64,
                thread: chunk.thread,
                chunk: chunk.ordinal,
                record: self.at,
                contradiction,
            });
        }
    }
}

/// Between what the calls of a chunk must begin, ticks.
fn enter_limits(chunks: &[Chunk<'_>], limits: &StampLimits, chunk: usize) -> (u64, u64) {
    let this = &chunks[chunk];
    let next = chunks.get(chunk + 1);
    let next = next.filter(|next| next.thread == this.thread);
    limits.of_chunk(&this.header.anchor, next.map(|next| &next.header.anchor))
}

/// About when a call began, whose stamps cannot both be true, in ticks: the first of them that
/// lies between its neighbours in the thread, else the nearer neighbour.
#[cold]
pub(crate) fn guess_enter(
    reader: &RecordReader<'_>,
    limits: &StampLimits,
    location: RecordAt,
) -> u64 {
    let chunks = reader.chunks();
    let (chunk, at) = (location.chunk as usize, location.record as usize);
    let (begin, end) = enter_limits(chunks, limits, chunk);
    let within = |enter: u64| enter.max(begin).min(end);
    let n_records = chunks[chunk].records.len();
    let record_at = |at: usize| {
        let record = at as u32;
        reader.record(RecordAt { record, ..location })
    };
    let record = record_at(at);
    let before = match at.checked_sub(1) {
        Some(previous) => within(record_at(previous).enter.get()),
        None => begin,
    };
    let is_last_of_chunk = at + 1 == n_records;
    let after = if is_last_of_chunk {
        end
    } else {
        within(record_at(at + 1).enter.get())
    };
    let (enter, leave) = (record.enter.get(), record.leave.get());
    let behind = chunks[chunk + 1..].iter();
    let mut behind = behind.take_while(|next| next.thread == chunks[chunk].thread);
    let is_last = is_last_of_chunk && behind.all(|next| next.records.is_empty());
    let is_between = |stamp: &u64| (before..=after).contains(stamp);
    match [enter, leave].into_iter().find(is_between) {
        Some(stamp) => stamp,
        // The end may be a day away.
        None if enter < before || is_last => before,
        None => after.max(before),
    }
}

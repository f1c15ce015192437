//! The passes of threads that make no calls of their own.
//!
//! Threads of a process may be leaves of a tree while only one of them makes the recorded call. Their
//! passes are no records of that call, and may be earlier or later than it. They belong to the call of
//! their process on the same tree with the same number. The calls on a tree follow one another in
//! each thread, so they are found by bisection; mostly the next one is behind the last one found.

use std::collections::HashMap;

use collbench_formats::{CollectorPass, Record};

use crate::trace::record_at::RecordAt;
use crate::trace::records::RecordReader;

/// Records among which there is a pass on a tree, if the thread has any more of them: other trees
/// are used in between.
const MAX_OTHERS: u64 = 4096;
/// Records read at a time.
const SLICE: usize = 64;

/// The records of one thread.
#[derive(Debug)]
struct ThreadRecords {
    thread: u32,
    /// Its first chunk.
    first_chunk: u32,
    /// By chunk: how many records are before it. And of all of them.
    starts: Vec<u64>,
    /// Behind the last passes that were found.
    next: u64,
}

/// Where the passes of the threads of each process were found last.
#[derive(Debug, Default)]
pub(crate) struct ThreadPasses {
    of_process: HashMap<usize, Vec<ThreadRecords>>,
}

impl ThreadPasses {
    /// Passes to `add` the passes that threads other than that of the call at a location have recorded
    /// in the same call on a tree as `own`, which that call has.
    pub(crate) fn each(
        &mut self,
        (process, reader): (usize, &RecordReader<'_>),
        (location, own): (RecordAt, CollectorPass),
        mut add: impl FnMut(&Record),
    ) {
        let threads = self.of_process.entry(process);
        let threads = threads.or_insert_with(|| threads_of(reader));
        let caller = reader.chunks()[location.chunk as usize].thread;
        for of in threads.iter_mut().filter(|of| of.thread != caller) {
            of.each_of_call(reader, own, &mut add);
        }
    }
}

/// The threads of a process.
fn threads_of(reader: &RecordReader<'_>) -> Vec<ThreadRecords> {
    let mut threads: Vec<ThreadRecords> = Vec::new();
    for (number, chunk) in (0u32..).zip(reader.chunks()) {
        if threads
            .last()
            .is_none_or(|last| last.thread != chunk.thread)
        {
            threads.push(ThreadRecords {
                thread: chunk.thread,
                first_chunk: number,
                starts: vec![0],
                next: 0,
            });
        }
        if let Some(last) = threads.last_mut() {
            let n_before = last.starts[last.starts.len() - 1];
            last.starts.push(n_before + chunk.records.len() as u64);
        }
    }
    threads
}

impl ThreadRecords {
    fn n_records(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    fn location(&self, at: u64) -> RecordAt {
        let chunk = self.starts.partition_point(|&start| start <= at) - 1;
        RecordAt {
            chunk: self.first_chunk + chunk as u32,
            record: (at - self.starts[chunk]) as u32,
        }
    }

    /// Passes the records from one on to `look`, until it has seen enough.
    fn each_from(
        &self,
        reader: &RecordReader<'_>,
        mut at: u64,
        mut look: impl FnMut(u64, &Record) -> bool,
    ) {
        while at < self.n_records() {
            let records = reader.slice(self.location(at), SLICE);
            for record in records.iter() {
                if !look(at, record) {
                    return;
                }
                at += 1;
            }
        }
    }

    /// The number of the call of the next pass on a tree; `None` if there is none any more.
    fn call_of_next(&self, reader: &RecordReader<'_>, from: u64, tree: u32) -> Option<u32> {
        let mut found = None;
        self.each_from(reader, from, |at, record| {
            let pass = record.collector_pass().filter(|pass| pass.tree == tree);
            found = pass.map(|pass| pass.call);
            found.is_none() && at - from < MAX_OTHERS
        });
        found
    }

    /// Passes the passes of a call on a tree to `add`.
    fn each_of_call(
        &mut self,
        reader: &RecordReader<'_>,
        own: CollectorPass,
        add: &mut impl FnMut(&Record),
    ) {
        let is_before = |call: Option<u32>| {
            // Numbers wrap.
            call.is_some_and(|call| call.wrapping_sub(own.call).cast_signed() < 0)
        };
        let mut from = self.next;
        if self.call_of_next(reader, from, own.tree) != Some(own.call) {
            let (mut low, mut high) = (0, self.n_records());
            while low < high {
                let middle = low + (high - low) / 2;
                if is_before(self.call_of_next(reader, middle, own.tree)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            from = low;
        }
        let mut last = None;
        self.each_from(reader, from, |at, record| {
            let pass = record.collector_pass().filter(|pass| pass.tree == own.tree);
            match pass {
                Some(pass) if pass.call == own.call => {
                    add(record);
                    last = Some(at);
                    true
                }
                Some(_) => false,
                None => at - last.unwrap_or(from) < MAX_OTHERS,
            }
        });
        if let Some(last) = last {
            self.next = last + 1;
        }
    }
}

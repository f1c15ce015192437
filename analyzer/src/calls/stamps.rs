//! Impossible time stamps, detected by the clock readings of the file around them.
//!
//! Records have no checksum: one flipped bit moves a call by days. The anchors have one (but for
//! that at the end), and stand between the calls: a call begins after its chunk was opened and
//! before the next one was, and ends before the end. A stamp that contradicts them is damage: the
//! call keeps its position in the order of calls, and its times enter no figure.
//!
//! A file that does not end in order has no anchor at its end, and its last call may come long
//! after all others: everybody may have waited for it. So there the limit is a [`DAY_NS`] after
//! the latest reading of the same clock, or the latest call that another one follows, in any
//! file. An hour would call true stamps wrong where a rank was silent for longer.

use std::collections::BTreeMap;
use std::fmt;

use collbench_formats::{Anchor, Operation, RankTrace, Record};

use crate::time::clocks::Clocks;
use crate::trace::run::{Run, latest_sure};

/// How long a process that did not end in order may have run on after its last known stamp.
const DAY_NS: u64 = 86_400_000_000_000;

/// Between what the stamps of a file must lie, ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StampLimits {
    /// The begin of MPI in the process.
    first: u64,
    /// Its end.
    last: u64,
    /// Steps of the clock.
    granularity: u64,
}

impl StampLimits {
    /// No stamp is earlier, ticks.
    pub(crate) fn first_ticks(&self) -> u64 {
        self.first
    }

    /// No stamp is later, ticks.
    pub(crate) fn last_ticks(&self) -> u64 {
        self.last
    }

    /// The limits of each process of a run.
    #[must_use]
    pub(crate) fn of_run(run: &Run<'_>, clocks: &Clocks) -> Vec<Self> {
        let clock_of = |process: usize| {
            let source = run.processes[process].trace.identity.clock.source;
            (clocks.processes[process].host, source as u8)
        };
        let mut seen: BTreeMap<(usize, u8), u64> = BTreeMap::new();
        for (process, rank_file) in run.processes.iter().enumerate() {
            let latest = seen.entry(clock_of(process)).or_default();
            *latest = (*latest).max(latest_sure(&rank_file.trace));
        }
        let processes = run.processes.iter().enumerate();
        processes
            .map(|(process, rank_file)| {
                let trace = &rank_file.trace;
                let granularity = trace.identity.clock.granularity_ticks;
                let init = trace.identity.anchors.first();
                let unseen = clocks.processes[process].span_ticks(DAY_NS);
                Self {
                    first: init.map_or(0, |&init| earliest(&init.into(), granularity)),
                    last: match end_anchor(trace) {
                        Some(end) => latest(&end, granularity),
                        None => match seen[&clock_of(process)] {
                            0 => u64::MAX,
                            seen => seen.saturating_add(unseen),
                        },
                    },
                    granularity,
                }
            })
            .collect()
    }

    /// Between what the calls of a chunk must begin, by its anchor and that of the next one of
    /// its thread.
    pub(crate) fn of_chunk(&self, opened: &Anchor, next: Option<&Anchor>) -> (u64, u64) {
        let next = next.map_or(u64::MAX, |next| latest(next, self.granularity));
        (earliest(opened, self.granularity), next.min(self.last))
    }

    /// Whether the stamps of a record can be true in a chunk with the limits `begin..=end` of
    /// its enters. `MPI_Init`, whose enter was read before there was a chunk, is not looked at
    /// apart: see [`StampLimits::contradiction`].
    #[inline]
    pub(crate) fn allow(&self, (begin, end): (u64, u64), record: &Record) -> bool {
        let (enter, leave) = (record.enter.get(), record.leave.get());
        begin <= enter && enter <= end && (leave == 0 || (enter <= leave && leave <= self.last))
    }

    /// How many of some records, from the first, are of calls that have returned and began one after the other, all of whose
    /// stamps these limits [allow](Self::allow).
    #[inline]
    pub(crate) fn n_in_order(&self, (begin, end): (u64, u64), records: &[Record]) -> usize {
        let mut reached = begin.max(1);
        let is_in_order = |record: &&Record| {
            let (enter, leave) = (record.enter.get(), record.leave.get());
            let before = std::mem::replace(&mut reached, enter);
            before <= enter && enter <= leave && leave <= self.last
        };
        let n = records.iter().take_while(is_in_order).count();
        match records[..n].last() {
            Some(last) if last.enter.get() > end => 0,
            _ => n,
        }
    }

    /// What is wrong with the stamps of a record, if anything is.
    pub(crate) fn contradiction(
        &self,
        (begin, end): (u64, u64),
        record: &Record,
    ) -> Option<Contradiction> {
        // What a later version may store in other records is not known.
        let operation = record.operation()?;
        let begin = match operation {
            Operation::Init | Operation::InitThread | Operation::SessionInit => self.first,
            _ => begin,
        };
        // The records of one MPI_Startall have one enter, and may stand on both sides of the
        // opening of a chunk: it was opened for one of them.
        let end = match record.persistent_start() {
            Some(start) if start.n_together > 1 => self.last,
            _ => end,
        };
        let (enter, leave) = (record.enter.get(), record.leave.get());
        let (stamp, limit, found) = if enter < begin {
            ("enter", Limit::AtLeast(begin), enter)
        } else if enter > end {
            ("enter", Limit::AtMost(end), enter)
        } else if leave != 0 && leave < enter {
            ("leave", Limit::AtLeast(enter), leave)
        } else if leave > self.last {
            ("leave", Limit::AtMost(self.last), leave)
        } else {
            return None;
        };
        Some(Contradiction {
            operation,
            stamp,
            limit,
            found,
        })
    }
}

/// No stamp behind the anchor is earlier; 0 without a reading.
fn earliest(anchor: &Anchor, granularity: u64) -> u64 {
    let slack = anchor.width_ticks.get().saturating_add(granularity);
    anchor.ticks.get().saturating_sub(slack)
}

/// No stamp before the anchor is later.
fn latest(anchor: &Anchor, granularity: u64) -> u64 {
    if !anchor.is_some() {
        return u64::MAX;
    }
    let slack = anchor.width_ticks.get().saturating_add(granularity);
    anchor.ticks.get().saturating_add(slack)
}

/// The anchor at the end of a file that ended in order. In old files no checksum covers it: one
/// before the last chunk was opened is none.
fn end_anchor(trace: &RankTrace<'_>) -> Option<Anchor> {
    let (end, _) = trace.header.end().ok()??;
    let last_opened = trace.chunks.iter().map(|chunk| chunk.opened_ticks).max();
    let is_true = end.is_some() && Some(end.ticks.get()) >= last_opened;
    is_true.then_some(end)
}

/// Stamps that cannot be true, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// What was called.
    pub operation: Operation,
    /// `enter` or `leave`.
    pub stamp: &'static str,
    /// What it would have to be.
    pub limit: Limit,
    /// What it is, ticks.
    pub found: u64,
}

/// A limit of a stamp, ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Not before.
    AtLeast(u64),
    /// Not after.
    AtMost(u64),
}

/// A record whose stamps cannot be true, and its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImpossibleStamp {
    /// Where the record begins in the file, in bytes.
    pub offset: u64,
    /// The thread.
    pub thread: u32,
    /// Number of the chunk among those of the thread.
    pub chunk: u32,
    /// Number of the record in the chunk, from 0.
    pub record: usize,
    /// What is wrong.
    pub contradiction: Contradiction,
}

impl fmt::Display for ImpossibleStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction {
            operation,
            stamp,
            limit,
            found,
        } = self.contradiction;
        write!(
            f,
            "offset {}: impossible time stamp ({}, record {} of chunk {} of thread {}): {stamp} \
             expected ",
            self.offset,
            operation.name(),
            self.record,
            self.chunk,
            self.thread
        )?;
        match limit {
            Limit::AtLeast(ticks) => write!(f, "at {ticks} ticks or later")?,
            Limit::AtMost(ticks) => write!(f, "at {ticks} ticks or earlier")?,
        }
        write!(f, ", found {found}")
    }
}

/// The impossible stamps of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImpossibleStamps {
    /// Number of records.
    pub n: u64,
    /// The first of them of each thread, by thread and time.
    pub listed: Vec<ImpossibleStamp>,
}

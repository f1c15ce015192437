//! The calls of a block in columns, process by process: the records of one process are contiguous, those of an instance are not.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{Record, RecordWord};

use crate::calls::process::Process;
use crate::calls::queue::Queue;
use crate::instances::member_calls::MemberCalls;
use crate::trace::record_at::{CallOrder, RecordRun};
use crate::trace::records::LastBlock;

/// Consecutive positions of a call order, to which no further calls can be added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    pub(crate) communicator: usize,
    pub(crate) call_order: CallOrder,
    /// The first position.
    pub(crate) from: u64,
    /// The first position behind.
    pub(crate) to: u64,
}

/// What is found of a row while its calls are decoded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Row {
    /// Second word of the first member's record.
    pub(crate) word: RecordWord,
    pub(crate) root: i32,
    pub(crate) n_calls: u32,
    /// The phase of all calls so far.
    pub(crate) phase: i64,
    /// Bits in which the words differ.
    pub(crate) differing: u64,
    /// Whether a root differs, a call has not returned, or its times cannot be true.
    pub(crate) is_irregular: bool,
}

/// Distance between rows: not a power of two, so that a column does not map to a single cache set.
pub(crate) fn stride(n_members: usize) -> usize {
    n_members.next_multiple_of(8) + 8
}

/// The columns of a block while they are filled: a row of cells for each row.
pub(crate) struct Columns<'d> {
    pub(crate) rows: &'d mut [Row],
    pub(crate) enters: &'d mut [Timestamp<Global>],
    pub(crate) leaves: &'d mut [Timestamp<Global>],
    /// `None`: they are not kept.
    pub(crate) words: Option<&'d mut [RecordWord]>,
    /// Distance between the rows of cells.
    pub(crate) stride: usize,
}

impl Columns<'_> {
    /// Takes the calls of a slot; gives how many there are.
    pub(crate) fn fill(
        &mut self,
        slot: usize,
        block: &Block,
        source: &MemberCalls<'_, '_>,
    ) -> usize {
        let (process, Some(queue)) = (source.process, source.queue) else {
            return 0;
        };
        if slot == 0 {
            each_call(block, process, queue, |at, record| {
                let row = &mut self.rows[at];
                (row.word, row.root) = (record.word(), record.root.get());
            });
        }
        let (clock, bounded) = (process.clock(), process.bounded_clock());
        let mut last = LastBlock::default();
        let (mut n_calls, mut are_alike) = (0, true);
        let mut from = block.from;
        while from < block.to
            && let Some(run) = queue.within(from, block.to).next()
        {
            let (first_record, records) = process.reader().around(run.location, &mut last);
            let contiguous = Contiguous {
                chunk: run.location.chunk,
                first_record,
                records,
                are_bounded: bounded.is_some() && run.is_possible,
            };
            let runs = queue.within(from, block.to);
            let put = match bounded {
                Some(clock) if run.is_possible => {
                    let both = |enter, leave| [clock.global(enter), clock.global(leave)];
                    self.put_stamps(block.from, slot, runs, &contiguous, both)
                }
                _ => {
                    let clock = clock.for_many();
                    let both = |enter, leave| clock.both(enter, leave);
                    self.put_stamps(block.from, slot, runs, &contiguous, both)
                }
            };
            from = put.to;
            n_calls += put.n_calls;
            are_alike &= put.are_alike;
        }
        if !are_alike {
            each_call(block, process, queue, |at, record| {
                let row = &mut self.rows[at];
                row.differing |= record.word().bits() ^ row.word.bits();
                row.is_irregular |= record.root.get() != row.root;
            });
        }
        if let Some(words) = &mut self.words {
            each_call(block, process, queue, |at, record| {
                words[at * self.stride + slot] = record.word();
            });
        }
        n_calls
    }

    /// Puts enters and leaves of the calls of a slot into their rows, of which the first is at a position, up to a call whose
    /// record is not among the contiguous ones.
    // Apart: with less around it, more of it is in registers.
    #[inline(never)]
    fn put_stamps(
        &mut self,
        position: u64,
        slot: usize,
        runs: impl Iterator<Item = RecordRun>,
        contiguous: &Contiguous<'_>,
        both: impl Fn(u64, u64) -> [Timestamp<Global>; 2],
    ) -> Put {
        let stride = self.stride;
        // One length to check.
        let enters = &mut self.enters[..];
        let leaves = &mut self.leaves[..enters.len()];
        let (mut to, mut n_calls) = (position, 0);
        let (mut words, mut roots) = (0, 0);
        for run in runs {
            let Some(records) = contiguous.of(&run) else {
                break;
            };
            let first = (run.position - position) as usize;
            let rows = &mut self.rows[first..][..records.len()];
            let mut at = first * stride + slot;
            for (row, record) in rows.iter().zip(records) {
                words |= record.word().bits() ^ row.word.bits();
                roots |= record.root.get() ^ row.root;
                [enters[at], leaves[at]] = both(record.enter.get(), record.leave.get());
                at += stride;
            }
            if !run.is_possible || !run.has_returned {
                rows.iter_mut().for_each(|row| row.is_irregular = true);
            }
            n_calls += records.len();
            to = run.position + records.len() as u64;
            if records.len() < run.n as usize {
                break;
            }
        }
        Put {
            to,
            n_calls,
            are_alike: words == 0 && roots == 0,
        }
    }
}

/// What was put into columns.
struct Put {
    /// The position behind the last call.
    to: u64,
    n_calls: usize,
    /// Whether the calls are the same as those of the first member: mostly they are.
    are_alike: bool,
}

/// Records that lie one behind the other in memory.
struct Contiguous<'r> {
    chunk: u32,
    /// Index of the first of them in the chunk.
    first_record: usize,
    records: &'r [Record],
    /// Whether only those whose stamps can be true are looked at.
    are_bounded: bool,
}

impl<'r> Contiguous<'r> {
    /// Those of a run, or of its begin; `None` if it does not begin among them.
    #[inline]
    fn of(&self, run: &RecordRun) -> Option<&'r [Record]> {
        if run.location.chunk != self.chunk || self.are_bounded && !run.is_possible {
            return None;
        }
        let at = (run.location.record as usize).wrapping_sub(self.first_record);
        match self.records.get(at..)? {
            [] => None,
            records => Some(&records[..records.len().min(run.n as usize)]),
        }
    }
}

/// Passes the calls of a process in a block to `look`, each with the number of its row.
#[inline]
fn each_call(
    block: &Block,
    process: &Process<'_>,
    queue: &Queue,
    mut look: impl FnMut(usize, &Record),
) {
    let mut last = LastBlock::default();
    for run in queue.within(block.from, block.to) {
        let first = (run.position - block.from) as usize;
        process.reader().each(&run, &mut last, |n_before, records| {
            for (at, record) in (first + n_before..).zip(records) {
                look(at, record);
            }
        });
    }
}

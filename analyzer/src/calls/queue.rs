//! The calls of one process in one call order of a communicator, waiting for those of the other
//! members.
//!
//! A queue holds locations of records, not calls: the calls themselves stay in the trace file.
//! Consecutive records cost as much as one. So memory hardly depends on how far one process is
//! ahead of another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use collbench_formats::Record;

use crate::calls::outstanding::Outstanding;
use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::{RecordAt, RecordRun};

/// What consecutive calls have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alike {
    /// Whether their stamps can be true. If not it is one call.
    pub(crate) is_possible: bool,
    /// Number of the phase in which they were called.
    pub(crate) phase: u16,
    /// Number of the place from which they were made, or
    /// [`NO_SITE`](crate::trace::call_sites::NO_SITE).
    pub(crate) site: u32,
}

impl Alike {
    /// Number of the place from which they were made; `None` where that is not known.
    pub(crate) fn known_site(self) -> Option<u32> {
        (self.site != NO_SITE).then_some(self.site)
    }
}

/// The waiting calls, by position, and the position of the next call.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    runs: VecDeque<RecordRun>,
    /// Position of the next call.
    pub(crate) next: u64,
    /// Whether `next` has changed, or something was completed, since this was last checked.
    pub(crate) is_touched: bool,
    /// The nonblocking calls among them that have not been passed on.
    pub(crate) outstanding: Outstanding,
    /// Messages that follow a blocking call in the file but belong to another collective: position
    /// of the call, location of the message.
    pub(crate) foreign: BTreeSet<(u64, RecordAt)>,
    /// By position of a blocking call: its messages that do not follow it in the file, with their
    /// locations.
    elsewhere: BTreeMap<u64, Vec<(RecordAt, Record)>>,
    /// By position of a call that says it is older than one that its process made before: when that began, ticks. Only in
    /// damaged traces there are any.
    late: BTreeMap<u64, u64>,
}

impl Queue {
    /// Adds the next calls.
    #[inline]
    pub(crate) fn push(&mut self, location: RecordAt, n: u32, alike: Alike) {
        let position = self.next;
        self.next = position.saturating_add(u64::from(n));
        // What mostly is not so comes first: between calls on one communicator there are others.
        if let Some(last) = self.runs.back_mut()
            && last.location.record + last.n == location.record
            && last.location.chunk == location.chunk
            && last.end() == position
            && (last.phase, last.site) == (alike.phase, alike.site)
            && alike.is_possible
            && last.is_possible
        {
            last.n += n;
            return;
        }
        self.runs.push_back(RecordRun {
            position,
            location,
            n,
            is_possible: alike.is_possible,
            phase: alike.phase,
            site: alike.site,
        });
    }

    /// Whether nothing waits, and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.runs.is_empty() && self.outstanding.is_empty() && self.elsewhere.is_empty()
    }

    /// Retains a message of the blocking call at a position that does not follow it in the file.
    pub(crate) fn keep_elsewhere(&mut self, position: u64, location: RecordAt, record: &Record) {
        let kept = self.elsewhere.entry(position).or_default();
        kept.push((location, *record));
    }

    /// The messages of the blocking call at a position that do not follow it in the file.
    pub(crate) fn elsewhere(&self, position: u64) -> &[(RecordAt, Record)] {
        self.elsewhere.get(&position).map_or(&[], Vec::as_slice)
    }

    /// Whether a call waits at a position that is not a nonblocking one.
    pub(crate) fn has_blocking(&self, position: u64) -> bool {
        self.first_from(position) == Some(position) && self.outstanding.get(position).is_none()
    }

    /// Position of the first call that waits at `from` or behind.
    pub(crate) fn first_from(&self, from: u64) -> Option<u64> {
        let at = self.index_from(from);
        self.runs.get(at).map(|run| run.position.max(from))
    }

    /// Index of the first run that ends behind a position.
    #[inline]
    fn index_from(&self, position: u64) -> usize {
        let Some(first) = self.runs.front() else {
            return 0;
        };
        // Mostly none is missing, and with messages between them every call is a run of its own.
        let likely = position.saturating_sub(first.position) as usize;
        match self.runs.get(likely) {
            Some(run) if run.position == position => likely,
            _ if first.end() > position => 0,
            _ => self.runs.partition_point(|run| run.end() <= position),
        }
    }

    /// Notes that the process had begun a call at some tick before that at a position, which says it is older.
    #[cold]
    pub(crate) fn note_late(&mut self, position: u64, reached: u64) {
        self.late.insert(position, reached);
        self.outstanding.note_late(position, reached);
    }

    /// When a call of the process had begun before that at a position, ticks, if that says it is older.
    pub(crate) fn late(&self, position: u64) -> Option<u64> {
        self.late.get(&position).copied()
    }

    /// Whether any call that waits says that it is older than one before.
    pub(crate) fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// The first call that waits whose stamps can be true.
    pub(crate) fn first_possible(&self) -> Option<&RecordRun> {
        match self.runs.front() {
            Some(run) if !run.is_possible => self.runs.iter().find(|run| run.is_possible),
            first => first,
        }
    }

    /// The first call that waits.
    pub(crate) fn front(&self) -> Option<&RecordRun> {
        self.runs.front()
    }

    /// The waiting calls at positions `[from, to)`.
    #[inline]
    pub(crate) fn within(&self, from: u64, to: u64) -> impl Iterator<Item = RecordRun> + '_ {
        let runs = self.runs.range(self.index_from(from)..);
        let runs = runs.take_while(move |run| run.position < to);
        runs.map(move |run| run.within(from, to))
    }

    /// Removes the calls before a position; where the records of each removed part begin, and their number, are passed to
    /// `done`.
    #[inline]
    pub(crate) fn drop_before(&mut self, position: u64, mut done: impl FnMut(RecordAt, u32)) {
        while let Some(first) = self.runs.front_mut()
            && let n @ 1.. = position.saturating_sub(first.position)
        {
            if n < u64::from(first.n) {
                done(first.location, n as u32);
                *first = first.within(position, u64::MAX);
                break;
            }
            done(first.location, first.n);
            self.runs.pop_front();
        }
        while self.foreign.first().is_some_and(|(of, _)| *of < position) {
            self.foreign.pop_first();
        }
        while let Some(first) = self.elsewhere.first_entry()
            && *first.key() < position
        {
            first.remove();
        }
        while let Some(first) = self.late.first_entry()
            && *first.key() < position
        {
            first.remove();
        }
        // A queue that was long once must not stay so.
        if self.runs.is_empty() && self.runs.capacity() > 4096 {
            self.runs = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(chunk: u32, record: u32) -> RecordAt {
        RecordAt { chunk, record }
    }

    fn alike(is_possible: bool, phase: u16) -> Alike {
        Alike {
            is_possible,
            phase,
            site: NO_SITE,
        }
    }

    #[test]
    fn a_new_phase_begins_a_run() {
        let mut queue = Queue::default();
        queue.push(location(0, 0), 2, alike(true, 1));
        queue.push(location(0, 2), 2, alike(true, 1));
        queue.push(location(0, 4), 2, alike(true, 2));
        let found: Vec<_> = queue.within(0, 9).map(|run| (run.n, run.phase)).collect();
        assert_eq!(found, [(4, 1), (2, 2)]);
    }

    #[test]
    fn another_call_site_begins_a_run() {
        let mut queue = Queue::default();
        for (record, site) in [(0, 7), (1, 7), (2, NO_SITE), (3, 7)] {
            let alike = Alike {
                site,
                ..alike(true, 0)
            };
            queue.push(location(0, record), 1, alike);
        }
        let found: Vec<_> = queue.within(0, 9).map(|run| (run.n, run.site)).collect();
        assert_eq!(found, [(2, 7), (1, NO_SITE), (1, 7)]);
    }

    #[test]
    fn calls_side_by_side_are_one_run_and_come_out_in_parts() {
        let mut queue = Queue::default();
        queue.push(location(0, 5), 10, alike(true, 0));
        queue.push(location(0, 15), 10, alike(true, 0));
        assert_eq!(queue.runs.len(), 1);
        queue.push(location(0, 30), 1, alike(true, 0));
        queue.push(location(0, 31), 1, alike(false, 0));
        queue.push(location(0, 32), 1, alike(true, 0));
        assert_eq!((queue.runs.len(), queue.next), (4, 23));
        let found: Vec<_> = queue.within(3, 22).collect();
        assert_eq!(
            (found[0].position, found[0].location.record, found[0].n),
            (3, 8, 17)
        );
        assert_eq!(found.len(), 3);
        let mut n = 0;
        queue.drop_before(7, |_, dropped| n += dropped);
        assert_eq!(n, 7);
        let front = queue.front().unwrap();
        assert_eq!(
            (front.position, front.location.record, front.n),
            (7, 12, 13)
        );
        queue.drop_before(100, |_, dropped| n += dropped);
        assert_eq!((n, queue.front()), (23, None));
    }

    #[test]
    fn behind_a_gap_positions_go_on_from_where_they_are_set() {
        let mut queue = Queue::default();
        queue.push(location(0, 0), 4, alike(true, 0));
        queue.next = 1 << 62;
        queue.push(location(0, 4), 2, alike(true, 0));
        assert_eq!(queue.first_from(2), Some(2));
        assert_eq!(queue.first_from(4), Some(1 << 62));
        assert_eq!(queue.first_from((1 << 62) + 2), None);
        assert_eq!(queue.within(4, 1 << 62).count(), 0);
    }
}

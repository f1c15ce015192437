//! The calls of one process in one call order of a communicator, waiting for those of the other
//! members.
//!
//! A queue holds locations of records, not calls: the calls themselves stay in the trace file.
//! Consecutive records cost as much as one. So memory hardly depends on how far one process is
//! ahead of another.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::Record;

use crate::calls::outstanding::Outstanding;
use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::{RecordAt, RecordRun};

/// What consecutive calls have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alike {
    /// Whether their stamps can be true. If not it is one call.
    pub(crate) is_possible: bool,
    /// Whether they have returned. If not it is one call.
    pub(crate) has_returned: bool,
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
    runs: Vec<RecordRun>,
    /// How many of the runs, from the first, wait no more: fewer than half of them.
    n_gone: usize,
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
        if let Some(last) = self.runs.last_mut()
            && last.location.record + last.n == location.record
            && last.location.chunk == location.chunk
            && last.end() == position
            && (last.phase, last.site) == (alike.phase, alike.site)
            && alike.is_possible
            && last.is_possible
            && alike.has_returned
            && last.has_returned
        {
            last.n += n;
            return;
        }
        self.runs.push(RecordRun {
            position,
            location,
            n,
            is_possible: alike.is_possible,
            has_returned: alike.has_returned,
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
        self.waiting().get(at).map(|run| run.position.max(from))
    }

    /// Index, among the waiting runs, of the first that ends behind a position.
    #[inline]
    fn index_from(&self, position: u64) -> usize {
        let runs = self.waiting();
        let Some(first) = runs.first() else {
            return 0;
        };
        // Mostly none is missing, and with messages between them every call is a run of its own.
        let likely = position.saturating_sub(first.position) as usize;
        match runs.get(likely) {
            Some(run) if run.position == position => likely,
            _ if first.end() > position => 0,
            _ => runs.partition_point(|run| run.end() <= position),
        }
    }

    fn waiting(&self) -> &[RecordRun] {
        &self.runs[self.n_gone..]
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
        match self.front() {
            Some(run) if !run.is_possible => self.waiting().iter().find(|run| run.is_possible),
            first => first,
        }
    }

    /// The first call that waits.
    pub(crate) fn front(&self) -> Option<&RecordRun> {
        self.waiting().first()
    }

    /// The waiting calls at positions `[from, to)`.
    #[inline]
    pub(crate) fn within(&self, from: u64, to: u64) -> impl Iterator<Item = RecordRun> + '_ {
        let runs = &self.waiting()[self.index_from(from)..];
        let n = match runs.last() {
            Some(last) if last.position >= to => runs.partition_point(|run| run.position < to),
            _ => runs.len(),
        };
        runs[..n].iter().map(move |run| run.within(from, to))
    }

    /// Removes the calls before a position; gives how many there were. The records that they were among are passed to `done`,
    /// chunk by chunk: where the first is, and how many there are to the last.
    #[inline]
    pub(crate) fn drop_before(
        &mut self,
        position: u64,
        mut done: impl FnMut(RecordAt, u32),
    ) -> u64 {
        let runs = self.waiting();
        let n_runs = match runs.last() {
            Some(last) if last.end() > position => {
                runs.partition_point(|run| run.end() <= position)
            }
            _ => runs.len(),
        };
        let mut n_dropped = 0;
        for of_chunk in runs[..n_runs].chunk_by(|a, b| a.location.chunk == b.location.chunk) {
            n_dropped += of_chunk.iter().map(|run| u64::from(run.n)).sum::<u64>();
            let (first, last) = (&of_chunk[0], &of_chunk[of_chunk.len() - 1]);
            let behind = last.location.record + last.n;
            done(first.location, behind - first.location.record);
        }
        self.n_gone += n_runs;
        if self.n_gone * 2 >= self.runs.len() {
            self.runs.drain(..self.n_gone);
            self.n_gone = 0;
        }
        if let Some(first) = self.runs.get_mut(self.n_gone)
            && let n @ 1.. = position.saturating_sub(first.position)
        {
            n_dropped += n;
            done(first.location, n as u32);
            *first = first.within(position, u64::MAX);
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
            self.runs = Vec::new();
        }
        n_dropped
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
            has_returned: true,
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
        assert_eq!(queue.drop_before(7, |_, _| {}), 7);
        let front = queue.front().unwrap();
        assert_eq!(
            (front.position, front.location.record, front.n),
            (7, 12, 13)
        );
        let mut spans = Vec::new();
        let n = queue.drop_before(100, |location, n| spans.push((location.record, n)));
        assert_eq!((n, queue.front()), (16, None));
        assert_eq!(spans, [(12, 21)]);
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

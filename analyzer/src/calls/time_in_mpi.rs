//! When processes were in MPI between initiation and completion of a collective.
//!
//! Without a progress thread, a collective progresses at a process only in calls of MPI, whichever
//! they are. Calls from point to point are not recorded, and of unsuccessful tests only the number
//! is known. So this is unknown for processes that tested, or that made calls from several threads.

use std::collections::VecDeque;
use std::ops::Range;

use collbench_formats::Record;

/// Calls of a process that are kept while anything is under way.
const MAX_RECENT: usize = 4096;
/// Calls between the begin of a collective and its completion that are kept with it.
const MAX_MEANWHILE: usize = 64;

/// Enter and leave of calls, ticks, in their order.
pub(crate) type CallSpans = Box<[(u64, u64)]>;

/// The last calls of a process with outstanding collectives, in order.
#[derive(Debug, Default)]
pub(crate) struct RecentCalls {
    calls: VecDeque<(u64, u64)>,
    /// All that were entered behind this instant are there.
    known_from: u64,
}

impl RecentCalls {
    /// A call has returned; or unsuccessful tests are told of, which were made some time before.
    pub(crate) fn push(&mut self, record: &Record) {
        let (enter, leave) = (record.enter.get(), record.leave.get());
        if record.unsuccessful_tests().is_some() {
            self.known_from = self.known_from.max(enter);
            return;
        }
        // What a call completed has one record each.
        if leave == 0 || self.calls.back().is_some_and(|last| last.0 == enter) {
            return;
        }
        if self.calls.len() == MAX_RECENT {
            let first = self.calls.pop_front();
            self.known_from = first.map_or(self.known_from, |first| first.0);
        }
        self.calls.push_back((enter, leave));
    }

    /// Nothing is under way.
    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.known_from = 0;
    }

    /// The calls between two instants, ticks; `None` where there are too many.
    pub(crate) fn between(&self, from: u64, to: u64) -> Option<CallSpans> {
        if from < self.known_from {
            return None;
        }
        let later = self.calls.iter().rev();
        let within = later
            .take_while(|call| call.0 >= from)
            .filter(|call| call.1 <= to);
        let mut spans: Vec<(u64, u64)> = within.take(MAX_MEANWHILE + 1).copied().collect();
        spans.reverse();
        (spans.len() <= MAX_MEANWHILE).then(|| spans.into_boxed_slice())
    }
}

/// When each process of an instance was in MPI, from initiation to completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeInMpi {
    /// Enter and leave, ns, ascending; those of one slot next to each other.
    spans: Vec<(i64, i64)>,
    /// By slot.
    of: Vec<Option<Range<usize>>>,
}

impl TimeInMpi {
    pub(crate) fn clear(&mut self) {
        self.spans.clear();
        self.of.clear();
    }

    /// Adds the next slot; `None`: it is not known when it was in MPI.
    pub(crate) fn push(&mut self, spans: Option<impl Iterator<Item = (i64, i64)>>) {
        let begin = self.spans.len();
        let range = spans.map(|spans| {
            self.spans.extend(spans);
            begin..self.spans.len()
        });
        self.of.push(range);
    }

    /// The calls of a slot: enter and leave, ns, ascending. `None` if they are not known.
    #[must_use]
    pub fn of(&self, slot: usize) -> Option<&[(i64, i64)]> {
        let range = self.of.get(slot)?.clone()?;
        Some(&self.spans[range])
    }

    /// Time between the last initiation and the first completion in which no process was in MPI,
    /// ns. `None` if it is unknown for any of them. `room` is a reused buffer.
    pub(crate) fn nobody_in_mpi_ns(&self, room: &mut Vec<(i64, i64)>) -> Option<i64> {
        let (mut from, mut to) = (i64::MIN, i64::MAX);
        for slot in 0..self.of.len() {
            let spans = self.of(slot)?;
            from = from.max(spans.first()?.0);
            to = to.min(spans.last()?.1);
        }
        room.clear();
        room.extend_from_slice(&self.spans);
        room.sort_unstable();
        let (mut nobody, mut until) = (0i64, from);
        for &(enter, leave) in room.iter() {
            let enter = enter.min(to);
            nobody = nobody.saturating_add(enter.saturating_sub(until).max(0));
            until = until.max(leave);
        }
        Some(nobody)
    }
}

/// Part of the interval from `from` to `to` that is between calls, not before the first nor after
/// the last, ns.
#[must_use]
pub(crate) fn outside_ns(calls: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let gaps = calls.windows(2).map(|pair| (pair[0].1, pair[1].0));
    let parts = gaps.map(|(begin, end)| end.min(to).saturating_sub(begin.max(from)).max(0));
    parts.fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use zerocopy::FromBytes;

    use super::*;

    fn record(enter: u64, leave: u64) -> Record {
        let words = [enter, 0, 0, leave];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        *Record::ref_from_bytes(&bytes).unwrap()
    }

    fn time_in_mpi(of: &[Option<&[(i64, i64)]>]) -> TimeInMpi {
        let mut time_in_mpi = TimeInMpi::default();
        for spans in of {
            time_in_mpi.push(spans.map(|spans| spans.iter().copied()));
        }
        time_in_mpi
    }

    #[test]
    fn nobody_is_in_mpi_where_no_call_of_anybody_is() {
        let first: &[(i64, i64)] = &[(0, 10), (40, 50), (100, 130)];
        let second: &[(i64, i64)] = &[(5, 20), (45, 60), (110, 120)];
        let both = time_in_mpi(&[Some(first), Some(second)]);
        // 20 to 40, and 60 to 100.
        assert_eq!(both.nobody_in_mpi_ns(&mut Vec::new()), Some(60));
        // From 5 on, when both had begun; to 12, when one was done.
        let short: &[(i64, i64)] = &[(2, 4), (11, 12)];
        let both = time_in_mpi(&[Some(first), Some(short)]);
        assert_eq!(both.nobody_in_mpi_ns(&mut Vec::new()), Some(1));
        assert_eq!(
            time_in_mpi(&[Some(first), None]).nobody_in_mpi_ns(&mut Vec::new()),
            None
        );
    }

    #[test]
    fn only_what_lies_between_calls_is_outside() {
        let calls = [(0, 10), (40, 50), (100, 130)];
        assert_eq!(outside_ns(&calls, -20, 200), 80);
        assert_eq!(outside_ns(&calls, 30, 60), 20);
        assert_eq!(outside_ns(&calls, 41, 49), 0);
        assert_eq!(outside_ns(&calls, -20, -10), 0);
    }

    #[test]
    fn calls_meanwhile_are_kept_as_long_as_they_are_few() {
        let mut recent = RecentCalls::default();
        for at in 0..5 {
            recent.push(&record(10 * at + 1, 10 * at + 5));
            // The second record of the same call.
            recent.push(&record(10 * at + 1, 10 * at + 5));
        }
        let between = recent.between(6, 41);
        assert_eq!(
            between.as_deref(),
            Some(&[(11, 15), (21, 25), (31, 35)][..])
        );
        for at in 5..=(MAX_RECENT as u64) {
            recent.push(&record(10 * at + 1, 10 * at + 5));
        }
        assert_eq!(recent.between(6, 10_000_000), None, "more than are kept");
        let last = 10 * MAX_RECENT as u64;
        assert_eq!(recent.between(last, last + 9).unwrap().len(), 1);
        assert_eq!(recent.between(0, 9), None, "one is gone");
    }
}

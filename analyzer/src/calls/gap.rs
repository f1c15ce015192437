//! What a process did between two of its recorded calls, besides its own work.

use std::collections::BTreeMap;

use collbench_clocks::rank_clock::RankClock;
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{Activity, Definition, GapTime, Initiation, Layer, Record, RecordKind};

use crate::trace::rank_file::RankFile;

/// What a thread did between two calls that are recorded, in calls that are not. What is left of
/// the span is its own work.
///
/// The times in calls add up to at most the span, whatever a damaged trace says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Leave of the last recorded call before the gap.
    pub from: Timestamp<Global>,
    /// Enter of the recorded call that ends the gap, >= `from`.
    pub to: Timestamp<Global>,
    /// Time in point-to-point communication, ns: in sends, receives, probes and waits, and in polls
    /// that were unsuccessful or follow unsuccessful ones at once.
    pub point_to_point_ns: i64,
    /// Part of `point_to_point_ns` in polls, ns.
    pub polling_ns: i64,
    /// Polls (tests and probes) without success.
    pub n_unsuccessful_polls: u64,
    /// The longest point-to-point call (polls in a row are like one); `None` if there was none.
    pub longest: Option<LongestCall>,
    /// Time in calls of MPI-IO without records, ns.
    pub io_ns: i64,
    /// Time in calls without records that synchronize accesses to windows (RMA), ns.
    pub rma_ns: i64,
}

/// The longest of some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongestCall {
    /// Time in it, ns; up to 0.2 % less than it was.
    pub ns: i64,
    /// World rank of its partner (in the world of the process), where that is known.
    pub partner: Option<u32>,
}

impl Gap {
    /// The whole span, ns.
    #[must_use]
    pub fn ns(&self) -> i64 {
        self.to.ns().saturating_sub(self.from.ns())
    }

    /// What is left for its own work, ns.
    #[must_use]
    pub fn own_work_ns(&self) -> i64 {
        self.ns() - self.point_to_point_ns - self.io_ns - self.rma_ns
    }
}

/// Sums of the notes on a gap whose end is not reached yet, ticks.
#[derive(Debug, Clone, Copy)]
struct OpenGap {
    /// Leave of the last recorded call before the gap.
    from: u64,
    /// When the last note was written.
    noted: u64,
    /// By activity.
    ticks: [u64; Activity::ALL.len()],
    n_polls: u64,
    n_io: u64,
    n_rma: u64,
    /// The longest point-to-point call, and its partner.
    longest: Option<(u64, Option<u32>)>,
}

/// Time that a process spent in point-to-point communication, MPI-IO and RMA, in the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeBesides {
    /// Time in point-to-point communication, outside of calls that are recorded, ns.
    pub point_to_point_ns: i64,
    /// Unsuccessful tests and probes.
    pub n_unsuccessful_polls: u64,
    /// Time in calls of MPI-IO, recorded or not, ns.
    pub io_ns: i64,
    /// Calls of MPI-IO without records.
    pub n_unrecorded_io: u64,
    /// Time in calls that synchronize accesses to windows (RMA), recorded or not, ns.
    pub rma_ns: i64,
    /// Calls on windows without records.
    pub n_unrecorded_rma: u64,
    /// In calls of MPI-IO and on windows without records, ns.
    pub unrecorded_ns: i64,
}

/// The gaps of a process, while its records are read.
#[derive(Debug)]
pub(crate) struct Gaps {
    /// Whether there may be notes on gaps.
    are_noted: bool,
    /// No stamp is earlier, ticks.
    first: u64,
    /// By thread: the gap at hand, if it has notes.
    open: BTreeMap<u32, OpenGap>,
    /// By thread: when its last call was left, up to the batch at hand.
    left: BTreeMap<u32, u64>,
    /// Indexes in records of files and windows, if calls on them are recorded.
    files_and_windows: BTreeMap<u32, Layer>,
    pub(crate) besides: TimeBesides,
    pub(crate) partners: PartnerTimes,
}

/// Most partners that have a time of their own.
const MOST_PARTNERS: usize = 64;

/// Time in point-to-point communication by the partner of the longest call of each gap: its world rank (in the world of
/// the process).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartnerTimes {
    /// By partner, ns.
    pub known: BTreeMap<u32, i64>,
    /// Of gaps whose partner is not known, and of partners beyond the first ones, ns.
    pub others_ns: i64,
}

impl PartnerTimes {
    fn add(&mut self, partner: Option<u32>, ns: i64) {
        let is_full = self.known.len() >= MOST_PARTNERS;
        let known = partner.filter(|of| !is_full || self.known.contains_key(of));
        let sum = match known {
            Some(partner) => self.known.entry(partner).or_default(),
            None => &mut self.others_ns,
        };
        *sum = sum.saturating_add(ns);
    }
}

/// Whether a record is of a call or completion of the application, which ends a gap.
fn ends_gap(record: &Record) -> bool {
    match record.kind() {
        Some(RecordKind::Call) => !record.is_internal(),
        Some(RecordKind::Completion) => true,
        _ => false,
    }
}

impl Gaps {
    /// The gaps of the process of a rank file, none read yet. No time stamp of the file is before `first` (ticks).
    pub(crate) fn new(file: &RankFile<'_>, first: u64) -> Self {
        let is_on = |layer| file.has_layer(layer);
        let mut files_and_windows = BTreeMap::new();
        if is_on(Layer::Io) || is_on(Layer::Rma) {
            for definition in file.trace.definitions.iter() {
                if let Definition::Communicator(communicator) = definition
                    && let Some(opens) = communicator.constructor()
                    && opens.opens()
                {
                    files_and_windows.insert(communicator.index, opens.layer());
                }
            }
        }
        Self {
            are_noted: file.knows_layer(Layer::PointToPoint),
            first,
            open: BTreeMap::new(),
            left: BTreeMap::new(),
            files_and_windows,
            besides: TimeBesides::default(),
            partners: PartnerTimes::default(),
        }
    }

    /// Adds a note; `before` are the records before it in its batch.
    pub(crate) fn add(&mut self, thread: u32, gap: GapTime, noted: u64, before: &[Record]) {
        let left = || {
            let last = before.iter().rev().find(|record| ends_gap(record));
            let left = match last {
                Some(last) => last.leave.get(),
                None => self.left.get(&thread).copied().unwrap_or(0),
            };
            if left <= noted { left } else { 0 }
        };
        let open = self.open.entry(thread).or_insert_with(|| OpenGap {
            from: left().max(self.first),
            noted,
            ticks: Default::default(),
            n_polls: 0,
            n_io: 0,
            n_rma: 0,
            longest: None,
        });
        open.noted = noted;
        let ticks = &mut open.ticks[gap.activity as usize];
        *ticks = ticks.saturating_add(gap.ticks);
        let n = u64::from(gap.n_calls);
        match gap.activity {
            Activity::PointToPoint | Activity::Polling => {
                if open
                    .longest
                    .is_none_or(|(most, _)| most < gap.longest_ticks)
                {
                    open.longest = Some((gap.longest_ticks, gap.known_partner()));
                }
                if gap.activity == Activity::Polling {
                    open.n_polls += n;
                }
            }
            Activity::Io => open.n_io += n,
            Activity::Rma => open.n_rma += n,
        }
    }

    /// Whether a gap at hand has notes.
    #[inline]
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A record of a thread, entered at `enter` ticks (`None` where that cannot be true): ends the
    /// gap before it, if it is of a call of the application.
    pub(crate) fn end(
        &mut self,
        thread: u32,
        record: &Record,
        enter: Option<u64>,
        clock: &RankClock,
    ) -> Option<Gap> {
        if !ends_gap(record) {
            return None;
        }
        let open = self.open.remove(&thread)?;
        self.close(open, enter.unwrap_or(open.noted), clock)
    }

    /// The gap of one of the threads that made no call after it.
    pub(crate) fn end_last(&mut self, clock: &RankClock) -> Option<Gap> {
        let (_, open) = self.open.pop_first()?;
        self.close(open, open.noted, clock)
    }

    fn close(&mut self, open: OpenGap, to: u64, clock: &RankClock) -> Option<Gap> {
        let at = |ticks| clock.global(Timestamp::from_ticks(ticks));
        let from = at(open.from);
        let to = at(to).max(from);
        let mut left_ns = to.ns().saturating_sub(from.ns());
        let mut ns = [0; Activity::ALL.len()];
        for (ns, ticks) in ns.iter_mut().zip(open.ticks) {
            *ns = clock.span_ns(ticks).clamp(0, left_ns);
            left_ns -= *ns;
        }
        let [blocked_ns, polling_ns, io_ns, rma_ns] = ns;
        let point_to_point_ns = blocked_ns + polling_ns;
        let gap = Gap {
            from,
            to,
            point_to_point_ns,
            polling_ns,
            n_unsuccessful_polls: open.n_polls,
            longest: open.longest.map(|(ticks, partner)| LongestCall {
                ns: clock.span_ns(ticks).clamp(0, point_to_point_ns),
                partner,
            }),
            io_ns,
            rma_ns,
        };
        let besides = &mut self.besides;
        let add = |sum: &mut i64, ns| *sum = sum.saturating_add(ns);
        add(&mut besides.point_to_point_ns, point_to_point_ns);
        if point_to_point_ns > 0 {
            let partner = gap.longest.and_then(|longest| longest.partner);
            self.partners.add(partner, point_to_point_ns);
        }
        add(&mut besides.io_ns, io_ns);
        add(&mut besides.rma_ns, rma_ns);
        add(&mut besides.unrecorded_ns, io_ns.saturating_add(rma_ns));
        besides.n_unsuccessful_polls += open.n_polls;
        besides.n_unrecorded_io += open.n_io;
        besides.n_unrecorded_rma += open.n_rma;
        (gap.ns() > 0).then_some(gap)
    }

    /// Adds the time in recorded calls on files and windows, and retains when the last call of
    /// these records was left. All are of one thread, and their stamps can be true.
    pub(crate) fn pass(&mut self, thread: u32, records: &[Record], clock: &RankClock) {
        if !self.files_and_windows.is_empty() {
            for record in records {
                self.add_recorded(record, clock);
            }
        }
        if self.are_noted
            && let Some(last) = records.iter().rev().find(|record| ends_gap(record))
        {
            self.left.insert(thread, last.leave.get());
        }
    }

    fn add_recorded(&mut self, record: &Record, clock: &RankClock) {
        let n_together = match record.completion() {
            Some(completion) if matches!(completion.of, Initiation::Nonblocking { .. }) => {
                completion.n_together.max(1)
            }
            None if record.operation().is_some() && !record.is_internal() => 1,
            _ => return,
        };
        let layer = self.files_and_windows.get(&record.communicator.get());
        let ticks = record.leave.get().saturating_sub(record.enter.get());
        let ns = clock.span_ns(ticks / u64::from(n_together));
        let sum = match layer {
            Some(Layer::Io) => &mut self.besides.io_ns,
            Some(Layer::Rma) => &mut self.besides.rma_ns,
            _ => return,
        };
        *sum = sum.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::{CODE_INTERNAL, Operation};

    use super::*;

    fn gaps() -> Gaps {
        Gaps {
            are_noted: true,
            first: 100,
            open: BTreeMap::new(),
            left: BTreeMap::new(),
            files_and_windows: BTreeMap::new(),
            besides: TimeBesides::default(),
            partners: PartnerTimes::default(),
        }
    }

    fn note(activity: Activity, ticks: u64, longest_ticks: u64, partner: u32) -> GapTime {
        GapTime {
            activity,
            ticks,
            n_calls: 3,
            longest_ticks,
            partner,
        }
    }

    fn call(enter: u64, leave: u64) -> Record {
        Record::call(Operation::Barrier, 0, 0, -1, 0, enter, leave)
    }

    #[test]
    fn notes_before_a_call_add_up_to_its_gap() {
        let clock = RankClock::in_ns();
        let mut gaps = gaps();
        gaps.pass(0, &[call(900, 1000)], &clock);
        gaps.add(0, note(Activity::PointToPoint, 500, 400, 7), 2900, &[]);
        gaps.add(0, note(Activity::Polling, 300, 300, 8), 2900, &[]);
        gaps.add(0, note(Activity::Io, 200, 200, 9), 2950, &[]);
        assert!(gaps.end(1, &call(3000, 3100), Some(3000), &clock).is_none());
        let gap = gaps.end(0, &call(3000, 3100), Some(3000), &clock).unwrap();
        assert_eq!((gap.from.ns(), gap.to.ns()), (1000, 3000));
        assert_eq!((gap.point_to_point_ns, gap.polling_ns), (800, 300));
        assert_eq!((gap.n_unsuccessful_polls, gap.io_ns), (3, 200));
        let longest = LongestCall {
            ns: 400,
            partner: Some(7),
        };
        assert_eq!(gap.longest, Some(longest));
        assert_eq!(gap.own_work_ns(), 1000);
        assert!(!gaps.has_open());
        assert_eq!(gaps.besides.n_unrecorded_io, 3);
    }

    #[test]
    fn no_note_makes_more_of_a_gap_than_it_is_long() {
        let clock = RankClock::in_ns();
        let much = (1 << 48) - 1;
        for (left, enter) in [(1000, 3000), (u64::MAX, 3000), (1000, 50)] {
            let mut gaps = gaps();
            let before = [call(900, left)];
            for activity in Activity::ALL {
                gaps.add(0, note(activity, much, much, 1), 2900, &before);
            }
            let gap = gaps.end(0, &call(enter, 9000), Some(enter), &clock);
            let span = gap.map_or(0, |gap| gap.ns());
            assert!((0..=2900).contains(&span));
            if let Some(gap) = gap {
                assert_eq!(gap.own_work_ns(), 0);
                assert!(gap.longest.unwrap().ns <= span);
            }
            assert!(gaps.besides.point_to_point_ns <= 2900);
        }
    }

    #[test]
    fn internal_calls_and_phases_end_no_gap() {
        let clock = RankClock::in_ns();
        let mut gaps = gaps();
        gaps.add(0, note(Activity::Rma, 10, 10, 1), 2900, &[]);
        let flags = CODE_INTERNAL;
        let internal = Record::call(Operation::Barrier, flags, 0, -1, 0, 2950, 2960);
        assert_eq!(gaps.end(0, &internal, Some(2950), &clock), None);
        assert!(gaps.has_open());
        let gap = gaps.end_last(&clock).unwrap();
        assert_eq!((gap.from.ns(), gap.to.ns(), gap.rma_ns), (100, 2900, 10));
    }
}

//! Activity of each process over time: time in calls and waits, by stretch of the run.
//!
//! A call that spans several stretches is cut at their borders, and so is its wait, which begins
//! with it: no stretch has more time in calls than it is long (than that times the threads).

use collbench_clocks::timestamp::Timestamp;
use collbench_stats::bins::{Bins, Sum};
use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::calls::call::Call;
use crate::calls::outstanding::OverlapTimes;

/// Most stretches in results; at least half as many unless the run is shorter than 64 us.
pub(crate) const MAX_BINS: u32 = 128;
/// Most stretches that are summed, for pictures that can be zoomed.
pub(crate) const MAX_FINE_BINS: u32 = 512;

/// What one process did in one stretch of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stretch {
    /// Calls that began in it.
    pub n_calls: u64,
    /// Those of them of which it is not known how long they waited.
    pub n_unknown_waits: u64,
    /// Time in calls, ns.
    pub call_ns: i64,
    /// Known waits, ns.
    pub wait_ns: i64,
}

impl Sum for Stretch {
    fn merge(&mut self, other: Self) {
        self.n_calls += other.n_calls;
        self.n_unknown_waits += other.n_unknown_waits;
        add_ns(&mut self.call_ns, other.call_ns);
        add_ns(&mut self.wait_ns, other.wait_ns);
    }
}

/// The activity of one process over time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ActivityOverTime(pub(crate) Bins<Stretch, MAX_FINE_BINS>);

impl ActivityOverTime {
    /// Adds a call at `enter_ns..leave_ns` that waited so long; `None`: not known.
    #[inline]
    pub fn add(&mut self, enter_ns: i64, leave_ns: i64, wait_ns: Option<i64>) {
        if let Some(stretch) = self.0.at_both(enter_ns, leave_ns) {
            stretch.n_calls += 1;
            stretch.n_unknown_waits += u64::from(wait_ns.is_none());
            add_ns(&mut stretch.call_ns, (leave_ns - enter_ns).max(0));
            // A wait ends with its call at the latest.
            add_ns(&mut stretch.wait_ns, wait_ns.unwrap_or(0));
            return;
        }
        let begun = self.0.at(enter_ns);
        begun.n_calls += 1;
        begun.n_unknown_waits += u64::from(wait_ns.is_none());
        self.add_time(enter_ns, leave_ns, |stretch| &mut stretch.call_ns);
        if let Some(wait_ns @ 1..) = wait_ns {
            let until = enter_ns.saturating_add(wait_ns);
            self.add_time(enter_ns, until, |stretch| &mut stretch.wait_ns);
        }
    }

    /// Adds a nonblocking call that was begun at `enter_ns` and complete at `leave_ns`: the
    /// initiating call and the completing one, of which it has its share, with its wait.
    pub fn add_overlapped(
        &mut self,
        enter_ns: i64,
        leave_ns: i64,
        overlap: &OverlapTimes,
        wait_ns: Option<i64>,
    ) {
        let begun = self.0.at(enter_ns);
        begun.n_calls += 1;
        begun.n_unknown_waits += u64::from(wait_ns.is_none());
        let n_started = i64::from(overlap.n_started);
        let begun_ns = overlap.initiated.ns();
        self.add_share(enter_ns, begun_ns, n_started, |stretch| {
            &mut stretch.call_ns
        });
        let Some(completing) = overlap.completing else {
            return;
        };
        let (from, n) = (completing.enter.ns(), i64::from(completing.n_together));
        self.add_share(from, leave_ns, n, |stretch| &mut stretch.call_ns);
        if let Some(wait_ns @ 1..) = wait_ns {
            let until = from.saturating_add(wait_ns.saturating_mul(n)).min(leave_ns);
            self.add_share(from, until, n, |stretch| &mut stretch.wait_ns);
        }
    }

    /// Adds a call of an instance that is not whole: what it waited is not known, nor how long it
    /// took if it did not return.
    pub fn add_unmeasured(&mut self, call: &Call) {
        if !call.is_timed {
            return;
        }
        let enter_ns = call.enter.ns();
        match &call.overlap {
            None => self.add(enter_ns, enter_ns.saturating_add(call.time_ns()), None),
            Some(overlap) => {
                let asked = overlap.completing.map_or(enter_ns, |call| call.enter.ns());
                let leave_ns = call.leave.map_or(asked, Timestamp::ns);
                self.add_overlapped(enter_ns, leave_ns, overlap, None);
            }
        }
    }

    /// Adds what a process did in the stretch with this number, where stretches are the shortest, doubled so often.
    pub(crate) fn add_stretch(&mut self, number: u32, doublings: u32, stretch: Stretch) {
        self.0.numbered(number, doublings).merge(stretch);
    }

    /// Adds what another part of the same process's calls came to.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// Adds the time from `begin` to `end`, divided among the stretches.
    fn add_time(&mut self, begin: i64, end: i64, sum: impl Fn(&mut Stretch) -> &mut i64) {
        self.add_share(begin, end, 1, sum);
    }

    /// Adds `1 / n` of the time from `begin` to `end`, divided among the stretches.
    fn add_share(&mut self, begin: i64, end: i64, n: i64, sum: impl Fn(&mut Stretch) -> &mut i64) {
        if end <= begin {
            return;
        }
        // The last one first: then the stretches keep their length.
        self.0.at(end - 1);
        let bin_ns = self.0.bin_ns();
        let mut at = begin;
        while at < end {
            let border = (at.max(0) / bin_ns + 1).saturating_mul(bin_ns).min(end);
            // So that the parts of all stretches add up to that of the whole.
            let share = (border - begin) / n - (at - begin) / n;
            add_ns(sum(self.0.at(at)), share);
            at = border;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_call_is_cut_at_the_borders_and_its_wait_too() {
        let mut activity = ActivityOverTime::default();
        activity.add(127_500, 127_900, Some(0));
        // Beyond 512 us: stretches of 2 us.
        activity.add(1_500, 600_500, Some(2_500));
        activity.add(3_000, 3_000, None);
        let stretches: Vec<(usize, &Stretch)> = activity.0.iter().collect();
        assert_eq!(activity.0.bin_ns(), 2_000);
        assert_eq!(stretches.len(), 301);
        let stretch = |n_calls, n_unknown_waits, call_ns, wait_ns| Stretch {
            n_calls,
            n_unknown_waits,
            call_ns,
            wait_ns,
        };
        assert_eq!(*stretches[0].1, stretch(1, 0, 500, 500));
        assert_eq!(*stretches[1].1, stretch(1, 1, 2_000, 2_000));
        assert_eq!(*stretches[2].1, stretch(0, 0, 2_000, 0));
        assert_eq!(*stretches[63].1, stretch(1, 0, 2_400, 0));
        assert_eq!(*stretches[300].1, stretch(0, 0, 500, 0));
    }

    #[test]
    fn the_longest_call_there_is_ends() {
        let mut activity = ActivityOverTime::default();
        activity.add(0, i64::MAX, Some(i64::MAX));
        let total: i64 = activity.0.iter().map(|(_, s)| s.call_ns).sum();
        assert_eq!(total, i64::MAX);
    }

    proptest! {
        #[test]
        fn no_time_is_lost_and_parts_add_up_to_the_whole(
            calls in prop::collection::vec((0i64..5_000_000, 0i64..900_000, 0i64..900_000), 1..40),
            cut in 0usize..40,
        ) {
            let sum = |calls: &[(i64, i64, i64)]| {
                let mut activity = ActivityOverTime::default();
                for &(enter, time, wait) in calls {
                    activity.add(enter, enter + time, Some(wait.min(time)));
                }
                activity
            };
            let all = |activity: &ActivityOverTime| {
                let stretches: Vec<(usize, Stretch)> = activity.0.iter().map(|(n, s)| (n, *s)).collect();
                (activity.0.bin_ns(), stretches)
            };
            let whole = sum(&calls);
            let total = |f: fn(&Stretch) -> i64| whole.0.iter().map(|(_, s)| f(s)).sum::<i64>();
            prop_assert_eq!(total(|s| s.call_ns), calls.iter().map(|c| c.1).sum::<i64>());
            prop_assert_eq!(total(|s| s.wait_ns), calls.iter().map(|c| c.2.min(c.1)).sum::<i64>());
            let (first, second) = calls.split_at(cut.min(calls.len()));
            let mut merged = sum(second);
            merged.merge(sum(first));
            prop_assert_eq!(all(&merged), all(&whole));
        }
    }
}

//! Sums over instances that follow one another on one communicator, in columns.
//!
//! Instances arrive by communicator, but sums are stored by process: each call would touch another
//! part of memory. So the calls of consecutive instances on one communicator are first summed here,
//! slot by slot, and then added to their processes together; what they did in a stretch of the run, when
//! the instances have left that stretch behind.
//!
//! It pays: 1,309 instructions a call, 1,609 without (scripts/ir-guard-analyze.sh at 75823dd, 64 ranks).

use collbench_formats::Operation;
use collbench_stats::bins::{bin_ns, doublings_to_cover, number_of_bin};
use collbench_stats::integers::add_ns;
use collbench_stats::moments::Moments;

use crate::communicators::{Communicator, Scope};
use crate::instances::complete::Extent;
use crate::sums::columns::CallColumns;
use crate::sums::process::ProcessTally;
use crate::sums::timeline::{MAX_FINE_BINS, Stretch};

/// Instances that last this long or longer, ns (134 ms), are added call by call: below, no sum over as
/// many calls as are added here can overflow.
pub(crate) const TOO_LONG_NS: i64 = 1 << 27;
/// Most instances that are summed before they are added to the processes: the sum of so many squares
/// of times has 64 bits.
const MAX_INSTANCES: u64 = 1024;

/// Sums of one quantity, by slot.
#[derive(Debug, Default)]
struct Column {
    /// How many values each sum has.
    n: u64,
    totals: Vec<i64>,
    squares: Vec<u64>,
}

impl Column {
    fn clear(&mut self, n_slots: usize) {
        self.n = 0;
        self.totals.clear();
        self.totals.resize(n_slots, 0);
        self.squares.clear();
        self.squares.resize(n_slots, 0);
    }

    /// Adds a value for each slot, in 0..[`TOO_LONG_NS`]; nothing if empty.
    fn add(&mut self, values: &[i64]) {
        if values.is_empty() {
            return;
        }
        self.n += 1;
        let sums = self.totals.iter_mut().zip(&mut self.squares);
        for ((total, squares), &value) in sums.zip(values) {
            *total += value;
            // Of 32 bits, so that vector instructions multiply.
            let short = u64::from(value as u32);
            *squares += short * short;
        }
    }

    fn moments(&self, slot: usize) -> Moments {
        let (total, squares) = (self.totals[slot], self.squares[slot]);
        Moments::of_sums(self.n, total.into(), squares.into())
    }
}

/// What the calls of the buffered instances did in one stretch of the run, by slot.
#[derive(Debug, Default)]
struct StretchColumns {
    /// Instances of which any part lies in it.
    n_instances: u64,
    /// Those of them that lie in it as a whole.
    n_whole: u64,
    /// Calls of the others that began in it.
    n_begun: Vec<u64>,
    call_ns: Vec<i64>,
    wait_ns: Vec<i64>,
}

impl StretchColumns {
    fn clear(&mut self, n_slots: usize) {
        (self.n_instances, self.n_whole) = (0, 0);
        self.n_begun.clear();
        self.n_begun.resize(n_slots, 0);
        for column in [&mut self.call_ns, &mut self.wait_ns] {
            column.clear();
            column.resize(n_slots, 0);
        }
    }

    /// Adds an instance that lies in it as a whole.
    fn add(&mut self, calls: &CallColumns<'_>) {
        self.n_instances += 1;
        self.n_whole += 1;
        let sums = self.call_ns.iter_mut().zip(calls.times);
        sums.for_each(|(sum, time)| *sum += time);
        let sums = self.wait_ns.iter_mut().zip(calls.waits);
        sums.for_each(|(sum, wait)| *sum += wait);
    }

    fn of_slot(&self, slot: usize) -> Stretch {
        Stretch {
            n_calls: self.n_whole + self.n_begun[slot],
            n_unknown_waits: 0,
            call_ns: self.call_ns[slot],
            wait_ns: self.wait_ns[slot],
        }
    }
}

/// Sums over the buffered instances.
#[derive(Debug, Default)]
pub(crate) struct ColumnBuffer {
    /// Index of their communicator; meaningless without instances.
    communicator: usize,
    scope: Option<Scope>,
    n_instances: u64,
    /// The stretch of the run in which instances begin: where it begins, where the next one does, and how often
    /// the shortest length was doubled.
    from_ns: i64,
    until_ns: i64,
    doublings: u32,
    stretch: StretchColumns,
    next: StretchColumns,
    /// How many there are of each operation.
    operations: Vec<(Operation, u64)>,
    /// Lags that are no waits, waits that are no lags, and what is both.
    lag: Column,
    wait: Column,
    lag_and_wait: Column,
    departure_wait: Column,
}

impl ColumnBuffer {
    /// Whether another instance on a communicator can be added to the buffered ones.
    #[inline]
    pub(crate) fn takes(&self, communicator: usize, scope: Scope) -> bool {
        self.communicator == communicator
            && self.scope == Some(scope)
            && self.n_instances < MAX_INSTANCES
    }

    /// Starts a new buffer, after the previous one was flushed.
    pub(crate) fn begin(&mut self, communicator: usize, n_slots: usize, scope: Scope) {
        debug_assert_eq!(self.n_instances, 0);
        self.communicator = communicator;
        self.scope = Some(scope);
        (self.from_ns, self.until_ns) = (0, 0);
        self.stretch.clear(n_slots);
        self.next.clear(n_slots);
        self.operations.clear();
        for column in [
            &mut self.lag,
            &mut self.wait,
            &mut self.lag_and_wait,
            &mut self.departure_wait,
        ] {
            column.clear(n_slots);
        }
    }

    /// Goes to the stretch of the run in which an instance begins; `false` if it does not end in the next one
    /// at the latest.
    #[inline]
    pub(crate) fn go_to(
        &mut self,
        extent: &Extent,
        communicator: &Communicator,
        processes: &mut [ProcessTally],
    ) -> bool {
        let (begin, end) = (extent.first_enter, extent.last_leave);
        let is_here = self.from_ns <= begin && begin < self.until_ns;
        let is_covered = is_here && end <= self.until_ns + bin_ns(self.doublings);
        is_covered || self.leave_stretch((begin, end), communicator, processes)
    }

    fn leave_stretch(
        &mut self,
        (begin, end): (i64, i64),
        communicator: &Communicator,
        processes: &mut [ProcessTally],
    ) -> bool {
        if begin < 0 {
            return false;
        }
        // The last ns that it takes part of.
        let last = begin.max(end - 1);
        let mut doublings = self.doublings;
        if number_of_bin(last, doublings) >= i64::from(MAX_FINE_BINS) {
            doublings = doublings_to_cover(last, MAX_FINE_BINS);
        }
        let number = number_of_bin(begin, doublings);
        if number_of_bin(last, doublings) > number + 1 {
            return false;
        }
        let from_ns = number * bin_ns(doublings);
        self.flush_stretch(communicator, processes);
        if (self.from_ns, self.doublings) != (from_ns, doublings) {
            self.flush_stretch(communicator, processes);
        }
        self.from_ns = from_ns;
        self.until_ns = from_ns.saturating_add(bin_ns(doublings));
        // No longer than an added instance requires: so the longest stretch of all processes does
        // not depend on which worker has added what.
        self.doublings = doublings;
        true
    }

    /// Adds what was done in the stretch to the processes, and goes to the next one.
    fn flush_stretch(&mut self, communicator: &Communicator, processes: &mut [ProcessTally]) {
        if self.stretch.n_instances > 0 {
            let n_slots = communicator.members.len();
            let number = number_of_bin(self.from_ns, self.doublings) as u32;
            for (slot, member) in communicator.members.iter().enumerate() {
                let process = &mut processes[member.process];
                let stretch = self.stretch.of_slot(slot);
                if stretch != Stretch::default() {
                    add_ns(&mut process.call_ns, stretch.call_ns);
                    process
                        .activity
                        .add_stretch(number, self.doublings, stretch);
                }
            }
            self.stretch.clear(n_slots);
        }
        std::mem::swap(&mut self.stretch, &mut self.next);
        self.from_ns = self.until_ns;
        self.until_ns = self.from_ns.saturating_add(bin_ns(self.doublings));
    }

    /// Adds the calls of an instance that begins in the stretch.
    pub(crate) fn add(&mut self, extent: &Extent, calls: &CallColumns<'_>) {
        self.n_instances += 1;
        match self.operations.last_mut() {
            Some((operation, n)) if *operation == calls.operation => *n += 1,
            _ => {
                let known = &mut self.operations.iter_mut();
                match known.find(|(operation, _)| *operation == calls.operation) {
                    Some((_, n)) => *n += 1,
                    None => self.operations.push((calls.operation, 1)),
                }
            }
        }
        if calls.waits_are_lags {
            self.lag_and_wait.add(calls.lags);
        } else {
            self.lag.add(calls.lags);
            self.wait.add(calls.waits);
        }
        self.departure_wait.add(calls.departure_waits);
        if extent.last_enter < self.until_ns && extent.last_leave <= self.until_ns {
            self.stretch.add(calls);
        } else {
            self.add_across(calls);
        }
    }

    /// Adds the calls of an instance that ends in the next stretch, cut at its border as
    /// [`ActivityOverTime::add`](crate::sums::timeline::ActivityOverTime::add) does.
    fn add_across(&mut self, calls: &CallColumns<'_>) {
        let until_ns = self.until_ns;
        let (stretch, next) = (&mut self.stretch, &mut self.next);
        stretch.n_instances += 1;
        next.n_instances += 1;
        let rooms = || (calls.enters.iter()).map(|enter| (until_ns - enter.ns()).max(0));
        let begun = stretch.n_begun.iter_mut().zip(&mut next.n_begun);
        for ((here, after), room) in begun.zip(rooms()) {
            let is_here = u64::from(room > 0);
            *here += is_here;
            *after += 1 - is_here;
        }
        for (here, after, times) in [
            (&mut stretch.call_ns, &mut next.call_ns, calls.times),
            (&mut stretch.wait_ns, &mut next.wait_ns, calls.waits),
        ] {
            let sums = here.iter_mut().zip(after);
            for (((here, after), &time), room) in sums.zip(times).zip(rooms()) {
                let before_border = time.min(room);
                *here += before_border;
                *after += time - before_border;
            }
        }
    }

    /// Index of the communicator of the instances at hand; `None` without any.
    pub(crate) fn communicator(&self) -> Option<usize> {
        (self.n_instances > 0).then_some(self.communicator)
    }

    /// Adds the sums to the processes, and clears the buffer.
    pub(crate) fn flush(&mut self, communicator: &Communicator, processes: &mut [ProcessTally]) {
        self.flush_stretch(communicator, processes);
        self.flush_stretch(communicator, processes);
        self.n_instances = 0;
        let Some(scope) = self.scope.take() else {
            return;
        };
        for (slot, member) in communicator.members.iter().enumerate() {
            let process = &mut processes[member.process];
            for &(operation, n) in &self.operations {
                process.count(operation, scope, n);
            }
            let behaviour = &mut process.behaviour;
            let both = self.lag_and_wait.moments(slot);
            let mut wait = self.wait.moments(slot);
            wait.merge(&both);
            if wait.n() > 0 {
                add_ns(process.wait_ns.get_or_insert(0), wait.total_ns());
            }
            behaviour.wait.merge(&wait);
            behaviour.lag.merge(&both);
            behaviour.lag.merge(&self.lag.moments(slot));
            behaviour
                .departure_wait
                .merge(&self.departure_wait.moments(slot));
        }
    }
}

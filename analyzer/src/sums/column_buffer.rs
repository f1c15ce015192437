//! Sums over instances that follow one another on one communicator, in columns.
//!
//! Instances arrive by communicator, but sums are stored by process: each call would touch another
//! part of memory. So the calls of consecutive instances on one communicator, within one stretch of
//! the run, are first summed here, slot by slot, and then added to their processes together.
//!
//! It pays: 1,309 instructions a call, 1,609 without (scripts/ir-guard-analyze.sh at 75823dd, 64 ranks).

use collbench_formats::Operation;
use collbench_stats::bins::{bin_ns, doublings_to_cover};
use collbench_stats::integers::add_ns;
use collbench_stats::moments::Moments;

use crate::communicators::{Communicator, Scope};
use crate::sums::columns::CallColumns;
use crate::sums::process::ProcessTally;
use crate::sums::timeline::{MAX_FINE_BINS, Stretch};

/// Instances that last this long or longer, ns (18 minutes), are added call by call: below, no sum
/// over as many calls as are added here can overflow.
pub(crate) const TOO_LONG_NS: i64 = 1 << 40;

/// Sums of one quantity, by slot.
#[derive(Debug, Default)]
struct Column {
    /// How many values each sum has.
    n: u64,
    totals: Vec<i64>,
    squares: Vec<u128>,
}

impl Column {
    fn clear(&mut self, n_slots: usize) {
        self.n = 0;
        self.totals.clear();
        self.totals.resize(n_slots, 0);
        self.squares.clear();
        self.squares.resize(n_slots, 0);
    }

    /// Adds a value for each slot, less than [`TOO_LONG_NS`] either way; nothing if empty.
    fn add(&mut self, values: &[i64]) {
        if values.is_empty() {
            return;
        }
        self.n += 1;
        let sums = self.totals.iter_mut().zip(&mut self.squares);
        for ((total, squares), &value) in sums.zip(values) {
            *total += value;
            *squares += u128::from(value.unsigned_abs()) * u128::from(value.unsigned_abs());
        }
    }

    fn moments(&self, slot: usize) -> Moments {
        match self.n {
            0 => Moments::default(),
            n => Moments::of_sums(n, self.totals[slot].into(), self.squares[slot]),
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
    /// The stretch of the run that all of them lie in, and its length.
    from_ns: i64,
    until_ns: i64,
    doublings: u32,
    /// How many there are of each operation.
    operations: Vec<(Operation, u64)>,
    call_ns: Vec<i64>,
    lag: Column,
    wait: Column,
    departure_wait: Column,
}

impl ColumnBuffer {
    /// Whether an instance can be added to the buffered ones.
    #[inline]
    pub(crate) fn takes(&self, communicator: usize, scope: Scope, span: (i64, i64)) -> bool {
        self.communicator == communicator
            && self.scope == Some(scope)
            && self.from_ns <= span.0
            && span.1 < self.until_ns
    }

    /// Starts a new buffer, after the previous one was flushed, with the stretch that contains an
    /// instance; `false` if it spans a border.
    pub(crate) fn begin(
        &mut self,
        communicator: usize,
        n_slots: usize,
        scope: Scope,
        span: (i64, i64),
    ) -> bool {
        debug_assert_eq!(self.n_instances, 0);
        let (begin, end) = (span.0.max(0), span.1.max(0));
        let mut doublings = self.doublings;
        if end / bin_ns(doublings) >= i64::from(MAX_FINE_BINS) {
            doublings = doublings_to_cover(end, MAX_FINE_BINS);
        }
        let bin = begin / bin_ns(doublings);
        self.from_ns = bin * bin_ns(doublings);
        self.until_ns = self.from_ns.saturating_add(bin_ns(doublings));
        if span.0 < 0 || end >= self.until_ns {
            (self.from_ns, self.until_ns) = (0, 0);
            return false;
        }
        // No longer than an added instance requires: so the longest stretch of all processes does
        // not depend on which worker has added what.
        self.doublings = doublings;
        self.communicator = communicator;
        self.scope = Some(scope);
        self.operations.clear();
        self.call_ns.clear();
        self.call_ns.resize(n_slots, 0);
        self.lag.clear(n_slots);
        self.wait.clear(n_slots);
        self.departure_wait.clear(n_slots);
        true
    }

    /// Adds the calls of an instance that belongs to these.
    pub(crate) fn add(&mut self, calls: &CallColumns<'_>) {
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
        for (sum, time) in self.call_ns.iter_mut().zip(calls.times) {
            *sum += time;
        }
        self.lag.add(calls.lags);
        self.wait.add(calls.waits);
        self.departure_wait.add(calls.departure_waits);
    }

    /// Index of the communicator of the instances at hand; `None` without any.
    pub(crate) fn communicator(&self) -> Option<usize> {
        (self.n_instances > 0).then_some(self.communicator)
    }

    /// Adds the sums to the processes, and clears the buffer.
    pub(crate) fn flush(&mut self, communicator: &Communicator, processes: &mut [ProcessTally]) {
        let n = std::mem::take(&mut self.n_instances);
        let Some(scope) = self.scope.take() else {
            return;
        };
        for (slot, member) in communicator.members.iter().enumerate() {
            let process = &mut processes[member.process];
            for &(operation, n) in &self.operations {
                process.count(operation, scope, n);
            }
            let (call_ns, wait_ns) = (self.call_ns[slot], self.wait.totals[slot]);
            add_ns(&mut process.call_ns, call_ns);
            if self.wait.n > 0 {
                add_ns(process.wait_ns.get_or_insert(0), wait_ns);
            }
            process.behaviour.lag.merge(&self.lag.moments(slot));
            process.behaviour.wait.merge(&self.wait.moments(slot));
            let departure_wait = self.departure_wait.moments(slot);
            process.behaviour.departure_wait.merge(&departure_wait);
            let stretch = Stretch {
                n_calls: n,
                n_unknown_waits: 0,
                call_ns,
                wait_ns,
            };
            process
                .activity
                .add_stretch(self.from_ns, self.doublings, stretch);
        }
    }
}

//! What is kept of each operation, process and communicator.

use collbench_formats::{Operation, Semantics};

use crate::communicators::Scope;
use crate::conduct::Conduct;
use crate::distribution::Distribution;
use crate::matching::Call;
use crate::orders::OrderCounts;
use crate::serialization::Serialization;
use crate::timeline::Course;

/// Adds times that a damaged file may have made of any size: the sum stops at the largest.
pub(crate) fn sum_ns(times: impl IntoIterator<Item = i64>) -> i64 {
    times.into_iter().fold(0, i64::saturating_add)
}

/// Adds a time to a sum, likewise.
#[inline]
pub(crate) fn add_ns(sum: &mut i64, time: i64) {
    *sum = sum.saturating_add(time);
}

/// Class of payloads: the largest of any process in the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ByteClass {
    /// Nothing.
    Zero,
    /// From 2^k up to, not including, 2^(k + 1).
    PowerOfTwo(u32),
    /// No process's payload is known.
    Unknown,
}

impl ByteClass {
    /// The class of a largest payload.
    #[must_use]
    pub fn of(largest: Option<u64>) -> Self {
        match largest {
            None => Self::Unknown,
            Some(0) => Self::Zero,
            Some(bytes) => Self::PowerOfTwo(bytes.ilog2()),
        }
    }
}

/// What makes an entry of `operations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationKey {
    /// Index in [`Communicators::entries`](crate::Communicators::entries); `None` if not known.
    pub entry: Option<usize>,
    /// The operation.
    pub operation: Operation,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Class of payloads.
    pub class: ByteClass,
}

/// Sums of one process in one operation; its line of the timemap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemberTally {
    /// Resolved instances that it came last to.
    pub last: u64,
    /// Resolved instances that it left first.
    pub first_departure: u64,
    /// Calls in complete instances.
    pub n_calls: u64,
    /// Their time, ns.
    pub call_ns: i64,
    /// Calls whose wait is known.
    pub n_waits: u64,
    /// Their waits, ns.
    pub wait_ns: i64,
    /// Calls whose departure wait is known.
    pub n_departure_waits: u64,
    /// Their departure waits, ns.
    pub departure_wait_ns: i64,
}

/// What is kept of one operation.
#[derive(Debug)]
pub struct OperationTally {
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Other instances.
    pub incomplete: u64,
    /// Whether a call was under way that is in no instance: a constructor over a group, which
    /// tells what it made only when it returns.
    pub has_open_call: bool,
    /// Smallest and largest payload seen.
    pub bytes: Option<(u64, u64)>,
    /// Last leave minus first enter.
    pub duration: Distribution,
    /// Leave minus enter, of every call that returned.
    pub call_time: Distribution,
    /// Waits.
    pub wait: Distribution,
    /// Last enter minus own.
    pub lag: Distribution,
    /// First leave minus last enter.
    pub core: Distribution,
    /// Own leave minus first.
    pub departure_wait: Distribution,
    /// Scalasca's completion time, ns; `None` for operations without.
    pub completion_ns: Option<i64>,
    /// By position in the communicator's entry.
    pub members: Vec<MemberTally>,
    /// Complete instances of which it is not known who came last.
    pub last_unresolved: u64,
    /// Complete instances of which it is not known who left first.
    pub first_unresolved: u64,
    /// Orders of arrival.
    pub arrivals: OrderCounts,
    /// Orders of departure.
    pub departures: OrderCounts,
    /// How much later than the last enter each next process left.
    pub serialization: Serialization,
}

impl OperationTally {
    pub(crate) fn new(n_positions: usize) -> Self {
        Self {
            calls: 0,
            instances: 0,
            incomplete: 0,
            has_open_call: false,
            bytes: None,
            duration: Distribution::default(),
            call_time: Distribution::default(),
            wait: Distribution::default(),
            lag: Distribution::default(),
            core: Distribution::default(),
            departure_wait: Distribution::default(),
            completion_ns: None,
            members: vec![MemberTally::default(); n_positions],
            last_unresolved: 0,
            first_unresolved: 0,
            arrivals: OrderCounts::new(n_positions),
            departures: OrderCounts::new(n_positions),
            serialization: Serialization::default(),
        }
    }

    pub(crate) fn add_call(&mut self, call: &Call) {
        self.calls += 1;
        if let Some(bytes) = call.payload {
            let (least, most) = self.bytes.unwrap_or((bytes, bytes));
            self.bytes = Some((least.min(bytes), most.max(bytes)));
        }
        if let Some(leave) = call.leave
            && call.is_timed
        {
            self.call_time.add(leave.ns() - call.enter.ns());
        }
    }
}

/// What is kept of one process.
#[derive(Debug, Clone, Default)]
pub struct ProcessTally {
    /// Calls counted.
    pub calls: u64,
    /// Calls by operation and scope.
    pub by_class: Vec<((Operation, Scope), u64)>,
    /// Sum of its waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
    /// Time in calls, ns.
    pub call_ns: i64,
    /// Resolved instances that it came last to.
    pub last: u64,
    /// Resolved instances that it came first to.
    pub first: u64,
    /// Its lags and waits in complete instances.
    pub conduct: Conduct,
    /// What it did when.
    pub course: Course,
}

impl ProcessTally {
    pub(crate) fn count(&mut self, operation: Operation, scope: Scope) {
        self.calls += 1;
        let key = (operation, scope);
        match self.by_class.iter_mut().find(|(known, _)| *known == key) {
            Some((_, n)) => *n += 1,
            None => self.by_class.push((key, 1)),
        }
    }
}

/// Who came last, and what it cost the others, over all instances of one operation on one
/// communicator, of any root and payload.
#[derive(Debug, Clone)]
pub struct Lateness {
    /// Instances of which it is known who came last.
    pub resolved: u64,
    /// Complete instances.
    pub instances: u64,
    /// By position in the communicator's entry.
    pub members: Vec<LatenessOfMember>,
}

/// One process's part in a [`Lateness`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatenessOfMember {
    /// Index of the process in the run; `None`: it never took part.
    pub process: Option<usize>,
    /// Instances that it came last to.
    pub last: u64,
    /// Waits that its coming ended, in those instances, ns.
    pub caused_ns: i64,
    /// Its enter minus that of the second last, in those instances, ns.
    pub excess_ns: i64,
}

/// Names of the wait states of an operation, waiting and completion.
///
/// # Source
/// Scalasca's patterns, as metrics define them. Constructors wait as N x N do.
#[must_use]
pub fn wait_state_names(operation: Operation) -> (Option<&'static str>, Option<&'static str>) {
    match operation.semantics() {
        Semantics::Barrier => (Some("Wait at Barrier"), Some("Barrier Completion")),
        Semantics::AllToAll | Semantics::Constructor | Semantics::GroupConstructor => {
            (Some("Wait at N x N"), Some("N x N Completion"))
        }
        Semantics::OneToMany => (Some("Late Broadcast"), None),
        Semantics::ManyToOne => (Some("Early Reduce"), None),
        Semantics::Prefix => (Some("Early Scan"), None),
        Semantics::Neighborhood
        | Semantics::Free
        | Semantics::NonblockingConstructor
        | Semantics::Process => (None, None),
    }
}

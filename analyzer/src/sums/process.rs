//! Sums of each process, and of the phases that the program marked.

use collbench_formats::Operation;
use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::communicators::Scope;
use crate::sums::behaviour::Behaviour;
use crate::sums::timeline::ActivityOverTime;

/// Sums of one process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ProcessTally {
    /// Calls counted.
    pub calls: u64,
    /// Calls by operation and scope, ascending.
    pub by_class: Vec<((Operation, Scope), u64)>,
    /// Sum of its waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
    /// Time in calls, ns.
    pub call_ns: i64,
    /// Its wait in `MPI_Finalize`, ns; `None` where it is not known.
    pub finalize_wait_ns: Option<i64>,
    /// Resolved instances that it arrived last to.
    pub last: u64,
    /// Resolved instances that it arrived first to.
    pub first: u64,
    /// Its lags and waits in complete instances.
    pub behaviour: Behaviour,
    /// Its activity over time.
    pub activity: ActivityOverTime,
}

impl ProcessTally {
    /// Counts `n` calls.
    pub(crate) fn count(&mut self, operation: Operation, scope: Scope, n: u64) {
        self.calls += n;
        *self.calls_of(operation, scope) += n;
    }

    fn calls_of(&mut self, operation: Operation, scope: Scope) -> &mut u64 {
        let key = (operation, scope);
        let known = self.by_class.iter().position(|(known, _)| *known == key);
        let at = known.unwrap_or_else(|| {
            let at = self.by_class.partition_point(|(known, _)| *known < key);
            self.by_class.insert(at, (key, 0));
            at
        });
        &mut self.by_class[at].1
    }
}

impl ProcessTally {
    /// Adds another part of the same process.
    pub(crate) fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        for &((operation, scope), n) in &other.by_class {
            *self.calls_of(operation, scope) += n;
        }
        if let Some(wait) = other.wait_ns {
            add_ns(self.wait_ns.get_or_insert(0), wait);
        }
        add_ns(&mut self.call_ns, other.call_ns);
        self.finalize_wait_ns = self.finalize_wait_ns.or(other.finalize_wait_ns);
        self.last += other.last;
        self.first += other.first;
        self.behaviour.merge(&other.behaviour);
        self.activity.merge(other.activity);
    }
}

/// Sums of the instances in phases of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTally {
    /// Calls.
    pub n_calls: u64,
    /// Time in them, ns.
    pub call_ns: i64,
    /// Their known waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
}

impl PhaseTally {
    /// Adds calls that took so long, of which some waits are known.
    pub(crate) fn add(&mut self, n_calls: u64, call_ns: i64, wait_ns: Option<i64>) {
        self.n_calls += n_calls;
        add_ns(&mut self.call_ns, call_ns);
        if let Some(wait_ns) = wait_ns {
            add_ns(self.wait_ns.get_or_insert(0), wait_ns);
        }
    }
}

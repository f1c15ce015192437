//! Who arrived last in the instances of one operation on one communicator, and what it cost.

use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

use crate::sums::late_arrivals::LateArrivals;
use crate::sums::sections::LatenessSections;

/// Who arrived last, and what it cost the others, over all instances of one operation on one
/// communicator, of any root and payload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lateness {
    /// Instances of which it is known who arrived last.
    pub resolved: u64,
    /// Complete instances.
    pub instances: u64,
    /// By position in the communicator's entry.
    pub members: Vec<LatenessOfMember>,
    /// Who arrived last early and late.
    pub sections: LatenessSections,
    /// Single arrivals that were late, and a sample of all instances.
    pub arrivals: LateArrivals,
}

/// One process's part in a [`Lateness`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatenessOfMember {
    /// Index of the process in the run, the least of several; `None`: it never took part.
    pub process: Option<usize>,
    /// Instances that it arrived last to.
    pub last: u64,
    /// Waits that its arrival ended, in those instances, ns.
    pub caused_ns: i64,
    /// Its enter minus that of the last but one, in those instances, ns.
    pub excess_ns: i64,
}

impl Lateness {
    /// Empty sums, for an entry of `n_positions`.
    pub(crate) fn new(n_positions: usize) -> Self {
        Self {
            resolved: 0,
            instances: 0,
            members: vec![LatenessOfMember::default(); n_positions],
            sections: LatenessSections::default(),
            arrivals: LateArrivals::default(),
        }
    }

    /// Notes which process is at a position.
    pub(crate) fn note(&mut self, position: usize, process: usize) {
        let known = &mut self.members[position].process;
        *known = Some(known.map_or(process, |known| known.min(process)));
    }

    /// Adds another part of the same operation on the same communicator.
    pub(crate) fn merge(&mut self, other: Self) {
        self.resolved += other.resolved;
        self.instances += other.instances;
        for (own, other) in self.members.iter_mut().zip(&other.members) {
            own.process = own.process.into_iter().chain(other.process).min();
            own.last += other.last;
            add_ns(&mut own.caused_ns, other.caused_ns);
            add_ns(&mut own.excess_ns, other.excess_ns);
        }
        self.sections.merge(other.sections);
        self.arrivals.merge(&other.arrivals);
    }
}

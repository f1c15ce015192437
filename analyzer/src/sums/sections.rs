//! The run in sections: who arrived last, and the time of an operation, over the run.

use collbench_stats::bins::{Bins, Sum};
use collbench_stats::integers::add_ns;
use serde::{Deserialize, Serialize};

/// Most sections; at least half as many unless the run is shorter than 16 us.
pub(crate) const MAX_SECTIONS: u32 = 32;

/// How often one process arrived last, and what that cost the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimesLast {
    /// Resolved instances that it arrived last to.
    pub last: u64,
    /// Waits that its arrival ended in them, ns.
    pub caused_ns: i64,
}

impl TimesLast {
    /// Adds what another part of the instances came to.
    pub(crate) fn add(&mut self, other: Self) {
        self.last += other.last;
        add_ns(&mut self.caused_ns, other.caused_ns);
    }
}

/// Who arrived last in one section of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LatenessSection {
    /// Complete instances.
    pub instances: u64,
    /// By position in the communicator's entry, ascending: those that ever arrived last.
    pub by_position: Vec<(u32, TimesLast)>,
}

impl LatenessSection {
    /// Instances of which it is known who arrived last.
    pub(crate) fn resolved(&self) -> u64 {
        self.by_position.iter().map(|(_, times)| times.last).sum()
    }

    fn add(&mut self, position: u32, times: TimesLast) {
        match self
            .by_position
            .binary_search_by_key(&position, |(p, _)| *p)
        {
            Ok(at) => self.by_position[at].1.add(times),
            Err(at) => self.by_position.insert(at, (position, times)),
        }
    }
}

impl Sum for LatenessSection {
    fn merge(&mut self, other: Self) {
        self.instances += other.instances;
        for (position, times) in other.by_position {
            self.add(position, times);
        }
    }
}

/// Who arrived last, section by section.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LatenessSections(pub(crate) Bins<LatenessSection, MAX_SECTIONS>);

impl LatenessSections {
    /// Adds an instance whose last enter was at `time_ns`: the position that arrived last, where
    /// that is resolved, and the waits that its arrival ended.
    pub fn add(&mut self, time_ns: i64, last: Option<(usize, i64)>) {
        let section = self.0.at(time_ns);
        section.instances += 1;
        if let Some((position, caused_ns)) = last {
            section.add(position as u32, TimesLast { last: 1, caused_ns });
        }
    }

    /// Adds what another part of the instances came to.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }
}

/// What an operation took in one section of the run, in complete instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSection {
    /// Instances.
    pub instances: u64,
    /// Their calls.
    pub calls: u64,
    /// Their time, ns.
    pub call_ns: i64,
    /// Calls of which it is known how long they waited.
    pub n_waits: u64,
    /// That, ns.
    pub wait_ns: i64,
}

impl Sum for OperationSection {
    fn merge(&mut self, other: Self) {
        self.instances += other.instances;
        self.calls += other.calls;
        add_ns(&mut self.call_ns, other.call_ns);
        self.n_waits += other.n_waits;
        add_ns(&mut self.wait_ns, other.wait_ns);
    }
}

/// What an operation took, section by section.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OperationSections(pub(crate) Bins<OperationSection, MAX_SECTIONS>);

impl OperationSections {
    /// Adds an instance whose last enter was at `time_ns`.
    pub fn add(&mut self, time_ns: i64, instance: OperationSection) {
        self.0.at(time_ns).merge(instance);
    }

    /// Adds what another part of the instances came to.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }
}

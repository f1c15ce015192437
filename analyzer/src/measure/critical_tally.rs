//! Sums over the critical paths of the instances of a graph.

use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::measure::critical_path::{CriticalPath, Doubt, Elsewhere};

/// Sums over the critical paths of the instances of a graph.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CriticalTally {
    /// Instances whose critical path is known.
    pub n: u64,
    /// Instances whose critical path is unknown, by reason, as in [`Doubt::ALL`].
    pub unknown: [u64; Doubt::ALL.len()],
    /// Of those with a known path, operations in which all wait for all.
    pub all_for_all: AllForAll,
    /// Sum of the durations of those of which it is known, ns.
    pub duration_ns: i128,
    /// By slot.
    pub begins: Vec<Begin>,
    /// By edge.
    pub hops: Vec<Hop>,
    /// By slot.
    pub stays: Vec<Stay>,
}

/// Where critical paths begin, in operations in which all wait for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllForAll {
    /// Instances.
    pub n: u64,
    /// Paths that begin elsewhere than at the last to arrive, and the clocks do not resolve who
    /// that was.
    pub n_unresolved: u64,
    /// Paths that begin elsewhere, and were on a message when the last one arrived.
    pub n_on_message: u64,
    /// Paths that begin elsewhere, and were in a process when the last one arrived.
    pub n_in_process: u64,
}

/// Sums over paths that begin at a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Instances whose path begins there.
    pub n: u64,
    /// Sum of its enter minus the first enter of those, ns.
    pub late_ns: i128,
}

/// Sums over paths that use an edge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Instances whose path uses it.
    pub n: u64,
    /// Sum of the time spent on it, ns.
    pub total_ns: i128,
    /// Instances in which it was the longest hop of the path.
    pub n_longest: u64,
}

/// Sums over paths that pass through a slot: from its enter or the receipt of a message to its next
/// send or receive, or to its leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// Instances whose path passes through it.
    pub n: u64,
    /// Sum of the time spent there, ns.
    pub total_ns: i128,
}

impl CriticalTally {
    /// Adds an instance whose critical path is unknown.
    pub(crate) fn add_unknown(&mut self, why: Doubt) {
        self.unknown[why as usize] += 1;
    }

    /// Adds an instance in which all wait for all: where its path was when the last process
    /// arrived, if it does not begin there.
    pub(crate) fn add_all_for_all(&mut self, elsewhere: Option<Elsewhere>) {
        let all = &mut self.all_for_all;
        all.n += 1;
        match elsewhere {
            None => {}
            Some(Elsewhere::Unresolved) => all.n_unresolved += 1,
            Some(Elsewhere::OnMessage) => all.n_on_message += 1,
            Some(Elsewhere::InProcess) => all.n_in_process += 1,
        }
    }

    /// Adds the critical path of an instance.
    pub(crate) fn add(
        &mut self,
        instance: &CompleteInstance<'_>,
        path: &CriticalPath,
        n_edges: usize,
    ) {
        self.n += 1;
        let extent = &instance.extent;
        self.duration_ns += i128::from(extent.last_leave) - i128::from(extent.first_enter);
        self.begins.resize(instance.n_calls(), Begin::default());
        self.hops.resize(n_edges, Hop::default());
        let begin = &mut self.begins[path.begin];
        begin.n += 1;
        let (enter, _) = instance.stamps(path.begin);
        begin.late_ns += i128::from(enter) - i128::from(extent.first_enter);
        let mut longest = None;
        for of_edge in path.hops.chunk_by(|a, b| a.0 == b.0) {
            let edge = of_edge[0].0;
            let total: i128 = of_edge.iter().map(|&(_, ns)| i128::from(ns)).sum();
            let hop = &mut self.hops[edge as usize];
            hop.n += 1;
            hop.total_ns += total;
            longest = longest.max(Some((total, edge)));
        }
        if let Some((_, edge)) = longest {
            self.hops[edge as usize].n_longest += 1;
        }
        self.stays.resize(instance.n_calls(), Stay::default());
        for of_slot in path.stays.chunk_by(|a, b| a.0 == b.0) {
            let stay = &mut self.stays[of_slot[0].0 as usize];
            stay.n += 1;
            stay.total_ns += of_slot.iter().map(|&(_, ns)| i128::from(ns)).sum::<i128>();
        }
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n += other.n;
        for (own, other) in self.unknown.iter_mut().zip(other.unknown) {
            *own += other;
        }
        self.all_for_all.n += other.all_for_all.n;
        self.all_for_all.n_unresolved += other.all_for_all.n_unresolved;
        self.all_for_all.n_on_message += other.all_for_all.n_on_message;
        self.all_for_all.n_in_process += other.all_for_all.n_in_process;
        self.duration_ns += other.duration_ns;
        let n = self.begins.len().max(other.begins.len());
        self.begins.resize(n, Begin::default());
        for (own, other) in self.begins.iter_mut().zip(&other.begins) {
            own.n += other.n;
            own.late_ns += other.late_ns;
        }
        let n = self.hops.len().max(other.hops.len());
        self.hops.resize(n, Hop::default());
        for (own, other) in self.hops.iter_mut().zip(&other.hops) {
            own.n += other.n;
            own.total_ns += other.total_ns;
            own.n_longest += other.n_longest;
        }
        let n = self.stays.len().max(other.stays.len());
        self.stays.resize(n, Stay::default());
        for (own, other) in self.stays.iter_mut().zip(&other.stays) {
            own.n += other.n;
            own.total_ns += other.total_ns;
        }
    }
}

//! What is kept of how the instances of a graph came to their end.

use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::measure::critical_path::{CriticalPath, Doubt, Elsewhere};

/// What is kept of the critical paths of the instances of a graph.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CriticalTally {
    /// Instances of which it is known.
    pub n: u64,
    /// Instances of which it is not, by why, as in [`Doubt::ALL`].
    pub unknown: [u64; Doubt::ALL.len()],
    /// Of those of which it is known, where all wait for all.
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

/// Critical paths of instances in which all wait for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllForAll {
    /// Instances.
    pub n: u64,
    /// Those that do not begin at the last to arrive, as the clocks do not tell who that was.
    pub n_unresolved: u64,
    /// Those that do not, being on a message when that one came.
    pub n_on_message: u64,
    /// Those that do not, being in a process then.
    pub n_in_process: u64,
}

/// What is kept of a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Instances whose way begins there.
    pub n: u64,
    /// How much later than the first it had entered those, ns in all.
    pub late_ns: i128,
}

/// What is kept of an edge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Instances whose way goes over it.
    pub n: u64,
    /// The time it took them there, ns in all.
    pub total_ns: i128,
    /// Instances in which it took longer than any other hop of the way.
    pub n_longest: u64,
}

/// What is kept of the time that ways spend in a slot: from its enter, or from where it has a message,
/// to where it sends or posts the next, or to its leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// Instances whose way goes through it.
    pub n: u64,
    /// The time spent there, ns in all.
    pub total_ns: i128,
}

impl CriticalTally {
    /// Adds an instance of which it is not known.
    pub(crate) fn add_unknown(&mut self, why: Doubt) {
        self.unknown[why as usize] += 1;
    }

    /// Notes of an instance in which all wait for all where its way was when the last one came, if it
    /// does not begin there.
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

    /// Adds the way of an instance.
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

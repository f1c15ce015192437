//! All sums of a run, or of a part of it.
//!
//! Plain values: they refer to no run, can be written and read, and those of two parts can be
//! merged, in any order and any grouping. The result, and the bytes in which it is written, do not
//! depend on which worker has added what.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use collbench_formats::Operation;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::instances::outcome::Merge;
use crate::sums::counts::Counts;
use crate::sums::instances::operation_key::OperationKey;
use crate::sums::instances::shown_instances::ShownInstances;
use crate::sums::lateness::Lateness;
use crate::sums::mismatch::Mismatches;
use crate::sums::never_completed::AllNeverCompleted;
use crate::sums::operation::OperationTally;
use crate::sums::process::{PhaseTally, ProcessTally};
use crate::sums::unfinished::AllUnfinished;

/// All sums of a run, or of the part of it that one worker has seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sums {
    /// By operation key.
    pub operations: Operations,
    /// By process of the run; the stretches of all their courses are equally long.
    pub processes: Vec<ProcessTally>,
    /// By communicator entry and operation.
    pub lateness: BTreeMap<(usize, Operation), Lateness>,
    /// By level of the phase that the program marked.
    pub phases: BTreeMap<i32, PhaseTally>,
    /// Instances that are kept in detail.
    pub shown: ShownInstances,
    /// Instances that someone was in at the end.
    pub unfinished: AllUnfinished,
    /// Instances that were begun and not completed by processes that ended in order.
    pub never_completed: AllNeverCompleted,
    /// Calls at one position that are not one collective, or of sizes that do not fit.
    pub mismatches: Mismatches,
    /// Calls of the application in the whole trace.
    pub n_calls: u64,
    /// Their payload, bytes.
    pub n_bytes: u64,
    /// Counts for remarks.
    pub counts: Counts,
    /// Last stamp of any process, ns since the start.
    pub end_ns: i64,
}

impl Sums {
    /// Empty sums, for a run of `n_processes`.
    #[must_use]
    pub fn new(n_processes: usize) -> Self {
        Self {
            operations: Operations::default(),
            processes: vec![ProcessTally::default(); n_processes],
            lateness: BTreeMap::new(),
            phases: BTreeMap::new(),
            shown: ShownInstances::default(),
            unfinished: AllUnfinished::default(),
            never_completed: AllNeverCompleted::default(),
            mismatches: Mismatches::default(),
            n_calls: 0,
            n_bytes: 0,
            counts: Counts::default(),
            end_ns: 0,
        }
    }

    /// The operations, by key.
    pub fn operations(&self) -> impl Iterator<Item = (&OperationKey, &OperationTally)> {
        self.operations.iter()
    }

    /// Operations on communicators of which it is sometimes known who arrived last.
    pub(crate) fn n_judged(&self) -> usize {
        let resolved = self
            .lateness
            .values()
            .filter(|lateness| lateness.resolved > 0);
        resolved.count().max(1)
    }

    /// Prepares them to be looked at, when nothing more is added.
    pub(crate) fn settle(&mut self) {
        let tallies = self.operations.list_mut();
        tallies.iter_mut().for_each(OperationTally::settle);
    }

    /// Makes the stretches of all courses as long as the longest.
    pub(crate) fn even_out_activities(&mut self) {
        let activities = || self.processes.iter().map(|process| &process.activity);
        let longest = activities().map(|activity| activity.0.doublings()).max();
        for process in &mut self.processes {
            process.activity.0.widen(longest.unwrap_or(0));
        }
    }
}

impl Merge for Sums {
    fn merge(&mut self, other: Self) {
        self.operations.merge(other.operations);
        for (own, other) in self.processes.iter_mut().zip(other.processes) {
            own.merge(other);
        }
        self.even_out_activities();
        for (key, lateness) in other.lateness {
            match self.lateness.entry(key) {
                Entry::Occupied(mut own) => own.get_mut().merge(lateness),
                Entry::Vacant(own) => drop(own.insert(lateness)),
            }
        }
        for (level, phase) in other.phases {
            let own = self.phases.entry(level).or_default();
            own.add(phase.n_calls, phase.call_ns, phase.wait_ns);
        }
        self.shown.merge(other.shown);
        self.unfinished.merge(other.unfinished);
        self.never_completed.merge(other.never_completed);
        self.mismatches.merge(other.mismatches);
        self.n_calls += other.n_calls;
        self.n_bytes = self.n_bytes.saturating_add(other.n_bytes);
        self.counts.merge(other.counts);
        self.end_ns = self.end_ns.max(other.end_ns);
    }
}

/// What is kept of each operation; written as a list by key.
#[derive(Debug, Clone, Default)]
pub struct Operations {
    /// Numbers of the operations, in the order in which they were met.
    numbers: BTreeMap<OperationKey, usize>,
    /// By number.
    list: Vec<OperationTally>,
}

impl Operations {
    /// The operations, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&OperationKey, &OperationTally)> {
        let numbers = self.numbers.iter();
        numbers.map(|(key, &number)| (key, &self.list[number]))
    }

    /// The number of an operation, which is new if it was not met.
    pub(crate) fn number_of(
        &mut self,
        key: OperationKey,
        new: impl FnOnce() -> OperationTally,
    ) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.list.push(new());
            self.list.len() - 1
        })
    }

    /// Those of an operation that was met.
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut OperationTally {
        &mut self.list[number]
    }

    /// All of them, by number.
    pub(crate) fn list_mut(&mut self) -> &mut [OperationTally] {
        &mut self.list
    }

    fn into_pairs(self) -> impl Iterator<Item = (OperationKey, OperationTally)> {
        let mut list: Vec<_> = self.list.into_iter().map(Some).collect();
        let numbers = self.numbers.into_iter();
        numbers.filter_map(move |(key, number)| Some((key, list[number].take()?)))
    }

    fn merge(&mut self, other: Self) {
        for (key, tally) in other.into_pairs() {
            match self.numbers.entry(key) {
                Entry::Occupied(own) => self.list[*own.get()].merge(tally),
                Entry::Vacant(own) => {
                    own.insert(self.list.len());
                    self.list.push(tally);
                }
            }
        }
    }
}

impl Serialize for Operations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().collect::<Vec<_>>())
    }
}

impl<'de> Deserialize<'de> for Operations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Self::default();
        for (key, tally) in Vec::deserialize(deserializer)? {
            all.number_of(key, || tally);
        }
        Ok(all)
    }
}

//! Nonblocking collectives that a program initiates and never completes, though it calls
//! MPI_Finalize.
//!
//! # Source
//! MPI 4.0, 11.2.2: before MPI_Finalize a process must complete all that it has begun.

use std::collections::BTreeMap;

use collbench_formats::Operation;
use collbench_stats::first_by_key::keep_lesser;
use serde::{Deserialize, Serialize};

use crate::calls::call::Candidate;
use crate::trace::record_at::CallOrder;
use crate::trace::run::Run;

/// Instances that are kept one by one.
const MAX_KEPT: usize = 100;

/// An instance that some processes initiated but did not complete before MPI_Finalize.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NeverCompleted {
    /// What was begun.
    pub operation: Operation,
    /// Index in [`Communicators::entries`](crate::communicators::Communicators::entries).
    pub entry: usize,
    /// Whether `sequence` is the number of a start of a persistent collective.
    pub is_persistent: bool,
    /// Position among the calls on the communicator.
    pub sequence: u64,
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
}

/// All of them: the first, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllNeverCompleted {
    /// By communicator (in the list), call order, position and first rank.
    kept: BTreeMap<(usize, CallOrder, u64, u32), NeverCompleted>,
    /// Instances.
    pub n_instances: u64,
    /// Calls that began them.
    pub n_calls: u64,
}

impl AllNeverCompleted {
    /// Takes in an instance of which something was under way at the end.
    pub(crate) fn add(&mut self, instance: &Candidate<'_>, run: &Run<'_>) {
        let members = &instance.communicator.members;
        let begun = instance
            .calls
            .iter()
            .zip(members)
            .filter_map(|(call, member)| {
                let call = call.as_ref().filter(|call| call.is_under_way())?;
                let is_only_begun = call
                    .overlap
                    .is_some_and(|overlap| overlap.completing.is_none());
                // Where records are missing, so may be that of the completion.
                let trace = &run.processes[member.process].trace;
                let is_whole = trace.header.finalized.get() != 0 && trace.damage.is_empty();
                (is_only_begun && is_whole).then_some((member.world_rank, call.operation))
            });
        let mut begun: Vec<(u32, Operation)> = begun.collect();
        begun.sort_unstable();
        let Some(&(first, operation)) = begun.first() else {
            return;
        };
        self.n_instances += 1;
        self.n_calls += begun.len() as u64;
        let key = (
            instance.communicator_index,
            instance.call_order,
            instance.position,
            first,
        );
        let found = NeverCompleted {
            operation,
            entry: instance.communicator.entry,
            is_persistent: matches!(instance.call_order, CallOrder::Persistent(_)),
            sequence: instance.position,
            ranks: begun.into_iter().map(|(rank, _)| rank).collect(),
        };
        self.keep(key, found);
    }

    fn keep(&mut self, key: (usize, CallOrder, u64, u32), found: NeverCompleted) {
        keep_lesser(&mut self.kept, key, found);
        if self.kept.len() > MAX_KEPT {
            self.kept.pop_last();
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.n_instances += other.n_instances;
        self.n_calls += other.n_calls;
        for (key, found) in other.kept {
            self.keep(key, found);
        }
    }

    /// Those that are kept, by communicator and position.
    pub fn iter(&self) -> impl Iterator<Item = &NeverCompleted> {
        self.kept.values()
    }
}

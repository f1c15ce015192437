//! Which operations of two traces correspond.

use std::collections::BTreeMap;

use crate::results::analysis::Analysis;
use crate::results::code::Code;
use crate::results::operation::OperationSummary;
use crate::results::process::CommunicatorSummary;
use crate::sums::instances::operation_key::ByteClass;

/// Which communicators of two traces, by id, correspond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Correspondence {
    /// For each communicator of the other trace the one of the baseline.
    of_other: Vec<Option<usize>>,
}

/// What operations of different traces must share to correspond: operation, communicator in the
/// baseline, position of the root in it, class of payloads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    operation: Code,
    communicator: Option<usize>,
    root: Option<usize>,
    class: ByteClass,
}

impl Correspondence {
    /// Finds the communicators of `other` in `baseline`: those of the same kind with the same
    /// members where both jobs have as many ranks, those of the same name also; then those of the
    /// same kind and name. Among several alike, the first corresponds to the first.
    pub(crate) fn new(baseline: &Analysis, other: &Analysis) -> Self {
        let mut found = Self {
            of_other: vec![None; other.communicators.len()],
        };
        let mut is_taken = vec![false; baseline.communicators.len()];
        if baseline.trace.ranks == other.trace.ranks {
            let exact = |c: &CommunicatorSummary| (c.kind.clone(), c.ranks.clone(), c.name.clone());
            found.add(&mut is_taken, baseline, other, exact);
            let members = |c: &CommunicatorSummary| (c.kind.clone(), c.ranks.clone());
            found.add(&mut is_taken, baseline, other, members);
        }
        let name = |c: &CommunicatorSummary| (c.kind.clone(), c.name.clone());
        found.add(&mut is_taken, baseline, other, name);
        found
    }

    /// Pairs the remaining communicators that have equal keys.
    fn add<L: Ord>(
        &mut self,
        is_taken: &mut [bool],
        baseline: &Analysis,
        other: &Analysis,
        look: impl Fn(&CommunicatorSummary) -> L,
    ) {
        let mut left: BTreeMap<L, Vec<usize>> = BTreeMap::new();
        for communicator in baseline.communicators.iter().rev() {
            if !is_taken[communicator.id] {
                let alike = left.entry(look(communicator)).or_default();
                alike.push(communicator.id);
            }
        }
        for communicator in &other.communicators {
            let correspondence = &mut self.of_other[communicator.id];
            if correspondence.is_none()
                && let Some(alike) = left.get_mut(&look(communicator))
                && let Some(id) = alike.pop()
            {
                *correspondence = Some(id);
                is_taken[id] = true;
            }
        }
    }

    /// The communicator of the baseline that corresponds to one of the other trace.
    pub(crate) fn in_baseline(&self, id: usize) -> Option<usize> {
        self.of_other[id]
    }

    /// The key of an operation of the other trace; `None` where its communicator has no
    /// counterpart.
    pub(crate) fn key(&self, other: &Analysis, operation: &OperationSummary) -> Option<Key> {
        let communicator = match operation.communicator {
            Some(id) => Some(self.in_baseline(id)?),
            None => None,
        };
        Some(Key {
            communicator,
            ..Key::new(other, operation)
        })
    }
}

impl Key {
    /// The key of an operation of the baseline.
    pub(crate) fn new(baseline: &Analysis, operation: &OperationSummary) -> Self {
        let ranks = operation
            .communicator
            .map(|id| &baseline.communicators[id].ranks);
        Self {
            operation: operation.operation.clone(),
            communicator: operation.communicator,
            root: operation.root.and_then(|root| {
                let position = ranks?.iter().position(|rank| *rank == Some(root));
                // A root without a file has no position; its rank is used instead.
                Some(position.unwrap_or(root as usize))
            }),
            class: operation.class(),
        }
    }
}

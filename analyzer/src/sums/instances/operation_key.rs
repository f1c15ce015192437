//! Which operation an instance belongs to.

use std::hash::{DefaultHasher, Hash, Hasher};

use collbench_formats::Operation;
use collbench_trees::algorithm::Algorithm;
use serde::{Deserialize, Serialize};

use crate::trace::algorithm_names::AlgorithmNames;

/// Class of payloads: the largest of any process in the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// The hash of the completion of a nonblocking operation, in which some wait for others to enter their completing calls, from
/// that of its [key](OperationKey::stable_hash).
pub(crate) const fn completion_hash(hash: u64) -> u64 {
    hash ^ u64::MAX
}

/// What makes an entry of `operations`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationKey {
    /// Index in [`Communicators::entries`](crate::communicators::Communicators::entries); `None` if not known.
    pub entry: Option<usize>,
    /// The operation.
    pub operation: Operation,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Class of payloads.
    pub class: ByteClass,
    /// The algorithm, of instances for which the library reported it, or whose messages were seen.
    pub algorithm: Option<Algorithm>,
    /// The names that the library reported.
    pub reported: Option<AlgorithmNames>,
    /// The spanning tree of our own whose event collectors values passed: an index in
    /// [`OwnTrees::list`](crate::communicators::spanning_trees::OwnTrees).
    pub tree: Option<u32>,
}

impl OperationKey {
    /// A hash that is the same for every worker, and in every analysis of the trace.
    #[must_use]
    pub fn stable_hash(&self) -> u64 {
        let Self {
            entry,
            operation,
            root,
            class,
            algorithm,
            reported,
            tree,
        } = self;
        let mut hasher = DefaultHasher::new();
        (entry, operation, root, class, algorithm, reported).hash(&mut hasher);
        // Most operations have none, and keep the hash that they have always had.
        if let Some(tree) = tree {
            tree.hash(&mut hasher);
        }
        hasher.finish()
    }
}

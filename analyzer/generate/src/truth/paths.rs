//! The true stages of paths through spanning trees of our own.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::own_trees::Stage;
use crate::summary::{Summary, TruthDetail};

/// The path of one rank through a tree, in the complete instances of an operation.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TruePath {
    /// The name of the tree.
    pub tree: String,
    /// The name of the operation in the MPI standard.
    pub operation: &'static str,
    /// World rank of the root, of operations that have one.
    pub root: Option<u32>,
    /// World rank.
    pub rank: u32,
    /// Which of its threads, from 0.
    pub thread: u32,
    /// Its stages, in order; of an operation with a root only the whole, from the enter (of the
    /// root, if data flow from it) to the leave (of the root, if they flow to it).
    pub stages: Vec<TrueStage>,
}

/// A stage of a path.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueStage {
    /// What it is, as in `collbench.analysis/1`.
    pub kind: &'static str,
    /// Its wrapper, if it is at one.
    pub wrapper: Option<u32>,
    /// Its time, per instance.
    pub time_ns: Summary,
}

/// Tree, operation, root, and rank with thread.
type Key = (String, &'static str, Option<u32>, (u32, u32));

/// Accumulates the paths.
#[derive(Debug, Default)]
pub(super) struct PathBuilder {
    paths: BTreeMap<Key, Vec<TrueStage>>,
}

impl PathBuilder {
    /// Adds the path of a rank in one instance.
    pub(super) fn add(&mut self, key: Key, stages: &[Stage], detail: TruthDetail) {
        let sums = self.paths.entry(key).or_insert_with(|| {
            let new = |stage: &Stage| TrueStage {
                kind: stage.kind,
                wrapper: stage.wrapper,
                time_ns: Summary::default(),
            };
            stages.iter().map(new).collect()
        });
        for (sum, stage) in sums.iter_mut().zip(stages) {
            sum.time_ns.add(stage.ns, detail);
        }
    }

    pub(super) fn finish(self) -> Vec<TruePath> {
        let paths = self.paths.into_iter();
        let one = |((tree, operation, root, (rank, thread)), stages): (Key, _)| TruePath {
            tree,
            operation,
            root,
            rank,
            thread,
            stages,
        };
        paths.map(one).collect()
    }
}

//! What all processes that were started together know, from the end of `MPI_Init` on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use collbench_formats::tree::{Collective, TreeRules};
use collbench_paths::MpiWorld;

use super::adapt_log::AdaptLog;
use super::hosts::Hosts;
use super::learned::FromLog;
use super::predefined::{Predefined, TreeConstants};
use super::tags::Tags;
use crate::mpi::MpiLibrary;
use crate::process::say;

/// What trees are made of, and used with, in all communicators.
#[derive(Debug)]
pub(super) struct World {
    pub(super) library: MpiLibrary,
    pub(super) constants: TreeConstants,
    pub(super) predefined: Predefined,
    pub(super) rules: TreeRules,
    pub(super) hosts: Hosts,
    /// The communicator of ours.
    pub(super) ours: MpiWorld,
    /// World rank of this process.
    pub(super) rank: u32,
    pub(super) tags: Mutex<Tags>,
    /// Bytes of memory that the trees of this process take.
    pub(super) bytes: AtomicUsize,
    /// Where decisions about candidates are written; `None`: nowhere.
    pub(super) log: Option<AdaptLog>,
    /// What an earlier run has found about candidates.
    pub(super) learned: FromLog,
    /// Whether the user was told that a communicator has no trees.
    pub(super) was_told: AtomicBool,
}

impl World {
    /// Whether there are several candidates for calls of an operation.
    pub(super) fn adapts(&self, collective: Collective) -> bool {
        let mut adaptations = self.rules.adaptations.iter();
        adaptations.any(|adaptation| {
            let rule = self.rules.rules.get(adaptation.first as usize);
            rule.is_some_and(|rule| rule.calls.operations.contains(&collective))
        })
    }

    pub(super) fn tags(&self) -> MutexGuard<'_, Tags> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the user once why calls that have a tree go to the MPI library.
    #[cold]
    pub(super) fn tell_once(&self, why: &str) {
        if !self.was_told.swap(true, Ordering::AcqRel) {
            let what = format!("a communicator that has a tree uses the MPI library: {why}");
            say(self.rank, &what);
        }
    }
}

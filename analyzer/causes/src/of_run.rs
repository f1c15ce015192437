//! What is the same in all parts of a run.

use rustc_hash::FxHashSet;

use crate::hosts::Hosts;

/// What is the same in all parts of a run.
#[derive(Debug)]
pub(crate) struct OfRun {
    pub(crate) hosts: Hosts,
    /// Whether anybody communicated point to point.
    pub(crate) has_partners: bool,
    /// The processes of which several threads make calls.
    pub(crate) have_threads: FxHashSet<u32>,
}

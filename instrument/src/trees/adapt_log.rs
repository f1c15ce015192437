//! Decisions about candidates, written to a file.
//!
//! It is opened for each control point: a program that closes all descriptors or forks disturbs nothing.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use collbench_adapt::{Decision, Entry, Subject};
use collbench_formats::tree::Adapting;

use super::adaptive::Candidate;
use super::communicator::TreesOfCommunicator;
use super::world::World;
use crate::process::say;

/// Most bytes that a process writes.
const MOST_BYTES: u64 = 16 << 20;

/// The file to which this process writes decisions.
#[derive(Debug)]
pub(super) struct AdaptLog {
    path: PathBuf,
    written: AtomicU64,
    was_told: AtomicBool,
}

impl AdaptLog {
    pub(super) fn of(adapting: &Adapting) -> Option<Self> {
        Some(Self {
            path: adapting.log.as_ref()?.into(),
            written: AtomicU64::new(0),
            was_told: AtomicBool::new(false),
        })
    }

    /// Adds a line; what cannot be written is said once.
    fn add(&self, line: &str, rank: u32) {
        let length = line.len() as u64;
        if self.written.fetch_add(length, Ordering::Relaxed) + length > MOST_BYTES {
            return;
        }
        let file = OpenOptions::new().append(true).open(&self.path);
        // In one write, so that those of other processes come before or behind it.
        let result = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = result
            && !self.was_told.swap(true, Ordering::AcqRel)
        {
            let path = self.path.display();
            say(
                rank,
                &format!("{path}: {error}; decisions about trees are not written down"),
            );
        }
    }
}

impl TreesOfCommunicator {
    /// Writes a decision about the calls with a key to the log, if there is one.
    pub(super) fn write_down(&self, trees: &World, of: usize, decision: &Decision) {
        let Some(log) = &trees.log else {
            return;
        };
        let calls = &self.adaptive.calls[of];
        let key = &calls.key;
        let adaptation = &trees.rules.adaptations[key.adaptation];
        let number = |candidate: &Candidate| match *candidate {
            Candidate::Library => None,
            Candidate::Tree(rule) => Some(rule as u32 - adaptation.first + 1),
        };
        let bytes = match key.size_class {
            0 => (0, 0),
            digits => (1 << (digits - 1), (1 << digits) - 1),
        };
        let subject = Subject {
            line: adaptation.line,
            operation: key.collective.name().to_owned(),
            ranks: self.n_ranks() as u32,
            first_rank: trees.rank,
            bytes,
            root: key.root,
            depends_on_grouping: key.depends_on_grouping,
            candidates: calls.candidates.iter().map(number).collect(),
        };
        log.add(&Entry::new(subject, decision).line(), trees.rank);
    }
}

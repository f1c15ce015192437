//! The file to which decisions about candidates are written. It is opened for each control point, so that a program
//! which closes all descriptors disturbs nothing.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use collbench_formats::tree::Adapting;

use crate::process::say;

/// Most bytes that a process writes.
const MOST_BYTES: u64 = 16 << 20;
/// Most lines of which it is known that they were written.
const MOST_KNOWN: usize = 1024;

/// The file to which this process writes decisions.
#[derive(Debug)]
pub(super) struct AdaptLog {
    path: PathBuf,
    written: AtomicU64,
    known: Mutex<BTreeSet<String>>,
    was_told: AtomicBool,
}

impl AdaptLog {
    pub(super) fn of(adapting: &Adapting) -> Option<Self> {
        Some(Self {
            path: adapting.log.as_ref()?.into(),
            written: AtomicU64::new(0),
            known: Mutex::default(),
            was_told: AtomicBool::new(false),
        })
    }

    /// Adds a line that was not added before: many communicators may have the same.
    pub(super) fn add_once(&self, line: String, rank: u32) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_KNOWN && !known.contains(&line) {
            self.add(&line, rank);
            known.insert(line);
        }
    }

    /// Adds a line; what cannot be written is said once.
    pub(super) fn add(&self, line: &str, rank: u32) {
        let length = line.len() as u64;
        let before = self.written.fetch_add(length, Ordering::Relaxed);
        if before + length > MOST_BYTES {
            self.tell(
                rank,
                &format!("{} MiB are written, and no more is", MOST_BYTES >> 20),
            );
            return;
        }
        let file = OpenOptions::new().append(true).open(&self.path);
        // In one write, so that those of other processes come before or behind it.
        let result = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = result {
            self.tell(
                rank,
                &format!("{error}; decisions about trees are not written down"),
            );
        }
    }

    fn tell(&self, rank: u32, what: &str) {
        if !self.was_told.swap(true, Ordering::AcqRel) {
            say(rank, &format!("{}: {what}", self.path.display()));
        }
    }
}

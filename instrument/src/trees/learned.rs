//! What an earlier run has found about calls for which there are several candidates.
//!
//! All processes have the same lines of its log, as they have the same trees, and know of each communicator what the lines
//! name. So all begin with the same candidate.

use std::sync::atomic::{AtomicBool, Ordering};

use collbench_adapt::{Entry, Learned, Subject};
use collbench_formats::tree::Adapting;

/// What an earlier run has found about some calls.
#[derive(Debug)]
struct OfCalls {
    calls: Subject,
    learned: Option<Learned>,
    /// Whether this process had such calls.
    is_met: AtomicBool,
}

/// What an earlier run has found.
#[derive(Debug)]
pub(super) struct FromLog(Vec<OfCalls>);

impl FromLog {
    pub(super) fn of(adapting: &Adapting) -> Self {
        let entries = adapting.learned.iter();
        let entries = entries.filter_map(|line| Entry::of_line(line));
        let of_calls = entries.map(|entry| OfCalls {
            learned: entry.learned(),
            calls: entry.subject,
            is_met: AtomicBool::new(false),
        });
        Self(of_calls.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was found about these calls.
    pub(super) fn find(&self, calls: &Subject) -> Option<Learned> {
        let found = self.0.iter().find(|of| of.calls == *calls)?;
        found.is_met.store(true, Ordering::Relaxed);
        found.learned
    }

    /// For each class of calls 1 if this process had some, 0 if not.
    pub(super) fn met(&self) -> Vec<i64> {
        let met = self.0.iter().map(|of| of.is_met.load(Ordering::Relaxed));
        met.map(i64::from).collect()
    }
}

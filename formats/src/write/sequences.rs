//! How many calls of a process were entered before an instant, for the table of a chunk.

use std::collections::BTreeMap;

use crate::file::{Definition, ProcessState, SequenceEntry, SequenceOf};
use crate::record::{Record, Semantics};

/// Counts how many calls of a process were entered, record by record.
#[derive(Debug, Clone, Default)]
pub struct Sequences {
    /// By index of the communicator: calls of the application, and internal calls of the MPI
    /// library.
    calls: BTreeMap<u32, (u64, u32)>,
    /// By index of the persistent collective: its starts.
    starts: BTreeMap<u32, u64>,
    /// Tables of rings have it; other tables also leave out persistent collectives.
    process: Option<ProcessState>,
}

impl Sequences {
    /// The counts in a table.
    #[must_use]
    pub fn of_table(table: &[SequenceEntry]) -> Self {
        let mut sequences = Self::default();
        for entry in table {
            match entry.of() {
                SequenceOf::Communicator(index) => {
                    let calls = (entry.calls.get(), entry.internal_calls.get());
                    sequences.calls.insert(index, calls);
                }
                SequenceOf::Persistent { definition, starts } => {
                    sequences.starts.insert(definition, starts);
                }
                SequenceOf::Process(process) => sequences.process = Some(process),
            }
        }
        sequences
    }

    /// Makes its tables those of a ring.
    pub(super) fn keep_process(&mut self) {
        self.process.get_or_insert_default();
    }

    /// Adds a communicator that was created; in a ring the table has it from now on.
    pub fn add_communicator(&mut self, index: u32) {
        self.calls.entry(index).or_default();
        if let Some(process) = &mut self.process {
            process.n_communicators = process.n_communicators.max(index.saturating_add(1));
        }
    }

    /// Adds a definition of a recorder, in a ring.
    pub(super) fn define(&mut self, definition: &Definition) {
        let Some(process) = &mut self.process else {
            return;
        };
        match definition {
            Definition::Communicator(communicator) => self.add_communicator(communicator.index),
            Definition::PersistentCollective(persistent) => {
                process.n_persistents = persistent.index + 1;
                self.starts.insert(persistent.index, 0);
            }
            _ => {}
        }
    }

    /// Counts a record.
    pub fn see(&mut self, record: &Record) {
        if let (Some(level), Some(process)) = (record.phase_level(), &mut self.process) {
            process.phase = Some(level);
        }
        if let Some(start) = record.persistent_start() {
            let starts = self.starts.entry(start.definition).or_default();
            *starts = starts.wrapping_add(1);
            return;
        }
        let Some(operation) = record.operation().filter(|op| op.takes_position()) else {
            return;
        };
        let index = record.communicator.get();
        let calls = self.calls.entry(index).or_default();
        if record.is_internal() {
            calls.1 = calls.1.wrapping_add(1)
        } else {
            calls.0 = calls.0.wrapping_add(1)
        }
        if operation.semantics() == Semantics::Free && record.leave.get() != 0 {
            self.calls.remove(&index);
        }
    }

    /// The table of a chunk that is opened now.
    #[must_use]
    pub fn table(&self) -> Vec<SequenceEntry> {
        let calls = self
            .calls
            .iter()
            .map(|(&index, &(calls, internal))| SequenceEntry {
                communicator: index.into(),
                internal_calls: internal.into(),
                calls: calls.into(),
            });
        let starts = self.starts.iter();
        let starts = starts.map(|(&index, &n)| SequenceEntry::of_persistent(index, n));
        match self.process.map(SequenceEntry::of_process) {
            Some(process) => calls.chain(starts).chain([process]).collect(),
            None => calls.collect(),
        }
    }
}

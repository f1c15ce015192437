//! What a generated file has of a ring: tables that tell what came before, and only the newest
//! chunks.

use std::collections::BTreeMap;

use collbench_formats::{
    CHUNK_ALIGN, ChunkHeader, Definition, PLACE_MAGIC, ProcessState, Record, SequenceEntry,
};

use super::rank_file::{Body, NewRecord};

/// The ring of one file.
#[derive(Debug)]
pub(super) struct Ring {
    /// Chunks of records that are kept, besides the last one of each thread.
    pub(super) keep_chunks: usize,
    state: ProcessState,
    /// By index of the persistent collective.
    starts: BTreeMap<u32, u64>,
}

impl Ring {
    pub(super) fn new(keep_chunks: usize) -> Self {
        Self {
            keep_chunks,
            state: ProcessState::default(),
            starts: BTreeMap::new(),
        }
    }

    /// Takes in a definition; gives the index of a communicator, which is in the table from now on.
    pub(super) fn define(&mut self, definition: &Definition) -> Option<u32> {
        match definition {
            Definition::Communicator(communicator) => {
                self.state.n_communicators = communicator.index + 1;
                Some(communicator.index)
            }
            Definition::PersistentCollective(persistent) => {
                self.state.n_persistents = persistent.index + 1;
                self.starts.insert(persistent.index, 0);
                None
            }
            _ => None,
        }
    }

    /// Takes in a record.
    pub(super) fn see(&mut self, record: &NewRecord) {
        let Body::Words(words) = record.body else {
            return;
        };
        let record = Record::of_words(words, 1, 1);
        if let Some(start) = record.persistent_start() {
            *self.starts.entry(start.definition).or_default() += 1;
        }
        if let Some(level) = record.phase_level() {
            self.state.phase = Some(level);
        }
    }

    /// The table with these entries of communicators.
    pub(super) fn table(&self, communicators: &[SequenceEntry]) -> Vec<SequenceEntry> {
        let starts = self.starts.iter();
        let starts = starts.map(|(&index, &n)| SequenceEntry::of_persistent(index, n));
        let process = [SequenceEntry::of_process(self.state)];
        let communicators = communicators.iter().copied();
        communicators.chain(starts).chain(process).collect()
    }
}

/// A place of so many bytes whose chunk was overwritten, and that is not used again.
pub(super) fn empty_place(length: u64) -> Vec<u8> {
    let length = length.next_multiple_of(CHUNK_ALIGN);
    let mut bytes = vec![0; length as usize];
    bytes[..4].copy_from_slice(&PLACE_MAGIC);
    let at = std::mem::offset_of!(ChunkHeader, length);
    bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
    bytes
}

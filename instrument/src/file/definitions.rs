//! The definitions of a rank file. One chunk of them is open at a time, and all threads append to
//! it.

use std::io;
use std::sync::PoisonError;

use collbench_formats::write::{communicator_entry, definition_entry};
use collbench_formats::{Anchor, CHUNK_ALIGN, ChunkHeader, ChunkKind, Communicator, Definition};

use super::chunk::Opening;
use super::definitions_chunk::DefinitionsChunk;
use super::error::GrowError;
use super::rank_file::RankFile;

impl RankFile {
    /// Appends a definition. `now` reads the clock; `anchor` reads the clocks if a chunk is opened
    /// for it.
    pub(crate) fn define(
        &self,
        definition: &Definition,
        now: impl Fn() -> u64 + Copy,
        anchor: impl Fn() -> Anchor + Copy,
    ) -> Result<(), GrowError> {
        let entry = definition_entry(definition).map_err(|error| GrowError::Failed {
            what: "encoding a definition",
            error: io::Error::other(error),
        })?;
        self.append(&entry, now, anchor)
    }

    /// Appends the definition of a communicator, without allocation: programs create them by the
    /// thousand.
    #[inline]
    pub(crate) fn define_communicator(
        &self,
        communicator: Communicator,
        now: impl Fn() -> u64 + Copy,
        anchor: impl Fn() -> Anchor + Copy,
    ) -> Result<(), GrowError> {
        let mut room = [0; _];
        match communicator_entry(&communicator, &mut room) {
            Some(entry) => self.append(entry, now, anchor),
            None => self.define(&Definition::Communicator(communicator), now, anchor),
        }
    }

    /// Appends an encoded definition.
    #[inline]
    fn append(
        &self,
        entry: &[u8],
        now: impl Fn() -> u64 + Copy,
        anchor: impl Fn() -> Anchor + Copy,
    ) -> Result<(), GrowError> {
        let mut open = self
            .definitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !open.has_room(entry.len()) {
            self.open_definitions(&mut open, entry.len(), now, anchor)?;
        }
        let used = open.used;
        if let Some(chunk) = &mut open.chunk {
            chunk.append(used, entry);
        }
        open.used += entry.len();
        Ok(())
    }

    /// Opens the next chunk of definitions, large enough for an entry of `length` bytes.
    #[cold]
    fn open_definitions(
        &self,
        open: &mut DefinitionsChunk,
        length: usize,
        now: impl Fn() -> u64,
        anchor: impl Fn() -> Anchor,
    ) -> Result<(), GrowError> {
        let first = open.next_ordinal == 0;
        let at_least = ChunkHeader::content_offset(0) + length;
        let usual = match &self.ring {
            _ if first => CHUNK_ALIGN as usize,
            None => 16384 << open.next_ordinal.min(4),
            Some(ring) => ring.place_bytes() as usize,
        };
        let wanted = at_least.next_multiple_of(usual) as u64;
        let opening = Opening {
            thread: 0,
            ordinal: open.next_ordinal,
            first_record: 0,
            first_call: 0,
            sequences: &[],
            begin_ticks: now(),
        };
        let chunk = self.open_chunk(ChunkKind::Definitions, wanted, &opening, now, anchor)?;
        if let Some(full) = open.chunk.replace(chunk) {
            full.close(open.used as u64, 0);
        }
        open.used = 0;
        open.next_ordinal += 1;
        if open.has_room(length) {
            Ok(())
        } else {
            Err(GrowError::SizeReached {
                max_bytes: self.file.max_bytes().unwrap_or(0),
            })
        }
    }
}

//! An open chunk of a rank file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use collbench_formats::{ChunkHeader, SequenceEntry};

use super::mapping::Mapping;

const _: () = {
    assert!(std::mem::offset_of!(ChunkHeader, last_leave) % 8 == 0);
    assert!(std::mem::offset_of!(ChunkHeader, closed) % 8 == 0);
};

/// Position of a chunk of records in its thread, and the contents of its header.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) thread: u32,
    /// Its number among the thread's chunks, from 0.
    pub(crate) ordinal: u32,
    /// Records of the thread in earlier chunks. The next field is the number of calls of the
    /// application among them.
    pub(crate) first_record: u64,
    pub(crate) first_call: u64,
    pub(crate) sequences: &'a [SequenceEntry],
    /// The instant for which `sequences` is valid, ticks.
    pub(crate) begin_ticks: u64,
}

/// A chunk that is mapped, into which records or definitions can be stored.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    pub(super) map: Arc<Mapping>,
    offset: u64,
    content_at: usize,
}

impl OpenChunk {
    /// Begins the chunk at `offset` in the file: stores `opening`, its header and sequence table.
    /// The content follows them.
    ///
    /// # Safety
    /// No other thread stores into the mapping, or depends on its contents.
    pub(super) unsafe fn begin(map: Arc<Mapping>, offset: u64, opening: &[u8]) -> Self {
        // SAFETY: the caller promises that nobody else uses the mapping. The magic, stored last,
        // makes the chunk valid.
        unsafe { map.publish(0, opening) };
        Self {
            map,
            offset,
            content_at: opening.len(),
        }
    }

    /// Stores an entry of definitions after `used` bytes of the content. Its length, stored last,
    /// makes it valid.
    #[inline]
    pub(super) fn append(&mut self, used: usize, entry: &[u8]) {
        // SAFETY: only this function stores into the chunk, since a chunk of definitions has no
        // slots, and `self` is borrowed mutably.
        unsafe { self.map.publish(self.content_at + used, entry) };
    }

    /// Offset of the chunk in the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Address of the content's first byte.
    pub(super) fn content(&self) -> *mut u8 {
        // SAFETY: `content_at` is below the length of the mapping.
        unsafe { self.map.as_mut_ptr().add(self.content_at) }
    }

    /// Bytes from the begin of the content to the end of the chunk.
    pub(super) fn content_bytes(&self) -> usize {
        self.map.len() - self.content_at
    }

    /// Offset in the file of byte `used` of the content.
    pub(super) fn offset_of(&self, used: usize) -> u64 {
        self.offset + (self.content_at + used) as u64
    }

    /// Marks the chunk as complete in its header: it has `n` records (bytes of definitions), and
    /// the last leave in it is `last_leave`, ticks.
    pub(crate) fn close(&self, n: u64, last_leave: u64) {
        self.store_u64(std::mem::offset_of!(ChunkHeader, last_leave), last_leave);
        self.store_u64(std::mem::offset_of!(ChunkHeader, closed), n + 1);
    }

    fn store_u64(&self, at: usize, value: u64) {
        // SAFETY: `at` is a field of the chunk header, 8-aligned in a page-aligned mapping that is
        // longer than the header; other threads and processes only access it through this atomic.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
            .store(value.to_le(), Ordering::Release);
    }
}

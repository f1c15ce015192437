//! A chunk of a rank file while it is stored into.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use collbench_formats::{ChunkHeader, SequenceEntry};

use super::mapping::Mapping;

const _: () = {
    assert!(std::mem::offset_of!(ChunkHeader, last_leave) % 8 == 0);
    assert!(std::mem::offset_of!(ChunkHeader, closed) % 8 == 0);
};

/// Where a chunk of records stands in its thread, and what it begins with.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) thread: u32,
    /// Number among the thread's chunks.
    pub(crate) ordinal: u32,
    /// Records of the thread in earlier chunks, and calls of the application among them.
    pub(crate) first_record: u64,
    pub(crate) first_call: u64,
    pub(crate) sequences: &'a [SequenceEntry],
    /// The instant of `sequences`, ticks.
    pub(crate) begin_ticks: u64,
}

/// A chunk that is mapped and may be stored into.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    pub(super) map: Arc<Mapping>,
    offset: u64,
    content_at: usize,
}

impl OpenChunk {
    /// Begins the chunk at `offset` in the file with its header and table, and what follows them is its
    /// content: `opening`.
    ///
    /// # Safety
    /// Nobody else stores into the mapping, or relies on what is there.
    pub(super) unsafe fn begin(map: Arc<Mapping>, offset: u64, opening: &[u8]) -> Self {
        // SAFETY: the caller's promise. With the magic the chunk is there.
        unsafe { map.publish(0, opening) };
        Self {
            map,
            offset,
            content_at: opening.len(),
        }
    }

    /// Stores an entry of definitions behind `used` bytes of the content. With its length the entry is
    /// there.
    #[inline]
    pub(super) fn append(&mut self, used: usize, entry: &[u8]) {
        // SAFETY: nobody else has the chunk now, and of one with definitions no slots are given out.
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

    /// Bytes from the first of the content to the end of the chunk.
    pub(super) fn content_bytes(&self) -> usize {
        self.map.len() - self.content_at
    }

    /// Offset in the file of byte `used` of the content.
    pub(super) fn offset_of(&self, used: usize) -> u64 {
        self.offset + (self.content_at + used) as u64
    }

    /// Writes into the header that the chunk is complete: `n` records (bytes of definitions),
    /// the last of them left at `last_leave`.
    pub(crate) fn close(&self, n: u64, last_leave: u64) {
        self.store_u64(std::mem::offset_of!(ChunkHeader, last_leave), last_leave);
        self.store_u64(std::mem::offset_of!(ChunkHeader, closed), n + 1);
    }

    fn store_u64(&self, at: usize, value: u64) {
        // SAFETY: `at` is a field of the chunk header, 8-aligned in a page-aligned mapping that
        // is longer than it; other threads and processes only see it through this atomic.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
            .store(value.to_le(), Ordering::Release);
    }
}

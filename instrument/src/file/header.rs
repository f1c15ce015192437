//! The header of a rank file, mapped while the process lives.

use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use collbench_formats::{Anchor, FILE_MAGIC, FileHeader, STOP_TEXT_BYTES, StopReason};
use zerocopy::IntoBytes;

use super::mapping::Mapping;

// The header is written in place, by native stores.
const _: () = {
    assert!(
        cfg!(target_endian = "little"),
        "the trace format is little-endian"
    );
    assert!(offset_of!(FileHeader, stop_ticks) % 8 == 0);
    assert!(offset_of!(FileHeader, calls_after_stop) % 8 == 0);
    assert!(offset_of!(FileHeader, end_anchor) % 8 == 0);
    assert!(offset_of!(FileHeader, n_records) % 8 == 0);
    assert!(offset_of!(FileHeader, stop_reason) % 4 == 0);
    assert!(offset_of!(FileHeader, end_crc32) % 4 == 0);
    assert!(offset_of!(FileHeader, finalized) % 4 == 0);
    assert!(size_of::<Anchor>() == size_of::<[u64; 5]>());
    assert!(offset_of!(FileHeader, end_anchor) + size_of::<Anchor>() <= size_of::<FileHeader>());
    assert!(offset_of!(FileHeader, stop_text) + STOP_TEXT_BYTES <= size_of::<FileHeader>());
};

/// The header, and whether it states that recording ended early.
#[derive(Debug)]
pub(super) struct MappedHeader {
    map: Arc<Mapping>,
    is_stopped: AtomicBool,
}

impl MappedHeader {
    /// Writes header and identity to the begin of a new file. The magic, stored last, makes the
    /// file valid.
    ///
    /// # Panics
    /// If they do not fit into the mapping.
    pub(super) fn begin(map: Arc<Mapping>, fields: &FileHeader, identity: &[u8]) -> Self {
        let bytes = fields.as_bytes();
        assert!(map.len() >= bytes.len() + identity.len());
        // SAFETY: both fit into the mapping, which begins with a page, and no other thread knows it
        // yet.
        unsafe {
            let to = map.as_mut_ptr();
            to.add(bytes.len())
                .copy_from_nonoverlapping(identity.as_ptr(), identity.len());
            to.add(8)
                .copy_from_nonoverlapping(bytes[8..].as_ptr(), bytes.len() - 8);
            AtomicU64::from_ptr(to.cast()).store(u64::from_ne_bytes(FILE_MAGIC), Ordering::Release);
        }
        Self {
            map,
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Notes that recording ends early. Only the first reason is stored; returns whether it was
    /// this one.
    pub(super) fn note_stop(&self, reason: StopReason, text: &str, ticks: u64) -> bool {
        if self.is_stopped.swap(true, Ordering::AcqRel) {
            return false;
        }
        let text = &text.as_bytes()[..text.len().min(STOP_TEXT_BYTES)];
        // SAFETY: the text fits into its field of the header, and only the first thread to stop
        // gets here.
        unsafe {
            self.map
                .as_mut_ptr()
                .add(offset_of!(FileHeader, stop_text))
                .copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        self.u64_at(offset_of!(FileHeader, stop_ticks))
            .store(ticks, Ordering::Relaxed);
        self.u32_at(offset_of!(FileHeader, stop_reason))
            .store(reason as u32, Ordering::Release);
        true
    }

    /// Whether recording has ended early.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Counts a call that is not recorded because recording ended early.
    pub(super) fn count_unrecorded(&self) {
        self.u64_at(offset_of!(FileHeader, calls_after_stop))
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Marks the file as finished, with `n_records` in all chunks.
    pub(super) fn finish(&self, n_records: u64, end: Anchor) {
        self.u64_at(offset_of!(FileHeader, n_records))
            .store(n_records, Ordering::Relaxed);
        self.u32_at(offset_of!(FileHeader, end_crc32))
            .store(FileHeader::end_checksum(&end, n_records), Ordering::Relaxed);
        let words: [u64; 5] = end.into();
        for (i, word) in words.into_iter().enumerate() {
            self.u64_at(offset_of!(FileHeader, end_anchor) + 8 * i)
                .store(word, Ordering::Relaxed);
        }
        self.u32_at(offset_of!(FileHeader, finalized))
            .store(1, Ordering::Release);
    }

    fn u64_at(&self, at: usize) -> &AtomicU64 {
        // SAFETY: `at` is the offset of an 8-aligned u64 in the header, which is page-aligned and
        // mapped while `self` exists.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }

    fn u32_at(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `at` is the offset of a 4-aligned u32 in the header, which is page-aligned and
        // mapped while `self` exists.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
    }
}

//! What shared memory consists of.

use std::sync::atomic::AtomicU64;

/// Bytes of a [`Line`].
pub const LINE_BYTES: usize = 64;

/// Bytes of a word.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

/// Words of a line.
pub(super) const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;

/// A cache line of shared memory.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line(pub(super) [AtomicU64; LINE_WORDS]);

const _: () = assert!(size_of::<Line>() == LINE_BYTES && align_of::<Line>() == LINE_BYTES);

impl Line {
    /// Asks the processor to bring the line, which is read soon.
    #[inline]
    #[allow(unsafe_code, reason = "the processor has an instruction for it")]
    pub(crate) fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: all x86-64 processors have it, and it changes no memory.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch(std::ptr::from_ref(self).cast(), _MM_HINT_T0);
        }
    }

    /// Asks the processor to make the line its own, which is written soon: others may have read it.
    #[inline]
    #[allow(unsafe_code, reason = "the processor has an instruction for it")]
    pub(crate) fn prefetch_to_write(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: it changes no memory; processors without it do nothing.
        unsafe {
            std::arch::asm!(
                "prefetchw [{}]",
                in(reg) std::ptr::from_ref(self),
                options(nostack, preserves_flags, readonly),
            );
        }
    }

    /// The first word of the line.
    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.0[0]
    }

    /// The second word of the line.
    pub(crate) fn second_word(&self) -> &AtomicU64 {
        &self.0[1]
    }

    /// The third word of the line.
    pub(crate) fn third_word(&self) -> &AtomicU64 {
        &self.0[2]
    }
}

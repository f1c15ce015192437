//! Mappings of the file, which a forked child of the process must not store into.
//!
//! The child shares them with its parent. Calls that were under way when it was forked (in a
//! callback of MPI, or in a signal handler) may return in it too, and store the time: so in the child
//! memory of its own is put in their place. The child may do little else than system calls there,
//! so where the mappings are stands in a list without locks. Of what another thread is changing at that
//! instant nothing will be stored into, since that thread is not in the child.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use memmap2::MmapRaw;

/// A mapping that is known to [`leave_to_the_parent`].
#[derive(Debug)]
pub(crate) struct Mapping {
    map: MmapRaw,
    entry: &'static Entry,
}

impl Mapping {
    pub(super) fn new(map: MmapRaw) -> Self {
        let entry = MAPPINGS.take(map.as_mut_ptr() as usize, map.len());
        Self { map, entry }
    }

    /// Stores bytes at a place, the first four of them last: whoever finds those finds the rest.
    ///
    /// # Panics
    /// If the mapping ends before them, or the place is not one of a word of 4 bytes.
    ///
    /// # Safety
    /// Nobody else stores there.
    #[inline]
    pub(super) unsafe fn publish(&self, at: usize, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(size_of::<u32>());
        assert!(at.is_multiple_of(size_of::<u32>()) && at + bytes.len() <= self.len());
        // SAFETY: within the mapping, which begins with a page, as just checked; the caller's promise.
        unsafe {
            let to = self.map.as_mut_ptr().add(at);
            to.add(first.len())
                .copy_from_nonoverlapping(rest.as_ptr(), rest.len());
            let first = u32::from_ne_bytes([first[0], first[1], first[2], first[3]]);
            AtomicU32::from_ptr(to.cast()).store(first, Ordering::Release);
        }
    }
}

impl Deref for Mapping {
    type Target = MmapRaw;

    fn deref(&self) -> &MmapRaw {
        &self.map
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.entry.address.store(FREE, Ordering::Release);
    }
}

const FREE: usize = 0;
const TAKEN: usize = 1;

#[derive(Debug)]
struct Entry {
    /// [`FREE`], [`TAKEN`] by one that is filled now, or where a mapping begins.
    address: AtomicUsize,
    bytes: AtomicUsize,
}

/// Entries, and more behind them; never freed.
struct Block {
    entries: [Entry; 64],
    next: AtomicPtr<Block>,
}

static MAPPINGS: Block = Block::new();

impl Block {
    const fn new() -> Self {
        Self {
            entries: [const {
                Entry {
                    address: AtomicUsize::new(FREE),
                    bytes: AtomicUsize::new(0),
                }
            }; 64],
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn next(&self) -> Option<&'static Self> {
        // SAFETY: null, or a block that was leaked.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    fn take(&'static self, address: usize, bytes: usize) -> &'static Entry {
        let mut block = self;
        loop {
            for entry in &block.entries {
                let taken = entry.address.compare_exchange(
                    FREE,
                    TAKEN,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                );
                if taken.is_ok() {
                    entry.bytes.store(bytes, Ordering::Relaxed);
                    entry.address.store(address, Ordering::Release);
                    return entry;
                }
            }
            block = block.next().unwrap_or_else(|| block.append());
        }
    }

    fn append(&self) -> &'static Self {
        let new = Box::into_raw(Box::new(Self::new()));
        let null = std::ptr::null_mut();
        match (self.next).compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: made above, and never freed.
            Ok(_) => unsafe { &*new },
            Err(others) => {
                // SAFETY: the new one was seen by nobody, the other one is never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*others
                }
            }
        }
    }
}

/// Whether this process was forked off the one whose file it is.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_forked() -> bool {
    IS_FORKED.load(Ordering::Relaxed)
}

/// In a forked child: puts memory of its own in the place of all mappings, which are the parent's.
/// Does nothing that is not allowed there.
pub(crate) fn leave_to_the_parent() {
    IS_FORKED.store(true, Ordering::Relaxed);
    let mut block = Some(&MAPPINGS);
    while let Some(Block { entries, .. }) = block {
        for entry in entries {
            let address = entry.address.load(Ordering::Acquire);
            if address > TAKEN {
                let bytes = entry.bytes.load(Ordering::Relaxed);
                // SAFETY: a mapping of this process, all of which whoever stores into it takes for
                // plain bytes; there is no other thread.
                let at = unsafe {
                    libc::mmap(
                        address as *mut libc::c_void,
                        bytes,
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_ANONYMOUS,
                        -1,
                        0,
                    )
                };
                debug_assert!(at != libc::MAP_FAILED, "{}", io::Error::last_os_error());
            }
        }
        block = block.and_then(Block::next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_mappings_that_are_gone_are_used_again() {
        let all = Box::leak(Box::new(Block::new()));
        let taken: Vec<_> = (0..200).map(|n| all.take(4096 + n, n)).collect();
        let distinct: std::collections::HashSet<_> = taken
            .iter()
            .map(|entry| std::ptr::from_ref(*entry))
            .collect();
        assert_eq!(distinct.len(), 200);
        taken[70].address.store(FREE, Ordering::Release);
        assert!(std::ptr::eq(all.take(9999, 5), taken[70]));
        assert_eq!(taken[70].bytes.load(Ordering::Relaxed), 5);
    }
}

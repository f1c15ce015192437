//! Mappings of the file, into which a forked child of the process must not store.
//!
//! The child shares them with its parent. Calls that were under way during the fork (in a callback
//! of MPI, or in a signal handler) may return in the child too, and store their leave times. So the
//! child replaces the mappings by memory of its own. It may do little but system calls then, so the
//! mappings are in a list without locks. An entry that another thread was changing during the fork
//! can be ignored: that thread does not exist in the child and will store nothing.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use memmap2::MmapRaw;

/// A mapping in the list that [`disown_in_child`] uses.
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

    /// Stores bytes at an offset, the first four of them last: a reader that finds those finds all.
    ///
    /// # Panics
    /// If the bytes do not fit into the mapping, or if the offset is not a multiple of 4.
    ///
    /// # Safety
    /// No other thread stores there.
    #[inline]
    pub(super) unsafe fn publish(&self, at: usize, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(size_of::<u32>());
        assert!(at.is_multiple_of(size_of::<u32>()) && at + bytes.len() <= self.len());
        // SAFETY: the bytes are within the mapping, which begins with a page, as just checked; the
        // caller promises that nobody else stores there.
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
    /// [`FREE`], [`TAKEN`] while a thread fills the entry, or the address of a mapping.
    address: AtomicUsize,
    bytes: AtomicUsize,
}

/// Entries, and a link to more; never freed.
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
        // SAFETY: the pointer is null, or that of a block that is never freed.
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
            // SAFETY: the block was allocated above, and is never freed.
            Ok(_) => unsafe { &*new },
            Err(others) => {
                // SAFETY: no other thread has seen the new block, and the existing one is never
                // freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*others
                }
            }
        }
    }
}

/// Whether this process is a forked child of the process that records.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_forked() -> bool {
    IS_FORKED.load(Ordering::Relaxed)
}

/// In a forked child: replaces all mappings, which are the parent's, by memory of its own. It only
/// does what is allowed in a child after a fork.
pub(crate) fn disown_in_child() {
    IS_FORKED.store(true, Ordering::Relaxed);
    let mut block = Some(&MAPPINGS);
    while let Some(Block { entries, .. }) = block {
        for entry in entries {
            let address = entry.address.load(Ordering::Acquire);
            if address > TAKEN {
                let bytes = entry.bytes.load(Ordering::Relaxed);
                // SAFETY: the range is a mapping of this process, into which code only stores plain
                // bytes; there is no other thread.
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
    fn entries_of_dropped_mappings_are_reused() {
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

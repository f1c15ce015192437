//! The recorder's own memory, which still has a reserve when the process has run out of memory.
//!
//! A program that handles a lack of memory goes on. What the recorder allocates then comes from a
//! reserve, since a failed allocation would end the process; and recording ends at the next
//! opportunity.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Size of the reserve, bytes. Some kB are used: recording ends, and nothing is allocated after
/// that. Unused pages take no memory.
const RESERVE: usize = 256 << 10;

#[repr(align(64))]
struct Reserve(UnsafeCell<[u8; RESERVE]>);

// SAFETY: each byte is only used by the caller that `take_reserve` gave it to.
unsafe impl Sync for Reserve {}

static BYTES: Reserve = Reserve(UnsafeCell::new([0; RESERVE]));
static USED: AtomicUsize = AtomicUsize::new(0);
static WAS_USED: AtomicBool = AtomicBool::new(false);

/// The allocator of the preloaded library. It uses regions of its own, and the reserve when there
/// are no more.
///
/// It is not the program's allocator, which has locks: a signal handler that interrupts the
/// recorder while it holds one would wait for it in `MPI_Abort` or `fork`. This allocator waits for
/// no lock. Freed blocks are put into a list by size, unless another thread is using that list at
/// the same instant.
#[derive(Debug, Clone, Copy)]
pub struct ReservedMemory;

/// The smallest block, bytes, and the number of sizes, each twice as large as the one before.
const SMALLEST: usize = 16;
const SIZES: usize = 13;
/// Larger blocks are mappings of their own.
const LARGEST: usize = SMALLEST << (SIZES - 1);
/// Size of a region, bytes, from which blocks are cut.
const REGION: usize = 512 << 10;

/// Freed blocks of one size, each with the address of the next.
struct Free {
    is_in_use: AtomicBool,
    first: UnsafeCell<*mut u8>,
}

// SAFETY: `first`, and the blocks in the list, are only accessed by the thread that has set
// `is_in_use`.
unsafe impl Sync for Free {}

static FREE: [Free; SIZES] = [const {
    Free {
        is_in_use: AtomicBool::new(false),
        first: UnsafeCell::new(std::ptr::null_mut()),
    }
}; SIZES];

impl Free {
    /// `None` if another thread is using the list.
    fn with<T>(&self, with: impl FnOnce(&mut *mut u8) -> T) -> Option<T> {
        if self.is_in_use.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: no other thread is using the list, since this one has set `is_in_use`.
        let result = with(unsafe { &mut *self.first.get() });
        self.is_in_use.store(false, Ordering::Release);
        Some(result)
    }
}

/// The newest region. A region begins with the address of its next free byte.
static NEWEST: AtomicPtr<AtomicUsize> = AtomicPtr::new(std::ptr::null_mut());

/// A new mapping; null if there is no memory.
fn map(bytes: usize) -> *mut u8 {
    // SAFETY: this maps new memory at an address that the kernel chooses.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        std::ptr::null_mut()
    } else {
        mapped.cast()
    }
}

/// Cuts a block from a region; `size` is a power of two.
fn cut(size: usize) -> *mut u8 {
    loop {
        let region = NEWEST.load(Ordering::Acquire);
        if !region.is_null() {
            let end = region as usize + REGION;
            // SAFETY: regions are never freed, and begin with this word.
            let next = unsafe { &*region };
            let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
                let block_end = at.next_multiple_of(size) + size;
                (block_end <= end).then_some(block_end)
            });
            if let Ok(at) = taken {
                return at.next_multiple_of(size) as *mut u8;
            }
        }
        let new = map(REGION).cast::<AtomicUsize>();
        if new.is_null() {
            return std::ptr::null_mut();
        }
        // SAFETY: the memory is new, longer than the word, and aligned to pages.
        unsafe { new.write(AtomicUsize::new(new as usize + size_of::<AtomicUsize>())) };
        if (NEWEST.compare_exchange(region, new, Ordering::AcqRel, Ordering::Relaxed)).is_err() {
            // SAFETY: this mapping was made above, and no other thread has seen it.
            unsafe { libc::munmap(new.cast(), REGION) };
        }
    }
}

/// The index of the list for blocks of a layout; `None` for blocks that are mappings of their own.
fn list(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(SMALLEST);
    let list = (bytes.next_power_of_two() / SMALLEST).ilog2() as usize;
    (bytes <= LARGEST).then_some(list)
}

impl ReservedMemory {
    /// Whether the reserve had to be used.
    pub(crate) fn was_used() -> bool {
        WAS_USED.load(Ordering::Relaxed)
    }

    fn is_of_reserve(block: *mut u8) -> bool {
        (block as usize).wrapping_sub(BYTES.0.get() as usize) < RESERVE
    }

    /// Null if the reserve is used up too.
    #[cold]
    fn take_reserve(layout: Layout) -> *mut u8 {
        WAS_USED.store(true, Ordering::Relaxed);
        let first = BYTES.0.get() as usize;
        let mut offset = 0;
        let taken = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            offset = (first + used).next_multiple_of(layout.align()) - first;
            let end = offset.checked_add(layout.size())?;
            (end <= RESERVE).then_some(end)
        });
        match taken {
            // SAFETY: `offset` is below the end, which is within the reserve.
            Ok(_) => unsafe { BYTES.0.get().cast::<u8>().add(offset) },
            Err(_) => std::ptr::null_mut(),
        }
    }

    /// Frees a block of the reserve, if it is the last one that was allocated.
    #[cold]
    fn return_to_reserve(block: *mut u8, size: usize) {
        let offset = block as usize - BYTES.0.get() as usize;
        let (last, free) = (offset + size, offset);
        let _ = USED.compare_exchange(last, free, Ordering::Relaxed, Ordering::Relaxed);
    }
}

// SAFETY: blocks are aligned, since each size is a power of two and mappings begin with a page, and
// they do not overlap.
unsafe impl GlobalAlloc for ReservedMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match list(layout) {
            Some(at) => {
                let found = FREE[at].with(|first| {
                    let block = *first;
                    if !block.is_null() {
                        // SAFETY: a block in the list begins with the address of the next one.
                        *first = unsafe { block.cast::<*mut u8>().read() };
                    }
                    block
                });
                match found {
                    Some(block) if !block.is_null() => block,
                    _ => cut(SMALLEST << at),
                }
            }
            None if layout.align() > PAGE => std::ptr::null_mut(),
            None => map(layout.size()),
        };
        if block.is_null() {
            Self::take_reserve(layout)
        } else {
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if Self::is_of_reserve(block) {
            return Self::return_to_reserve(block, layout.size());
        }
        match list(layout) {
            // If another thread is using the list, the block is not reused.
            Some(at) => {
                FREE[at].with(|first| {
                    // SAFETY: the block is not in use any more, and longer than an address.
                    unsafe { block.cast::<*mut u8>().write(*first) };
                    *first = block;
                });
            }
            // SAFETY: `alloc` has mapped this block for this layout.
            None => unsafe {
                libc::munmap(block.cast(), layout.size());
            },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let (of_block, of_wanted) = (list(layout), list(wanted));
        if of_block.is_some() && of_block == of_wanted && !Self::is_of_reserve(block) {
            return block;
        }
        // SAFETY: the layout has the alignment of the block, and a size above 0 as the caller
        // promises.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks have at least the smaller of the two sizes, and do not overlap;
            // the caller gives up the old one.
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

/// The least alignment of a mapping.
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_the_reserve_are_aligned_and_disjoint_until_it_is_used_up() {
        let mut ends = BYTES.0.get() as usize;
        for align in [1, 64, 8, 4096, 16].into_iter().cycle().take(40) {
            let layout = Layout::from_size_align(100, align).unwrap();
            let block = ReservedMemory::take_reserve(layout);
            assert!(ReservedMemory::is_of_reserve(block));
            assert_eq!(block as usize % align, 0);
            assert!(block as usize >= ends, "behind the block before");
            ends = block as usize + layout.size();
        }
        assert!(ReservedMemory::was_used());
        // A block keeps its content when it grows.
        let small = Layout::from_size_align(8, 8).unwrap();
        // SAFETY: this is a block of the reserve, with its layout.
        unsafe {
            let block = ReservedMemory::take_reserve(small);
            block.cast::<u64>().write(77);
            let moved = ReservedMemory.realloc(block, small, 1000);
            assert_eq!(moved.cast::<u64>().read(), 77);
        }
        let before = USED.load(Ordering::Relaxed);
        // SAFETY: this is a block of the reserve, with its layout.
        unsafe { ReservedMemory.dealloc(ReservedMemory::take_reserve(small), small) };
        assert!(
            USED.load(Ordering::Relaxed) <= before + 8,
            "only the padding stays"
        );
        let all = Layout::from_size_align(RESERVE, 1).unwrap();
        assert!(ReservedMemory::take_reserve(all).is_null());
    }

    #[test]
    fn blocks_of_all_sizes_are_disjoint_aligned_and_reused() {
        let layouts = |n: usize| {
            let size = 1 + n * n * 7 % 200_000;
            Layout::from_size_align(size, 1 << (n % 8)).unwrap()
        };
        let memory = ReservedMemory;
        let fill = |n: usize| {
            let layout = layouts(n);
            // SAFETY: the size is not 0; the writes stay within the block.
            unsafe {
                let block = memory.alloc(layout);
                block.write_bytes(n as u8, layout.size());
                block
            }
        };
        let mut blocks: Vec<_> = (1..500).map(|n| (n, fill(n))).collect();
        for round in 0..3 {
            for (n, block) in &mut blocks {
                let layout = layouts(*n);
                assert_eq!(*block as usize % layout.align(), 0);
                // SAFETY: the block was filled by `fill`, and has this layout.
                unsafe {
                    let bytes = std::slice::from_raw_parts(*block, layout.size());
                    assert!(bytes.iter().all(|&byte| byte == *n as u8), "{n} of {round}");
                    if *n % 3 == round {
                        memory.dealloc(*block, layout);
                        *block = fill(*n);
                    }
                }
            }
        }
        let small = Layout::from_size_align(9, 8).unwrap();
        // SAFETY: blocks are allocated and freed one after the other, with this layout.
        unsafe {
            let block = memory.alloc(small);
            block.write(5);
            assert_eq!(memory.realloc(block, small, 16), block, "as long already");
            let larger = memory.realloc(block, Layout::from_size_align(16, 8).unwrap(), 1 << 20);
            assert_eq!(larger.read(), 5);
            memory.dealloc(larger, Layout::from_size_align(1 << 20, 8).unwrap());
        }
    }

    #[test]
    fn a_list_in_use_is_not_waited_for() {
        let layout = Layout::from_size_align(LARGEST, 8).unwrap();
        let at = list(layout).unwrap();
        let block = FREE[at].with(|_| {
            // SAFETY: blocks are allocated and freed one after the other, with this layout.
            unsafe {
                let block = ReservedMemory.alloc(layout);
                ReservedMemory.dealloc(block, layout);
                block
            }
        });
        assert!(!block.unwrap().is_null());
    }
}

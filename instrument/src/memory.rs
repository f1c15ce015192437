//! Memory where the program has taken all there is.
//!
//! A program that has no memory left goes on, if it is made for that. What the recorder allocates
//! then comes from a reserve, for a failed allocation would end the process; and recording ends at
//! the next occasion.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Bytes of the reserve. Some kB are used: recording ends, and nothing is allocated after that.
/// Pages that are not used take no memory.
const RESERVE: usize = 256 << 10;

#[repr(align(64))]
struct Reserve(UnsafeCell<[u8; RESERVE]>);

// SAFETY: each byte belongs to whoever `take_reserve` gave it to.
unsafe impl Sync for Reserve {}

static BYTES: Reserve = Reserve(UnsafeCell::new([0; RESERVE]));
static USED: AtomicUsize = AtomicUsize::new(0);
static WAS_USED: AtomicBool = AtomicBool::new(false);

/// Where a leak checker is told to leave a block out, if there is one in the process.
static UNCHECKED: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Lets a leak checker (LeakSanitizer, alone or within AddressSanitizer) report no block of this
/// library's from here on: much is kept as long as the process lives, and what is reported would
/// change the exit status of the program.
pub(crate) fn hide_from_leak_checkers() {
    // SAFETY: a C string; the default scope has what the program itself would find.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__lsan_ignore_object".as_ptr()) };
    UNCHECKED.store(found, Ordering::Relaxed);
}

/// Tells the leak checker of a block.
#[inline]
fn leave_out(block: *mut u8) -> *mut u8 {
    let unchecked = UNCHECKED.load(Ordering::Relaxed);
    if !unchecked.is_null() && !block.is_null() {
        // SAFETY: the sanitizer's function of this name takes an address, and gives nothing.
        unsafe {
            let ignore =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const u8)>(unchecked);
            ignore(block);
        }
    }
    block
}

/// The allocator of the preloaded library: that of the system, and behind it the reserve.
#[derive(Debug, Clone, Copy)]
pub struct ReservedMemory;

impl ReservedMemory {
    /// Whether the reserve had to be used.
    pub(crate) fn was_used() -> bool {
        WAS_USED.load(Ordering::Relaxed)
    }

    fn is_of_reserve(place: *mut u8) -> bool {
        (place as usize).wrapping_sub(BYTES.0.get() as usize) < RESERVE
    }

    /// Null when it is used up, too.
    #[cold]
    fn take_reserve(layout: Layout) -> *mut u8 {
        WAS_USED.store(true, Ordering::Relaxed);
        let first = BYTES.0.get() as usize;
        let mut place = 0;
        let taken = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            place = (first + used).next_multiple_of(layout.align()) - first;
            let end = place.checked_add(layout.size())?;
            (end <= RESERVE).then_some(end)
        });
        match taken {
            // SAFETY: `place` is below the end, which is within the reserve.
            Ok(_) => unsafe { BYTES.0.get().cast::<u8>().add(place) },
            Err(_) => std::ptr::null_mut(),
        }
    }

    /// The last block that was given out can be given out again.
    #[cold]
    fn give_back(block: *mut u8, size: usize) {
        let place = block as usize - BYTES.0.get() as usize;
        let (last, free) = (place + size, place);
        let _ = USED.compare_exchange(last, free, Ordering::Relaxed, Ordering::Relaxed);
    }
}

// SAFETY: blocks are those of the system's allocator, or of the reserve: aligned, and apart from each
// other.
unsafe impl GlobalAlloc for ReservedMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = leave_out(unsafe { System.alloc(layout) });
        match block.is_null() {
            false => block,
            true => Self::take_reserve(layout),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Self::is_of_reserve(block) {
            true => Self::give_back(block, layout.size()),
            // SAFETY: the caller's promise; the block is of the system's allocator.
            false => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::is_of_reserve(block) {
            // SAFETY: as above.
            let moved = leave_out(unsafe { System.realloc(block, layout, size) });
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let moved = Self::take_reserve(wanted);
        if !moved.is_null() {
            // SAFETY: both blocks are as long as the shorter of the two sizes, and apart; the old
            // one is the caller's to give back.
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_the_reserve_are_aligned_and_apart_until_it_is_used_up() {
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
        // What grows keeps its content.
        let small = Layout::from_size_align(8, 8).unwrap();
        // SAFETY: a block of the reserve, with its layout.
        unsafe {
            let block = ReservedMemory::take_reserve(small);
            block.cast::<u64>().write(77);
            let moved = ReservedMemory.realloc(block, small, 1000);
            assert_eq!(moved.cast::<u64>().read(), 77);
        }
        let before = USED.load(Ordering::Relaxed);
        // SAFETY: a block of the reserve, with its layout.
        unsafe { ReservedMemory.dealloc(ReservedMemory::take_reserve(small), small) };
        assert!(
            USED.load(Ordering::Relaxed) <= before + 8,
            "only the padding stays"
        );
        let all = Layout::from_size_align(RESERVE, 1).unwrap();
        assert!(ReservedMemory::take_reserve(all).is_null());
    }
}

//! What reading a rank file allocates, whatever the file says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use collbench_formats::compact::{Expansion, MAX_PACKED_BYTES, is_compact};
use collbench_formats::{MAX_META_BYTES, RankTrace};
use collbench_mutate::{Bases, Random, mutate};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting the bytes that are in use, and the most of them.
struct Counting;

// SAFETY: every call is handed on to the system's allocator with the same arguments, so its
// guarantees are those of this one; counting touches atomics only, and neither allocates nor
// unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps what the trait asks of it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above with this layout, so from the system.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most that was allocated at a time while `bytes` were read, beyond what was before.
fn most_while_reading(bytes: &[u8]) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    drop(RankTrace::parse(bytes));
    MOST.load(Ordering::Relaxed) - before
}

// The only test here: another one in this process would allocate as well.
#[test]
fn reading_a_rank_file_allocates_no_more_than_twice_its_length_and_what_one_piece_takes() {
    let scratch = tempfile::tempdir().unwrap();
    let bases = Bases::generate(scratch.path()).unwrap();
    let mut most_of_whole = 0;
    for number in 0..3000 {
        let mut random = Random::new(11, number);
        let (_, base) = &bases.all()[number as usize % bases.all().len()];
        let mut trace = base.clone();
        mutate(&mut trace, &bases, &mut random);
        for name in trace.rank_files() {
            let bytes = trace.bytes(&name);
            let most = most_while_reading(bytes);
            // A damaged length may ask for as much as an encoded value can take.
            let mut bound = MAX_META_BYTES + 2 * bytes.len() + 4096;
            // Another one may ask for as much as a part of a compact file can.
            if is_compact(bytes) {
                bound += MAX_PACKED_BYTES;
            }
            assert!(most <= bound, "case {number}, {name}: {most} bytes");
        }
        if number < bases.all().len() as u64 {
            let names = base.rank_files();
            let whole = names.iter().map(|name| base.bytes(name));
            for bytes in whole {
                let most = most_while_reading(bytes);
                let expansion = Expansion::of(bytes).expect("a base is whole");
                let length = expansion.map_or(bytes.len(), |e| e.length() as usize);
                assert!(most <= length + 4096, "{most} for {length}");
                most_of_whole = most_of_whole.max(most);
            }
        }
    }
    assert!(most_of_whole > 0, "nothing was counted");
}

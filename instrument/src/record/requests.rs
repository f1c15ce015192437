//! The requests of outstanding collectives, by handle.
//!
//! A handle is not an identity: MPI libraries reuse it as soon as its operation is complete, and
//! use one shared handle for several operations that were complete from the beginning. So the table
//! allows duplicates, and a thread that completes an operation takes its entry *before* the MPI
//! library can give the handle to another thread.
//!
//! The table takes no lock: an entry belongs to the thread that has exchanged its key for
//! [`TAKEN`]. Entries never move, so an entry that is put back is where it was. A request whose
//! bucket is full is put into the [`Overflow`].

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use collbench_formats::Initiation;

use super::overflow::Overflow;
use super::persistent::Persistent;
use crate::args::RetainedArrays;
use crate::mpi::Handle;
use crate::process::Uninterrupted;

/// The key of a free entry.
const FREE: usize = 0;
/// The key of an entry that a thread is filling, or has taken to complete it; not a handle.
const TAKEN: usize = usize::MAX;

/// Number of entries in a bucket.
const ENTRIES: usize = 4;
/// Number of buckets in a table.
const BUCKETS: usize = 256;
const _: () = assert!(BUCKETS.is_power_of_two());

/// Data of an outstanding collective, or of a persistent one that can be started.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// The initiation that its completion will name; `None` in the table of persistent ones.
    pub(crate) of: Option<Initiation>,
    /// The persistent collective that was started.
    pub(crate) persistent: Option<&'static Persistent>,
    /// Arrays that the MPI library reads until the collective is complete.
    pub(crate) retained: RetainedArrays,
    /// Number of unsuccessful tests. The next field is the ticks spent in them.
    pub(crate) n_tests: u32,
    pub(crate) tests_ticks: u64,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// When it was filled, ticks. The next field is the thread that filled it.
    stamp: AtomicU64,
    owner: AtomicUsize,
    content: UnsafeCell<Tracked>,
    /// Its index in the overflow, if it belongs to that.
    index: Option<u32>,
}

// SAFETY: `content` is only accessed by the thread that has stored TAKEN as its key, with Acquire,
// and gives it up with Release; in the overflow by the thread that has taken the entry under the
// lock.
unsafe impl Sync for Entry {}

impl Entry {
    fn new(index: Option<u32>) -> Self {
        Self {
            stamp: AtomicU64::new(0),
            owner: AtomicUsize::new(0),
            content: UnsafeCell::default(),
            index,
        }
    }

    /// An entry of the overflow.
    pub(super) fn in_overflow(index: u32) -> Self {
        Self::new(Some(index))
    }

    pub(super) fn index(&self) -> Option<u32> {
        self.index
    }

    /// Stores a request into the entry.
    ///
    /// # Safety
    /// The entry belongs to the caller.
    #[inline]
    pub(super) unsafe fn fill(&self, owner: usize, stamp: u64, tracked: Tracked) {
        self.stamp.store(stamp, Ordering::Relaxed);
        self.owner.store(owner, Ordering::Relaxed);
        // SAFETY: the caller promises that the entry is its own; the old contents need no drop.
        unsafe { self.content.get().write(tracked) };
    }

    /// Sort key among entries with the same handle, for this owner: the greatest is taken first.
    fn order_for(&self, owner: usize) -> (bool, u64) {
        (
            self.owner.load(Ordering::Relaxed) == owner,
            self.stamp.load(Ordering::Relaxed),
        )
    }
}

#[derive(Debug)]
#[repr(align(64))]
struct Bucket {
    keys: [AtomicUsize; ENTRIES],
    /// How many requests of this bucket are in the overflow; changed under the lock of the
    /// overflow.
    n_in_overflow: AtomicUsize,
    entries: [Entry; ENTRIES],
}

impl Bucket {
    fn new() -> Self {
        Self {
            keys: [const { AtomicUsize::new(FREE) }; ENTRIES],
            n_in_overflow: AtomicUsize::new(0),
            entries: std::array::from_fn(|_| Entry::new(None)),
        }
    }

    /// Adds `difference` to the number of requests in the overflow, which is locked.
    fn count_in_overflow(&self, difference: isize) {
        let n = self.n_in_overflow.load(Ordering::Relaxed);
        self.n_in_overflow
            .store(n.wrapping_add_signed(difference), Ordering::Release);
    }
}

/// All requests of one kind.
#[derive(Debug)]
pub(crate) struct Requests {
    buckets: Box<[Bucket]>,
    overflow: Mutex<Overflow>,
    /// Whether calls of MPI never overlap, so that a load and a store are enough for an exchange.
    is_serialized: bool,
    /// How many there are. If calls overlap: whether there ever was one, since threads would
    /// contend for a counter.
    n: AtomicUsize,
}

/// An entry that this thread has taken from the table.
#[derive(Debug)]
pub(crate) struct TakenRequest {
    handle: Handle,
    /// `None` for an entry of the overflow.
    key: Option<&'static AtomicUsize>,
    entry: &'static Entry,
}

impl TakenRequest {
    /// The handle that it was found by.
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// The data of the request.
    #[inline]
    pub(crate) fn tracked(&self) -> &Tracked {
        // SAFETY: this thread has taken the entry, and `self` is borrowed as long as the result.
        unsafe { &*self.entry.content.get() }
    }

    /// The data of the request.
    #[inline]
    pub(crate) fn tracked_mut(&mut self) -> &mut Tracked {
        // SAFETY: this thread has taken the entry, and `self` is borrowed mutably as long as the
        // result.
        unsafe { &mut *self.entry.content.get() }
    }
}

impl Requests {
    /// `is_serialized`: MPI was not initialized for `MPI_THREAD_MULTIPLE`.
    pub(crate) fn new(is_serialized: bool) -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| Bucket::new()).collect(),
            overflow: Mutex::default(),
            is_serialized,
            n: AtomicUsize::new(0),
        }
    }

    /// Whether there may be any request in it.
    #[inline]
    pub(crate) fn may_have_any(&self) -> bool {
        self.n.load(Ordering::Relaxed) != 0
    }

    #[inline]
    fn bucket(&self, handle: Handle) -> &Bucket {
        // Fibonacci hashing: handles are addresses at equal distances, or small numbers.
        let hash = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.buckets[(hash >> (64 - BUCKETS.trailing_zeros())) as usize]
    }

    /// Replaces the key `from` by [`TAKEN`]; returns whether the key was `from`.
    #[inline]
    fn take_key(&self, key: &AtomicUsize, from: usize) -> bool {
        if self.is_serialized {
            let is_there = key.load(Ordering::Relaxed) == from;
            if is_there {
                key.store(TAKEN, Ordering::Relaxed);
            }
            is_there
        } else {
            key.load(Ordering::Relaxed) == from
                && key
                    .compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        }
    }

    #[inline]
    fn count(&self, difference: isize) {
        if self.is_serialized {
            let n = self.n.load(Ordering::Relaxed);
            self.n
                .store(n.wrapping_add_signed(difference), Ordering::Relaxed);
        } else if self.n.load(Ordering::Relaxed) == 0 {
            self.n.store(1, Ordering::Relaxed);
        }
    }

    /// Adds a request. `owner` identifies the calling thread, and `stamp` is the time, ticks.
    #[inline]
    pub(crate) fn add(&self, handle: Handle, owner: usize, stamp: u64, tracked: Tracked) {
        let bucket = self.bucket(handle);
        for (key, entry) in bucket.keys.iter().zip(&bucket.entries) {
            if self.take_key(key, FREE) {
                // SAFETY: the entry was just taken.
                unsafe { entry.fill(owner, stamp, tracked) };
                key.store(handle, Ordering::Release);
                self.count(1);
                return;
            }
        }
        self.add_to_overflow(bucket, handle, owner, stamp, tracked);
    }

    #[cold]
    fn add_to_overflow(
        &self,
        bucket: &Bucket,
        handle: Handle,
        owner: usize,
        stamp: u64,
        tracked: Tracked,
    ) {
        let _signals_wait = Uninterrupted::begin();
        let mut overflow = self.overflow();
        // If there is no memory, recording ends at the next opportunity.
        if overflow.add(handle, owner, stamp, tracked).is_ok() {
            bucket.count_in_overflow(1);
            drop(overflow);
            self.count(1);
        }
    }

    fn overflow(&self) -> MutexGuard<'_, Overflow> {
        self.overflow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the request with this handle, so that no other thread finds it:
    /// [`put_back`](Self::put_back) or [`remove`](Self::remove) must follow.
    ///
    /// Among several, one of the same thread (`owner`) is taken first, then the newest: if the MPI
    /// library has reused the handle already, the older one belongs to another thread, which is
    /// about to remove it.
    #[inline]
    pub(crate) fn take(&'static self, handle: Handle, owner: usize) -> Option<TakenRequest> {
        if handle == FREE || handle == TAKEN {
            return None;
        }
        let bucket = self.bucket(handle);
        let mut only = None;
        let mut n = 0;
        for (key, entry) in bucket.keys.iter().zip(&bucket.entries) {
            if key.load(Ordering::Relaxed) == handle {
                only = Some((key, entry));
                n += 1;
            }
        }
        if n > 1 || bucket.n_in_overflow.load(Ordering::Acquire) > 0 {
            return self.take_best(handle, owner);
        }
        let (key, entry) = only?;
        if self.take_key(key, handle) {
            Some(TakenRequest {
                handle,
                key: Some(key),
                entry,
            })
        } else {
            self.take_best(handle, owner)
        }
    }

    /// Takes a request like [`take`](Self::take), if there may be several with the handle.
    #[cold]
    fn take_best(&'static self, handle: Handle, owner: usize) -> Option<TakenRequest> {
        let bucket = self.bucket(handle);
        loop {
            let entries = bucket.keys.iter().zip(&bucket.entries);
            let best = entries
                .filter(|(key, _)| key.load(Ordering::Relaxed) == handle)
                .max_by_key(|(_, entry)| entry.order_for(owner));
            if bucket.n_in_overflow.load(Ordering::Acquire) > 0 {
                let _signals_wait = Uninterrupted::begin();
                let mut overflow = self.overflow();
                let found = overflow.newest(handle, owner).filter(|found| {
                    let order = found.order_for(owner);
                    best.is_none_or(|(_, best)| best.order_for(owner) < order)
                });
                if let Some(entry) = found {
                    overflow.take(entry);
                    bucket.count_in_overflow(-1);
                    return Some(TakenRequest {
                        handle,
                        key: None,
                        entry,
                    });
                }
            }
            let (key, entry) = best?;
            if self.take_key(key, handle) {
                return Some(TakenRequest {
                    handle,
                    key: Some(key),
                    entry,
                });
            }
        }
    }

    /// Puts a request back: its collective is not complete.
    #[inline]
    pub(crate) fn put_back(&self, taken: TakenRequest) {
        match taken.key {
            Some(key) => key.store(taken.handle, Ordering::Release),
            None => self.put_back_to_overflow(taken.handle, taken.entry),
        }
    }

    #[cold]
    fn put_back_to_overflow(&self, handle: Handle, entry: &'static Entry) {
        let _signals_wait = Uninterrupted::begin();
        let mut overflow = self.overflow();
        overflow.put_back(entry);
        self.bucket(handle).count_in_overflow(1);
    }

    /// Forgets a request: its collective is complete.
    #[inline]
    pub(crate) fn remove(&self, mut taken: TakenRequest) {
        taken.tracked_mut().retained = RetainedArrays::default();
        match taken.key {
            Some(key) => key.store(FREE, Ordering::Release),
            None => self.free_in_overflow(taken.entry),
        }
        self.count(-1);
    }

    #[cold]
    fn free_in_overflow(&self, entry: &'static Entry) {
        let _signals_wait = Uninterrupted::begin();
        self.overflow().free(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::super::overflow::tests::STEPS;
    use super::*;

    fn table(is_serialized: bool) -> &'static Requests {
        Box::leak(Box::new(Requests::new(is_serialized)))
    }

    fn tracked(position: u64) -> Tracked {
        Tracked {
            of: Some(Initiation::Nonblocking {
                communicator: 0,
                position,
            }),
            ..Tracked::default()
        }
    }

    fn position(taken: &TakenRequest) -> u64 {
        match taken.tracked().of {
            Some(Initiation::Nonblocking { position, .. }) => position,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_requests_with_equal_handles_are_found_newest_first() {
        for is_serialized in [true, false] {
            let table = table(is_serialized);
            assert!(!table.may_have_any());
            for i in 0..1000 {
                table.add(0x5000, 1, 100 + i, tracked(i));
                table.add(0x6000 + 64 * i as usize, 1, 100 + i, tracked(5000 + i));
            }
            for i in (0..1000).rev() {
                let taken = table.take(0x5000, 1).unwrap();
                assert_eq!(position(&taken), i);
                table.remove(taken);
            }
            assert!(table.take(0x5000, 1).is_none());
            for i in 0..1000 {
                let taken = table.take(0x6000 + 64 * i as usize, 1).unwrap();
                assert_eq!(position(&taken), 5000 + i);
                table.remove(taken);
            }
            assert_eq!(table.may_have_any(), !is_serialized);
        }
    }

    /// Number of steps in the overflow for each of `n` requests with these handles, completed in
    /// this order; every third one was tested without success before.
    fn steps(n: usize, handle: impl Fn(usize) -> Handle, order: impl Fn(usize) -> usize) -> u64 {
        let table = table(true);
        STEPS.set(0);
        for i in 0..n {
            table.add(handle(i), 1 + i % 2, i as u64, tracked(i as u64));
        }
        for i in (0..n).map(order) {
            if i % 3 == 0 {
                let taken = table.take(handle(i), 1).unwrap();
                table.put_back(taken);
            }
            let taken = table.take(handle(i), 1 + i % 2).unwrap();
            table.remove(taken);
        }
        assert!(!table.may_have_any());
        STEPS.get() / n as u64
    }

    #[test]
    fn what_a_request_takes_does_not_depend_on_how_many_there_are() {
        const N: usize = 20_000;
        let in_one_bucket: Vec<Handle> = {
            let table = table(true);
            let first = std::ptr::from_ref(table.bucket(64));
            let handles = (1..).map(|i| 64 * i);
            let of_it = handles.filter(|&handle| std::ptr::eq(table.bucket(handle), first));
            of_it.take(N).collect()
        };
        let handles: [(&str, &dyn Fn(usize) -> Handle); 3] = [
            ("one", &|_| 0x5000),
            ("apart", &|i| 0x7f00_0000 + 192 * i),
            ("in one bucket", &|i| in_one_bucket[i]),
        ];
        for (name, handle) in handles {
            for reverse in [false, true] {
                let order = |i: usize| if reverse { N - 1 - i } else { i };
                let each = steps(N, handle, order);
                assert!(each < 30, "{name}, {reverse}: {each} steps for each");
            }
        }
    }

    #[test]
    fn an_overflowing_request_is_held_until_it_is_removed_and_its_entry_reused() {
        let table = table(true);
        for round in 0..3 {
            for i in 0..200 {
                table.add(7, 1, i, tracked(i));
            }
            let mut taken: Vec<_> = (0..200).map(|_| table.take(7, 1).unwrap()).collect();
            assert!(table.take(7, 1).is_none(), "all are taken");
            for (i, taken) in taken.iter_mut().rev().enumerate() {
                assert_eq!(position(taken), i as u64, "round {round}");
                taken.tracked_mut().n_tests += 1;
            }
            for taken in taken {
                table.put_back(taken);
            }
            for _ in 0..200 {
                let taken = table.take(7, 2).unwrap();
                assert_eq!(taken.tracked().n_tests, 1);
                table.remove(taken);
            }
            assert!(!table.may_have_any());
        }
    }

    #[test]
    fn a_taken_request_is_not_found_until_it_is_put_back() {
        let table = table(true);
        table.add(7, 1, 1, tracked(3));
        let mut taken = table.take(7, 1).unwrap();
        assert!(table.take(7, 1).is_none());
        taken.tracked_mut().n_tests += 1;
        table.put_back(taken);
        let taken = table.take(7, 2).unwrap();
        assert_eq!((position(&taken), taken.tracked().n_tests), (3, 1));
        table.remove(taken);
        assert!(!table.may_have_any());
    }

    #[test]
    fn an_entry_of_the_same_thread_is_taken_before_a_newer_one_of_another_thread() {
        let table = table(false);
        table.add(7, 1, 10, tracked(1));
        table.add(7, 2, 20, tracked(2));
        assert_eq!(position(&table.take(7, 1).unwrap()), 1);
        assert_eq!(position(&table.take(7, 1).unwrap()), 2);
    }

    #[test]
    fn no_request_is_missed_or_doubled_when_threads_share_handles() {
        const THREADS: u64 = 4;
        const EACH: u64 = 20_000;
        let table = table(false);
        let sums: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=THREADS)
                .map(|owner| {
                    scope.spawn(move || {
                        let mut sum = 0;
                        for i in 0..EACH {
                            // Few handles, all in one bucket or two.
                            let handle = 64 * (1 + (i % 3) as usize);
                            table.add(handle, owner as usize, i, tracked(owner * EACH + i));
                            if i % 4 == 0 {
                                let taken = table.take(handle, owner as usize).unwrap();
                                table.put_back(taken);
                            }
                            let taken = table.take(handle, owner as usize).unwrap();
                            sum += position(&taken);
                            table.remove(taken);
                        }
                        sum
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let all: u64 = (1..=THREADS)
            .flat_map(|owner| (0..EACH).map(move |i| owner * EACH + i))
            .sum();
        assert_eq!(sums.iter().sum::<u64>(), all);
        for i in 1..=3 {
            assert!(table.take(64 * i, 1).is_none());
        }
    }
}

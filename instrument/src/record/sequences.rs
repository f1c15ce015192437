//! The sequence table of a chunk: how many calls had been entered when it was opened.
//!
//! In a ring the table must be valid for one instant, since earlier records may be overwritten:
//! calls of all threads that were entered before it are counted, and no others. A call takes its
//! slot, then its position, then its stamp. So the counts are valid for an instant at which the
//! last slot of every other thread had its stamp, and no further one was taken until they were
//! read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{MutexGuard, PoisonError};

use collbench_formats::{ProcessState, SequenceEntry};

use super::recorder::{LivingPersistents, Recorder};
use super::thread::{Chunks, Thread};

/// How often an instant is searched for. There is no system call between slot and stamp: a thread
/// that is found there repeatedly was preempted, and so this one yields.
const TRIES: u32 = 1000;
const TRIES_AT_ONCE: u32 = 100;

/// Set in [`Phase`] if there is a level.
const SOME: u64 = 1 << 32;

/// The phase that the program has set.
#[derive(Debug, Default)]
pub(super) struct Phase(AtomicU64);

impl Phase {
    pub(super) fn begin(&self, level: i32) {
        let level = u64::from(level as u32);
        self.0.store(level | SOME, Ordering::Relaxed);
    }

    fn level(&self) -> Option<i32> {
        let phase = self.0.load(Ordering::Relaxed);
        (phase & SOME != 0).then_some(phase as i32)
    }
}

impl Recorder {
    /// The table of a chunk that `own` opens now, and the instant for which it is valid, ticks.
    pub(super) fn sequences(&self, own: &Thread) -> (Vec<SequenceEntry>, u64) {
        if !self.file.is_ring() {
            return (self.communicators.sequences(), self.clock.now());
        }
        for attempt in 0..TRIES {
            if let Some(found) = self.sequences_at_once(own) {
                return found;
            }
            match attempt {
                0..TRIES_AT_ONCE => std::hint::spin_loop(),
                _ => std::thread::yield_now(),
            }
        }
        // As precise as possible: a call of another thread may be on the wrong side.
        let now = self.clock.now();
        (self.full_table(), now)
    }

    fn sequences_at_once(&self, own: &Thread) -> Option<(Vec<SequenceEntry>, u64)> {
        // Does not wait: the thread that ends recording holds all of these locks.
        let threads = self.threads.try_lock().ok()?;
        let others = threads.iter().filter(|thread| !std::ptr::eq(**thread, own));
        let others: Vec<(&Thread, MutexGuard<'_, Chunks>)> = others
            .map(|thread| Some((*thread, thread.chunks.try_lock().ok()?)))
            .collect::<Option<_>>()?;
        let next = || others.iter().map(|(thread, _)| thread.cursor.next());
        let before: Vec<usize> = next().collect();
        let mut last_stamp = 0;
        for (thread, chunks) in &others {
            let taken = thread.cursor.taken(chunks.current.as_ref());
            let Some(slot) = taken.last() else { continue };
            // Its chunk stays mapped as long as the lock is held.
            let stamp = slot.enter_ticks();
            if stamp == 0 {
                return None;
            }
            last_stamp = last_stamp.max(stamp);
        }
        let now = self.clock.now();
        let table = self.full_table();
        (now > last_stamp && next().eq(before.iter().copied())).then_some((table, now))
    }

    /// All existing communicators and persistent collectives, and the process.
    fn full_table(&self) -> Vec<SequenceEntry> {
        let (mut table, n_communicators) = self.communicators.all_sequences();
        let persistents = self.living_persistents();
        table.extend(persistents.iter().map(|persistent| persistent.sequence()));
        drop(persistents);
        table.push(SequenceEntry::of_process(ProcessState {
            n_communicators,
            n_persistents: self.n_persistents.load(Ordering::Relaxed),
            phase: self.phase.level(),
        }));
        table
    }

    pub(super) fn living_persistents(&self) -> MutexGuard<'_, LivingPersistents> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The recorder's state of a thread: its chunks, and how far they are filled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use collbench_formats::CODE_INTERNAL;

use super::local::LOCAL;
use super::recorder::Recorder;
use super::retained::{self, Retained, Unfinished};
use crate::communicators::CommunicatorEntry;
use crate::file::{GrowError, OpenChunk, Opening, Slot, SlotCursor, Slots};
use crate::messages::Receives;
use crate::sites::ForecastSites;

/// The recorder's state of a thread; never freed. Aligned so that no two share a cache line, nor a
/// pair of lines that is fetched together.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Thread {
    pub(super) number: u32,
    pub(super) cursor: SlotCursor,
    pub(super) chunks: Mutex<Chunks>,
    pub(crate) receives: Receives,
    /// Whether there was a call of the application inside another one.
    pub(super) has_nested_calls: AtomicBool,
    /// The call sites of its next calls, as they follow from those before in the current chunk.
    pub(super) forecast: ForecastSites,
}

const _: () = assert!(align_of::<Thread>() == align_of::<CommunicatorEntry>());

/// The chunks of a thread. The thread itself locks them when one is full, and the thread that ends
/// recording does at the end.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    pub(super) current: Option<OpenChunk>,
    /// Full chunks into which something may still be stored, the oldest first.
    pub(super) retained: Vec<Retained>,
    pub(super) n_opened: u32,
    /// Counts in the chunks before the current one.
    pub(super) before: Counts,
}

/// Numbers of records in chunks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) n_records: u64,
    /// Calls of the application among them; only counted in rings.
    pub(super) n_calls: u64,
}

impl Thread {
    /// The slots of the current chunk that were taken.
    pub(crate) fn taken(&self) -> Slots {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        self.cursor.taken(chunks.current.as_ref())
    }

    /// Opens the next chunk; `posted` are the receives whose leave may still be stored.
    pub(super) fn open_next_chunk(
        &self,
        recorder: &Recorder,
        posted: &[Slot],
    ) -> Result<(), GrowError> {
        let (sequences, begin_ticks) = recorder.sequences(self);
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let unfinished = self.unfinished(&chunks);
        retained::release(&mut chunks.retained, &unfinished, posted);
        let full = self.close_current(&mut chunks, recorder.file.is_ring());
        let clock = recorder.clock;
        let opening = Opening {
            thread: self.number,
            ordinal: chunks.n_opened,
            first_record: chunks.before.n_records + full.n_records,
            first_call: chunks.before.n_calls + full.n_calls,
            sequences: &sequences,
            begin_ticks,
        };
        let opened = recorder
            .file
            .open_records(&opening, || clock.now(), || clock.anchor());
        let chunk = opened?;
        chunks.before.n_records += full.n_records;
        chunks.before.n_calls += full.n_calls;
        chunks.n_opened += 1;
        if let Some(full) = chunks.current.replace(chunk) {
            let slots = unfinished.slots;
            chunks.retained.push(Retained { chunk: full, slots });
        }
        if let Some(chunk) = &chunks.current {
            // SAFETY: full chunks stay mapped as long as a call of this thread will store into
            // them.
            unsafe { self.cursor.open(chunk) };
        }
        if recorder.file.is_stopped() {
            self.cursor.stop();
        }
        Ok(())
    }

    /// The unfinished records in the current chunk; only for the thread itself.
    pub(super) fn unfinished(&self, chunks: &Chunks) -> Unfinished {
        Unfinished::among(self.cursor.taken(chunks.current.as_ref()))
    }

    /// Closes the current chunk; returns how many records it has, and how many calls if they are to
    /// be counted.
    pub(super) fn close_current(&self, chunks: &mut Chunks, counts_calls: bool) -> Counts {
        let Some(chunk) = &chunks.current else {
            return Counts::default();
        };
        let taken = self.cursor.taken(Some(chunk));
        // The last leave is that of the last call of the application, since records after it are of
        // what happened inside it; unless that call is itself inside another one.
        let has_nested_calls = self.has_nested_calls.load(Ordering::Relaxed);
        let mut last_leave = 0;
        for slot in taken.iter().rev() {
            last_leave = last_leave.max(slot.leave_ticks());
            let is_internal = slot.code_word().has(CODE_INTERNAL);
            if !is_internal && last_leave > 0 && !has_nested_calls {
                break;
            }
        }
        let n_records = taken.len() as u64;
        chunk.close(n_records, last_leave);
        let calls = taken
            .iter()
            .filter(|slot| slot.code_word().is_counted_call());
        Counts {
            n_records,
            n_calls: if counts_calls {
                calls.count() as u64
            } else {
                0
            },
        }
    }
}

impl Recorder {
    /// A state for the calling thread: that of a thread which has ended, or a new one.
    pub(super) fn take_thread(&self) -> &'static Thread {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let thread = idle.unwrap_or_else(|| {
            let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            let thread: &'static Thread = Box::leak(Box::new(Thread {
                number: threads.len() as u32,
                cursor: SlotCursor::default(),
                chunks: Mutex::default(),
                receives: Receives::default(),
                has_nested_calls: AtomicBool::new(false),
                forecast: ForecastSites::default(),
            }));
            threads.push(thread);
            thread
        });
        if let Some(key) = self.at_thread_exit {
            // SAFETY: the key was created and is never deleted.
            unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(thread).cast()) };
        }
        thread
    }
}

/// A key whose destructor releases a thread's state; `None` if the process has no more keys.
pub(super) fn thread_exit_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is valid for writing; the destructor takes what `take_thread` sets.
    let code = unsafe { libc::pthread_key_create(&mut key, Some(release_thread)) };
    (code == 0).then_some(key)
}

/// Runs when a thread ends. Calls that the thread makes later (in other destructors) take another
/// state, which is released in a further round of destructors.
unsafe extern "C" fn release_thread(thread: *mut libc::c_void) {
    LOCAL.with(|local| local.thread.set(None));
    let Some(recorder) = Recorder::active() else {
        return;
    };
    // SAFETY: `take_thread` has set a leaked `Thread`.
    let thread = unsafe { &*thread.cast_const().cast::<Thread>() };
    recorder.guarded(|| {
        let mut idle = recorder.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(thread);
        Ok(())
    });
}

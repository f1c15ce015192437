//! What a thread itself holds, and what it does with it before and after calls.

use std::cell::{Cell, UnsafeCell};

use super::creations::ThreadCreation;
use super::nesting::own_stack;
use super::recorder::Recorder;
use super::running::GapWatch;
use super::thread::Thread;
use crate::communicators::CommunicatorEntry;
use crate::file::Slot;
use crate::messages::Route;
use crate::mpi::Handle;

/// Entries of a thread's cache of communicators.
const CACHED: usize = 16;
const _: () = assert!(CACHED.is_power_of_two());

#[derive(Debug, Clone, Copy)]
pub(super) struct Cached {
    handle: Handle,
    entry: Option<&'static CommunicatorEntry>,
}

/// What a thread itself holds: no destructor, no lazy initialization.
pub(crate) struct Local {
    pub(crate) thread: Cell<Option<&'static Thread>>,
    /// An address in the frame of the outermost wrapped call that is under way in this thread, 0
    /// where there is none: inside one, further calls are the MPI library's own,
    /// but for those of functions that it calls back.
    pub(super) outermost: Cell<usize>,
    /// The thread's stack: lowest address and end.
    pub(super) stack: Cell<(usize, usize)>,
    /// Whether the recorder is on a cold path.
    pub(super) is_at_work: Cell<bool>,
    /// The epoch of communicators in which the cache is true.
    pub(super) epoch: Cell<u64>,
    /// How many have begun.
    pub(crate) calls: Cell<u64>,
    pub(crate) route: Cell<Route>,
    pub(super) gap_watch: GapWatch,
    pub(super) creation: ThreadCreation,
    pub(super) cache: UnsafeCell<[Cached; CACHED]>,
}

thread_local! {
    pub(super) static LOCAL: Local = const {
        Local {
            thread: Cell::new(None),
            outermost: Cell::new(0),
            stack: Cell::new((0, 0)),
            is_at_work: Cell::new(false),
            epoch: Cell::new(0),
            calls: Cell::new(0),
            route: Cell::new(Route::NONE),
            gap_watch: GapWatch::new(),
            creation: ThreadCreation::new(),
            cache: UnsafeCell::new([Cached { handle: 0, entry: None }; CACHED]),
        }
    };
}

impl Local {
    /// That of the calling thread. Calls are made outside of `LocalKey::with`: a closure of
    /// their size would stay out of line there, and be handed all that it captures in memory.
    #[inline(always)]
    pub(crate) fn of_this_thread() -> &'static Self {
        let local = LOCAL.with(std::ptr::from_ref);
        // SAFETY: the state of a thread has no destructor and is there as long as the thread
        // itself, which does not end in a call of MPI; nobody keeps the reference beyond.
        unsafe { &*local }
    }

    /// A number that tells this thread from others that live.
    #[inline]
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// That of a communicator handle, in a word as the application passes it.
    #[inline]
    pub(super) fn communicator(
        &self,
        recorder: &Recorder,
        handle: Handle,
    ) -> Option<&'static CommunicatorEntry> {
        self.entry(recorder, recorder.library.handle(handle))
    }

    /// That of a handle, or of the key of a file or window.
    #[inline]
    pub(super) fn entry(
        &self,
        recorder: &Recorder,
        handle: Handle,
    ) -> Option<&'static CommunicatorEntry> {
        let epoch = recorder.communicators.epoch();
        // SAFETY: only this thread has the cell, and the reference does not outlive the block.
        let cached = unsafe { (*self.cache.get())[Self::place_of(handle)] };
        if cached.handle == handle && self.epoch.get() == epoch && cached.entry.is_some() {
            return cached.entry;
        }
        self.look_up(recorder, handle, epoch)
    }

    /// Handles are addresses of blocks of some hundred bytes, or numbers in a row: the upper
    /// bits of a product with the golden ratio differ for both.
    #[inline]
    fn place_of(handle: Handle) -> usize {
        handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - CACHED.ilog2())
    }

    #[cold]
    fn look_up(
        &self,
        recorder: &Recorder,
        handle: Handle,
        epoch: u64,
    ) -> Option<&'static CommunicatorEntry> {
        let nothing = Cached {
            handle: 0,
            entry: None,
        };
        if self.epoch.replace(epoch) != epoch {
            // SAFETY: as above.
            unsafe { *self.cache.get() = [nothing; CACHED] };
        }
        let entry = recorder.find(handle)?;
        self.cache(handle, Some(entry));
        Some(entry)
    }

    fn cache(&self, handle: Handle, entry: Option<&'static CommunicatorEntry>) {
        // SAFETY: as above.
        unsafe { (*self.cache.get())[Self::place_of(handle)] = Cached { handle, entry } };
    }

    /// Notes what this thread itself has just made.
    pub(super) fn remember(
        &self,
        recorder: &Recorder,
        handle: Handle,
        entry: &'static CommunicatorEntry,
    ) {
        if self.epoch.get() == recorder.communicators.epoch() {
            self.cache(handle, Some(entry));
        }
    }

    /// Forgets a handle that is given back; what else is in this thread's cache stays true.
    pub(super) fn forget(&self, recorder: &Recorder, handle: Handle) {
        let before = recorder.communicators.forget(handle);
        if self.epoch.get() == before {
            self.cache(handle, None);
            self.epoch.set(before + 1);
        }
    }

    /// Takes the next slot of this thread for a call; null when recording has ended: then the call is
    /// counted as lost, if it is the application's.
    #[inline]
    pub(super) fn take_slot(&self, recorder: &'static Recorder) -> Slot {
        match self.next_slot() {
            Some(slot) => slot,
            None => self.take_later_slot_of_call(recorder),
        }
    }

    /// Takes the next slot of this thread for what belongs to a call, such as a message.
    #[inline]
    pub(crate) fn take_slot_of_part(&self, recorder: &'static Recorder) -> Slot {
        match self.next_slot() {
            Some(slot) => slot,
            None => self.take_slot_of_new_chunk(recorder),
        }
    }

    /// The next slot of the chunk; `None` where it is full, or recording has ended.
    #[inline(always)]
    pub(super) fn next_slot(&self) -> Option<Slot> {
        self.thread.get()?.cursor.take()
    }

    #[cold]
    fn take_later_slot_of_call(&self, recorder: &'static Recorder) -> Slot {
        let slot = self.take_slot_of_new_chunk(recorder);
        if slot.is_null() && self.is_own_call() {
            recorder.file.count_unrecorded();
        }
        slot
    }

    #[cold]
    fn take_slot_of_new_chunk(&self, recorder: &'static Recorder) -> Slot {
        if recorder.file.is_stopped() {
            return Slot::NONE;
        }
        let opened = recorder.guarded(|| {
            let thread = match self.thread.get() {
                Some(thread) => thread,
                None => {
                    let thread = recorder.take_thread();
                    // SAFETY: whose it was has ended, and nobody else has taken it.
                    unsafe { thread.receives.forget() };
                    self.thread.set(Some(thread));
                    self.stack.set(own_stack());
                    self.begin_gap_watch(recorder);
                    thread
                }
            };
            // That of a thread which has ended may have room.
            if thread.cursor.is_at_end() {
                let posted = self.receives_under_way(thread);
                thread.open_next_chunk(recorder, &posted)?;
            }
            Ok(thread.cursor.take_first())
        });
        opened.unwrap_or(Slot::NONE)
    }
}

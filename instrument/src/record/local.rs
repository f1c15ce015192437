//! The state of a thread, which only that thread uses, and its work before and after calls.

use std::cell::{Cell, UnsafeCell};

use super::creations::ThreadCreation;
use super::gaps::ThreadGaps;
use super::nesting::own_stack;
use super::recorder::Recorder;
use super::running::GapWatch;
use super::thread::Thread;
use crate::communicators::CommunicatorEntry;
use crate::file::{GrowError, Slot};
use crate::messages::Route;
use crate::mpi::Handle;
use crate::sites::RecentSites;

/// Entries of each of a thread's caches of communicators.
const CACHED: usize = 16;
const _: () = assert!(CACHED.is_power_of_two());

#[derive(Debug, Clone, Copy)]
pub(super) struct Cached {
    handle: Handle,
    entry: Option<&'static CommunicatorEntry>,
}

/// The state of a thread, which only that thread uses: no destructor, no lazy initialization.
pub(crate) struct Local {
    pub(crate) thread: Cell<Option<&'static Thread>>,
    /// An address in the frame of the outermost wrapped call that is under way in this thread, 0 if
    /// there is none. Further calls inside that one are internal calls of the MPI library, except
    /// those of functions that it calls back.
    pub(super) outermost: Cell<usize>,
    /// The thread's stack: lowest address and end.
    pub(super) stack: Cell<(usize, usize)>,
    /// Whether the thread is on a cold path of the recorder.
    pub(super) is_on_cold_path: Cell<bool>,
    /// Whether nothing is recorded of what the thread does.
    is_silent: Cell<bool>,
    /// The record of a call that the program itself executes.
    pub(super) own_call: Cell<Slot>,
    /// The epoch of communicators in which the cache is valid.
    pub(super) epoch: Cell<u64>,
    /// Number of calls that were entered.
    pub(crate) calls: Cell<u64>,
    pub(crate) route: Cell<Route>,
    pub(super) gap_watch: GapWatch,
    pub(super) gaps: ThreadGaps,
    pub(super) creation: ThreadCreation,
    pub(super) cache: UnsafeCell<[Cached; CACHED]>,
    /// Where communicators have their trees, in which epoch of these.
    pub(crate) trees: [Cell<(Handle, u64, *mut ())>; CACHED],
    /// From where it has called last.
    pub(super) recent_sites: RecentSites,
}

thread_local! {
    pub(super) static LOCAL: Local = const {
        Local {
            thread: Cell::new(None),
            outermost: Cell::new(0),
            stack: Cell::new((0, 0)),
            is_on_cold_path: Cell::new(false),
            is_silent: Cell::new(false),
            own_call: Cell::new(Slot::NONE),
            epoch: Cell::new(0),
            calls: Cell::new(0),
            route: Cell::new(Route::NONE),
            gap_watch: GapWatch::new(),
            gaps: ThreadGaps::new(),
            creation: ThreadCreation::new(),
            cache: UnsafeCell::new([Cached { handle: 0, entry: None }; CACHED]),
            trees: [const { Cell::new((0, 0, std::ptr::null_mut())) }; CACHED],
            recent_sites: RecentSites::new(),
        }
    };
}

impl Local {
    /// The state of the calling thread. Calls are not made inside of `LocalKey::with`: closures of
    /// their size would not be inlined, and their captures would be passed in memory.
    #[inline(always)]
    pub(crate) fn of_this_thread() -> &'static Self {
        let local = LOCAL.with(std::ptr::from_ref);
        // SAFETY: the state of a thread has no destructor and exists as long as the thread itself,
        // which does not end in a call of MPI; no reference is kept longer than that.
        unsafe { &*local }
    }

    /// A number that identifies this thread among those that exist.
    #[inline]
    pub(super) fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The entry of a communicator handle, in a word as the application passes it.
    #[inline]
    pub(super) fn communicator(
        &self,
        recorder: &Recorder,
        handle: Handle,
    ) -> Option<&'static CommunicatorEntry> {
        self.entry(recorder, recorder.library.handle(handle))
    }

    /// The entry of a handle, or of the key of a file or window.
    #[inline]
    pub(super) fn entry(
        &self,
        recorder: &Recorder,
        handle: Handle,
    ) -> Option<&'static CommunicatorEntry> {
        let epoch = recorder.communicators.epoch();
        // SAFETY: only this thread uses the cell, and the reference does not outlive the block.
        let cached = unsafe { (*self.cache.get())[Self::place_of(handle)] };
        if cached.handle == handle && self.epoch.get() == epoch && cached.entry.is_some() {
            return cached.entry;
        }
        self.look_up(recorder, handle, epoch)
    }

    /// The index in a cache. Handles are addresses of blocks of some hundred bytes, or
    /// consecutive numbers; the upper bits of a product with the golden ratio differ for both.
    #[inline]
    pub(crate) fn place_of(handle: Handle) -> usize {
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
            // SAFETY: only this thread uses the cell, and there is no other reference to it.
            unsafe { *self.cache.get() = [nothing; CACHED] };
        }
        let entry = recorder.find(handle)?;
        self.cache(handle, Some(entry));
        Some(entry)
    }

    fn cache(&self, handle: Handle, entry: Option<&'static CommunicatorEntry>) {
        // SAFETY: only this thread uses the cell, and there is no other reference to it.
        unsafe { (*self.cache.get())[Self::place_of(handle)] = Cached { handle, entry } };
    }

    /// Caches a communicator that this thread has just created.
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

    /// Forgets a handle that is freed; the rest of this thread's cache stays valid.
    pub(super) fn forget(&self, recorder: &Recorder, handle: Handle) {
        let before = recorder.communicators.forget(handle);
        if self.epoch.get() == before {
            self.cache(handle, None);
            self.epoch.set(before + 1);
        }
    }

    /// Takes the next slot of this thread for a call of the application; null if recording has
    /// ended. Then the call is counted as not recorded.
    #[inline(always)]
    pub(super) fn take_slot(&self, recorder: &'static Recorder) -> Slot {
        self.take_slot_of_call(recorder, false)
    }

    /// Takes the next slot of this thread for a call; null if recording has ended. Then the call is
    /// counted as not recorded, if it is the application's, and not one `is_internal` to the MPI
    /// library.
    #[inline(always)]
    pub(super) fn take_slot_of_call(&self, recorder: &'static Recorder, is_internal: bool) -> Slot {
        let slot = self.next_slot_of_call(recorder, is_internal);
        if slot.is_null() {
            return self.take_later_slot_of_call(recorder, is_internal);
        }
        slot
    }

    /// Takes the next slot of this thread for a completion, within the call that completes; null if
    /// recording has ended.
    #[inline]
    pub(super) fn take_slot_of_completion(&self, recorder: &'static Recorder) -> Slot {
        let slot = self.next_slot_of_call(recorder, false);
        if slot.is_null() {
            let site = self.own_site(recorder);
            return self.take_later_slot(recorder, true, Some(site));
        }
        slot
    }

    /// Takes the next slot of this thread for a record that belongs to a call, such as a message.
    #[inline]
    pub(crate) fn take_slot_of_part(&self, recorder: &'static Recorder) -> Slot {
        match self.next_slot() {
            Some(slot) => slot,
            None => self.take_later_slot(recorder, false, None),
        }
    }

    /// The next slot of the chunk; `None` if it is full, or recording has ended.
    #[inline(always)]
    pub(super) fn next_slot(&self) -> Option<Slot> {
        self.thread.get()?.cursor.take()
    }

    #[cold]
    fn take_later_slot_of_call(&self, recorder: &'static Recorder, is_internal: bool) -> Slot {
        // Of calls that are not recorded any more it is not looked for.
        let has_site = !is_internal && !recorder.file.is_stopped();
        let site = has_site.then(|| self.own_site(recorder));
        // Inside a call that has no record, the sums go on.
        let slot = self.take_later_slot(recorder, !self.has_entered(), site);
        if slot.is_null() && self.is_own_call() {
            recorder.file.count_unrecorded();
        }
        slot
    }

    /// Takes a slot where the cursor has none: it is held, at its end, or there is no chunk yet.
    /// `ends_gap`: the time in calls without records is noted before it. `site`: the call site of a
    /// call of the application, which is noted before it where it differs from that of the last one.
    #[cold]
    fn take_later_slot(
        &self,
        recorder: &'static Recorder,
        ends_gap: bool,
        site: Option<u32>,
    ) -> Slot {
        if recorder.file.is_stopped() || self.is_silent.get() {
            return Slot::NONE;
        }
        let taken = recorder.guarded(|| {
            let thread = self.thread_of(recorder);
            thread.cursor.release();
            if ends_gap {
                self.write_gap(recorder, thread)?;
            }
            self.make_room(recorder, thread)?;
            if let Some(site) = site {
                self.note_site(recorder, thread, site)?;
                thread.forecast.pass(site);
            }
            let slot = thread.cursor.take_first();
            // Another thread may have ended recording meanwhile.
            if recorder.file.is_stopped() {
                thread.cursor.stop();
            }
            Ok(slot)
        });
        taken.unwrap_or(Slot::NONE)
    }

    /// Runs something within a recorded call, such as an agreement between processes, of which
    /// nothing is to be recorded.
    #[cold]
    pub(crate) fn silently<R>(&self, run: impl FnOnce() -> R) -> R {
        let (Some(recorder), Some(thread)) = (Recorder::active(), self.thread.get()) else {
            return run();
        };
        // No slot is taken on the fast path then.
        thread.cursor.hold();
        let before = self.is_silent.replace(true);
        let result = run();
        self.is_silent.set(before);
        recorder.guarded(|| {
            thread.cursor.release();
            Ok(())
        });
        result
    }

    /// The recorder's state of this thread; only on a guarded path.
    pub(super) fn thread_of(&self, recorder: &'static Recorder) -> &'static Thread {
        self.thread.get().unwrap_or_else(|| {
            let thread = recorder.take_thread();
            // SAFETY: the thread that used it before has ended, and no other thread has taken it.
            unsafe { thread.receives.forget() };
            self.thread.set(Some(thread));
            self.stack.set(own_stack());
            self.begin_gap_watch(recorder);
            thread
        })
    }

    /// Opens a chunk if the current one has no free slot; only on a guarded path.
    pub(super) fn make_room(
        &self,
        recorder: &'static Recorder,
        thread: &'static Thread,
    ) -> Result<(), GrowError> {
        // The chunk of a thread that has ended may still have free slots.
        if thread.cursor.is_at_end() {
            let posted = self.outstanding_receives(thread);
            thread.open_next_chunk(recorder, &posted)?;
            thread.forecast.begin_chunk();
        }
        Ok(())
    }

    /// Stores a note on the call site of the call for which a slot is taken next, if it needs one;
    /// only on a guarded path, and where there is a free slot.
    fn note_site(
        &self,
        recorder: &'static Recorder,
        thread: &'static Thread,
        site: u32,
    ) -> Result<(), GrowError> {
        if !thread.needs_note_of(site) {
            return Ok(());
        }
        // The note would not hold for a call in the next chunk.
        if !thread.cursor.has_two() {
            thread.cursor.skip_rest();
            self.make_room(recorder, thread)?;
        }
        if thread.needs_note_of(site) && !recorder.file.is_stopped() {
            let note = thread.cursor.take_first();
            thread.note_site(recorder, note, site, 0);
        }
        Ok(())
    }
}

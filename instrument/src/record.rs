//! From a call to a record: what every wrapper of the preloaded library does.
//!
//! Each thread stores into a chunk of its own, so threads share nothing on the way but what MPI
//! itself makes them order. The state of a thread is plain cells without a destructor: an MPI
//! call from a thread-exit handler still finds it.

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};

use collbench_formats::{
    CODE_INTERNAL, CODE_PAYLOAD_UNKNOWN, Communicator, Definition, Operation, ROOT_IS_ME,
    ROOT_NONE, ROOT_OTHER_OF_MY_GROUP, RecordKind, StopReason, UNKNOWN_COMMUNICATOR,
    pack_call_word, phase_words,
};

mod algorithms;
mod completion;
mod files_and_windows;
mod initiation;
mod inside;
mod makings;
mod messages;
mod overflow;
mod persistent;
mod requests;
mod retained;
mod running;
mod sequences;
mod tagged;

use algorithms::Algorithms;
pub use algorithms::{Algorithm, algorithm_call};
pub use completion::{
    get_status_call, request_free_call, some_call, test_call, testall_call, testany_call,
    wait_call, waitall_call, waitany_call,
};
pub use files_and_windows::{
    access_begin_call, access_end_call, closing_call, fence_call, nonblocking_access_call,
    opened_call, opening_call,
};
pub use initiation::{RequestCall, nonblocking_call};
use inside::{Inside, own_stack};
use makings::{Maker, MakingHere, Makings};
pub use makings::{making_begin, making_call, making_request, making_step};
use messages::{Partners, Receives, Route};
pub(crate) use messages::{
    Post, RawMessage, communicator_appears, communicator_goes, message, start_messages,
    startable_message, wait_for_any, wait_for_many,
};
use persistent::Persistent;
pub use persistent::{persistent_call, start_call, startall_call};
use requests::Requests;
use retained::{Retained, Unfinished};
pub(crate) use running::Lengths;
use running::Pace;
use sequences::Phase;
use tagged::Contexts;
pub use tagged::{tagged_receive, tagged_send};

use crate::args::{CallView, KeptArrays};
use crate::communicators::{
    CommunicatorEntry, Communicators, ConstructorCall, HowMade, hash_of_text,
};
use crate::exchange::{Exchanges, Session, Start, carries_something, synchronizes};
use crate::file::{
    GrowError, OpenChunk, Opening, RankFile, Slot, SlotCursor, Slots, is_forked,
    leave_to_the_parent,
};
use crate::hooks::{Endpoints, MessageSource};
use crate::host::Clock;
use crate::mpi::{Handle, MpiLibrary, is_program, own_object};
use crate::process::{ReservedMemory, Uncancelled, say};
use crate::settings::Layers;

const _: () = assert!(
    cfg!(target_pointer_width = "64"),
    "handles and counts are 64-bit words"
);

/// `MPI_THREAD_MULTIPLE`, as [`MpiLibrary::thread_level`] has it.
const THREAD_MULTIPLE: u32 = 3;

/// The recorder of this process, while it records.
static ACTIVE: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// Recording, once `MPI_Init` has begun it. Never freed.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) clock: Clock,
    pub(crate) library: MpiLibrary,
    pub(crate) file: RankFile,
    pub(crate) communicators: Communicators,
    pub(crate) rank: u32,
    /// Collectives under way, by request.
    requests: Requests,
    /// What is recorded besides calls on communicators.
    layers: Layers,
    /// Persistent collectives that can be started, by request.
    persistents: Requests,
    n_persistents: AtomicU32,
    /// Those that were not given back.
    living: Mutex<LivingPersistents>,
    phase: Phase,
    /// What long calls and gaps are, where threads are asked about.
    lengths: Option<Lengths>,
    algorithms: Algorithms,
    partners: Partners,
    /// What the contexts of messages are of, where they name no communicator.
    contexts: Contexts,
    /// For which calls the library sends while it makes communicators.
    makings: Makings,
    /// Where the messages of the library are seen, if they are.
    messages: OnceLock<MessageSource>,
    /// Whether they are still looked at.
    sees_messages: AtomicBool,
    is_alone_on_host: bool,
    threads: Mutex<Vec<&'static Thread>>,
    /// Those of `threads` whose thread has ended: the next new thread goes on with one of them, so
    /// that a program with many short threads needs no chunk for each.
    idle: Mutex<Vec<&'static Thread>>,
    /// Measuring the clocks of hosts, once the start has been.
    exchanges: OnceLock<Exchanges>,
    /// The key by which the C library tells that a thread ends.
    at_thread_exit: Option<libc::pthread_key_t>,
}

/// In the order in which they were made.
type LivingPersistents = Vec<&'static Persistent>;

/// What the recorder keeps of a thread; never freed. Aligned as a communicator's entry is, and for
/// the same reason.
#[derive(Debug)]
#[repr(align(128))]
struct Thread {
    number: u32,
    cursor: SlotCursor,
    chunks: Mutex<Chunks>,
    receives: Receives,
    /// Whether there was a call of the application inside another one.
    has_nested_calls: AtomicBool,
}

/// The chunks of a thread; locked by the thread itself when one is full, and at the end.
#[derive(Debug, Default)]
struct Chunks {
    current: Option<OpenChunk>,
    /// Full chunks that something may still be stored into, the oldest first.
    retained: Vec<Retained>,
    n_opened: u32,
    /// In those before the current one.
    before: Counts,
}

/// What stands in chunks.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    n_records: u64,
    /// Calls of the application among them; counted in rings only.
    n_calls: u64,
}

/// Entries of a thread's cache of communicators; a power of two.
const CACHED: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Cached {
    handle: Handle,
    entry: Option<&'static CommunicatorEntry>,
}

/// What a thread itself holds: no destructor, no lazy initialization.
struct Local {
    thread: Cell<Option<&'static Thread>>,
    /// An address in the frame of the outermost wrapped call that is under way in this thread, 0
    /// where there is none: inside one, further calls are the MPI library's own,
    /// but for those of functions that it calls back.
    outermost: Cell<usize>,
    /// The thread's stack: lowest address and end.
    stack: Cell<(usize, usize)>,
    /// Whether the recorder is on a cold path.
    is_at_work: Cell<bool>,
    /// The epoch of communicators in which the cache is true.
    epoch: Cell<u64>,
    /// How many have begun.
    calls: Cell<u64>,
    route: Cell<Route>,
    pace: Pace,
    making: MakingHere,
    cache: UnsafeCell<[Cached; CACHED]>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            thread: Cell::new(None),
            outermost: Cell::new(0),
            stack: Cell::new((0, 0)),
            is_at_work: Cell::new(false),
            epoch: Cell::new(0),
            calls: Cell::new(0),
            route: Cell::new(Route::NONE),
            pace: Pace::new(),
            making: MakingHere::new(),
            cache: UnsafeCell::new([Cached { handle: 0, entry: None }; CACHED]),
        }
    };
}

impl Local {
    /// That of the calling thread. Calls are made outside of `LocalKey::with`: a closure of
    /// their size would stay out of line there, and be handed all that it captures in memory.
    #[inline(always)]
    fn of_this_thread() -> &'static Self {
        let local = LOCAL.with(std::ptr::from_ref);
        // SAFETY: the state of a thread has no destructor and is there as long as the thread
        // itself, which does not end in a call of MPI; nobody keeps the reference beyond.
        unsafe { &*local }
    }

    /// A number that tells this thread from others that live.
    #[inline]
    fn key(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// That of a communicator handle, in a word as the application passes it.
    #[inline]
    fn communicator(
        &self,
        recorder: &Recorder,
        handle: Handle,
    ) -> Option<&'static CommunicatorEntry> {
        self.entry(recorder, recorder.library.handle(handle))
    }

    /// That of a handle, or of the key of a file or window.
    #[inline]
    fn entry(&self, recorder: &Recorder, handle: Handle) -> Option<&'static CommunicatorEntry> {
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
    fn remember(&self, recorder: &Recorder, handle: Handle, entry: &'static CommunicatorEntry) {
        if self.epoch.get() == recorder.communicators.epoch() {
            self.cache(handle, Some(entry));
        }
    }

    /// Forgets a handle that is given back; what else is in this thread's cache stays true.
    fn forget(&self, recorder: &Recorder, handle: Handle) {
        let before = recorder.communicators.forget(handle);
        if self.epoch.get() == before {
            self.cache(handle, None);
            self.epoch.set(before + 1);
        }
    }

    /// Takes the next slot of this thread for a call; null when recording has ended: then the call is
    /// counted as lost, if it is the application's.
    #[inline]
    fn take_slot(&self, recorder: &'static Recorder) -> Slot {
        match self.next_slot() {
            Some(slot) => slot,
            None => self.take_later_slot_of_call(recorder),
        }
    }

    /// Takes the next slot of this thread for what belongs to a call, such as a message.
    #[inline]
    fn take_slot_of_part(&self, recorder: &'static Recorder) -> Slot {
        match self.next_slot() {
            Some(slot) => slot,
            None => self.take_slot_of_new_chunk(recorder),
        }
    }

    /// The next slot of the chunk; `None` where it is full, or recording has ended.
    #[inline(always)]
    fn next_slot(&self) -> Option<Slot> {
        self.thread.get()?.cursor.take()
    }

    #[cold]
    fn take_later_slot_of_call(&self, recorder: &'static Recorder) -> Slot {
        let slot = self.take_slot_of_new_chunk(recorder);
        if slot.is_null() && self.is_own_call() {
            recorder.file.count_lost();
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
                    self.begin_pace(recorder);
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

impl Thread {
    /// The slots of the current chunk that were taken.
    fn taken(&self) -> Slots {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        self.cursor.taken(chunks.current.as_ref())
    }

    /// `posted` are the receives whose ends may still be stored.
    fn open_next_chunk(&self, recorder: &Recorder, posted: &[Slot]) -> Result<(), GrowError> {
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
            // SAFETY: full chunks are kept as long as a call of this thread will come back to them.
            unsafe { self.cursor.open(chunk) };
        }
        if recorder.file.is_stopped() {
            self.cursor.stop();
        }
        Ok(())
    }

    /// What is not finished yet of the records in the current chunk; for the thread itself.
    fn unfinished(&self, chunks: &Chunks) -> Unfinished {
        Unfinished::among(self.cursor.taken(chunks.current.as_ref()))
    }

    /// Writes into the current chunk how many records it has; gives that number, and that of the
    /// calls if they are to be counted.
    fn close_current(&self, chunks: &mut Chunks, counts_calls: bool) -> Counts {
        let Some(chunk) = &chunks.current else {
            return Counts::default();
        };
        let taken = self.cursor.taken(Some(chunk));
        // The last leave is that of the last call of the application, those behind it happened
        // inside it; unless that is itself inside another one.
        let has_nested_calls = self.has_nested_calls.load(Ordering::Relaxed);
        let mut last_leave = 0;
        for slot in taken.iter().rev() {
            last_leave = last_leave.max(slot.leave_ticks());
            let is_internal = slot.code_word() >> 48 & u64::from(CODE_INTERNAL) != 0;
            if !is_internal && last_leave > 0 && !has_nested_calls {
                break;
            }
        }
        let n_records = taken.len() as u64;
        chunk.close(n_records, last_leave);
        let calls = taken.iter().filter(|slot| is_call(slot.code_word()));
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
    /// `is_alone_on_host`: all processes of this world are on this host, as the launcher says;
    /// `lengths`: what long calls and gaps are, if threads are to be asked about.
    pub(crate) fn new(
        clock: Clock,
        library: MpiLibrary,
        file: RankFile,
        rank: u32,
        is_alone_on_host: bool,
        layers: Layers,
        lengths: Option<Lengths>,
    ) -> Self {
        let is_serialized = library.thread_level < THREAD_MULTIPLE;
        Self {
            clock,
            library,
            file,
            layers,
            communicators: Communicators::default(),
            rank,
            requests: Requests::new(is_serialized),
            persistents: Requests::new(is_serialized),
            n_persistents: AtomicU32::new(0),
            living: Mutex::default(),
            phase: Phase::default(),
            lengths,
            algorithms: Algorithms::default(),
            partners: Partners::default(),
            contexts: Contexts::default(),
            messages: OnceLock::new(),
            makings: Makings::default(),
            sees_messages: AtomicBool::new(false),
            is_alone_on_host,
            threads: Mutex::new(Vec::new()),
            idle: Mutex::new(Vec::new()),
            exchanges: OnceLock::new(),
            at_thread_exit: thread_exit_key(),
        }
    }

    /// Begins to record: from here on wrappers find this recorder.
    pub(crate) fn activate(self) -> &'static Self {
        // Here, where nobody has interrupted anything, for later.
        let _ = own_object();
        let recorder = Box::leak(Box::new(self));
        ACTIVE.store(recorder, Ordering::Release);
        recorder
    }

    /// Begins to record the messages of the library.
    ///
    /// # Safety
    /// No other thread is inside the library; `parent` is a valid communicator.
    pub(crate) unsafe fn see_messages(&self, source: MessageSource, parent: Option<Handle>) {
        let made_before = parent.into_iter().chain([self.library.comm_self]);
        self.guarded(|| {
            for comm in made_before {
                // SAFETY: the caller's promise.
                unsafe { self.partners.add(&self.library, comm) };
            }
            Ok(())
        });
        if let MessageSource::Tables(tables) = self.messages.get_or_init(|| source) {
            // SAFETY: the caller's promise.
            unsafe { tables.install() };
        }
        self.sees_messages.store(true, Ordering::Release);
    }

    /// Stops looking at messages.
    ///
    /// # Safety
    /// MPI has not ended.
    unsafe fn see_no_more_messages(&self) {
        self.sees_messages.store(false, Ordering::Release);
        if let Some(MessageSource::Tables(tables)) = self.messages.get() {
            // SAFETY: the caller's promise.
            unsafe { tables.remove() };
        }
    }

    /// Whether the messages of the library are looked at.
    fn sees_messages(&self) -> bool {
        self.sees_messages.load(Ordering::Acquire)
    }

    /// The endpoints by which the library sends, where that is how messages are seen.
    #[inline]
    fn endpoints(&self) -> Option<&Endpoints> {
        match self.messages.get() {
            Some(MessageSource::Tagged(endpoints)) => self.sees_messages().then_some(endpoints),
            _ => None,
        }
    }

    /// Whether all processes of this world are on this host.
    fn is_alone_on_host(&self) -> bool {
        self.is_alone_on_host
    }

    /// Takes part in the exchanges of stamps between hosts, from those of the start on.
    pub(crate) fn take_part(&self, start: &Start<'_>) {
        let world = self.find(self.library.comm_world);
        let mut exchanges = self.with_session(world, |session| Exchanges::begin(session, start));
        if let Some(lowest) = exchanges.take_lowest_of_hosts() {
            self.partners.know_hosts(lowest);
        }
        // Recording begins once, and so does this.
        let _ = self.exchanges.set(exchanges);
    }

    /// Hands out what the exchanges need; `world` is `MPI_COMM_WORLD`.
    fn with_session<T>(
        &self,
        world: Option<&CommunicatorEntry>,
        exchange: impl FnOnce(&Session<'_>) -> T,
    ) -> T {
        exchange(&Session {
            library: &self.library,
            clock: self.clock,
            define: &|definition| self.define(definition),
            meet_at: world.map(|world| &world.meet_at),
        })
    }

    /// Lets the leaders of the hosts meet behind a call on `MPI_COMM_WORLD` that has left.
    #[cold]
    fn meet(&self) {
        let world = self.find(self.library.comm_world);
        let (Some(exchanges), Some(world)) = (self.exchanges.get(), world) else {
            return;
        };
        self.among_others(|| {
            let position = world.last_position();
            self.with_session(Some(world), |session| exchanges.meet(session, position));
        });
    }

    /// Runs a path on which other processes are waited for: a thread is not cancelled on it, but
    /// signals are let through.
    fn among_others(&self, path: impl FnOnce()) {
        if is_forked() {
            return;
        }
        let _uncancelled = Uncancelled::begin();
        let ended = catch_unwind(AssertUnwindSafe(path));
        if ended.is_err() {
            self.stop(StopReason::Failed, "a defect of collbench (panic)");
        }
    }

    /// The communicator (or file, or window) that a handle now means.
    fn find(&self, handle: Handle) -> Option<&'static CommunicatorEntry> {
        let _at_work = Local::of_this_thread().begin_work(self)?;
        self.communicators.find(handle)
    }

    /// The recorder of this process; `None` before `MPI_Init`, after `MPI_Finalize`, in a forked
    /// child, and where nothing is to be recorded.
    #[inline]
    #[must_use]
    pub fn active() -> Option<&'static Self> {
        let recorder = ACTIVE.load(Ordering::Acquire);
        // SAFETY: null, or a recorder that was leaked by `activate`.
        unsafe { recorder.as_ref() }
    }

    /// Stops wrappers from finding a recorder; what is under way still ends in order.
    pub(crate) fn deactivate() {
        ACTIVE.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// In a forked child: nothing is recorded from here on, and calls that were under way store
    /// nothing into the parent's file when they return. Does nothing that is not allowed there.
    pub(crate) fn leave_to_the_parent() {
        Self::deactivate();
        leave_to_the_parent();
    }

    /// The state of a thread that has ended, or a new one, for the calling thread.
    fn take_thread(&self) -> &'static Thread {
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

    /// Runs a cold path. Whatever goes wrong in it ends recording, and nothing else; so does a call
    /// of MPI that interrupts it.
    pub(crate) fn guarded<T>(&self, path: impl FnOnce() -> Result<T, GrowError>) -> Option<T> {
        let _at_work = Local::of_this_thread().begin_work(self)?;
        match catch_unwind(AssertUnwindSafe(path)) {
            Ok(Ok(value)) => {
                if ReservedMemory::was_used() {
                    self.stop(StopReason::Failed, "no memory is left");
                }
                Some(value)
            }
            Ok(Err(error)) => {
                self.stop(error.reason(), &error.to_string());
                None
            }
            Err(_) => {
                self.stop(StopReason::Failed, "a defect of collbench (panic)");
                None
            }
        }
    }

    fn stop(&self, reason: StopReason, why: &str) {
        /// How often the lock is tried: those who have it have it for some microseconds.
        const PATIENCE: u32 = 10_000;
        let _uncancelled = Uncancelled::begin();
        let is_first = self.file.note_stop(reason, why, self.clock.now());
        // All threads stop, with room left or not: what one of them loses, the positions of
        // calls on shared communicators lose too.
        if let Some(own) = Local::of_this_thread().thread.get() {
            own.cursor.stop();
        }
        for _ in 0..PATIENCE {
            // A handler of what an instruction of the recorder has caused may come here.
            let threads = match self.threads.try_lock() {
                Ok(threads) => threads,
                Err(TryLockError::Poisoned(threads)) => threads.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::thread::yield_now();
                    continue;
                }
            };
            for thread in threads.iter() {
                thread.cursor.stop();
            }
            break;
        }
        if is_first {
            say(
                self.rank,
                &format!("recording stopped, the program goes on: {why}"),
            );
        }
    }

    /// Appends a definition; a failure ends recording.
    pub(crate) fn define(&self, definition: &Definition) {
        self.guarded(|| self.write(definition));
    }

    /// Appends a definition, on a guarded path.
    pub(crate) fn write(&self, definition: &Definition) -> Result<(), GrowError> {
        let clock = self.clock;
        self.file
            .define(definition, || clock.now(), || clock.anchor())
    }

    /// As [`write`](Self::write), of a communicator.
    #[inline]
    fn write_communicator(&self, communicator: Communicator) -> Result<(), GrowError> {
        let clock = self.clock;
        self.file
            .define_communicator(communicator, || clock.now(), || clock.anchor())
    }

    /// Closes all chunks and the file, in order.
    fn finish(&self) {
        self.guarded(|| {
            let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            let mut n_records = 0;
            for thread in threads.iter() {
                let mut chunks = thread.chunks.lock().unwrap_or_else(PoisonError::into_inner);
                let last = thread.close_current(&mut chunks, false);
                n_records += chunks.before.n_records + last.n_records;
            }
            let end = self.clock.anchor();
            match threads[..] {
                [only] => {
                    let chunks = only.chunks.lock().unwrap_or_else(PoisonError::into_inner);
                    let last = chunks
                        .current
                        .as_ref()
                        .map(|chunk| (chunk, only.cursor.taken(Some(chunk)).bytes()));
                    self.file.finish(n_records, end, last);
                }
                // Another thread might still be leaving a wrapper: its chunk stays whole.
                _ => self.file.finish(n_records, end, None),
            }
            Ok(())
        });
    }

    /// A call as payload functions see it; `root` is the argument, where there is one.
    #[inline]
    fn view<'a>(
        &'a self,
        comm: &'a CommunicatorEntry,
        root: Option<usize>,
        large: bool,
    ) -> CallView<'a> {
        CallView {
            library: &self.library,
            comm,
            root: root.map_or(0, |root| root as i32),
            large,
        }
    }

    /// The root of a call as records have it, from the argument.
    #[inline]
    fn root_of(&self, root: i32) -> i32 {
        if root == self.library.root {
            ROOT_IS_ME
        } else if root == self.library.proc_null {
            ROOT_OTHER_OF_MY_GROUP
        } else {
            // With an ABI that is not known, what is below 0 is not known either.
            root.max(ROOT_NONE)
        }
    }
}

/// Whether the second word of a record is that of a call of the application that is counted.
fn is_call(word: u64) -> bool {
    let code = (word >> 48) as u16;
    let is_own = code >> 13 == RecordKind::Call as u16 && code & CODE_INTERNAL == 0;
    is_own && Operation::from_code(code & 0x3ff).is_some_and(Operation::is_counted)
}

/// A key whose destructor gives a thread's state back; `None` where the process has no more keys.
fn thread_exit_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is valid for writing; the destructor takes what `take_thread` sets.
    let code = unsafe { libc::pthread_key_create(&mut key, Some(give_thread_back)) };
    (code == 0).then_some(key)
}

/// Runs when a thread ends. Calls that it makes after this one (from other destructors) take
/// another state, and are given back in a further round of destructors.
unsafe extern "C" fn give_thread_back(thread: *mut libc::c_void) {
    LOCAL.with(|local| local.thread.set(None));
    let Some(recorder) = Recorder::active() else {
        return;
    };
    // SAFETY: `take_thread` set a leaked `Thread`.
    let thread = unsafe { &*thread.cast_const().cast::<Thread>() };
    recorder.guarded(|| {
        let mut idle = recorder.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(thread);
        Ok(())
    });
}

/// A call that the MPI library has returned from, and that is not committed yet.
struct Returned {
    slot: Slot,
    code: c_int,
    leave_ticks: u64,
}

impl Returned {
    /// Commits the record; gives the return code.
    #[inline]
    fn commit(self) -> c_int {
        self.slot.leave(self.code, self.leave_ticks);
        self.code
    }
}

impl Local {
    /// Stores what is known of a call, and makes it: `word` as from [`pack_call_word`].
    #[inline(always)]
    fn call(
        &self,
        recorder: &'static Recorder,
        slot: Slot,
        word: u64,
        communicator: u32,
        root: i32,
        real: impl FnOnce() -> c_int,
    ) -> Returned {
        let inside = Inside::enter(self);
        slot.write([word, u64::from(communicator) | u64::from(root as u32) << 32]);
        let mut enter_ticks = recorder.clock.now();
        if self.is_behind_long_gap(enter_ticks) {
            self.note_gap(recorder, inside.is_outermost());
            enter_ticks = recorder.clock.now();
        }
        slot.stamp(enter_ticks);
        let code = real();
        let leave_ticks = recorder.clock.now();
        self.pace_on(recorder, slot, leave_ticks, &inside);
        drop(inside);
        Returned {
            slot,
            code,
            leave_ticks,
        }
    }

    /// The flag of a call that begins now: whether it is the MPI library's own.
    #[inline]
    fn internal_flag(&self) -> u16 {
        if self.is_own_call() { 0 } else { CODE_INTERNAL }
    }

    /// Whether a call that begins now is the application's.
    #[inline]
    fn is_own_call(&self) -> bool {
        !self.is_inside() || self.is_called_back()
    }

    /// Whether a call that begins now, inside another one, is made by a function of the application
    /// that the MPI library calls back.
    #[cold]
    fn is_called_back(&self) -> bool {
        let is_own = is_program();
        if let (true, Some(thread)) = (is_own, self.thread.get()) {
            thread.has_nested_calls.store(true, Ordering::Relaxed);
        }
        is_own
    }
}

/// A call that is about to be made.
struct Prepared {
    slot: Slot,
    /// As from [`pack_call_word`].
    word: u64,
    /// Index of its communicator.
    communicator: u32,
    root: i32,
    /// Its position on the communicator; `None` for calls of the MPI library itself, and on a
    /// communicator that is not known.
    position: Option<u64>,
    /// Whether the leaders of the hosts meet behind it.
    is_meeting: bool,
}

impl Local {
    /// All that is to be done before a collective call on `entry`; `None`: the handle is not known.
    #[inline(always)]
    fn prepare(
        &self,
        recorder: &'static Recorder,
        operation: Operation,
        entry: Option<&'static CommunicatorEntry>,
        root: Option<usize>,
        large: bool,
        payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    ) -> Prepared {
        let mut flags = self.internal_flag();
        // The slot first: the table of a chunk that is opened for it must not count this call.
        let slot = self.take_slot(recorder);
        let mut own_position = None;
        let mut is_meeting = false;
        let (communicator, bytes) = match entry {
            Some(entry) => {
                let position = entry.take_position(flags != 0);
                own_position = (flags == 0).then_some(position);
                let bytes = payload(recorder.view(entry, root, large));
                if synchronizes(operation) && entry.meet_at.is_at(position) {
                    is_meeting = flags == 0 && carries_something(operation, bytes);
                }
                (entry.index, bytes)
            }
            None => (UNKNOWN_COMMUNICATOR, None),
        };
        if bytes.is_none() {
            flags |= CODE_PAYLOAD_UNKNOWN;
        }
        Prepared {
            slot,
            word: pack_call_word(operation, flags, bytes.unwrap_or(0)),
            communicator,
            root: root.map_or(ROOT_NONE, |root| recorder.root_of(root as i32)),
            position: own_position,
            is_meeting,
        }
    }
}

#[inline(always)]
fn record(
    operation: Operation,
    comm: Handle,
    root: Option<usize>,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    let Prepared {
        slot,
        word,
        communicator,
        root,
        is_meeting,
        ..
    } = local.prepare(
        recorder,
        operation,
        local.communicator(recorder, comm),
        root,
        large,
        payload,
    );
    let code = local
        .call(recorder, slot, word, communicator, root, real)
        .commit();
    if synchronizes(operation) && is_meeting {
        recorder.meet();
    }
    code
}

/// Makes a collective call without a root, and records it.
///
/// `comm` is the communicator argument, `large` whether counts are 64-bit, `payload` reads the
/// bytes from the arguments, `real` calls the MPI library.
#[inline(always)]
pub fn recorded_call(
    operation: Operation,
    comm: usize,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    record(operation, comm, None, large, payload, real)
}

/// Makes a collective call with a root, and records it; as [`recorded_call`].
#[inline(always)]
pub fn rooted_call(
    operation: Operation,
    comm: usize,
    root: usize,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    record(operation, comm, Some(root), large, payload, real)
}

/// Makes a call that makes a communicator, records it, and registers what was made.
///
/// `place` is the address where the MPI library puts the new handle, `request` that of the request
/// of a nonblocking constructor.
pub fn constructor_call(
    operation: Operation,
    how: HowMade,
    comm: usize,
    tag: i32,
    place: usize,
    request: Option<usize>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    let flags = local.internal_flag();
    let slot = local.take_slot(recorder);
    let parent = local.communicator(recorder, comm);
    // Calls of the library itself have an order of their own on the parent.
    let position = match parent {
        Some(parent) if operation.semantics().is_matched() => {
            parent.take_position(flags != 0) | u64::from(flags != 0) << 63
        }
        _ => 0,
    };
    let word = pack_call_word(operation, flags, 0);
    let index = parent.map_or(UNKNOWN_COMMUNICATOR, |parent| parent.index);
    let maker = if flags == 0 && operation.semantics().is_matched() {
        Maker {
            communicator: index,
            position,
        }
    } else {
        Maker::UNKNOWN
    };
    let making = local.making.begin(maker);
    let returned = local.call(recorder, slot, word, index, ROOT_NONE, real);
    drop(making);
    if let (0, 0, Some(request)) = (returned.code, flags, request) {
        // SAFETY: the call succeeded, so there is a request at this address.
        let handle = unsafe { recorder.library.handle_at(request, 0) };
        let place = (index, position);
        if !slot.is_null() && parent.is_some() {
            let stamp = returned.leave_ticks;
            local.follow(recorder, handle, place, KeptArrays::default(), stamp);
        }
    }
    // Once recording has stopped, nothing more is to be known of communicators.
    if let (0, false, Some(parent)) = (returned.code, slot.is_null(), parent) {
        // SAFETY: the call succeeded, so a handle is there, perhaps that of no communicator.
        let made = unsafe { recorder.library.handle_at(place, 0) };
        if made != recorder.library.comm_null && made != 0 {
            let call = ConstructorCall {
                operation,
                how,
                parent,
                position,
                tag,
                made,
            };
            recorder.guarded(|| {
                // SAFETY: a valid communicator, of a call that has just succeeded.
                let (entry, definition) =
                    unsafe { recorder.communicators.add_made(&recorder.library, call) };
                local.remember(recorder, made, entry);
                if recorder.endpoints().is_some() {
                    // SAFETY: as above; of a copy the parent is asked, since it may not be there yet.
                    unsafe {
                        recorder
                            .partners
                            .add_made(&recorder.library, made, comm, how)
                    };
                }
                let index = definition.index;
                recorder.write_communicator(definition)?;
                if let Some(neighbours) = &entry.neighbours {
                    recorder.write(&Definition::Topology(neighbours.of_communicator(index)))?;
                }
                returned.slot.made(index);
                Ok(())
            });
        }
    }
    returned.commit()
}

/// Makes a call that makes a communicator over groups alone, and records it as on
/// `MPI_COMM_WORLD`; as [`constructor_call`]. `tag` is the address of the text that tells
/// communicators over the same groups apart, or 0.
///
/// # Safety
/// At `tag` there is a C string.
pub unsafe fn group_constructor_call(
    operation: Operation,
    tag: usize,
    place: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let tag = match tag {
        0 => 0,
        // SAFETY: the caller's promise.
        tag => hash_of_text(unsafe { CStr::from_ptr(tag as *const c_char) }.to_bytes()),
    };
    let world = recorder.library.comm_world;
    constructor_call(
        operation,
        HowMade::OverGroups,
        world,
        tag,
        place,
        None,
        real,
    )
}

/// Makes a call that gives a communicator back, records it, and forgets the handle.
///
/// `place` is the address of the handle.
pub fn free_call(operation: Operation, place: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    if place == 0 {
        return real();
    }
    // SAFETY: MPI wants the address of a communicator handle here, and it is not null.
    let handle = unsafe { recorder.library.handle_at(place, 0) };
    let handle = recorder.library.handle(handle);
    Local::of_this_thread().give_back(recorder, operation, handle, real)
}

impl Local {
    /// Makes a call that gives back what has this handle (or key of a file or window), and records
    /// it as the last on that.
    fn give_back(
        &self,
        recorder: &'static Recorder,
        operation: Operation,
        handle: Handle,
        real: impl FnOnce() -> c_int,
    ) -> c_int {
        let flags = self.internal_flag();
        let entry = self.entry(recorder, handle);
        // First: the table of a chunk that is opened for it must have this communicator.
        let slot = self.take_slot(recorder);
        // Before the call: as soon as the library has freed it, another thread may be given the
        // same handle for a new one.
        if entry.is_some() {
            recorder.guarded(|| {
                self.forget(recorder, handle);
                if recorder.endpoints().is_some() {
                    recorder.partners.forget(handle);
                    recorder.contexts.forget(handle);
                }
                Ok(())
            });
        }
        if let Some(entry) = entry {
            entry.take_position(flags != 0);
        }
        let word = pack_call_word(operation, flags, 0);
        let index = entry.map_or(UNKNOWN_COMMUNICATOR, |entry| entry.index);
        let returned = self.call(recorder, slot, word, index, ROOT_NONE, real);
        if let (true, Some(entry)) = (returned.code != 0, entry) {
            recorder.guarded(|| {
                recorder.communicators.remember(handle, entry);
                Ok(())
            });
        }
        returned.commit()
    }
}

/// Makes a call that is not recorded, but below which the MPI library's calls are its own.
pub fn guarded_call(real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    // What has been left by a jump is put in order.
    local.is_inside();
    let _inside = Inside::enter(local);
    real()
}

/// Whether a wrapped call is under way in this thread.
#[must_use]
pub fn is_inside_a_call() -> bool {
    LOCAL.with(Local::has_entered)
}

/// How many of `MPI_Init` and `MPI_Session_init` were called, and not yet ended.
static N_BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Makes a call that begins MPI; `begun` is called after its success if the call was the
/// application's, with what `before` gave.
pub fn begin_call<T>(
    before: impl FnOnce() -> T,
    real: impl FnOnce() -> c_int,
    begun: impl FnOnce(T),
) -> c_int {
    if Local::of_this_thread().is_inside() {
        return real();
    }
    let before = before();
    let code = guarded_call(real);
    if code == 0 {
        N_BEGUN.fetch_add(1, Ordering::AcqRel);
        begun(before);
    }
    code
}

/// Makes the call of `MPI_Finalize` or `MPI_Session_finalize`; the last of them in a process is
/// recorded, and ends recording in order.
pub fn end_call(operation: Operation, real: impl FnOnce() -> c_int) -> c_int {
    let recorder = match Recorder::active() {
        Some(recorder) if !Local::of_this_thread().is_inside() => recorder,
        _ => return real(),
    };
    let exchanges = recorder.exchanges.get();
    let real = move || {
        if let (Operation::Finalize, Some(exchanges)) = (operation, exchanges) {
            recorder.among_others(|| recorder.with_session(None, |session| exchanges.end(session)));
        }
        real()
    };
    if N_BEGUN.fetch_sub(1, Ordering::AcqRel) > 1 {
        return guarded_call(real);
    }
    recorder.library.release();
    // SAFETY: MPI has not ended.
    unsafe { recorder.see_no_more_messages() };
    let code = last_call(recorder, operation, real);
    Recorder::deactivate();
    let _uncancelled = Uncancelled::begin();
    recorder.finish();
    if let Some(exchanges) = exchanges.filter(|_| !is_forked()) {
        exchanges.clean_up();
    }
    code
}

/// Makes the call of `MPI_Abort`, which does not come back: it stays the last one, under way.
///
/// Signal handlers call it. Where that interrupts the recorder itself, nothing is waited for, and the
/// call recorded only if the chunk has room.
pub fn abort_call(real: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    if local.is_at_work.get() {
        let slot = local.next_slot().unwrap_or(Slot::NONE);
        let word = pack_call_word(Operation::Abort, 0, 0);
        let returned = local.call(recorder, slot, word, 0, ROOT_NONE, real);
        returned.commit()
    } else {
        last_call(recorder, Operation::Abort, real)
    }
}

fn last_call(
    recorder: &'static Recorder,
    operation: Operation,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let word = pack_call_word(operation, 0, 0);
    LOCAL.with(|local| {
        let slot = local.take_slot(recorder);
        local
            .call(recorder, slot, word, 0, ROOT_NONE, real)
            .commit()
    })
}

/// Makes the call of `MPI_Pcontrol`, and records it as the mark of a phase.
pub fn phase_call(level: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    let slot = local.take_slot(recorder);
    let inside = Inside::enter(local);
    recorder.phase.begin(level as i32);
    slot.write(phase_words(level as i32));
    slot.stamp(recorder.clock.now());
    let code = real();
    slot.leave(code, recorder.clock.now());
    drop(inside);
    code
}

/// Records the call of `MPI_Init` that has just ended, and in which recording began.
pub(crate) fn record_init(recorder: &'static Recorder, operation: Operation, enter: u64) {
    LOCAL.with(|local| {
        let slot = local.take_slot(recorder);
        if slot.is_null() {
            return;
        }
        slot.write([
            pack_call_word(operation, 0, 0),
            u64::from(ROOT_NONE as u32) << 32,
        ]);
        slot.stamp(enter);
        slot.leave(0, recorder.clock.now());
    });
}

/// Notes the name that the application gives a communicator.
///
/// # Safety
/// `name` is a C string or null.
pub unsafe fn name_communicator(comm: usize, name: usize) {
    let Some(recorder) = Recorder::active() else {
        return;
    };
    let local = Local::of_this_thread();
    let Some(entry) = local.communicator(recorder, comm) else {
        return;
    };
    if name == 0 || recorder.file.is_stopped() || !local.is_own_call() {
        return;
    }
    // SAFETY: the caller's promise, and not null.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    recorder.guarded(|| {
        // MPI_MAX_OBJECT_NAME is 64 or 128; a longer name would be the library's to refuse.
        let bytes = &name.to_bytes()[..name.count_bytes().min(256)];
        let name = String::from_utf8_lossy(bytes).into_owned();
        recorder.write(&Definition::CommunicatorName {
            index: entry.index,
            name,
        })
    });
}

//! The recorder of a process: the data that its threads share, and the paths on which it changes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};

use collbench_formats::{Communicator, Definition, StopReason};

use super::algorithms::Algorithms;
use super::creations::Creations;
use super::local::Local;
use super::persistent::Persistent;
use super::requests::Requests;
use super::running::Thresholds;
use super::sequences::Phase;
use super::thread::{Thread, thread_exit_key};
use crate::communicators::{CommunicatorEntry, Communicators};
use crate::exchange::{Exchanges, Session, Start};
use crate::file::{GrowError, RankFile, disown_in_child, is_forked};
use crate::host::Clock;
use crate::messages::{Contexts, Endpoints, MessageSource, Partners};
use crate::mpi::{Handle, MpiLibrary, own_object};
use crate::process::{ReservedMemory, Uncancelled, say};
use crate::settings::Layers;
use crate::sites::{CallSites, SiteRegistry};

const _: () = assert!(
    cfg!(target_pointer_width = "64"),
    "handles and counts are 64-bit words"
);

/// The recorder of this process, while it records.
static ACTIVE: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());

/// The state of recording, from `MPI_Init` on. Never freed.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) clock: Clock,
    pub(crate) library: MpiLibrary,
    pub(crate) file: RankFile,
    pub(crate) communicators: Communicators,
    pub(crate) rank: u32,
    /// Outstanding collectives, by request.
    pub(super) requests: Requests,
    /// What is recorded besides calls on communicators.
    pub(super) layers: Layers,
    /// Persistent collectives, by request.
    pub(super) persistents: Requests,
    pub(super) n_persistents: AtomicU32,
    /// Persistent collectives that were not freed.
    pub(super) living: Mutex<LivingPersistents>,
    pub(super) phase: Phase,
    /// What counts as a long call or gap, if threads are sampled.
    pub(super) thresholds: Option<Thresholds>,
    /// How far apart polls in a row may be.
    pub(super) poll_ticks: u64,
    pub(super) algorithms: Algorithms,
    /// From where calls are made, if that is recorded.
    pub(super) sites: Option<SiteRegistry>,
    /// Number of spanning trees of our own that were defined.
    pub(super) n_trees: AtomicU32,
    pub(crate) partners: Partners,
    /// Communicators of the contexts of messages, where tags have contexts.
    pub(crate) contexts: Contexts,
    /// For which calls the library sends messages while it creates communicators.
    pub(super) creations: Creations,
    /// How the messages of the library are seen, if they are recorded.
    pub(super) messages: OnceLock<MessageSource>,
    /// Whether they are still recorded.
    pub(super) records_messages: AtomicBool,
    pub(super) is_alone_on_host: bool,
    pub(super) threads: Mutex<Vec<&'static Thread>>,
    /// States in `threads` whose thread has ended. The next new thread continues with one of them,
    /// so that a program with many short threads needs no chunk for each.
    pub(super) idle: Mutex<Vec<&'static Thread>>,
    /// The exchanges of stamps with other hosts, once those of the start are done.
    pub(super) exchanges: OnceLock<Exchanges>,
    /// The key by which the C library reports the end of a thread.
    pub(super) at_thread_exit: Option<libc::pthread_key_t>,
}

/// In the order in which they were initialized.
pub(super) type LivingPersistents = Vec<&'static Persistent>;

impl Recorder {
    /// `is_alone_on_host`: all processes of this world are on this host, according to the launcher;
    /// `thresholds`: what counts as a long call or gap, and as polls in a row.
    pub(crate) fn new(
        clock: Clock,
        library: MpiLibrary,
        file: RankFile,
        rank: u32,
        is_alone_on_host: bool,
        layers: Layers,
        thresholds: Thresholds,
    ) -> Self {
        let is_serialized = !library.is_multithreaded();
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
            thresholds: layers.switches.then_some(thresholds),
            poll_ticks: thresholds.poll_ticks,
            algorithms: Algorithms::default(),
            sites: None,
            n_trees: AtomicU32::new(0),
            partners: Partners::default(),
            contexts: Contexts::default(),
            messages: OnceLock::new(),
            creations: Creations::default(),
            records_messages: AtomicBool::new(false),
            is_alone_on_host,
            threads: Mutex::new(Vec::new()),
            idle: Mutex::new(Vec::new()),
            exchanges: OnceLock::new(),
            at_thread_exit: thread_exit_key(),
        }
    }

    /// With what finds out from where calls are made, if that is to be recorded.
    pub(crate) fn with_sites(self, sites: Option<CallSites>) -> Self {
        Self {
            sites: sites.map(SiteRegistry::new),
            ..self
        }
    }

    /// Starts to record: from here on wrappers find this recorder.
    pub(crate) fn activate(self) -> &'static Self {
        // Found here for later use, since nothing can have been interrupted here.
        let _ = own_object();
        let recorder = Box::leak(Box::new(self));
        ACTIVE.store(recorder, Ordering::Release);
        recorder
    }

    /// Starts to record the messages of the library.
    ///
    /// # Safety
    /// No other thread is inside the library; `parent` is a valid communicator.
    pub(crate) unsafe fn record_messages(&self, source: MessageSource, parent: Option<Handle>) {
        let made_before = parent.into_iter().chain([self.library.comm_self]);
        self.guarded(|| {
            for comm in made_before {
                // SAFETY: the caller promises that `parent` is a valid communicator; the others are
                // predefined.
                unsafe { self.partners.add(&self.library, comm) };
            }
            Ok(())
        });
        if let MessageSource::Tables(tables) = self.messages.get_or_init(|| source) {
            // SAFETY: the caller promises that no other thread is inside the library.
            unsafe { tables.install() };
        }
        self.records_messages.store(true, Ordering::Release);
    }

    /// Stops recording messages.
    ///
    /// # Safety
    /// MPI has not ended.
    pub(super) unsafe fn stop_recording_messages(&self) {
        self.records_messages.store(false, Ordering::Release);
        if let Some(MessageSource::Tables(tables)) = self.messages.get() {
            // SAFETY: the caller promises that MPI has not ended, so the library is still loaded.
            unsafe { tables.remove() };
        }
    }

    /// Whether the messages of the library are recorded.
    pub(crate) fn records_messages(&self) -> bool {
        self.records_messages.load(Ordering::Acquire)
    }

    /// The endpoints by which the library sends, if that is how its messages are seen.
    #[inline]
    pub(crate) fn endpoints(&self) -> Option<&Endpoints> {
        match self.messages.get() {
            Some(MessageSource::Tagged(endpoints)) => self.records_messages().then_some(endpoints),
            _ => None,
        }
    }

    /// Whether there may be an outstanding collective that has a request.
    pub(crate) fn may_have_requests(&self) -> bool {
        self.requests.may_have_any()
    }

    /// Whether all processes of this world are on this host.
    pub(crate) fn is_alone_on_host(&self) -> bool {
        self.is_alone_on_host
    }

    /// Takes part in the exchanges of stamps between hosts; makes those of the start.
    pub(crate) fn take_part(&self, start: &Start<'_>) {
        let world = self.find(self.library.comm_world);
        let mut exchanges = self.with_session(world, |session| Exchanges::begin(session, start));
        if let Some(lowest) = exchanges.take_lowest_of_hosts() {
            self.partners.know_hosts(lowest);
        }
        // Recording starts once, and so does this.
        let _ = self.exchanges.set(exchanges);
    }

    /// Calls `exchange` with what the exchanges need; `world` is `MPI_COMM_WORLD`.
    pub(super) fn with_session<T>(
        &self,
        world: Option<&CommunicatorEntry>,
        exchange: impl FnOnce(&Session<'_>) -> T,
    ) -> T {
        exchange(&Session {
            library: &self.library,
            clock: self.clock,
            define: &|definition| self.define(definition),
            measuring_point: world.map(|world| &world.measuring_point),
        })
    }

    /// Exchanges stamps between the leaders of the hosts, after a call on `MPI_COMM_WORLD` has
    /// left.
    #[cold]
    pub(super) fn measure_in_run(&self) {
        let world = self.find(self.library.comm_world);
        let (Some(exchanges), Some(world)) = (self.exchanges.get(), world) else {
            return;
        };
        self.with_other_processes(|| {
            let position = world.last_position();
            self.with_session(Some(world), |session| {
                exchanges.measure_in_run(session, position)
            });
        });
    }

    /// Runs a path on which the process waits for others: the thread is not cancelled on it, but
    /// signals are not blocked.
    pub(super) fn with_other_processes(&self, path: impl FnOnce()) {
        if is_forked() {
            return;
        }
        let _uncancelled = Uncancelled::begin();
        let ended = catch_unwind(AssertUnwindSafe(path));
        if ended.is_err() {
            self.stop(StopReason::Failed, "internal error of collbench (panic)");
        }
    }

    /// The communicator (or file, or window) that a handle denotes now.
    pub(super) fn find(&self, handle: Handle) -> Option<&'static CommunicatorEntry> {
        let _at_work = Local::of_this_thread().begin_cold_path(self)?;
        self.communicators.find(handle)
    }

    /// The recorder of this process; `None` before `MPI_Init`, after `MPI_Finalize`, in a forked
    /// child, and if nothing is to be recorded.
    #[inline]
    #[must_use]
    pub(crate) fn active() -> Option<&'static Self> {
        let recorder = ACTIVE.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or that of a recorder that `activate` has leaked.
        unsafe { recorder.as_ref() }
    }

    /// Makes [`active`](Self::active) return `None`; calls that are under way still end in order.
    pub(crate) fn deactivate() {
        ACTIVE.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// In a forked child: nothing is recorded from here on, and calls that were under way do not
    /// store into the parent's file when they return. It only does what is allowed in a child after
    /// a fork.
    pub(crate) fn disown_in_child() {
        Self::deactivate();
        disown_in_child();
    }

    /// Runs a cold path. An error in it ends recording, and nothing else; so does a call of MPI
    /// that interrupts it.
    #[inline]
    pub(crate) fn guarded<T>(&self, path: impl FnOnce() -> Result<T, GrowError>) -> Option<T> {
        let _at_work = Local::of_this_thread().begin_cold_path(self)?;
        match catch_unwind(AssertUnwindSafe(path)) {
            Ok(Ok(value)) => {
                if ReservedMemory::was_used() {
                    self.stop(StopReason::Failed, "out of memory");
                }
                Some(value)
            }
            Ok(Err(error)) => {
                self.stop(error.reason(), &error.to_string());
                None
            }
            Err(_) => {
                self.stop(StopReason::Failed, "internal error of collbench (panic)");
                None
            }
        }
    }

    pub(super) fn stop(&self, reason: StopReason, why: &str) {
        /// How often the lock is tried: it is only held for some microseconds.
        const MAX_TRIES: u32 = 10_000;
        let _uncancelled = Uncancelled::begin();
        let is_first = self.file.note_stop(reason, why, self.clock.now());
        // All threads stop, even if their chunks have free slots: a call that one of them cannot
        // record would be missing in the positions of calls on shared communicators.
        if let Some(own) = Local::of_this_thread().thread.get() {
            own.cursor.stop();
        }
        for _ in 0..MAX_TRIES {
            // A handler of a signal that an instruction of the recorder has raised may get here.
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
                &format!("recording stopped, the program continues: {why}"),
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

    /// Appends the definition of a communicator, on a guarded path, without allocation.
    #[inline]
    pub(super) fn write_communicator(&self, communicator: Communicator) -> Result<(), GrowError> {
        let clock = self.clock;
        self.file
            .define_communicator(communicator, || clock.now(), || clock.anchor())
    }

    /// Closes all chunks and the file in order.
    pub(super) fn finish(&self) {
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
                // Another thread might still be leaving a wrapper: its chunk is not cut.
                _ => self.file.finish(n_records, end, None),
            }
            Ok(())
        });
    }
}

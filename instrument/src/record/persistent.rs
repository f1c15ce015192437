//! Persistent collectives: `MPI_X_init` makes a definition; `MPI_Start` and `MPI_Startall` make
//! call records.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use collbench_formats::{
    Definition, Initiation, Operation, PersistentCollective, PersistentStart, ROOT_NONE,
    SequenceEntry,
};

use super::initiation::RequestCall;
use super::local::Local;
use super::nesting::CallScope;
use super::recorder::Recorder;
use super::requests::Tracked;
use crate::args::{CallView, Initiated, RetainedArrays};
use crate::communicators::CommunicatorEntry;
use crate::file::Slot;

/// A persistent collective of this process; never freed, since starts of it may be outstanding.
#[derive(Debug)]
pub(crate) struct Persistent {
    /// Index of its definition.
    index: u32,
    /// Index of its communicator.
    communicator: u32,
    operation: Operation,
    n_starts: AtomicU64,
}

impl Persistent {
    /// Its entry in a sequence table: how many times it was started.
    pub(super) fn sequence(&self) -> SequenceEntry {
        SequenceEntry::of_persistent(self.index, self.n_starts.load(Ordering::Relaxed))
    }
}

/// Makes the call of an `MPI_X_init`, and defines the persistent collective; the arguments are
/// those of [`nonblocking_call`](super::nonblocking_call).
pub fn persistent_call(
    call: RequestCall,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> Initiated,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real().code_leaking_arrays();
    };
    let local = Local::of_this_thread();
    let entry = if !recorder.file.is_stopped() && local.is_own_call() {
        local.communicator(recorder, call.on)
    } else {
        None
    };
    let Some(entry) = entry else {
        let _inside = CallScope::enter(local);
        return real().code_leaking_arrays();
    };
    let payload_bytes = payload(recorder.view(entry, call.root, call.large));
    let inside = CallScope::enter(local);
    let initiated = real();
    drop(inside);
    if initiated.code != 0 {
        return initiated.code;
    }
    // SAFETY: the call has succeeded.
    unsafe {
        register(
            local,
            recorder,
            entry,
            call,
            payload_bytes,
            initiated.retained,
        )
    };
    initiated.code
}

/// Adds a persistent collective that was initialized on `entry`.
///
/// # Safety
/// The call has succeeded with these arguments.
unsafe fn register(
    local: &Local,
    recorder: &Recorder,
    entry: &CommunicatorEntry,
    call: RequestCall,
    payload_bytes: Option<u64>,
    retained: RetainedArrays,
) {
    recorder.guarded(|| {
        let persistent: &'static Persistent = Box::leak(Box::new(Persistent {
            index: recorder.n_persistents.fetch_add(1, Ordering::Relaxed),
            communicator: entry.index,
            operation: call.operation,
            n_starts: AtomicU64::new(0),
        }));
        recorder.write(&Definition::PersistentCollective(PersistentCollective {
            index: persistent.index,
            communicator: entry.index,
            position: entry.take_persistent_position(),
            operation: call.operation.code(),
            root: call
                .root
                .map_or(ROOT_NONE, |root| recorder.root_of(root as i32)),
            payload_bytes,
        }))?;
        recorder.living_persistents().push(persistent);
        let tracked = Tracked {
            persistent: Some(persistent),
            retained,
            ..Tracked::default()
        };
        // SAFETY: the caller promises that the call has succeeded.
        let handle = unsafe { call.handle(recorder) };
        recorder
            .persistents
            .add(handle, local.key(), recorder.clock.now(), tracked);
        Ok(())
    });
}

/// A start that is about to be made.
struct Start {
    handle: usize,
    persistent: &'static Persistent,
    number: u64,
    slot: Slot,
}

/// Makes the call of `MPI_Start`, and records it if it starts a collective.
pub fn start_call(request: usize, real: impl FnOnce() -> c_int) -> c_int {
    startall_call(1, request, real)
}

/// Makes the call of `MPI_Startall`, and records the collectives that it starts.
pub fn startall_call(count: usize, requests: usize, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let n = (count as i32).max(0) as usize;
    let recorder = match Recorder::active() {
        Some(recorder)
            if recorder.persistents.may_have_any() && requests != 0 && local.is_own_call() =>
        {
            recorder
        }
        _ => return real(),
    };
    let find = |at| {
        // SAFETY: MPI requires an array of `n` requests here.
        let handle = unsafe { recorder.library.handle_at(requests, at) };
        let taken = recorder.persistents.take(handle, local.key())?;
        let persistent = taken.tracked().persistent;
        recorder.persistents.put_back(taken);
        Some((handle, persistent?))
    };
    if n == 1 {
        let Some(found) = find(0) else { return real() };
        return start(recorder, local, [found], real);
    }
    let found: Vec<_> = (0..n).filter_map(find).collect();
    if found.is_empty() {
        real()
    } else {
        start(recorder, local, found, real)
    }
}

fn start(
    recorder: &'static Recorder,
    local: &Local,
    found: impl AsRef<[(usize, &'static Persistent)]>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let found = found.as_ref();
    let inside = CallScope::enter(local);
    let prepare = |&(handle, persistent): &(usize, &'static Persistent)| {
        let slot = local.take_slot(recorder);
        if slot.is_null() {
            recorder.file.count_unrecorded();
        }
        let start = PersistentStart {
            definition: persistent.index,
            n_together: found.len() as u32,
        };
        slot.write(start.words(persistent.operation, persistent.communicator));
        Start {
            handle,
            persistent,
            // MPI requires the application to order the starts of one request.
            number: persistent.n_starts.fetch_add(1, Ordering::Relaxed),
            slot,
        }
    };
    let run = |starts: &[Start]| {
        let enter = recorder.clock.now();
        for start in starts {
            start.slot.stamp(enter);
        }
        let code = real();
        let leave = recorder.clock.now();
        drop(inside);
        for start in starts {
            start.slot.leave(code, leave);
            if code == 0 && !start.slot.is_null() {
                let tracked = Tracked {
                    of: Some(Initiation::Persistent {
                        definition: start.persistent.index,
                        start: start.number,
                    }),
                    ..Tracked::default()
                };
                recorder
                    .requests
                    .add(start.handle, local.key(), leave, tracked);
            }
        }
        code
    };
    match found {
        [one] => run(&[prepare(one)]),
        many => run(&many.iter().map(prepare).collect::<Vec<_>>()),
    }
}

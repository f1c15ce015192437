//! A call: the work before it, the call itself between its two stamps, and the work after it.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use collbench_formats::{
    CODE_INTERNAL, CODE_PAYLOAD_UNKNOWN, CommunicatorWord, Operation, ROOT_IS_ME, ROOT_NONE,
    ROOT_OTHER_OF_MY_GROUP, RecordWord, UNKNOWN_COMMUNICATOR,
};

use super::local::{LOCAL, Local};
use super::nesting::CallScope;
use super::recorder::Recorder;
use crate::args::CallView;
use crate::communicators::CommunicatorEntry;
use crate::exchange::{carries_data, synchronizes};
use crate::file::Slot;
use crate::mpi::{Handle, is_program};

/// A call that has returned from the MPI library, and whose leave is not stored yet.
pub(super) struct Returned {
    pub(super) slot: Slot,
    pub(super) code: c_int,
    pub(super) leave_ticks: u64,
}

impl Returned {
    /// Stores the leave; returns the return code.
    #[inline]
    pub(super) fn commit(self) -> c_int {
        self.slot.leave(self.code, self.leave_ticks);
        self.code
    }
}

impl Local {
    /// Stores the record of a call but for its leave, and makes the call; `word` has the bits of a
    /// [`RecordWord::call`].
    #[inline(always)]
    pub(super) fn call(
        &self,
        recorder: &'static Recorder,
        slot: Slot,
        word: u64,
        communicator: u32,
        root: i32,
        real: impl FnOnce() -> c_int,
    ) -> Returned {
        let inside = CallScope::enter(self);
        slot.write([word, CommunicatorWord::new(communicator, root).bits()]);
        let mut enter_ticks = recorder.clock.now();
        if self.follows_long_gap(enter_ticks) {
            self.note_gap(recorder, inside.is_outermost());
            enter_ticks = recorder.clock.now();
        }
        slot.stamp(enter_ticks);
        let code = real();
        let leave_ticks = recorder.clock.now();
        self.watch_gap_after(recorder, slot, leave_ticks, &inside);
        drop(inside);
        Returned {
            slot,
            code,
            leave_ticks,
        }
    }

    /// The flag of a call that is entered now: [`CODE_INTERNAL`](collbench_formats::CODE_INTERNAL),
    /// or 0 if the application makes it.
    #[inline]
    pub(super) fn internal_flag(&self) -> u16 {
        if self.is_own_call() { 0 } else { CODE_INTERNAL }
    }

    /// Whether a call that is entered now is the application's.
    #[inline]
    pub(super) fn is_own_call(&self) -> bool {
        !self.is_inside() || self.is_called_back()
    }

    /// Whether a call that is entered now, inside another one, is made by a function of the
    /// application that the MPI library calls back.
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
pub(super) struct Prepared {
    pub(super) slot: Slot,
    /// The bits of a [`RecordWord::call`].
    pub(super) word: u64,
    /// Index of its communicator.
    pub(super) communicator: u32,
    pub(super) root: i32,
    /// Its position on the communicator; `None` for internal calls of the MPI library, and if the
    /// communicator is not known.
    pub(super) position: Option<u64>,
    /// Whether it is a measuring point, after which the leaders of the hosts exchange stamps.
    pub(super) is_measuring_point: bool,
}

impl Local {
    /// Does all work before a collective call on `entry`; `None` if the handle is not known.
    #[inline(always)]
    pub(super) fn prepare(
        &self,
        recorder: &'static Recorder,
        operation: Operation,
        entry: Option<&'static CommunicatorEntry>,
        root: Option<usize>,
        large: bool,
        payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    ) -> Prepared {
        let mut flags = self.internal_flag();
        // The slot must be taken first: the table of a chunk that is opened for it must not count
        // this call.
        let slot = self.take_slot_of_call(recorder, flags != 0);
        let mut own_position = None;
        let mut is_measuring_point = false;
        let (communicator, bytes) = match entry {
            Some(entry) => {
                let position = entry.take_position(flags != 0);
                own_position = (flags == 0).then_some(position);
                let bytes = payload(recorder.view(entry, root, large));
                if synchronizes(operation) && entry.measuring_point.is_at(position) {
                    is_measuring_point = flags == 0 && carries_data(operation, bytes);
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
            word: RecordWord::call(operation, flags, bytes.unwrap_or(0)).bits(),
            communicator,
            root: root.map_or(ROOT_NONE, |root| recorder.root_of(root as i32)),
            position: own_position,
            is_measuring_point,
        }
    }
}

impl Local {
    /// Stores the record of a call that the program itself executes, but for its leave.
    pub(super) fn begin_own_call(&self, recorder: &Recorder, call: &Prepared) {
        let communicator = CommunicatorWord::new(call.communicator, call.root);
        call.slot.write([call.word, communicator.bits()]);
        self.own_call.set(call.slot);
        call.slot.stamp(recorder.clock.now());
    }

    /// Stores its leave.
    pub(super) fn end_own_call(&self, recorder: &Recorder) {
        let leave_ticks = recorder.clock.now();
        self.own_call.replace(Slot::NONE).leave(0, leave_ticks);
    }
}

impl Recorder {
    /// A call as payload functions need it; `root` is the argument, if there is one.
    #[inline]
    pub(super) fn view<'a>(
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

    /// The root of a call in its record, from the argument.
    #[inline]
    pub(super) fn root_of(&self, root: i32) -> i32 {
        if root == self.library.root {
            ROOT_IS_ME
        } else if root == self.library.proc_null {
            ROOT_OTHER_OF_MY_GROUP
        } else {
            // If the ABI is not known, the meaning of negative values is not known either.
            root.max(ROOT_NONE)
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
        is_measuring_point,
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
    if synchronizes(operation) && is_measuring_point {
        recorder.measure_in_run();
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

/// Makes a collective call with a root, and records it; `root` is the root argument, and the other
/// arguments are those of [`recorded_call`].
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

/// Whether a wrapped call is under way in this thread.
#[must_use]
pub fn is_inside_a_call() -> bool {
    LOCAL.with(Local::has_entered)
}

//! Begin and end of MPI, and phases in between.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use collbench_formats::{CommunicatorWord, Operation, ROOT_NONE, RecordWord, phase_words};

use super::local::{LOCAL, Local};
use super::nesting::{CallScope, guarded_call};
use super::recorder::Recorder;
use crate::file::{Slot, is_forked};
use crate::process::Uncancelled;

/// How often `MPI_Init` and `MPI_Session_init` were called without being finalized yet.
static N_INITIALIZED: AtomicUsize = AtomicUsize::new(0);

/// Makes a call that initializes MPI. If it succeeds and is the application's, `started` is called
/// with the result of `before`.
pub fn begin_call<T>(
    before: impl FnOnce() -> T,
    real: impl FnOnce() -> c_int,
    started: impl FnOnce(T),
) -> c_int {
    if Local::of_this_thread().is_inside() {
        return real();
    }
    let before = before();
    let code = guarded_call(real);
    if code == 0 {
        N_INITIALIZED.fetch_add(1, Ordering::AcqRel);
        started(before);
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
            recorder.with_other_processes(|| {
                recorder.with_session(None, |session| exchanges.end(session))
            });
        }
        real()
    };
    if N_INITIALIZED.fetch_sub(1, Ordering::AcqRel) > 1 {
        return guarded_call(real);
    }
    recorder.library.release();
    // SAFETY: MPI has not ended.
    unsafe { recorder.stop_recording_messages() };
    let code = last_call(recorder, operation, real);
    Recorder::deactivate();
    let _uncancelled = Uncancelled::begin();
    recorder.finish();
    if let Some(exchanges) = exchanges.filter(|_| !is_forked()) {
        exchanges.clean_up();
    }
    code
}

/// Makes the call of `MPI_Abort`, which does not return: it stays the last call, under way.
///
/// Signal handlers call it. If the handler interrupts the recorder itself, nothing waits, and the
/// call is only recorded if the chunk has a free slot.
pub fn abort_call(real: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    if local.is_on_cold_path.get() {
        let slot = local.next_slot().unwrap_or(Slot::NONE);
        let word = RecordWord::call(Operation::Abort, 0, 0).bits();
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
    let word = RecordWord::call(operation, 0, 0).bits();
    LOCAL.with(|local| {
        let slot = local.take_slot(recorder);
        local
            .call(recorder, slot, word, 0, ROOT_NONE, real)
            .commit()
    })
}

/// Makes the call of `MPI_Pcontrol`, and records the phase.
pub fn phase_call(level: usize, real: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    let slot = local.take_slot(recorder);
    let inside = CallScope::enter(local);
    recorder.phase.begin(level as i32);
    slot.write(phase_words(level as i32));
    slot.stamp(recorder.clock.now());
    let code = real();
    slot.leave(code, recorder.clock.now());
    drop(inside);
    code
}

/// Records the call of `MPI_Init` that has just ended, and in which recording started.
pub(crate) fn record_init(recorder: &'static Recorder, operation: Operation, enter: u64) {
    LOCAL.with(|local| {
        // Recording began inside the call: no note can be before it.
        let slot = local.take_slot_of_call(recorder, true);
        if slot.is_null() {
            return;
        }
        if let Some(thread) = local.thread.get() {
            thread.forecast.pass(thread.forecast.expected());
        }
        slot.write([
            RecordWord::call(operation, 0, 0).bits(),
            CommunicatorWord::new(0, ROOT_NONE).bits(),
        ]);
        slot.stamp(enter);
        slot.leave(0, recorder.clock.now());
    });
}

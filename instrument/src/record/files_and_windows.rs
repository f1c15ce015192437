//! Collective calls on files (MPI-IO) and windows (RMA), where their layers are recorded.
//!
//! Each file and window has an order of calls of its own, in which opening it is the first. It is
//! defined before that call, so that the trace shows a process that dies in it in a call on
//! something known. If the layer is off, and inside another call of MPI, a call only marks what the
//! MPI library calls inside it as internal, and is timed.

use std::ffi::c_int;

use collbench_formats::{
    Activity, CompletingCall, Completion, FENCE_NO_PRECEDE, Initiation, Operation, ROOT_NONE,
    RecordWord,
};

use super::creations::CreatingCall;
use super::gaps::{Peer, timed_call};
use super::initiation::RequestCall;
use super::local::Local;
use super::nesting::CallScope;
use super::recorder::Recorder;
use crate::args::{CallView, payload};
use crate::communicators::{CommunicatorEntry, FileOrWindow};
use crate::mpi::Handle;

impl FileOrWindow {
    /// Makes a call on such an object that is not recorded.
    fn timed(self, real: impl FnOnce() -> c_int) -> c_int {
        let activity = match self {
            Self::File => Activity::Io,
            Self::Window => Activity::Rma,
        };
        timed_call(activity, Peer::UNKNOWN, real)
    }

    /// The recorder, if it records a call of the application on such an object.
    fn recorder(self, local: &Local) -> Option<&'static Recorder> {
        let recorder = Recorder::active()?;
        let is_on = match self {
            Self::File => recorder.layers.io,
            Self::Window => recorder.layers.rma,
        };
        (is_on && local.is_own_call()).then_some(recorder)
    }

    /// Adds a file or window that a call of `operation` on the communicator `comm` is about to
    /// open.
    fn add(
        self,
        local: &Local,
        recorder: &Recorder,
        operation: Operation,
        comm: usize,
    ) -> Option<&'static CommunicatorEntry> {
        let parent = local.communicator(recorder, comm)?;
        recorder.guarded(|| {
            let (entry, definition) = recorder
                .communicators
                .add_file_or_window(self, operation, parent);
            recorder.write_communicator(definition)?;
            Ok(entry)
        })
    }
}

/// Sets the key of a file or window that was opened; `None` if it could not be opened.
fn give_handle(recorder: &Recorder, entry: &'static CommunicatorEntry, key: Option<Handle>) {
    recorder.guarded(|| {
        recorder.communicators.give_handle(entry, key);
        Ok(())
    });
}

/// Makes a call that opens a file or creates a window on the communicator `comm`, and records it;
/// `handle_address` is the address where the MPI library stores the new handle.
pub fn opening_call(
    kind: FileOrWindow,
    operation: Operation,
    comm: usize,
    handle_address: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let local = Local::of_this_thread();
    let Some(recorder) = kind.recorder(local) else {
        return kind.timed(real);
    };
    let opened = kind.add(local, recorder, operation, comm);
    let slot = local.take_slot(recorder);
    let creator = opened.map_or(CreatingCall::UNKNOWN, |entry| CreatingCall {
        communicator: entry.index,
        position: entry.take_position(false),
    });
    let word = RecordWord::call(operation, 0, 0).bits();
    let creation = local.creation.begin(creator);
    let returned = local.call(recorder, slot, word, creator.communicator, ROOT_NONE, real);
    drop(creation);
    if let Some(entry) = opened {
        // SAFETY: the call has succeeded, so it has stored a handle there.
        let key =
            (returned.code == 0).then(|| unsafe { kind.key_at(&recorder.library, handle_address) });
        give_handle(recorder, entry, key);
    }
    returned.commit()
}

/// Makes a call that closes a file or frees a window, and records it; `handle_address` is the address of the
/// handle.
pub fn closing_call(
    kind: FileOrWindow,
    operation: Operation,
    handle_address: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let local = Local::of_this_thread();
    match kind.recorder(local) {
        Some(recorder) if handle_address != 0 => {
            // SAFETY: MPI requires the address of a handle here, and it is not null.
            let key = unsafe { kind.key_at(&recorder.library, handle_address) };
            local.free_and_record(recorder, operation, key, real)
        }
        _ => kind.timed(real),
    }
}

/// Makes any other call on a file or window, and records it; `handle` is the handle argument.
pub fn file_or_window_call(
    kind: FileOrWindow,
    operation: Operation,
    handle: usize,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    on_file_or_window(kind, operation, handle, ROOT_NONE, large, payload, real)
}

/// Makes the call of `MPI_Win_fence`, and records it, and whether MPI_MODE_NOPRECEDE is asserted.
pub fn fence_call(assertion: usize, window: usize, real: impl FnOnce() -> c_int) -> c_int {
    let no_precede = Recorder::active().map_or(0, |recorder| recorder.library.mode_no_precede);
    let root = match assertion as i32 & no_precede {
        0 => ROOT_NONE,
        _ => FENCE_NO_PRECEDE,
    };
    on_file_or_window(
        FileOrWindow::Window,
        Operation::WinFence,
        window,
        root,
        false,
        payload::nothing,
        real,
    )
}

fn on_file_or_window(
    kind: FileOrWindow,
    operation: Operation,
    handle: usize,
    root: i32,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let local = Local::of_this_thread();
    let Some(recorder) = kind.recorder(local) else {
        return kind.timed(real);
    };
    let entry = local.entry(recorder, kind.key(&recorder.library, handle));
    let prepared = local.prepare(recorder, operation, entry, None, large, payload);
    let (slot, word, on) = (prepared.slot, prepared.word, prepared.communicator);
    local.call(recorder, slot, word, on, root, real).commit()
}

/// Makes a nonblocking access to a file, records it, and tracks its request until completion.
pub fn nonblocking_access_call(
    call: RequestCall,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let local = Local::of_this_thread();
    let Some(recorder) = FileOrWindow::File.recorder(local) else {
        return FileOrWindow::File.timed(real);
    };
    let entry = local.entry(recorder, FileOrWindow::File.key(&recorder.library, call.on));
    local.begin(recorder, entry, call, payload, || real().into())
}

/// Makes a call that begins a split access to a file, and records it as an initiation, which
/// [`access_end_call`] completes. There is no request: MPI allows one at a time on a file.
pub fn access_begin_call(
    operation: Operation,
    file: usize,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let local = Local::of_this_thread();
    let Some(recorder) = FileOrWindow::File.recorder(local) else {
        return FileOrWindow::File.timed(real);
    };
    let entry = local.entry(recorder, FileOrWindow::File.key(&recorder.library, file));
    let prepared = local.prepare(recorder, operation, entry, None, large, payload);
    let (slot, word, on) = (prepared.slot, prepared.word, prepared.communicator);
    let code = local
        .call(recorder, slot, word, on, ROOT_NONE, real)
        .commit();
    if let (0, false, Some(entry), Some(position)) =
        (code, slot.is_null(), entry, prepared.position)
    {
        entry.begin_access(position);
    }
    code
}

/// Makes a call that ends a split access to a file, and records it as its completion.
pub fn access_end_call(by: CompletingCall, file: usize, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let found = FileOrWindow::File.recorder(local).and_then(|recorder| {
        let entry = local.entry(recorder, FileOrWindow::File.key(&recorder.library, file))?;
        Some((recorder, entry.index, entry.end_access()?))
    });
    let Some((recorder, communicator, position)) = found else {
        return FileOrWindow::File.timed(real);
    };
    let completion = Completion {
        of: Initiation::Nonblocking {
            communicator,
            position,
        },
        by,
        n_together: 1,
    };
    let slot = local.take_slot(recorder);
    slot.write(completion.words());
    let inside = CallScope::enter(local);
    slot.stamp(recorder.clock.now());
    let code = real();
    slot.leave(code, recorder.clock.now());
    drop(inside);
    code
}

//! Calls that make communicators, give them back, or name them.

use std::ffi::{CStr, c_char, c_int};

use collbench_formats::{
    Definition, Initiation, Operation, ROOT_NONE, UNKNOWN_COMMUNICATOR, pack_call_word,
};

use super::local::Local;
use super::makings::Maker;
use super::recorder::Recorder;
use crate::args::KeptArrays;
use crate::communicators::{CommunicatorEntry, ConstructorCall, HowMade, hash_of_text};
use crate::file::Slot;
use crate::mpi::Handle;

/// A constructor's call that is about to be made.
struct Construction {
    operation: Operation,
    how: HowMade,
    /// The communicator argument, and what it means where that is known.
    comm: Handle,
    parent: Option<&'static CommunicatorEntry>,
    /// Index of the parent.
    index: u32,
    /// Among the calls of the application on the parent, or of those of the library itself.
    position: u64,
    flags: u16,
    slot: Slot,
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
    let construction = Construction::begin(local, recorder, operation, how, comm);
    let making = local.making.begin(construction.maker());
    let word = pack_call_word(operation, construction.flags, 0);
    let (slot, index) = (construction.slot, construction.index);
    let returned = local.call(recorder, slot, word, index, ROOT_NONE, real);
    drop(making);
    if returned.code == 0 {
        if let Some(request) = request {
            // SAFETY: the call succeeded, so there is a request at this address.
            let request = unsafe { recorder.library.handle_at(request, 0) };
            construction.follow(local, recorder, request, returned.leave_ticks);
        }
        // SAFETY: the call succeeded, so a handle is there, perhaps that of no communicator.
        unsafe { construction.register(local, recorder, tag, place) };
    }
    returned.commit()
}

// What is the same for all constructors is not compiled once for each.
impl Construction {
    fn begin(
        local: &Local,
        recorder: &'static Recorder,
        operation: Operation,
        how: HowMade,
        comm: Handle,
    ) -> Self {
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
        Self {
            operation,
            how,
            comm,
            parent,
            index: parent.map_or(UNKNOWN_COMMUNICATOR, |parent| parent.index),
            position,
            flags,
            slot,
        }
    }

    fn maker(&self) -> Maker {
        if self.flags == 0 && self.operation.semantics().is_matched() {
            Maker {
                communicator: self.index,
                position: self.position,
            }
        } else {
            Maker::UNKNOWN
        }
    }

    /// Keeps the request of a nonblocking one, which left at `stamp`.
    fn follow(&self, local: &Local, recorder: &'static Recorder, request: Handle, stamp: u64) {
        if self.flags == 0 && !self.slot.is_null() && self.parent.is_some() {
            let of = Initiation::Nonblocking {
                communicator: self.index,
                position: self.position,
            };
            local.follow(recorder, request, of, KeptArrays::default(), stamp);
        }
    }

    /// Registers what was made.
    ///
    /// # Safety
    /// The call has just succeeded, with its new handle at `place`.
    unsafe fn register(&self, local: &Local, recorder: &Recorder, tag: i32, place: usize) {
        // Once recording has stopped, nothing more is to be known of communicators.
        let Some(parent) = self.parent.filter(|_| !self.slot.is_null()) else {
            return;
        };
        // SAFETY: the caller's promise.
        let made = unsafe { recorder.library.handle_at(place, 0) };
        if made == recorder.library.comm_null || made == 0 {
            return;
        }
        let call = ConstructorCall {
            operation: self.operation,
            how: self.how,
            parent,
            position: self.position,
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
                        .add_made(&recorder.library, made, self.comm, self.how)
                };
            }
            let index = definition.index;
            recorder.write_communicator(definition)?;
            if let Some(neighbours) = &entry.neighbours {
                recorder.write(&Definition::Topology(neighbours.of_communicator(index)))?;
            }
            self.slot.made(index);
            Ok(())
        });
    }
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

/// A call that gives something back, about to be made.
struct GivingBack {
    handle: Handle,
    entry: Option<&'static CommunicatorEntry>,
    flags: u16,
    slot: Slot,
}

impl GivingBack {
    fn begin(local: &Local, recorder: &'static Recorder, handle: Handle) -> Self {
        let flags = local.internal_flag();
        let entry = local.entry(recorder, handle);
        // First: the table of a chunk that is opened for it must have this communicator.
        let slot = local.take_slot(recorder);
        // Before the call: as soon as the library has freed it, another thread may be given the
        // same handle for a new one.
        if let Some(entry) = entry {
            recorder.guarded(|| {
                local.forget(recorder, handle);
                if recorder.endpoints().is_some() {
                    recorder.partners.forget(handle);
                    recorder.contexts.forget(handle);
                }
                Ok(())
            });
            entry.take_position(flags != 0);
        }
        Self {
            handle,
            entry,
            flags,
            slot,
        }
    }

    /// The library has refused it.
    #[cold]
    fn undo(&self, recorder: &Recorder) {
        if let Some(entry) = self.entry {
            recorder.guarded(|| {
                recorder.communicators.remember(self.handle, entry);
                Ok(())
            });
        }
    }
}

impl Local {
    /// Makes a call that gives back what has this handle (or key of a file or window), and records
    /// it as the last on that.
    pub(super) fn give_back(
        &self,
        recorder: &'static Recorder,
        operation: Operation,
        handle: Handle,
        real: impl FnOnce() -> c_int,
    ) -> c_int {
        let giving = GivingBack::begin(self, recorder, handle);
        let word = pack_call_word(operation, giving.flags, 0);
        let index = (giving.entry).map_or(UNKNOWN_COMMUNICATOR, |entry| entry.index);
        let returned = self.call(recorder, giving.slot, word, index, ROOT_NONE, real);
        if returned.code != 0 {
            giving.undo(recorder);
        }
        returned.commit()
    }
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

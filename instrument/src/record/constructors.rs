//! Calls that create, free or name communicators.

use std::ffi::{CStr, c_char, c_int};

use collbench_formats::{
    Definition, NO_CALL_SITE, Operation, ROOT_NONE, RecordWord, UNKNOWN_COMMUNICATOR,
};

use super::creations::CreatingCall;
use super::initiation::InitiatedAt;
use super::local::Local;
use super::nesting::guarded_call;
use super::recorder::Recorder;
use crate::args::RetainedArrays;
use crate::communicators::{CommunicatorIdentity, ConstructorCall, hash_of_text};
use crate::file::Slot;
use crate::mpi::Handle;

/// Makes a call that creates a communicator, records it, and adds the communicator.
///
/// `handle_address` is the address where the MPI library stores the new handle, and `request` the address of
/// the request of a nonblocking constructor.
pub fn constructor_call(
    operation: Operation,
    how: CommunicatorIdentity,
    comm: usize,
    tag: i32,
    handle_address: usize,
    request: Option<usize>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return guarded_call(real);
    };
    let local = Local::of_this_thread();
    let flags = local.internal_flag();
    let slot = local.take_slot_of_call(recorder, flags != 0);
    let parent = local.communicator(recorder, comm);
    // Internal calls of the library have an order of their own on the parent.
    let position = match parent {
        Some(parent) if operation.semantics().is_matched() => {
            parent.take_position(flags != 0) | u64::from(flags != 0) << 63
        }
        _ => 0,
    };
    let word = RecordWord::call(operation, flags, 0).bits();
    let index = parent.map_or(UNKNOWN_COMMUNICATOR, |parent| parent.index);
    let creator = if flags == 0 && operation.semantics().is_matched() {
        CreatingCall {
            communicator: index,
            position,
        }
    } else {
        CreatingCall::UNKNOWN
    };
    let creation = local.creation.begin(creator);
    let returned = local.call(recorder, slot, word, index, ROOT_NONE, real);
    drop(creation);
    if let (0, 0, Some(request)) = (returned.code, flags, request) {
        // SAFETY: the call succeeded, so there is a request at this address.
        let handle = unsafe { recorder.library.handle_at(request, 0) };
        let at = InitiatedAt {
            communicator: index,
            position,
        };
        if !slot.is_null() && parent.is_some() {
            let stamp = returned.leave_ticks;
            local.follow(recorder, handle, at, RetainedArrays::default(), stamp);
        }
    }
    // Once recording has stopped, communicators are not added any more.
    if let (0, false, Some(parent)) = (returned.code, slot.is_null(), parent) {
        // SAFETY: the call succeeded, so there is a handle, which may be the null handle.
        let made = unsafe { recorder.library.handle_at(handle_address, 0) };
        if made != recorder.library.comm_null && made != 0 {
            let call = ConstructorCall {
                operation,
                how,
                parent,
                position,
                tag,
                made,
            };
            let site = match flags {
                0 => local.own_site(recorder),
                _ => NO_CALL_SITE,
            };
            // SAFETY: the communicator is valid, since the call has just succeeded.
            unsafe { local.register(recorder, call, comm, (slot, site)) };
        }
    }
    returned.commit()
}

impl Local {
    /// Adds the communicator that a call on the communicator `comm`, recorded in `slot` and made from `site`,
    /// has created. Not inlined, since it would be compiled once for each constructor.
    ///
    /// # Safety
    /// The new communicator is valid; a copy will be valid.
    #[inline(never)]
    unsafe fn register(
        &self,
        recorder: &Recorder,
        call: ConstructorCall,
        comm: Handle,
        (slot, site): (Slot, u32),
    ) {
        recorder.guarded(|| {
            // SAFETY: the caller promises that the new communicator is valid, or a copy.
            let (entry, definition) =
                unsafe { recorder.communicators.add_made(&recorder.library, call) };
            self.remember(recorder, call.made, entry);
            if recorder.endpoints().is_some() {
                // SAFETY: both communicators are valid, but a copy may not exist yet, so its parent
                // is asked.
                unsafe {
                    let partners = &recorder.partners;
                    partners.add_made(&recorder.library, call.made, comm, call.how);
                };
            }
            let index = definition.index;
            recorder.write_communicator(definition)?;
            if site != NO_CALL_SITE {
                recorder.write(&Definition::CommunicatorSite { index, site })?;
            }
            if let Some(neighbours) = &entry.neighbours {
                recorder.write(&Definition::Topology(neighbours.of_communicator(index)))?;
            }
            slot.made(index);
            Ok(())
        });
    }
}

/// Makes a call that creates a communicator over groups only, and records it as a call on
/// `MPI_COMM_WORLD`. `tag` is the address of the text that differs between communicators over the
/// same groups, or 0; the other arguments are those of [`constructor_call`].
///
/// # Safety
/// `tag` is 0 or the address of a C string.
pub unsafe fn group_constructor_call(
    operation: Operation,
    tag: usize,
    handle_address: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return guarded_call(real);
    };
    let tag = match tag {
        0 => 0,
        // SAFETY: the caller promises a C string.
        tag => hash_of_text(unsafe { CStr::from_ptr(tag as *const c_char) }.to_bytes()),
    };
    let world = recorder.library.comm_world;
    constructor_call(
        operation,
        CommunicatorIdentity::OverGroups,
        world,
        tag,
        handle_address,
        None,
        real,
    )
}

/// Makes a call that frees a communicator, records it, and forgets the handle.
///
/// `handle_address` is the address of the handle.
pub fn free_call(
    operation: Operation,
    handle_address: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return guarded_call(real);
    };
    if handle_address == 0 {
        return real();
    }
    // SAFETY: MPI requires the address of a communicator handle here, and it is not null.
    let handle = unsafe { recorder.library.handle_at(handle_address, 0) };
    let handle = recorder.library.handle(handle);
    Local::of_this_thread().free_and_record(recorder, operation, handle, real)
}

impl Local {
    /// Makes a call that frees the object with this handle (or key of a file or window), and
    /// records it as the last one on that object.
    pub(super) fn free_and_record(
        &self,
        recorder: &'static Recorder,
        operation: Operation,
        handle: Handle,
        real: impl FnOnce() -> c_int,
    ) -> c_int {
        let flags = self.internal_flag();
        let entry = self.entry(recorder, handle);
        // The slot must be taken first: the table of a chunk that is opened for it must have this
        // communicator.
        let slot = self.take_slot_of_call(recorder, flags != 0);
        // Before the call: as soon as the library has freed the communicator, another thread may
        // get the same handle for a new one.
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
        let word = RecordWord::call(operation, flags, 0).bits();
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

/// Records the name that the application gives a communicator.
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
    // SAFETY: the caller promises a C string or null, and it is not null.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    recorder.guarded(|| {
        // MPI_MAX_OBJECT_NAME is 64 or 128; the library would reject a longer name.
        let bytes = &name.to_bytes()[..name.count_bytes().min(256)];
        let name = String::from_utf8_lossy(bytes).into_owned();
        recorder.write(&Definition::CommunicatorName {
            index: entry.index,
            name,
        })
    });
}

//! Calls that initiate an operation and return a request: nonblocking collectives, and nonblocking
//! constructors.

use std::ffi::c_int;

use collbench_formats::{Initiation, Operation};

use super::local::Local;
use super::recorder::Recorder;
use super::requests::Tracked;
use crate::args::{CallView, Initiated, RetainedArrays};
use crate::communicators::CommunicatorEntry;
use crate::mpi::Handle;

/// A call that returns a request: its operation, and its arguments.
#[derive(Debug, Clone, Copy)]
pub struct RequestCall {
    /// The operation that is called.
    pub operation: Operation,
    /// The communicator (or file) argument.
    pub on: usize,
    /// The root argument; `None` for operations without one.
    pub root: Option<usize>,
    /// Whether counts are 64-bit.
    pub large: bool,
    /// The address where the MPI library stores the request.
    pub request: usize,
}

impl RequestCall {
    /// The request that the call has returned.
    ///
    /// # Safety
    /// The call has succeeded.
    pub(super) unsafe fn handle(&self, recorder: &Recorder) -> Handle {
        // SAFETY: the call has succeeded, so there is a request at this address.
        unsafe { recorder.library.handle_at(self.request, 0) }
    }
}

/// Makes a nonblocking collective call, records it, and tracks its request until completion.
///
/// `payload` reads the bytes from the arguments, `real` calls the MPI library.
#[inline(always)]
pub fn nonblocking_call(
    call: RequestCall,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    real: impl FnOnce() -> Initiated,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real().code_leaking_arrays();
    };
    let local = Local::of_this_thread();
    let entry = local.communicator(recorder, call.on);
    local.begin(recorder, entry, call, payload, real)
}

/// Position of a call that has initiated an operation: two words, which are passed in registers.
#[derive(Debug, Clone, Copy)]
pub(super) struct InitiatedAt {
    /// Index of the communicator.
    pub(super) communicator: u32,
    /// Position among the calls on it.
    pub(super) position: u64,
}

impl Local {
    /// Makes a nonblocking call on `entry`, records it, and tracks its request until completion.
    #[inline(always)]
    pub(super) fn begin(
        &self,
        recorder: &'static Recorder,
        entry: Option<&'static CommunicatorEntry>,
        call: RequestCall,
        payload: impl FnOnce(CallView<'_>) -> Option<u64>,
        real: impl FnOnce() -> Initiated,
    ) -> c_int {
        let RequestCall {
            operation,
            root,
            large,
            ..
        } = call;
        let prepared = self.prepare(recorder, operation, entry, root, large, payload);
        let mut retained = RetainedArrays::default();
        let returned = self.call(
            recorder,
            prepared.slot,
            prepared.word,
            prepared.communicator,
            prepared.root,
            || {
                let initiated = real();
                retained = initiated.retained;
                initiated.code
            },
        );
        let stamp = returned.leave_ticks;
        let is_recorded = !prepared.slot.is_null();
        let code = returned.commit();
        match prepared.position {
            Some(position) if code == 0 && is_recorded => {
                // SAFETY: the call has succeeded.
                let handle = unsafe { call.handle(recorder) };
                let at = InitiatedAt {
                    communicator: prepared.communicator,
                    position,
                };
                self.follow(recorder, handle, at, retained, stamp);
            }
            _ if code == 0 => retained.leak(),
            _ => {}
        }
        code
    }

    /// Tracks the request of an operation that was initiated at `at`.
    #[inline]
    pub(super) fn follow(
        &self,
        recorder: &'static Recorder,
        handle: Handle,
        at: InitiatedAt,
        retained: RetainedArrays,
        stamp: u64,
    ) {
        let tracked = Tracked {
            of: Some(Initiation::Nonblocking {
                communicator: at.communicator,
                position: at.position,
            }),
            retained,
            ..Tracked::default()
        };
        recorder.requests.add(handle, self.key(), stamp, tracked);
    }
}

//! Calls that begin an operation and leave a request: nonblocking collectives, and the
//! constructors that are nonblocking.

use std::ffi::c_int;

use collbench_formats::{Initiation, Operation};

use super::requests::Tracked;
use super::{Local, Recorder};
use crate::library::Handle;
use crate::narrow::{Begun, KeptArrays};
use crate::payload::CallView;

/// Makes a nonblocking collective call, records it, and keeps its request until it is completed.
///
/// As [`recorded_call`](super::recorded_call) and [`rooted_call`](super::rooted_call); `root` is
/// `None` for operations without one, `request` the address where the MPI library puts the
/// request.
#[inline(always)]
pub fn nonblocking_call(
    operation: Operation,
    comm: usize,
    root: Option<usize>,
    large: bool,
    payload: impl FnOnce(CallView<'_>) -> Option<u64>,
    request: usize,
    real: impl FnOnce() -> Begun,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real().and_keep_for_ever();
    };
    let local = Local::of_this_thread();
    let prepared = local.prepare(recorder, operation, comm, root, large, payload);
    let mut kept = KeptArrays::default();
    let returned = local.call(
        recorder,
        prepared.slot,
        prepared.word,
        prepared.communicator,
        prepared.root,
        || {
            let begun = real();
            kept = begun.kept;
            begun.code
        },
    );
    let stamp = returned.leave_ticks;
    let is_recorded = !prepared.slot.is_null();
    let code = returned.commit();
    match prepared.position {
        Some(position) if code == 0 && is_recorded => {
            // SAFETY: the call has succeeded, so there is a request at this address.
            let handle = unsafe { recorder.library.handle_at(request, 0) };
            local.follow(
                recorder,
                handle,
                (prepared.communicator, position),
                kept,
                stamp,
            );
        }
        _ if code == 0 => kept.keep_for_ever(),
        _ => {}
    }
    code
}

impl Local {
    /// Keeps a request that began at (index of the communicator, position on it).
    #[inline]
    pub(super) fn follow(
        &self,
        recorder: &'static Recorder,
        handle: Handle,
        (communicator, position): (u32, u64),
        kept: KeptArrays,
        stamp: u64,
    ) {
        let tracked = Tracked {
            of: Some(Initiation::Nonblocking {
                communicator,
                position,
            }),
            kept,
            ..Tracked::default()
        };
        recorder.requests.add(handle, self.key(), stamp, tracked);
    }
}

//! The messages inside collectives: from a call of the library's point-to-point layer to a record.
//!
//! A message is recorded in the thread in which the library sends or receives it, after the record
//! of the call under way there. The end of a nonblocking receive is stored when the library waits
//! for it within the same call, if the thread has entered no other call since. Only so long is it
//! certain that the request has not been reused, and that the chunk with the record is still there.

use std::ffi::c_int;

use collbench_formats::{Direction, Message, UNKNOWN_COMMUNICATOR};

use crate::file::Slot;
use crate::messages::{
    FIRST_COLLECTIVE_TAG, Post, RawMessage, Receives, Route, RouteKey, recorded_tag,
};
use crate::mpi::Handle;
use crate::record::{Local, Recorder};

impl Local {
    #[inline]
    fn route(&self, recorder: &'static Recorder, comm: Handle) -> Route {
        let epoch = recorder
            .communicators
            .generation()
            .wrapping_add(recorder.partners.epoch());
        let route = self.route.get();
        let key = RouteKey { of: comm, epoch };
        if route.is_of(key) {
            return route;
        }
        self.find_route(recorder, comm, key)
    }

    #[cold]
    fn find_route(&self, recorder: &'static Recorder, comm: Handle, key: RouteKey) -> Route {
        let Some(_at_work) = self.begin_cold_path(recorder) else {
            return Route::of_nothing(key);
        };
        let route = if comm == recorder.library.comm_world {
            Route::of_world(key)
        } else {
            recorder.partners.route(comm, key)
        };
        let entry = recorder.communicators.find(comm);
        let route = route.with_index(entry.map_or(UNKNOWN_COMMUNICATOR, |entry| entry.index));
        self.route.set(route);
        route
    }
}

/// Sends or receives a message, and records it if it is one of the library's own.
#[inline]
pub(super) fn message(raw: RawMessage, post: Post, real: impl FnOnce() -> c_int) -> c_int {
    if raw.tag > FIRST_COLLECTIVE_TAG {
        return real();
    }
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    if raw.partner == recorder.library.proc_null {
        return real();
    }
    let local = Local::of_this_thread();
    let slot = local.begin_message(recorder, &raw, !matches!(post, Post::Blocking));
    let code = real();
    match post {
        Post::Awaited { request } if code == 0 => {
            // SAFETY: the call has succeeded, so there is a request at this address.
            let request = unsafe { recorder.library.handle_at(request, 0) };
            local.await_receive(request, slot);
        }
        _ => slot.leave(code, recorder.clock.now()),
    }
    code
}

/// Makes a request by which the library may start a message of its own, and stores it at `request`.
pub(super) fn startable_message(
    raw: RawMessage,
    request: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let code = real();
    if raw.tag > FIRST_COLLECTIVE_TAG || code != 0 {
        return code;
    }
    if let Some(recorder) = Recorder::active()
        && raw.partner != recorder.library.proc_null
    {
        // SAFETY: the call has succeeded, so there is a request at this address.
        let request = unsafe { recorder.library.handle_at(request, 0) };
        Local::of_this_thread().note_startable(request, raw);
    }
    code
}

/// Starts `n` requests, and records those that are messages of the library's own.
///
/// # Safety
/// There are `n` requests at `requests`.
pub(super) unsafe fn start_messages(
    n: usize,
    requests: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let local = Local::of_this_thread();
    let Some(recorder) = Recorder::active().filter(|_| local.may_start()) else {
        return real();
    };
    let mut started = Vec::with_capacity(n);
    for i in 0..n {
        // SAFETY: the caller promises `n` requests, and `i` is below `n`.
        let request = unsafe { recorder.library.handle_at(requests, i) };
        if let Some(raw) = local.startable(request) {
            let slot = local.begin_message(recorder, &raw, true);
            // Noted at once, since a chunk may be opened for the records that follow.
            if raw.direction == Direction::Receive {
                local.await_receive(request, slot);
            }
            started.push((raw.direction, slot));
        }
    }
    let code = real();
    let now = recorder.clock.now();
    for (direction, slot) in started {
        if direction == Direction::Send || code != 0 {
            slot.leave(code, now);
        }
    }
    code
}

impl Local {
    /// Writes and stamps the record of a send or receive that begins now.
    #[inline(always)]
    fn begin_message(
        &self,
        recorder: &'static Recorder,
        raw: &RawMessage,
        is_nonblocking: bool,
    ) -> Slot {
        let slot = self.take_slot_of_part(recorder);
        let route = self.route(recorder, raw.comm);
        // SAFETY: the library passes a valid datatype.
        let type_bytes = unsafe { recorder.library.type_bytes(raw.datatype) };
        let message = Message {
            direction: raw.direction,
            is_nonblocking,
            partner: route.world_rank(raw.partner),
            communicator: route.index(),
            tag: recorded_tag(raw.tag),
            bytes: type_bytes.unwrap_or(0).saturating_mul(raw.count as u64),
        };
        slot.write(message.words());
        slot.stamp(recorder.clock.now());
        slot
    }

    /// Notes what a request will do if it is started within the current call.
    fn note_startable(&self, request: Handle, raw: RawMessage) {
        if self.has_entered() {
            let call = self.calls.get();
            self.with_posted(|posted| {
                posted.begin(call);
                posted.startable.insert(request, raw);
            });
        }
    }

    /// Whether any such request was noted within the current call.
    fn may_start(&self) -> bool {
        let call = self.calls.get();
        self.with_posted(|posted| posted.call == call && !posted.startable.is_empty()) == Some(true)
    }

    fn startable(&self, request: Handle) -> Option<RawMessage> {
        self.with_posted(|posted| posted.startable.get(&request).copied())?
    }

    /// Takes the receives among `n` requests that the library is about to wait for; returns where
    /// they begin in the list.
    ///
    /// # Safety
    /// There are `n` requests at `requests`.
    unsafe fn take_receives(
        &self,
        recorder: &'static Recorder,
        requests: usize,
        n: usize,
        until: Until,
    ) -> Option<(&'static Receives, usize)> {
        let receives = &self.thread.get()?.receives;
        // SAFETY: the receives belong to this thread, and nothing that is called here uses them.
        let posted = unsafe { receives.posted() };
        // After the call, a request may have been reused.
        let is_within = posted.call == self.calls.get() && self.has_entered();
        if !is_within || posted.by_request.is_empty() {
            return None;
        }
        let begin = posted.awaited.len();
        for i in 0..n {
            // SAFETY: the caller promises `n` requests, and `i` is below `n`.
            let request = unsafe { recorder.library.handle_at(requests, i) };
            let slot = match until {
                Until::All => posted.by_request.remove(request),
                Until::One => posted.by_request.get(request),
            };
            posted.awaited.push(slot.unwrap_or(Slot::NONE));
        }
        Some((receives, begin))
    }
}

/// How many of some requests the library waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    All,
    One,
}

/// Waits for all of `n` requests; the receives among them have then arrived.
///
/// # Safety
/// There are `n` requests at `requests`.
#[inline]
pub(super) unsafe fn wait_for_many(
    requests: usize,
    n: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller promises `n` requests at `requests`.
    unsafe { wait_for(requests, n, Until::All, real, |_| true) }
}

/// Waits for one of `n` requests, whose index the library stores at `which`.
///
/// # Safety
/// There are `n` requests at `requests`, and `which` is the address of a C `int`.
#[inline]
pub(super) unsafe fn wait_for_any(
    requests: usize,
    n: usize,
    which: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller promises `n` requests at `requests`, and an `int` at `which`.
    unsafe {
        wait_for(requests, n, Until::One, real, |i| {
            usize::try_from((which as *const c_int).read()) == Ok(i)
        })
    }
}

/// Waits for some of `n` requests, and stores when the receives among them had arrived.
///
/// # Safety
/// There are `n` requests at `requests`.
#[inline]
unsafe fn wait_for(
    requests: usize,
    n: usize,
    until: Until,
    real: impl FnOnce() -> c_int,
    has_come: impl Fn(usize) -> bool,
) -> c_int {
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    let local = Local::of_this_thread();
    // SAFETY: the caller promises `n` requests at `requests`.
    let Some((receives, begin)) = (unsafe { local.take_receives(recorder, requests, n, until) })
    else {
        return real();
    };
    let code = real();
    let now = recorder.clock.now();
    // SAFETY: the receives belong to this thread, and nothing that is called while the reference is
    // in use accesses them.
    let posted = unsafe { receives.posted() };
    for (i, slot) in posted.awaited.drain(begin..).enumerate() {
        if code == 0 && has_come(i) && !slot.has_left() {
            slot.leave(0, now);
        }
    }
    code
}

/// Called when the library has made a communicator ready, of the application or of its own.
pub(super) fn communicator_created(comm: Handle) {
    if let Some(recorder) = Recorder::active() {
        recorder.guarded(|| {
            // SAFETY: the library has just made this communicator ready.
            unsafe { recorder.partners.add(&recorder.library, comm) };
            Ok(())
        });
    }
}

/// Called when the library frees a communicator.
pub(super) fn communicator_freed(comm: Handle) {
    if let Some(recorder) = Recorder::active() {
        recorder.guarded(|| {
            recorder.partners.remove(comm);
            Ok(())
        });
    }
}

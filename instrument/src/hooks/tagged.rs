//! The messages of MPICH over UCX: from a tagged operation to a record.
//!
//! A tag has a context and not a communicator. The communicator of a context is learned: messages
//! with the tag of a blocking collective that the library sends in that collective are on the
//! communicator of the call. So are messages at the start of a nonblocking collective while no
//! other is outstanding in the process. Until then, and for messages that the library sends while
//! it creates a communicator, the communicator is unknown.

use std::mem::transmute;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use collbench_formats::{
    CODE_PAYLOAD_UNKNOWN, Direction, Message, NO_RANK, Operation, Record, RecordKind, RecordWord,
};

use super::parameters::Parameters;
use super::ucx::Word;
use crate::file::Slot;
use crate::messages::{Context, Endpoints, LOCAL_GROUP, Part, Route, RouteKey, Tag};
use crate::record::{Local, Recorder};

/// Operations below this number only exchange data.
const FIRST_CONSTRUCTOR: u16 = Operation::CommDup.code();

/// What is known of a message before its communicator is known.
#[derive(Debug, Clone, Copy)]
struct Tagged {
    tag: Tag,
    direction: Direction,
}

impl Local {
    #[inline]
    fn tagged_route(&self, recorder: &'static Recorder, tagged: Tagged, slot: Slot) -> Route {
        let tag = tagged.tag;
        let epoch = recorder
            .partners
            .epoch()
            .wrapping_add(recorder.contexts.epoch.load(Ordering::Acquire));
        let key = RouteKey {
            of: usize::from(tag.context()) << 2 | tag.part() as usize,
            epoch,
        };
        let route = self.route.get();
        if route.is_of(key) {
            return route;
        }
        self.find_tagged_route(recorder, tagged, slot, key)
    }

    #[cold]
    fn find_tagged_route(
        &self,
        recorder: &'static Recorder,
        tagged: Tagged,
        slot: Slot,
        key: RouteKey,
    ) -> Route {
        let Some(_at_work) = self.begin_cold_path(recorder) else {
            return Route::of_nothing(key);
        };
        let tag = tagged.tag;
        let world = Context {
            comm: recorder.library.comm_world,
            index: 0,
        };
        let context = match tag.context() {
            0 => Some(world),
            number => {
                let known = recorder.contexts.known.lock();
                let known = known.unwrap_or_else(PoisonError::into_inner);
                known.get(&number).copied()
            }
        };
        let context = context.or_else(|| self.learn(recorder, tagged, slot));
        let Some(context) = context else {
            return Route::of_nothing(key);
        };
        let table = match (context.comm == world.comm, tag.is_in_local_group()) {
            (true, _) => None,
            (false, false) => Some(context.comm),
            (false, true) => Some(context.comm | LOCAL_GROUP),
        };
        // If all processes are on one host, that part has all of them, and there are no leaders.
        let is_whole = match tag.part() {
            Part::Whole => true,
            Part::Host | Part::Leaders => recorder.is_alone_on_host(),
            Part::Merged => false,
        };
        let route = match (is_whole, table) {
            (true, None) => Route::of_world(key),
            (true, Some(table)) => recorder.partners.route(table, key),
            (false, table) => {
                (recorder.partners).route_of_part(table, tag.part(), recorder.rank, key)
            }
        };
        let route = route.with_index(context.index);
        self.route.set(route);
        route
    }

    /// Learns the communicator of a message's context from the call in which it is sent or
    /// received.
    fn learn(&self, recorder: &Recorder, tagged: Tagged, slot: Slot) -> Option<Context> {
        if slot.is_null() || !self.has_entered() {
            return None;
        }
        // Messages of outstanding collectives may be on any communicator.
        if tagged.tag.is_of_nonblocking() && recorder.may_have_requests() {
            return None;
        }
        let call = self.call_under_way(slot)?;
        let operation = call.operation()?;
        if operation.code() >= FIRST_CONSTRUCTOR {
            return None;
        }
        let (comm, entry) = recorder.communicators.of_index(call.communicator.get())?;
        let tag = tagged.tag;
        let is_own = u32::from(tag.source()) == entry.rank;
        let is_plain = tag.part() == Part::Whole && !tag.is_in_local_group();
        if is_plain && tagged.direction == Direction::Send && !is_own {
            return None;
        }
        let context = Context {
            comm,
            index: entry.index,
        };
        let known = recorder.contexts.known.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        // An intercommunicator has one context for each direction, and others for its local group.
        let is_another = known
            .iter()
            .any(|(&number, other)| other.comm == comm && number != tag.context());
        if is_another && entry.remote_size == 0 {
            return None;
        }
        known.insert(tag.context(), context);
        drop(known);
        recorder.contexts.epoch.fetch_add(1, Ordering::Release);
        Some(context)
    }

    /// The record of the call under way in this thread, if it is in the chunk of `slot`.
    fn call_under_way(&self, slot: Slot) -> Option<Record> {
        let before = self.thread.get()?.taken().before(slot);
        let mut records = before.iter().rev().filter_map(Slot::record);
        let call = records.find(|record| record.kind() == Some(RecordKind::Call))?;
        call.is_in_flight().then_some(call)
    }
}

/// A slot with the record of a message, filled but for the times; [`Slot::NONE`] if it is not
/// recorded.
#[inline]
fn tagged_slot(
    recorder: &'static Recorder,
    local: &Local,
    tagged: Tagged,
    partner: impl FnOnce(&Route) -> u32,
    bytes: Option<u64>,
) -> Slot {
    let slot = local.take_slot_of_part(recorder);
    let route = local.tagged_route(recorder, tagged, slot);
    let message = Message {
        direction: tagged.direction,
        is_nonblocking: true,
        partner: partner(&route),
        communicator: route.index(),
        tag: tagged.tag.in_records(),
        bytes: bytes.unwrap_or(0),
    };
    let [second, third] = message.words();
    let unknown = if bytes.is_none() {
        CODE_PAYLOAD_UNKNOWN
    } else {
        0
    };
    slot.write([RecordWord::from_bits(second).with(unknown).bits(), third]);
    slot
}

/// The least word that is an error of UCX rather than a request: 0 is success, and errors are just
/// below 0.
const FIRST_ERROR: Word = -100isize as Word;

/// Passes on a tagged send of UCX, and records it if the MPI library sends it for a collective.
///
/// # Safety
/// The arguments are those of the function (`ucp_tag_send_nbx`).
#[inline]
pub unsafe fn tagged_send(
    endpoint: Word,
    count: usize,
    tag: u64,
    parameters: Word,
    real: impl FnOnce() -> Word,
) -> Word {
    let tag = Tag(tag);
    let Some((recorder, endpoints)) = seen(tag) else {
        return real();
    };
    let local = Local::of_this_thread();
    let rank = endpoints.rank(endpoint);
    // The endpoint leads to another world, or belongs to another library.
    if rank.is_none() && !local.has_entered() {
        return real();
    }
    // SAFETY: the caller promises the arguments of the function, so this is the address of
    // parameters.
    let bytes = unsafe { Parameters::at(parameters) }.bytes(count);
    let tagged = Tagged {
        tag,
        direction: Direction::Send,
    };
    let slot = tagged_slot(recorder, local, tagged, |_| rank.unwrap_or(NO_RANK), bytes);
    slot.stamp(recorder.clock.now());
    let result = real();
    slot.leave((result >= FIRST_ERROR).into(), recorder.clock.now());
    result
}

/// The function that the library wants to be called at the end of all receives; 0 if it is not
/// known yet.
static CALLBACK: AtomicUsize = AtomicUsize::new(0);

/// Passes on a tagged receive of UCX, and records it if the MPI library posts it for a collective;
/// `real` takes the parameters.
///
/// # Safety
/// The arguments are those of the function (`ucp_tag_recv_nbx`).
#[inline]
pub unsafe fn tagged_receive(
    worker: Word,
    count: usize,
    tag: u64,
    mask: u64,
    parameters: Word,
    real: impl FnOnce(Word) -> Word,
) -> Word {
    let tag = Tag(tag);
    let Some((recorder, endpoints)) = seen(tag) else {
        return real(parameters);
    };
    if !endpoints.is_of(worker) {
        return real(parameters);
    }
    // SAFETY: the caller promises the arguments of the function, so this is the address of
    // parameters.
    let given = unsafe { Parameters::at(parameters) };
    let local = Local::of_this_thread();
    let is_from_any = Tag(mask).source() != u16::MAX;
    let partner = |route: &Route| {
        if is_from_any {
            NO_RANK
        } else {
            route.world_rank(tag.source().into())
        }
    };
    let tagged = Tagged {
        tag,
        direction: Direction::Receive,
    };
    let slot = tagged_slot(recorder, local, tagged, partner, given.bytes(count));
    let callback = given.callback().filter(|&callback| {
        let first = CALLBACK.compare_exchange(0, callback, Ordering::AcqRel, Ordering::Acquire);
        local.may_await(slot) && first.map_or_else(|theirs| theirs == callback, |_| true)
    });
    slot.stamp(recorder.clock.now());
    let Some(_) = callback else {
        let result = real(parameters);
        if result == 0 || result >= FIRST_ERROR {
            slot.leave_immediately((result != 0).into(), recorder.clock.now());
        }
        return result;
    };
    let ours = given.with_callback(received as *const () as Word);
    local.forget_completed();
    let result = real(std::ptr::from_ref(&ours) as Word);
    if result == 0 || result >= FIRST_ERROR {
        slot.leave_immediately((result != 0).into(), recorder.clock.now());
    } else if local.was_completed(result) {
        slot.leave_immediately(0, recorder.clock.now());
    } else {
        local.await_receive(result, slot);
    }
    result
}

/// Called when a receive is complete; calls the library's own function.
extern "C-unwind" fn received(request: Word, status: Word, info: Word, user_data: Word) {
    if let Some(recorder) = Recorder::active() {
        Local::of_this_thread().receive_is_complete(request, recorder.clock.now());
    }
    let theirs = CALLBACK.load(Ordering::Acquire);
    // SAFETY: UCX gets this function only in place of the library's, which takes these arguments;
    // they are passed on unchanged.
    unsafe {
        let theirs = transmute::<Word, unsafe extern "C-unwind" fn(Word, Word, Word, Word)>(theirs);
        theirs(request, status, info, user_data);
    }
}

/// The recorder and its endpoints, if it records messages with this tag.
#[inline]
fn seen(tag: Tag) -> Option<(&'static Recorder, &'static Endpoints)> {
    if !tag.is_of_collective() {
        return None;
    }
    let recorder = Recorder::active()?;
    Some((recorder, recorder.endpoints()?))
}

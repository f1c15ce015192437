//! The messages inside collectives: from a call of the library's point-to-point layer to a record.
//!
//! A message is recorded in the thread in which the library sends or receives it, behind the
//! record of the call under way there. The end of a nonblocking receive is stored when the
//! library waits for it within the same call, with no other begun since: only as long is a request not
//! another one's, and only as long does the chunk with its record stay for it.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use collbench_formats::{Direction, Message, NO_RANK, UNKNOWN_COMMUNICATOR};

use super::tagged::LOCAL_GROUP;
use super::{Local, Recorder, Slot, Thread};
use crate::communicators::HowMade;
use crate::hooks::Part;
use crate::mpi::{Handle, HandleMap, MpiLibrary};

/// The library's tags for collectives are this or less; above are those of applications (from 0),
/// and the one that stands for any (-1).
const FIRST_COLLECTIVE_TAG: i32 = -10;

/// The lowest tag of a nonblocking collective: below are those of neighborhoods.
///
/// # Source
/// `coll_tags.h` of Open MPI 4.0 to 5.0: `MCA_COLL_BASE_TAG_NONBLOCKING_END`.
const LAST_NONBLOCKING_TAG: i32 = -(i32::MAX / 2) + 1;

/// Above, as many tags as any version has for blocking operations.
const FIRST_TAG_AGAIN: i32 = -64;

/// What records have of a tag: its lower half. On each communicator nonblocking collectives have
/// one tag after the other; those that are lower than fits begin again, and not at the tags of
/// blocking operations.
#[inline]
fn recorded_tag(tag: i32) -> u16 {
    if tag < i16::MIN.into() {
        tag_again(tag) as u16
    } else {
        tag as u16
    }
}

#[cold]
fn tag_again(tag: i32) -> i32 {
    let n_again = FIRST_TAG_AGAIN - i32::from(i16::MIN);
    if tag < LAST_NONBLOCKING_TAG {
        tag
    } else {
        FIRST_TAG_AGAIN - (FIRST_TAG_AGAIN - tag) % n_again
    }
}

/// The arguments of a send or receive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawMessage {
    direction: Direction,
    count: usize,
    datatype: Handle,
    partner: i32,
    tag: i32,
    comm: Handle,
}

impl RawMessage {
    /// From machine words as the library passes them: of `partner` and `tag` the lower half counts.
    #[inline]
    pub(crate) fn new(
        direction: Direction,
        count: usize,
        datatype: Handle,
        partner: usize,
        tag: usize,
        comm: Handle,
    ) -> Self {
        Self {
            direction,
            count,
            datatype,
            partner: partner as i32,
            tag: tag as i32,
            comm,
        }
    }
}

/// When a message ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Post {
    /// When the call returns.
    Blocking,
    /// A nonblocking send: when the call returns, its begin is known, and nobody looks at its end.
    Started,
    /// A nonblocking receive: when the library has waited for the request that it puts here.
    Awaited {
        /// Address of the request.
        request: usize,
    },
}

/// What a thread knows of the receives that it has posted within the present call.
#[derive(Debug, Default)]
pub(super) struct Receives(UnsafeCell<Posted>);

// SAFETY: a thread's state is used by one thread at a time, and `Receives` by no other.
unsafe impl Sync for Receives {}

impl Receives {
    /// Forgets those of a thread that has ended, for another one that goes on with its state.
    ///
    /// # Safety
    /// The calling thread is that one.
    pub(super) unsafe fn forget(&self) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() = Posted::default() };
    }

    /// Forgets those of calls that were left by a jump, perhaps out of the middle of a change: what
    /// they hold is never freed.
    ///
    /// # Safety
    /// The calling thread is that whose they are.
    pub(super) unsafe fn leave_behind(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.get().write(Posted::default()) };
    }
}

#[derive(Debug, Default)]
struct Posted {
    /// In which of the thread's calls.
    call: u64,
    by_request: ByRequest,
    /// Requests that the library can start, made in the same call.
    startable: HandleMap<RawMessage>,
    /// Those that are waited for now: of calls within calls, one behind the other.
    awaited: Vec<Slot>,
    /// The request that was completed last, but had not been posted yet as far as is known here.
    completed: Handle,
}

impl Posted {
    /// Forgets what belongs to another call than this one.
    #[inline]
    fn begin(&mut self, call: u64) {
        if self.call != call {
            self.by_request.clear();
            if !self.startable.is_empty() {
                self.startable.clear();
            }
            self.call = call;
        }
    }
}

/// Receives that are searched one after the other: most calls have no more under way at a time.
const FEW: usize = 8;

/// Receives by their requests. A request that is posted again stands for the newer one.
#[derive(Debug, Default)]
struct ByRequest {
    few: [Option<(Handle, Slot)>; FEW],
    n_few: usize,
    many: HandleMap<Slot>,
}

impl ByRequest {
    #[inline]
    fn is_empty(&self) -> bool {
        self.n_few == 0 && self.many.is_empty()
    }

    #[inline]
    fn clear(&mut self) {
        self.n_few = 0;
        if !self.many.is_empty() {
            self.many.clear();
        }
    }

    #[inline]
    fn insert(&mut self, request: Handle, slot: Slot) {
        match self.few.get_mut(self.n_few) {
            Some(place) => {
                *place = Some((request, slot));
                self.n_few += 1;
            }
            None => {
                self.many.insert(request, slot);
            }
        }
    }

    /// Where the ends of all of them will be stored.
    fn slots(&self) -> impl Iterator<Item = Slot> {
        let few = self.few[..self.n_few.min(FEW)].iter().flatten();
        let few = few.map(|(_, slot)| *slot);
        few.chain(self.many.values().copied())
    }

    /// Forgets those whose slots are not as wanted.
    fn retain(&mut self, is_wanted: impl Fn(Slot) -> bool) {
        let mut n = 0;
        for at in 0..self.n_few.min(FEW) {
            if self.few[at].is_some_and(|(_, slot)| is_wanted(slot)) {
                self.few[n] = self.few[at];
                n += 1;
            }
        }
        self.n_few = n;
        self.many.retain(|_, slot| is_wanted(*slot));
    }

    /// Where a request stands among the few.
    #[inline]
    fn place(&self, request: Handle) -> Option<usize> {
        let few = &self.few[..self.n_few.min(FEW)];
        few.iter()
            .rposition(|place| place.is_some_and(|(other, _)| other == request))
    }

    #[inline]
    fn get(&self, request: Handle) -> Option<Slot> {
        // What did not fit among the few any more is newer.
        if !self.many.is_empty()
            && let Some(&slot) = self.many.get(&request)
        {
            return Some(slot);
        }
        self.few[self.place(request)?].map(|(_, slot)| slot)
    }

    #[inline]
    fn remove(&mut self, request: Handle) -> Option<Slot> {
        if !self.many.is_empty()
            && let Some(slot) = self.many.remove(&request)
        {
            return Some(slot);
        }
        let at = self.place(request)?;
        self.n_few -= 1;
        // The order counts among those with the same request only, of which the newest is searched
        // for; older ones have been waited for.
        self.few.swap(at, self.n_few);
        self.few[self.n_few].map(|(_, slot)| slot)
    }
}

/// World ranks of the processes that messages on a communicator may come from and go to.
#[derive(Debug, Default)]
pub(crate) struct Partners {
    tables: Mutex<HandleMap<Box<[u32]>>>,
    epoch: AtomicU64,
    /// By world rank the lowest rank on its host, where that is known.
    hosts: OnceLock<Box<[u32]>>,
}

/// What a thread keeps of the communicator that its last message travelled on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    comm: Handle,
    epoch: u64,
    /// Index of its definition, or [`UNKNOWN_COMMUNICATOR`].
    index: u32,
    /// Null where ranks in it are world ranks.
    world_ranks: *const u32,
    n: u32,
}

impl Route {
    /// Of no communicator.
    pub(super) const NONE: Self = Self {
        comm: 0,
        epoch: u64::MAX,
        index: UNKNOWN_COMMUNICATOR,
        world_ranks: std::ptr::null(),
        n: 0,
    };

    /// Where nothing is known of the processes; `key` stands for the communicator.
    pub(super) fn of_nothing(key: usize, epoch: u64) -> Self {
        let nothing: &[u32] = &[];
        Self {
            comm: key,
            epoch,
            world_ranks: nothing.as_ptr(),
            ..Self::NONE
        }
    }

    /// Where ranks are world ranks.
    pub(super) fn of_world(key: usize, epoch: u64) -> Self {
        Self {
            comm: key,
            epoch,
            ..Self::NONE
        }
    }

    pub(super) fn with_index(self, index: u32) -> Self {
        Self { index, ..self }
    }

    #[inline]
    pub(super) fn is_of(&self, key: usize, epoch: u64) -> bool {
        self.comm == key && self.epoch == epoch
    }

    #[inline]
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// World rank of `rank` in the communicator; [`NO_RANK`] for what is no rank.
    #[inline]
    pub(super) fn world_rank(&self, rank: i32) -> u32 {
        match u32::try_from(rank) {
            Ok(rank) if self.world_ranks.is_null() => rank,
            // SAFETY: a table of `n` ranks, which is there as long as the epoch stays.
            Ok(rank) if rank < self.n => unsafe { *self.world_ranks.add(rank as usize) },
            _ => NO_RANK,
        }
    }
}

/// What of the key of a table tells that it has only the processes on this host, or only one of each
/// host: bits that no handle has.
const HOST_PART: Handle = 1 << 62;
const LEADERS_PART: Handle = 1 << 61;

/// Those of some world ranks that are in a part of their communicator, as MPICH makes them: its
/// order stays, and of each host the first one leads.
fn ranks_of_part(all: &[u32], part: Part, own_rank: u32, hosts: &[u32]) -> Box<[u32]> {
    let host = |rank: u32| hosts.get(rank as usize);
    let mut seen = Vec::new();
    let is_in_part = |rank: &&u32| match part {
        Part::Whole => true,
        Part::Host => host(**rank) == host(own_rank),
        Part::Leaders => {
            let is_first = !seen.contains(&host(**rank));
            if is_first {
                seen.push(host(**rank));
            }
            is_first
        }
        Part::Merged => false,
    };
    all.iter().filter(is_in_part).copied().collect()
}

impl Partners {
    /// Notes the processes of a communicator that the library has just made ready.
    ///
    /// # Safety
    /// `comm` is a valid communicator.
    pub(crate) unsafe fn add(&self, library: &MpiLibrary, comm: Handle) {
        // SAFETY: the caller's promise; the group that is asked for has so many members.
        let ranks = unsafe {
            match library.remote_size(comm) {
                0 => library.world_ranks(comm, false, library.size(comm)),
                n => library.world_ranks(comm, true, n),
            }
        };
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(comm, ranks.into_boxed_slice());
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Notes the processes of a communicator that a constructor has made of `parent`, and of an
    /// intercommunicator also those of the local group.
    ///
    /// # Safety
    /// `parent` is a valid communicator, and `made` too, unless it is a copy.
    pub(super) unsafe fn add_made(
        &self,
        library: &MpiLibrary,
        made: Handle,
        parent: Handle,
        how: HowMade,
    ) {
        let asked = match how {
            HowMade::Copy => library.handle(parent),
            _ => made,
        };
        // SAFETY: the caller's promise; the group that is asked for has so many members.
        let [all, local] = unsafe {
            let local = library.world_ranks(asked, false, library.size(asked));
            match library.remote_size(asked) {
                0 => [local, Vec::new()],
                n => [library.world_ranks(asked, true, n), local],
            }
        };
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(made, all.into_boxed_slice());
        if !local.is_empty() {
            tables.insert(made | LOCAL_GROUP, local.into_boxed_slice());
        }
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Forgets a communicator that is given back.
    pub(super) fn forget(&self, comm: Handle) {
        for group in [comm, comm | LOCAL_GROUP] {
            for part in [0, HOST_PART, LEADERS_PART] {
                self.remove(group | part);
            }
        }
    }

    /// Notes which processes of the world share a host: by rank the lowest one on its host.
    pub(crate) fn know_hosts(&self, lowest: Vec<u32>) {
        // The same each time.
        let _ = self.hosts.set(lowest.into_boxed_slice());
    }

    /// The way to some of the processes in the table of a communicator, in their order there; `None`
    /// for that of the world. To nobody where the hosts are not known, or which group comes first.
    pub(super) fn route_of_part(
        &self,
        table: Option<Handle>,
        part: Part,
        own_rank: u32,
        (key, epoch): (usize, u64),
    ) -> Route {
        let Some(hosts) = self.hosts.get() else {
            return Route::of_nothing(key, epoch);
        };
        let bit = match part {
            Part::Whole => 0,
            Part::Host => HOST_PART,
            Part::Leaders => LEADERS_PART,
            Part::Merged => return Route::of_nothing(key, epoch),
        };
        let of_part = table.unwrap_or(0) | bit;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if !tables.contains_key(&of_part) {
            let world: Vec<u32>;
            let all: &[u32] = match table {
                Some(table) => tables.get(&table).map_or(&[], |ranks| ranks),
                None => {
                    world = (0..hosts.len() as u32).collect();
                    &world
                }
            };
            let ranks = ranks_of_part(all, part, own_rank, hosts);
            if !ranks.is_empty() {
                tables.insert(of_part, ranks);
            }
        }
        drop(tables);
        self.route(of_part, key, epoch)
    }

    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The way to the processes in the table of a communicator.
    pub(super) fn route(&self, comm: Handle, key: usize, epoch: u64) -> Route {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let ranks: &[u32] = tables.get(&comm).map_or(&[], |ranks| ranks);
        Route {
            world_ranks: ranks.as_ptr(),
            n: ranks.len() as u32,
            ..Route::of_nothing(key, epoch)
        }
    }

    fn remove(&self, comm: Handle) {
        // First: who looks at the epoch after the table is gone finds it changed.
        self.epoch.fetch_add(1, Ordering::Release);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.remove(&comm);
    }
}

impl Local {
    #[inline]
    fn route(&self, recorder: &'static Recorder, comm: Handle) -> Route {
        let epoch = recorder
            .communicators
            .generation()
            .wrapping_add(recorder.partners.epoch());
        let route = self.route.get();
        if route.is_of(comm, epoch) {
            return route;
        }
        self.find_route(recorder, comm, epoch)
    }

    #[cold]
    fn find_route(&self, recorder: &'static Recorder, comm: Handle, epoch: u64) -> Route {
        let Some(_at_work) = self.begin_work(recorder) else {
            return Route::of_nothing(comm, epoch);
        };
        let route = if comm == recorder.library.comm_world {
            Route::of_world(comm, epoch)
        } else {
            recorder.partners.route(comm, comm, epoch)
        };
        let entry = recorder.communicators.find(comm);
        let route = route.with_index(entry.map_or(UNKNOWN_COMMUNICATOR, |entry| entry.index));
        self.route.set(route);
        route
    }
}

/// Sends or receives a message, and records it if it is the library's own.
#[inline]
pub(crate) fn message(raw: RawMessage, post: Post, real: impl FnOnce() -> c_int) -> c_int {
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

/// Makes a request by which the library may start a message of its own; at `request` it puts it.
pub(crate) fn startable_message(
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
/// At `requests` there are so many requests.
pub(crate) unsafe fn start_messages(
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
        // SAFETY: the caller's promise.
        let request = unsafe { recorder.library.handle_at(requests, i) };
        if let Some(raw) = local.startable(request) {
            let slot = local.begin_message(recorder, &raw, true);
            // At once: for those behind it a chunk may be opened.
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
    /// Writes and stamps the record of an end that begins now.
    #[inline(always)]
    fn begin_message(
        &self,
        recorder: &'static Recorder,
        raw: &RawMessage,
        is_nonblocking: bool,
    ) -> Slot {
        let slot = self.take_slot_of_part(recorder);
        let route = self.route(recorder, raw.comm);
        // SAFETY: the library passes a datatype.
        let type_bytes = unsafe { recorder.library.type_bytes(raw.datatype) };
        let message = Message {
            direction: raw.direction,
            is_nonblocking,
            partner: route.world_rank(raw.partner),
            communicator: route.index,
            tag: recorded_tag(raw.tag),
            bytes: type_bytes.unwrap_or(0).saturating_mul(raw.count as u64),
        };
        slot.write(message.words());
        slot.stamp(recorder.clock.now());
        slot
    }

    /// Notes what a request will do once it is started, within the present call.
    fn note_startable(&self, request: Handle, raw: RawMessage) {
        if self.has_entered() {
            let call = self.calls.get();
            self.with_posted(|posted| {
                posted.begin(call);
                posted.startable.insert(request, raw);
            });
        }
    }

    /// Whether there is any that was noted within the present call.
    fn may_start(&self) -> bool {
        let call = self.calls.get();
        self.with_posted(|posted| posted.call == call && !posted.startable.is_empty()) == Some(true)
    }

    fn startable(&self, request: Handle) -> Option<RawMessage> {
        self.with_posted(|posted| posted.startable.get(&request).copied())?
    }

    /// Notes a receive that was posted, until the library waits for it.
    #[inline(always)]
    pub(super) fn await_receive(&self, request: Handle, slot: Slot) {
        let Some(thread) = self.thread.get().filter(|_| self.may_await(slot)) else {
            return;
        };
        // SAFETY: this thread's own, and nothing that is called here comes back to it.
        let posted = unsafe { &mut *thread.receives.0.get() };
        posted.begin(self.calls.get());
        posted.by_request.insert(request, slot);
    }

    /// Whether the end of what is in a slot can be stored later. In a thread of the library's own no
    /// call is under way that would keep the chunk.
    #[inline]
    pub(super) fn may_await(&self, slot: Slot) -> bool {
        !slot.is_null() && self.has_entered()
    }

    /// Before a receive is posted: whichever is completed from now on may be that one.
    pub(super) fn forget_completed(&self) {
        self.with_posted(|posted| posted.completed = 0);
    }

    /// Whether a receive was completed while it was posted.
    pub(super) fn was_completed(&self, request: Handle) -> bool {
        self.with_posted(|posted| posted.completed == request) == Some(true)
    }

    /// A receive has come, at a time in ticks.
    pub(super) fn receive_is_complete(&self, request: Handle, now: u64) {
        let call = self.calls.get();
        self.with_posted(|posted| {
            posted.completed = request;
            let slot = posted.by_request.remove(request);
            if let Some(slot) = slot.filter(|_| posted.call == call) {
                slot.leave(0, now);
            }
        });
    }

    /// The receives of this thread whose ends may still be stored, when a chunk is opened in it. In
    /// no call only those in the chunk that is full now are kept in mind.
    pub(super) fn receives_under_way(&self, thread: &Thread) -> Vec<Slot> {
        // SAFETY: this thread's own, and nothing that is called here comes back to it.
        let posted = unsafe { &mut *thread.receives.0.get() };
        if !self.has_entered() {
            let full = thread.taken();
            posted.by_request.retain(|slot| full.has(slot));
        }
        let of_this_call = (posted.call == self.calls.get()).then(|| posted.by_request.slots());
        let of_this_call = of_this_call.into_iter().flatten();
        let awaited = posted.awaited.iter().copied();
        let all = of_this_call.chain(awaited);
        all.filter(|slot| !slot.is_null()).collect()
    }

    fn with_posted<T>(&self, with: impl FnOnce(&mut Posted) -> T) -> Option<T> {
        let thread = self.thread.get()?;
        // SAFETY: this thread's own, and what is called here does not come back to it.
        Some(with(unsafe { &mut *thread.receives.0.get() }))
    }

    /// Takes the receives among `n` requests that are about to be waited for; gives where they
    /// begin in the list.
    ///
    /// # Safety
    /// At `requests` there are so many requests.
    unsafe fn take_receives(
        &self,
        recorder: &'static Recorder,
        requests: usize,
        n: usize,
        until: Until,
    ) -> Option<(&'static Receives, usize)> {
        let receives = &self.thread.get()?.receives;
        // SAFETY: this thread's own, and nothing that is called here comes back to it.
        let posted = unsafe { &mut *receives.0.get() };
        // Behind the call a request is another one's.
        let is_within = posted.call == self.calls.get() && self.has_entered();
        if !is_within || posted.by_request.is_empty() {
            return None;
        }
        let begin = posted.awaited.len();
        for i in 0..n {
            // SAFETY: the caller's promise.
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

/// How many of some requests are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    All,
    One,
}

/// Waits for all of `n` requests; the receives among them have come then.
///
/// # Safety
/// At `requests` there are so many requests.
#[inline]
pub(crate) unsafe fn wait_for_many(
    requests: usize,
    n: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { wait_for(requests, n, Until::All, real, |_| true) }
}

/// Waits for one of `n` requests, whose number the library puts at `which`.
///
/// # Safety
/// At `requests` there are so many requests, and `which` is the address of a C `int`.
#[inline]
pub(crate) unsafe fn wait_for_any(
    requests: usize,
    n: usize,
    which: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        wait_for(requests, n, Until::One, real, |i| {
            usize::try_from((which as *const c_int).read()) == Ok(i)
        })
    }
}

/// # Safety
/// At `requests` there are `n` requests.
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
    // SAFETY: the caller's promise.
    let Some((receives, begin)) = (unsafe { local.take_receives(recorder, requests, n, until) })
    else {
        return real();
    };
    let code = real();
    let now = recorder.clock.now();
    // SAFETY: as in `take_receives`.
    let posted = unsafe { &mut *receives.0.get() };
    for (i, slot) in posted.awaited.drain(begin..).enumerate() {
        if code == 0 && has_come(i) && !slot.has_left() {
            slot.leave(0, now);
        }
    }
    code
}

/// The library has made a communicator ready, the application's or its own.
pub(crate) fn communicator_appears(comm: Handle) {
    if let Some(recorder) = Recorder::active() {
        recorder.guarded(|| {
            // SAFETY: a communicator that the library has just made ready.
            unsafe { recorder.partners.add(&recorder.library, comm) };
            Ok(())
        });
    }
}

/// The library gives a communicator back.
pub(crate) fn communicator_goes(comm: Handle) {
    if let Some(recorder) = Recorder::active() {
        recorder.guarded(|| {
            recorder.partners.remove(comm);
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::slot::tests::slot_at;

    #[test]
    fn tags_too_low_to_be_recorded_are_none_of_blocking_operations() {
        for tag in [-10, -26, -34, -32_768, LAST_NONBLOCKING_TAG - 1] {
            assert_eq!(recorded_tag(tag), tag as u16);
        }
        let again = |n: i32| recorded_tag(i32::from(i16::MIN) - n) as i16;
        assert_eq!([again(1), again(2), again(3)], [-65, -66, -67]);
        for tag in (-200_000..-32_768).chain([LAST_NONBLOCKING_TAG]) {
            assert!((recorded_tag(tag) as i16) <= -64, "{tag}");
        }
    }

    #[test]
    fn receives_are_found_by_their_requests_be_they_few_or_many() {
        let slot = slot_at;
        let mut receives = ByRequest::default();
        for n in 1..=3 * FEW {
            receives.insert(n, slot(n));
        }
        assert_eq!(
            receives.get(2 * FEW).map(Slot::address),
            Some(slot(2 * FEW).address())
        );
        for n in [FEW, 2 * FEW, 1, 3 * FEW] {
            assert_eq!(
                receives.remove(n).map(Slot::address),
                Some(slot(n).address())
            );
            assert!(
                receives.get(n).is_none() && receives.remove(n).is_none(),
                "{n}"
            );
        }
        // The same request again: the newer one counts, wherever it stands.
        receives.insert(2, slot(100));
        assert_eq!(
            receives.get(2).map(Slot::address),
            Some(slot(100).address())
        );
        receives.clear();
        assert!(receives.is_empty() && receives.get(3).is_none());
        receives.insert(7, slot(1));
        receives.insert(7, slot(2));
        assert_eq!(
            receives.remove(7).map(Slot::address),
            Some(slot(2).address())
        );
    }
}

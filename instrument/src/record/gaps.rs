//! Time in calls that have no records of their own: point-to-point communication, file access and
//! synchronization of windows.
//!
//! A thread adds up what it does in its cells. The sums become notes when its next slot is taken for
//! a call: having any holds the thread's cursor, so that the call finds no free slot and gets to the
//! cold path on which chunks are opened. So calls that follow none of these cost no instruction more.

use std::cell::Cell;
use std::ffi::c_int;

use collbench_formats::{Activity, GapTime, NO_RANK};

use super::local::Local;
use super::nesting::{CallScope, guarded_call};
use super::recorder::Recorder;
use super::thread::Thread;
use crate::file::GrowError;
use crate::messages::RouteKey;
use crate::mpi::Handle;

/// The process that a call is about, as its arguments say it.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The communicator argument; 0 if there is none.
    pub comm: usize,
    /// The rank in it (in the remote group of an intercommunicator). Negative: none, or any.
    pub rank: i32,
    /// The address of the status of a receive or probe; 0 if there is none.
    pub status: usize,
}

impl Peer {
    /// Not known.
    pub const UNKNOWN: Self = Self {
        comm: 0,
        rank: -1,
        status: 0,
    };
}

/// An operation that a thread has started: its request, and the other process.
#[derive(Debug, Clone, Copy)]
struct Started {
    request: Handle,
    comm: usize,
    rank: i32,
    is_receive: bool,
}

/// Operations of a thread whose other process is remembered, at most.
const STARTED: usize = 64;
const _: () = assert!(STARTED.is_power_of_two());

/// Requests of one call that are looked at, at most.
const MOST_REQUESTS: usize = 64;

/// Sends of at most this size are not timed: MPI libraries take the data and return, without waiting
/// for the receiver. Open MPI 4 waits within a host from 257 bytes on, until the receiver looks for messages.
const BRIEF_BYTES: u64 = 256;

/// What a thread did since its last record, in calls of one activity.
struct Sum {
    ticks: Cell<u64>,
    n_calls: Cell<u32>,
    longest_ticks: Cell<u64>,
    /// Communicator and rank of the longest call.
    peer: Cell<(usize, i32)>,
}

/// Polls that follow each other at once.
#[derive(Debug, Clone, Copy)]
struct PollsInARow {
    /// Enter of the first poll and leave of the last one, ticks.
    begin: u64,
    end: u64,
    /// [`Local::calls`] at the last poll.
    call: u64,
}

/// What a thread did since its last record, in calls that have none of their own.
pub(super) struct ThreadGaps {
    sums: [Sum; Activity::ALL.len()],
    polls: Cell<PollsInARow>,
    started: [Cell<Started>; STARTED],
}

/// The calls that a note counts, at most.
const MOST_CALLS: u32 = u16::MAX as u32;

impl Sum {
    const fn new() -> Self {
        Self {
            ticks: Cell::new(0),
            n_calls: Cell::new(0),
            longest_ticks: Cell::new(0),
            peer: Cell::new((0, -1)),
        }
    }

    /// Adds `n` calls that took `ticks`; the longest of them took `longest`. Returns whether a note
    /// must be written.
    #[inline(always)]
    fn add(&self, n: u32, ticks: u64, longest: u64, peer: impl FnOnce() -> (usize, i32)) -> bool {
        self.ticks.set(self.ticks.get().saturating_add(ticks));
        let n_calls = self.n_calls.get() + n;
        self.n_calls.set(n_calls);
        if longest > self.longest_ticks.get() {
            self.longest_ticks.set(longest);
            self.peer.set(peer());
        }
        n_calls >= MOST_CALLS
    }

    /// Takes the sum, which is 0 afterwards; `None` if it was 0.
    fn take(&self, activity: Activity) -> Option<(GapTime, (usize, i32))> {
        let (ticks, n_calls) = (self.ticks.replace(0), self.n_calls.replace(0));
        let longest_ticks = self.longest_ticks.replace(0);
        let gap = GapTime {
            activity,
            ticks,
            n_calls: n_calls.min(MOST_CALLS) as u16,
            longest_ticks,
            partner: NO_RANK,
        };
        (n_calls > 0 || ticks > 0).then(|| (gap, self.peer.replace((0, -1))))
    }
}

impl ThreadGaps {
    pub(super) const fn new() -> Self {
        Self {
            sums: [const { Sum::new() }; Activity::ALL.len()],
            polls: Cell::new(PollsInARow {
                begin: 0,
                end: 0,
                call: u64::MAX,
            }),
            started: [const {
                Cell::new(Started {
                    request: 0,
                    comm: 0,
                    rank: -1,
                    is_receive: false,
                })
            }; STARTED],
        }
    }

    /// The place of a request. Handles are addresses at equal distances, or small numbers; one that is
    /// started later may take the place of another.
    #[inline(always)]
    fn place_of(&self, request: Handle) -> &Cell<Started> {
        let hash = (request as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.started[(hash >> (64 - STARTED.trailing_zeros())) as usize]
    }

    #[inline(always)]
    fn sum(&self, activity: Activity) -> &Sum {
        &self.sums[activity as usize]
    }
}

impl Recorder {
    /// Whether calls of this activity are timed.
    #[inline(always)]
    fn times(&self, activity: Activity) -> bool {
        match activity {
            Activity::PointToPoint | Activity::Polling => self.layers.p2p,
            Activity::Io | Activity::Rma => true,
        }
    }
}

impl Local {
    /// Holds the cursor, since there is something to note before the next call.
    #[inline(always)]
    fn hold(&self, recorder: &'static Recorder, is_full: bool) {
        if let Some(thread) = self.thread.get() {
            thread.cursor.hold();
        }
        if is_full {
            self.note_at_once(recorder);
        }
    }

    /// Writes what there is although the gap goes on.
    #[cold]
    fn note_at_once(&self, recorder: &'static Recorder) {
        if recorder.file.is_stopped() {
            return;
        }
        recorder.guarded(|| {
            let thread = self.thread_of(recorder);
            thread.cursor.release();
            self.write_gap(recorder, thread)
        });
    }

    /// Adds a poll that was entered and left at these times.
    fn add_poll(
        &self,
        recorder: &'static Recorder,
        [enter, leave]: [u64; 2],
        is_successful: bool,
        peer: impl FnOnce() -> (usize, i32),
    ) {
        let call = self.calls.get();
        let before = self.gaps.polls.get();
        let follows = before.call.wrapping_add(1) == call
            && enter.saturating_sub(before.end) <= recorder.poll_ticks;
        let from = if follows { before.end } else { enter };
        let begin = if follows { before.begin } else { enter };
        self.gaps.polls.set(PollsInARow {
            begin,
            end: leave,
            call: if is_successful { u64::MAX } else { call },
        });
        let (ticks, longest) = (leave.saturating_sub(from), leave.saturating_sub(begin));
        let is_full = if is_successful && !follows {
            let sum = self.gaps.sum(Activity::PointToPoint);
            sum.add(1, ticks, ticks, peer)
        } else {
            let sum = self.gaps.sum(Activity::Polling);
            sum.add(u32::from(!is_successful), ticks, longest, peer)
        };
        self.hold(recorder, is_full);
    }

    /// Writes notes on the calls since the last record; only on a guarded path, with the cursor
    /// released.
    pub(super) fn write_gap(
        &self,
        recorder: &'static Recorder,
        thread: &'static Thread,
    ) -> Result<(), GrowError> {
        for activity in Activity::ALL {
            let Some((gap, (comm, rank))) = self.gaps.sum(activity).take(activity) else {
                continue;
            };
            let partner = recorder.world_rank(comm, rank);
            self.make_room(recorder, thread)?;
            let slot = thread.cursor.take_first();
            slot.write(GapTime { partner, ..gap }.words());
            slot.stamp(recorder.clock.now());
        }
        Ok(())
    }
}

impl Recorder {
    /// World rank of a process by its rank in a communicator of the application; [`NO_RANK`] where
    /// it is not known.
    fn world_rank(&self, comm: usize, rank: i32) -> u32 {
        let comm = self.library.handle(comm);
        if rank < 0 || comm == 0 || !self.library.knows_handles() {
            return NO_RANK;
        }
        let key = RouteKey { of: comm, epoch: 0 };
        if comm == self.library.comm_world {
            rank.cast_unsigned()
        } else if self.records_messages() {
            self.partners.route(comm, key).world_rank(rank)
        } else if self.library.is_multithreaded() {
            // Another thread may have freed it meanwhile.
            NO_RANK
        } else {
            // SAFETY: a call on the communicator has succeeded in this thread, and freeing it is a
            // call before which notes are written.
            unsafe { self.library.world_rank(comm, rank) }
        }
    }

    /// Whether a send is brief.
    #[inline(always)]
    fn is_brief(&self, count: usize, datatype: usize) -> bool {
        let count = u64::from(count as u32);
        // SAFETY: MPI requires a datatype here.
        let bytes = unsafe { self.library.type_bytes(datatype) };
        bytes.is_some_and(|bytes| bytes.saturating_mul(count) <= BRIEF_BYTES)
    }

    /// Communicator and rank of the process that a call was about; of a receive from any process,
    /// the one that its status names.
    fn peer_after(&self, peer: Peer, code: c_int) -> (usize, i32) {
        if code != 0 {
            return (0, -1);
        }
        let rank = match peer.rank {
            rank if rank < 0 && rank != self.library.proc_null => {
                // SAFETY: the call has succeeded, so there is a status at this address, if it is
                // one.
                unsafe { self.library.source_of(peer.status) }
            }
            rank => Some(rank),
        };
        (peer.comm, rank.unwrap_or(-1))
    }
}

/// Makes a call that has no record of its own, and adds its time to the sums of its activity.
#[inline(always)]
pub fn timed_call(activity: Activity, peer: Peer, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let recorder = match Recorder::active() {
        // Inside another call, it is not the application's (or that call has its time). Whether the
        // program has left that call by a jump is found at the next call that is recorded.
        Some(recorder) if recorder.times(activity) && !local.has_entered() => recorder,
        _ if activity == Activity::PointToPoint => return real(),
        _ => return guarded_call(real),
    };
    let inside = CallScope::enter(local);
    let enter = recorder.clock.now();
    let code = real();
    let leave = recorder.clock.now();
    drop(inside);
    let ticks = leave.saturating_sub(enter);
    let peer = || recorder.peer_after(peer, code);
    let is_full = local.gaps.sum(activity).add(1, ticks, ticks, peer);
    local.hold(recorder, is_full);
    code
}

/// Makes a standard send, which is timed unless it is brief.
#[inline(always)]
pub fn send_call(count: usize, datatype: usize, peer: Peer, real: impl FnOnce() -> c_int) -> c_int {
    match Recorder::active() {
        Some(recorder) if recorder.layers.p2p && !recorder.is_brief(count, datatype) => {
            timed_call(Activity::PointToPoint, peer, real)
        }
        _ => real(),
    }
}

/// Makes a call that starts a send or receive, or makes a request for it; `request` is the address
/// where the MPI library stores its handle. The other process is remembered for the call that waits.
#[inline(always)]
pub fn begin_transfer_call(
    request: usize,
    is_receive: bool,
    peer: Peer,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let code = real();
    if let Some(recorder) = Recorder::active()
        && recorder.layers.p2p
        && recorder.library.knows_handles()
        && code == 0
    {
        // SAFETY: the call has succeeded, so it has stored a handle there.
        let request = unsafe { recorder.library.handle_at(request, 0) };
        let place = Local::of_this_thread().gaps.place_of(request);
        place.set(Started {
            request,
            comm: peer.comm,
            rank: peer.rank,
            is_receive,
        });
    }
    code
}

/// The process that a call waits for which completes `n` requests at this address; of several
/// receives, only if all are from one. `status` is the address of the status of a single request.
#[inline(always)]
pub(super) fn peer_of_requests(requests: usize, n: usize, status: usize) -> Peer {
    let Some(recorder) = Recorder::active().filter(|recorder| recorder.layers.p2p) else {
        return Peer::UNKNOWN;
    };
    let local = Local::of_this_thread();
    let is_decoded = recorder.library.knows_handles() && requests != 0 && n <= MOST_REQUESTS;
    if !is_decoded || local.has_entered() {
        return Peer::UNKNOWN;
    }
    // Sends only count where there is no receive.
    let mut of_all: [Option<Started>; 2] = [None; 2];
    let mut are_several = [false; 2];
    for at in 0..n {
        // SAFETY: MPI requires an array of `n` requests here.
        let request = unsafe { recorder.library.handle_at(requests, at) };
        let started = local.gaps.place_of(request).get();
        if started.request != request || request == 0 {
            continue;
        }
        let kind = usize::from(started.is_receive);
        let first = of_all[kind].get_or_insert(started);
        are_several[kind] |= (first.comm, first.rank) != (started.comm, started.rank);
    }
    let [sends, receives] = of_all;
    let is_unclear = match receives {
        Some(_) => are_several[1],
        None => are_several[0],
    };
    match receives.or(sends).filter(|_| !is_unclear) {
        Some(started) => Peer {
            comm: started.comm,
            rank: started.rank,
            status: if n == 1 && started.is_receive {
                status
            } else {
                0
            },
        },
        None => Peer::UNKNOWN,
    }
}

/// Makes a call that tests or probes, and adds its time to the sums; `flag` is the address of the
/// `int` that says whether it was successful.
#[inline(always)]
pub fn poll_call(peer: Peer, flag: usize, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let recorder = match Recorder::active() {
        Some(recorder) if recorder.layers.p2p && !local.has_entered() => recorder,
        _ => return real(),
    };
    let inside = CallScope::enter(local);
    let enter = recorder.clock.now();
    let code = real();
    let leave = recorder.clock.now();
    drop(inside);
    // SAFETY: MPI requires the address of an `int` here, and has stored the flag there, unless the
    // call has failed.
    let is_successful = code != 0 || unsafe { (flag as *const c_int).read_unaligned() } != 0;
    let peer = || {
        if is_successful {
            recorder.peer_after(peer, code)
        } else {
            (peer.comm, peer.rank)
        }
    };
    local.add_poll(recorder, [enter, leave], is_successful, peer);
    code
}

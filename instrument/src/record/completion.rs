//! Calls that complete requests: which collectives they complete, and the time spent in them.
//!
//! The entries of a call's collectives are taken from the table before the call, and removed or put
//! back after it. Statuses, indexes and counts belong to the application, and are only read after
//! the call, where the standard defines them. A call whose requests are not of collectives has no
//! record; its time is added to that of point-to-point communication, if that is recorded.

use std::ffi::c_int;

use collbench_formats::{Activity, CompletingCall, Completion, Initiation, UnsuccessfulTests};

use super::gaps::{Peer, peer_of_requests, poll_call, timed_call};
use super::local::Local;
use super::nesting::CallScope;
use super::recorder::Recorder;
use super::requests::TakenRequest;
use crate::file::Slot;

/// Up to this many collectives of one call are found without allocation.
const FEW: usize = 32;

/// A collective among the requests of a call.
struct Found {
    taken: TakenRequest,
    /// Index of its request in the array of the call.
    at: usize,
    slots: CompletionSlots,
}

/// The slots for the end of one collective: for its unsuccessful tests, if there were any, and for
/// its completion, which follows.
#[derive(Clone, Copy)]
struct CompletionSlots {
    tests: Slot,
    completion: Slot,
}

/// The collectives among the requests of a call; the first `N` are stored without allocation.
struct FoundList<const N: usize> {
    few: [Option<Found>; N],
    more: Vec<Found>,
    n: u32,
}

impl<const N: usize> FoundList<N> {
    fn push(&mut self, found: Found) {
        match self.few.get_mut(self.n as usize) {
            Some(entry) => *entry = Some(found),
            None => self.more.push(found),
        }
        self.n += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &Found> {
        self.few.iter().flatten().chain(&self.more)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Found> {
        self.few.iter_mut().flatten().chain(&mut self.more)
    }

    fn into_iter(self) -> impl Iterator<Item = Found> {
        self.few.into_iter().flatten().chain(self.more)
    }
}

/// The requests of a call: `n` handles from `address` on.
#[derive(Clone, Copy)]
struct Array {
    address: usize,
    n: usize,
}

impl Array {
    /// From the arguments of a call, an `int` and an address.
    fn new(count: usize, address: usize) -> Self {
        let n = match address {
            0 => 0,
            _ => (count as i32).max(0) as usize,
        };
        Self { address, n }
    }

    /// The recorder, if one of these requests may be of a collective; `None` in internal calls of
    /// the library.
    #[inline]
    fn recorder(self, local: &Local) -> Option<&'static Recorder> {
        let recorder = Recorder::active()?;
        (recorder.requests.may_have_any() && self.n > 0 && local.is_own_call()).then_some(recorder)
    }

    /// Makes a call that waits for all of these, of which none is of a collective.
    #[inline(always)]
    fn wait(self, status: usize, real: impl FnOnce() -> c_int) -> c_int {
        let peer = peer_of_requests(self.address, self.n, status);
        timed_call(Activity::PointToPoint, peer, real)
    }

    /// Takes the entries of its collectives; `None` if there are none.
    #[inline]
    fn take<const N: usize>(
        self,
        recorder: &'static Recorder,
        local: &Local,
    ) -> Option<FoundList<N>> {
        let mut list: Option<FoundList<N>> = None;
        for at in 0..self.n {
            // SAFETY: MPI requires an array of `n` requests here.
            let handle = unsafe { recorder.library.handle_at(self.address, at) };
            if let Some(taken) = recorder.requests.take(handle, local.key()) {
                let nowhere = CompletionSlots {
                    tests: Slot::NONE,
                    completion: Slot::NONE,
                };
                list.get_or_insert_with(|| FoundList {
                    few: [const { None }; N],
                    more: Vec::new(),
                    n: 0,
                })
                .push(Found {
                    taken,
                    at,
                    slots: nowhere,
                });
            }
        }
        list
    }
}

/// The communicator field of the completion of an initiation.
fn index_of(of: Initiation) -> u32 {
    match of {
        Initiation::Nonblocking { communicator, .. } => communicator,
        Initiation::Persistent { definition, .. } => definition,
    }
}

impl Found {
    /// Takes the slots, and stores all words but the times. Must be inside a call, so that the
    /// chunk stays mapped.
    #[inline(always)]
    fn reserve(
        &mut self,
        recorder: &'static Recorder,
        local: &Local,
        by: CompletingCall,
        n_together: u32,
    ) {
        let tracked = self.taken.tracked();
        let Some(of) = tracked.of else { return };
        if tracked.n_tests > 0 {
            let tests = UnsuccessfulTests {
                of_index: index_of(of),
                n: tracked.n_tests,
                spent_ticks: tracked.tests_ticks,
            };
            self.slots.tests = local.take_slot_of_completion(recorder);
            self.slots.tests.write(tests.words(of, by));
        }
        let completion = Completion { of, by, n_together };
        self.slots.completion = local.take_slot_of_completion(recorder);
        self.slots.completion.write(completion.words());
    }

    #[inline]
    fn enter(&self, ticks: u64) {
        if !self.slots.tests.is_null() {
            self.slots.tests.stamp(ticks);
            self.slots.tests.leave(0, ticks);
        }
        self.slots.completion.stamp(ticks);
    }

    /// Stores the leave; the collective is complete if the call has succeeded.
    #[inline(always)]
    fn leave(self, recorder: &'static Recorder, array: Array, code: c_int, ticks: u64) {
        self.slots.completion.leave(code, ticks);
        if code == 0 || self.is_gone(recorder, array) {
            recorder.requests.remove(self.taken);
        } else {
            recorder.requests.put_back(self.taken);
        }
    }

    /// Whether a call that failed has nevertheless completed it: then its request is null.
    fn is_gone(&self, recorder: &Recorder, array: Array) -> bool {
        // SAFETY: the array still exists; MPI may have set its requests to null.
        let handle = unsafe { recorder.library.handle_at(array.address, self.at) };
        handle != self.taken.handle()
    }
}

/// Makes a call that completes all of its requests, including these collectives. The records are
/// there before the call, so that the trace shows a call in which the process dies.
fn complete_all<const N: usize>(
    recorder: &'static Recorder,
    local: &Local,
    by: CompletingCall,
    array: Array,
    mut found: FoundList<N>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let inside = CallScope::enter(local);
    let n = found.n;
    for found in found.iter_mut() {
        found.reserve(recorder, local, by, n);
    }
    let enter = recorder.clock.now();
    for found in found.iter() {
        found.enter(enter);
    }
    let code = real();
    let leave = recorder.clock.now();
    drop(inside);
    for found in found.into_iter() {
        found.leave(recorder, array, code, leave);
    }
    code
}

/// The requests that a call has completed.
enum Completed {
    Nothing,
    All,
    /// The request at this index; `MPI_UNDEFINED` (negative) for none.
    One(i32),
    /// The requests at these indexes, ascending.
    Some(Vec<i32>),
}

impl Completed {
    /// From the flag of a test.
    fn of_flag(flag: usize) -> Self {
        // SAFETY: MPI requires the address of an `int` here, and has stored the flag there.
        match unsafe { (flag as *const c_int).read_unaligned() } {
            0 => Self::Nothing,
            _ => Self::All,
        }
    }

    /// From a count (`MPI_UNDEFINED`, negative, for none) and an array of as many indexes.
    fn of_indices(outcount: usize, indices: usize) -> Self {
        let n = Self::read(outcount).max(0) as usize;
        let mut places: Vec<i32> = (0..n)
            .map(|i| Self::read(indices + i * size_of::<c_int>()))
            .collect();
        places.sort_unstable();
        Self::Some(places)
    }

    /// An `int` that the call has stored.
    fn read(address: usize) -> i32 {
        // SAFETY: MPI requires the address of an `int` here, and has stored a number there.
        unsafe { (address as *const c_int).read_unaligned() }
    }

    fn includes(&self, at: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::All => true,
            Self::One(index) => usize::try_from(*index) == Ok(at),
            Self::Some(indices) => indices.binary_search(&(at as i32)).is_ok(),
        }
    }
}

/// How a call that completes no collective is timed.
#[derive(Clone, Copy)]
enum Without {
    /// Timed as a call that waits.
    Waits,
    /// Timed as a poll, which is successful if the `int` at `flag` is not 0. `request` is the address of
    /// its only request, 0 if there may be several.
    Polls { flag: usize, request: usize },
}

impl Without {
    /// Makes a call whose requests are not of collectives.
    #[inline(always)]
    fn call(self, real: impl FnOnce() -> c_int) -> c_int {
        match self {
            Self::Waits => timed_call(Activity::PointToPoint, Peer::UNKNOWN, real),
            Self::Polls { flag, request } => {
                let peer = peer_of_requests(request, 1, 0);
                poll_call(peer, flag, real)
            }
        }
    }
}

/// Makes a call that need not complete all of its requests; after a success, `done` returns which
/// ones it completed.
#[inline(always)]
fn complete_some<const N: usize>(
    by: CompletingCall,
    array: Array,
    without: Without,
    real: impl FnOnce() -> c_int,
    done: impl FnOnce() -> Completed,
) -> c_int {
    let local = Local::of_this_thread();
    let Some(recorder) = array.recorder(local) else {
        return without.call(real);
    };
    let Some(found) = array.take::<N>(recorder, local) else {
        return without.call(real);
    };
    // Until all is recorded, since recording may make calls that are not the application's.
    let _inside = CallScope::enter(local);
    let enter = recorder.clock.now();
    let code = real();
    let leave = recorder.clock.now();
    let done = if code == 0 {
        done()
    } else {
        Completed::Nothing
    };
    let is_complete = |found: &Found| match code {
        0 => done.includes(found.at),
        _ => found.is_gone(recorder, array),
    };
    let n = found.n;
    let n_complete = found.iter().filter(|found| is_complete(found)).count() as u32;
    for mut found in found.into_iter() {
        if is_complete(&found) {
            found.reserve(recorder, local, by, n_complete);
            found.enter(enter);
            found.slots.completion.leave(code, leave);
            recorder.requests.remove(found.taken);
            continue;
        }
        if n_complete == 0 {
            let tracked = found.taken.tracked_mut();
            tracked.n_tests = tracked.n_tests.saturating_add(1);
            tracked.tests_ticks += leave.saturating_sub(enter) / u64::from(n);
        }
        recorder.requests.put_back(found.taken);
    }
    code
}

/// Makes the call of `MPI_Wait`.
#[inline(always)]
///
/// `status` is the address of the status.
pub fn wait_call(request: usize, status: usize, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let array = Array::new(1, request);
    let collective = array.recorder(local).and_then(|recorder| {
        // SAFETY: MPI requires the address of a request here, and it is not null.
        let handle = unsafe { recorder.library.handle_at(request, 0) };
        let taken = recorder.requests.take(handle, local.key())?;
        Some((recorder, taken))
    });
    let Some((recorder, taken)) = collective else {
        return array.wait(status, real);
    };
    let mut found = Found {
        taken,
        at: 0,
        slots: CompletionSlots {
            tests: Slot::NONE,
            completion: Slot::NONE,
        },
    };
    // Does what `complete_all` does, but without a list: this call must cost least.
    let inside = CallScope::enter(local);
    found.reserve(recorder, local, CompletingCall::Wait, 1);
    found.enter(recorder.clock.now());
    let code = real();
    let leave = recorder.clock.now();
    drop(inside);
    found.leave(recorder, array, code, leave);
    code
}

/// Makes the call of `MPI_Waitall`.
pub fn waitall_call(count: usize, requests: usize, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let array = Array::new(count, requests);
    let Some(recorder) = array.recorder(local) else {
        return array.wait(0, real);
    };
    match array.take::<FEW>(recorder, local) {
        Some(found) => complete_all(recorder, local, CompletingCall::Waitall, array, found, real),
        None => array.wait(0, real),
    }
}

/// Makes the call of `MPI_Waitany`; `index` is the address of the index.
pub fn waitany_call(
    count: usize,
    requests: usize,
    index: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let array = Array::new(count, requests);
    complete_some::<FEW>(CompletingCall::Waitany, array, Without::Waits, real, || {
        Completed::One(Completed::read(index))
    })
}

/// Makes the call of `MPI_Waitsome` or `MPI_Testsome` (`by`); `outcount` and `indices` are the
/// addresses of its results.
pub fn some_call(
    by: CompletingCall,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let array = Array::new(count, requests);
    let without = match by {
        CompletingCall::Testsome => Without::Polls {
            flag: outcount,
            request: 0,
        },
        _ => Without::Waits,
    };
    complete_some::<FEW>(by, array, without, real, || {
        Completed::of_indices(outcount, indices)
    })
}

/// Makes the call of `MPI_Test`; `flag` is the address of the flag.
pub fn test_call(request: usize, flag: usize, real: impl FnOnce() -> c_int) -> c_int {
    let (array, without) = (Array::new(1, request), Without::Polls { flag, request });
    complete_some::<1>(CompletingCall::Test, array, without, real, || {
        Completed::of_flag(flag)
    })
}

/// Makes the call of `MPI_Testall`; `flag` is the address of the flag.
pub fn testall_call(
    count: usize,
    requests: usize,
    flag: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    complete_some::<FEW>(
        CompletingCall::Testall,
        Array::new(count, requests),
        Without::Polls { flag, request: 0 },
        real,
        || Completed::of_flag(flag),
    )
}

/// Makes the call of `MPI_Testany`; `index` and `flag` are the addresses of its results.
pub fn testany_call(
    count: usize,
    requests: usize,
    index: usize,
    flag: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    complete_some::<FEW>(
        CompletingCall::Testany,
        Array::new(count, requests),
        Without::Polls { flag, request: 0 },
        real,
        || match Completed::of_flag(flag) {
            Completed::Nothing => Completed::Nothing,
            _ => Completed::One(Completed::read(index)),
        },
    )
}

/// Makes the call of `MPI_Request_get_status`: a test that completes nothing, whatever its result.
/// `request` is the handle itself, `flag` the address of the flag.
pub fn get_status_call(request: usize, flag: usize, real: impl FnOnce() -> c_int) -> c_int {
    let array = Array::new(1, std::ptr::from_ref(&request) as usize);
    let request = 0;
    let without = Without::Polls { flag, request };
    complete_some::<1>(CompletingCall::Test, array, without, real, || {
        Completed::Nothing
    })
}

/// Makes the call of `MPI_Request_free`: the end of a persistent collective. For an outstanding
/// collective, it is the last that the application can observe of it.
pub fn request_free_call(request: usize, real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    let array = Array::new(1, request);
    let Some(recorder) = Recorder::active() else {
        return real();
    };
    if array.n == 0 || !local.is_own_call() {
        return real();
    }
    // SAFETY: MPI requires the address of a request here, and it is not null.
    let handle = unsafe { recorder.library.handle_at(request, 0) };
    let persistent = recorder.persistents.take(handle, local.key());
    let code = match array.take::<1>(recorder, local) {
        Some(mut found) => {
            // It will not be known when the MPI library has read the arrays.
            for found in found.iter_mut() {
                std::mem::take(&mut found.taken.tracked_mut().retained).leak();
            }
            complete_all(
                recorder,
                local,
                CompletingCall::RequestFree,
                array,
                found,
                real,
            )
        }
        None => real(),
    };
    match persistent {
        Some(taken) if code == 0 => {
            if let Some(persistent) = taken.tracked().persistent {
                recorder.guarded(|| {
                    let mut living = recorder.living_persistents();
                    living.retain(|other| !std::ptr::eq(*other, persistent));
                    Ok(())
                });
            }
            recorder.persistents.remove(taken);
        }
        Some(taken) => recorder.persistents.put_back(taken),
        None => {}
    }
    code
}

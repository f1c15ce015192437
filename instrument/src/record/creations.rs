//! For which call Open MPI sends messages while it creates communicators.
//!
//! It creates a communicator in steps. Each step waits for some collectives of the library's own,
//! and then starts those of the next step, in whichever thread makes progress, and inside whichever
//! call that thread is in. So neither the call that a message is in nor its tag identifies the call
//! that it is for. But the library has a request for each step. The first one is taken within the
//! call that creates the communicator, and for each the library sets what it waits for: another
//! step, or the messages just started. A note after these messages then has the call. If the step sends nothing
//! at once, the note has the time at which the step began: another thread may send the first message before the
//! note is written.
//!
//! # Source
//! `comm_request.c`, `comm_cid.c` and `comm.c` of Open MPI 4.0 to 5.0.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use collbench_formats::{Creation, NO_TAG, UNKNOWN_COMMUNICATOR};

use super::local::Local;
use super::recorder::Recorder;
use crate::mpi::Handle;
use crate::mpi::HandleMap;

/// Position of a call that creates a communicator, file or window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CreatingCall {
    /// Index of the communicator that it was called on (or of the file or window that it opens).
    pub(super) communicator: u32,
    /// Position among the calls of the application on that.
    pub(super) position: u64,
}

impl CreatingCall {
    /// A call whose position is not known.
    pub(super) const UNKNOWN: Self = Self {
        communicator: UNKNOWN_COMMUNICATOR,
        position: 0,
    };
}

/// A thread's data about the creating call that is under way in it.
#[derive(Debug)]
pub(super) struct ThreadCreation {
    creator: Cell<CreatingCall>,
    /// Whether the next request that is taken is the first one of that call.
    takes_first: Cell<bool>,
    /// Address from which on the records of messages are that the current step sends; there may be
    /// none yet. 0: the last record is a message of the step.
    sends_from: Cell<usize>,
    /// When the current step began, ticks; only valid where `sends_from` is not 0.
    begin: Cell<u64>,
}

impl ThreadCreation {
    pub(super) const fn new() -> Self {
        Self {
            creator: Cell::new(CreatingCall::UNKNOWN),
            takes_first: Cell::new(false),
            sends_from: Cell::new(0),
            begin: Cell::new(0),
        }
    }

    /// Sets the call that is under way in the thread, until the result is dropped.
    pub(super) fn begin(&self, creator: CreatingCall) -> impl Drop {
        Restored {
            before: self.creator.replace(creator),
            creator: &self.creator,
        }
    }
}

/// Restores the previous call when dropped, also if an exception of the program passes through.
struct Restored<'a> {
    creator: &'a Cell<CreatingCall>,
    before: CreatingCall,
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        self.creator.set(self.before);
    }
}

/// The steps that are under way, by their requests, which the library reuses.
#[derive(Debug, Default)]
pub(super) struct Creations(Mutex<Steps>);

#[derive(Debug, Default)]
struct Steps {
    by_request: HandleMap<Step>,
    /// Steps with messages that are not noted yet.
    waiting: Vec<Handle>,
}

#[derive(Debug, Default)]
struct Step {
    creator: Option<CreatingCall>,
    /// The request of the step that waits for this one.
    within: Option<Handle>,
    /// Messages sent, until it is known for which call.
    sent: Vec<Channel>,
}

/// What the messages that a step has just started have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Channel {
    /// Index of the communicator that they are sent on.
    communicator: u32,
    /// [`NO_TAG`] if nothing was sent yet, on the communicator of the call.
    tag: u16,
    /// If nothing was sent yet, when the step began, ticks: from then on another thread may send. 0 where
    /// messages were sent, or where the thread has other records since.
    begin: u64,
}

/// A note for messages, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimedCreation {
    note: Creation,
    /// When the step began, ticks, if nothing was sent yet; 0: the note has the time at which it is written.
    begin: u64,
}

/// The tag with which leaders of groups exchange messages on any communicator that they share.
///
/// # Source
/// `comm_cid.c` of Open MPI 4.0 to 5.0: `OMPI_COMM_ALLREDUCE_TAG`.
const OF_LEADERS: u16 = -31079i16 as u16;

impl Channel {
    /// Whether a step of this call may have sent such messages.
    fn may_belong_to(self, creator: CreatingCall) -> bool {
        creator.communicator != UNKNOWN_COMMUNICATOR
            && (self.tag == OF_LEADERS
                || [creator.communicator, UNKNOWN_COMMUNICATOR].contains(&self.communicator))
    }
}

/// The most steps that wait for one another.
const MAX_DEPTH: usize = 8;

impl Steps {
    /// The call that a step is for, if it is known.
    fn creator(&self, mut request: Handle) -> Option<CreatingCall> {
        for _ in 0..MAX_DEPTH {
            let step = self.by_request.get(&request)?;
            if step.creator.is_some() {
                return step.creator;
            }
            request = step.within?;
        }
        None
    }

    /// Notes for all messages whose call is known now.
    fn take_known(&mut self) -> Vec<TimedCreation> {
        let mut notes = Vec::new();
        let waiting = std::mem::take(&mut self.waiting);
        for request in waiting {
            let Some(creator) = self.creator(request) else {
                self.waiting.push(request);
                continue;
            };
            let Some(step) = self.by_request.get_mut(&request) else {
                continue;
            };
            let sent = step.sent.drain(..);
            let sent = sent.filter(|sent| sent.may_belong_to(creator));
            notes.extend(sent.map(|sent| TimedCreation {
                note: Creation {
                    communicator: match sent.tag {
                        NO_TAG => creator.communicator,
                        _ => sent.communicator,
                    },
                    tag: sent.tag,
                    on: creator.communicator,
                    position: creator.position as u32,
                },
                begin: sent.begin,
            }));
        }
        notes
    }

    /// Called when a request was taken.
    fn begin(&mut self, request: Handle, creator: Option<CreatingCall>) {
        let step = Step {
            creator,
            ..Step::default()
        };
        let before = self.by_request.insert(request, step);
        if before.is_some_and(|step| !step.sent.is_empty()) {
            self.waiting.retain(|&waiting| waiting != request);
        }
    }

    /// Called when a step is set to wait for all of these; `last` is what was sent last before.
    fn wait_for(
        &mut self,
        request: Handle,
        others: &[Handle],
        last: Option<Channel>,
    ) -> Vec<TimedCreation> {
        if !self.by_request.contains_key(&request) {
            return Vec::new();
        }
        let mut are_steps = true;
        for other in others {
            match self.by_request.get_mut(other).filter(|_| *other != request) {
                Some(step) => step.within = Some(request),
                None => are_steps = false,
            }
        }
        if let (false, Some(last), Some(step)) =
            (are_steps, last, self.by_request.get_mut(&request))
        {
            if step.sent.is_empty() {
                self.waiting.push(request);
            }
            step.sent.push(last);
        }
        let notes = self.take_known();
        // Notes that are written later follow other records.
        if let Some(step) = self.by_request.get_mut(&request) {
            for sent in &mut step.sent {
                sent.begin = 0;
            }
        }
        notes
    }
}

impl Creations {
    /// Waits as long as another thread holds the lock: its messages could not be attributed to their calls if
    /// one step were missing. To be called on a cold path ([`Recorder::guarded`]), so this thread does not hold
    /// it.
    fn with<T>(&self, with: impl FnOnce(&mut Steps) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Recorder {
    /// The recorder, if it records messages.
    fn recording_messages() -> Option<&'static Self> {
        Self::active().filter(|recorder| recorder.records_messages())
    }
}

impl Local {
    fn write_creations(&self, recorder: &'static Recorder, notes: &[TimedCreation]) {
        for TimedCreation { note, begin } in notes {
            let slot = self.take_slot_of_part(recorder);
            slot.write(note.words());
            slot.stamp(match begin {
                0 => recorder.clock.now(),
                begin => *begin,
            });
        }
    }

    /// Communicator and tag of the last record of this thread, if it is a message.
    fn last_channel(&self) -> Option<Channel> {
        let sends_from = self.creation.sends_from.replace(0);
        let taken = self.thread.get()?.taken();
        if sends_from != 0 && taken.end() == sends_from {
            return Some(Channel {
                communicator: UNKNOWN_COMMUNICATOR,
                tag: NO_TAG,
                begin: self.creation.begin.get(),
            });
        }
        let message = taken.last()?.record()?.message()?;
        Some(Channel {
            communicator: message.communicator,
            tag: message.tag,
            begin: 0,
        })
    }
}

/// Calls a function of the library that starts a step, perhaps with a collective that sends nothing
/// at once.
pub fn creation_start(real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    if let (Some(recorder), Some(thread)) = (Recorder::recording_messages(), local.thread.get()) {
        local.creation.sends_from.set(thread.taken().end());
        local.creation.begin.set(recorder.clock.now());
    }
    let code = real();
    local.creation.sends_from.set(0);
    code
}

/// Calls a function of the library that creates a communicator, or that is a part of its creation.
pub fn creation_call(real: impl FnOnce() -> c_int) -> c_int {
    if Recorder::recording_messages().is_none() {
        return real();
    }
    let local = Local::of_this_thread();
    local.creation.takes_first.set(true);
    let code = real();
    local.creation.takes_first.set(false);
    code
}

/// Takes a request for a step; returns its address.
pub fn creation_request(real: impl FnOnce() -> usize) -> usize {
    let request = real();
    if let Some(recorder) = Recorder::recording_messages() {
        let here = &Local::of_this_thread().creation;
        let creator = here.takes_first.replace(false).then(|| here.creator.get());
        recorder.guarded(|| {
            recorder
                .creations
                .with(|steps| steps.begin(request, creator));
            Ok(())
        });
    }
    request
}

/// Sets a request to continue when `n` others are complete, whose addresses are at `others`.
///
/// # Safety
/// There are `n` addresses at `others`.
pub unsafe fn creation_step(
    request: usize,
    others: usize,
    n: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // It is an `int`, so the upper half of the word is undefined.
    let n = n as u32 as usize;
    if n == 0 || n > MAX_DEPTH || others == 0 {
        return real();
    }
    if let Some(recorder) = Recorder::recording_messages() {
        let local = Local::of_this_thread();
        let last = local.last_channel();
        // SAFETY: the caller promises `n` addresses.
        let others = unsafe { std::slice::from_raw_parts(others as *const Handle, n) };
        // Before the library's call, since another thread may continue with the request afterwards.
        let notes = recorder.guarded(|| {
            let wait_for = |steps: &mut Steps| steps.wait_for(request, others, last);
            Ok(recorder.creations.with(wait_for))
        });
        local.write_creations(recorder, &notes.unwrap_or_default());
    }
    real()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    const MAKER: CreatingCall = CreatingCall {
        communicator: 3,
        position: 7,
    };

    fn channel(tag: u16) -> Option<Channel> {
        Some(Channel {
            communicator: 3,
            tag,
            begin: 0,
        })
    }

    fn creation(tag: u16) -> TimedCreation {
        let note = Creation {
            communicator: 3,
            tag,
            on: MAKER.communicator,
            position: MAKER.position as u32,
        };
        TimedCreation { note, begin: 0 }
    }

    #[test]
    fn what_a_step_sends_is_for_the_call_whose_request_waits_for_it() {
        let mut steps = Steps::default();
        let [first, number, sum] = [0x100, 0x200, 0x300];
        steps.begin(first, Some(MAKER));
        steps.begin(number, None);
        // Nothing is known of this request yet.
        assert_eq!(steps.wait_for(number, &[0x999], channel(50)), []);
        assert_eq!(steps.wait_for(first, &[number], channel(1)), [creation(50)]);
        assert_eq!(
            steps.wait_for(number, &[0x999], channel(51)),
            [creation(51)]
        );
        // Nothing was sent yet; and messages on another communicator cannot be its own.
        let nothing = Channel {
            communicator: UNKNOWN_COMMUNICATOR,
            tag: NO_TAG,
            begin: 77,
        };
        let noted = steps.wait_for(number, &[0x999], Some(nothing));
        let from_begin = TimedCreation {
            begin: 77,
            ..creation(NO_TAG)
        };
        assert_eq!(noted, [from_begin]);
        let elsewhere = Channel {
            communicator: 9,
            tag: 50,
            begin: 0,
        };
        assert_eq!(steps.wait_for(number, &[0x999], Some(elsewhere)), []);
        // A step within a step: its call becomes known when another step waits for it.
        steps.begin(sum, None);
        assert_eq!(steps.wait_for(sum, &[0x998], channel(52)), []);
        assert_eq!(steps.wait_for(number, &[sum], channel(52)), [creation(52)]);
        // A note that is written only when its call is known has no earlier time.
        steps.begin(sum, None);
        assert_eq!(steps.wait_for(sum, &[0x998], Some(nothing)), []);
        assert_eq!(
            steps.wait_for(number, &[sum], Some(nothing)),
            [creation(NO_TAG)]
        );
        // From now on the same request is another step.
        steps.begin(sum, None);
        assert_eq!(steps.wait_for(sum, &[0x998], channel(53)), []);
        steps.begin(sum, None);
        assert!(steps.waiting.is_empty());
    }

    /// Whether the kernel has put a thread of this process to sleep.
    fn is_asleep(thread: i32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
        stat.is_ok_and(|stat| stat.rsplit(") ").next().unwrap().starts_with('S'))
    }

    #[test]
    fn a_step_waits_for_a_thread_that_holds_the_lock() {
        let creations = Creations::default();
        let waiting = AtomicI32::new(0);
        let noted = std::thread::scope(|scope| {
            let held = creations.0.lock().unwrap();
            let other = scope.spawn(|| {
                // SAFETY: it takes nothing, and cannot fail.
                waiting.store(unsafe { libc::gettid() }, Ordering::Relaxed);
                creations.with(|steps| {
                    steps.begin(0x100, Some(MAKER));
                    steps.wait_for(0x100, &[0x999], channel(50))
                })
            });
            while !other.is_finished() && !is_asleep(waiting.load(Ordering::Relaxed)) {
                std::thread::yield_now();
            }
            drop(held);
            other.join().unwrap()
        });
        assert_eq!(noted, [creation(50)]);
    }

    #[test]
    fn what_is_sent_for_a_call_of_no_position_is_not_noted() {
        let mut steps = Steps::default();
        steps.begin(0x100, Some(CreatingCall::UNKNOWN));
        assert_eq!(steps.wait_for(0x100, &[0x999], channel(50)), []);
        assert!(steps.waiting.is_empty());
        // Nor for a request that was not seen when it was taken.
        assert_eq!(steps.wait_for(0x500, &[0x999], channel(51)), []);
        // A request that waits for itself, in an unknown library.
        steps.begin(0x100, None);
        steps.wait_for(0x100, &[0x100], channel(52));
        assert_eq!(steps.creator(0x100), None);
    }
}

//! The receives of a thread whose leave may still be stored.

use super::local::Local;
use super::thread::Thread;
use crate::file::Slot;
use crate::messages::Posted;

impl Local {
    /// The receives of this thread whose leave may still be stored when it opens a chunk. Outside
    /// of calls, these are only the receives in the chunk that is full now.
    pub(super) fn outstanding_receives(&self, thread: &Thread) -> Vec<Slot> {
        // SAFETY: the receives belong to this thread, and nothing that is called here uses them.
        let posted = unsafe { thread.receives.posted() };
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

    /// Calls `with` with the receives that this thread has posted.
    pub(crate) fn with_posted<T>(&self, with: impl FnOnce(&mut Posted) -> T) -> Option<T> {
        let thread = self.thread.get()?;
        // SAFETY: the receives belong to this thread, and `with` does not use them in another way.
        Some(with(unsafe { thread.receives.posted() }))
    }
}

//! The receives of a thread whose ends may still be stored.

use super::local::Local;
use super::thread::Thread;
use crate::file::Slot;
use crate::messages::Posted;

impl Local {
    /// The receives of this thread whose ends may still be stored, when a chunk is opened in it. In
    /// no call only those in the chunk that is full now are kept in mind.
    pub(super) fn receives_under_way(&self, thread: &Thread) -> Vec<Slot> {
        // SAFETY: this thread's own, and nothing that is called here comes back to it.
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

    /// What this thread knows of the receives that it has posted.
    pub(crate) fn with_posted<T>(&self, with: impl FnOnce(&mut Posted) -> T) -> Option<T> {
        let thread = self.thread.get()?;
        // SAFETY: this thread's own, and what is called here does not come back to it.
        Some(with(unsafe { thread.receives.posted() }))
    }
}

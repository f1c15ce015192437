//! From a receive that was posted to its end.

use crate::file::Slot;
use crate::mpi::Handle;
use crate::record::Local;

impl Local {
    /// Notes a receive that was posted, until the library waits for it.
    #[inline(always)]
    pub(super) fn await_receive(&self, request: Handle, slot: Slot) {
        let Some(thread) = self.thread.get().filter(|_| self.may_await(slot)) else {
            return;
        };
        // SAFETY: this thread's own, and nothing that is called here comes back to it. (Not by
        // `with_posted`, whose closure would stay out of line: 30 instructions more for a message.)
        let posted = unsafe { thread.receives.posted() };
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
}

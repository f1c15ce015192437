//! Nonblocking receives, from posting to completion.

use crate::file::Slot;
use crate::mpi::Handle;
use crate::record::Local;

impl Local {
    /// Adds a receive that was posted, until the library waits for it.
    #[inline(always)]
    pub(super) fn await_receive(&self, request: Handle, slot: Slot) {
        let Some(thread) = self.thread.get().filter(|_| self.may_await(slot)) else {
            return;
        };
        // SAFETY: the receives belong to this thread, and nothing that is called here uses them.
        // (`with_posted` is not used, since its closure would not be inlined: 30 more instructions
        // for a message.)
        let posted = unsafe { thread.receives.posted() };
        posted.begin(self.calls.get());
        posted.by_request.insert(request, slot);
    }

    /// Whether the leave of the record in a slot can be stored later. In a thread of the library's
    /// own no call is under way that would keep the chunk mapped.
    #[inline]
    pub(super) fn may_await(&self, slot: Slot) -> bool {
        !slot.is_null() && self.has_entered()
    }

    /// To be called before a receive is posted: a receive that is completed from now on may be that
    /// one.
    pub(super) fn forget_completed(&self) {
        self.with_posted(|posted| posted.completed = 0);
    }

    /// Whether a receive was completed while it was posted.
    pub(super) fn was_completed(&self, request: Handle) -> bool {
        self.with_posted(|posted| posted.completed == request) == Some(true)
    }

    /// Called when a receive is complete, at a time in ticks.
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

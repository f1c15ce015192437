//! The blocking calls of one process, one after the other.

use crate::instance::Part;
use crate::log::{Entry, Log};

/// Calls that are looked at one by one.
const SHORT: usize = 16;
/// Calls after which old ones are moved to the log of the process.
const MOST_CALLS: usize = 4096;
/// The newest calls, which are not moved.
const KEPT_CALLS: usize = 2048;

/// A blocking call: a wait, then time in the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockingCall {
    /// When the process entered, ns.
    pub(crate) enter_ns: i64,
    /// When its wait ended, ns.
    pub(crate) release_ns: i64,
    /// When it left, ns.
    pub(crate) leave_ns: i64,
    /// What identifies the operation.
    pub(crate) operation: u64,
}

/// The blocking calls of a process, none of which overlaps another.
#[derive(Debug, Default)]
pub(crate) struct BlockingCalls {
    calls: Vec<BlockingCall>,
}

impl BlockingCall {
    /// How long it waited between two times, ns, and how long it was in the operation.
    #[inline(always)]
    pub(crate) fn within(&self, from_ns: i64, to_ns: i64) -> (i64, i64) {
        let released_ns = self.release_ns.max(from_ns);
        let wait_ns = self.release_ns.min(to_ns) - self.enter_ns.max(from_ns);
        let operation_ns = self.leave_ns.min(to_ns) - released_ns;
        (wait_ns.max(0), operation_ns.max(0))
    }
}

impl BlockingCalls {
    /// Adds a call that begins after all others have ended; gives whether that is so.
    #[inline]
    pub(crate) fn push(&mut self, call: BlockingCall) -> bool {
        let follows = self
            .calls
            .last()
            .is_none_or(|last| last.leave_ns <= call.enter_ns);
        if follows {
            self.calls.push(call);
        }
        follows
    }

    /// Whether a call is the only one.
    pub(crate) fn is_only(&self, call: &BlockingCall) -> bool {
        self.calls == [*call]
    }

    /// When the last call was left before a time, ns.
    #[inline]
    pub(crate) fn left_before(&self, at_ns: i64) -> Option<i64> {
        match self.calls.last() {
            Some(last) if last.leave_ns <= at_ns => Some(last.leave_ns),
            _ => {
                let mut latest = self.calls.iter().rev();
                let last = latest.find(|call| call.leave_ns <= at_ns);
                last.map(|last| last.leave_ns)
            }
        }
    }

    /// The calls that began before a time, ns, the latest first; with them some that began later, where there are few.
    #[inline(always)]
    pub(crate) fn until(&self, to_ns: i64) -> impl Iterator<Item = &BlockingCall> {
        let end = match self.calls.len() {
            0..=SHORT => self.calls.len(),
            _ => self.calls.partition_point(|call| call.enter_ns < to_ns),
        };
        self.calls[..end].iter().rev()
    }

    /// How long the process was in its calls between two times, ns.
    #[inline]
    pub(crate) fn ns_between(&self, from_ns: i64, to_ns: i64) -> i64 {
        let mut sum_ns = 0_i64;
        for call in self.until(to_ns) {
            if call.leave_ns <= from_ns {
                break;
            }
            let inside_ns = call.leave_ns.min(to_ns) - call.enter_ns.max(from_ns);
            sum_ns = sum_ns.saturating_add(inside_ns.max(0));
        }
        sum_ns
    }

    /// Passes the time of each call between two times, the latest first: how long the process waited, ns, how long it was in
    /// the operation, ns, and which.
    #[inline]
    pub(crate) fn between(&self, from_ns: i64, to_ns: i64, mut found: impl FnMut(i64, i64, u64)) {
        for call in self.until(to_ns) {
            if call.leave_ns <= from_ns {
                break;
            }
            let (wait_ns, operation_ns) = call.within(from_ns, to_ns);
            found(wait_ns, operation_ns, call.operation);
        }
    }

    /// Forgets the calls that ended before a time, ns.
    #[inline]
    pub(crate) fn forget_before(&mut self, at_ns: i64) {
        match self.calls.last() {
            Some(last) if last.leave_ns > at_ns => {
                let n = self.calls.partition_point(|call| call.leave_ns <= at_ns);
                self.calls.drain(..n);
            }
            _ => self.calls.clear(),
        }
    }

    /// Moves old calls to a log where there are many.
    #[inline]
    pub(crate) fn move_old_to(&mut self, log: &mut Log<Option<Part>>) {
        if self.calls.len() <= MOST_CALLS {
            return;
        }
        let n_old = self.calls.len() - KEPT_CALLS;
        for call in self.calls.drain(..n_old) {
            let operation = Some(Part::Operation(call.operation));
            for (from_ns, to_ns, what) in [
                (call.enter_ns, call.release_ns, None),
                (call.release_ns, call.leave_ns, operation),
            ] {
                let ns = to_ns - from_ns;
                log.push(Entry {
                    end_ns: to_ns,
                    span_ns: ns,
                    ns,
                    what,
                });
            }
        }
    }
}

//! The queues of a communicator.

use crate::calls::queue::Queue;
use crate::trace::record_at::{CALL_ORDERS, CallOrder};

/// The queues of a communicator's call orders. There may be a million communicators, most of which
/// were freed.
#[derive(Default)]
pub(super) enum Queues {
    /// No call was made.
    #[default]
    Unused,
    /// Nothing waits in any order of calls.
    PutAway {
        /// Position of the next call of the application.
        next: u64,
        /// Whether it was made by a call of its own.
        is_created: bool,
    },
    InUse(Box<[Queue; 3]>),
}

impl Queues {
    #[inline]
    pub(super) fn in_use(&mut self) -> &mut [Queue; 3] {
        if let Self::Unused | Self::PutAway { .. } = self {
            self.use_again();
        }
        match self {
            Self::InUse(queues) => queues,
            _ => unreachable!("made above"),
        }
    }

    #[cold]
    fn use_again(&mut self) {
        let mut queues: Box<[Queue; 3]> = Box::default();
        for call_order in CALL_ORDERS {
            queues[call_order.index()].next = self.next_on(call_order);
        }
        *self = Self::InUse(queues);
    }

    /// That of the application, if it is in use.
    pub(super) fn application(&mut self) -> Option<&mut Queue> {
        match self {
            Self::InUse(queues) => Some(&mut queues[CallOrder::Application.index()]),
            _ => None,
        }
    }

    /// Position of the next call on a call order.
    pub(super) fn next_on(&self, call_order: CallOrder) -> u64 {
        match self {
            Self::Unused => 0,
            Self::PutAway { next, is_created } => match call_order {
                CallOrder::Application => *next,
                CallOrder::Internal => 0,
                CallOrder::Creation | CallOrder::Persistent(_) => u64::from(*is_created),
            },
            Self::InUse(queues) => queues[call_order.index()].next,
        }
    }

    /// Keeps only the positions, where nothing waits.
    pub(super) fn put_away(&mut self) {
        let Self::InUse(queues) = self else { return };
        let is_idle = |queue: &Queue| queue.is_idle() && !queue.is_touched;
        let next = |call_order: CallOrder| queues[call_order.index()].next;
        if queues.iter().all(is_idle)
            && next(CallOrder::Internal) == 0
            && next(CallOrder::Creation) <= 1
        {
            *self = Self::PutAway {
                next: next(CallOrder::Application),
                is_created: next(CallOrder::Creation) == 1,
            };
        }
    }
}

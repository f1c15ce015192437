//! Where records stand in a file, and calls in the orders of calls.

use serde::{Deserialize, Serialize};

/// Location of a record in the file of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordAt {
    /// Index in the file's list of chunks.
    pub(crate) chunk: u32,
    /// Index in the chunk.
    pub(crate) record: u32,
}

impl RecordAt {
    /// The location so many records behind it, in the same chunk.
    #[inline]
    pub(crate) fn plus(self, n: usize) -> Self {
        Self {
            record: self.record + n as u32,
            ..self
        }
    }
}

/// Calls with positions that follow one another, in consecutive records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordRun {
    /// Position of the first call on its call order.
    pub(crate) position: u64,
    /// Location of its record.
    pub(crate) location: RecordAt,
    /// Number of calls, > 0.
    pub(crate) n: u32,
    /// Whether their stamps can be true. If not it is one call.
    pub(crate) is_possible: bool,
    /// Whether they have returned. If not it is one call.
    pub(crate) has_returned: bool,
    /// Number of the phase in which they were called, of those of the process; 0: none.
    pub(crate) phase: u16,
    /// Number of the place from which they were made, or
    /// [`NO_SITE`](crate::trace::call_sites::NO_SITE).
    pub(crate) site: u32,
}

impl RecordRun {
    /// The position after the last call.
    pub(crate) fn end(&self) -> u64 {
        self.position.saturating_add(u64::from(self.n))
    }

    /// The part at positions `[from, to)`, which must not be empty.
    pub(crate) fn within(mut self, from: u64, to: u64) -> Self {
        if let Some(before @ 1..) = from.checked_sub(self.position) {
            self.position = from;
            self.location.record += before as u32;
            self.n -= before as u32;
        }
        let n = to - self.position;
        if u64::from(self.n) > n {
            self.n = n as u32;
        }
        self
    }
}

/// Identifies one order of calls on a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CallOrder {
    /// Calls of the application.
    Application,
    /// Internal calls of the MPI library.
    Internal,
    /// The call that creates the communicator, collective over its members only.
    Creation,
    /// The starts of one persistent collective, by a number that is the same in every analysis of
    /// the trace.
    Persistent(u32),
}

impl CallOrder {
    /// The number of this order of calls among those of its communicator.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Application => 0,
            Self::Internal => 1,
            Self::Creation => 2,
            Self::Persistent(number) => number.saturating_add(3),
        }
    }

    /// Index in [`CALL_ORDERS`], of those that every communicator has.
    #[inline]
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Application => 0,
            Self::Internal => 1,
            Self::Creation | Self::Persistent(_) => 2,
        }
    }
}

/// The call orders that every communicator has.
pub(crate) const CALL_ORDERS: [CallOrder; 3] = [
    CallOrder::Application,
    CallOrder::Internal,
    CallOrder::Creation,
];

/// Position of a call on a communicator: the call order, and the position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPosition {
    pub(crate) call_order: CallOrder,
    pub(crate) position: u64,
}

/// Where calls stand: communicator (index in
/// [`Communicators::list`](crate::communicators::Communicators::list)), call order and position.
pub(crate) type OrderPosition = (usize, CallOrder, u64);

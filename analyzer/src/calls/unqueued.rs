//! Calls that enter no queue.

use crate::calls::call::Call;
use crate::calls::gap::Gap;

/// A call that needs no matching with those of other processes.
#[derive(Debug)]
pub(crate) enum Unqueued {
    /// One that is in no instance: its communicator is not known, or (for constructors over a group) the
    /// one that it was to make.
    Unmatched {
        /// Index of the process in the run.
        process: usize,
        /// Index in [`Communicators::list`](crate::communicators::Communicators::list) of the communicator called on.
        called_on: Option<usize>,
        /// The call.
        call: Call,
        /// Whether the MPI library made it internally.
        is_internal: bool,
    },
    /// The begin or end of MPI in a process.
    Process {
        /// Index of the process in the run.
        process: usize,
        /// The call.
        call: Call,
        /// Whether the process made no call of the application before.
        is_first: bool,
    },
    /// The gap in a thread before a call of the application, or before a completion, which comes next.
    Gap {
        /// Index of the process in the run.
        process: usize,
        /// Its begin and end, and the time in calls without records.
        gap: Gap,
    },
}

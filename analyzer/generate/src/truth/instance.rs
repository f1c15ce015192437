//! One instance of an operation, as it was.

use collbench_formats::Operation;

use crate::group::Members;

/// What a member of an instance did in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// `None`: never entered.
    pub(crate) enter: Option<u64>,
    /// `None`: never left.
    pub(crate) leave: Option<u64>,
    /// Whether it is in the trace.
    pub(crate) is_recorded: bool,
}

/// One instance, by position in the communicator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instance<'a> {
    pub(crate) operation: Operation,
    /// Index of the communicator in the truth.
    pub(crate) communicator: usize,
    pub(crate) members: &'a Members,
    /// Position of the root.
    pub(crate) root: Option<usize>,
    pub(crate) payloads: &'a [u64],
    pub(crate) seen: &'a [Seen],
    /// Of nonblocking and persistent operations.
    pub(crate) nonblocking: Option<&'a [NonblockingTimes]>,
}

/// What a member did between beginning an operation and being done with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NonblockingTimes {
    /// When the initiating call returned.
    pub(crate) initiated: u64,
    /// When the completing one was entered.
    pub(crate) entered: u64,
    /// How many that one completed.
    pub(crate) n_together: u64,
    pub(crate) n_tests: u64,
    pub(crate) tests_ns: u64,
}

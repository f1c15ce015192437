//! One instance of an operation.

use collbench_formats::Operation;

use crate::group::Members;

/// What a member of an instance did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// `None`: it never entered.
    pub(crate) enter: Option<u64>,
    /// `None`: it never left.
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
    /// Whether messages of it are in the trace.
    pub(crate) has_messages: bool,
    /// By position, the latest enter that it could not leave before, by its messages: where these are in the trace.
    pub(crate) releases: Option<&'a [u64]>,
    /// Times of nonblocking and persistent operations.
    pub(crate) nonblocking: Option<&'a [NonblockingTimes]>,
}

/// The times of a member between initiation and completion.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NonblockingTimes {
    /// When the initiating call returned.
    pub(crate) initiated: u64,
    /// When the completing call was entered.
    pub(crate) entered: u64,
    /// Number of operations that it completed.
    pub(crate) n_together: u64,
    pub(crate) n_tests: u64,
    pub(crate) tests_ns: u64,
}

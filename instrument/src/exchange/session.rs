//! What the exchanges need of whoever records.

use collbench_formats::Definition;

use crate::communicators::MeetAt;
use crate::host::Clock;
use crate::mpi::MpiLibrary;

/// The recording in which stamps are exchanged.
pub(crate) struct Session<'a> {
    pub(crate) library: &'a MpiLibrary,
    pub(crate) clock: Clock,
    /// Appends a definition to the trace.
    pub(crate) define: &'a dyn Fn(&Definition),
    /// Where on `MPI_COMM_WORLD` the leaders meet; `None` where that is not known.
    pub(crate) meet_at: Option<&'a MeetAt>,
}

impl Session<'_> {
    pub(super) fn define(&self, definition: &Definition) {
        (self.define)(definition);
    }

    /// Says from which position on `MPI_COMM_WORLD` on the leaders of the hosts meet.
    pub(super) fn meet_from(&self, position: u64) {
        if let Some(meet_at) = self.meet_at {
            meet_at.set(position);
        }
    }
}

//! What the exchanges need of whoever records.

use collbench_formats::Definition;

use crate::communicators::MeasuringPoint;
use crate::host::Clock;
use crate::mpi::MpiLibrary;

/// The recording in which stamps are exchanged.
pub(crate) struct Session<'a> {
    pub(crate) library: &'a MpiLibrary,
    pub(crate) clock: Clock,
    /// Appends a definition to the trace.
    pub(crate) define: &'a dyn Fn(&Definition),
    /// Where on `MPI_COMM_WORLD` the leaders meet; `None` where that is not known.
    pub(crate) measuring_point: Option<&'a MeasuringPoint>,
}

impl Session<'_> {
    pub(super) fn define(&self, definition: &Definition) {
        (self.define)(definition);
    }

    /// Says from which position on `MPI_COMM_WORLD` on the leaders of the hosts meet.
    pub(super) fn set_measuring_point(&self, position: u64) {
        if let Some(measuring_point) = self.measuring_point {
            measuring_point.set(position);
        }
    }
}

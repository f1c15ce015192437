//! What the exchanges need of the recorder.

use collbench_formats::Definition;

use crate::communicators::MeasuringPoint;
use crate::host::Clock;
use crate::mpi::MpiLibrary;

/// The recording for which stamps are exchanged.
pub(crate) struct Session<'a> {
    pub(crate) library: &'a MpiLibrary,
    pub(crate) clock: Clock,
    /// Appends a definition to the trace.
    pub(crate) define: &'a dyn Fn(&Definition),
    /// The measuring point on `MPI_COMM_WORLD`; `None` where that is not known.
    pub(crate) measuring_point: Option<&'a MeasuringPoint>,
}

impl Session<'_> {
    pub(super) fn define(&self, definition: &Definition) {
        (self.define)(definition);
    }

    /// Sets the position on `MPI_COMM_WORLD` from which on the next measuring point is.
    pub(super) fn set_measuring_point(&self, position: u64) {
        if let Some(measuring_point) = self.measuring_point {
            measuring_point.set(position);
        }
    }
}

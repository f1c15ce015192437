//! Where the messages of the library are seen.

use super::endpoints::Endpoints;
use super::tables::PointToPoint;

/// Where the messages of the library are seen.
#[derive(Debug)]
pub(crate) enum MessageSource {
    /// In the tables of functions of Open MPI.
    Tables(PointToPoint),
    /// In the tagged operations of UCX, as MPICH uses them.
    Tagged(Endpoints),
}

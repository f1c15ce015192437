//! How the messages of the library are seen.

use super::endpoints::Endpoints;
use super::tables::PointToPoint;

/// How the messages of the library are seen.
#[derive(Debug)]
pub(crate) enum MessageSource {
    /// By replaced functions in tables of Open MPI.
    Tables(PointToPoint),
    /// By wrapped tagged operations of UCX, which MPICH uses.
    Tagged(Endpoints),
}

//! Why the messages of an MPI library cannot be seen.

/// Why messages cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Opaque {
    #[error("the messages inside this MPI library cannot be seen by this version of collbench")]
    NotOpenMpi,
    #[error(
        "this MPI library does not send by UCX; what it sends by shared memory or OFI cannot be seen"
    )]
    NoTransport,
    #[error(
        "this MPI library has made its endpoints of UCX in a way that collbench does not know; its \
         messages cannot be seen"
    )]
    UnknownEndpoints,
    #[error(
        "the functions in {0} of this Open MPI are not those that collbench knows; its messages \
         cannot be seen"
    )]
    UnknownLayout(&'static str),
}

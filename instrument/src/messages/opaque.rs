//! Reasons why the messages of an MPI library cannot be seen.

/// Why messages cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Opaque {
    #[error("this version of collbench cannot see the messages inside this MPI library")]
    NotOpenMpi,
    #[error(
        "this MPI library does not send through UCX; messages through shared memory or OFI cannot be seen"
    )]
    NoTransport,
    #[error(
        "this MPI library created its UCX endpoints in a way that collbench does not know; its \
         messages cannot be seen"
    )]
    UnknownEndpoints,
    #[error(
        "the functions in {0} of this Open MPI are not those that collbench knows; its messages \
         cannot be seen"
    )]
    UnknownLayout(&'static str),
}

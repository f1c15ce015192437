//! Where the messages of MPI libraries are seen.

#[allow(unsafe_code)]
mod open_mpi;
#[allow(unsafe_code)]
mod ucx;

pub(crate) use open_mpi::{MessageSource, Opaque};
pub(crate) use ucx::{Endpoints, Parameters, Part, Tag, Word, watch_endpoints};
pub use ucx::{endpoint_call, own_address_call};

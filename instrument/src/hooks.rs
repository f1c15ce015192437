//! Functions that the MPI library calls in place of its own, or of a library below it: from a
//! message to a record.

mod find;
#[allow(unsafe_code)]
mod message;
#[allow(unsafe_code)]
mod open_mpi;
#[allow(unsafe_code)]
mod parameters;
#[allow(unsafe_code)]
mod receives;
#[allow(unsafe_code)]
mod tagged;
#[allow(unsafe_code)]
mod ucx;

pub(crate) use find::find_messages;
pub use tagged::{tagged_receive, tagged_send};
pub use ucx::{endpoint_call, own_address_call};

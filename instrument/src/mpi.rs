//! The MPI library of this process: where its functions are, what its constants mean, and what is
//! asked of it.

#[allow(unsafe_code)]
mod abi;
#[allow(unsafe_code)]
mod caller;
#[allow(unsafe_code)]
pub(crate) mod library;
mod named_types;
#[allow(unsafe_code)]
pub(crate) mod topology;

pub(crate) use abi::Constants;
pub(crate) use caller::is_program;
pub use library::{CalledAs, MpiLibrary, RealFunction};
pub(crate) use library::{
    Handle, LibraryError, LoadedObject, ProcessModel, call_mpi, find_datum, has_function,
    is_of_mpi, library_version, object_at, objects_epoch, own_object, place, symbol_of,
};
pub(crate) use named_types::NamedTypes;
pub(crate) use topology::Neighbours;

//! The MPI library of this process: addresses of its functions, values of its constants, and
//! inquiries.

#[allow(unsafe_code)]
mod abi;
#[allow(unsafe_code)]
mod caller;
#[allow(unsafe_code)]
mod find;
mod handle;
#[allow(unsafe_code)]
mod inquiries;
#[allow(unsafe_code)]
pub(crate) mod library;
mod named_types;
#[allow(unsafe_code)]
mod objects;
#[allow(unsafe_code)]
pub(crate) mod topology;
#[allow(unsafe_code)]
mod version;

pub(crate) use abi::Constants;
pub(crate) use caller::is_program;
pub use find::{CalledAs, RealFunction};
pub(crate) use find::{
    address_of, await_replacements, call_mpi, end_of_replacements, find_datum, find_function,
    has_function, replace_functions,
};
pub(crate) use handle::{Handle, HandleMap, SPARE_BITS};
pub(crate) use inquiries::LibraryError;
pub use library::MpiLibrary;
pub(crate) use library::ProcessModel;
pub(crate) use objects::{has_object, own_object, symbol_of};
pub(crate) use topology::Neighbours;

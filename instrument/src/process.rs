//! Running inside the process of a program: with memory of its own, and without signals,
//! cancellation or output that would disturb the program.

#[allow(unsafe_code)]
mod descriptors;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod stderr;
#[allow(unsafe_code)]
mod uninterrupted;
#[allow(unsafe_code)]
mod unsignalled;

pub(crate) use descriptors::move_to_high_descriptor;
pub use memory::ReservedMemory;
pub(crate) use stderr::{remember_stderr, say, say_unranked};
pub(crate) use uninterrupted::{Uncancelled, Uninterrupted};
pub(crate) use unsignalled::unsignalled;

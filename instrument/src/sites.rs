//! From where in the program a call of MPI is made: the way up the stack, found at that very call.
//!
//! A way are the return addresses from the caller of the wrapper outwards, up to the first function
//! that is neither of the MPI library and its bindings nor of a library that only wraps MPI. How to
//! get from the frame of a function to that of its caller follows from the instruction in it, by
//! the unwind tables of its file (`.eh_frame`). It is looked up once for each address, and known
//! from then on: a known way takes a few loads for each frame, and a known caller that is outside
//! of all libraries that wrap MPI no more than two look-ups. No frame pointers are needed.
//!
//! An unknown address takes no lock (the loader finds the object of an address without one, see
//! `_dl_find_object(3)`) and allocates nothing. Nothing is ever read outside of the thread's stack,
//! between the stack pointer and its end, nor outside of the segments that the loader has mapped:
//! damaged tables or a smashed stack give a way that ends early, or a wrong one.
//!
//! On request, a way that ends in the interpreter of Python or R goes on to the line of the script
//! ([`Interpreters`]).

mod frame_rule;
#[allow(unsafe_code)]
mod guarded;
#[allow(unsafe_code)]
mod loaded_object;
mod places;
#[allow(unsafe_code)]
mod python;
mod python_lines;
mod r;
mod recent;
#[allow(unsafe_code)]
mod registers;
mod registry;
mod script_line;
mod scripts;
mod steps;
#[allow(unsafe_code)]
mod unwind_table;
mod walk;
mod wrappers;

pub(crate) use loaded_object::ObjectFinder;
pub(crate) use recent::RecentSites;
pub(crate) use registers::{Registers, UsedStack};
pub(crate) use registry::{DefinedSites, ForecastSites, SiteRegistry};
pub(crate) use scripts::Interpreters;
pub(crate) use walk::{CallSites, Way};

//! What of MPI is wrapped, as tables that macros are handed.

#[macro_use]
mod algorithms;
#[macro_use]
mod routines;

pub use routines::{ROUTINES, Routine, RoutineClass};

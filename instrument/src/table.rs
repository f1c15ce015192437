//! The parts of MPI that are wrapped, as tables for macros.

#[macro_use]
mod algorithms;
#[macro_use]
mod routines;

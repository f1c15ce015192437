//! Collectives as schedules: what each process sends, receives and combines, and what each of that
//! waits for.
//!
//! A [`Schedule`] has a list of [`Action`]s for each process. [`open_mpi`] makes the schedules of the
//! algorithms of Open MPI. This crate knows neither traces nor times.
#![forbid(unsafe_code)]

mod call;
pub mod open_mpi;
mod program;
mod schedule;

pub use call::{Call, Parameters};
pub use program::{Program, Request};
pub use schedule::{Action, Message, Process, Schedule, UnmatchedError, What};

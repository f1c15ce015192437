//! Collectives as schedules: what each process sends, receives and combines, and what each of that
//! waits for.
//!
//! A [`Schedule`] has a list of [`Action`]s for each process. [`open_mpi`] and [`mpich`] make the
//! schedules of the algorithms of these libraries, [`own_trees`] those of collectives over spanning trees of our own,
//! [`trees`] those of any spanning tree, [`Process::that_ran`] makes one of what was recorded. An [`Evaluator`] finds out how long one takes on a [`Network`]. The
//! [`Grouping`] of a reduction says what its results are to the bit, and with what else they are the same ([`Numerics`]).
//! This crate does not know traces.
#![forbid(unsafe_code)]

mod as_it_ran;
mod call;
mod evaluate;
pub mod goal;
mod grouping;
pub mod mpich;
mod network;
pub mod open_mpi;
pub mod own_trees;
mod program;
mod schedule;
pub mod trees;

pub use as_it_ran::Timed;
pub use call::{Call, Parameters};
pub use evaluate::Evaluator;
pub use grouping::{Grouping, Numerics};
pub use network::{Link, Network, Shared, Way};
pub use program::{Program, Request};
pub use schedule::{Action, Message, Process, Schedule, UnmatchedError, What};

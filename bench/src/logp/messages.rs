//! Request-reply messages, and the work that processes do with them.
//!
//! The same layer runs over MPI and over a simulated network.

mod endpoint;
mod job;
mod mpi_job;
mod network;
mod one_sided;
mod point_to_point;
mod program;
mod simulated;
mod ticks;
mod window;
mod work;

pub(super) use job::Job;
pub(super) use mpi_job::{MpiJob, MpiNetwork};
pub(super) use one_sided::OneSided;
pub(super) use point_to_point::PointToPoint;
pub(super) use simulated::{Parameters, SimulatedJob};
pub(super) use work::{Pattern, Ranks, Timed, Transfer, Work};

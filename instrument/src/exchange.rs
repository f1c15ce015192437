//! Measuring the clocks of the hosts of a job against one another.
//!
//! One process of each host, the one with the lowest rank, is its leader. The leaders exchange
//! stamps ([`ping`]) by a common [`schedule`]: in `MPI_Init` after the library's own function, and
//! in `MPI_Finalize` before it. All samples are written into the trace at once, by the process
//! whose clock is the local one, so that a crashed run still has those of its start. Nothing is
//! computed from them here. In a long run the leaders also exchange stamps in between ([`in_run`]).
//!
//! **No process is left waiting.** No message is sent to a process that does not expect it. All
//! processes agree through the trace directory that all of them are recorded ([`registry`]); if one
//! is missing, or all have one clock, nothing is exchanged at all. From then on all processes do
//! the same things in the same order, each of them at a point that every process of the job passes
//! exactly once. Where the MPI library can only end if all processes end together, they do
//! ([`joint_finalize`]).

mod clock_difference;
mod exchanges;
mod in_run;
mod joint_finalize;
mod leader;
mod ping;
mod registry;
mod schedule;
mod session;
mod start;
// After the macro that calls functions of the MPI library.
#[allow(unsafe_code)]
mod transport;

pub(crate) use exchanges::{Exchanges, TIMEOUT};
pub(crate) use in_run::{carries_data, synchronizes};
pub use ping::{StopMonitor, StopRule, TickLength, Transport, WORDS, answer, ask};
pub(crate) use registry::{Decision, Registry};
pub use schedule::{Pair, closing_rounds, rounds};
pub(crate) use session::Session;
pub(crate) use start::Start;
pub(crate) use transport::{CallFailed, CommunicatorTransport};

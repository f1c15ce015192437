//! Offsets between the clocks of hosts: one time for all of them, with its error.
//!
//! What is measured are [exchanges](Burst) between two hosts. The simple methods go from burst
//! to burst: the offset at the start, the straight line from start to end, or straight lines from
//! burst to burst ([`Correction`]). The default is the [joint smoother](smoother), which takes all
//! exchanges together with what the collectives themselves say ([`constraint`]): nobody leaves an
//! allreduce before the last has entered.
//!
//! Hosts that were not measured against the reference itself are reached over others; the error
//! bounds of the hops add, their variances too. Hosts that no exchange connects stay apart: each
//! such group has a time of its own, and its stamps are compared within it only.
//!
//! **Error.** The bound of a burst is half its smallest round trip, which nothing but a faster path
//! can break. The standard deviation has three parts: asymmetry of the path, 5 % of half the round
//! trip; queueing; and between measurements the wander of a clock with random-walk frequency.
//! Asymmetry cannot be seen from two hosts, so that part is an assumption. Three that were
//! measured in a ring must [close](closure).
//!
//! This crate knows no traces: hosts are numbers, and times come as ns or as ticks with a scale.
#![forbid(unsafe_code)]

pub mod closure;
pub mod constraint;
pub mod errors;
pub mod rank_clock;
pub mod smoothed_alignment;
pub mod tick_scale;
pub mod timestamp;

#[cfg(test)]
mod accuracy;
mod alignment;
mod banded;
mod correction;
mod exchange;
mod knots;
mod method;
mod reading;
mod rows;
mod smoother;

pub use alignment::{Alignment, Edges, edges};
pub use correction::Correction;
pub use exchange::{Burst, Knot};
pub use method::AlignmentMethod;

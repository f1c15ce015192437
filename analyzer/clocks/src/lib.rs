//! Offsets between the clocks of hosts, with errors: brings all hosts to one time.
//!
//! The measurements are [exchanges](Burst) between pairs of hosts. The simple methods use the
//! bursts of a pair one by one: the offset at the start, the straight line from start to end, or
//! straight lines from burst to burst ([`Correction`]). The default is the [joint
//! smoother](smoother), which uses all exchanges together with what the collectives imply
//! ([`constraint`]): no rank leaves an allreduce before the last one has entered.
//!
//! Hosts without measurements against the reference are reached over other hosts; the error bounds
//! of the hops add up, and so do the variances. Hosts that no exchange connects are not aligned
//! with one another: each such group has its own time, and only timestamps within a group are
//! compared.
//!
//! **Error.** The bound of a burst is half its smallest round trip; only a faster path could
//! violate it. The standard deviation has three parts: asymmetry of the path, 5 % of half the round
//! trip; queueing; and between measurements the wander of a clock whose frequency is a random walk.
//! Asymmetry cannot be measured between two hosts, so that part is an assumption. The offsets of
//! three hosts measured in a ring must [close](closure).
//!
//! This crate knows no traces: hosts are numbers, and times are ns or ticks with a scale.
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

//! Distributions, estimates with their errors, chances and periods, of times in ns. This crate knows
//! no traces and no MPI.
//!
//! What is added up ([`Distribution`](distribution::Distribution), [`Moments`](moments::Moments),
//! [`Batches`](batches::Batches), [`bins`]) merges: the sums of two parts give what the whole would
//! have given, in whichever order.
#![forbid(unsafe_code)]

pub mod batches;
pub mod bins;
pub mod buckets;
pub mod chance;
pub mod difference;
pub mod distribution;
pub mod estimate;
pub mod first_by_key;
pub mod integers;
pub mod moments;
pub mod numbering;
pub mod periods;
pub mod random;
pub mod spread;
mod student;

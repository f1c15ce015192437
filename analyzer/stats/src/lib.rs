//! Distributions, estimates with their errors, probabilities and periods of times in ns. This crate
//! knows neither traces nor MPI.
//!
//! Sums ([`Distribution`](distribution::Distribution), [`Moments`](moments::Moments),
//! [`Batches`](batches::Batches), [`bins`]) can be merged: the sums of two parts give what the
//! whole would have given, in either order.
#![forbid(unsafe_code)]

pub mod basis;
pub mod batch_table;
pub mod batches;
pub mod bins;
pub mod blocks;
pub mod buckets;
pub mod chance;
pub mod difference;
pub mod distribution;
pub mod estimate;
pub mod first_by_key;
pub mod integers;
pub mod median;
pub mod moments;
pub mod numbering;
pub mod periods;
pub mod random;
pub mod rank_correlation;
pub mod recurrence;
pub mod spread;
pub mod student;
pub mod trend;
pub mod two_classes;

//! How a collective operation is measured: when it starts, how often it is repeated, and how the
//! times of its processes become one number with an error.
//!
//! [`estimate`], [`reduction`], [`change`], [`refinement`] and [`window`] are pure functions of times.

pub mod change;
pub(crate) mod cold_cache;
pub mod estimate;
pub mod global_clock;
pub mod reduction;
pub mod refinement;
pub mod start;
pub mod window;

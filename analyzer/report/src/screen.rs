//! Results to text for a terminal.

pub(crate) mod analysis;
pub(crate) mod comparison;
pub(crate) mod lines;
pub(crate) mod operations;
pub(crate) mod running;

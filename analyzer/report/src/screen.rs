//! Results to text for a terminal.

pub(crate) mod analysis;
pub(crate) mod comparison;
pub(crate) mod running;

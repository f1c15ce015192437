//! Constraints on clocks from instances, and the alignment that uses them.

pub(crate) mod causality;
pub(crate) mod settle;

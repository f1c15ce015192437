//! What instances say of clocks.

pub(crate) mod causality;
pub(crate) mod settle;

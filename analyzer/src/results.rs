//! The results, as plain types: the fields of the document.

pub(crate) mod analysis;
pub(crate) mod clock;
pub(crate) mod code;
pub(crate) mod detail;
pub(crate) mod hang;
pub(crate) mod imbalance;
pub(crate) mod inside;
pub(crate) mod operation;
pub(crate) mod over_time;
pub(crate) mod process;
pub(crate) mod trace;
pub(crate) mod trees;

//! The results, as plain types: the fields of the document.

pub(crate) mod analysis;
pub(crate) mod detail;
pub(crate) mod hang;
pub(crate) mod inside;
pub(crate) mod over_time;

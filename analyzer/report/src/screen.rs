//! Results to text for a terminal.

pub(crate) mod analysis;
mod call_sites;
pub(crate) mod comparison;
pub(crate) mod lines;
pub(crate) mod operations;
pub(crate) mod running;

pub use call_sites::by_site_to_text_within;

//! Anchors to one clock for each host, and hosts on one time.

pub(crate) mod clocks;
pub(crate) mod resolution;

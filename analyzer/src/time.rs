//! From anchors to one clock per host, and from hosts to one common time.

pub(crate) mod clocks;
pub(crate) mod hosts;
pub(crate) mod resolution;

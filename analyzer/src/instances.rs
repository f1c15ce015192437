//! The queues of all processes to complete instances.

pub(crate) mod complete;
pub(crate) mod decode;
pub(crate) mod lanes;
pub(crate) mod matched;
pub(crate) mod matching;
pub(crate) mod own_lanes;

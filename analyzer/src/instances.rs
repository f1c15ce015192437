//! From the queues of all processes to complete instances.

pub(crate) mod call_orders;
pub(crate) mod columns;
pub(crate) mod complete;
pub(crate) mod decode;
pub(crate) mod matching;
pub(crate) mod member_calls;
pub(crate) mod outcome;
pub(crate) mod own_communicators;
pub(crate) mod wait_causes;

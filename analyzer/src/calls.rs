//! From the records of one process to calls in queues, with their messages and notes.

pub(crate) mod algorithms;
pub(crate) mod call;
pub(crate) mod context;
pub(crate) mod findings;
pub(crate) mod gap;
pub(crate) mod last_seen;
pub(crate) mod message_owner;
pub(crate) mod noted_sites;
pub(crate) mod outstanding;
pub(crate) mod phases;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod records_of_call;
pub(crate) mod running;
pub(crate) mod stamps;
pub(crate) mod stream;
pub(crate) mod tags;
pub(crate) mod time_in_mpi;
pub(crate) mod unqueued;

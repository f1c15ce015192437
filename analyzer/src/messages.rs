//! From ends of messages to the messages of an instance.

pub(crate) mod end;
pub(crate) mod ends;
pub(crate) mod gather;
pub(crate) mod instance_messages;
pub(crate) mod message;
pub(crate) mod pairing;
pub(crate) mod passes;
pub(crate) mod pattern;
pub(crate) mod recurrence;
pub(crate) mod steps;
mod thread_passes;

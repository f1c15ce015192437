//! The communicators of this process, and what else has an order of collective calls.

#[allow(unsafe_code)]
pub(crate) mod communicator;

pub use communicator::{CommunicatorEntry, HowMade, Opened};
pub(crate) use communicator::{Communicators, ConstructorCall, HandleHasher, hash_of_text, mix};

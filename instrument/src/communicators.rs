//! The communicators of this process, and what else has an order of collective calls.

pub(crate) mod entry;
mod identity;
#[allow(unsafe_code)]
mod opened;
#[allow(unsafe_code)]
mod registry;

pub use entry::CommunicatorEntry;
pub(crate) use entry::MeetAt;

pub use identity::HowMade;
pub(crate) use identity::hash_of_text;
pub use opened::Opened;
pub(crate) use registry::{Communicators, ConstructorCall};

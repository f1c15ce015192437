//! The communicators of this process, and the files and windows that also have an order of
//! collective calls.

pub(crate) mod entry;
#[allow(unsafe_code)]
mod files_and_windows;
mod identity;
#[allow(unsafe_code)]
mod registry;

pub use entry::CommunicatorEntry;
pub(crate) use entry::MeasuringPoint;

pub use files_and_windows::FileOrWindow;
pub use identity::CommunicatorIdentity;
pub(crate) use identity::hash_of_text;
pub(crate) use registry::{Communicators, ConstructorCall};

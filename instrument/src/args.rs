//! Arguments of calls: payloads, and counts that are narrowed.

#[allow(unsafe_code)]
mod narrow;
#[allow(unsafe_code)]
pub mod payload;

pub use narrow::{ArgumentRole, Initiated, Peers, RetainedArrays, call_narrowed};
pub(crate) use payload::CallView;

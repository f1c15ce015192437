//! What the arguments of a call say: bytes, and counts that are to be narrowed.

#[allow(unsafe_code)]
mod narrow;
#[allow(unsafe_code)]
pub mod payload;

pub use narrow::{ArgumentRole, Initiated, KeptArrays, Peers, call_narrowed};
pub(crate) use payload::CallView;

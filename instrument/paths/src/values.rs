//! Values on their way: what they consist of, which segment of which operation they belong to, and
//! how they are combined.

mod position;

mod header;

mod combine;

mod kernels;

mod blocks;

pub(crate) use blocks::{Merge, Shape, blocks, positions};
pub use combine::Combine;
pub(crate) use combine::Moved;
pub(crate) use header::{Header, MAX_RANKS, MESSAGE_HEADER_BYTES};
pub use kernels::{Elements, Kernel, Reduction};
pub(crate) use position::{MAX_SEGMENTS, Position};

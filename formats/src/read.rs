//! Reading a recorded rank file piece by piece, in whatever state it was left.

mod damage;
mod error;
mod header;
mod walk;

pub use damage::Damage;
pub use error::FormatError;
pub(crate) use header::parse_header;
pub(crate) use walk::{ChecksumBudget, FoundChunk, Step, Walk, parse_chunk_header, used_records};

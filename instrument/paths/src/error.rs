//! Why an operation fails.

use crate::transport::TransportError;

/// Why an operation over a tree fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What came is longer than the buffer for it, or processes that must give the same length have
    /// given different ones (`MPI_ERR_TRUNCATE`). As much as fits was stored, and the next
    /// operation starts as if nothing had happened.
    #[error("what came is longer than the buffer for it")]
    Truncated,
    /// An element is larger than a segment, and an operation that combines cannot divide elements.
    /// Nothing was sent: all processes find the same.
    #[error("an element of {element_bytes} bytes is larger than the {limit_bytes} of a segment")]
    Element {
        /// Size of an element.
        element_bytes: usize,
        /// The largest element that this tree can carry.
        limit_bytes: usize,
    },
    /// The number of segments is larger than can be counted. Nothing was sent.
    #[error("a payload of {bytes} bytes is too large for segments of {segment_bytes}")]
    Payload {
        /// Size of the payload.
        bytes: usize,
        /// Size of a segment.
        segment_bytes: usize,
    },
    /// The transport failed. The processes are no longer in step.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

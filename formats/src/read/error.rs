//! Why bytes are not a rank file.

use crate::file::{COMPACT_VERSION, FORMAT_VERSION, MetaError};

/// Why bytes are not a rank file that this version can read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Another kind of file.
    #[error("offset 0: not a collbench trace: expected the bytes \"COLLBNCH\", found {found}")]
    NotATrace {
        /// The first bytes, printable.
        found: String,
    },
    /// Nothing in it.
    #[error("offset 0: the file is empty; the process ended before it could write its header")]
    Empty,
    /// Cut within the header or the identity: there is nothing to read.
    #[error(
        "offset {length}: the file ends inside its header, which takes {expected} bytes: its \
         process ended while writing it, or it was copied in part"
    )]
    CutInHeader {
        /// Length of the file, in bytes.
        length: u64,
        /// Length that the header needs, in bytes.
        expected: u64,
    },
    /// Written by a version that this one does not know.
    #[error(
        "offset 8: format version {found}, this collbench reads versions {FORMAT_VERSION} and \
         {COMPACT_VERSION}; use the collbench that wrote it, or a newer one"
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// The header contradicts itself.
    #[error("offset {offset}: damaged header: {what}: expected {expected}, found {found}")]
    DamagedHeader {
        /// Where, in bytes.
        offset: u64,
        /// Which field.
        what: &'static str,
        /// What had to stand there.
        expected: u64,
        /// What stands there.
        found: u64,
    },
    /// The identity does not decode.
    #[error("offset {offset}: damaged identity: {error}")]
    Identity {
        /// Where, in bytes.
        offset: u64,
        /// What is wrong with it.
        error: MetaError,
    },
}

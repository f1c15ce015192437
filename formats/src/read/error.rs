//! Why bytes are not a rank file.

use crate::file::{COMPACT_VERSION, FORMAT_VERSION, MetaError};

/// Why bytes cannot be read as a rank file at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It is another kind of file.
    #[error("offset 0: not a collbench trace: expected the bytes \"COLLBNCH\", found {found}")]
    NotATrace {
        /// The first bytes, printable.
        found: String,
    },
    /// It is empty.
    #[error("offset 0: the file is empty; the process ended before it could write its header")]
    Empty,
    /// It ends inside the header or the identity: there is nothing to read.
    #[error(
        "offset {length}: the file ends inside its header of {expected} bytes; its process ended \
         while writing it, or only a part of it was copied"
    )]
    CutInHeader {
        /// Length of the file, in bytes.
        length: u64,
        /// Length of the header, in bytes.
        expected: u64,
    },
    /// It has a version that this program does not know.
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
        /// The expected value.
        expected: u64,
        /// The value found.
        found: u64,
    },
    /// The identity cannot be decoded.
    #[error("offset {offset}: damaged identity: {error}")]
    Identity {
        /// Where, in bytes.
        offset: u64,
        /// What is wrong with it.
        error: MetaError,
    },
}

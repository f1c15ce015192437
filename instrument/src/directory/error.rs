//! Why a directory cannot take a trace.

use std::io;
use std::path::PathBuf;

/// Why a directory cannot take a trace.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// There is a trace, which is not to be replaced.
    #[error(
        "{0} holds a trace already; replace it with --force, or choose another directory with -o"
    )]
    HoldsTrace(PathBuf),
    /// There is something else.
    #[error(
        "{0} exists and is not a trace; choose another directory with -o (--force replaces traces only)"
    )]
    NotATrace(PathBuf),
    /// Another recorder has locked it.
    #[error("another collbench-record is recording into {0}; choose another directory with -o")]
    InUse(PathBuf),
    /// It cannot be made, opened, locked, emptied or written.
    #[error("{path}: {error}; choose another directory with -o")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

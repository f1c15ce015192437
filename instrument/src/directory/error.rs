//! Errors of the trace directory.

use std::io;
use std::path::PathBuf;

/// Why a directory cannot be used for a trace.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It has a trace, which must not be replaced.
    #[error(
        "{0} already holds a trace; replace it with --force, or choose another directory with -o"
    )]
    HoldsTrace(PathBuf),
    /// It has something else.
    #[error(
        "{0} exists and is not a trace; choose another directory with -o (--force replaces traces only)"
    )]
    NotATrace(PathBuf),
    /// Another recorder has locked it.
    #[error(
        "another collbench-record is recording into {0}; choose another directory with -o, or, if one \
         launcher has started both, tell each of them its rank in COLLBENCH_RANK"
    )]
    InUse(PathBuf),
    /// It cannot be created, opened, locked, cleared or written.
    #[error("{path}: {error}; choose another directory with -o")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

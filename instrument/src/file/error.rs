//! Errors of growing a rank file.

use std::io;

use collbench_formats::StopReason;

/// Why a rank file could not grow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrowError {
    /// The disk is full, or a quota or RLIMIT_FSIZE is reached.
    #[error("{what}: {error}")]
    NoSpace {
        what: &'static str,
        error: io::Error,
    },
    /// `--max-size` is reached.
    #[error("the maximum size per rank ({max_bytes} bytes, --max-size) is reached")]
    SizeReached { max_bytes: u64 },
    /// Any other error.
    #[error("{what}: {error}")]
    Failed {
        what: &'static str,
        error: io::Error,
    },
}

impl GrowError {
    pub(crate) fn reason(&self) -> StopReason {
        match self {
            Self::NoSpace { .. } => StopReason::NoSpace,
            Self::SizeReached { .. } => StopReason::SizeReached,
            Self::Failed { .. } => StopReason::Failed,
        }
    }

    pub(super) fn of(what: &'static str, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EFBIG) => Self::NoSpace {
                what: "the limit on file sizes (ulimit -f)",
                error,
            },
            Some(libc::ENOSPC | libc::EDQUOT) => Self::NoSpace { what, error },
            _ => Self::Failed { what, error },
        }
    }
}

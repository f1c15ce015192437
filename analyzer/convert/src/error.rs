//! Why an export was not written.

use std::path::PathBuf;

use collbench_text::inert;

/// Why an export was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file or directory could not be written.
    #[error("{}: {source}", inert::path(.path))]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is something in its place already.
    #[error("{}: exists already; --force replaces it", inert::path(.0))]
    Exists(PathBuf),
    /// There is something in its place that is no export.
    #[error("{}: is no export of collbench ({why}), so --force does not replace it; remove it, or name another place", inert::path(.path))]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What is there.
        why: String,
    },
    /// A library that writes the format failed.
    #[error("{}: {why}", inert::path(.path))]
    Format {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The reader of standard output has closed it.
    #[error("standard output was closed")]
    Closed,
}

impl ExportError {
    /// What a library that writes a format says.
    pub(crate) fn format(path: &std::path::Path, why: impl ToString) -> Self {
        Self::Format {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }

    /// What the system says.
    pub(crate) fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

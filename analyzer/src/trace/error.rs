//! Why a directory cannot be analysed.

use std::io;
use std::path::PathBuf;

use collbench_text::inert;

/// Why a directory cannot be analysed at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is nothing under this name.
    #[error(
        "{}: cannot be opened: {error}; expected a trace, a directory made by collbench-record",
        inert::path(.path)
    )]
    Unreachable {
        /// What was given.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Not a directory.
    #[error(
        "{}: not a directory; expected a trace, a directory of *.trace files made by \
         collbench-record",
        inert::path(.path)
    )]
    NotADirectory {
        /// What was given.
        path: PathBuf,
    },
    /// A directory without rank files.
    #[error(
        "{}: no trace in it: expected *.trace files made by collbench-record, found {found}; {}",
        inert::path(.path),
        match .beside {
            Some(trace) => format!("did you mean {}?", inert::path(trace)),
            None => "was the program started under collbench-record, and did it call MPI_Init?".to_owned(),
        }
    )]
    NoTraceFiles {
        /// What was given.
        path: PathBuf,
        /// What is there.
        found: String,
        /// The directory that it is in, if that is a trace.
        beside: Option<PathBuf>,
    },
    /// Rank files, but none that can be read.
    #[error(
        "{}: none of its {n_files} *.trace files can be read; the first: {first}; \
         check that they have not been changed since they were recorded, or record again",
        inert::path(.path)
    )]
    NothingReadable {
        /// What was given.
        path: PathBuf,
        /// Number of `*.trace` files.
        n_files: usize,
        /// Name and finding of the first of them.
        first: String,
    },
    /// Files of more than one run.
    #[error(
        "{}: files of two runs in one directory: {first}; and {second}; \
         move the files of one run to another directory",
        inert::path(.path)
    )]
    TwoRuns {
        /// What was given.
        path: PathBuf,
        /// Files, ranks and hosts of one.
        first: String,
        /// Files, ranks and hosts of the next.
        second: String,
    },
    /// A file that becomes shorter again and again.
    #[error(
        "{}: {name} became shorter each time it was read; \
         wait until the trace is no longer written, or look at it with --follow",
        inert::path(.path)
    )]
    BecomesShorter {
        /// What was given.
        path: PathBuf,
        /// The file.
        name: String,
    },
    /// Two files of one process.
    #[error(
        "{}: two files of rank {rank} of one run: {first} and {second}; \
         remove the one that does not belong here",
        inert::path(.path)
    )]
    TwoFilesOfOneRank {
        /// What was given.
        path: PathBuf,
        /// The world rank.
        rank: u32,
        /// Name, process and host of one file.
        first: String,
        /// Name, process and host of the other.
        second: String,
    },
}

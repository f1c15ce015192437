//! What can go wrong.

use std::io;
use std::path::PathBuf;

use crate::version::Version;

/// Why there is no archive, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No file of the OTF2 library could be loaded.
    #[error(
        "no OTF2 library found (looked for {tried}). Debian and Ubuntu have it in the package \
         libopen-trace-format2-10; elsewhere install OTF2 3.0 or later from \
         https://www.vi-hps.org/projects/score-p and add its folder lib to LD_LIBRARY_PATH"
    )]
    NoLibrary {
        /// The names that were tried, each with the reason if it is another than that there is no
        /// such file.
        tried: String,
    },
    /// The library has another interface than that of version 3.
    #[error("{library} is OTF2 {version}, but version 3 is needed (3.0 or later)")]
    Version {
        /// The file that was loaded.
        library: String,
        /// Its version.
        version: Version,
    },
    /// The library lacks a function of OTF2 3.0.
    #[error("{library} is not the library of OTF2 3.0 or later: {reason}")]
    NotOtf2 {
        /// The file that was loaded.
        library: String,
        /// What is missing.
        reason: String,
    },
    /// There is something in the directory already.
    #[error("{} is not empty; an archive needs a directory of its own", directory.display())]
    NotEmpty {
        /// The directory of the archive.
        directory: PathBuf,
    },
    /// A directory or file of the archive cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The directory or file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The temporary file of events cannot be written or read.
    #[error("temporary file in {}: {source}", directory.display())]
    Temporary {
        /// The directory of the archive, in which the file is.
        directory: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// An event is earlier than the one before it on the same location.
    #[error(
        "an event of location {location} at {time_ns} ns comes after one at {last_ns} ns; \
         the times of a location must not decrease"
    )]
    TimeDecreases {
        /// The number of the location.
        location: u64,
        /// Time of the event.
        time_ns: u64,
        /// Time of the event before it.
        last_ns: u64,
    },
    /// An event, attribute or metric refers to a definition that this archive does not have.
    #[error("{what} {number} is not defined in this archive")]
    Undefined {
        /// The kind of definition.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// A value has another type than its attribute or metric.
    #[error("a value of {what} {number} is of another type than its definition")]
    WrongType {
        /// Attribute or metric.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// The OTF2 library reports an error, such as a full disk.
    #[error("OTF2 cannot {action}: {reason}")]
    Otf2 {
        /// What was being done.
        action: &'static str,
        /// The library's own words.
        reason: String,
    },
}

//! What is missing or wrong in a rank file.

use crate::file::{MetaError, StopReason};

/// What is missing or wrong in a rank file that could be read. It is part of the result, not an
/// error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The process ended without `MPI_Finalize`, or the file was cut.
    #[error("the process ended without MPI_Finalize")]
    NotFinalized,
    /// Recording ended before the program did.
    #[error(
        "recording stopped early ({}); {} not recorded",
        stop_words(*.reason, .text),
        calls(*.calls_after)
    )]
    StoppedEarly {
        /// Why.
        reason: StopReason,
        /// The recorder's description.
        text: String,
        /// Calls of the application that were not recorded.
        calls_after: u64,
    },
    /// The file ends before the end of its last chunk.
    #[error(
        "offset {length}: the file ends here, inside a chunk that should end at offset {expected}"
    )]
    Cut {
        /// Length of the file, in bytes.
        length: u64,
        /// Where the last chunk should end, in bytes.
        expected: u64,
    },
    /// Bytes that are not a chunk, where a chunk should begin; they were skipped.
    #[error("offset {offset}: expected a chunk, found something else; {skipped} bytes skipped")]
    NotAChunk {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes were skipped.
        skipped: u64,
    },
    /// A chunk with fewer records than its header states.
    #[error("offset {offset}: the chunk header states {expected} records, found {found}")]
    MissingRecords {
        /// Where the chunk begins, in bytes.
        offset: u64,
        /// Records stated.
        expected: u64,
        /// Records found.
        found: u64,
    },
    /// The anchor at the end, or the number of records, is not what was written; neither is used.
    #[error("the end anchor and record count in the header fail their checksum")]
    End,
    /// The number of records in all chunks is not the number in the header.
    #[error("the header states {expected} records in total, found {found}")]
    LostRecords {
        /// Records stated.
        expected: u64,
        /// Records found.
        found: u64,
    },
    /// Chunks of a thread are missing before this one.
    #[error("offset {offset}: expected chunk {expected} of thread {thread}, found {found}")]
    MissingChunk {
        /// Where the chunk begins, in bytes.
        offset: u64,
        /// The thread.
        thread: u32,
        /// Number of the chunk expected.
        expected: u32,
        /// Number of the chunk found.
        found: u32,
    },
    /// A part of a compact file that is not as it was written; its content is missing.
    #[error("offset {offset}: damaged part of a compact trace; {skipped} bytes skipped")]
    DamagedPart {
        /// Where in the compact file, in bytes.
        offset: u64,
        /// How many bytes were skipped.
        skipped: u64,
    },
    /// A compact file with fewer parts than its header states.
    #[error("the compact trace states {expected} parts, found {found}")]
    MissingParts {
        /// Parts stated.
        expected: u32,
        /// Parts found, including damaged ones.
        found: u32,
    },
    /// A compact file that states a recorded length larger than its parts can explain.
    #[error(
        "the compact trace states that {length} bytes were recorded, but its parts account for only \
          {explained}"
    )]
    Hollow {
        /// Bytes of the recorded file, as stated.
        length: u64,
        /// Up to where the parts explain it, in bytes.
        explained: u64,
    },
    /// A definition that cannot be decoded; those after it in its chunk are missing.
    #[error("offset {offset}: damaged definition: {error}")]
    Definition {
        /// Where, in bytes.
        offset: u64,
        /// What is wrong with it.
        error: MetaError,
    },
}

/// "1 call", "2 calls".
fn calls(n: u64) -> String {
    format!("{n} call{}", if n == 1 { "" } else { "s" })
}

fn stop_words(reason: StopReason, text: &str) -> String {
    let reason = match reason {
        StopReason::NotStopped => "not stopped",
        StopReason::NoSpace => "no space",
        StopReason::SizeReached => "size reached",
        StopReason::Failed => "failure",
    };
    if text.is_empty() {
        reason.to_owned()
    } else {
        format!("{reason}: {text}")
    }
}

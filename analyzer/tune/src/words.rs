//! Words that several screens have in common.

use collbench_text::quantity::short_bytes;

/// How many processes call an operation, with how many bytes of each: `8 processes, 64k bytes`.
pub(crate) fn sized(n_processes: usize, bytes: u64) -> String {
    match bytes {
        0 => format!("{n_processes} processes"),
        1 => format!("{n_processes} processes, 1 byte"),
        bytes => format!("{n_processes} processes, {} bytes", short_bytes(bytes)),
    }
}

//! Words that several screens have in common.

use collbench_text::quantity::size;

/// How many processes call an operation, with how many bytes of each: `8 processes, 64 KiB`.
pub(crate) fn sized(n_processes: usize, bytes: u64) -> String {
    match bytes {
        0 => format!("{n_processes} processes"),
        bytes => format!("{n_processes} processes, {}", size(bytes)),
    }
}

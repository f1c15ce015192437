//! Descriptors that do not interfere with those of the program.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

/// Moves a descriptor to a high number, since programs may rely on low numbers, or close "all" of
/// the first few.
pub(crate) fn move_to_high_descriptor(file: File) -> File {
    // SAFETY: the descriptor is open; fcntl only duplicates it.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 500) };
    if high < 0 {
        return file;
    }
    // SAFETY: fcntl has just returned this descriptor, which nobody else owns.
    unsafe { File::from_raw_fd(high) }
}

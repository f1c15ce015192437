//! Descriptors that the program does not meet.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

/// Moves a descriptor to a high number, where programs that count on low ones (or close "all"
/// of the first few) do not meet it.
pub(crate) fn out_of_the_way(file: File) -> File {
    // SAFETY: a plain fcntl on a descriptor that is open.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 500) };
    if high < 0 {
        return file;
    }
    // SAFETY: fcntl has just given this descriptor to us.
    unsafe { File::from_raw_fd(high) }
}

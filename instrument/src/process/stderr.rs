//! Lines of the recorder on the stderr of the program.
//!
//! A line must not change what the program does. So it is only written if descriptor 2 is the same
//! file as when MPI began (a program that closes its first descriptors gets their numbers for its
//! data), only if it can be written at once (a pipe may be full and have no reader), and without
//! the signals that a write may raise. A line that cannot be written is in the trace, if that can
//! be written.
//!
//! There is no copy of stderr. Processes that the program forks would inherit it, and a reader that
//! waits for the end of a pipe which the program has closed would wait for them.

use std::fs::{File, Metadata};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::time::SystemTime;

use super::Uninterrupted;
use super::unsignalled::unsignalled;

const STDERR: RawFd = 2;

/// Descriptor 2 when MPI began; `None` if it was closed, or was not for output.
static AT_START: OnceLock<Option<Identity>> = OnceLock::new();

/// Identifies a file, pipe or terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    /// When it was created, if that is known: a file may have the inode of one that was removed.
    created: Option<SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            created: metadata.created().ok(),
        }
    }
}

/// The file that descriptor 2 is now.
fn stderr_now() -> ManuallyDrop<File> {
    // SAFETY: the descriptor is not closed here; if the program has closed it, calls return an
    // error.
    ManuallyDrop::new(unsafe { File::from_raw_fd(STDERR) })
}

/// Remembers what stderr is; to be called before MPI begins, which opens descriptors of its own.
pub(crate) fn remember_stderr() {
    AT_START.get_or_init(|| {
        let file = stderr_now();
        let metadata = file.metadata().ok()?;
        (!is_data(&file, &metadata)).then(|| Identity::of(&metadata))
    });
    // The message of a panic would go to descriptor 2, whatever that is.
    std::panic::set_hook(Box::new(|panic| {
        say_unranked(&panic.to_string().replace('\n', ": "));
    }));
}

/// Whether this file is also open for reading: then it is data of a program that had closed its
/// stderr before MPI began.
fn is_data(file: &File, metadata: &Metadata) -> bool {
    // SAFETY: fcntl only returns the flags of the descriptor.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    metadata.is_file() && flags & libc::O_ACCMODE != libc::O_WRONLY
}

/// Writes a line about this rank.
pub(crate) fn say(rank: u32, what: &str) {
    say_unranked(&format!("rank {rank}: {what}"));
}

/// Writes a line when the rank is not known.
pub(crate) fn say_unranked(what: &str) {
    let Some(Some(began_as)) = AT_START.get() else {
        return;
    };
    let _signals_wait = Uninterrupted::begin();
    // A line up to this length is written to a pipe completely or not at all.
    let mut line = format!("collbench: {what}").into_bytes();
    line.truncate(libc::PIPE_BUF - 1);
    line.push(b'\n');
    // If it cannot be written, there is no way to report that.
    let _ = unsignalled(|| {
        let file = stderr_now();
        if Identity::of(&file.metadata()?) == *began_as {
            write_now(&file, &line)
        } else {
            Ok(())
        }
    });
}

/// Writes as much as is possible at once: all, the beginning, or nothing.
fn write_now(file: &File, line: &[u8]) -> io::Result<()> {
    let fd = file.as_raw_fd();
    let mut wanted = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    loop {
        // SAFETY: the structure is valid for reading and writing; the call does not wait.
        if unsafe { libc::poll(&mut wanted, 1, 0) } < 1 || wanted.revents & libc::POLLOUT == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let piece = libc::iovec {
            iov_base: line.as_ptr().cast_mut().cast(),
            iov_len: line.len(),
        };
        // SAFETY: the bytes are valid for reading; the offset -1 stands for the descriptor's own.
        let mut n = unsafe { libc::pwritev2(fd, &piece, 1, -1, libc::RWF_NOWAIT) };
        if n < 0 && is_unknown(&io::Error::last_os_error()) {
            // SAFETY: the bytes are valid for reading. Another process may have filled the pipe
            // since poll.
            n = unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
        }
        if n >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Whether this error means that the kernel cannot write into such a file without waiting.
fn is_unknown(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL)
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn a_line_is_left_out_where_it_would_have_to_wait() {
        let (mut reader, writer) = pipe().unwrap();
        let writer = File::from(OwnedFd::from(writer));
        let line = [b'x'; 1000];
        let mut n = 0;
        while write_now(&writer, &line).is_ok() {
            n += 1;
        }
        assert!(n > 0);
        let flags = flags_of(&writer);
        assert_eq!(
            flags & libc::O_NONBLOCK,
            0,
            "others have this description too"
        );
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), n * line.len(), "whole lines");
    }

    fn flags_of(file: &File) -> libc::c_int {
        // SAFETY: fcntl only returns the flags of the descriptor.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) }
    }

    #[test]
    fn files_with_the_same_name_are_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let first = File::create(&path).unwrap();
        let identity = |file: &File| Identity::of(&file.metadata().unwrap());
        let before = identity(&first);
        assert_eq!(before, identity(&File::open(&path).unwrap()));
        assert!(is_data(
            &File::open(&path).unwrap(),
            &first.metadata().unwrap()
        ));
        assert!(!is_data(&first, &first.metadata().unwrap()));
        drop(first);
        std::fs::remove_file(&path).unwrap();
        // Many file systems reuse the inode at once.
        assert_ne!(before, identity(&File::create(&path).unwrap()));
    }
}

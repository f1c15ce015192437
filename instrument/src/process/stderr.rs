//! Lines of the recorder on the stderr of the program.
//!
//! Nothing of what the program does may change for a line: it is written only where descriptor 2
//! is what it was when MPI began (a program that closes its first descriptors opens its data under
//! their numbers), only if it can be written at once (a pipe may be full, and read by nobody), and
//! without the signals that a write may cause. A line that is left out is in the trace, if that
//! could be written.
//!
//! No copy of stderr is kept. Processes that the program forks would have it too, and whoever
//! waits for the end of a pipe that the program has closed would wait for theirs.

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

/// Descriptor 2 when MPI began; `None` if it was closed, or no stderr.
static BEGAN_AS: OnceLock<Option<Identity>> = OnceLock::new();

/// What tells a file, pipe or terminal from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    /// When it was made, where that is known: a file may have the inode of one that was removed.
    born: Option<SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born: metadata.created().ok(),
        }
    }
}

/// Descriptor 2, whatever it is now.
fn stderr_now() -> ManuallyDrop<File> {
    // SAFETY: the descriptor is not closed here, and is open if the program has it so; else calls
    // fail.
    ManuallyDrop::new(unsafe { File::from_raw_fd(STDERR) })
}

/// Notes what stderr is: to be called before MPI begins, since that opens descriptors of its own.
pub(crate) fn remember_stderr() {
    BEGAN_AS.get_or_init(|| {
        let file = stderr_now();
        let metadata = file.metadata().ok()?;
        (!is_data(&file, &metadata)).then(|| Identity::of(&metadata))
    });
    // The text of a panic would go to descriptor 2, whatever that is.
    std::panic::set_hook(Box::new(|panic| {
        say_unranked(&panic.to_string().replace('\n', ": "));
    }));
}

/// Whether this is a file that is opened to be read as well: data of a program which had closed
/// its stderr before MPI began.
fn is_data(file: &File, metadata: &Metadata) -> bool {
    // SAFETY: a plain fcntl.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    metadata.is_file() && flags & libc::O_ACCMODE != libc::O_WRONLY
}

/// Says something of this rank, in one line.
pub(crate) fn say(rank: u32, what: &str) {
    say_unranked(&format!("rank {rank}: {what}"));
}

/// Says something where the rank is not known, in one line.
pub(crate) fn say_unranked(what: &str) {
    let Some(Some(began_as)) = BEGAN_AS.get() else {
        return;
    };
    let _signals_wait = Uninterrupted::begin();
    // Up to this length a pipe takes a line in one piece, or not at all.
    let mut line = format!("collbench: {what}").into_bytes();
    line.truncate(libc::PIPE_BUF - 1);
    line.push(b'\n');
    // Where it cannot be written, there is nobody to be told.
    let _ = unsignalled(|| {
        let file = stderr_now();
        if Identity::of(&file.metadata()?) == *began_as {
            write_now(&file, &line)
        } else {
            Ok(())
        }
    });
}

/// Writes if that can be done at once; else nothing, or the beginning.
fn write_now(file: &File, line: &[u8]) -> io::Result<()> {
    let fd = file.as_raw_fd();
    let mut wanted = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    loop {
        // SAFETY: one structure that is valid for reading and writing; there is no waiting.
        if unsafe { libc::poll(&mut wanted, 1, 0) } < 1 || wanted.revents & libc::POLLOUT == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let piece = libc::iovec {
            iov_base: line.as_ptr().cast_mut().cast(),
            iov_len: line.len(),
        };
        // SAFETY: bytes that are valid for reading, which a write leaves as they are; the offset -1
        // is the descriptor's own.
        let mut n = unsafe { libc::pwritev2(fd, &piece, 1, -1, libc::RWF_NOWAIT) };
        if n < 0 && is_unknown(&io::Error::last_os_error()) {
            // SAFETY: as above. Another process may have filled the pipe since it was asked.
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

/// Whether the kernel cannot write into this kind of file without waiting.
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
        // SAFETY: a plain fcntl.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) }
    }

    #[test]
    fn files_are_told_apart_though_they_have_the_same_name() {
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
        // Many file systems give the inode again at once.
        assert_ne!(before, identity(&File::create(&path).unwrap()));
    }
}

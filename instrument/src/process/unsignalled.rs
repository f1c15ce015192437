//! Writing without the signals that a write may raise.
//!
//! A write into a pipe without a reader raises SIGPIPE, and one beyond RLIMIT_FSIZE raises SIGXFSZ:
//! the recorded program would be killed because of what the recorder wrote. Checking in advance
//! whether the write will succeed is a race. So these signals are blocked in this thread, which is
//! the only one that the kernel sends them to, and a signal that was raised is removed before they
//! are unblocked.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Makes system calls that write, up to the first error, and suppresses the signal of that error. A
/// signal of the same kind that was pending before, or that another process has sent, stays
/// pending.
pub(crate) fn unsignalled<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // SIGTTOU: a line on a terminal of another process group would stop this process. If the signal
    // is blocked, the line is written, and nothing becomes pending.
    let blocked = set_of(&[libc::SIGPIPE, libc::SIGXFSZ, libc::SIGTTOU]);
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are valid, one for reading and one for writing.
    let code = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, before.as_mut_ptr()) };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    let _unblocked = Restored(before);
    let was_pending = [libc::SIGPIPE, libc::SIGXFSZ].map(is_pending);
    let written = write();
    if let Err(error) = &written {
        match error.raw_os_error() {
            Some(libc::EPIPE) if !was_pending[0] => take(libc::SIGPIPE),
            Some(libc::EFBIG) if !was_pending[1] => take(libc::SIGXFSZ),
            _ => {}
        }
    }
    written
}

/// The signals that a thread had blocked before; dropping this restores them.
struct Restored(MaybeUninit<libc::sigset_t>);

impl Drop for Restored {
    fn drop(&mut self) {
        // SAFETY: `unsignalled` creates this after the set was written.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, self.0.as_ptr(), ptr::null_mut()) };
    }
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset makes `set` a valid set, to which signals are added.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

fn is_pending(signal: libc::c_int) -> bool {
    let mut pending = set_of(&[]);
    // SAFETY: one set is valid for writing, and the other for reading.
    unsafe { libc::sigpending(&mut pending) == 0 && libc::sigismember(&pending, signal) == 1 }
}

/// Removes a pending signal, of this thread before one of the process; does not wait.
fn take(signal: libc::c_int) {
    let set = set_of(&[signal]);
    let no_time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    loop {
        // SAFETY: the set and the time are valid for reading; no information is requested.
        let code = unsafe { libc::sigtimedwait(&set, ptr::null_mut(), &no_time) };
        if code >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::FromRawFd;

    use super::*;

    /// Writes into a pipe without a reader.
    fn write_without_reader() -> io::Result<()> {
        let mut ends = [0; 2];
        // SAFETY: the array of two is valid for writing; then both descriptors belong to this
        // function.
        let (reader, mut writer) = unsafe {
            assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
            (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
        };
        drop(reader);
        writer.write_all(b"line\n")
    }

    /// Runs a test in a forked process with default actions for all signals. Returns the signal
    /// that killed it, or 0.
    fn in_a_process(test: impl FnOnce()) -> i32 {
        // SAFETY: the child only makes system calls and allocations, which the C library allows in
        // the child of a process with threads, and ends without destructors.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
                test();
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert!(libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) == 0);
            if libc::WIFSIGNALED(status) {
                libc::WTERMSIG(status)
            } else {
                0
            }
        }
    }

    fn expect(holds: bool) {
        if !holds {
            // SAFETY: this ends the child, without destructors.
            unsafe { libc::_exit(1) };
        }
    }

    #[test]
    fn a_pipe_without_a_reader_does_not_kill_the_process() {
        let plain = in_a_process(|| drop(write_without_reader()));
        assert_eq!(plain, libc::SIGPIPE);
        let guarded = in_a_process(|| {
            let error = unsignalled(write_without_reader).unwrap_err();
            expect(error.raw_os_error() == Some(libc::EPIPE));
            expect(!is_pending(libc::SIGPIPE));
        });
        assert_eq!(guarded, 0);
    }

    #[test]
    fn a_limit_on_file_size_does_not_kill_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let mut file = File::create(folder.path().join(name)).unwrap();
            let limit = libc::rlimit {
                rlim_cur: 5,
                rlim_max: libc::RLIM_INFINITY,
            };
            // SAFETY: the limit is valid for reading, and only set for the child.
            expect(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) } == 0);
            file.write_all(b"ten bytes\n")
        };
        assert_eq!(in_a_process(|| drop(write("plain"))), libc::SIGXFSZ);
        let guarded = in_a_process(|| {
            let error = unsignalled(|| write("guarded")).unwrap_err();
            expect(error.raw_os_error() == Some(libc::EFBIG));
        });
        assert_eq!(guarded, 0);
    }

    #[test]
    fn a_signal_that_was_pending_before_stays_pending() {
        let status = in_a_process(|| {
            let set = set_of(&[libc::SIGPIPE]);
            // SAFETY: the set is valid; the signal is sent to this thread, which has blocked it.
            unsafe {
                libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut());
                libc::raise(libc::SIGPIPE);
            }
            expect(unsignalled(write_without_reader).is_err());
            expect(is_pending(libc::SIGPIPE));
            let unharmed = unsignalled(|| Ok(()));
            expect(unharmed.is_ok() && is_pending(libc::SIGPIPE));
        });
        assert_eq!(status, 0);
    }
}

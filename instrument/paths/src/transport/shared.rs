//! Memory that processes of one host share.
//!
//! It is a file without a name (`memfd_create`), whose room is reserved and whose size is sealed:
//! nobody who touches it can get SIGBUS, and it is gone when the last process has ended, however
//! that ends. Other processes open it by `/proc/PID/fd`.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;

use super::line::{LINE_BYTES, Line};

/// What other processes of this host need to find shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// The process that has made it.
    pub(crate) pid: u64,
    /// Its number of the file.
    pub(crate) descriptor: u64,
    /// What is in the last line, so that another file is never taken for it.
    pub(crate) mark: u64,
}

/// Memory that processes of one host share.
#[derive(Debug)]
pub struct SharedMemory {
    begin: NonNull<Line>,
    /// Without the last line, which has the mark.
    n_lines: usize,
}

// SAFETY: the mapping stays until it is dropped, and consists of atomic words.
unsafe impl Send for SharedMemory {}

// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Makes shared memory of this many lines, all zero. The file must stay open until all others
    /// have opened it.
    pub(crate) fn make(n_lines: usize) -> io::Result<(Self, File, Address)> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a C string.
        let descriptor = unsafe { libc::memfd_create(c"collbench-paths".as_ptr(), flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it, and nobody else has it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        reserve(&file, bytes_of(n_lines)?)?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: `fcntl` touches no memory of this process.
        if unsafe { libc::fcntl(descriptor, libc::F_ADD_SEALS, seals) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let memory = Self::map(&file, n_lines)?;
        // Differs between all that one process makes, and mostly between processes.
        let mark = memory.begin.as_ptr() as u64 ^ u64::from(std::process::id()) << 32 | 1;
        memory
            .mark()
            .store(mark, std::sync::atomic::Ordering::Release);
        let address = Address {
            pid: std::process::id().into(),
            descriptor: descriptor as u64,
            mark,
        };
        Ok((memory, file, address))
    }

    /// Opens what another process of this host has made.
    pub(crate) fn open(address: Address, n_lines: usize) -> io::Result<Self> {
        let path = format!("/proc/{}/fd/{}", address.pid, address.descriptor);
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        // A shorter file would be SIGBUS.
        if file.metadata()?.len() < bytes_of(n_lines)? as u64 {
            return Err(io::Error::other(format!("{path} is shorter than expected")));
        }
        let memory = Self::map(&file, n_lines)?;
        let mark = memory.mark().load(std::sync::atomic::Ordering::Acquire);
        if mark != address.mark {
            return Err(io::Error::other(format!("{path} is another file")));
        }
        Ok(memory)
    }

    fn map(file: &File, n_lines: usize) -> io::Result<Self> {
        let bytes = bytes_of(n_lines)?;
        // SAFETY: a new mapping at an address that the kernel chooses changes no other memory.
        let begin = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if begin == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let begin = NonNull::new(begin.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Self { begin, n_lines })
    }

    fn mark(&self) -> &std::sync::atomic::AtomicU64 {
        // SAFETY: the mapping has one line more than `n_lines`, at page alignment.
        unsafe { self.begin.add(self.n_lines).as_ref() }.word()
    }
}

/// Reserves so much room for a file.
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    /// A signal that comes meanwhile undoes the call, which is made again: it must not take so long
    /// that a timer of the program always interrupts it.
    const BYTES_AT_A_TIME: usize = 1 << 20;
    if exceeds_file_limit(bytes)? {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    let mut begin = 0;
    while begin < bytes {
        let length = BYTES_AT_A_TIME.min(bytes - begin);
        let [from, room] = [begin, length].map(|of| of as libc::off_t);
        // SAFETY: `fallocate` touches no memory of this process.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, from, room) } == 0 {
            begin += length;
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// Whether this process may have no file as large as this. It would be sent SIGXFSZ, which ends it.
fn exceeds_file_limit(bytes: usize) -> io::Result<bool> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit has an address to be stored at.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(bytes as u64 > limit.rlim_cur)
}

/// Bytes of a mapping of some lines and one more.
fn bytes_of(n_lines: usize) -> io::Result<usize> {
    let bytes = n_lines
        .checked_add(1)
        .and_then(|n| n.checked_mul(LINE_BYTES));
    bytes.ok_or_else(|| io::Error::other("more than there can be"))
}

impl Deref for SharedMemory {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        // SAFETY: the mapping has these lines at page alignment, for as long as `self` exists. All
        // bits are valid atomic words, and only atomic instructions touch them.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.n_lines) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        if let Ok(bytes) = bytes_of(self.n_lines) {
            // SAFETY: the mapping is this one, and nothing borrows from it any more.
            unsafe { libc::munmap(self.begin.as_ptr().cast(), bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_writes_the_other_reads() {
        let (one, file, address) = SharedMemory::make(3).unwrap();
        let other = SharedMemory::open(address, 3).unwrap();
        drop(file);
        assert!(
            one.iter()
                .all(|line| line.word().load(Ordering::Relaxed) == 0)
        );
        one[2].word().store(5, Ordering::Release);
        assert_eq!(other[2].word().load(Ordering::Acquire), 5);
        assert_eq!(other.len(), 3);
    }

    #[test]
    fn another_file_or_a_shorter_one_is_refused() {
        let (_memory, _file, address) = SharedMemory::make(3).unwrap();
        assert!(SharedMemory::open(address, 1000).is_err());
        let wrong = Address {
            mark: address.mark ^ 2,
            ..address
        };
        assert!(SharedMemory::open(wrong, 3).is_err());
        let closed = Address {
            descriptor: 1 << 20,
            ..address
        };
        assert!(SharedMemory::open(closed, 3).is_err());
    }
}

//! A mapped file, which another process may truncate meanwhile.
//!
//! Reading a mapped page that is no longer in the file raises SIGBUS. In a command that calls
//! [`guard_mappings`], the page and all pages after it become zeros instead, and the mapping
//! reports that it [has shrunk](Mapped::has_shrunk): results computed from it are then invalid.
//!
//! The alternative not taken is reading into buffers. It takes as long: 2.07 ns of processor time
//! for a record of 32 bytes, against 2.06 ns mapped (`benches/read.rs`, 512 MiB in the page cache,
//! 2 cores of a virtual machine, November 2026), of about 140 ns that the analysis takes for a
//! call. But mapped bytes are read in place, by several threads and more than once, and no buffer
//! grows with the number of processes.

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use memmap2::{Mmap, UncheckedAdvice};

/// Pages have this size, or a multiple of it.
const PAGE_BYTES: usize = 4096;

/// The size of pages, once [`guard_mappings`] has found it.
static OWN_PAGE_BYTES: AtomicUsize = AtomicUsize::new(PAGE_BYTES);

/// An access to a page also brings in the pages in the aligned block of this many bytes around it,
/// including pages before it that were given back.
const AROUND_BYTES: u64 = 64 << 10;

/// A file mapped for reading.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    entry: &'static Entry,
}

impl Mapped {
    /// Maps a file, which must not be empty.
    ///
    /// # Errors
    /// The system's, also for an empty file.
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: a mapping is unsound only if the file changes while it is mapped. Rank files are
        // written once, by a recorder that has ended. Of a recorder that still runs only free slots
        // change, which are read as integers of any value. If another process truncates the file,
        // reading beyond its new end ends the process or gives zeros, which are integers too.
        let map = unsafe { Mmap::map(file) }?;
        let begin = map.as_ptr() as usize;
        let entry = Entry::take();
        entry.has_shrunk.store(false, Ordering::SeqCst);
        entry.end.store(begin + map.len(), Ordering::Relaxed);
        entry.begin.store(begin, Ordering::Release);
        Ok(Self { map, entry })
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether bytes were read that are no longer in the file, so that zeros were given for them.
    #[must_use]
    pub fn has_shrunk(&self) -> bool {
        self.entry.has_shrunk.load(Ordering::Acquire)
    }

    /// The result of `look` for the bytes. If the file became shorter meanwhile, the result, or a
    /// panic, is dropped.
    ///
    /// # Errors
    /// The file became shorter.
    pub fn read<'a, T>(&'a self, look: impl FnOnce(&'a [u8]) -> T) -> io::Result<T> {
        let found = catch_unwind(AssertUnwindSafe(|| look(&self.map)));
        match found {
            _ if self.has_shrunk() => Err(io::Error::other("became shorter while it was read")),
            Ok(found) => Ok(found),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Gives back the pages that hold the bytes `[from, to)`, and some before them.
    pub fn give_back(&self, from: u64, to: u64) {
        let length = self.map.len() as u64;
        let from = from.saturating_sub(AROUND_BYTES).min(length) as usize;
        let begin = from / PAGE_BYTES * PAGE_BYTES;
        let end = to.min(length) as usize;
        // SAFETY: MADV_DONTNEED drops the pages of the range from this process; the next access
        // reads the same bytes from the file. The mapping is of a file and was never writable, so
        // no page of it is a private copy that would be lost. It is anonymous only where zeros
        // replace what was truncated, and these are zeros again.
        let given = unsafe {
            let length = end.saturating_sub(begin);
            self.map
                .unchecked_advise_range(UncheckedAdvice::DontNeed, begin, length)
        };
        // Fails where the system has larger pages: then they stay until the end.
        let _ = given;
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Must come before the addresses may belong to another mapping.
        self.entry.begin.store(0, Ordering::Release);
        if self.has_shrunk() {
            N_SHRUNK.fetch_sub(1, Ordering::SeqCst);
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.entry);
    }
}

/// What a signal handler needs to know of a mapping. Entries are never freed, but reused: a handler
/// may be reading them at any time, and cannot wait.
#[derive(Debug)]
struct Entry {
    /// Addresses of the mapping; `begin` is 0 if the entry is unused.
    begin: AtomicUsize,
    end: AtomicUsize,
    has_shrunk: AtomicBool,
    next: AtomicPtr<Entry>,
}

/// All entries that were ever made.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(null_mut());
/// Unused entries.
static FREE: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

impl Entry {
    fn take() -> &'static Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = free.pop() {
            return entry;
        }
        // The lock is held: no other thread adds an entry.
        let entry = Box::leak(Box::new(Self {
            begin: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            has_shrunk: AtomicBool::new(false),
            next: AtomicPtr::new(ENTRIES.load(Ordering::Relaxed)),
        }));
        ENTRIES.store(entry, Ordering::Release);
        entry
    }

    /// The entry of the mapping that has this address.
    fn of(address: usize) -> Option<&'static Self> {
        let mut at = ENTRIES.load(Ordering::Acquire);
        // SAFETY: entries are never freed, and only changed by atomics.
        while let Some(entry) = unsafe { at.as_ref() } {
            let begin = entry.begin.load(Ordering::Acquire);
            if begin != 0 && (begin..entry.end.load(Ordering::Relaxed)).contains(&address) {
                return Some(entry);
            }
            at = entry.next.load(Ordering::Relaxed);
        }
        None
    }
}

/// Number of current mappings that have shrunk.
static N_SHRUNK: AtomicUsize = AtomicUsize::new(0);

/// Makes all mappings of this process survive the truncation of their files. This is for commands:
/// it installs a handler for SIGBUS in the process, and suppresses panic messages while there is a
/// file that was truncated.
pub fn guard_mappings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: sysconf only returns a number.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if let Ok(bytes @ 1..) = usize::try_from(bytes) {
            OWN_PAGE_BYTES.store(bytes, Ordering::Relaxed);
        }
        // SAFETY: the handler only makes system calls that are allowed in handlers, and the data
        // that it reads is never freed; sigaction fills the second struct.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            let mut before: libc::sigaction = zeroed();
            action.sa_sigaction = put_zeros as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut before) == 0 {
                BEFORE.store(Box::leak(Box::new(before)), Ordering::Release);
                libc::sigaction(libc::SIGBUS, &action, null_mut());
            }
        }
        let previous_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if N_SHRUNK.load(Ordering::SeqCst) == 0 {
                previous_hook(panic);
            }
        }));
    });
}

/// The action that was set for SIGBUS before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

unsafe extern "C" fn put_zeros(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo, which has an address if it is of a fault.
    let (is_fault, address) = unsafe {
        let is_fault = (*info).si_code == libc::BUS_ADRERR;
        (is_fault, (*info).si_addr() as usize)
    };
    if let Some(entry) = Entry::of(address).filter(|_| is_fault) {
        let bytes = OWN_PAGE_BYTES.load(Ordering::Relaxed);
        let page = address / bytes * bytes;
        let end = entry.end.load(Ordering::Relaxed);
        // SAFETY: errno is restored. The range is within a mapping of this process that is being
        // read; if it is unmapped, these pages are unmapped too.
        let is_mapped = unsafe {
            let errno = *libc::__errno_location();
            let mapped = libc::mmap(
                page as *mut libc::c_void,
                end - page,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            );
            *libc::__errno_location() = errno;
            mapped != libc::MAP_FAILED
        };
        if is_mapped {
            if !entry.has_shrunk.swap(true, Ordering::SeqCst) {
                N_SHRUNK.fetch_add(1, Ordering::SeqCst);
            }
            return;
        }
    }
    // SAFETY: the previous handler gets the arguments that it would have got; the default action
    // ends the process when the access is repeated.
    unsafe {
        match BEFORE.load(Ordering::Acquire).as_ref() {
            Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler =
                    unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                let handler = std::mem::transmute::<usize, Handler>(before.sa_sigaction);
                handler(signal, info, context);
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn file_of(n_pages: usize) -> File {
        let file = tempfile::tempfile().unwrap();
        let bytes = vec![7; n_pages * PAGE_BYTES];
        file.write_all_at(&bytes, 0).unwrap();
        file
    }

    #[test]
    fn truncated_bytes_are_zeros_and_reported() {
        guard_mappings();
        for round in 0..20 {
            let (cut, uncut) = (file_of(20), file_of(20));
            let (mapped, other) = (Mapped::of(&cut).unwrap(), Mapped::of(&uncut).unwrap());
            assert_eq!(mapped.bytes()[19 * PAGE_BYTES], 7);
            mapped.give_back(0, u64::MAX);
            cut.set_len((5 * PAGE_BYTES) as u64).unwrap();
            // Pages are read in any order.
            for page in [10 + round % 10, 7, 19, 4, 5] {
                let expected = if page < 5 { 7 } else { 0 };
                assert_eq!(mapped.bytes()[page * PAGE_BYTES + 5], expected, "{page}");
            }
            mapped.give_back(0, u64::MAX);
            assert_eq!(mapped.bytes()[19 * PAGE_BYTES], 0);
            assert!(mapped.has_shrunk());
            let from_zeros = mapped.read(|bytes| 1 / usize::from(bytes[5 * PAGE_BYTES]));
            assert!(from_zeros.is_err(), "and no panic");
            assert_eq!(other.read(<[u8]>::len).unwrap(), 20 * PAGE_BYTES);
            assert!(other.bytes().iter().all(|&byte| byte == 7));
            assert!(!other.has_shrunk());
            drop(mapped);
            // The entry is reused, and has nothing left of its last mapping.
            let again = Mapped::of(&uncut).unwrap();
            assert!(!again.has_shrunk());
        }
    }

    #[test]
    fn another_bus_error_still_ends_the_process() {
        guard_mappings();
        let cut = file_of(2);
        // SAFETY: only this test uses the mapping.
        let map = unsafe { Mmap::map(&cut) }.unwrap();
        cut.set_len(0).unwrap();
        // SAFETY: the child only reads memory, and then ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            std::hint::black_box(map[5]);
            // SAFETY: the child must not run anything else of this process, and `_exit` runs
            // nothing.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the child belongs to this process.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        let status = std::process::ExitStatus::from_raw(status);
        assert_eq!(status.signal(), Some(libc::SIGBUS));
    }
}

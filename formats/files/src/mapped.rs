//! A file in memory, which somebody may cut meanwhile.
//!
//! Whoever reads a mapped page that is no longer in the file gets SIGBUS. In a command that calls
//! [`guard_mappings`] the page, and all behind it, becomes zeros instead, and the mapping says
//! afterwards that it [has shrunk](Mapped::has_shrunk): what was made of it is then worth nothing.
//!
//! The road not taken is reading into buffers. It takes as long: 2.07 ns of processor time for a
//! record of 32 bytes, mapped 2.06 ns (`benches/read.rs`, 512 MiB in the page cache, 2 cores of a
//! virtual machine, November 2026), of about 140 ns that the analysis takes for a call. But mapped
//! bytes are looked at in place, by several threads and more than once, and no buffer grows with the
//! number of processes.

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use memmap2::{Mmap, UncheckedAdvice};

/// Pages are of this size, or multiples.
const PAGE_BYTES: usize = 4096;

/// The size that they are of, as [`guard_mappings`] has found it.
static OWN_PAGE_BYTES: AtomicUsize = AtomicUsize::new(PAGE_BYTES);

/// An access to a page brings in those around it, in a stretch of so many bytes: also pages before
/// it that were given back.
const AROUND_BYTES: u64 = 64 << 10;

/// A file, mapped for reading.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    entry: &'static Entry,
}

impl Mapped {
    /// Maps a file that has bytes.
    ///
    /// # Errors
    /// The system's, and that of an empty file.
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: a mapping is unsound only if the file changes below it. Rank files are written
        // once, by a recorder that has ended; of one that still runs only free slots change, which
        // are read as integers of any value. Where somebody cuts a file, reading behind its new
        // end ends the process, or gives zeros, which are integers too.
        let map = unsafe { Mmap::map(file) }?;
        let begin = map.as_ptr() as usize;
        let entry = Entry::take();
        entry.has_shrunk.store(false, Ordering::SeqCst);
        entry.end.store(begin + map.len(), Ordering::Relaxed);
        entry.begin.store(begin, Ordering::Release);
        Ok(Self { map, entry })
    }

    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether bytes were asked for that are no longer in the file, and zeros given for them.
    #[must_use]
    pub fn has_shrunk(&self) -> bool {
        self.entry.has_shrunk.load(Ordering::Acquire)
    }

    /// What `look` makes of the bytes; nothing, not even a panic, of bytes that are no longer there.
    ///
    /// # Errors
    /// The file has become shorter.
    pub fn read<'a, T>(&'a self, look: impl FnOnce(&'a [u8]) -> T) -> io::Result<T> {
        let found = catch_unwind(AssertUnwindSafe(|| look(&self.map)));
        match found {
            _ if self.has_shrunk() => Err(io::Error::other("became shorter while it was read")),
            Ok(found) => Ok(found),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Gives back the pages that hold the bytes `[from, to)`, and some before.
    pub fn give_back(&self, from: u64, to: u64) {
        let length = self.map.len() as u64;
        let from = from.saturating_sub(AROUND_BYTES).min(length) as usize;
        let begin = from / PAGE_BYTES * PAGE_BYTES;
        let end = to.min(length) as usize;
        // SAFETY: MADV_DONTNEED drops the pages of the range from this process; the next access
        // reads the same bytes from the file, since the mapping is of a file, is not anonymous
        // (but for zeros in the place of what was cut off, and these are zeros again), and was
        // never writable, so that no page of it can be a private copy that is lost.
        let given = unsafe {
            let length = end.saturating_sub(begin);
            self.map
                .unchecked_advise_range(UncheckedAdvice::DontNeed, begin, length)
        };
        // Refused where the system has larger pages: then they stay until the end.
        let _ = given;
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Before the addresses belong to somebody else.
        self.entry.begin.store(0, Ordering::Release);
        if self.has_shrunk() {
            N_SHRUNK.fetch_sub(1, Ordering::SeqCst);
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.entry);
    }
}

/// What a handler needs to know of a mapping. Entries stay for ever, to be used again: a handler
/// may be looking at them at any time, and cannot wait.
#[derive(Debug)]
struct Entry {
    /// Addresses; a begin of 0: of no mapping.
    begin: AtomicUsize,
    end: AtomicUsize,
    has_shrunk: AtomicBool,
    next: AtomicPtr<Entry>,
}

/// All there ever were.
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(null_mut());
/// Those of no mapping.
static FREE: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

impl Entry {
    fn take() -> &'static Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = free.pop() {
            return entry;
        }
        // The lock is held: nobody else adds one.
        let entry = Box::leak(Box::new(Self {
            begin: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            has_shrunk: AtomicBool::new(false),
            next: AtomicPtr::new(ENTRIES.load(Ordering::Relaxed)),
        }));
        ENTRIES.store(entry, Ordering::Release);
        entry
    }

    /// That of the mapping with this address.
    fn of(address: usize) -> Option<&'static Self> {
        let mut at = ENTRIES.load(Ordering::Acquire);
        // SAFETY: entries are never freed, and changed by atomics only.
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

/// How many mappings there are that have shrunk.
static N_SHRUNK: AtomicUsize = AtomicUsize::new(0);

/// Has all mappings of this process survive that their file is cut: for commands, since it takes
/// the process's handler of SIGBUS, and keeps still about panics while there is a file that was cut.
pub fn guard_mappings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: it only says a number.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if let Ok(bytes @ 1..) = usize::try_from(bytes) {
            OWN_PAGE_BYTES.store(bytes, Ordering::Relaxed);
        }
        // SAFETY: the handler makes only system calls that are allowed in handlers, and what it
        // reads is there for ever; sigaction fills the second.
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
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if N_SHRUNK.load(Ordering::SeqCst) == 0 {
                tell(panic);
            }
        }));
    });
}

/// What was set for SIGBUS before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

unsafe extern "C" fn put_zeros(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a valid siginfo, with an address if it is of a fault.
    let (is_fault, address) = unsafe {
        let is_fault = (*info).si_code == libc::BUS_ADRERR;
        (is_fault, (*info).si_addr() as usize)
    };
    if let Some(entry) = Entry::of(address).filter(|_| is_fault) {
        let bytes = OWN_PAGE_BYTES.load(Ordering::Relaxed);
        let page = address / bytes * bytes;
        let end = entry.end.load(Ordering::Relaxed);
        // SAFETY: errno is put back. The range is within a mapping that this process has, which is
        // being read; whoever unmaps it takes away these pages too.
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
    // SAFETY: what was set before gets what it would have got; the default ends the process, when
    // the access is made again.
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
    fn what_was_cut_off_is_zeros_and_told() {
        guard_mappings();
        for round in 0..20 {
            let (cut, whole) = (file_of(20), file_of(20));
            let (mapped, other) = (Mapped::of(&cut).unwrap(), Mapped::of(&whole).unwrap());
            assert_eq!(mapped.bytes()[19 * PAGE_BYTES], 7);
            mapped.give_back(0, u64::MAX);
            cut.set_len((5 * PAGE_BYTES) as u64).unwrap();
            // Pages are asked for in any order.
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
            // The entry is used again, and says nothing of its last mapping.
            let again = Mapped::of(&whole).unwrap();
            assert!(!again.has_shrunk());
        }
    }

    #[test]
    fn another_bus_error_still_ends_the_process() {
        guard_mappings();
        let cut = file_of(2);
        // SAFETY: a mapping that this test alone has.
        let map = unsafe { Mmap::map(&cut) }.unwrap();
        cut.set_len(0).unwrap();
        // SAFETY: the child reads memory, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            std::hint::black_box(map[5]);
            // SAFETY: nothing of this process is to run in the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the child is this process's.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        let status = std::process::ExitStatus::from_raw(status);
        assert_eq!(status.signal(), Some(libc::SIGBUS));
    }
}

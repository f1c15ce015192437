//! Memory of each process that the others write to with one-sided operations of MPI.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use mpi::ffi;

/// The same number of words in each process of a communicator, open to all of them.
///
/// Making and ending one are collective.
pub(super) struct Window {
    win: ffi::MPI_Win,
    /// Its words in this process.
    own: *const AtomicU64,
    n_words: usize,
}

impl Window {
    /// `n_words` zeros in each process.
    pub(super) fn new(comm: ffi::MPI_Comm, n_words: usize) -> Self {
        let mut own: *mut AtomicU64 = std::ptr::null_mut();
        // SAFETY: constants of the MPI library, set when it was loaded.
        let (mut win, info) = unsafe { (ffi::RSMPI_WIN_NULL, ffi::RSMPI_INFO_NULL) };
        // SAFETY: `own` receives a pointer to so many bytes, aligned for any type, which are valid
        // until the window is freed; the communicator is valid. Nobody writes there before the
        // barrier.
        unsafe {
            ffi::MPI_Win_allocate(
                (8 * n_words) as ffi::MPI_Aint,
                8,
                info,
                comm,
                (&raw mut own).cast::<c_void>(),
                &mut win,
            );
            ffi::MPI_Win_lock_all(0, win);
            own.write_bytes(0, n_words);
            ffi::MPI_Win_sync(win);
            ffi::MPI_Barrier(comm);
        }
        Self { win, own, n_words }
    }

    /// A word of this process, as others have left it; words that are read later are at least as new.
    ///
    /// MPI calls this the unified memory model; every library has it on hosts with coherent caches.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        assert!(at < self.n_words, "no word {at}");
        // SAFETY: the memory has so many words until the window is freed, and is only written by the
        // MPI library.
        unsafe { &*self.own.add(at) }.load(Ordering::Acquire)
    }

    /// Raises words of a process from `at` on to these, each for itself and at once; returns when
    /// they may be changed.
    #[inline]
    pub(super) fn raise(&self, of: usize, at: usize, words: &[u64]) {
        let n = words.len() as c_int;
        // SAFETY: the words are read before the second call returns; the window is valid, and
        // locked by this process. The library checks that the words are there.
        unsafe {
            ffi::MPI_Accumulate(
                words.as_ptr().cast(),
                n,
                ffi::RSMPI_UINT64_T,
                of as c_int,
                at as ffi::MPI_Aint,
                n,
                ffi::RSMPI_UINT64_T,
                ffi::RSMPI_MAX,
                self.win,
            );
            ffi::MPI_Win_flush_local(of as c_int, self.win);
        }
    }

    /// Copies bytes to a process, from its word `at` on; returns when they are there.
    #[inline]
    pub(super) fn copy(&self, of: usize, at: usize, bytes: &[u8]) {
        let n = bytes.len() as c_int;
        // SAFETY: as in `raise`.
        unsafe {
            ffi::MPI_Put(
                bytes.as_ptr().cast(),
                n,
                ffi::RSMPI_UINT8_T,
                of as c_int,
                at as ffi::MPI_Aint,
                n,
                ffi::RSMPI_UINT8_T,
                self.win,
            );
            ffi::MPI_Win_flush(of as c_int, self.win);
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the window is valid, and locked by this process; its memory is not used again.
        unsafe {
            ffi::MPI_Win_unlock_all(self.win);
            ffi::MPI_Win_free(&mut self.win);
        }
    }
}

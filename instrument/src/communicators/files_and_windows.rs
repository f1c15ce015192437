//! Files and windows, which have an order of collective calls of their own.

use crate::mpi::{Handle, MpiLibrary, SPARE_BITS};

/// Bits in the key of a file and of a window. Both are set while it has no handle.
const OF_FILE: Handle = SPARE_BITS[1];
const OF_WINDOW: Handle = SPARE_BITS[2];
pub(super) const WITHOUT_HANDLE: Handle = OF_FILE | OF_WINDOW;

/// An object other than a communicator that has an order of collective calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrWindow {
    /// An `MPI_File`.
    File,
    /// An `MPI_Win`.
    Window,
}

impl FileOrWindow {
    /// The key of a handle: the handle and a bit that no handle has, so that it differs from keys
    /// of communicators and of the other kind.
    pub(crate) fn key(self, library: &MpiLibrary, word: usize) -> Handle {
        match self {
            // An address with MPICH too, where all other handles are integers.
            Self::File => word | OF_FILE,
            Self::Window => library.handle(word) | OF_WINDOW,
        }
    }

    /// The key of the handle at an address.
    ///
    /// # Safety
    /// `handle_address` is the address of a handle of this kind.
    pub(crate) unsafe fn key_at(self, library: &MpiLibrary, handle_address: usize) -> Handle {
        // SAFETY: the caller promises that `handle_address` is the address of such a handle.
        let word = unsafe {
            match self {
                Self::File => (handle_address as *const Handle).read_unaligned(),
                Self::Window => library.handle_at(handle_address, 0),
            }
        };
        self.key(library, word)
    }
}

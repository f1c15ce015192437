//! What besides communicators has an order of collective calls.

use crate::mpi::{Handle, MpiLibrary, SPARE_BITS};

/// In the key of a file, and of a window; both, as long as it has no handle.
const OF_FILE: Handle = SPARE_BITS[1];
const OF_WINDOW: Handle = SPARE_BITS[2];
pub(super) const WITHOUT_HANDLE: Handle = OF_FILE | OF_WINDOW;

/// What besides communicators has an order of collective calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrWindow {
    /// An `MPI_File`.
    File,
    /// An `MPI_Win`.
    Window,
}

impl FileOrWindow {
    /// What tells a handle from those of communicators and of the other kind, in one word: a bit that
    /// no handle has.
    pub(crate) fn key(self, library: &MpiLibrary, word: usize) -> Handle {
        match self {
            // An address with MPICH too, where all other handles are numbers.
            Self::File => word | OF_FILE,
            Self::Window => library.handle(word) | OF_WINDOW,
        }
    }

    /// The key of the handle at an address.
    ///
    /// # Safety
    /// `place` is the address of such a handle.
    pub(crate) unsafe fn key_at(self, library: &MpiLibrary, place: usize) -> Handle {
        // SAFETY: the caller's promise.
        let word = unsafe {
            match self {
                Self::File => (place as *const Handle).read_unaligned(),
                Self::Window => library.handle_at(place, 0),
            }
        };
        self.key(library, word)
    }
}

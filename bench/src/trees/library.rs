//! The MPI library that this command is linked to, for the engine that executes trees.

use std::mem::offset_of;

use anyhow::Context;
use collbench_paths::{MpiConstants, MpiFunctions, MpiWorld, Word};
use mpi::ffi;

/// A handle or a pointer of the library as a machine word.
///
/// # Panics
/// If it is longer than a word: no library has such handles.
pub(super) fn word<H: Copy>(handle: H) -> Word {
    assert!(size_of::<H>() <= size_of::<Word>());
    let mut word: Word = 0;
    // SAFETY: both are valid for as many bytes as the handle has, and any bytes are a word. What is
    // shorter than a word is in its first bytes, which are its lowest ones.
    unsafe {
        std::ptr::from_ref(&handle)
            .cast::<u8>()
            .copy_to_nonoverlapping(std::ptr::from_mut(&mut word).cast(), size_of::<H>());
    }
    word
}

const _: () = assert!(cfg!(target_endian = "little"));

/// `MPI_COMM_WORLD`.
pub(super) fn comm_world() -> Word {
    // SAFETY: the constant is never changed.
    word(unsafe { ffi::RSMPI_COMM_WORLD })
}

/// Makes the communicator of the engine. All processes call this together, after `MPI_Init`.
///
/// # Errors
/// What the library lacks, or which of its functions has failed.
pub(crate) fn engine_world() -> anyhow::Result<MpiWorld> {
    // SAFETY: the constants are never changed.
    let constants = unsafe {
        MpiConstants {
            comm_world: comm_world(),
            errors_return: word(ffi::RSMPI_ERRORS_RETURN),
            byte: word(ffi::RSMPI_UINT8_T),
            status_ignore: word(ffi::RSMPI_STATUS_IGNORE),
            any_source: ffi::RSMPI_ANY_SOURCE,
            status_source: offset_of!(ffi::MPI_Status, MPI_SOURCE),
        }
    };
    // SAFETY: names are C strings. The library is linked, and what it exports under the names of MPI
    // functions are these functions; it stays loaded, and initialized until `Run` ends.
    unsafe {
        let find = |name: &'static std::ffi::CStr| libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        let functions = MpiFunctions::find(find);
        let functions = functions
            .map_err(|name| anyhow::anyhow!("the MPI library has no {}", name.to_string_lossy()))?;
        MpiWorld::new(functions, constants).context("the communicator of the trees")
    }
}

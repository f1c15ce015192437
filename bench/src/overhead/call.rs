//! The call that is measured.

use std::ffi::c_int;

use clap::ValueEnum;
use collbench_formats::Operation;
use mpi::ffi;

/// A collective operation of one process: the least that a recorded call can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MeasuredOperation {
    /// MPI_Barrier
    Barrier,
    /// MPI_Allreduce of one 64-bit integer
    Allreduce,
    /// MPI_Bcast of one 64-bit integer
    Bcast,
    /// MPI_Ibarrier directly followed by MPI_Wait: two recorded calls
    Ibarrier,
    /// MPI_Comm_dup directly followed by MPI_Comm_free: two recorded calls, compared with the calls
    /// themselves
    CommDup,
}

impl MeasuredOperation {
    /// The operation as traces have it.
    pub(super) fn in_traces(self) -> Operation {
        match self {
            Self::Barrier => Operation::Barrier,
            Self::Allreduce => Operation::Allreduce,
            Self::Bcast => Operation::Bcast,
            Self::Ibarrier => Operation::Ibarrier,
            Self::CommDup => Operation::CommDup,
        }
    }

    /// Its word on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Allreduce => "allreduce",
            Self::Bcast => "bcast",
            Self::Ibarrier => "ibarrier",
            Self::CommDup => "comm-dup",
        }
    }
}

// The functions of the C interface are called, without the wrappers around them, and through
// the dynamic symbols `MPI_*`: the preloaded library meets them as it meets those of any
// program. That it did is checked with the trace, which must have as many records.

/// `MPI_Barrier` on `MPI_COMM_SELF`. Gives the return code.
#[inline(always)]
pub(super) fn barrier() -> c_int {
    // SAFETY: MPI is initialized wherever calls are measured; the communicator is predefined.
    unsafe { ffi::MPI_Barrier(ffi::RSMPI_COMM_SELF) }
}

/// `MPI_Allreduce` of one integer on `MPI_COMM_SELF`. Gives the return code.
#[inline(always)]
pub(super) fn allreduce() -> c_int {
    // SAFETY: a predefined communicator.
    unsafe { allreduce_on(ffi::RSMPI_COMM_SELF) }
}

/// The same on `MPI_COMM_WORLD`.
#[inline(always)]
pub(super) fn allreduce_of_all() -> c_int {
    // SAFETY: a predefined communicator.
    unsafe { allreduce_on(ffi::RSMPI_COMM_WORLD) }
}

/// # Safety
/// `communicator` is one.
#[inline(always)]
unsafe fn allreduce_on(communicator: ffi::MPI_Comm) -> c_int {
    let sent = 1u64;
    let mut received = 0u64;
    // SAFETY: as above, and the buffers hold one element of the type.
    unsafe {
        ffi::MPI_Allreduce(
            (&raw const sent).cast(),
            (&raw mut received).cast(),
            1,
            ffi::RSMPI_UINT64_T,
            ffi::RSMPI_SUM,
            communicator,
        )
    }
}

/// `MPI_Bcast` of one integer on `MPI_COMM_SELF`. Gives the return code.
#[inline(always)]
pub(super) fn bcast() -> c_int {
    let mut value = 1u64;
    // SAFETY: as above, and rank 0 is in the communicator.
    unsafe {
        ffi::MPI_Bcast(
            (&raw mut value).cast(),
            1,
            ffi::RSMPI_UINT64_T,
            0,
            ffi::RSMPI_COMM_SELF,
        )
    }
}

/// `MPI_Ibarrier` on `MPI_COMM_SELF` and its `MPI_Wait`. Gives the worse return code.
#[inline(always)]
pub(super) fn ibarrier() -> c_int {
    let mut request = std::mem::MaybeUninit::uninit();
    // SAFETY: as above; the request is there when the first call has succeeded.
    unsafe {
        let begun = ffi::MPI_Ibarrier(ffi::RSMPI_COMM_SELF, request.as_mut_ptr());
        if begun != 0 {
            return begun;
        }
        ffi::MPI_Wait(request.as_mut_ptr(), ffi::RSMPI_STATUS_IGNORE)
    }
}

/// `MPI_Comm_dup` of `MPI_COMM_SELF` and `MPI_Comm_free`. Gives the worse return code.
#[inline(always)]
pub(super) fn comm_dup() -> c_int {
    let mut made = std::mem::MaybeUninit::uninit();
    // SAFETY: as above; the communicator is there when the first call has succeeded.
    unsafe {
        let code = ffi::MPI_Comm_dup(ffi::RSMPI_COMM_SELF, made.as_mut_ptr());
        if code != 0 {
            return code;
        }
        ffi::MPI_Comm_free(made.as_mut_ptr())
    }
}

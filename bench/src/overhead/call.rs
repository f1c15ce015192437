//! The measured call.

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
    /// The operation as traces name it.
    pub(super) fn in_traces(self) -> Operation {
        match self {
            Self::Barrier => Operation::Barrier,
            Self::Allreduce => Operation::Allreduce,
            Self::Bcast => Operation::Bcast,
            Self::Ibarrier => Operation::Ibarrier,
            Self::CommDup => Operation::CommDup,
        }
    }

    /// Its name on the command line.
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

// The functions of the C interface are called directly, through the dynamic symbols `MPI_*`: the
// preloaded library intercepts them as those of any program. The trace, which must have as many
// records, shows whether it did.

/// `MPI_Barrier` on `MPI_COMM_SELF`. Returns the return code.
#[inline(always)]
pub(super) fn barrier() -> c_int {
    // SAFETY: MPI is initialized wherever calls are measured; the communicator is predefined.
    unsafe { ffi::MPI_Barrier(ffi::RSMPI_COMM_SELF) }
}

/// `MPI_Allreduce` of one integer on `MPI_COMM_SELF`. Returns the return code.
#[inline(always)]
pub(super) fn allreduce() -> c_int {
    // SAFETY: a predefined communicator.
    unsafe { allreduce_on(ffi::RSMPI_COMM_SELF) }
}

/// `MPI_Allreduce` of one integer on `MPI_COMM_WORLD`. Returns the return code.
#[inline(always)]
pub(super) fn allreduce_of_all() -> c_int {
    // SAFETY: a predefined communicator.
    unsafe { allreduce_on(ffi::RSMPI_COMM_WORLD) }
}

/// # Safety
/// `communicator` must be valid.
#[inline(always)]
unsafe fn allreduce_on(communicator: ffi::MPI_Comm) -> c_int {
    let sent = 1u64;
    let mut received = 0u64;
    // SAFETY: the communicator is valid, and the buffers hold one element of the type.
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

/// `MPI_Bcast` of one integer on `MPI_COMM_SELF`. Returns the return code.
#[inline(always)]
pub(super) fn bcast() -> c_int {
    let mut value = 1u64;
    // SAFETY: a predefined communicator, which contains rank 0; the buffer holds one element.
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

/// `MPI_Ibarrier` on `MPI_COMM_SELF` and its `MPI_Wait`. Returns the worse return code.
#[inline(always)]
pub(super) fn ibarrier() -> c_int {
    let mut request = std::mem::MaybeUninit::uninit();
    // SAFETY: a predefined communicator; the request is valid if the first call has succeeded.
    unsafe {
        let begun = ffi::MPI_Ibarrier(ffi::RSMPI_COMM_SELF, request.as_mut_ptr());
        if begun != 0 {
            return begun;
        }
        ffi::MPI_Wait(request.as_mut_ptr(), ffi::RSMPI_STATUS_IGNORE)
    }
}

/// `MPI_Comm_dup` of `MPI_COMM_SELF` and `MPI_Comm_free`. Returns the worse return code.
#[inline(always)]
pub(super) fn comm_dup() -> c_int {
    let mut made = std::mem::MaybeUninit::uninit();
    // SAFETY: a predefined communicator; the new one is valid if the first call has succeeded.
    unsafe {
        let code = ffi::MPI_Comm_dup(ffi::RSMPI_COMM_SELF, made.as_mut_ptr());
        if code != 0 {
            return code;
        }
        ffi::MPI_Comm_free(made.as_mut_ptr())
    }
}

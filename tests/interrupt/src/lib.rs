//! What if the recorder is interrupted here, by a signal handler that calls `MPI_Abort`, that forks,
//! that exits, or that leaves for good?
//!
//! *Here* is each instruction of its cold paths, and of the C library below them, once ([`steps`]):
//! a program on the stand-in of an MPI library (`tests/stub`) is traced instruction by instruction,
//! and at each address that it comes to for the first time a copy of it is forked off, which is
//! given the signal and runs on alone. So an experiment takes a millisecond. With a real MPI library,
//! whose threads such a copy would lack, it is each call of the C library that the recorder makes
//! ([`calls`]): the signal is raised in front of it, in one run for each. There a handler calls
//! `MPI_Abort` or forks; the rest MPI leaves undefined.
//!
//! Whatever ends otherwise than the handler wants is a failure, and so is what has not ended after
//! [`PATIENCE`].

use std::time::Duration;

pub mod calls;
#[cfg(target_arch = "x86_64")]
pub mod steps;

/// How long an experiment may take. It takes some milliseconds; what hangs, hangs for ever.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A signal of `tests/stub/interrupted.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handler {
    /// What its handler does.
    pub does: &'static str,
    /// The signal.
    pub signal: i32,
    /// The status with which the program ends then.
    pub status: i32,
}

/// All of them. Those that a program on a real MPI library may do, too, come first.
pub const HANDLERS: [Handler; 4] = [
    Handler {
        does: "MPI_Abort",
        signal: libc::SIGUSR1,
        status: 3,
    },
    Handler {
        does: "fork",
        signal: libc::SIGUSR2,
        status: 0,
    },
    Handler {
        does: "exit",
        signal: libc::SIGALRM,
        status: 5,
    },
    Handler {
        does: "siglongjmp",
        signal: libc::SIGPROF,
        status: 0,
    },
];

/// How many of [`HANDLERS`] may do so with a real MPI library.
pub const WITH_ANY_LIBRARY: usize = 2;

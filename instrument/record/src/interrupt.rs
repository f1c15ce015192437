//! Signals that end a command, after it has removed unfinished files.
//!
//! Long work [checks](check) regularly whether a signal was received, and stops. Work that cannot
//! check is not waited for: some seconds later the signal ends the process as usual.

use std::mem::zeroed;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

use collbench_files::{TERMINATION_SIGNALS, end_by, handle_termination};

/// How long a process may take to clean up.
const TIMEOUT_SECONDS: libc::c_uint = 5;

/// The first one received; 0 if there was none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// A signal was received that ends this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by signal {0}")]
pub(crate) struct Interrupted(libc::c_int);

impl Interrupted {
    /// Ends this process by the signal; if that fails, with the status that a shell gives it.
    pub(crate) fn end(self) -> ExitCode {
        end_by(self.0)
    }
}

/// An error if such a signal was received.
pub(crate) fn check() -> Result<(), Interrupted> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => Ok(()),
        signal => Err(Interrupted(signal)),
    }
}

/// From now on these signals are noted instead of ending the process, except those that it was
/// started with as ignored.
pub(crate) fn watch() {
    handle_termination(on_signal);
}

extern "C" fn on_signal(signal: libc::c_int) {
    note(signal);
}

/// Notes a signal, if it is one that ends a command; called in a handler.
pub(crate) fn note(signal: libc::c_int) {
    let is_first = TERMINATION_SIGNALS.contains(&signal)
        && RECEIVED
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
    if is_first {
        // SAFETY: these system calls are allowed in handlers.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_timeout as *const () as usize;
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
            libc::alarm(TIMEOUT_SECONDS);
        }
    }
}

unsafe extern "C" fn on_timeout(_: libc::c_int) {
    let signal = RECEIVED.load(Ordering::SeqCst);
    // SAFETY: these system calls are allowed in handlers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

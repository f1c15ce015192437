//! Signals that end a command, after it has removed unfinished files.
//!
//! Long work [checks](check) regularly whether a signal was received, and stops. Work that cannot
//! check is not waited for: some seconds later the signal ends the process as usual.

use std::mem::zeroed;
use std::process::ExitCode;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signals by which users, shells and batch systems end a command.
const TERMINATION_SIGNALS: [libc::c_int; 4] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

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
    for signal in TERMINATION_SIGNALS {
        // SAFETY: the handler only makes system calls that are allowed in handlers.
        unsafe {
            let mut before: libc::sigaction = zeroed();
            libc::sigaction(signal, null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

unsafe extern "C" fn on_signal(signal: libc::c_int) {
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

/// Ends this process by a signal, without a core file; if the signal does not end it, returns the
/// status that a shell would give.
pub(crate) fn end_by(signal: libc::c_int) -> ExitCode {
    // SAFETY: the calls take valid arguments; the handler is reset to the default, so that the
    // signal ends this process.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    ExitCode::from((128 + signal) as u8)
}

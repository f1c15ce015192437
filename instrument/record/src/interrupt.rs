//! Signals that end a command, once it has tidied up what is half done.
//!
//! What takes long asks now and then whether one [came](check), and gives up. What cannot ask is
//! not waited for: some seconds later the signal ends the process as it would any other.

use std::mem::zeroed;
use std::process::ExitCode;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

/// The signals by which people, shells and batch systems end a command.
const TERMINATION_SIGNALS: [libc::c_int; 4] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// How long a process may take to tidy up.
const PATIENCE_SECONDS: libc::c_uint = 5;

/// The first one that came; 0: none has.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// A signal came that is to end this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by signal {0}")]
pub(crate) struct Interrupted(libc::c_int);

impl Interrupted {
    /// Ends this process by the signal, or, where that cannot be, with the status that a shell gives
    /// it.
    pub(crate) fn end(self) -> ExitCode {
        end_by(self.0)
    }
}

/// Whether no such signal came.
pub(crate) fn check() -> Result<(), Interrupted> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => Ok(()),
        signal => Err(Interrupted(signal)),
    }
}

/// Has this process be asked instead of ended, but for signals that it was given as ignored.
pub(crate) fn watch() {
    for signal in TERMINATION_SIGNALS {
        // SAFETY: the handler makes only system calls that are allowed in handlers.
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

/// Notes a signal, if it is one of those that end a command; in a handler.
pub(crate) fn note(signal: libc::c_int) {
    let is_first = TERMINATION_SIGNALS.contains(&signal)
        && RECEIVED
            .compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
    if is_first {
        // SAFETY: system calls that are allowed in handlers.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_end_of_patience as *const () as usize;
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
            libc::alarm(PATIENCE_SECONDS);
        }
    }
}

unsafe extern "C" fn on_end_of_patience(_: libc::c_int) {
    let signal = RECEIVED.load(Ordering::SeqCst);
    // SAFETY: system calls that are allowed in handlers.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Ends this process by a signal, without a core file; gives the status that a shell would, where
/// the signal ends nothing.
pub(crate) fn end_by(signal: libc::c_int) -> ExitCode {
    // SAFETY: plain calls; the handler goes back to the default, so that the signal ends this
    // process.
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

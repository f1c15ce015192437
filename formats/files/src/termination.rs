//! Signals that end a command, after it has removed unfinished files.

use std::mem::zeroed;
use std::process::ExitCode;
use std::ptr::{null, null_mut};

/// The signals by which users, shells and batch systems end a command.
pub const TERMINATION_SIGNALS: [libc::c_int; 4] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// From now on these signals are handed over to `handler` instead of ending the process, except those that it was started with as
/// ignored. The handler may only do what is allowed in one: see signal-safety(7).
pub fn handle_termination(handler: extern "C" fn(libc::c_int)) {
    for signal in TERMINATION_SIGNALS {
        // SAFETY: the arguments are valid, and the handler has the signature that it must have.
        unsafe {
            let mut before: libc::sigaction = zeroed();
            libc::sigaction(signal, null(), &mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, null_mut());
            }
        }
    }
}

/// Ends this process by a signal, without a core file; if the signal does not end it, returns the
/// status that a shell would give.
#[must_use]
pub fn end_by(signal: libc::c_int) -> ExitCode {
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

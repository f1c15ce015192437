//! A child process that behaves as if it had been started directly: its signals, its end.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// The child that signals are passed on to; 0 for none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Whose signals a child gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    /// Those sent to this process; those of the terminal reach the child by itself.
    Ours,
    /// As `Ours`, and the child ends when this process is killed, as the rank that it is.
    OfTheRank,
}

/// How a child ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended(ExitStatus);

impl Ended {
    pub(super) fn is_success(self) -> bool {
        self.0.success()
    }

    /// The child's exit status; where a signal ended the child, it ends this process too.
    pub(super) fn pass_on(self) -> ExitCode {
        if let Some(signal) = self.0.signal() {
            // SAFETY: plain calls; the handler goes back to the default, so that the signal ends
            // this process. No second core file.
            unsafe {
                let none = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            return ExitCode::from((128 + signal) as u8);
        }
        ExitCode::from(self.0.code().unwrap_or(i32::from(super::FAILED)) as u8)
    }
}

/// Runs a command to its end; signals sent to this process meanwhile go to it.
pub(super) fn run(command: &mut Command, signals: Signals) -> io::Result<Ended> {
    if signals == Signals::OfTheRank {
        // SAFETY: between fork and exec, a plain system call that is allowed there.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
    }
    let mut child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    for signal in [
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGXCPU,
        libc::SIGALRM,
    ] {
        // SAFETY: the handler only makes a system call that is allowed in handlers.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = pass_on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    let status = child.wait();
    CHILD.store(0, Ordering::SeqCst);
    status.map(Ended)
}

unsafe extern "C" fn pass_on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let child = CHILD.load(Ordering::SeqCst);
    // SAFETY: the kernel passes a valid siginfo.
    let sent_by_a_process = unsafe { (*info).si_code } <= 0;
    // What the terminal sends, it sends to the child as well: twice would be a second ^C.
    if child > 0 && sent_by_a_process {
        // SAFETY: a system call that is allowed in handlers.
        unsafe { libc::kill(child, signal) };
    }
}

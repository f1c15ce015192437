//! A child process that behaves as if it had been started directly: its signals, and its end.

use std::io::{self, IsTerminal};
use std::mem::zeroed;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use crate::interrupt;

/// The process that signals are passed on to, as for `kill`: a process, or minus a process group; 0
/// for none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// Whether to also pass on signals that no process has sent.
static PASS_ALL: AtomicBool = AtomicBool::new(false);
/// Whether the child has ended: signals are then for this process.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);
/// Signals that were ignored when this process started, one bit each.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// Signals received when there was no process to pass them on to, one bit each.
static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// Which signals a child gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    /// Those sent to this process; those of the terminal reach the child directly.
    Ours,
    /// All signals, and the child ends when this process is killed, since it is the rank. A
    /// launcher signals process groups: the child has its own group, since it would get each signal
    /// twice otherwise.
    OfTheRank,
}

/// How a child ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended(ExitStatus);

impl Ended {
    pub(super) fn is_success(self) -> bool {
        self.0.success()
    }

    /// The child's exit status; if a signal ended the child, it ends this process too.
    pub(super) fn pass_on(self) -> ExitCode {
        if let Some(signal) = self.0.signal() {
            return collbench_files::end_by(signal);
        }
        ExitCode::from(self.0.code().unwrap_or(i32::from(super::FAILED)) as u8)
    }
}

/// Runs a command to its end; signals sent to this process meanwhile are passed on to it.
pub(super) fn run(command: &mut Command, signals: Signals) -> io::Result<Ended> {
    let of_the_rank = signals == Signals::OfTheRank;
    // Outside of the terminal's foreground group it could not read from the terminal.
    let own_group = of_the_rank && !io::stdin().is_terminal();
    if own_group {
        command.process_group(0);
    }
    // Signals are blocked until the child is known, since they would be missed.
    let mask = block_signals();
    let handled = Handled::install();
    // SAFETY: this runs between fork and exec, and only uses system calls and atomics, which are
    // allowed there.
    unsafe {
        command.pre_exec(move || {
            if of_the_rank {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            }
            restore(&handled, &mask);
            Ok(())
        });
    }
    PASS_ALL.store(own_group, Ordering::SeqCst);
    let spawned = command.spawn();
    if let Ok(child) = &spawned {
        let pid = child.id() as i32;
        CHILD.store(if own_group { -pid } else { pid }, Ordering::SeqCst);
    }
    set_mask(&mask);
    let mut child = spawned?;
    wait_without_reaping(child.id());
    // After a child was waited for, its number may be that of another process.
    CHILD.store(0, Ordering::SeqCst);
    HAS_ENDED.store(true, Ordering::SeqCst);
    child.wait().map(Ended)
}

/// Becomes the program of a command, with the signal settings that this process was started with;
/// returns only if that failed.
pub(super) fn become_program(command: &mut Command) -> io::Error {
    let mask = set_mask_with(libc::SIG_BLOCK, &empty_set());
    // SAFETY: this runs before exec, and only uses system calls and atomics.
    unsafe {
        command.pre_exec(move || {
            restore(&Handled::default(), &mask);
            Ok(())
        });
    }
    command.exec()
}

/// Waits for the end of a child, and leaves it a zombie.
fn wait_without_reaping(child: u32) {
    loop {
        // SAFETY: waitid fills the siginfo, whose old value does not matter.
        let result = unsafe {
            let mut info = zeroed();
            libc::waitid(libc::P_PID, child, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// The signals that are passed on, one bit each, and their previous actions.
#[derive(Debug, Default, Clone, Copy)]
struct Handled {
    all: u64,
    ignored: u64,
}

impl Handled {
    /// Handles all signals that can be handled, except those that the processor raises in this
    /// process, and those about its own children, terminal and pipes.
    fn install() -> Self {
        const OWN: [i32; 12] = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGABRT,
            libc::SIGSYS,
            libc::SIGCHLD,
            libc::SIGTTIN,
            libc::SIGTTOU,
            libc::SIGPIPE,
            libc::SIGKILL,
        ];
        let mut handled = Self::default();
        for signal in (1..=64).filter(|signal| !OWN.contains(signal)) {
            // SAFETY: the handler only makes system calls that are allowed in handlers.
            unsafe {
                let mut action: libc::sigaction = zeroed();
                let mut before: libc::sigaction = zeroed();
                action.sa_sigaction = pass_on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                // This fails for SIGSTOP, and for signals that the C library needs for itself.
                if libc::sigaction(signal, &action, &mut before) == 0 {
                    handled.all |= bit(signal);
                    if before.sa_sigaction == libc::SIG_IGN {
                        handled.ignored |= bit(signal);
                    }
                }
            }
        }
        IGNORED.store(handled.ignored, Ordering::SeqCst);
        handled
    }
}

/// In the child, before exec: restores the signal settings that this process was started with. A
/// signal received since the fork is raised again, for the program's own setting.
fn restore(handled: &Handled, mask: &libc::sigset_t) {
    block_signals();
    for signal in (1..=64).filter(|&signal| handled.all & bit(signal) != 0) {
        let is_ignored = handled.ignored & bit(signal) != 0;
        let setting = if is_ignored {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        };
        // SAFETY: these system calls take valid arguments.
        unsafe {
            libc::signal(signal, setting);
            if RECEIVED.load(Ordering::SeqCst) & bit(signal) != 0 {
                libc::raise(signal);
            }
        }
    }
    if SIGPIPE_WAS_IGNORED.load(Ordering::SeqCst) {
        // SAFETY: this system call takes a valid signal and action.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    set_mask(mask);
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn empty_set() -> libc::sigset_t {
    // SAFETY: sigemptyset initializes the set.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&mut set);
        set
    }
}

/// Blocks all signals; returns the previous mask.
fn block_signals() -> libc::sigset_t {
    let mut all = empty_set();
    // SAFETY: the set is valid for writing.
    unsafe { libc::sigfillset(&mut all) };
    set_mask_with(libc::SIG_SETMASK, &all)
}

fn set_mask(mask: &libc::sigset_t) {
    set_mask_with(libc::SIG_SETMASK, mask);
}

fn set_mask_with(how: i32, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = empty_set();
    // SAFETY: both sets are valid.
    unsafe { libc::pthread_sigmask(how, set, &mut before) };
    before
}

unsafe extern "C" fn pass_on_signal(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let child = CHILD.load(Ordering::SeqCst);
    let pass_all = PASS_ALL.load(Ordering::SeqCst);
    // SAFETY: the kernel passes a valid siginfo.
    let sent_by_a_process = unsafe { (*info).si_code } <= 0;
    if child == 0 {
        RECEIVED.fetch_or(bit(signal), Ordering::SeqCst);
        let is_ignored = IGNORED.load(Ordering::SeqCst) & bit(signal) != 0;
        if HAS_ENDED.load(Ordering::SeqCst) && !is_ignored {
            if signal == libc::SIGTSTP {
                // SAFETY: this system call is allowed in handlers.
                unsafe { libc::raise(libc::SIGSTOP) };
            }
            interrupt::note(signal);
        }
        return;
    }
    // SAFETY: these system calls are allowed in handlers; errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        // The terminal sends its signals to the child's group as well: passing them on would be a
        // second ^C.
        if sent_by_a_process || pass_all {
            libc::kill(child, signal);
        }
        // The shell that started this process waits for it to stop.
        if signal == libc::SIGTSTP && !pass_all {
            libc::raise(libc::SIGSTOP);
        }
        *libc::__errno_location() = errno;
    }
}

/// Whether SIGPIPE was ignored when this process started: Rust's runtime ignores it, and
/// [`Command`] then sets the default, whatever it was before.
static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Remembers whether SIGPIPE is ignored; to be called before Rust's runtime starts.
pub extern "C" fn look_at_sigpipe() {
    // SAFETY: sigaction fills the second struct, and changes nothing.
    unsafe {
        let mut now: libc::sigaction = zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut now);
        SIGPIPE_WAS_IGNORED.store(now.sa_sigaction == libc::SIG_IGN, Ordering::SeqCst);
    }
}

//! Signals that end a command, and processes that must end with it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use collbench_files::{end_by, handle_termination};

/// The first one received; 0 if there was none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);
/// How many were received.
static N_RECEIVED: AtomicUsize = AtomicUsize::new(0);

/// From now on these signals are noted instead of ending this process, except those that it was started with as ignored; and what
/// its children leave behind becomes its own child, so that it can be found.
pub(super) fn watch() {
    handle_termination(note);
    // SAFETY: this system call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

extern "C" fn note(signal: libc::c_int) {
    let _ = RECEIVED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    N_RECEIVED.fetch_add(1, Ordering::SeqCst);
}

/// Whether a signal asked to end.
pub(super) fn is_interrupted() -> bool {
    RECEIVED.load(Ordering::SeqCst) != 0
}

/// Whether several did: somebody does not want to wait.
pub(super) fn is_impatient() -> bool {
    N_RECEIVED.load(Ordering::SeqCst) > 1
}

/// Ends this process by the signal that it received, if there was one; if that fails, with the status that a shell gives it.
pub(super) fn end_by_received(otherwise: ExitCode) -> ExitCode {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => otherwise,
        signal => end_by(signal),
    }
}

/// A command in a process group of its own, so that signals of the terminal reach this process alone, which ends it; it gets a
/// signal if this process is killed.
pub(super) fn alone(command: &mut Command) {
    command.process_group(0);
    // SAFETY: this runs between fork and exec, and only makes a system call.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
}

/// Waits for the end of a child, and leaves it a zombie, so that its number stays its own.
pub(super) fn wait_without_reaping(child: u32) {
    loop {
        // SAFETY: waitid fills the siginfo, whose old value does not matter.
        let result = unsafe {
            let mut info = std::mem::zeroed();
            libc::waitid(libc::P_PID, child, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Sends a signal to a process.
pub(super) fn send(process: u32, signal: libc::c_int) {
    // SAFETY: this system call takes no pointers.
    unsafe { libc::kill(process as libc::pid_t, signal) };
}

/// Sends a signal to all processes below this one; whether there were any.
pub(super) fn send_to_all_below(signal: libc::c_int) -> bool {
    reap();
    let mut below = BTreeMap::<u32, Vec<u32>>::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(process) {
            below.entry(parent).or_default().push(process);
        }
    }
    let mut found = below.remove(&std::process::id()).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let children = below.remove(process).unwrap_or_default();
        found.extend(children);
        next += 1;
    }
    found.iter().for_each(|process| send(*process, signal));
    !found.is_empty()
}

/// The parent of a process that has not ended.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may have spaces and parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let is_zombie = matches!(words.next()?, "Z" | "X");
    let parent = words.next()?.parse().ok()?;
    (!is_zombie).then_some(parent)
}

/// Takes leave of children that have ended; only while none is waited for.
pub(super) fn reap() {
    // SAFETY: waitpid may be called without a place for the status.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

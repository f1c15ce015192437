//! Parts of the recorder in which a thread is not cancelled ([`Uncancelled`]), and the few that
//! signal handlers of the program cannot interrupt ([`Uninterrupted`]).
//!
//! A handler may end or copy the process (`MPI_Abort`, `exit`, `fork`), or leave by a jump
//! (`siglongjmp`). If it interrupts the MPI library, that concerns only the program and the
//! library. If it interrupts the recorder, the recorder must hold nothing that the handler then
//! waits for. For data that calls share, this is ensured without delaying signals
//! (`Local::begin_cold_path`). Delaying them would not be harmless: a signal that is sent to the
//! process, and not to a thread, is handled in another thread then, perhaps in one of the MPI
//! library's own, in which `MPI_Abort` waits for itself and a jump goes to the stack of another
//! thread. So signals are only delayed for microseconds, in functions of the C library that take
//! locks of their own.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use libc::sigset_t;

/// Signals that an instruction of the thread itself raises: if they were blocked, they would kill
/// the process.
const SYNCHRONOUS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// `PTHREAD_CANCEL_DISABLE` of all C libraries for Linux.
const CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// While this exists, the calling thread is not cancelled: unwinding must not begin in the middle
/// of the recorder. Takes no system call.
#[derive(Debug)]
#[must_use = "requests wait as long as this lives"]
pub(crate) struct Uncancelled {
    before: c_int,
    /// Makes it belong to this thread.
    _local: PhantomData<*const ()>,
}

impl Uncancelled {
    pub(crate) fn begin() -> Self {
        let mut before = CANCEL_DISABLE;
        // SAFETY: `before` is valid for writing.
        unsafe { pthread_setcancelstate(CANCEL_DISABLE, &mut before) };
        Self {
            before,
            _local: PhantomData,
        }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        let mut disabled = CANCEL_DISABLE;
        // SAFETY: this is the state that `begin` found; `disabled` is valid for writing.
        unsafe { pthread_setcancelstate(self.before, &mut disabled) };
    }
}

/// What a thread restores when its last [`Uninterrupted`] ends.
struct SavedState {
    /// How many exist.
    depth: Cell<u32>,
    /// The states before the first of them.
    cancel_state: Cell<c_int>,
    mask: UnsafeCell<MaybeUninit<sigset_t>>,
}

thread_local! {
    static SAVED_STATE: SavedState = const {
        SavedState {
            depth: Cell::new(0),
            cancel_state: Cell::new(CANCEL_DISABLE),
            mask: UnsafeCell::new(MaybeUninit::uninit()),
        }
    };
}

impl SavedState {
    fn block(&self) {
        // SAFETY: the first call makes the set valid for the others. The old mask is stored in
        // memory of this thread, into which only this function stores, and no handler that could
        // call it runs in between.
        unsafe {
            let mut blocked = MaybeUninit::<sigset_t>::uninit();
            libc::sigfillset(blocked.as_mut_ptr());
            for signal in SYNCHRONOUS {
                libc::sigdelset(blocked.as_mut_ptr(), signal);
            }
            let mut before = MaybeUninit::<sigset_t>::uninit();
            libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
            *self.mask.get() = before;
        }
    }

    /// Restores the mask, as the last action of a part: handlers of signals that were delayed run
    /// here.
    fn restore(&self) {
        // SAFETY: `block` has stored the mask. It is copied, since handlers may call `block` again.
        unsafe {
            let before = *self.mask.get();
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
    }
}

/// While this exists, signals of the calling thread are delayed, except those that its own
/// instructions raise, and it is not cancelled. Takes two system calls.
#[derive(Debug)]
#[must_use = "signals wait as long as this lives"]
pub(crate) struct Uninterrupted {
    /// Makes it belong to this thread.
    _local: PhantomData<*const ()>,
}

impl Uninterrupted {
    pub(crate) fn begin() -> Self {
        SAVED_STATE.with(|saved| {
            let depth = saved.depth.get();
            if depth == 0 {
                saved.block();
                let mut state = CANCEL_DISABLE;
                // SAFETY: `state` is valid for writing.
                unsafe { pthread_setcancelstate(CANCEL_DISABLE, &mut state) };
                saved.cancel_state.set(state);
            }
            saved.depth.set(depth + 1);
        });
        Self {
            _local: PhantomData,
        }
    }
}

impl Drop for Uninterrupted {
    fn drop(&mut self) {
        SAVED_STATE.with(|saved| {
            let depth = saved.depth.get() - 1;
            saved.depth.set(depth);
            if depth == 0 {
                let mut disabled = CANCEL_DISABLE;
                // SAFETY: this is the state that `begin` found; `disabled` is valid for writing.
                unsafe { pthread_setcancelstate(saved.cancel_state.get(), &mut disabled) };
                saved.restore();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static HANDLED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn count(_: c_int) {
        // A handler may also use it.
        let _path = Uninterrupted::begin();
        HANDLED.fetch_add(1, Ordering::SeqCst);
    }

    fn blocked(signal: c_int) -> bool {
        // SAFETY: the mask is valid for writing, and read afterwards.
        unsafe {
            let mut mask = MaybeUninit::<sigset_t>::uninit();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    fn raise() {
        // SAFETY: a handler is installed.
        unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR1) };
    }

    #[test]
    fn signals_wait_until_the_outermost_path_ends() {
        let handled = || HANDLED.load(Ordering::SeqCst);
        // SAFETY: the handler only stores to an atomic, and sets the mask of its thread.
        unsafe { libc::signal(libc::SIGUSR1, count as *const () as libc::sighandler_t) };
        let outer = Uninterrupted::begin();
        let inner = Uninterrupted::begin();
        raise();
        drop(inner);
        assert_eq!(handled(), 0);
        assert!(blocked(libc::SIGUSR1) && blocked(libc::SIGTERM) && !blocked(libc::SIGSEGV));
        drop(outer);
        assert_eq!(handled(), 1);
        assert!(!blocked(libc::SIGUSR1) && !blocked(libc::SIGTERM));
    }

    #[test]
    fn what_was_blocked_before_stays_blocked() {
        // SAFETY: the set has one signal, and is initialized before it is used.
        unsafe {
            let mut one = MaybeUninit::<sigset_t>::uninit();
            libc::sigemptyset(one.as_mut_ptr());
            libc::sigaddset(one.as_mut_ptr(), libc::SIGUSR2);
            libc::pthread_sigmask(libc::SIG_BLOCK, one.as_ptr(), std::ptr::null_mut());
        }
        let path = Uninterrupted::begin();
        assert!(blocked(libc::SIGUSR2) && blocked(libc::SIGTERM));
        drop(path);
        assert!(blocked(libc::SIGUSR2) && !blocked(libc::SIGTERM));
    }

    #[test]
    fn a_thread_is_cancelled_after_the_path_and_not_in_it() {
        static PASSED: AtomicUsize = AtomicUsize::new(0);
        unsafe extern "C" {
            fn pthread_cancel(thread: libc::pthread_t) -> c_int;
        }
        let state = std::thread::spawn(|| {
            // SAFETY: this requests to cancel this thread itself, and cancellation is disabled in
            // all functions that are called before the thread ends.
            unsafe { pthread_cancel(libc::pthread_self()) };
            let path = Uncancelled::begin();
            let inner = Uninterrupted::begin();
            std::thread::sleep(std::time::Duration::from_millis(1));
            PASSED.store(1, Ordering::SeqCst);
            let mut state = 7;
            drop(inner);
            std::thread::sleep(std::time::Duration::from_millis(1));
            drop(path);
            // SAFETY: `state` is valid for writing.
            unsafe { pthread_setcancelstate(CANCEL_DISABLE, &mut state) };
            state
        });
        assert_eq!(state.join().unwrap(), 0, "enabled again behind the path");
        assert_eq!(PASSED.load(Ordering::SeqCst), 1);
    }
}

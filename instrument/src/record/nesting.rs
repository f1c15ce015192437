//! Whether a call of MPI is made inside another one, and what happens to calls that never return.
//!
//! A thread that is inside a wrapped call stores where on its stack that call's wrapper is. A call
//! that is entered then is an internal call of the MPI library, or one of a callback, as long as
//! the thread will return to that wrapper. It is neither if the program has left MPI by a jump
//! (`longjmp` in an error handler, as bindings of R, Ruby and Lua do it): then nothing has removed
//! the stored address, and the stack is searched. Only calls that find a stored address do this.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::PoisonError;

use collbench_formats::StopReason;

use super::local::Local;
use super::recorder::Recorder;
use super::thread::Thread;
use crate::file::Slot;
use crate::file::is_forked;
use crate::mpi::{find_datum, is_program, own_object};
use crate::process::{Uncancelled, Uninterrupted};

/// While this exists, a wrapped call is under way in this thread. It also ends correctly if an
/// exception of the program (thrown by an error handler, for example) passes through.
pub(super) struct CallScope<'a> {
    local: &'a Local,
    before: usize,
}

/// Set in the stored address if a further call is under way inside the outermost one; the address
/// itself is even.
const NESTED: usize = 1;

impl<'a> CallScope<'a> {
    /// Always inlined, so that the address is in the frame of the wrapper or of the function that
    /// makes its call.
    #[inline(always)]
    pub(super) fn enter(local: &'a Local) -> Self {
        let here = MaybeUninit::<u16>::uninit();
        let before = local.outermost.get();
        if before == 0 {
            local.outermost.set(here.as_ptr() as usize);
        } else {
            local.mark_nested(before);
        }
        local.calls.set(local.calls.get().wrapping_add(1));
        Self { local, before }
    }

    /// Whether it is inside no other call.
    pub(super) fn is_outermost(&self) -> bool {
        self.before == 0
    }
}

impl Drop for CallScope<'_> {
    #[inline]
    fn drop(&mut self) {
        self.local.outermost.set(self.before);
    }
}

/// Makes a call that is not recorded, and marks calls of the MPI library inside it as internal.
pub fn guarded_call(real: impl FnOnce() -> c_int) -> c_int {
    let local = Local::of_this_thread();
    // Ends calls that the program left by a jump.
    local.is_inside();
    let _inside = CallScope::enter(local);
    real()
}

impl Local {
    /// Whether the MPI library itself makes the call for which a wrapper calls a function of it
    /// now, inside another call. What a callback of the program calls is the program's. The wrapper
    /// itself is only known as a call if it records.
    #[inline]
    pub(crate) fn is_internal(&self) -> bool {
        let is_nested = match Recorder::active() {
            Some(_) => self.outermost.get() & NESTED != 0,
            None => self.is_inside(),
        };
        is_nested && !is_program()
    }

    /// Notes that a further call is entered inside the outermost one.
    #[cold]
    fn mark_nested(&self, outermost: usize) {
        self.outermost.set(outermost | NESTED);
    }

    /// Runs what stands in for a function of the MPI library: calls that it makes are inside it.
    #[inline(always)]
    pub(crate) fn inside<R>(&self, run: impl FnOnce() -> R) -> R {
        let _inside = CallScope::enter(self);
        run()
    }
}

/// While this exists, the thread is on a cold path of the recorder, which uses data that calls
/// share.
pub(crate) struct ColdPath<'a> {
    local: &'a Local,
    _uncancelled: Uncancelled,
}

impl Drop for ColdPath<'_> {
    fn drop(&mut self) {
        self.local.is_on_cold_path.set(false);
    }
}

impl Local {
    /// Begins a cold path, on which locks of the recorder may be taken. `None` in a forked child,
    /// and if the thread is on a cold path already.
    ///
    /// Signals are not blocked on it, since another thread would handle them. A handler that
    /// interrupts it and calls MPI gets here again, and must not wait for a lock that is held a few
    /// frames above; nor must a call after a jump out of a cold path. Then recording ends: a call
    /// that is not recorded would shift the positions of all later ones.
    pub(crate) fn begin_cold_path(&self, recorder: &Recorder) -> Option<ColdPath<'_>> {
        if is_forked() {
            return None;
        }
        if self.is_on_cold_path.get() {
            let why = "a signal handler interrupted collbench, and called MPI or did not return";
            recorder.stop(StopReason::Failed, why);
            return None;
        }
        self.is_on_cold_path.set(true);
        Some(ColdPath {
            local: self,
            _uncancelled: Uncancelled::begin(),
        })
    }

    /// Whether the thread is inside a wrapped call, when the program or the MPI library makes a
    /// call now.
    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.outermost.get() != 0 && self.is_still_inside()
    }

    /// Whether a wrapped call was entered and has not returned; the program may have left it by a
    /// jump.
    #[inline]
    pub(crate) fn has_entered(&self) -> bool {
        self.outermost.get() != 0
    }

    #[cold]
    #[inline(never)]
    fn is_still_inside(&self) -> bool {
        let stack = match self.stack.get() {
            // Nothing is recorded.
            (0, 0) => own_stack(),
            known => known,
        };
        let outermost = self.outermost.get() & !NESTED;
        let is_left = left_by_a_jump(outermost, &(stack.0..stack.1));
        if is_left {
            self.abandon();
        }
        !is_left
    }

    /// Ends the calls that the program left by a jump. Each has failed; its leave is the last time
    /// that is known of it.
    fn abandon(&self) {
        self.outermost.set(0);
        let (Some(recorder), Some(thread)) = (Recorder::active(), self.thread.get()) else {
            return;
        };
        // SAFETY: the receives belong to this thread, and to calls that have ended.
        unsafe { thread.receives.abandon() };
        let _ = recorder.guarded(|| {
            thread.abandon_records();
            Ok(())
        });
    }
}

impl Thread {
    fn abandon_records(&self) {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let unfinished = self.unfinished(&chunks);
        let slots = unfinished.slots.iter().copied();
        let (slots, older) = if unfinished.is_all {
            (slots, &[][..])
        } else {
            (slots, &chunks.retained[..])
        };
        let older = older.iter().flat_map(|older| older.slots.iter().copied());
        let abandoned: Vec<Slot> = slots
            .chain(older)
            .filter(|slot| slot.enter_ticks() != 0 && !slot.has_left())
            .collect();
        let Some(first) = abandoned.iter().map(|slot| slot.enter_ticks()).min() else {
            return;
        };
        let taken = self.cursor.taken(chunks.current.as_ref());
        let stamps = taken
            .iter()
            .flat_map(|slot| [slot.enter_ticks(), slot.leave_ticks()]);
        let last = stamps.fold(first, u64::max);
        for slot in abandoned {
            slot.leave(1, last);
        }
    }
}

/// Whether the thread, whose stack is given, will not return to the frame of this address, in which
/// a wrapper stored it. False if that cannot be decided.
fn left_by_a_jump(address: usize, stack: &Range<usize>) -> bool {
    let here = MaybeUninit::<u8>::uninit();
    let Some(own) = own_object() else {
        return false;
    };
    let mut walk = Walk {
        address,
        own,
        last: None,
        is_beyond_wrapper: false,
        is_left: None,
    };
    // SAFETY: the function gets the walk, which nothing else uses meanwhile, and does not unwind.
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
    // On the stack of a signal handler or a coroutine, the order of addresses has no meaning.
    walk.is_left == Some(true)
        && stack.contains(&address)
        && stack.contains(&(here.as_ptr() as usize))
}

/// A walk from the innermost frame outwards, until the frame of an address is found.
struct Walk {
    address: usize,
    /// Addresses of the code of this library.
    own: Range<usize>,
    /// Instruction and begin on the stack of the last frame.
    last: Option<(usize, usize)>,
    /// Whether the walk is past the frames of the wrapper that started it.
    is_beyond_wrapper: bool,
    is_left: Option<bool>,
}

impl Walk {
    /// Adds the next frame; returns whether to continue.
    fn visit(&mut self, instruction: usize, begin: usize) -> bool {
        let Some((of_last, begin_of_last)) = self.last.replace((instruction, begin)) else {
            // The thread returns to no frame below the one that it is in.
            if begin > self.address {
                self.is_left = Some(true);
            }
            return self.is_left.is_none();
        };
        let is_own = self.own.contains(&of_last);
        if (begin_of_last..begin).contains(&self.address) {
            self.is_left = Some(!(is_own && self.is_beyond_wrapper));
        }
        self.is_beyond_wrapper |= !is_own;
        self.is_left.is_none()
    }
}

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    /// Returns the stack pointer of the frame; only for a callback of `_Unwind_Backtrace`.
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

unsafe extern "C" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
    const CONTINUE: c_int = 0; // _URC_NO_REASON
    const STOP: c_int = 4; // _URC_NORMAL_STOP
    // SAFETY: `_Unwind_Backtrace` passes a context, and the walk that it was given.
    let continues = unsafe {
        let walk = &mut *walk.cast::<Walk>();
        walk.visit(_Unwind_GetIP(context), _Unwind_GetCFA(context))
    };
    if continues { CONTINUE } else { STOP }
}

/// The stack of this thread, from its lowest address to its end; empty if it is not known.
pub(super) fn own_stack() -> (usize, usize) {
    // The C library has no function for this before glibc 2.30.
    // SAFETY: both calls only return numbers.
    if unsafe { libc::c_long::from(libc::getpid()) == libc::syscall(libc::SYS_gettid) } {
        return stack_of_main();
    }
    let mut attributes = MaybeUninit::uninit();
    let (mut begin, mut bytes) = (std::ptr::null_mut(), 0);
    let _signals_wait = Uninterrupted::begin();
    // SAFETY: all addresses are valid for writing; the attributes are read and destroyed only if
    // they were initialized.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (0, 0);
        }
        let code = libc::pthread_attr_getstack(attributes.as_ptr(), &mut begin, &mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        match code {
            0 => (begin as usize, begin as usize + bytes),
            _ => (0, 0),
        }
    }
}

/// The stack of the thread that runs `main`, for which the C library would read a file line by
/// line.
fn stack_of_main() -> (usize, usize) {
    /// Used if no limit is set.
    const LONGEST: u64 = 1 << 30;
    let end = match find_datum(c"__libc_stack_end") {
        0 => return (0, 0),
        // SAFETY: this is a word of the loader, which never changes.
        address => unsafe { (address as *const usize).read() },
    };
    let mut limit = libc::rlimit {
        rlim_cur: LONGEST,
        rlim_max: LONGEST,
    };
    // SAFETY: `limit` is valid for writing.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    let bytes = limit.rlim_cur.min(LONGEST) as usize;
    (end.saturating_sub(bytes), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an address on a stack with these frames is left. A frame is its instruction and
    /// begin, the innermost first; code of the library itself is from 100 to 199.
    fn is_left(address: usize, frames: &[(usize, usize)]) -> Option<bool> {
        let mut walk = Walk {
            address,
            own: 100..200,
            last: None,
            is_beyond_wrapper: false,
            is_left: None,
        };
        for &(instruction, begin) in frames {
            if !walk.visit(instruction, begin) {
                break;
            }
        }
        walk.is_left
    }

    #[test]
    fn a_call_is_within_another_whose_wrapper_is_further_out_on_the_stack() {
        // The MPI library is between two wrappers.
        let frames = [
            (150, 1000),
            (160, 1010),
            (900, 1100),
            (170, 1500),
            (300, 1600),
        ];
        assert_eq!(is_left(1550, &frames), Some(false));
        // The address of the wrapper is in a frame of the program now.
        let frames = [
            (150, 1000),
            (160, 1010),
            (300, 1100),
            (301, 2000),
            (302, 3000),
        ];
        assert_eq!(is_left(1550, &frames), Some(true));
        // Below all frames, and in the frame of the wrapper that asks.
        assert_eq!(is_left(900, &frames), Some(true));
        assert_eq!(is_left(1050, &frames), Some(true));
        // If the frames end too early, nothing is known.
        assert_eq!(is_left(1550, &frames[..3]), None);
    }

    #[test]
    fn the_stack_of_a_thread_has_what_it_works_with() {
        let here = 0u8;
        let address = std::ptr::from_ref(&here) as usize;
        let (begin, end) = own_stack();
        assert!((begin..end).contains(&address));
        let (begin, end) = std::thread::spawn(own_stack).join().unwrap();
        assert!(begin < end && !(begin..end).contains(&address));
        let (begin, end) = stack_of_main();
        assert!(
            begin < end && !(begin..end).contains(&address),
            "tests run in threads"
        );
    }
}

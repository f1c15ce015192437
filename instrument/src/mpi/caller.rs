//! Who makes a call inside another call: the program, from one of its functions that the MPI
//! library calls back (of an attribute, an error handler, a data representation ...), or the
//! library itself, as ROMIO does below MPI-IO.
//!
//! This is decided by the call instruction: by the object that it is in, and by whether it calls a
//! function by name or by pointer. It is only checked for calls inside of calls. Finding that
//! instruction takes a microsecond or two, and the result is cached.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::find::is_of_mpi;
use super::objects::{LoadedObject, object_at, objects_epoch};
use crate::process::Uninterrupted;

/// The unwinder's view of a frame, which is opaque here.
type Frame = c_void;

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(
        look: unsafe extern "C" fn(*mut Frame, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(frame: *mut Frame) -> usize;
}

/// `_URC_NO_REASON`: continue. Any other value ends the walk.
const CONTINUE: c_int = 0;
const ENOUGH: c_int = 5;

/// A thread's cache of results for the locations that it has called from.
struct Answers {
    /// The epoch of loaded objects in which they are valid.
    epoch: Cell<u64>,
    /// The return address, doubled, plus 1 if the call is the program's. It is one word, so that a
    /// signal handler finds either the old or the new value.
    known: [Cell<usize>; KNOWN],
}

/// The size of the cache.
const KNOWN: usize = 16;
const _: () = assert!(KNOWN.is_power_of_two());

thread_local! {
    static ANSWERS: Answers = const {
        Answers {
            epoch: Cell::new(0),
            known: [const { Cell::new(0) }; KNOWN],
        }
    };
}

/// Whether the program makes the call of MPI that this thread is in, rather than the MPI library or
/// a tool in front of it.
pub(crate) fn is_program() -> bool {
    let Some(return_address) = return_address() else {
        return false;
    };
    ANSWERS.with(|answers| {
        let epoch = objects_epoch();
        if answers.epoch.replace(epoch) != epoch {
            answers.known.iter().for_each(|known| known.set(0));
        }
        let hash = return_address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &answers.known[hash >> (usize::BITS - KNOWN.ilog2())];
        if entry.get() >> 1 == return_address {
            return entry.get() & 1 == 1;
        }
        let is_program = is_in_program(return_address);
        entry.set(return_address << 1 | usize::from(is_program));
        is_program
    })
}

/// Whether the code at this return address belongs to the program.
fn is_in_program(return_address: usize) -> bool {
    // This takes a lock and allocates memory, which a signal handler must not interrupt.
    let _signals_wait = Uninterrupted::begin();
    // The last instruction of a function that does not return may be a call.
    let Some(object) = object_at(return_address - 1) else {
        // Code that was generated at run time.
        return true;
    };
    !is_of_mpi(&object) || is_called_back(return_address, &object)
}

/// The address at which the first function outside of this library continues, when the functions of
/// this library that are under way have returned.
fn return_address() -> Option<usize> {
    static OWN: OnceLock<Option<LoadedObject>> = OnceLock::new();

    struct Walk<'a> {
        own: &'a LoadedObject,
        found: Option<usize>,
    }
    unsafe extern "C" fn look(frame: *mut Frame, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a frame that is valid during the call, and `walk` as it was
        // given.
        let (address, walk) = unsafe { (_Unwind_GetIP(frame), &mut *walk.cast::<Walk>()) };
        if walk.own.has(address.wrapping_sub(1)) {
            return CONTINUE;
        }
        walk.found = (address != 0).then_some(address);
        ENOUGH
    }

    let own = OWN.get_or_init(|| object_at(is_program as *const () as usize));
    let mut walk = Walk {
        own: own.as_ref()?,
        found: None,
    };
    // SAFETY: `look` takes these arguments, does not unwind, and is only called before this
    // returns.
    unsafe { _Unwind_Backtrace(look, (&raw mut walk).cast()) };
    walk.found
}

/// Whether a function was called by pointer. What the MPI library calls by name is its own call,
/// and what it calls by pointer is a callback. A function of the program whose last action is a
/// call of MPI may have no frame on the stack any more, so that the call seems to be made by the
/// library.
fn is_called_back(return_address: usize, object: &LoadedObject) -> bool {
    /// Length of the longest call instruction.
    const LONGEST: usize = 7;
    if !object.has(return_address - LONGEST) {
        return false;
    }
    // SAFETY: these bytes are instructions of a loaded object; code is readable on the systems that
    // this is for.
    let before = unsafe { *((return_address - LONGEST) as *const [u8; LONGEST]) };
    is_by_pointer(before, |offset| {
        object.has(return_address.wrapping_add_signed(offset as isize))
    })
}

/// Whether the instruction that ends with these bytes is a call by pointer. `is_in_object` says
/// whether the location at an offset from its end is in the same object, which is so for the target
/// of a call by name.
#[cfg(target_arch = "x86_64")]
fn is_by_pointer(bytes: [u8; 7], is_in_object: impl Fn(i32) -> bool) -> bool {
    const CALL: u8 = 0xe8;
    const BY_POINTER: u8 = 0xff;
    let [_, _, call, o0, o1, o2, o3] = bytes;
    if call == CALL && is_in_object(i32::from_le_bytes([o0, o1, o2, o3])) {
        return false;
    }
    // By the length of the instruction. Its second byte has the registers, the form of memory
    // access, and 2 as the operation. Memory at an offset from the instruction (mode 0, register 5)
    // is the table of addresses of functions that are called by name.
    let is_call = |length: usize, mode: u8, is_indexed: bool| {
        let [first, second] = [bytes[7 - length], bytes[8 - length]];
        let (of_mode, of_operation, of_register) = (second >> 6, second >> 3 & 7, second & 7);
        let is_relative = mode == 0 && of_register == 5;
        first == BY_POINTER
            && (of_mode, of_operation) == (mode, 2)
            && !is_relative
            && (mode == 3 || (of_register == 4) == is_indexed)
    };
    is_call(2, 3, false)
        || is_call(2, 0, false)
        || is_call(3, 0, true)
        || is_call(3, 1, false)
        || is_call(4, 1, true)
        || is_call(6, 2, false)
        || is_call(7, 2, true)
}

/// On AArch64 a call by pointer is `blr`.
#[cfg(target_arch = "aarch64")]
fn is_by_pointer(bytes: [u8; 7], _: impl Fn(i32) -> bool) -> bool {
    let [_, _, _, b0, b1, b2, b3] = bytes;
    u32::from_le_bytes([b0, b1, b2, b3]) & 0xffff_fc1f == 0xd63f_0000
}

/// On other processors this is not known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn is_by_pointer(_: [u8; 7], _: impl Fn(i32) -> bool) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn calls_by_name_and_calls_by_pointer_are_distinguished() {
        let by_pointer = |end: &[u8]| {
            let mut bytes = [0x90; 7];
            bytes[7 - end.len()..].copy_from_slice(end);
            is_by_pointer(bytes, |offset| (-5000..5000).contains(&offset))
        };
        for (end, name) in [
            (&[0xff, 0xd0][..], "call *%rax"),
            (&[0x41, 0xff, 0xd4], "call *%r12"),
            (&[0xff, 0x13], "call *(%rbx)"),
            (&[0xff, 0x14, 0xc8], "call *(%rax,%rcx,8)"),
            (&[0xff, 0x50, 0x18], "call *0x18(%rax)"),
            (&[0xff, 0x54, 0x24, 0x08], "call *0x8(%rsp)"),
            (&[0xff, 0x93, 0x40, 1, 0, 0], "call *0x140(%rbx)"),
            (&[0xff, 0x94, 0x24, 0x40, 1, 0, 0], "call *0x140(%rsp)"),
        ] {
            assert!(by_pointer(end), "{name}");
        }
        for (end, name) in [
            (&[0xe8, 0x10, 0xff, 0xff, 0xff][..], "call to a stub"),
            (&[0xff, 0x15, 0x40, 1, 0, 0], "call *0x140(%rip)"),
            (&[0xe8, 0xd0, 0x01, 0xff, 0xff], "far"),
            (&[0x0f, 0x1f, 0x00], "no call"),
        ] {
            assert!(!by_pointer(end), "{name}");
        }
        assert!(!by_pointer(&[0xe8, 0x00, 0x00, 0x00, 0x00]));
    }

    #[test]
    fn a_call_in_this_very_object_is_not_found_outside_of_it() {
        // Test and library are in one object here, so the caller found is the C library, which
        // started the test.
        let caller = return_address().and_then(|address| object_at(address - 1));
        let own = object_at(is_program as *const () as usize).unwrap();
        assert_ne!(caller, Some(own));
    }
}

//! What the library calls while it writes.

use std::ffi::c_void;
use std::ptr;

use crate::abi;

/// Full buffers are written. After that nothing is said, since a time would be written as an event
/// of the program, which was not interrupted.
pub(super) static FLUSH: abi::FlushCallbacks = abi::FlushCallbacks {
    pre_flush: Some(flush),
    post_flush: None,
};

unsafe extern "C" fn flush(_: *mut c_void, _: u8, _: u64, _: *mut c_void, _: bool) -> u8 {
    abi::FLUSH
}

/// One chunk for each buffer, where the library would take up to 128 MiB before it writes.
pub(super) static MEMORY: abi::MemoryCallbacks = abi::MemoryCallbacks { allocate, free_all };

/// Memory for a chunk, or nothing if the buffer has one, so that this is written first.
unsafe extern "C" fn allocate(
    _: *mut c_void,
    _: u8,
    _: u64,
    of_buffer: *mut *mut c_void,
    size: u64,
) -> *mut c_void {
    // SAFETY: the library passes the address of a pointer that it keeps for each buffer, null at
    // first, and which nothing else uses meanwhile.
    let chunk = unsafe { &mut *of_buffer };
    if !chunk.is_null() {
        return ptr::null_mut();
    }
    // A record may leave one byte of a chunk, and a buffer is ended by two.
    // SAFETY: any size may be asked for.
    *chunk = unsafe { libc::calloc(1, size as usize + 16) };
    *chunk
}

unsafe extern "C" fn free_all(_: *mut c_void, _: u8, _: u64, of_buffer: *mut *mut c_void, _: bool) {
    // SAFETY: as in `allocate`.
    let chunk = unsafe { &mut *of_buffer };
    // SAFETY: this is null or from `allocate`, and the library does not use it any more.
    unsafe { libc::free(*chunk) };
    *chunk = ptr::null_mut();
}

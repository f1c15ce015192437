//! Copying of values that are longer than a line, to and from shared memory.

use super::line::{LINE_BYTES, Line};

/// Copies a value into lines that nobody reads before they are told.
///
/// # Panics
/// If it is longer than they are.
#[inline]
pub(super) fn copy_in(value: &[u8], lines: &[Line]) {
    assert!(value.len() <= lines.len() * LINE_BYTES);
    // SAFETY: there is as much room in the lines, which consist of words that may be changed through
    // a shared reference. Between the end of their last use and the position that is stored after
    // this, no other process touches them.
    unsafe {
        let to = lines.as_ptr().cast::<u8>().cast_mut();
        std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.len());
    }
}

/// Copies a value into lines, `begin` bytes after their beginning, as [`copy_in`] does.
///
/// # Panics
/// If it does not fit there.
#[inline]
pub(crate) fn copy_in_at(value: &[u8], lines: &[Line], begin: usize) {
    assert!(begin + value.len() <= lines.len() * LINE_BYTES);
    // SAFETY: as in `copy_in`; the bytes from `begin` on are as many as the value has.
    unsafe {
        let to = lines.as_ptr().cast::<u8>().cast_mut().add(begin);
        std::ptr::copy_nonoverlapping(value.as_ptr(), to, value.len());
    }
}

/// Copies from the beginning of lines that nobody changes until this process has finished.
///
/// # Panics
/// If there are fewer bytes in them than are asked for.
#[inline]
pub(super) fn copy_out(lines: &[Line], into: &mut [u8]) {
    assert!(into.len() <= lines.len() * LINE_BYTES);
    // SAFETY: there are as many bytes in the lines, and every byte is initialized. Whoever has
    // written them has stored their position after that, which this process has loaded; they are
    // written again only when it has said that it has finished.
    unsafe {
        let from = lines.as_ptr().cast::<u8>();
        std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
    }
}

/// Copies from lines, `begin` bytes after their beginning, as [`copy_out`] does.
///
/// # Panics
/// If there are fewer bytes there than are asked for.
#[inline]
pub(crate) fn copy_out_at(lines: &[Line], begin: usize, into: &mut [u8]) {
    assert!(begin + into.len() <= lines.len() * LINE_BYTES);
    // SAFETY: as in `copy_out`; the bytes from `begin` on are as many as are asked for.
    unsafe {
        let from = lines.as_ptr().cast::<u8>().add(begin);
        std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len());
    }
}

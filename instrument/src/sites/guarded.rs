//! Memory of this process whose addresses are a guess: read through the kernel, so that an address
//! where nothing is mapped is an error, and never a fault.

/// Fills the bytes from an address on; `None` if not all of them can be read.
///
/// Takes some hundred ns: a system call, without a lock or memory of the C library.
pub(super) fn read(address: usize, into: &mut [u8]) -> Option<()> {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: into.len(),
    };
    // SAFETY: the kernel stores at most the length of the slice into it, and checks the other address.
    let n = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (usize::try_from(n) == Ok(into.len())).then_some(())
}

/// The word at an address.
pub(super) fn word(address: usize) -> Option<usize> {
    let mut bytes = [0; size_of::<usize>()];
    read(address, &mut bytes)?;
    Some(usize::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_cannot_be_read() {
        let words = [5usize, 6];
        let at = words.as_ptr().expose_provenance();
        assert_eq!(word(at + size_of::<usize>()), Some(6));
        let mut bytes = [0; 1];
        for nowhere in [0, 8, usize::MAX - 64, 1 << 63] {
            assert_eq!(word(nowhere), None, "{nowhere:#x}");
            assert_eq!(read(nowhere, &mut bytes), None, "{nowhere:#x}");
        }
    }
}

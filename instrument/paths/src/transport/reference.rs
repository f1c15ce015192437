//! Values in the memory of another process of this host, which the kernel copies from there
//! (`process_vm_readv`): one copy instead of two.
//!
//! Whether it does is up to it: the processes must belong to the same user, and the machine may
//! forbid it (Yama, seccomp). So each copy may fail.

use super::line::WORD_BYTES;

/// Where a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reference {
    /// The process, by the number that the kernel knows it by.
    pub(crate) process: u64,
    /// The address of the value there.
    pub(crate) address: u64,
    /// The address of a word there, and what that word is: a process with the same number in another
    /// container has something else there.
    pub(crate) mark_address: u64,
    pub(crate) mark: u64,
}

/// Bytes of a reference in shared memory.
pub(crate) const REFERENCE_BYTES: usize = 4 * WORD_BYTES;

impl Reference {
    pub(crate) fn bytes(&self) -> [u8; REFERENCE_BYTES] {
        let mut bytes = [0; REFERENCE_BYTES];
        let words = [self.process, self.address, self.mark_address, self.mark];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// What lies so many bytes after it.
    pub(crate) fn at(self, offset: usize) -> Self {
        Self {
            address: self.address + offset as u64,
            ..self
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8; REFERENCE_BYTES]) -> Self {
        let words = bytes.as_chunks().0;
        let word = |nth: usize| words.get(nth).copied().map_or(0, u64::from_le_bytes);
        Self {
            process: word(0),
            address: word(1),
            mark_address: word(2),
            mark: word(3),
        }
    }
}

/// A word by which others know that they read from this process.
#[derive(Debug)]
pub(crate) struct Mark(Box<u64>);

impl Mark {
    pub(crate) fn new() -> Self {
        let mut word = Box::new(0);
        // Differs between processes, even where their addresses do not.
        *word = std::ptr::from_ref(&*word).expose_provenance() as u64
            ^ u64::from(std::process::id()).rotate_right(16)
            ^ u64::from(
                std::time::UNIX_EPOCH
                    .elapsed()
                    .map_or(0, |since| since.subsec_nanos()),
            );
        Self(word)
    }

    /// Where this process has some bytes.
    pub(crate) fn reference_to(&self, bytes: &[u8]) -> Reference {
        Reference {
            process: std::process::id().into(),
            address: bytes.as_ptr().expose_provenance() as u64,
            mark_address: std::ptr::from_ref(&*self.0).expose_provenance() as u64,
            mark: *self.0,
        }
    }
}

/// Copies what another process has. Returns whether it was granted and complete.
pub(super) fn copy_from_process(reference: &Reference, into: &mut [u8]) -> bool {
    /// The kernel copies less than 2 GiB at a time.
    const BYTES_AT_A_TIME: usize = 1 << 30;
    let Ok(process) = libc::pid_t::try_from(reference.process) else {
        return false;
    };
    let (first, rest) = into.split_at_mut(into.len().min(BYTES_AT_A_TIME));
    let mut mark = [0; WORD_BYTES];
    let parts = [
        (reference.mark_address, &mut mark[..]),
        (reference.address, first),
    ];
    if !copy_parts(process, parts) || u64::from_ne_bytes(mark) != reference.mark {
        return false;
    }
    let mut address = reference.address + BYTES_AT_A_TIME as u64;
    rest.chunks_mut(BYTES_AT_A_TIME).all(|part| {
        let is_there = copy_parts(process, [(address, &mut *part)]);
        address += part.len() as u64;
        is_there
    })
}

/// Copies some parts, each with its address there, in one call. Returns whether that was granted and
/// complete.
fn copy_parts<const N: usize>(process: libc::pid_t, parts: [(u64, &mut [u8]); N]) -> bool {
    let n_bytes: usize = parts.iter().map(|(_, into)| into.len()).sum();
    let remote = parts.each_ref().map(|(address, into)| libc::iovec {
        iov_base: std::ptr::without_provenance_mut(*address as usize),
        iov_len: into.len(),
    });
    let local = parts.map(|(_, into)| libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    });
    let n = N as libc::c_ulong;
    // SAFETY: the kernel stores only into the parts, which are exclusively borrowed; what it reads is
    // in another process, and an address that is not there is an error.
    let copied =
        unsafe { libc::process_vm_readv(process, local.as_ptr(), n, remote.as_ptr(), n, 0) };
    usize::try_from(copied) == Ok(n_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_copied_from_where_it_is_and_from_nowhere_else() {
        let value: Vec<u8> = (0..100_000_u32).flat_map(u32::to_ne_bytes).collect();
        let mark = Mark::new();
        let reference = mark.reference_to(&value);
        assert_eq!(Reference::from_bytes(&reference.bytes()), reference);
        let mut into = vec![0; value.len()];
        // This process may be forbidden to do so.
        if copy_from_process(&reference, &mut into) {
            assert_eq!(into, value);
        }
        let others = [
            Reference {
                mark: !reference.mark,
                ..reference
            },
            Reference {
                mark_address: 0,
                ..reference
            },
            Reference {
                address: 0,
                ..reference
            },
            Reference {
                process: u64::MAX,
                ..reference
            },
        ];
        for other in others {
            assert!(!copy_from_process(&other, &mut into), "{other:?}");
        }
    }
}

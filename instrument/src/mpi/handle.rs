//! Handles of the MPI library, and tables by them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const _: () = assert!(
    cfg!(target_endian = "little"),
    "a handle of 32 bits that a library stores is the lower half of the word"
);

/// A handle of the MPI library (communicator, datatype, group), as a machine word.
pub(crate) type Handle = usize;

/// What is known by handle.
pub(crate) type HandleMap<T> = HashMap<Handle, T, BuildHasherDefault<HandleHasher>>;

/// Handles are addresses or small numbers that nobody chooses to collide: a product with the golden
/// ratio, folded, spreads them, in a tenth of the time of the standard library's hash.
#[derive(Debug, Default)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, handle: usize) {
        let product = (self.0 ^ handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

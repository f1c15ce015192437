//! Handles of the MPI library, and tables by them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const _: () = assert!(
    cfg!(target_endian = "little"),
    "a handle of 32 bits that a library stores is the lower half of the word"
);

/// A handle of the MPI library (communicator, datatype, group), as a machine word.
pub(crate) type Handle = usize;

/// Bits that no handle has, be it an address of a process or a number of 32 bits: with them a table by
/// handle holds several things of each.
pub(crate) const SPARE_BITS: [Handle; 3] = [1 << 61, 1 << 62, 1 << 63];

const _: () = {
    /// Bits of an address of a process, with page tables of five levels.
    const ADDRESS_BITS: u32 = 57;
    assert!(SPARE_BITS[0] >= 1 << ADDRESS_BITS && SPARE_BITS[0] > u32::MAX as Handle);
    assert!(SPARE_BITS[0] < SPARE_BITS[1] && SPARE_BITS[1] < SPARE_BITS[2]);
    let mut at = 0;
    while at < SPARE_BITS.len() {
        assert!(SPARE_BITS[at].is_power_of_two());
        at += 1;
    }
};

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

//! Handles of the MPI library, and maps by handle.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const _: () = assert!(
    cfg!(target_endian = "little"),
    "a handle of 32 bits that a library stores is the lower half of the word"
);

/// A handle of the MPI library (communicator, datatype, group), as a machine word.
pub(crate) type Handle = usize;

/// Bits that no handle has, whether it is an address or a 32-bit integer. With them a map by handle
/// can have several entries for a handle.
pub(crate) const SPARE_BITS: [Handle; 3] = [1 << 61, 1 << 62, 1 << 63];

const _: () = {
    /// Width of the addresses of a process, with page tables of five levels.
    const ADDRESS_BITS: u32 = 57;
    assert!(SPARE_BITS[0] >= 1 << ADDRESS_BITS && SPARE_BITS[0] > u32::MAX as Handle);
    assert!(SPARE_BITS[0] < SPARE_BITS[1] && SPARE_BITS[1] < SPARE_BITS[2]);
    let mut at = 0;
    while at < SPARE_BITS.len() {
        assert!(SPARE_BITS[at].is_power_of_two());
        at += 1;
    }
};

/// A map by handle.
pub(crate) type HandleMap<T> = HashMap<Handle, T, BuildHasherDefault<HandleHasher>>;

/// Handles are addresses or small numbers, and nobody chooses them to collide. A product with the
/// golden ratio, folded, spreads them in a tenth of the time of the standard library's hash.
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

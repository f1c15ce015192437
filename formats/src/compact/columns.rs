//! Sequences of numbers of variable length, and their deflation.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;

/// How hard the compressor looks for repetitions, 0 to 10. Higher levels take longer and find
/// hardly more.
const LEVEL: u8 = 6;

/// Appends a number, 7 bits to a byte, the lower bits first.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a signed number, with the sign in the lowest bit.
pub(super) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// The greatest common divisor of the numbers; 1 if it has more than 31 bits, or if all are 0.
pub(super) fn divisor_of(numbers: impl Iterator<Item = u64>) -> u64 {
    let mut divisor = 0;
    for mut number in numbers {
        while number != 0 {
            (divisor, number) = (number, divisor % number);
        }
        if divisor == 1 {
            break;
        }
    }
    match divisor {
        1..0x8000_0000 => divisor,
        _ => 1,
    }
}

/// Deflates bytes (RFC 1951, without a header).
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, LEVEL)
}

/// Inflates to exactly `n` bytes, and appends zeros up to `length`, which the caller has bounded.
pub(super) fn inflated(bytes: &[u8], n: usize, length: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; length];
    let input = std::iter::once(bytes);
    let n_found = decompress_slice_iter_to_slice(&mut out[..n], input, false, true);
    (n_found == Ok(n)).then_some(out)
}

/// Reads numbers one after another; `None` after the end.
pub(super) struct Columns<'b> {
    bytes: &'b [u8],
}

impl<'b> Columns<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// The next number.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for (i, &byte) in self.bytes.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.bytes = &self.bytes[i + 1..];
                return Some(number);
            }
        }
        None
    }

    /// The next number, signed.
    #[inline]
    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// The next number, as a length.
    pub(super) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// The next `n` bytes.
    pub(super) fn take(&mut self, n: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(taken)
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

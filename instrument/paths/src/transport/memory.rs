//! Shared memory: lines, and cells that hold one value each.
//!
//! All of it is atomic words. What is in a cell is copied by relaxed loads and stores between an
//! acquiring load and a releasing store of its position: a process that does not keep to the
//! protocol can deliver wrong values, and nothing else.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::values::{Header, Position};

/// Words of a line.
const LINE_WORDS: usize = 8;
/// Words of a value that are in the same line as its header: small values cross between cores in
/// one transfer.
const INLINE_WORDS: usize = LINE_WORDS - HEADER_WORDS;
/// Words of a header in a cell, with its position.
const HEADER_WORDS: usize = 3;
const WORD_BYTES: usize = size_of::<u64>();

/// A cache line of shared memory.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Line([AtomicU64; LINE_WORDS]);

const _: () = assert!(size_of::<Line>() == LINE_BYTES && align_of::<Line>() == LINE_BYTES);

/// Bytes of a [`Line`].
pub const LINE_BYTES: usize = 64;

impl Line {
    /// The first word of the line.
    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.0[0]
    }

    /// The second word of the line.
    pub(crate) fn second_word(&self) -> &AtomicU64 {
        &self.0[1]
    }
}

/// Lines of a cell for values of up to `segment_bytes`.
pub(crate) const fn cell_lines(segment_bytes: usize) -> usize {
    1 + segment_bytes.div_ceil(LINE_BYTES)
}

/// Stores a value in the cell that begins with the first of these lines, for those who wait for
/// `at`.
///
/// # Panics
/// If the cell is smaller than the value.
pub(crate) fn publish(cell: &[Line], at: Position, header: &Header, value: &[u8]) {
    let first = &cell[0].0;
    if value.len() <= INLINE_WORDS * WORD_BYTES {
        for (to, bytes) in first[HEADER_WORDS..].iter().zip(value.chunks(WORD_BYTES)) {
            to.store(word_of(bytes), Ordering::Relaxed);
        }
    } else {
        let n_lines = value.len().div_ceil(LINE_BYTES);
        for (line, bytes) in cell[1..=n_lines].iter().zip(value.chunks(LINE_BYTES)) {
            for (to, bytes) in line.0.iter().zip(bytes.chunks(WORD_BYTES)) {
                to.store(word_of(bytes), Ordering::Relaxed);
            }
        }
    }
    // Those who wait look at the first line again and again. It is changed last and at once, so that
    // they take it away as rarely as can be.
    let [total, word] = header.words();
    first[1].store(total, Ordering::Relaxed);
    first[2].store(word, Ordering::Relaxed);
    first[0].store(at.bits(), Ordering::Release);
}

/// The header of the value in this cell, once it is the one of `at`.
#[inline]
pub(crate) fn peek(cell: &[Line], at: Position) -> Option<Header> {
    let first = &cell[0].0;
    if first[0].load(Ordering::Acquire) != at.bits() {
        return None;
    }
    let words = [
        first[1].load(Ordering::Relaxed),
        first[2].load(Ordering::Relaxed),
    ];
    Some(Header::from_words(words))
}

/// Copies the value whose header was [peeked](peek) from its cell. Returns how many bytes were
/// copied: as many as it has, as fit into `into`, and as the cell can hold.
pub(crate) fn read(cell: &[Line], header: &Header, into: &mut [u8]) -> usize {
    let n_bytes = header.n_bytes.min(into.len());
    if header.n_bytes <= INLINE_WORDS * WORD_BYTES {
        let words = cell[0].0[HEADER_WORDS..].iter();
        for (from, to) in words.zip(into[..n_bytes].chunks_mut(WORD_BYTES)) {
            store_word(from.load(Ordering::Relaxed), to);
        }
        return n_bytes;
    }
    let n_bytes = n_bytes.min((cell.len() - 1) * LINE_BYTES);
    for (line, to) in cell[1..].iter().zip(into[..n_bytes].chunks_mut(LINE_BYTES)) {
        for (from, to) in line.0.iter().zip(to.chunks_mut(WORD_BYTES)) {
            store_word(from.load(Ordering::Relaxed), to);
        }
    }
    n_bytes
}

#[inline]
fn word_of(bytes: &[u8]) -> u64 {
    match bytes.try_into() {
        Ok(whole) => u64::from_ne_bytes(whole),
        Err(_) => {
            let mut whole = [0; WORD_BYTES];
            whole[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(whole)
        }
    }
}

#[inline]
fn store_word(word: u64, to: &mut [u8]) {
    let bytes = word.to_ne_bytes();
    match <&mut [u8; WORD_BYTES]>::try_from(&mut *to) {
        Ok(whole) => *whole = bytes,
        Err(_) => to.copy_from_slice(&bytes[..to.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_any_length_is_read_as_it_was_published() {
        const SEGMENT_BYTES: usize = 200;
        let n_lines = cell_lines(SEGMENT_BYTES);
        let cell: Vec<Line> = (0..n_lines).map(|_| Line::default()).collect();
        for n_bytes in 0..=SEGMENT_BYTES {
            let value: Vec<u8> = (0..n_bytes).map(|i| (i * 7 + n_bytes) as u8).collect();
            let header = Header {
                total: 1 << 40,
                n_bytes,
                writer: n_bytes as u32,
                is_last: n_bytes % 2 == 0,
                is_truncated: n_bytes % 3 == 0,
            };
            let at = Position::new(n_bytes as u64 + 1, 3);
            publish(&cell, at, &header, &value);
            assert_eq!(peek(&cell, Position::new(n_bytes as u64, 3)), None);
            assert_eq!(peek(&cell, at), Some(header));
            for room in [0, n_bytes / 2, n_bytes, SEGMENT_BYTES] {
                let mut into = vec![0xee; room];
                let read = read(&cell, &header, &mut into);
                assert_eq!(read, n_bytes.min(room));
                assert_eq!(into[..read], value[..read]);
                assert!(into[read..].iter().all(|&byte| byte == 0xee));
            }
        }
    }

    #[test]
    fn a_header_that_lies_about_its_length_reads_no_more_than_the_cell() {
        let cell: Vec<Line> = (0..cell_lines(64)).map(|_| Line::default()).collect();
        let header = Header {
            n_bytes: 1 << 20,
            ..Header::default()
        };
        let mut into = vec![0; 4096];
        assert_eq!(read(&cell, &header, &mut into), 64);
    }
}

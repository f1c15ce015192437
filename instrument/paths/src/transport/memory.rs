//! Cells in shared memory, each of which holds one value.
//!
//! All of it is atomic words. What is in a cell is copied between an acquiring load and a releasing
//! store of its position: a process that does not keep to the protocol can deliver wrong values, and
//! nothing else.

use std::sync::atomic::Ordering;

use super::copy::{copy_in, copy_out};
use super::line::{LINE_BYTES, LINE_WORDS, Line, WORD_BYTES};
use crate::values::{Header, Position};

/// Words of a value that are in the same line as its header: small values cross between cores in
/// one transfer.
pub(crate) const INLINE_WORDS: usize = LINE_WORDS - HEADER_WORDS;
/// Words of a header in a cell, with its position.
const HEADER_WORDS: usize = 3;

/// Lines that values of up to `segment_bytes` need beside the line of their header.
pub(crate) const fn body_lines(segment_bytes: usize) -> usize {
    segment_bytes.div_ceil(LINE_BYTES)
}

/// Where a value lies: the line with its header, and lines for it if it does not fit in there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'m> {
    pub(crate) head: &'m Line,
    pub(crate) body: &'m [Line],
}

/// Whether a value of this length lies in the line of its header.
#[inline]
pub(crate) const fn is_inline(n_bytes: usize) -> bool {
    n_bytes <= INLINE_BYTES
}

/// The longest value that lies in the line of its header.
pub(crate) const INLINE_BYTES: usize = INLINE_WORDS * WORD_BYTES;

/// Stores a value in its cell, for those who wait for `at`.
///
/// # Panics
/// If the cell is smaller than the value.
#[inline]
pub(crate) fn publish(cell: Cell<'_>, at: Position, header: &Header, value: &[u8]) {
    if is_inline(value.len()) {
        let words = cell.head.0[HEADER_WORDS..].iter();
        for (to, bytes) in words.zip(value.chunks(WORD_BYTES)) {
            to.store(word_of(bytes), Ordering::Relaxed);
        }
    } else {
        copy_in(value, cell.body);
    }
    publish_header(cell.head, at, header.words());
}

/// Stores what is said about a value, when the value is there.
#[inline]
fn publish_header(head: &Line, at: Position, [total, word]: [u64; 2]) {
    // Those who wait look at the head again and again. It is changed last and at once, so that they
    // take it away as rarely as can be.
    head.0[1].store(total, Ordering::Relaxed);
    head.0[2].store(word, Ordering::Relaxed);
    head.0[0].store(at.bits(), Ordering::Release);
}

/// The words of the header in this head, once it is the one of `at`.
#[inline]
pub(crate) fn peek_words(head: &Line, at: Position) -> Option<[u64; 2]> {
    let words = &head.0;
    if words[0].load(Ordering::Acquire) != at.bits() {
        return None;
    }
    let header = [&words[1], &words[2]];
    Some(header.map(|word| word.load(Ordering::Relaxed)))
}

/// A value that fits into `N` words of a head.
pub(crate) type SmallValue<const N: usize> = [[u8; WORD_BYTES]; N];

/// A value in words; what is missing in the last ones is zero.
///
/// # Panics
/// If it is longer.
#[inline]
pub(crate) fn small<const N: usize>(value: &[u8]) -> SmallValue<N> {
    let mut words = [[0; WORD_BYTES]; N];
    match value.try_into() {
        Ok(whole) => words[0] = whole,
        Err(_) => words.as_flattened_mut()[..value.len()].copy_from_slice(value),
    }
    words
}

/// Stores a value that fits into a head, with the words of its header, for those who wait for `at`.
#[inline]
pub(crate) fn publish_small<const N: usize>(
    head: &Line,
    at: Position,
    header: [u64; 2],
    value: &SmallValue<N>,
) {
    for (to, bytes) in head.0[HEADER_WORDS..].iter().zip(value) {
        to.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    publish_header(head, at, header);
}

/// The first words of the value in a head.
#[inline]
pub(crate) fn read_small<const N: usize>(head: &Line) -> SmallValue<N> {
    const { assert!(N <= INLINE_WORDS) }
    std::array::from_fn(|nth| {
        let word = head.0[HEADER_WORDS + nth].load(Ordering::Relaxed);
        word.to_ne_bytes()
    })
}

/// The header of the value in the cell with this head, once it is the one of `at`.
#[inline]
pub(crate) fn peek(head: &Line, at: Position) -> Option<Header> {
    peek_words(head, at).map(Header::from_words)
}

/// Copies the value whose header was [peeked](peek) from its cell. Returns how many bytes were
/// copied: as many as it has, as fit into `into`, and as the cell can hold.
#[inline]
pub(crate) fn read(cell: Cell<'_>, header: &Header, into: &mut [u8]) -> usize {
    let n_bytes = header.n_bytes.min(into.len());
    if is_inline(header.n_bytes) {
        let words = cell.head.0[HEADER_WORDS..].iter();
        for (from, to) in words.zip(into[..n_bytes].chunks_mut(WORD_BYTES)) {
            store_word(from.load(Ordering::Relaxed).to_ne_bytes(), to);
        }
        return n_bytes;
    }
    let n_bytes = n_bytes.min(cell.body.len() * LINE_BYTES);
    copy_out(cell.body, &mut into[..n_bytes]);
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

/// Stores as much of a word as there is room for: mostly all of it.
#[inline]
pub(crate) fn store_word(word: [u8; WORD_BYTES], to: &mut [u8]) {
    match <&mut [u8; WORD_BYTES]>::try_from(&mut *to) {
        Ok(whole) => *whole = word,
        Err(_) => to.copy_from_slice(&word[..to.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(lines: &[Line]) -> Cell<'_> {
        let (head, body) = lines.split_first().unwrap();
        Cell { head, body }
    }

    #[test]
    fn a_value_of_any_length_is_read_as_it_was_published() {
        const SEGMENT_BYTES: usize = 200;
        let lines: Vec<Line> = (0..=body_lines(SEGMENT_BYTES))
            .map(|_| Line::default())
            .collect();
        let cell = cell(&lines);
        for n_bytes in 0..=SEGMENT_BYTES {
            let value: Vec<u8> = (0..n_bytes).map(|i| (i * 7 + n_bytes) as u8).collect();
            let header = Header {
                total: 1 << 40,
                n_bytes,
                writer: n_bytes as u32,
                is_last: n_bytes % 2 == 0,
                is_truncated: n_bytes % 3 == 0,
                is_reference: n_bytes % 5 == 0,
            };
            let at = Position::new(n_bytes as u64 + 1, 3);
            publish(cell, at, &header, &value);
            assert_eq!(peek(cell.head, Position::new(n_bytes as u64, 3)), None);
            assert_eq!(peek(cell.head, at), Some(header));
            for room in [0, n_bytes / 2, n_bytes, SEGMENT_BYTES] {
                let mut into = vec![0xee; room];
                let read = read(cell, &header, &mut into);
                assert_eq!(read, n_bytes.min(room));
                assert_eq!(into[..read], value[..read]);
                assert!(into[read..].iter().all(|&byte| byte == 0xee));
            }
        }
    }

    #[test]
    fn a_header_that_lies_about_its_length_reads_no_more_than_the_cell() {
        let lines: Vec<Line> = (0..=body_lines(64)).map(|_| Line::default()).collect();
        let header = Header {
            n_bytes: 1 << 20,
            ..Header::default()
        };
        let mut into = vec![0; 4096];
        assert_eq!(read(cell(&lines), &header, &mut into), 64);
    }
}

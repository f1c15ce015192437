//! What is said about a value on its way.

use super::position::Position;

/// What is said about a value, beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Header {
    /// The payload of one rank in the whole operation, bytes.
    pub(crate) total: u64,
    /// Length of the value, which is of one segment.
    pub(crate) n_bytes: usize,
    /// The rank that has stored or sent it.
    pub(crate) writer: u32,
    /// Whether it is of the last segment.
    pub(crate) is_last: bool,
    /// Whether contributors have given different lengths.
    pub(crate) is_truncated: bool,
    /// Whether it is no value, but says where one lies in the memory of the process that has it.
    pub(crate) is_reference: bool,
}

/// Bits of the second word: length, writer, flags.
const LENGTH_BITS: u32 = 32;
const WRITER_BITS: u32 = 24;
const LAST: u64 = 1 << (LENGTH_BITS + WRITER_BITS);
const TRUNCATED: u64 = LAST << 1;
const REFERENCE: u64 = LAST << 2;
/// The bits of the writer.
const WRITER: u64 = (MAX_RANKS as u64 - 1) << LENGTH_BITS;

/// The largest number of ranks whose numbers fit.
pub(crate) const MAX_RANKS: u32 = 1 << WRITER_BITS;

/// Bytes before the value in a message.
pub(crate) const MESSAGE_HEADER_BYTES: usize = 24;

impl Header {
    /// That of a value which is all that its rank has.
    #[inline]
    pub(crate) fn of_all(writer: u32, n_bytes: usize) -> Self {
        Self {
            total: n_bytes as u64,
            n_bytes,
            writer,
            is_last: true,
            is_truncated: false,
            is_reference: false,
        }
    }

    /// Of a reference of `n_bytes` to a value of `total` bytes; `n_bytes` is 0 if the value may not be copied.
    pub(crate) fn of_reference(writer: u32, total: usize, n_bytes: usize) -> Self {
        Self {
            total: total as u64,
            n_bytes,
            writer,
            is_last: false,
            is_truncated: false,
            is_reference: true,
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> [u64; 2] {
        let mut word = self.n_bytes as u64 | u64::from(self.writer) << LENGTH_BITS;
        if self.is_last {
            word |= LAST;
        }
        if self.is_truncated {
            word |= TRUNCATED;
        }
        if self.is_reference {
            word |= REFERENCE;
        }
        [self.total, word]
    }

    #[inline]
    pub(crate) fn from_words([total, word]: [u64; 2]) -> Self {
        Self {
            total,
            n_bytes: (word & ((1 << LENGTH_BITS) - 1)) as usize,
            writer: (word >> LENGTH_BITS) as u32 & (MAX_RANKS - 1),
            is_last: word & LAST != 0,
            is_truncated: word & TRUNCATED != 0,
            is_reference: word & REFERENCE != 0,
        }
    }

    /// What is said about the combination of two values: the longer of both, the end if both end,
    /// and truncated if they differ.
    #[inline]
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            total: self.total.max(other.total),
            n_bytes: self.n_bytes.max(other.n_bytes),
            writer: self.writer,
            is_last: self.is_last && other.is_last,
            is_truncated: self.is_truncated
                || other.is_truncated
                || self.total != other.total
                // Somebody has so much more to give that it goes another way.
                || self.is_reference
                || other.is_reference,
            is_reference: false,
        }
    }

    /// Whether two headers, in words, say the same of values, whoever has written them.
    #[inline]
    pub(crate) fn are_alike(one: [u64; 2], other: [u64; 2]) -> bool {
        one[0] == other[0] && (one[1] ^ other[1]) & !WRITER == 0
    }

    /// The value as a message, written into `message`. Returns its length.
    pub(crate) fn write_message(&self, at: Position, value: &[u8], message: &mut [u8]) -> usize {
        let [total, word] = self.words();
        let (head, rest) = message.split_at_mut(MESSAGE_HEADER_BYTES);
        for (to, word) in head
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip([at.bits(), total, word])
        {
            *to = word.to_le_bytes();
        }
        rest[..value.len()].copy_from_slice(value);
        MESSAGE_HEADER_BYTES + value.len()
    }

    /// The position, header and bytes in a message.
    pub(crate) fn read_message(message: &[u8]) -> Option<(Position, Self, &[u8])> {
        let (head, value) = message.split_at_checked(MESSAGE_HEADER_BYTES)?;
        let mut words = head
            .as_chunks()
            .0
            .iter()
            .map(|&word| u64::from_le_bytes(word));
        let at = Position::from_bits(words.next()?);
        let mut header = Self::from_words([words.next()?, words.next()?]);
        header.n_bytes = header.n_bytes.min(value.len());
        Some((at, header, &value[..header.n_bytes]))
    }
}

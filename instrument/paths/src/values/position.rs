//! Where in the course of operations a value belongs.

/// A segment of an operation: the number of the operation on its communicator, from 1, and that of
/// the segment in it, from 0. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(u64);

/// Bits of the number of the segment.
const SEGMENT_BITS: u32 = 24;
/// Not the number of a segment, but greater than all.
const END: u64 = (1 << SEGMENT_BITS) - 1;

/// The largest number of segments of an operation.
pub(crate) const MAX_SEGMENTS: usize = END as usize;

impl Position {
    /// Before the first operation; what shared memory holds at first.
    pub(crate) const BEGIN: Self = Self(0);

    pub(crate) const fn new(call: u64, segment: u64) -> Self {
        Self(call << SEGMENT_BITS | segment)
    }

    /// After the last segment of an operation.
    pub(crate) const fn end(call: u64) -> Self {
        Self::new(call, END)
    }

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    pub(crate) const fn call(self) -> u64 {
        self.0 >> SEGMENT_BITS
    }

    pub(crate) const fn segment(self) -> u64 {
        self.0 & END
    }

    /// The same segment number of the operation after.
    pub(crate) const fn next_segment(self) -> Self {
        Self(self.0 + 1)
    }
}

//! Passes through event collectors of spanning trees of our own: records of kind 3.

use super::{CommunicatorWord, Record, RecordKind, RecordWord};

/// Position of the segment in the lower 48 bits; the collector is below it.
const SEGMENT_SHIFT: u32 = 24;
/// The largest number of a collector or of a segment that a record holds; larger ones saturate.
const MAX_IN_RECORD: u32 = (1 << SEGMENT_SHIFT) - 1;

/// On which ways a value passed an event collector. The numbers are those in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum PassedWays {
    /// Towards the bottommost wrapper, and back.
    Both = 1,
    /// Only towards the bottommost wrapper.
    Down = 2,
    /// Only back: the data of the operation flow from the root.
    Up = 3,
}

impl PassedWays {
    const fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Self::Both),
            2 => Some(Self::Down),
            3 => Some(Self::Up),
            _ => None,
        }
    }
}

/// One pass of a value through an event collector.
///
/// The record's `enter` is when the value passed on its way towards the bottommost wrapper, its
/// `leave` when it passed on its way back. Where it passed on one way only, both are that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectorPass {
    /// Index of the definition of the [`SpanningTree`](crate::SpanningTree), in this process.
    pub tree: u32,
    /// The lower 32 bits of the number of the call on this tree, from 1: the same on all
    /// processes.
    pub call: u32,
    /// Which collector: a rank of the tree, for the collector between it and its first wrapper;
    /// otherwise the number of ranks plus the index of the wrapper that it is after. Saturates at
    /// 2^24 - 1.
    pub collector: u32,
    /// The number of the segment of the payload, from 0; saturates at 2^24 - 1.
    pub segment: u32,
    /// On which ways the value passed.
    pub ways: PassedWays,
}

impl CollectorPass {
    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        let low = saturated(self.collector) | saturated(self.segment) << SEGMENT_SHIFT;
        [
            RecordWord::new(RecordKind::CollectorPass, 0, self.ways as u16, low).bits(),
            CommunicatorWord::new(self.tree, self.call.cast_signed()).bits(),
        ]
    }
}

/// The number, or the largest one that a record holds.
const fn saturated(number: u32) -> u64 {
    if number < MAX_IN_RECORD {
        number as u64
    } else {
        MAX_IN_RECORD as u64
    }
}

impl Record {
    /// The pass that the record describes; `None` for other kinds, and for ways that this version
    /// does not know.
    #[must_use]
    #[inline]
    pub fn collector_pass(&self) -> Option<CollectorPass> {
        let word = self.word();
        if !word.is_of(RecordKind::CollectorPass) {
            return None;
        }
        let ways = PassedWays::from_number(word.number())?;
        Some(CollectorPass {
            tree: self.communicator.get(),
            call: self.root.get().cast_unsigned(),
            collector: word.low() as u32 & MAX_IN_RECORD,
            segment: (word.low() >> SEGMENT_SHIFT) as u32,
            ways,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;

    #[test]
    fn bytes_of_a_pass_are_those_of_the_format_page() {
        let pass = CollectorPass {
            tree: 3,
            call: 0x0102_0304,
            collector: 0x0a_0b0c,
            segment: 0x0d_0e0f,
            ways: PassedWays::Both,
        };
        assert_eq!(
            Record::of_words(pass.words(), 0x1122, 0x3344).as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // towards the bottommost wrapper
                0x0c, 0x0b, 0x0a, // collector
                0x0f, 0x0e, 0x0d, // segment
                0x01, 0x60, // kind 3, both ways
                3, 0, 0, 0, // tree
                4, 3, 2, 1, // number of the call
                0x44, 0x33, 0, 0, 0, 0, 0, 0, // back
            ]
        );
    }

    #[test]
    fn ways_of_a_later_version_are_no_pass() {
        for number in [0, 4, 1023] {
            let word = RecordWord::new(RecordKind::CollectorPass, 0, number, 0);
            let record = Record::of_words([word.bits(), 0], 5, 6);
            assert_eq!(record.collector_pass(), None);
            assert_eq!(record.kind(), Some(RecordKind::CollectorPass));
        }
    }

    proptest! {
        #[test]
        fn fields_of_a_pass_are_read_as_they_were_written(
            tree: u32, call: u32, collector: u32, segment: u32, number in 1u16..4,
            enter in 1u64.., leave: u64,
        ) {
            let ways = PassedWays::from_number(number).unwrap();
            let pass = CollectorPass { tree, call, collector, segment, ways };
            let record = Record::of_words(pass.words(), enter, leave);
            let expected = CollectorPass {
                collector: collector.min(MAX_IN_RECORD),
                segment: segment.min(MAX_IN_RECORD),
                ..pass
            };
            prop_assert_eq!(record.collector_pass(), Some(expected));
            prop_assert_eq!((record.operation(), record.message()), (None, None));
            prop_assert_eq!((record.enter.get(), record.leave.get()), (enter, leave));
        }
    }
}

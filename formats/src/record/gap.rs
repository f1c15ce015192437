//! Time in calls that have no records of their own, between two calls that have.

use super::{CommunicatorWord, NO_RANK, RecordWord};

/// Sorts of calls without records of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Sends, receives and waits for them.
    PointToPoint,
    /// Tests and probes that were unsuccessful at first.
    Polling,
    /// Accesses to files (MPI-IO).
    Io,
    /// Synchronization of accesses to windows (one-sided communication, RMA).
    Rma,
}

impl Activity {
    /// All activities, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::PointToPoint, Self::Polling, Self::Io, Self::Rma];

    /// The sort of note on such calls.
    pub(super) const fn sort(self) -> u16 {
        match self {
            Self::PointToPoint => 4,
            Self::Polling => 5,
            Self::Io => 6,
            Self::Rma => 7,
        }
    }

    pub(super) const fn of_sort(sort: u16) -> Option<Self> {
        match sort {
            4 => Some(Self::PointToPoint),
            5 => Some(Self::Polling),
            6 => Some(Self::Io),
            7 => Some(Self::Rma),
            _ => None,
        }
    }
}

/// Calls without records of their own, which a thread made in the gap before the next record of a
/// call, completion or phase of the application in the thread: sums over one
/// [`Activity`]. A gap may have several for one activity, whose sums add up.
///
/// Polls (unsuccessful tests and probes) that follow each other at once are like one call, which
/// also has the time between them, and the call that ends them with success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapTime {
    /// What the calls do.
    pub activity: Activity,
    /// Time in these calls, ticks. Saturates at 2^48 - 1.
    pub ticks: u64,
    /// Number of calls; for [`Activity::Polling`], of unsuccessful ones.
    pub n_calls: u16,
    /// Time in the longest call, ticks; rounded down to 10 significant bits.
    pub longest_ticks: u64,
    /// World rank of the process that the longest call was about; [`NO_RANK`] where that is not known.
    pub partner: u32,
}

/// Bits of the rounded number of ticks in its field; the other 6 are how far it is shifted.
const ROUNDED_BITS: u32 = 10;

/// A number, rounded down, in 16 bits.
const fn rounded(number: u64) -> u16 {
    let n_bits = u64::BITS - number.leading_zeros();
    let shift = n_bits.saturating_sub(ROUNDED_BITS);
    (number >> shift) as u16 | (shift as u16) << ROUNDED_BITS
}

/// The number that [`rounded`] has stored; the most there is for one that it cannot have stored.
const fn number_of(rounded: u16) -> u64 {
    let number = (rounded as u64) & ((1 << ROUNDED_BITS) - 1);
    let shift = rounded >> ROUNDED_BITS;
    if (number as u128) << shift > u64::MAX as u128 {
        u64::MAX
    } else {
        number << shift
    }
}

impl GapTime {
    /// World rank of the process that the longest call was about, where that is known.
    #[must_use]
    pub const fn known_partner(&self) -> Option<u32> {
        match self.partner {
            NO_RANK => None,
            rank => Some(rank),
        }
    }

    /// Bytes 8 to 23 of its record, as two little-endian words.
    #[must_use]
    pub const fn words(self) -> [u64; 2] {
        let counts = self.n_calls as u32 | (rounded(self.longest_ticks) as u32) << 16;
        [
            RecordWord::note(self.activity.sort(), self.ticks).bits(),
            CommunicatorWord::new(self.partner, counts.cast_signed()).bits(),
        ]
    }

    /// From the fields of its record.
    pub(super) const fn of_fields(
        activity: Activity,
        word: RecordWord,
        partner: u32,
        counts: u32,
    ) -> Self {
        Self {
            activity,
            ticks: word.low(),
            n_calls: counts as u16,
            longest_ticks: number_of((counts >> 16) as u16),
            partner,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::{FromBytes, IntoBytes};

    use super::*;
    use crate::record::{MAX_PAYLOAD_BYTES, Note, Record};

    fn record(gap: GapTime, enter: u64) -> Record {
        let [second, third] = gap.words();
        let words = [enter, second, third, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        *FromBytes::ref_from_bytes(&bytes[..]).unwrap()
    }

    #[test]
    fn bytes_of_the_note_are_those_of_the_format_page() {
        let gap = GapTime {
            activity: Activity::PointToPoint,
            ticks: 0x0102_0304,
            n_calls: 0x0506,
            longest_ticks: 1023 << 3,
            partner: 7,
        };
        assert_eq!(
            record(gap, 0x1122).as_bytes(),
            [
                0x22, 0x11, 0, 0, 0, 0, 0, 0, // written
                4, 3, 2, 1, 0, 0, // time in the calls
                4, 0xc4, // kind 6, internal, point to point
                7, 0, 0, 0, // partner of the longest
                6, 5, // calls
                0xff, 0x0f, // the longest: 1023, shifted by 3
                0, 0, 0, 0, 0, 0, 0, 0, // nothing
            ]
        );
    }

    #[test]
    fn numbers_of_few_bits_are_stored_exactly() {
        for number in [0, 1, 511, 1023, 1 << 20, 1023 << 54] {
            assert_eq!(number_of(rounded(number)), number);
        }
        assert_eq!(number_of(rounded(1025)), 1024);
        assert_eq!(number_of(u16::MAX), u64::MAX, "a damaged field");
    }

    proptest! {
        #[test]
        fn rounding_loses_less_than_one_part_in_512(number: u64) {
            let stored = number_of(rounded(number));
            prop_assert!(stored <= number && number - stored <= number / 512);
        }

        #[test]
        fn fields_of_the_note_are_read_as_they_were_written(
            at in 0usize..4, ticks: u64, n_calls: u16, longest: u64, partner: u32, enter in 1u64..,
        ) {
            let activity = Activity::ALL[at];
            let longest_ticks = number_of(rounded(longest));
            let gap = GapTime { activity, ticks, n_calls, longest_ticks, partner };
            let expected = GapTime { ticks: ticks.min(MAX_PAYLOAD_BYTES), ..gap };
            let record = record(gap, enter);
            prop_assert_eq!(record.note(), Some(Note::Gap(expected)));
            prop_assert_eq!((record.is_internal(), record.operation()), (true, None));
        }
    }
}

//! One end of a message in compact form: the fields to compare, and its times and bytes.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::Record;

use crate::messages::steps::Step;

/// The fields of an end other than times and bytes, packed into two 64-bit words: partner and step;
/// slot, group, and the bits below.
pub(crate) type Key = [u64; 2];

pub(crate) const IS_RECEIVE: u64 = 1;
/// Whether its end is known.
pub(crate) const HAS_END: u64 = 1 << 1;
/// Whether its partner is not known, or any.
pub(crate) const IS_FROM_ANY: u64 = 1 << 2;
pub(crate) const IS_ON_ANOTHER: u64 = 1 << 3;
/// Whether its step is in question: see [`Step`].
pub(crate) const IS_IN_QUESTION: u64 = 1 << 4;
pub(crate) const IS_NONBLOCKING: u64 = 1 << 5;
pub(crate) const GROUP_SHIFT: u32 = 6;
pub(crate) const GROUP_MASK: u64 = (1 << 26) - 1;

pub(crate) fn slot_of(key: &Key) -> usize {
    (key[1] >> 32) as usize
}

pub(crate) fn step_of(key: &Key) -> u32 {
    key[0] as u32
}

/// The slot of the other end; `NOT_A_SLOT` as a number where it has none.
pub(crate) fn partner_of(key: &Key) -> usize {
    (key[0] >> 32) as usize
}

/// The step of an end, and whether its end is known.
pub(crate) fn end_of(key: &Key) -> (Step, bool) {
    let step = Step {
        number: step_of(key),
        is_in_question: key[1] & IS_IN_QUESTION != 0,
    };
    (step, key[1] & HAS_END != 0)
}

pub(crate) fn group_of(key: &Key) -> usize {
    (key[1] >> GROUP_SHIFT & GROUP_MASK) as usize
}

pub(crate) fn group_bits(group: u32) -> u64 {
    (u64::from(group) & GROUP_MASK) << GROUP_SHIFT
}

/// The second and third word of a message's record.
pub(crate) type Words = [u64; 2];

#[inline]
pub(crate) fn words_of(record: &Record) -> Words {
    let [_, second, third, _] = record.words();
    [second, third]
}

/// Times and bytes of an end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndTimes {
    pub(crate) begin: Timestamp<Global>,
    /// Equal to `begin` where it is unknown.
    pub(crate) end: Timestamp<Global>,
    pub(crate) bytes: u64,
}

impl EndTimes {
    /// By the record of an end, whose two stamps, ticks, `both` converts.
    #[inline]
    pub(crate) fn of(record: &Record, both: impl Fn(u64, u64) -> [Timestamp<Global>; 2]) -> Self {
        let (enter, leave) = (record.enter.get(), record.leave.get());
        let [begin, end] = both(enter, if leave == 0 { enter } else { leave });
        Self {
            begin,
            end,
            bytes: record.word().message_bytes(),
        }
    }
}

/// The fields by which ends are compared, one of each per end, and the groups that the keys refer
/// to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ComparedEnds<'e> {
    pub(crate) keys: &'e [Key],
    pub(crate) words: &'e [Words],
    /// Number of the communicator, and tag.
    pub(crate) groups: &'e [(u32, u16)],
}

/// Identifies a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternNumber {
    /// How often all patterns had been discarded before.
    pub(crate) generation: u64,
    pub(crate) index: usize,
}

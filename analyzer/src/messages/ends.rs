//! The ends of the messages of one instance, while they are gathered.

use collbench_formats::{Direction, RecordWord};
use collbench_stats::numbering::{Numbers, mix};

use crate::messages::end::{
    ComparedEnds, EndTimes, GROUP_MASK, GROUP_SHIFT, HAS_END, IS_FROM_ANY, IS_IN_QUESTION,
    IS_NONBLOCKING, IS_ON_ANOTHER, IS_RECEIVE, Key, PatternNumber, Words, end_of, group_bits,
    group_of, slot_of,
};
use crate::messages::pairing::{NOT_A_SLOT, PairableEnd, Pairing};
use crate::messages::recurrence::Following;
use crate::messages::steps::Step;

/// One end as it is added.
pub(crate) struct MessageEnd {
    pub(crate) slot: u32,
    /// Slot of the other end, or [`NOT_A_SLOT`]; `None`: any, or not known.
    pub(crate) partner: Option<u32>,
    pub(crate) direction: Direction,
    /// Number among those of [`MessageEnds::group_of`].
    pub(crate) group: u32,
    pub(crate) is_on_another: bool,
    pub(crate) has_end: bool,
    pub(crate) step: Step,
    /// Those of its record.
    pub(crate) words: Words,
    pub(crate) times: EndTimes,
}

/// Counts of ends of messages to and from other groups, where a collective joins groups that are an
/// instance each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ForeignEnds {
    pub(crate) n_sends: u64,
    pub(crate) n_receives: u64,
}

/// The ends of the messages of one instance, by slot and their order there.
#[derive(Debug, Default)]
pub(crate) struct MessageEnds {
    /// The recurrence that the ends match so far. Then keys, groups and words are empty.
    following: Option<Following>,
    keys: Vec<Key>,
    words: Vec<Words>,
    pub(crate) times: Vec<EndTimes>,
    /// Number of the communicator, and tag, of each group. A nonblocking collective has a different
    /// tag each time. The keys name all of them, in this order: so ends with the same keys have as
    /// many groups, whatever these are.
    groups: Numbers<(u32, u16)>,
}

impl MessageEnds {
    /// Begins an instance, whose ends are likely to be those of a recurrence.
    pub(crate) fn begin(&mut self, following: Option<Following>) {
        self.following = following;
        self.keys.clear();
        self.words.clear();
        self.times.clear();
        self.groups.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The recurrence that they are those of, so far, and what they take.
    pub(crate) fn following(&mut self) -> Option<(&mut Following, &mut Vec<EndTimes>)> {
        Some((self.following.as_mut()?, &mut self.times))
    }

    /// Whether they are those of a recurrence, so far.
    pub(crate) fn is_following(&self) -> bool {
        self.following.is_some()
    }

    /// Leaves the recurrence, since further ends differ from it.
    pub(crate) fn leave_recurrence(&mut self) {
        let Some(following) = self.following.take() else {
            return;
        };
        let n = self.times.len();
        self.keys.extend_from_slice(following.keys(n));
        self.words.extend(following.words(n));
        let n_groups = self.keys.iter().map(|key| group_of(key) + 1).max();
        let groups = following.groups().take(n_groups.unwrap_or(0));
        self.groups.clear();
        self.groups.extend(groups);
    }

    /// The pattern of a recurrence that they are those of, all of them.
    pub(crate) fn pattern(&mut self) -> Option<PatternNumber> {
        let following = self.following.as_ref()?;
        if self.times.len() != following.n_ends() {
            self.leave_recurrence();
            return None;
        }
        self.groups.clear();
        self.groups.extend(following.groups());
        Some(following.pattern())
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// What they are compared by.
    pub(crate) fn compared(&self) -> ComparedEnds<'_> {
        ComparedEnds {
            keys: &self.keys,
            words: &self.words,
            groups: self.groups(),
        }
    }

    #[cfg(test)]
    pub(crate) fn words(&self) -> &[Words] {
        &self.words
    }

    pub(crate) fn groups(&self) -> &[(u32, u16)] {
        self.groups.met()
    }

    /// The number of those ends that have this communicator and tag, of which one is added next.
    #[inline]
    pub(crate) fn group_of(&mut self, communicator: u32, tag: u16) -> u32 {
        self.groups.of((communicator, tag))
    }

    #[inline]
    pub(crate) fn add(&mut self, end: &MessageEnd) {
        let bit = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        let bits = bit(end.direction == Direction::Receive, IS_RECEIVE)
            | bit(end.has_end, HAS_END)
            | bit(end.partner.is_none(), IS_FROM_ANY)
            | bit(end.is_on_another, IS_ON_ANOTHER)
            | bit(end.step.is_in_question, IS_IN_QUESTION)
            | bit(
                RecordWord::from_bits(end.words[0]).is_nonblocking(),
                IS_NONBLOCKING,
            );
        let partner = end.partner.unwrap_or(NOT_A_SLOT);
        self.keys.push([
            u64::from(partner) << 32 | u64::from(end.step.number),
            u64::from(end.slot) << 32 | group_bits(end.group) | bits,
        ]);
        self.words.push(end.words);
        self.times.push(end.times);
    }

    /// Removes ends to and from processes outside of the instance; returns how many sends and
    /// receives these were.
    pub(crate) fn take_out_foreign(&mut self) -> ForeignEnds {
        let is_foreign = |[partner_and_step, rest]: &Key| {
            let is_to_nobody_known = rest & (IS_FROM_ANY | IS_RECEIVE) == IS_FROM_ANY;
            let is_outside = (partner_and_step >> 32) as u32 == NOT_A_SLOT;
            is_to_nobody_known || is_outside && rest & IS_FROM_ANY == 0
        };
        let mut foreign = ForeignEnds::default();
        for key in self.keys.iter().filter(|key| is_foreign(key)) {
            match key[1] & IS_RECEIVE {
                0 => foreign.n_sends += 1,
                _ => foreign.n_receives += 1,
            }
        }
        if foreign != ForeignEnds::default() {
            self.retain(|key| !is_foreign(key));
        }
        foreign
    }

    /// Forgets those whose keys are not wanted, and the groups that were theirs alone.
    fn retain(&mut self, is_wanted: impl Fn(&Key) -> bool) {
        let wanted = || self.keys.iter().map(&is_wanted);
        let [mut for_words, mut for_times] = [wanted(), wanted()];
        self.words.retain(|_| for_words.next() == Some(true));
        self.times.retain(|_| for_times.next() == Some(true));
        self.keys.retain(is_wanted);
        let before = std::mem::take(&mut self.groups);
        for key in &mut self.keys {
            let group = self.groups.of(before.met()[group_of(key)]);
            key[1] = key[1] & !(GROUP_MASK << GROUP_SHIFT) | group_bits(group);
        }
    }

    /// Adds all ends to a pairing.
    pub(crate) fn add_to(&self, pairing: &mut Pairing) {
        pairing.clear();
        let (mut slot, mut first) = (NOT_A_SLOT, 0);
        for (number, (key, times)) in (0..).zip(self.keys.iter().zip(&self.times)) {
            let [partner_and_step, rest] = *key;
            let has = |bit: u64| rest & bit != 0;
            let of = slot_of(key) as u32;
            if of != slot {
                (slot, first) = (of, number);
            }
            let (communicator, tag) = self.groups()[group_of(key)];
            let (step, has_end) = end_of(key);
            pairing.add(&PairableEnd {
                number,
                slot,
                partner: (!has(IS_FROM_ANY)).then_some((partner_and_step >> 32) as u32),
                direction: if has(IS_RECEIVE) {
                    Direction::Receive
                } else {
                    Direction::Send
                },
                bytes: times.bytes,
                tag,
                communicator,
                is_on_another: has(IS_ON_ANOTHER),
                is_nonblocking: has(IS_NONBLOCKING),
                begin: times.begin,
                end: has_end.then_some(times.end),
                nth: number - first,
                step,
            });
        }
    }

    pub(crate) fn has_receive_from_any(&self) -> bool {
        let is_from_any =
            |key: &Key| key[1] & (IS_FROM_ANY | IS_RECEIVE) == IS_FROM_ANY | IS_RECEIVE;
        self.keys.iter().any(is_from_any)
    }

    pub(crate) fn hash(&self) -> u64 {
        let words = self.keys.as_flattened().iter();
        words.fold(0, |hash, &word| mix(hash, word))
    }
}

//! Outliers: the few instances that took longest.

use serde::{Deserialize, Serialize};

use crate::sums::instances::instance_times::InstanceTimes;

/// Most instances kept of one operation.
const MAX_KEPT: usize = 8;

/// One instance that took long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LongInstance {
    /// Last leave minus first enter, ns.
    pub duration_ns: i64,
    /// Its last enter, ns since the start.
    pub at_ns: i64,
    /// Position among the calls on its communicator.
    pub sequence: u64,
    /// Position in the communicator's entry of the last to arrive, where that is resolved.
    pub last: Option<usize>,
    /// Its enter minus the enter before it, ns.
    pub excess_ns: i64,
    /// Who arrived late together; `None` where stamps of its processes cannot be compared.
    pub late: Option<LateTogether>,
    /// The instance in detail; `None` for one of a single call.
    pub times: Option<Box<InstanceTimes>>,
    /// Number of the place from which the last to arrive called it, else the first in order; `None` where
    /// that is not known.
    pub site: Option<u32>,
}

/// The processes that arrived after the longest gap between arrivals.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LateTogether {
    /// Their positions in the communicator's entry, ascending.
    pub positions: Vec<usize>,
    /// That time, ns.
    pub by_ns: i64,
    /// From the last of the others to the last to arrive, ns.
    pub behind_ns: i64,
    /// From the first to the last to arrive, ns.
    pub spread_ns: i64,
}

impl LateTogether {
    /// The processes that arrived late, from all enters in their order, whose each is, and the positions of
    /// slots; among equally long gaps the last.
    pub(crate) fn of(
        (enters, slots): (&[i64], &[u32]),
        position_of: impl Fn(usize) -> usize,
    ) -> Self {
        let Some(((n_others, by_ns), last)) = longest_gap(enters).zip(enters.last()) else {
            return Self::default();
        };
        let late = slots[n_others..].iter();
        let mut positions: Vec<usize> = late.map(|&slot| position_of(slot as usize)).collect();
        positions.sort_unstable();
        Self {
            positions,
            by_ns,
            behind_ns: last - enters[n_others - 1],
            spread_ns: last - enters[0],
        }
    }
}

/// Of the longest gaps between enters, in their order, the last: how many are before it, and how long it is, ns.
pub(crate) fn longest_gap(enters: &[i64]) -> Option<(usize, i64)> {
    let gaps = enters.windows(2).map(|pair| pair[1] - pair[0]);
    (1..).zip(gaps).max_by_key(|&(_, gap)| gap)
}

/// The few instances of an operation that took longest; among equals the last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Longest {
    /// Descending.
    kept: Vec<LongInstance>,
}

impl Longest {
    /// Whether an instance that took so long may be kept.
    #[inline]
    pub(crate) fn may_keep(&self, duration_ns: i64) -> bool {
        let least = self.kept.get(MAX_KEPT - 1);
        least.is_none_or(|least| duration_ns >= least.duration_ns)
    }

    /// Looks at an instance.
    pub fn add(&mut self, instance: LongInstance) {
        if self.kept.len() == MAX_KEPT {
            if instance <= self.kept[MAX_KEPT - 1] {
                return;
            }
            self.kept.pop();
        }
        let at = self.kept.partition_point(|kept| *kept > instance);
        self.kept.insert(at, instance);
    }

    /// Adds those of another part of the instances.
    pub fn merge(&mut self, other: &Self) {
        other.kept.iter().cloned().for_each(|it| self.add(it));
    }

    /// Those that took longer than so long, the longest first.
    pub fn beyond(&self, least_ns: i64) -> impl Iterator<Item = &LongInstance> {
        self.kept
            .iter()
            .take_while(move |kept| kept.duration_ns > least_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn late_together_are_those_behind_the_longest_gap() {
        let late = |enters: &[i64]| {
            let mut order: Vec<(i64, u32)> = enters.iter().copied().zip(0..).collect();
            order.sort_unstable();
            let (enters, slots): (Vec<i64>, Vec<u32>) = order.into_iter().unzip();
            let found = LateTogether::of((&enters, &slots), |slot| slot);
            (
                found.positions,
                [found.by_ns, found.behind_ns, found.spread_ns],
            )
        };
        assert_eq!(late(&[100, 107, 3, 5]), (vec![0, 1], [95, 102, 104]));
        assert_eq!(late(&[1, 2, 90, 3]), (vec![2], [87, 87, 89]));
        assert_eq!(late(&[0, 80, 82, 81]), (vec![1, 2, 3], [80, 82, 82]));
        // Of two gaps the last.
        assert_eq!(late(&[0, 10, 20]), (vec![2], [10, 10, 20]));
        assert_eq!(late(&[7]), (vec![], [0, 0, 0]));
    }

    proptest! {
        #[test]
        fn the_longest_are_those_of_sorting_all(
            durations in prop::collection::vec(0i64..30, 0..60),
            cut in 0usize..60,
        ) {
            let instance = |(sequence, &duration_ns): (usize, &i64)| LongInstance {
                duration_ns,
                at_ns: 10 * sequence as i64,
                sequence: sequence as u64,
                last: None,
                excess_ns: 0,
                late: None,
                times: None,
                site: None,
            };
            let mut all: Vec<LongInstance> = durations.iter().enumerate().map(instance).collect();
            let (mut first, mut second) = (Longest::default(), Longest::default());
            for (n, instance) in all.iter().cloned().enumerate() {
                if n < cut { first.add(instance) } else { second.add(instance) }
            }
            first.merge(&second);
            all.sort_unstable_by(|a, b| b.cmp(a));
            all.truncate(MAX_KEPT);
            let expected: Vec<&LongInstance> = all.iter().filter(|i| i.duration_ns > 7).collect();
            prop_assert_eq!(first.beyond(7).collect::<Vec<_>>(), expected);
        }
    }
}

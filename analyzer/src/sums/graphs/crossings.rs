//! Outliers of proxies: the few crossings that took longest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Most crossings that are kept of one hop.
const MAX_KEPT: usize = 8;

/// One crossing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Crossing {
    /// How long it took.
    pub(crate) ns: i64,
    /// The last enter of its instance, ns since the start.
    pub(crate) at_ns: i64,
    /// Position of its instance among the calls on the communicator.
    pub(crate) sequence: u64,
}

/// The longest crossings of each hop; among equals the last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LongCrossings {
    /// By hop, and whether they are both ways together; descending.
    kept: BTreeMap<(u32, bool), Vec<Crossing>>,
}

impl LongCrossings {
    /// Looks at a crossing, of one way or of both together.
    pub(crate) fn add(&mut self, hop: u32, is_both: bool, crossing: Crossing) {
        let kept = self.kept.entry((hop, is_both)).or_default();
        if kept.len() == MAX_KEPT {
            if crossing <= kept[MAX_KEPT - 1] {
                return;
            }
            kept.pop();
        }
        let at = kept.partition_point(|other| *other > crossing);
        kept.insert(at, crossing);
    }

    /// Adds those of another part of the instances.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (&(hop, is_both), crossings) in &other.kept {
            for &crossing in crossings {
                self.add(hop, is_both, crossing);
            }
        }
    }

    /// Those of a hop that took longer than so long, the longest first.
    pub(crate) fn beyond(
        &self,
        hop: u32,
        is_both: bool,
        least_ns: i64,
    ) -> impl Iterator<Item = &Crossing> {
        let kept = self.kept.get(&(hop, is_both)).into_iter().flatten();
        kept.take_while(move |crossing| crossing.ns > least_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_of_each_hop_are_those_of_sorting_all(
            times in prop::collection::vec((0u32..3, 0i64..40), 0..80),
            cut in 0usize..80,
        ) {
            let all = times.iter().zip(0u64..).map(|(&(hop, ns), sequence)| {
                let at_ns = 10 * sequence as i64;
                (hop, Crossing { ns, at_ns, sequence })
            });
            let (mut first, mut second) = (LongCrossings::default(), LongCrossings::default());
            for (n, (hop, crossing)) in all.clone().enumerate() {
                if n < cut { &mut first } else { &mut second }.add(hop, false, crossing);
            }
            first.merge(&second);
            for wanted in 0..3 {
                let of_hop = all.clone().filter(|(hop, _)| *hop == wanted);
                let mut expected: Vec<Crossing> = of_hop.map(|(_, crossing)| crossing).collect();
                expected.sort_unstable_by(|a, b| b.cmp(a));
                expected.truncate(MAX_KEPT);
                expected.retain(|crossing| crossing.ns > 5);
                let found: Vec<Crossing> = first.beyond(wanted, false, 5).copied().collect();
                prop_assert_eq!(found, expected);
                prop_assert_eq!(first.beyond(wanted, true, -1).count(), 0);
            }
        }
    }
}

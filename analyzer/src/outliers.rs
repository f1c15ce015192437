//! Instances that stick out: the few that took longest.

/// Most instances kept of one operation.
const MAX_KEPT: usize = 8;

/// One instance that took long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LongInstance {
    /// Last leave minus first enter, ns.
    pub duration_ns: i64,
    /// Its last enter, ns since the start.
    pub at_ns: i64,
    /// Position among the calls on its communicator.
    pub sequence: u64,
    /// Position in the communicator's entry of the last to come, where that is resolved.
    pub last: Option<usize>,
    /// How much later than the second last that one came, ns.
    pub excess_ns: i64,
}

/// The few instances of an operation that took longest; among equals the last.
#[derive(Debug, Clone, Default)]
pub struct Longest {
    /// Descending.
    kept: Vec<LongInstance>,
}

impl Longest {
    /// Looks at an instance.
    #[inline]
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
        other.kept.iter().for_each(|&instance| self.add(instance));
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
            };
            let mut all: Vec<LongInstance> = durations.iter().enumerate().map(instance).collect();
            let (mut first, mut second) = (Longest::default(), Longest::default());
            for (n, &instance) in all.iter().enumerate() {
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

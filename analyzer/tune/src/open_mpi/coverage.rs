//! Which numbers are taken already.

use std::collections::BTreeMap;

/// Ranges of numbers: the first to the last of each, apart from one another.
#[derive(Debug, Clone, Default)]
pub(super) struct Coverage(BTreeMap<u64, u64>);

impl Coverage {
    /// Whether all numbers from the first to the last are in it.
    pub(super) fn has(&self, (from, to): (u64, u64)) -> bool {
        let before = self.0.range(..=from).next_back();
        before.is_some_and(|(_, &last)| to <= last)
    }

    /// Adds the numbers from the first to the last.
    pub(super) fn add(&mut self, (mut from, mut to): (u64, u64)) {
        // From the end, those that begin before or right behind the new one.
        while let Some((&first, &last)) = self.0.range(..=to.saturating_add(1)).next_back() {
            if last.saturating_add(1) < from {
                break;
            }
            self.0.remove(&first);
            (from, to) = (from.min(first), to.max(last));
        }
        self.0.insert(from, to);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_has_what_was_added(
            added in prop::collection::vec((0..40u64, 0..10u64), 0..12),
            asked in (0..40u64, 0..10u64),
        ) {
            let mut coverage = Coverage::default();
            for (from, length) in &added {
                coverage.add((*from, from + length));
            }
            let is_in = |n: u64| added.iter().any(|(from, length)| (*from..=from + length).contains(&n));
            let range = (asked.0, asked.0 + asked.1);
            prop_assert_eq!(coverage.has(range), (range.0..=range.1).all(is_in));
        }
    }

    #[test]
    fn the_ends_of_all_numbers_are_numbers() {
        let mut coverage = Coverage::default();
        coverage.add((5, u64::MAX));
        coverage.add((0, 4));
        assert!(coverage.has((0, u64::MAX)));
    }
}

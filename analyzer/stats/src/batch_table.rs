//! Sums of several quantities of consecutive instances, in batches that they have in common.
//!
//! The batches are those of [`Batches`](crate::batches::Batches): ranges of positions of equal width, a
//! power of two, the smallest at which there are few enough of them. So parts that were added up in
//! any order merge to the same table.

use serde::{Deserialize, Serialize};

use crate::batches::Sum;

/// Most batches that are retained.
const MAX_BATCHES: usize = 64;

/// Sums by batch and quantity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchTable {
    /// Width of a batch: 2^`shift` positions.
    shift: u32,
    /// Ascending by range.
    rows: Vec<Row>,
}

/// The sums of one batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    /// First position divided by the width.
    range: u64,
    /// By quantity.
    sums: Vec<Sum>,
}

impl BatchTable {
    /// Adds the sums of the instance at a position, one for each quantity, always in the same order.
    pub fn add(&mut self, position: u64, sums: &[Sum]) {
        self.add_row(position >> self.shift, sums);
        self.narrow(MAX_BATCHES);
    }

    /// Adds another part of the instances.
    pub fn merge(&mut self, other: &Self) {
        self.widen(other.shift.saturating_sub(self.shift));
        let steps = self.shift - other.shift;
        for row in &other.rows {
            self.add_row(row.range >> steps, &row.sums);
        }
        self.narrow(MAX_BATCHES);
    }

    /// This table in at most so many batches, each merged from whole ones.
    #[must_use]
    pub fn at_most(&self, most: usize) -> Self {
        let mut fewer = self.clone();
        fewer.narrow(most.max(1));
        fewer
    }

    /// The sums of a quantity, batch by batch.
    pub fn column(&self, quantity: usize) -> impl Iterator<Item = Sum> {
        let sums = self.rows.iter().map(move |row| row.sums.get(quantity));
        sums.map(|sum| sum.copied().unwrap_or_default())
    }

    fn add_row(&mut self, range: u64, sums: &[Sum]) {
        // Most instances arrive in the order of their positions.
        let at = match self.rows.last() {
            Some(last) if last.range == range => Ok(self.rows.len() - 1),
            _ => self.rows.binary_search_by_key(&range, |row| row.range),
        };
        match at {
            Ok(at) => self.rows[at].add(sums),
            Err(at) => {
                let sums = sums.to_vec();
                self.rows.insert(at, Row { range, sums });
            }
        }
    }

    /// Doubles the width until there are at most `most` batches.
    fn narrow(&mut self, most: usize) {
        while self.rows.len() > most {
            self.widen(1);
        }
    }

    /// Doubles the width `steps` times.
    fn widen(&mut self, steps: u32) {
        if steps == 0 {
            return;
        }
        self.shift += steps;
        for row in &mut self.rows {
            row.range >>= steps;
        }
        self.rows.dedup_by(|next, row| {
            let is_same = next.range == row.range;
            if is_same {
                row.add(&next.sums);
            }
            is_same
        });
    }
}

impl Row {
    fn add(&mut self, sums: &[Sum]) {
        if self.sums.len() < sums.len() {
            self.sums.resize(sums.len(), Sum::default());
        }
        for (own, other) in self.sums.iter_mut().zip(sums) {
            own.add(other.n, other.total);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::batches::{Batches, InstanceSums};

    fn sum(total: u64) -> Sum {
        Sum {
            n: 1,
            total: total.into(),
        }
    }

    fn of(positions: impl IntoIterator<Item = u64>) -> BatchTable {
        let mut table = BatchTable::default();
        for position in positions {
            table.add(position, &[sum(position % 1000), sum(7), Sum::default()]);
        }
        table
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_same_table_in_any_order(
            positions in prop::collection::vec(0u64..100_000, 1..500),
            parts in 1usize..5,
            backwards: bool,
        ) {
            let whole = of(positions.iter().copied());
            let mut merged = BatchTable::default();
            for part in 0..parts {
                let part = if backwards { parts - 1 - part } else { part };
                merged.merge(&of(positions.iter().copied().skip(part).step_by(parts)));
            }
            prop_assert_eq!(&merged, &whole);
            prop_assert!(whole.rows.len() <= MAX_BATCHES);
        }

        #[test]
        fn a_column_has_the_batches_of_an_operation(
            positions in prop::collection::vec(0u64..1_000_000, 1..300),
        ) {
            let mut batches = Batches::default();
            for &position in &positions {
                let duration = (position % 1000) as i64;
                batches.add(position, &InstanceSums { duration, ..InstanceSums::default() });
            }
            let expected: Vec<Sum> = batches.at_most(32).iter().map(|batch| batch.duration).collect();
            let table = of(positions).at_most(32);
            prop_assert_eq!(table.column(0).collect::<Vec<_>>(), expected);
            let totals: i128 = table.column(1).map(|sum| sum.total).sum();
            prop_assert_eq!(totals, 7 * table.column(1).map(|sum| i128::from(sum.n)).sum::<i128>());
            prop_assert!(table.column(2).all(|sum| sum == Sum::default()));
            prop_assert!(table.column(3).all(|sum| sum == Sum::default()));
        }
    }
}

//! A table of samples of like instances, a row for each, added up column by column.
//!
//! The sums of a graph are larger than the nearest caches, and each instance has one sample for
//! each of them. In a row the samples are contiguous; after some rows, the sums of one quantity at
//! a time are updated for all of them.
//!
//! It pays: 1,564 instructions a message, 2,067 without (scripts/ir-guard-analyze.sh at 75823dd, 64 ranks).

use crate::measure::inside::{Quantity, Samples};

/// Instances whose samples are of the same quantities, in the same order.
#[derive(Debug)]
pub(crate) struct Rows {
    quantities: Vec<Quantity>,
    /// Row after row; beyond `n_rows` are leftovers of drained rows.
    samples: Vec<i32>,
    n_rows: usize,
    /// Rows after which they are added up.
    most_rows: usize,
}

/// Columns that are looked at together: as many as stand in one line of the cache.
const COLUMNS: usize = 16;
/// Samples that are kept, about, and the limits of the rows that these make.
const SAMPLES: usize = 1 << 20;
const LEAST_ROWS: usize = 16;
const MOST_ROWS: usize = 512;
/// Rows whose columns are passed on together: these fit into the first-level cache.
const TOGETHER: usize = 256;

impl Rows {
    /// For instances whose samples are of these quantities.
    pub(crate) fn new(quantities: Vec<Quantity>) -> Self {
        let most_rows = SAMPLES / quantities.len().max(1);
        Self {
            quantities,
            samples: Vec::new(),
            n_rows: 0,
            most_rows: most_rows.clamp(LEAST_ROWS, MOST_ROWS),
        }
    }

    /// Number of instances.
    pub(crate) fn len(&self) -> usize {
        self.n_rows
    }

    pub(crate) fn are_full(&self) -> bool {
        self.n_rows >= self.most_rows
    }

    /// From row to row: an odd number of lines of the cache, so that a column does not fall into
    /// one set of it.
    fn stride(&self) -> usize {
        (self.quantities.len().div_ceil(COLUMNS) | 1) * COLUMNS
    }

    /// Adds an instance, whose samples `fill` writes to a row; returns whether all samples fit in
    /// their cells.
    #[inline]
    pub(crate) fn add(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> bool {
        let (begin, n) = (self.n_rows * self.stride(), self.quantities.len());
        if self.samples.len() < begin + self.stride() {
            self.samples.resize(begin + self.stride(), 0);
        }
        let mut row = Row {
            cells: &mut self.samples[begin..begin + n],
            ..Row::default()
        };
        fill(&mut row);
        let is_added = row.n == n && row.lost == 0;
        self.n_rows += usize::from(is_added);
        is_added
    }

    /// Passes all samples to `add`, quantity by quantity, in one slice or several, and empties the
    /// table.
    pub(crate) fn drain(&mut self, mut add: impl FnMut(Quantity, &[i32])) {
        let stride = self.stride();
        let samples = &self.samples[..std::mem::take(&mut self.n_rows) * stride];
        let mut columns = [[0; TOGETHER]; COLUMNS];
        for (first, quantities) in (0..).step_by(COLUMNS).zip(self.quantities.chunks(COLUMNS)) {
            for rows in samples.chunks(stride * TOGETHER) {
                for (nth, row) in rows.chunks_exact(stride).enumerate() {
                    for (column, &sample) in columns.iter_mut().zip(&row[first..first + COLUMNS]) {
                        column[nth] = sample;
                    }
                }
                let n_rows = rows.len() / stride;
                for (&quantity, column) in quantities.iter().zip(&columns) {
                    add(quantity, &column[..n_rows]);
                }
            }
        }
    }
}

/// A row while it is filled.
#[derive(Default)]
pub(crate) struct Row<'r> {
    cells: &'r mut [i32],
    /// Samples that were to be added.
    n: usize,
    /// Bits that some had and a cell has not.
    lost: i64,
}

impl Samples for Row<'_> {
    /// The sample of the next quantity, which this is.
    #[inline]
    fn add(&mut self, _: Quantity, sample: i64) {
        let short = sample as i32;
        if let Some(cell) = self.cells.get_mut(self.n) {
            *cell = short;
        }
        self.n += 1;
        self.lost |= sample ^ i64::from(short);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantities(n: u32) -> Vec<Quantity> {
        (0..n).map(|node| Quantity::Path { node }).collect()
    }

    fn add(rows: &mut Rows, samples: &[i64]) -> bool {
        rows.add(|row| {
            let way = Quantity::Path { node: 0 };
            samples.iter().for_each(|&sample| row.add(way, sample));
        })
    }

    #[test]
    fn rows_come_back_as_columns_and_are_forgotten_then() {
        for (n, n_rows) in [(0, 40), (1, 512), (15, 40), (16, 256), (17, 300), (50, 40)] {
            let quantities = quantities(n);
            let mut rows = Rows::new(quantities.clone());
            for _ in 0..2 {
                for at in 0..n_rows {
                    let samples: Vec<i64> = (0..i64::from(n)).map(|q| 1000 * at - q).collect();
                    assert!(add(&mut rows, &samples));
                }
                let mut found: Vec<(Quantity, Vec<i32>)> = Vec::new();
                rows.drain(|quantity, samples| {
                    match found.iter_mut().find(|(known, _)| *known == quantity) {
                        Some((_, known)) => known.extend(samples),
                        None => found.push((quantity, samples.to_vec())),
                    }
                });
                let column = |q: i64| (0..n_rows).map(|at| (1000 * at - q) as i32).collect();
                let expected = quantities.iter().copied().zip((0..).map(column));
                assert_eq!(found, expected.collect::<Vec<_>>());
                assert_eq!(rows.len(), 0);
            }
        }
    }

    #[test]
    fn what_does_not_fit_in_a_row_is_refused_and_leaves_nothing() {
        let mut rows = Rows::new(quantities(2));
        assert!(add(&mut rows, &[i64::from(i32::MIN), i64::from(i32::MAX)]));
        assert!(!add(&mut rows, &[1, i64::from(i32::MAX) + 1]));
        assert!(!add(&mut rows, &[1]));
        assert!(!add(&mut rows, &[1, 2, 3]));
        assert_eq!(rows.len(), 1);
        let mut n = 0;
        rows.drain(|_, samples| n += samples.len());
        assert_eq!(n, 2);
    }

    #[test]
    fn rows_are_full_before_there_are_more_than_can_be_drained() {
        for n in [1, 5000, 1 << 16] {
            let mut rows = Rows::new(quantities(n));
            let samples = vec![7; n as usize];
            while !rows.are_full() {
                assert!(add(&mut rows, &samples));
            }
            assert!((LEAST_ROWS..=MOST_ROWS).contains(&rows.len()));
            rows.drain(|_, _| {});
        }
    }
}

//! How often each process arrived (left) at each position.

use serde::{Deserialize, Serialize};

/// Most processes for which positions are counted one by one; beyond, in tenths of the order.
pub(crate) const MAX_POSITIONS: usize = 256;
/// Columns beyond [`MAX_POSITIONS`].
const DECILES: usize = 10;

/// Counts of process x position.
///
/// A list of places in the table, until the table takes less: most operations of a program with many communicators and
/// roots are met a few times.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Written", from = "Written")]
pub struct OrderCounts {
    n: usize,
    n_columns: usize,
    table: Vec<u32>,
    listed: Vec<u32>,
}

/// The written form, which depends on what was counted alone.
#[derive(Serialize, Deserialize)]
struct Written {
    n: usize,
    /// Place in the table and count, by place, where there are some.
    counts: Vec<(u32, u32)>,
}

impl From<OrderCounts> for Written {
    fn from(of: OrderCounts) -> Self {
        let table = (0..).zip(of.whole_table());
        Self {
            n: of.n,
            counts: table.filter(|&(_, n)| n > 0).collect(),
        }
    }
}

impl From<Written> for OrderCounts {
    fn from(written: Written) -> Self {
        let mut own = Self::new(written.n);
        let n_met: u64 = written.counts.iter().map(|&(_, n)| u64::from(n)).sum();
        if n_met > own.most_listed() as u64 {
            own.table = own.empty_table();
        }
        for (place, n) in written.counts {
            match own.table.get_mut(place as usize) {
                Some(count) => *count = n,
                None => own.listed.extend(std::iter::repeat_n(place, n as usize)),
            }
        }
        own
    }
}

impl OrderCounts {
    /// No counts, of `n` processes.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self {
            n,
            n_columns: if n > MAX_POSITIONS { DECILES } else { n },
            table: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// Whether the columns are positions, not tenths.
    #[must_use]
    pub fn is_by_position(&self) -> bool {
        self.n <= MAX_POSITIONS
    }

    /// Counts processes in an order: at each position a slot, or `NOBODY`, and `rows` the process of each
    /// slot; `None`: the slots are the processes.
    pub fn add_all(&mut self, order: &[u32], rows: Option<&[usize]>) {
        // `NOBODY` has no row.
        match rows {
            None => self.add_rows(order, |slot| slot as usize),
            Some(rows) => self.add_rows(order, |slot| {
                rows.get(slot as usize).copied().unwrap_or(usize::MAX)
            }),
        }
    }

    /// Counts processes in an order: at each position a slot, whose process is not below `n` where it is nobody.
    fn add_rows(&mut self, order: &[u32], row_of: impl Fn(u32) -> usize) {
        self.make_room(order.len());
        let (n, n_columns) = (self.n, self.n_columns);
        let rows = order.iter().map(|&slot| row_of(slot));
        if !self.is_by_position() {
            let mut tenth = 0;
            self.add_places(rows.enumerate().map(|(position, row)| {
                // Instead of a division for each.
                while tenth < DECILES - 1 && (tenth + 1) * order.len() <= position * DECILES {
                    tenth += 1;
                }
                (tenth, row)
            }));
        } else if self.table.is_empty() || order.len() > n_columns {
            let columns = (0..).map(|position: usize| position.min(n_columns.saturating_sub(1)));
            self.add_places(columns.zip(rows));
        } else {
            for (counts, row) in self.table.chunks_exact_mut(n).zip(rows) {
                if let Some(count) = counts.get_mut(row) {
                    *count += 1;
                }
            }
        }
    }

    /// Counts columns and rows; those without a row are left out.
    fn add_places(&mut self, places: impl Iterator<Item = (usize, usize)>) {
        let n = self.n;
        let known = places.filter(|&(_, row)| row < n);
        let places = known.map(|(column, row)| column * n + row);
        if self.table.is_empty() {
            // A table has fewer places than a u32 has values.
            self.listed.extend(places.map(|place| place as u32));
        } else {
            count_places(&mut self.table, places);
        }
    }

    /// Adds the counts of another part, of the same processes.
    pub fn merge(&mut self, other: &Self) {
        if !other.table.is_empty() {
            self.make_table();
            for (n, more) in self.table.iter_mut().zip(&other.table) {
                *n = n.saturating_add(*more);
            }
        }
        self.make_room(other.listed.len());
        if self.table.is_empty() {
            self.listed.extend_from_slice(&other.listed);
        } else {
            count_listed(&mut self.table, &other.listed);
        }
    }

    /// Makes the table, if the list with `n` more would take more.
    fn make_room(&mut self, n: usize) {
        if self.table.is_empty() && self.listed.len() + n > self.most_listed() {
            self.make_table();
        }
    }

    /// Counts what is listed in the table, from now on.
    fn make_table(&mut self) {
        if self.table.is_empty() {
            self.table = self.whole_table();
            self.listed = Vec::new();
        }
    }

    /// Most places that are listed: as many as a table takes.
    fn most_listed(&self) -> usize {
        self.n * self.n_columns
    }

    fn empty_table(&self) -> Vec<u32> {
        vec![0; self.n * self.n_columns]
    }

    /// `[process][position]`, or `[process][tenth]`.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<u32>> {
        if self.n == 0 {
            return Vec::new();
        }
        let table = self.whole_table();
        let row = |row: usize| table[row..].iter().step_by(self.n).copied().collect();
        (0..self.n).map(row).collect()
    }

    /// The table with all that was counted.
    fn whole_table(&self) -> Vec<u32> {
        let mut table = if self.table.is_empty() {
            self.empty_table()
        } else {
            self.table.clone()
        };
        count_listed(&mut table, &self.listed);
        table
    }
}

fn count_places(table: &mut [u32], places: impl Iterator<Item = usize>) {
    for place in places {
        // Never too many: the file of a process that made so many calls would have 128 GiB.
        table[place] += 1;
    }
}

fn count_listed(table: &mut [u32], listed: &[u32]) {
    count_places(table, listed.iter().map(|&place| place as usize));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::order::NOBODY;

    /// Counts one process after the other: (process, position).
    fn add_each(counts: &mut OrderCounts, met: &[(usize, usize)], n_present: usize) {
        for &(row, position) in met {
            let mut order = vec![NOBODY; n_present];
            order[position] = 0;
            counts.add_all(&order, Some(&[row]));
        }
    }

    #[test]
    fn counts_are_the_same_before_and_after_the_list_becomes_a_table() {
        let mut counts = OrderCounts::new(3);
        for n in 1..20 {
            add_each(&mut counts, &[(n % 3, (n * n) % 3)], 3);
            let mut expected = vec![vec![0; 3]; 3];
            (1..=n).for_each(|m| expected[m % 3][(m * m) % 3] += 1);
            assert_eq!(counts.rows(), expected);
        }
    }

    #[test]
    fn parts_are_added_up_whatever_form_each_has() {
        let drawn: Vec<(usize, usize)> = (0..40).map(|n| (n % 3, n * n % 3)).collect();
        let of = |drawn: &[(usize, usize)]| {
            let mut counts = OrderCounts::new(3);
            add_each(&mut counts, drawn, 3);
            counts
        };
        for at in [0, 2, 20, 38, 40] {
            let mut merged = of(&drawn[..at]);
            merged.merge(&of(&drawn[at..]));
            assert_eq!(merged.rows(), of(&drawn).rows());
        }
    }

    #[test]
    fn beyond_256_processes_the_columns_are_tenths() {
        let mut counts = OrderCounts::new(300);
        add_each(&mut counts, &[(7, 299), (7, 30)], 300);
        let mut order = [NOBODY; 300];
        (order[29], order[60]) = (0, 1);
        counts.add_all(&order, Some(&[7, 8]));
        assert_eq!(counts.rows()[7], [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(counts.rows()[8], [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}

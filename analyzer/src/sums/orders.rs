//! How often each process arrived (left) at each position.

use serde::{Deserialize, Serialize};

/// Most processes for which positions are counted one by one; beyond, in tenths of the order.
pub(crate) const MAX_POSITIONS: usize = 256;
/// Columns beyond [`MAX_POSITIONS`].
const DECILES: usize = 10;
/// Places that wait to be counted, at most (but for those of one instance).
const MAX_PENDING: usize = 4096;

/// Counts of process x position.
///
/// Kept as the list of what was met until the table takes less: most operations of a program
/// with many communicators and roots are met a few times.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Written", from = "Written")]
pub struct OrderCounts {
    n: usize,
    n_columns: usize,
    met: Vec<(u32, u32)>,
    table: Vec<u32>,
    /// Places in the table that are still to be counted: some thousand at a time, so that one
    /// table at a time stays in the nearest cache.
    pending: Vec<u32>,
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
        let n_columns = own.n_columns as u32;
        let n_met: u64 = written.counts.iter().map(|&(_, n)| u64::from(n)).sum();
        if own.is_table_of(n_met) {
            own.become_table();
        }
        for (place, n) in written.counts {
            if own.table.is_empty() {
                let met = (place / n_columns, place % n_columns);
                own.met.extend(std::iter::repeat_n(met, n as usize));
            } else {
                own.table[place as usize] = n;
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
            met: Vec::new(),
            table: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Whether the columns are positions, not tenths.
    #[must_use]
    pub fn is_by_position(&self) -> bool {
        self.n <= MAX_POSITIONS
    }

    /// Counts processes at ascending positions among `n_present`: slot and position, and `rows`
    /// the process of each slot.
    pub fn add_all(&mut self, order: &[(usize, usize)], rows: &[usize], n_present: usize) {
        let is_by_position = self.is_by_position();
        let n_columns = self.n_columns;
        let mut tenth = 0;
        let places = order.iter().map(|&(slot, position)| {
            let column = if is_by_position {
                position.min(n_columns - 1)
            } else {
                // Instead of a division for each.
                while tenth < DECILES - 1 && (tenth + 1) * n_present <= position * DECILES {
                    tenth += 1;
                }
                tenth
            };
            (rows[slot], column)
        });
        if self.table.is_empty() {
            places.for_each(|(row, column)| self.count(row as u32, column as u32));
            return;
        }
        if self.pending.len() + order.len() > MAX_PENDING {
            self.count_pending();
        }
        // A table has fewer places than a u32 has values.
        self.pending
            .extend(places.map(|(row, column)| (row * n_columns + column) as u32));
    }

    fn count_pending(&mut self) {
        count_places(&mut self.table, &self.pending);
        self.pending.clear();
    }

    #[inline]
    fn count(&mut self, row: u32, column: u32) {
        if self.table.is_empty() {
            self.met.push((row, column));
            if self.is_table_of(self.met.len() as u64) {
                self.become_table();
            }
        } else {
            let place = row as usize * self.n_columns + column as usize;
            count_places(&mut self.table, &[place as u32]);
        }
    }

    /// Adds the counts of another part, of the same processes.
    pub fn merge(&mut self, other: &Self) {
        if other.table.is_empty() {
            for &(row, column) in &other.met {
                self.count(row, column);
            }
            return;
        }
        if self.table.is_empty() {
            self.become_table();
        }
        for (n, more) in self.table.iter_mut().zip(&other.table) {
            *n = n.saturating_add(*more);
        }
        count_places(&mut self.table, &other.pending);
    }

    /// Whether a table takes less memory than a list of `n_met`.
    fn is_table_of(&self, n_met: u64) -> bool {
        n_met * 2 > (self.n * self.n_columns) as u64
    }

    fn become_table(&mut self) {
        self.table = self.fill();
        self.met = Vec::new();
    }

    /// `[process][position]`, or `[process][tenth]`.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<u32>> {
        if self.n == 0 {
            return Vec::new();
        }
        let table = self.whole_table();
        table.chunks(self.n_columns).map(<[u32]>::to_vec).collect()
    }

    /// The table with all that was counted.
    fn whole_table(&self) -> Vec<u32> {
        let mut table = if self.table.is_empty() {
            self.fill()
        } else {
            self.table.clone()
        };
        count_places(&mut table, &self.pending);
        table
    }

    fn fill(&self) -> Vec<u32> {
        let mut table = vec![0; self.n * self.n_columns];
        for &(row, column) in &self.met {
            table[row as usize * self.n_columns + column as usize] += 1;
        }
        table
    }
}

fn count_places(table: &mut [u32], places: &[u32]) {
    for &place in places {
        let n = &mut table[place as usize];
        *n = n.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts one process after the other: (process, position).
    fn add_each(counts: &mut OrderCounts, met: &[(usize, usize)], n_present: usize) {
        for &(row, position) in met {
            counts.add_all(&[(0, position)], &[row], n_present);
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
        counts.add_all(&[(0, 29), (1, 60)], &[7, 8], 300);
        assert_eq!(counts.rows()[7], [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(counts.rows()[8], [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}

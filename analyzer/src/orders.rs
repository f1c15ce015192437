//! How often each process came (left) at each position, and how much of that is known.

/// Positions are told one by one up to so many processes, beyond in tenths of the order.
pub const MAX_POSITIONS: usize = 256;
/// Columns beyond [`MAX_POSITIONS`].
const DECILES: usize = 10;

/// Counts of process x position.
///
/// Kept as the list of what was met until the table takes less: most operations of a program
/// with many communicators and roots are met a few times.
#[derive(Debug, Clone)]
pub struct OrderCounts {
    n: usize,
    n_columns: usize,
    met: Vec<(u32, u32)>,
    table: Vec<u32>,
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
        }
    }

    /// Whether the columns are positions, not tenths.
    #[must_use]
    pub fn is_by_position(&self) -> bool {
        self.n <= MAX_POSITIONS
    }

    /// Counts process `row` at `position` among `n_present`.
    #[inline]
    pub fn add(&mut self, row: usize, position: usize, n_present: usize) {
        let column = match self.is_by_position() {
            true => position.min(self.n_columns - 1),
            false => (position * DECILES / n_present.max(1)).min(DECILES - 1),
        };
        self.count(row as u32, column as u32);
    }

    #[inline]
    fn count(&mut self, row: u32, column: u32) {
        if self.table.is_empty() {
            self.met.push((row, column));
            if self.met.len() * 2 > self.n * self.n_columns {
                self.become_table();
            }
        } else {
            let n = &mut self.table[row as usize * self.n_columns + column as usize];
            *n = n.saturating_add(1);
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
        let filled;
        let table = match self.table.is_empty() {
            true => {
                filled = self.fill();
                &filled
            }
            false => &self.table,
        };
        table.chunks(self.n_columns).map(<[u32]>::to_vec).collect()
    }

    fn fill(&self) -> Vec<u32> {
        let mut table = vec![0; self.n * self.n_columns];
        for &(row, column) in &self.met {
            table[row as usize * self.n_columns + column as usize] += 1;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_same_before_and_after_the_list_becomes_a_table() {
        let mut counts = OrderCounts::new(3);
        for n in 1..20 {
            counts.add(n % 3, (n * n) % 3, 3);
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
            drawn.iter().for_each(|&(row, at)| counts.add(row, at, 3));
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
        counts.add(7, 299, 300);
        counts.add(7, 30, 300);
        counts.add(7, 29, 300);
        assert_eq!(counts.rows()[7], [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}

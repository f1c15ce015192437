//! Integers of the truth in figures.

use serde::{Deserialize, Serialize};

/// How much is kept for `truth.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TruthDetail {
    /// Medians too: all values are kept in memory.
    Full,
    /// No medians: memory does not grow with the number of calls.
    Counts,
}

/// n, sum, ends and median of integers, in ns.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// How many.
    pub n: u64,
    /// Their sum.
    pub total: i128,
    /// The least.
    pub min: i64,
    /// The greatest.
    pub max: i64,
    /// The value in the middle, or the two there; unknown in a scenario that only counts.
    pub median: Option<[i64; 2]>,
    #[serde(skip)]
    values: Vec<i64>,
}

impl Summary {
    pub(crate) fn add(&mut self, value: i64, detail: TruthDetail) {
        (self.min, self.max) = match self.n {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.n += 1;
        self.total += i128::from(value);
        if detail == TruthDetail::Full {
            self.values.push(value);
        }
    }

    pub(crate) fn finish(&mut self) {
        self.values.sort_unstable();
        if let Some(last) = self.values.len().checked_sub(1) {
            self.median = Some([self.values[last / 2], self.values[last.div_ceil(2)]]);
        }
        self.values = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_value_or_the_two_values_in_the_middle() {
        let mut summary = Summary::default();
        for value in [5, -1, 9] {
            summary.add(value, TruthDetail::Full);
        }
        summary.finish();
        assert_eq!(summary.median, Some([5, 5]));
        assert_eq!(
            (summary.n, summary.total, summary.min, summary.max),
            (3, 13, -1, 9)
        );
        let mut summary = Summary::default();
        for value in [4, 1, 2, 8] {
            summary.add(value, TruthDetail::Full);
        }
        summary.finish();
        assert_eq!(summary.median, Some([2, 4]));
    }
}

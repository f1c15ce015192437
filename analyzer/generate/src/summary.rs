//! Summary figures of integers in the truth.

use serde::{Deserialize, Serialize, Serializer};

/// Level of detail of `truth.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TruthDetail {
    /// With medians: all values are kept in memory.
    Full,
    /// Without medians: memory does not grow with the number of calls.
    Counts,
}

/// n, sum, minimum, maximum and median of integers, ns.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Number of values.
    pub n: u64,
    /// Sum of the values.
    pub total: i128,
    /// Minimum.
    pub min: i64,
    /// Maximum.
    pub max: i64,
    /// Written as the middle value, or the two middle values; none in a scenario with counts only.
    #[serde(rename = "median", serialize_with = "median")]
    #[cfg_attr(test, schemars(with = "Option<[i64; 2]>"))]
    values: Vec<i64>,
}

/// The middle value twice, or the two middle values; `None` without values.
fn median_of(values: &[i64]) -> Option<[i64; 2]> {
    let mut values = values.to_vec();
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some([values[last / 2], values[last.div_ceil(2)]])
}

fn median<S: Serializer>(values: &[i64], serializer: S) -> Result<S::Ok, S::Error> {
    median_of(values).serialize(serializer)
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
        assert_eq!(median_of(&summary.values), Some([5, 5]));
        assert_eq!(
            (summary.n, summary.total, summary.min, summary.max),
            (3, 13, -1, 9)
        );
        let mut summary = Summary::default();
        for value in [4, 1, 2, 8] {
            summary.add(value, TruthDetail::Full);
        }
        assert_eq!(median_of(&summary.values), Some([2, 4]));
    }
}

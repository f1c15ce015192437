//! Heat map of ranks and another quantity: the base of [`OrderMap`](crate::OrderMap) and
//! [`WaitsOverTime`](crate::WaitsOverTime).
//!
//! The shade of a cell is one of a few steps of one hue, distinguished by lightness alone; the
//! legend gives their values, and so does a number in each cell that has room. Unknown values are
//! hatched, never shaded. Up to [`MAX_ROWS`] ranks have a row each; more share rows, see
//! [`bands`](band::bands).

pub(crate) mod band;
mod draw;

use crate::Text;
use crate::frame::Head;

/// The largest number of rows for ranks.
pub(crate) const MAX_ROWS: usize = 64;
/// Number of shades.
pub(crate) const N_STEPS: usize = 7;

/// A picture, ready to be drawn.
#[derive(Debug)]
pub(crate) struct HeatMap {
    /// Title and the lines under it.
    pub(crate) head: Head,
    /// The title of `head`, not cut.
    pub(crate) finding: Text,
    /// The picture described in words.
    pub(crate) description: String,
    /// Rows, each with a cell per column.
    pub(crate) rows: Vec<Row>,
    pub(crate) n_columns: usize,
    pub(crate) axis: Axis,
    /// Meaning of the shades, the lightest first.
    pub(crate) steps: [String; N_STEPS],
    /// Meaning of an empty cell.
    pub(crate) blank: &'static str,
    /// Meaning of hatching.
    pub(crate) hatching: &'static str,
    /// Meaning of the bars beside the rows, in two lines.
    pub(crate) bars: [&'static str; 2],
    /// How shorter columns are shown when the page zooms, if the rows have them.
    pub(crate) finer: Option<Finer>,
}

/// How the page shows columns that are shorter than those that are drawn: their values are in the rows.
#[derive(Debug)]
pub(crate) struct Finer {
    /// How many of them make one column.
    pub(crate) n_parts: usize,
    /// The value that the highest number stands for.
    pub(crate) highest: u64,
    /// Upper limits of the shades.
    pub(crate) limits: [u64; N_STEPS],
    /// Length of a drawn column on the axis, ns.
    pub(crate) column_ns: u64,
    /// How many drawn columns would come before the first one.
    pub(crate) n_before: usize,
}

/// Numbers of known values go from 0 to this; those of values that are known in part follow.
const HIGHEST: u64 = 2_000;
const NUMBER_OF_UNKNOWN: u64 = 4_094;
const NUMBER_OF_BLANK: u64 = 4_095;
/// Digits of these numbers, which have two each.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Finer {
    /// The values of a row as the page reads them: two digits of base 64 for each.
    pub(crate) fn encoded(&self, values: impl Iterator<Item = Value>) -> String {
        let scaled = |value: u64| {
            let scaled = u128::from(value) * u128::from(HIGHEST) / u128::from(self.highest.max(1));
            u64::try_from(scaled).unwrap_or(HIGHEST).min(HIGHEST)
        };
        let mut text = String::new();
        for value in values {
            let number = match value {
                Value::Known(value) => scaled(value),
                Value::Least(value) => HIGHEST + 1 + scaled(value),
                Value::Unknown => NUMBER_OF_UNKNOWN,
                Value::Blank => NUMBER_OF_BLANK,
            };
            for digit in [number / 64, number % 64] {
                text.push(char::from(DIGITS[digit as usize % DIGITS.len()]));
            }
        }
        text
    }
}

/// The value of a part of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    Known(u64),
    /// Known in part: it is at least this.
    Least(u64),
    Unknown,
    Blank,
}

impl Value {
    /// What is known of it.
    pub(crate) fn known(self) -> Option<u64> {
        match self {
            Value::Known(value) | Value::Least(value) => Some(value),
            Value::Unknown | Value::Blank => None,
        }
    }
}

/// The axis below the columns.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// Positions of ticks, in columns from the left border of the first, with their labels.
    pub(crate) ticks: Vec<(f64, String)>,
    /// The numbers at both ends, if the axis is linear: the page can then zoom into it.
    pub(crate) ends: Option<(f64, f64)>,
}

/// The row of one rank or of a band of ranks.
#[derive(Debug)]
pub(crate) struct Row {
    /// Name of the row: `rank 3`.
    pub(crate) name: String,
    /// What neighbouring rows have in common: the host.
    pub(crate) group: Text,
    /// Whether the row is separate from the others, above them.
    pub(crate) is_apart: bool,
    pub(crate) tooltip: String,
    /// Its ranks, for scripts: `16-31`.
    pub(crate) ranks: String,
    pub(crate) cells: Vec<Cell>,
    /// The values of shorter columns, see [`Finer::encoded`].
    pub(crate) finer: Option<String>,
    pub(crate) bar: Bar,
}

#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) shade: Shade,
    /// The number in the cell, if there is room.
    pub(crate) number: String,
    pub(crate) tooltip: String,
    /// Number of the instance of the page that it leads to.
    pub(crate) leads_to: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shade {
    Blank,
    /// A known value, by its step, below [`N_STEPS`].
    Step(usize),
    /// A value that is known in part, by the step that it is at least in; it is shaded and hatched.
    Least(usize),
    Unknown,
}

/// A bar beside a row.
#[derive(Debug)]
pub(crate) struct Bar {
    /// Length, from 0 to 1; `None` if it is not known.
    pub(crate) length: Option<f64>,
    pub(crate) number: String,
    /// Whether the bar measures something unknown, and is hatched.
    pub(crate) is_hatched: bool,
}

impl Shade {
    /// The first step whose upper limit is at least `value`; the last step for larger values.
    pub(crate) fn step(value: u64, limits: &[u64; N_STEPS]) -> Shade {
        let idx = limits.iter().position(|&limit| value <= limit);
        Shade::Step(idx.unwrap_or(N_STEPS - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_shorter_columns_have_two_digits_each() {
        let finer = Finer {
            n_parts: 4,
            highest: 500,
            limits: [0; N_STEPS],
            column_ns: 1_000,
            n_before: 0,
        };
        let values = [
            Value::Known(0),
            Value::Known(500),
            Value::Known(16),
            Value::Least(500),
            Value::Unknown,
            Value::Blank,
        ];
        // 0, 2000, 64, 4001, 4094, 4095
        assert_eq!(finer.encoded(values.into_iter()), "AAfQBA-h_-__");
    }
}

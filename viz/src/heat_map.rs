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
}

/// The axis below the columns.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// Positions of ticks, in columns from the left border of the first, with their labels.
    pub(crate) ticks: Vec<(f64, String)>,
    /// The number at the right end, if the axis is linear from 0: the page can then zoom into it.
    pub(crate) end: Option<f64>,
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

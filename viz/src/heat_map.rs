//! Ranks x something, as shaded cells: the picture behind [`OrderMap`](crate::OrderMap) and
//! [`WaitsOverTime`](crate::WaitsOverTime).
//!
//! A cell's shade is one of a few steps of one hue, whose lightness alone tells them apart; the
//! steps stand in the legend with numbers, and so does a number in each cell that has room. What
//! is not known is hatched, never a step. Up to [`MAX_ROWS`] ranks have a row each; more share
//! rows, in [`bands`](band::bands).

pub(crate) mod band;
mod draw;

use crate::Text;
use crate::frame::Head;

/// The largest number of rows that stand for ranks.
pub(crate) const MAX_ROWS: usize = 64;
/// Number of steps that a cell can be shaded in.
pub(crate) const N_STEPS: usize = 7;

/// A picture, ready to be drawn.
#[derive(Debug)]
pub(crate) struct HeatMap {
    /// Title and the lines under it.
    pub(crate) head: Head,
    /// The same title, whole.
    pub(crate) finding: Text,
    /// The picture in words.
    pub(crate) description: String,
    /// Each with a cell for each column.
    pub(crate) rows: Vec<Row>,
    pub(crate) n_columns: usize,
    pub(crate) axis: Axis,
    /// What the steps mean, the lightest first.
    pub(crate) steps: [String; N_STEPS],
    /// What a cell without shade means.
    pub(crate) blank: &'static str,
    /// What hatching means.
    pub(crate) hatching: &'static str,
    /// What the bars beside the rows show, in two lines.
    pub(crate) bars: [&'static str; 2],
}

/// What stands below the columns.
#[derive(Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// Places, in columns from the left border of the first, with what is written there.
    pub(crate) ticks: Vec<(f64, String)>,
}

/// One rank, or a band of ranks.
#[derive(Debug)]
pub(crate) struct Row {
    /// Whose row: `rank 3`.
    pub(crate) name: String,
    /// What neighbouring rows have in common: the host.
    pub(crate) group: Text,
    /// Whether the row stands apart, above the others.
    pub(crate) is_apart: bool,
    pub(crate) tooltip: String,
    pub(crate) cells: Vec<Cell>,
    pub(crate) bar: Bar,
}

#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) shade: Shade,
    /// The number for the cell, where there is room.
    pub(crate) number: String,
    pub(crate) tooltip: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shade {
    Blank,
    /// Below [`N_STEPS`].
    Step(usize),
    Unknown,
}

/// A bar beside a row.
#[derive(Debug)]
pub(crate) struct Bar {
    /// Length, from 0 to 1; `None` where it is not known.
    pub(crate) length: Option<f64>,
    pub(crate) number: String,
    /// Whether the bar measures what is unknown, and is hatched.
    pub(crate) is_hatched: bool,
}

impl Shade {
    /// The step whose upper limit is the first to reach `value`, the last beyond all.
    pub(crate) fn step(value: u64, limits: &[u64; N_STEPS]) -> Shade {
        let idx = limits.iter().position(|&limit| value <= limit);
        Shade::Step(idx.unwrap_or(N_STEPS - 1))
    }
}

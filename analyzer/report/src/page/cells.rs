//! Cells of tables.

use collbench_text::quantity;
use collbench_viz::Cell;

/// The cell of a known value, else a dash.
pub(super) fn known<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell) -> Cell {
    value.map_or_else(|| Cell::words("-"), cell)
}

pub(super) fn key(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(super) fn count(n: u64) -> Cell {
    Cell::number(n.to_string(), key(n))
}

pub(super) fn duration(ns: i64) -> Cell {
    Cell::number(quantity::duration(ns), ns)
}

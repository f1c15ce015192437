//! Tables of the report.

use crate::Text;

/// Where the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The head of a column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its name, with the unit if all cells share one.
    pub name: Text,
    /// Where its text stands.
    pub align: Align,
}

/// A cell, with what it is sorted by.
#[derive(Debug, Clone)]
pub struct Cell {
    text: Text,
    key: Option<i64>,
}

impl Cell {
    /// A text that stands for a number: `163 ms` for 162,900,000. Cells of a column are sorted by
    /// it, so it has the same unit in all of them.
    pub fn number(text: impl Into<Text>, key: i64) -> Cell {
        Cell {
            text: text.into(),
            key: Some(key),
        }
    }

    /// A text that says why there is no number: last, however the column is sorted.
    pub fn words(text: impl Into<Text>) -> Cell {
        Cell {
            text: text.into(),
            key: None,
        }
    }
}

/// A table, whose rows have a cell for each column. The first column names the row. A column with
/// a number in any cell is sorted by numbers, others by their words.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table of `N` columns; the type sees to it that every row has as many cells.
    pub fn new<const N: usize>(
        columns: [Column; N],
        rows: impl IntoIterator<Item = [Cell; N]>,
    ) -> Table {
        Table {
            columns: columns.into(),
            rows: rows.into_iter().map(Vec::from).collect(),
        }
    }
}

/// A table with its place in the page.
pub(super) struct TableView<'a> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) caption: &'static str,
    pub(super) table: &'a Table,
    /// Where rows lead to: the row, and an id in the page.
    pub(super) links: Vec<(usize, String)>,
}

impl TableView<'_> {
    /// Longer tables are folded.
    const MAX_OPEN_ROWS: usize = 40;

    pub(super) fn is_empty(&self) -> bool {
        self.table.columns.is_empty()
    }

    pub(super) fn is_long(&self) -> bool {
        self.n_rows() > Self::MAX_OPEN_ROWS
    }

    pub(super) fn n_rows(&self) -> usize {
        self.table.rows.len()
    }

    /// The heads of the columns: class and name.
    pub(super) fn heads(&self) -> impl Iterator<Item = (&'static str, &Text)> {
        let columns = self.table.columns.iter();
        columns.map(|column| (column.align.class(), &column.name))
    }

    /// The rows: where each leads to, and its cells.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Option<&str>, Vec<CellView<'_>>)> {
        self.table.rows.iter().enumerate().map(|(idx, row)| {
            let link = self.links.iter().find(|(row, _)| *row == idx);
            let cells = self.table.columns.iter().zip(row);
            let cells = cells.map(|(column, cell)| CellView {
                class: column.align.class(),
                key: cell.key,
                text: &cell.text,
            });
            (link.map(|(_, id)| id.as_str()), cells.collect())
        })
    }
}

pub(super) struct CellView<'a> {
    pub(super) class: &'static str,
    pub(super) key: Option<i64>,
    pub(super) text: &'a Text,
}

impl Align {
    fn class(self) -> &'static str {
        match self {
            Align::Left => "words",
            Align::Right => "number",
        }
    }
}

//! Tables of the report.

use crate::Text;

/// Alignment of the text of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// The head of a column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name, with the unit if all cells share one.
    pub name: Text,
    /// Alignment of its cells.
    pub align: Align,
}

impl From<(&str, Align)> for Column {
    fn from((name, align): (&str, Align)) -> Self {
        Column {
            name: name.into(),
            align,
        }
    }
}

/// A cell with its sort key.
#[derive(Debug, Clone)]
pub struct Cell {
    text: Text,
    key: Option<i64>,
}

impl Cell {
    /// A number with its text: `163 ms` for 162,900,000. The cells of a column are sorted by `key`,
    /// so all keys must have the same unit.
    pub fn number(text: impl Into<Text>, key: i64) -> Cell {
        Cell {
            text: text.into(),
            key: Some(key),
        }
    }

    /// A text instead of a number; sorted last in either direction.
    pub fn words(text: impl Into<Text>) -> Cell {
        Cell {
            text: text.into(),
            key: None,
        }
    }
}

/// A table whose rows have a cell per column. The first column names the row. A column with a
/// number in any cell is sorted by numbers, other columns by their text.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    caption: Option<Text>,
    /// By row the places in the program that the page filters by; empty if no row has any.
    sites: Vec<Vec<Text>>,
}

impl Table {
    /// A table of `N` columns; the type ensures that every row has as many cells.
    pub fn new<const N: usize>(
        columns: [impl Into<Column>; N],
        rows: impl IntoIterator<Item = [Cell; N]>,
    ) -> Table {
        Table {
            columns: columns.map(Into::into).into(),
            rows: rows.into_iter().map(Vec::from).collect(),
            caption: None,
            sites: Vec::new(),
        }
    }

    /// This table with a caption instead of the page's own for tables of traces.
    #[must_use]
    pub fn with_caption(self, caption: impl Into<Text>) -> Table {
        Table {
            caption: Some(caption.into()),
            ..self
        }
    }

    /// This table with another column at its right end, with a cell for each row.
    #[must_use]
    pub fn with_column(
        mut self,
        column: impl Into<Column>,
        cells: impl IntoIterator<Item = Cell>,
    ) -> Table {
        self.columns.push(column.into());
        let mut cells = cells.into_iter();
        for row in &mut self.rows {
            row.push(cells.next().unwrap_or_else(|| Cell::words("")));
        }
        self
    }

    /// This table with places in the program for each row, by which the page can filter.
    #[must_use]
    pub fn with_sites(self, sites: Vec<Vec<Text>>) -> Table {
        Table { sites, ..self }
    }
}

/// A table and how the page shows it.
pub(super) struct TableView<'a> {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The caption of a table that has none of its own.
    pub(super) caption: &'static str,
    pub(super) table: &'a Table,
    /// Whether a long table is folded instead of being scrolled.
    pub(super) folds: bool,
    /// Links of rows: the row, and an id in the page.
    pub(super) links: Vec<(usize, String)>,
}

impl TableView<'_> {
    /// Longer tables are folded, or scrolled.
    const MAX_OPEN_ROWS: usize = 40;
    /// Rows that are visible at a time in a longer table that is not folded.
    const MAX_ROWS_IN_SIGHT: usize = 16;

    pub(super) fn is_empty(&self) -> bool {
        self.table.columns.is_empty()
    }

    /// What is below the title.
    pub(super) fn caption(&self) -> &str {
        self.table
            .caption
            .as_ref()
            .map_or(self.caption, Text::as_str)
    }

    pub(super) fn is_folded(&self) -> bool {
        self.folds && self.n_rows() > Self::MAX_OPEN_ROWS
    }

    pub(super) fn is_cut(&self) -> bool {
        !self.folds && self.n_rows() > Self::MAX_ROWS_IN_SIGHT
    }

    pub(super) fn n_rows(&self) -> usize {
        self.table.rows.len()
    }

    /// Heads of the columns: class and name.
    pub(super) fn heads(&self) -> impl Iterator<Item = (&'static str, &Text)> {
        let columns = self.table.columns.iter();
        columns.map(|column| (column.align.class(), &column.name))
    }

    /// Rows: the link of each, its places in the program, and its cells.
    pub(super) fn rows(
        &self,
    ) -> impl Iterator<Item = (Option<&str>, Option<String>, Vec<CellView<'_>>)> {
        self.table.rows.iter().enumerate().map(|(idx, row)| {
            let sites = self.table.sites.get(idx).map(|sites| by_line(sites));
            let link = self.links.iter().find(|(row, _)| *row == idx);
            let cells = self.table.columns.iter().zip(row);
            let cells = cells.map(|(column, cell)| CellView {
                class: column.align.class(),
                key: cell.key,
                text: &cell.text,
            });
            (link.map(|(_, id)| id.as_str()), sites, cells.collect())
        })
    }
}

pub(super) struct CellView<'a> {
    pub(super) class: &'static str,
    pub(super) key: Option<i64>,
    pub(super) text: &'a Text,
}

/// Names for scripts, one per line.
pub(super) fn by_line(names: &[Text]) -> String {
    let names = names.iter().map(|name| name.as_str().replace('\n', " "));
    names.collect::<Vec<_>>().join("\n")
}

impl Align {
    fn class(self) -> &'static str {
        match self {
            Align::Left => "words",
            Align::Right => "number",
        }
    }
}

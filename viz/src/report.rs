//! The report: one HTML page that shows everything, by itself.
//!
//! One file, no network, no script: it opens from `file://` on any machine, also years later. The
//! template is checked when the crate is compiled and escapes every value but the pictures, which
//! this crate draws itself.

use std::ops::RangeFrom;

use askama::Template;

use crate::{Picture, Text};

/// What the page shows, in this order.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Title of the page.
    pub title: Text,
    /// What ran: command, ranks, hosts, library, clock.
    pub facts: Vec<Fact>,
    /// What is wrong, if anything, and what to do: the first thing to read. Line feeds are kept.
    pub verdict: Text,
    /// What limits the quality of what is shown.
    pub remarks: Vec<Remark>,
    /// The operations, by time.
    pub operations: Table,
    /// The ranks.
    pub ranks: Table,
    /// Pictures of the whole run.
    pub figures: Vec<Figure>,
    /// Pictures of single operations, the first to be looked at first.
    pub groups: Vec<FigureGroup>,
}

/// One row of what ran.
#[derive(Debug, Clone)]
pub struct Fact {
    /// What it is: `hosts`.
    pub name: Text,
    /// Its value: `n01, n02`.
    pub value: Text,
}

/// One remark on the quality of the data.
#[derive(Debug, Clone)]
pub struct Remark {
    /// Short code, the same as in the JSON.
    pub code: Text,
    /// The remark for a person.
    pub text: Text,
}

/// The pictures of one operation, in the order in which they are to be read. The page shows one
/// group at a time where scripts run, else all.
#[derive(Debug, Clone, Default)]
pub struct FigureGroup {
    /// The operation, with what else tells it apart: `MPI_Allreduce, MPI_COMM_WORLD, 8 bytes`.
    pub heading: Text,
    /// What one should see, as a sentence; may be empty.
    pub finding: Text,
    /// What to know about it: calls, time, share of waiting.
    pub facts: Vec<Fact>,
    /// Its pictures.
    pub figures: Vec<Figure>,
}

/// A picture with what is said about it.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Heading above it: what kind of picture it is, `Timemap`.
    pub heading: Text,
    /// Caption below it: how to read it.
    pub caption: Text,
    /// The picture.
    pub picture: Picture,
}

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

/// A table of text, whose rows have a cell for each column. The first column names the row.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Text>>,
}

impl Table {
    /// A table of `N` columns; the type sees to it that every row has as many cells.
    pub fn new<const N: usize>(
        columns: [Column; N],
        rows: impl IntoIterator<Item = [Text; N]>,
    ) -> Table {
        Table {
            columns: columns.into(),
            rows: rows.into_iter().map(Vec::from).collect(),
        }
    }
}

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        // Counted through the page, so that no two figures have the same id.
        let mut numbers = 1..;
        let tables = [
            TableView {
                id: "operations",
                title: "Operations",
                table: &self.operations,
            },
            TableView {
                id: "ranks",
                title: "Ranks",
                table: &self.ranks,
            },
        ];
        let page = Page {
            report: self,
            tables,
            figures: draw(&self.figures, &mut numbers),
            groups: self
                .groups
                .iter()
                .map(|group| DrawnGroup {
                    heading: &group.heading,
                    finding: &group.finding,
                    facts: &group.facts,
                    figures: draw(&group.figures, &mut numbers),
                })
                .collect(),
        };
        // Writing to a String cannot fail, and the template calls nothing that can.
        page.render().unwrap_or_default()
    }
}

fn draw<'a>(figures: &'a [Figure], numbers: &mut RangeFrom<usize>) -> Vec<DrawnFigure<'a>> {
    let numbered = figures.iter().zip(numbers);
    numbered
        .map(|(figure, n)| DrawnFigure {
            id: format!("figure-{n}"),
            heading: &figure.heading,
            caption: &figure.caption,
            svg: figure.picture.draw(&format!("picture-{n}")),
        })
        .collect()
}

#[derive(Template)]
#[template(path = "index.html")]
struct Page<'a> {
    report: &'a Report,
    tables: [TableView<'a>; 2],
    figures: Vec<DrawnFigure<'a>>,
    groups: Vec<DrawnGroup<'a>>,
}

struct DrawnGroup<'a> {
    heading: &'a Text,
    finding: &'a Text,
    facts: &'a [Fact],
    figures: Vec<DrawnFigure<'a>>,
}

struct TableView<'a> {
    id: &'static str,
    title: &'static str,
    table: &'a Table,
}

impl TableView<'_> {
    /// Longer tables are folded.
    const MAX_OPEN_ROWS: usize = 40;

    fn is_long(&self) -> bool {
        self.table.rows.len() > Self::MAX_OPEN_ROWS
    }

    /// The cells of `row` with the class of their columns.
    fn cells<'t>(&self, row: &'t [Text]) -> impl Iterator<Item = (&'static str, &'t Text)> {
        self.table
            .columns
            .iter()
            .map(|column| column.align.class())
            .zip(row)
    }
}

impl Align {
    fn class(self) -> &'static str {
        match self {
            Align::Left => "words",
            Align::Right => "number",
        }
    }
}

struct DrawnFigure<'a> {
    id: String,
    heading: &'a Text,
    caption: &'a Text,
    /// Markup, drawn by this crate.
    svg: String,
}

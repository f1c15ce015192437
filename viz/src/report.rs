//! The report: one HTML page that shows everything, by itself.
//!
//! One file, no network: it opens from `file://` on any machine, also years later. The template
//! is checked when the crate is compiled and escapes every value but the pictures, which this
//! crate draws itself.
//!
//! All is there without script. The page's own script adds to it: the figures of a mark at the
//! pointer or by arrow keys, zoom, one operation at a time, sorting and filtering of tables. It
//! finds what it needs in the page (titles of marks, headings, keys of cells), so nothing is
//! there for it alone that could fall out of step, and no data has to be written as JSON in a
//! script. The policy names it by its hash: no other script runs, whatever a trace smuggles in.

use std::ops::RangeFrom;

use askama::Template;

use crate::{Picture, Text};

mod table;

use table::TableView;
pub use table::{Align, Cell, Column, Table};

/// The page's script. Its first and last line make it the same for parsers of HTML and of XML.
const SCRIPT: &str = include_str!("../templates/report.js");

/// What the policy of the page lets run: [`SCRIPT`] and nothing else. A test tells the new value
/// when the script changes.
const SCRIPT_HASH: &str = "sha256-Rla55+6+xW+op8K0SLcQgSyyrx/i/JTznW8YtuEH+sc=";

/// What the page shows.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Title of the page.
    pub title: Text,
    /// What ran and how much of it was waiting, in a sentence or two below the title.
    pub lead: Text,
    /// What ran in full: command, ranks, hosts, library, clock.
    pub facts: Vec<Fact>,
    /// What is wrong, if anything, and what to do: the first thing to read. One statement a line.
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
    /// Its row in [`Report::operations`], from 0, which then leads here.
    pub row: Option<usize>,
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

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        // Counted through the page, so that no two figures have the same id.
        let mut numbers = 1..;
        let leads = |(n, group): (usize, &FigureGroup)| Some((group.row?, group_id(n)));
        let links = (1..).zip(&self.groups).filter_map(leads).collect();
        let operations = TableView {
            id: "operations",
            title: "Operations",
            caption: "Sorted by the total time of all ranks. Names link to the pictures.",
            table: &self.operations,
            folds: false,
            links,
        };
        let ranks = TableView {
            id: "ranks",
            title: "Ranks",
            caption: "All operations together.",
            table: &self.ranks,
            folds: true,
            links: Vec::new(),
        };
        let page = Page {
            report: self,
            script: SCRIPT,
            script_hash: SCRIPT_HASH,
            operations,
            ranks,
            figures: draw(&self.figures, &mut numbers),
            groups: (1..)
                .zip(&self.groups)
                .map(|(n, group)| DrawnGroup {
                    id: group_id(n),
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

fn group_id(n: usize) -> String {
    format!("operation-{n}")
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
    script: &'static str,
    script_hash: &'static str,
    operations: TableView<'a>,
    ranks: TableView<'a>,
    figures: Vec<DrawnFigure<'a>>,
    groups: Vec<DrawnGroup<'a>>,
}

impl Page<'_> {
    /// What the verdict says, statement by statement.
    fn statements(&self) -> impl Iterator<Item = &str> {
        let lines = self.report.verdict.as_str().lines();
        lines.filter(|line| !line.trim().is_empty())
    }
}

struct DrawnGroup<'a> {
    id: String,
    heading: &'a Text,
    finding: &'a Text,
    facts: &'a [Fact],
    figures: Vec<DrawnFigure<'a>>,
}

struct DrawnFigure<'a> {
    id: String,
    heading: &'a Text,
    caption: &'a Text,
    /// Markup, drawn by this crate.
    svg: String,
}

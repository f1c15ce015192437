//! The report: one self-contained HTML page.
//!
//! One file, no network: it opens from `file://` on any machine, also years later. The template is
//! checked at compile time and escapes every value except the pictures, which this crate draws
//! itself.
//!
//! Everything is readable without scripts. The page's own script adds figures of a mark at the
//! pointer or with arrow keys, zoom, one operation at a time, and sorting and filtering of tables.
//! It takes all its data from the page (titles of marks, headings, keys of cells), so there is no
//! second copy that could differ and no JSON in a script. The content security policy names the
//! script by its hash: no other script runs, whatever a trace contains.

use std::ops::RangeFrom;

use askama::Template;

use crate::{Picture, Text};

mod table;

use table::TableView;
pub use table::{Align, Cell, Column, Table};

/// The page's script. Its first and last line make HTML and XML parsers treat it alike.
const SCRIPT: &str = include_str!("../templates/report.js");

/// What the policy of the page allows to run: [`SCRIPT`] and nothing else. When the script changes,
/// a test prints the new value.
const SCRIPT_HASH: &str = "sha256-IaUYRWUkSrXaTlKmVzbeaTyG4vDjU8xjWOdd8PCPLhc=";

/// Content of the page.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Title of the page.
    pub title: Text,
    /// The program and its share of waiting, in a sentence or two below the title.
    pub lead: Text,
    /// The run in detail: command, ranks, hosts, library, clock.
    pub facts: Vec<Fact>,
    /// What is wrong, if anything, and what to do; shown first. One statement per line.
    pub verdict: Text,
    /// What else was found, below the table of operations.
    pub findings: Vec<Findings>,
    /// Limits of the quality of the data.
    pub remarks: Vec<Remark>,
    /// The operations, by time.
    pub operations: Table,
    /// The stages of spanning trees.
    pub stages: Table,
    /// The paths of ranks, or of their threads, through spanning trees.
    pub paths: Table,
    /// The ranks.
    pub ranks: Table,
    /// Pictures of the whole run.
    pub figures: Vec<Figure>,
    /// Pictures of single operations, the most important first.
    pub groups: Vec<FigureGroup>,
    /// Pictures at the end of the page, on how the data were made.
    pub closing: Vec<Figure>,
}

/// A name and a value.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Name: `hosts`.
    pub name: Text,
    /// Value: `n01, n02`.
    pub value: Text,
}

/// Findings of one kind. Without sentences they are not shown.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Their heading: `Algorithms`.
    pub heading: Text,
    /// One sentence or more for each.
    pub sentences: Vec<Text>,
}

/// One remark on the quality of the data.
#[derive(Debug, Clone)]
pub struct Remark {
    /// Short code, as in the JSON.
    pub code: Text,
    /// The remark as a sentence.
    pub text: Text,
}

/// The pictures of one operation, in reading order. With scripts the page shows one group at a
/// time, otherwise all.
#[derive(Debug, Clone, Default)]
pub struct FigureGroup {
    /// The operation, identified by: `MPI_Allreduce, MPI_COMM_WORLD, 8 bytes`.
    pub heading: Text,
    /// Its row in [`Report::operations`], from 0, which then links to it.
    pub row: Option<usize>,
    /// The finding, as a sentence; may be empty.
    pub finding: Text,
    /// Its main figures: calls, time, share of waiting.
    pub facts: Vec<Fact>,
    /// Its pictures.
    pub figures: Vec<Figure>,
}

/// A picture with its texts.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Heading above the picture: its kind, `Timemap`.
    pub heading: Text,
    /// Caption below the picture: how to read it.
    pub caption: Text,
    /// Whether the page shows it on demand only.
    pub on_demand: bool,
    /// The picture.
    pub picture: Picture,
}

impl Report {
    /// The page.
    pub fn to_html(&self) -> String {
        // Numbered across the page, so that no two figures have the same id.
        let mut numbers = 1..;
        let leads = |(n, group): (usize, &FigureGroup)| Some((group.row?, group_id(n)));
        let links = (1..).zip(&self.groups).filter_map(leads).collect();
        let operations = TableView {
            id: "operations",
            title: "Operations",
            caption: "Total times are sums over all ranks. Names link to the pictures.",
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
        let stages = TableView {
            id: "stages",
            title: "Stages of spanning trees",
            caption: "The stages in the order of a path: to the root, at the root, from the root.",
            table: &self.stages,
            folds: true,
            links: Vec::new(),
        };
        let paths = TableView {
            id: "paths",
            title: "Paths through spanning trees",
            caption: "Mean times of each path.",
            table: &self.paths,
            folds: true,
            links: Vec::new(),
        };
        let page = Page {
            report: self,
            script: SCRIPT,
            script_hash: SCRIPT_HASH,
            operations,
            stages,
            paths,
            ranks,
            findings: (1..)
                .zip(&self.findings)
                .filter(|(_, findings)| !findings.sentences.is_empty())
                .map(|(n, findings)| (format!("findings-{n}"), findings))
                .collect(),
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
            closing: draw(&self.closing, &mut numbers),
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
        .map(|(figure, n)| {
            let svg = figure.picture.draw(&format!("picture-{n}"));
            DrawnFigure {
                id: format!("figure-{n}"),
                heading: &figure.heading,
                caption: &figure.caption,
                on_demand: figure.on_demand,
                finding: title_of(&svg).to_owned(),
                svg,
            }
        })
        .collect()
}

/// The title of a drawn picture, escaped: it comes before the titles of its marks.
fn title_of(svg: &str) -> &str {
    let title = svg
        .split_once("<title")
        .and_then(|(_, rest)| rest.split_once('>'));
    let title = title.and_then(|(_, rest)| rest.split_once("</title>"));
    title.map_or("", |(title, _)| title)
}

#[derive(Template)]
#[template(path = "index.html")]
struct Page<'a> {
    report: &'a Report,
    script: &'static str,
    script_hash: &'static str,
    operations: TableView<'a>,
    stages: TableView<'a>,
    paths: TableView<'a>,
    ranks: TableView<'a>,
    /// Each with its id.
    findings: Vec<(String, &'a Findings)>,
    figures: Vec<DrawnFigure<'a>>,
    groups: Vec<DrawnGroup<'a>>,
    closing: Vec<DrawnFigure<'a>>,
}

impl Page<'_> {
    /// The statements of the verdict.
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
    on_demand: bool,
    /// Markup: its title, for screens on which the picture does not fit.
    finding: String,
    /// Markup drawn by this crate.
    svg: String,
}

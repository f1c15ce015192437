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

use crate::instance_timeline::page_style;
use crate::{InstanceTimeline, Picture, Text};

mod table;

pub use table::{Align, Cell, Column, Table};
use table::{TableView, by_line};

/// The page's script. Its first and last line make HTML and XML parsers treat it alike.
const SCRIPT: &str = concat!(
    "//<![CDATA[\n'use strict';\n(() => {\n",
    include_str!("../templates/finer.js"),
    include_str!("../templates/axes.js"),
    include_str!("../templates/bars.js"),
    include_str!("../templates/report.js"),
    "})();\n//]]>\n"
);

/// What the policy of the page allows to run: [`SCRIPT`] and nothing else. When the script changes,
/// a test prints the new value.
const SCRIPT_HASH: &str = "sha256-MMpJ5D8M71ehASS/VxOPCqlIlplkWRb7FYz14hcvUWc=";

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
    /// The places in the program from which collectives are called.
    pub sites: Table,
    /// The stages of spanning trees.
    pub stages: Table,
    /// The paths of ranks, or of their threads, through spanning trees.
    pub paths: Table,
    /// The ranks.
    pub ranks: Table,
    /// Pictures of the whole run.
    pub figures: Vec<Figure>,
    /// Single instances, the most important first.
    pub instances: Vec<InstanceFigure>,
    /// How to read their timelines.
    pub instances_caption: Text,
    /// Lines of the verdict, from 0, and the number of the instance that shows it best.
    pub worst: Vec<(usize, usize)>,
    /// Links beside the pictures of operations to single instances.
    pub links: Vec<InstanceLink>,
    /// Findings on a single instance: index in `findings`, index of the sentence, number of the instance.
    pub on_instances: Vec<(usize, usize, usize)>,
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

/// A link beside the pictures of an operation to one of its instances.
#[derive(Debug, Clone)]
pub struct InstanceLink {
    /// Index in [`Report::groups`].
    pub group: usize,
    /// Number of the instance.
    pub instance: usize,
    /// A few words on it.
    pub words: Text,
}

/// A single instance with its timeline, and what it is chosen by.
#[derive(Debug, Clone)]
pub struct InstanceFigure {
    /// Its number, by which pictures lead to it.
    pub number: usize,
    /// What it is, in a line.
    pub heading: Text,
    /// Its operation.
    pub operation: Text,
    /// Its communicator.
    pub communicator: Text,
    /// The phase in which it was called; empty if none.
    pub phase: Text,
    /// Ranges of its world ranks.
    pub ranks: Vec<(u32, u32)>,
    /// The hosts of these.
    pub hosts: Vec<Text>,
    /// The places in the program from which it was called; none if that is not known.
    pub sites: Vec<Text>,
    /// Its timeline.
    pub timeline: InstanceTimeline,
    /// The command that exports it; may be empty.
    pub export: Text,
}

impl InstanceFigure {
    fn id(&self) -> String {
        format!("instance-{}", self.number)
    }

    /// Its ranks for scripts: `0-3,7`.
    fn rank_ranges(&self) -> String {
        let ranges = self.ranks.iter().map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        });
        ranges.collect::<Vec<_>>().join(",")
    }

    /// Its hosts for scripts, one per line.
    fn host_list(&self) -> String {
        by_line(&self.hosts)
    }

    /// The places from which it was called, for scripts, one per line.
    fn site_list(&self) -> String {
        by_line(&self.sites)
    }
}

/// A picture with its texts.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Heading above the picture: its kind, `Timemap`.
    pub heading: Text,
    /// Caption below the picture: how to read it.
    pub caption: Text,
    /// The command that exports what it shows; may be empty.
    pub export: Text,
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
        let sites = TableView {
            id: "sites",
            title: "Call sites",
            caption: "From where in the program collectives are called. Times are sums over all ranks.",
            table: &self.sites,
            folds: true,
            links: Vec::new(),
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
            sites,
            stages,
            paths,
            ranks,
            findings: (1..)
                .zip(&self.findings)
                .filter(|(_, findings)| !findings.sentences.is_empty())
                .map(|(n, findings)| ListedFindings {
                    id: format!("findings-{n}"),
                    heading: &findings.heading,
                    sentences: self.sentences(n - 1).collect(),
                })
                .collect(),
            figures: draw(&self.figures, &mut numbers),
            groups: (1..)
                .zip(&self.groups)
                .map(|(n, group)| DrawnGroup {
                    id: group_id(n),
                    heading: &group.heading,
                    finding: &group.finding,
                    facts: &group.facts,
                    links: (self.links.iter())
                        .filter(|link| link.group + 1 == n)
                        .collect(),
                    figures: draw(&group.figures, &mut numbers),
                })
                .collect(),
            closing: draw(&self.closing, &mut numbers),
            instances: (self.instances.iter())
                .map(|of| {
                    let svg = of.timeline.draw_plain(&format!("timeline-{}", of.number));
                    DrawnInstance {
                        of,
                        finding: title_of(&svg).to_owned(),
                        svg,
                    }
                })
                .collect(),
            instance_style: page_style(),
        };
        // Writing to a String cannot fail, and the template calls nothing that can.
        page.render().unwrap_or_default()
    }
}

impl Report {
    /// Sentences of the findings with an index, each with the number of the instance that it is on.
    fn sentences(&self, findings: usize) -> impl Iterator<Item = (&Text, Option<usize>)> {
        let sentences = self.findings[findings].sentences.iter().enumerate();
        sentences.map(move |(at, sentence)| {
            let mut links = self.on_instances.iter();
            let link = links.find(|(of, sentence, _)| (*of, *sentence) == (findings, at));
            (sentence, link.map(|(.., instance)| *instance))
        })
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
                export: &figure.export,
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
    sites: TableView<'a>,
    stages: TableView<'a>,
    paths: TableView<'a>,
    ranks: TableView<'a>,
    findings: Vec<ListedFindings<'a>>,
    figures: Vec<DrawnFigure<'a>>,
    groups: Vec<DrawnGroup<'a>>,
    closing: Vec<DrawnFigure<'a>>,
    instances: Vec<DrawnInstance<'a>>,
    /// Style rules of their pictures.
    instance_style: String,
}

impl Page<'_> {
    /// The statements of the verdict, and the number of the instance that shows each best.
    fn statements(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        let lines = self.report.verdict.as_str().lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty());
        lines.map(|(number, line)| {
            let worst = self.report.worst.iter().find(|(of, _)| *of == number);
            (line, worst.map(|(_, instance)| *instance))
        })
    }
}

struct ListedFindings<'a> {
    id: String,
    heading: &'a Text,
    /// Each with the number of the instance that it is on.
    sentences: Vec<(&'a Text, Option<usize>)>,
}

struct DrawnGroup<'a> {
    id: String,
    heading: &'a Text,
    finding: &'a Text,
    facts: &'a [Fact],
    links: Vec<&'a InstanceLink>,
    figures: Vec<DrawnFigure<'a>>,
}

struct DrawnInstance<'a> {
    of: &'a InstanceFigure,
    /// Markup: its title, for screens on which the picture does not fit.
    finding: String,
    /// Markup drawn by this crate.
    svg: String,
}

struct DrawnFigure<'a> {
    id: String,
    heading: &'a Text,
    caption: &'a Text,
    export: &'a Text,
    on_demand: bool,
    /// Markup: its title, for screens on which the picture does not fit.
    finding: String,
    /// Markup drawn by this crate.
    svg: String,
}

//! One page with all pictures of documents, and the pictures as files beside it.

use std::path::Path;

use anyhow::Context;
use collbench_text::quantity::{counted, file_size};
use collbench_viz::{
    Align, Cell, Column, Fact, Figure, FigureGroup, Findings, Palette, Report, Table,
};

use super::configuration::offer;
use super::document::Document;
use super::pictures::{self, Named};
use super::summary::{Summary, region_words};
use super::table::ratio;

/// Name of the page.
const PAGE: &str = "overlap.html";

/// Writes the page and the pictures into a directory.
///
/// # Errors
/// Names the file.
pub(super) fn write(documents: &[Document], palette: Palette, folder: &Path) -> anyhow::Result<()> {
    let impact = pictures::impact(documents);
    let summaries = Summary::of_all(documents);
    let mut groups: Vec<(FigureGroup, Vec<Named>)> = Vec::new();
    for (row, of_operation) in
        summaries
            .chunk_by(|a, b| a.operation == b.operation)
            .scan(0, |row, all| {
                let first = *row;
                *row += all.len();
                Some((first, all))
            })
    {
        groups.push(group(documents, of_operation, row, palette));
    }
    let of_groups = groups.iter().flat_map(|(_, pictures)| pictures);
    for picture in of_groups.chain([&impact]) {
        let path = folder.join(format!("{}.svg", picture.file));
        std::fs::write(&path, picture.picture.to_svg())
            .with_context(|| format!("writing {}", path.display()))?;
    }
    let groups = groups.into_iter().map(|(group, pictures)| FigureGroup {
        figures: pictures.into_iter().map(figure).collect(),
        ..group
    });
    let report = Report {
        title: "collbench: overlap of communication and computation".into(),
        lead: lead(documents).into(),
        facts: facts(documents),
        verdict: verdict(documents, &summaries).join("\n").into(),
        findings: documents
            .iter()
            .filter(|document| !document.invalid.is_empty())
            .map(invalid)
            .collect(),
        operations: table(documents, &summaries),
        figures: vec![figure(impact)],
        groups: groups.collect(),
        ..Report::default()
    };
    let path = folder.join(PAGE);
    std::fs::write(&path, report.to_html()).with_context(|| format!("writing {}", path.display()))
}

fn figure(named: Named) -> Figure {
    Figure {
        heading: named.heading.into(),
        caption: named.caption.into(),
        export: "".into(),
        on_demand: false,
        picture: named.picture,
    }
}

fn lead(documents: &[Document]) -> String {
    let configurations: Vec<String> = documents
        .iter()
        .map(|document| {
            let library = document
                .plan
                .mpi_library
                .split(',')
                .next()
                .unwrap_or_default();
            let n_processes = document.plan.hosts.len();
            format!(
                "{} ({library}, {n_processes} processes)",
                document.plan.configuration
            )
        })
        .collect();
    format!("Configurations: {}.", configurations.join("; "))
}

/// A sentence for each operation and document.
fn verdict(documents: &[Document], summaries: &[Summary]) -> Vec<String> {
    let of = |summary: &Summary| {
        let name = summary.operation.name();
        let document = &documents[summary.document];
        let of_document = match documents.len() {
            1 => String::new(),
            _ => format!(", {}", document.plan.configuration),
        };
        let most = summary.most.map_or("", |(diagnosis, _)| diagnosis.words());
        format!("{name}{of_document}: {}. {most}", summary.verdict())
    };
    summaries.iter().map(of).collect()
}

fn invalid(document: &Document) -> Findings {
    Findings {
        heading: format!(
            "Not measured, or not counted ({})",
            document.plan.configuration
        )
        .into(),
        sentences: document
            .invalid
            .iter()
            .map(|sentence| sentence.as_str().into())
            .collect(),
    }
}

fn table(documents: &[Document], summaries: &[Summary]) -> Table {
    let column = |name: &str, align| Column {
        name: name.into(),
        align,
    };
    let columns = [
        column("Operation", Align::Left),
        column("Configuration", Align::Left),
        column("Cells", Align::Right),
        column("Overhead ratio, median", Align::Right),
        column("Worst", Align::Right),
        column("Most cells", Align::Left),
    ];
    let number = |value: Option<f64>| match value {
        // Sorted by thousandths.
        Some(value) => Cell::number(ratio(value), (value * 1e3).round() as i64),
        None => Cell::words("-"),
    };
    let rows = summaries.iter().map(|summary| {
        [
            Cell::words(summary.operation.name()),
            Cell::words(documents[summary.document].plan.configuration.as_str()),
            Cell::number(summary.cells.to_string(), summary.cells as i64),
            number(summary.median_overhead),
            number(summary.worst_overhead),
            Cell::words(summary.verdict()),
        ]
    });
    Table::new(columns, rows).with_caption(
        "Cells whose times differ by a factor of 100 or more do not count. Names link to the \
         pictures.",
    )
}

fn group(
    documents: &[Document],
    summaries: &[Summary],
    row: usize,
    palette: Palette,
) -> (FigureGroup, Vec<Named>) {
    let Some(first) = summaries.first() else {
        return (FigureGroup::default(), Vec::new());
    };
    let operation = first.operation;
    let facts = summaries.iter().flat_map(|summary| {
        let document = &documents[summary.document];
        let mut grids = document.grids.iter();
        let grid = grids.find(|grid| grid.operation == operation);
        let regions = grid.into_iter().flat_map(|grid| &grid.regions);
        regions.map(|region| Fact {
            name: document.plan.configuration.as_str().into(),
            value: format!("{} {}", region_words(region), region.text).into(),
        })
    });
    let group = FigureGroup {
        heading: operation.name().into(),
        row: Some(row),
        finding: "Regions of cells with one diagnosis, the largest first:".into(),
        facts: facts.collect(),
        figures: Vec::new(),
    };
    (group, pictures::of_operation(documents, operation, palette))
}

fn facts(documents: &[Document]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for document in documents {
        let plan = &document.plan;
        let mut add = |name: &str, value: String| {
            let name = match documents.len() {
                1 => name.to_owned(),
                _ => format!("{}: {name}", plan.configuration),
            };
            facts.push(Fact {
                name: name.into(),
                value: value.into(),
            });
        };
        add("command", document.surroundings.command.join(" "));
        add("MPI library", plan.mpi_library.clone());
        if let Some(offer) = offer(&plan.mpi_library) {
            add("progress", offer.to_owned());
        }
        let settings = plan.environment.iter();
        let settings: Vec<String> = settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        add("settings", settings.join(" "));
        let mut hosts = plan.hosts.clone();
        hosts.dedup();
        add("hosts", hosts.join(", "));
        let machine = &document.surroundings.machine;
        let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
        add("processor", known(&machine.cpu));
        if let Some(load) = machine.load {
            add("load before the measurement", load.to_string());
        }
        let threads = plan.threads.iter().max().copied().unwrap_or(0);
        let busy = if document.surroundings.shares_cores {
            ", which share cores: oversubscribed"
        } else {
            ""
        };
        add(
            "computation",
            format!("{} a process{busy}", counted(threads, "thread")),
        );
        add("memory of a process", file_size(plan.memory));
        add("runs of a cell", plan.runs.to_string());
    }
    facts
}

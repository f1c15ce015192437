//! Documents as text.

use std::io::{self, Write};

use collbench_text::quantity::{counted, duration, file_size, percent};

use super::configuration::offer;
use super::document::{CellFigures, Document, Grid, MeasuredCell};
use super::summary::{Summary, region_words};
use super::words;
use crate::overhead::{empty_table, write_machine};

/// Mark of cells that are far from the diagonal.
const FAR: &str = "~";
/// An empty cell.
const EMPTY: &str = "-";

/// A figure of a cell.
type Figure = fn(&MeasuredCell) -> f64;

/// Writes one document with all its cells, or the summaries of several side by side.
pub(super) fn write(documents: &[Document], output: &mut impl Write) -> io::Result<()> {
    match documents {
        [document] => write_one(document, output),
        documents => write_side_by_side(documents, output),
    }
}

fn write_one(document: &Document, output: &mut impl Write) -> io::Result<()> {
    let plan = &document.plan;
    let surroundings = &document.surroundings;
    writeln!(
        output,
        "Overlap of communication and computation: {} processes, configuration: {}",
        plan.hosts.len(),
        plan.configuration
    )?;
    write_machine(
        &surroundings.machine,
        &plan.mpi_library,
        &plan.environment,
        output,
    )?;
    if let Some(offer) = offer(&plan.mpi_library) {
        writeln!(output, "           {offer}")?;
    }
    let clock = if surroundings.has_one_clock {
        "one clock for all processes".to_owned()
    } else {
        let error = duration(surroundings.clock_error_ns.round() as i64);
        format!("clocks of hosts compared to within {error}")
    };
    writeln!(output, "  clock    {clock}")?;
    writeln!(output, "  command  {}", surroundings.command.join(" "))?;
    let least = plan.threads.iter().min().copied().unwrap_or(0);
    writeln!(
        output,
        "  compute  {} a process{}",
        counted(least, "thread"),
        if surroundings.shares_cores {
            "; threads share cores: the host is oversubscribed, and ratios are worse than on free \
             cores"
        } else {
            ""
        }
    )?;
    writeln!(
        output,
        "  memory   {} for the buffers of a process, and for its matrices",
        file_size(plan.memory)
    )?;
    writeln!(output)?;
    write_impact(document, output)?;
    for grid in &document.grids {
        write_grid(document, grid, output)?;
    }
    for sentence in &document.invalid {
        writeln!(output, "invalid: {sentence}")?;
    }
    Ok(())
}

fn write_impact(document: &Document, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Impact of idle MPI on the computation: with MPI initialized / without MPI; 1 is no impact"
    )?;
    let mut table = empty_table(&["wanted", "rows", "without MPI", "with MPI", "impact ratio"]);
    for figures in &document.computations {
        let computation = &figures.computation;
        let time = |reference: &Option<super::journal::Reference>| {
            let known = reference.as_ref();
            known.map_or(EMPTY.to_owned(), |known| {
                duration(known.slowest_ns.round() as i64)
            })
        };
        table.add_row(vec![
            words(computation.wanted_ns),
            match computation.outcome {
                super::search::Outcome::Found(rows) => rows.to_string(),
                _ => EMPTY.to_owned(),
            },
            time(&computation.without_mpi),
            time(&computation.idle),
            figures.impact.map_or(EMPTY.to_owned(), ratio),
        ]);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

fn write_grid(document: &Document, grid: &Grid, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{}", grid.operation.name())?;
    for region in &grid.regions {
        writeln!(output, "  {}", region_words(region))?;
        writeln!(output, "    {}", region.text)?;
    }
    let far = grid
        .cells
        .iter()
        .filter(|cell| cell.is_far && cell.measured.is_some())
        .count();
    if far > 0 {
        writeln!(
            output,
            "  {} with {FAR}: one time is 100 times the other or more, so the ratios say little",
            counted(far, "cell")
        )?;
    }
    writeln!(output)?;
    let tables: [(&str, Figure); 3] = [
        (
            "Overhead ratio: 0 perfect overlap, 1 one after the other, above 1 slower than that",
            |cell| cell.ratios.overhead,
        ),
        (
            "Communication ratio: 0 hidden, 1 as long as alone, above 1 slower than alone",
            |cell| cell.ratios.communication,
        ),
        ("Slowdown of the computation: 1 none", |cell| {
            cell.ratios.computation_slowdown
        }),
    ];
    for (title, figure) in tables {
        writeln!(output, "  {title}")?;
        write_ratios(document, grid, figure, output)?;
    }
    write_diagonal(document, grid, output)
}

/// A table with computation times down and communication times across.
fn write_ratios(
    document: &Document,
    grid: &Grid,
    figure: Figure,
    output: &mut impl Write,
) -> io::Result<()> {
    let plan = &document.plan;
    let mut head = vec!["  computation".to_owned()];
    head.extend(plan.communication_ns.iter().map(|&ns| words(ns)));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = empty_table(&head);
    for &computation_ns in plan.computation_ns.iter().rev() {
        let mut row = vec![format!("  {}", words(computation_ns))];
        let cells = grid
            .cells
            .iter()
            .filter(|cell| cell.computation_ns == computation_ns);
        row.extend(cells.map(|cell| match &cell.measured {
            None => EMPTY.to_owned(),
            Some(measured) => {
                let mark = if cell.is_far { FAR } else { "" };
                format!("{mark}{}", ratio(figure(measured)))
            }
        }));
        table.add_row(row);
    }
    writeln!(output, "{}\n", table.trim_fmt())
}

/// Cells with equal times, as other benchmarks measure them.
fn write_diagonal(document: &Document, grid: &Grid, output: &mut impl Write) -> io::Result<()> {
    let is_equal = |cell: &&CellFigures| cell.communication_ns == cell.computation_ns;
    let mut cells = grid.cells.iter().filter(is_equal).peekable();
    if cells.peek().is_none() {
        return Ok(());
    }
    writeln!(
        output,
        "  Equal times, how far the run farthest from the median lies (+-), and the overlap that the \
         OSU and the Intel benchmarks would print"
    )?;
    let mut table = empty_table(&[
        "  times",
        "bytes",
        "overhead ratio",
        "+-",
        "OSU",
        "IMB",
        "diagnosis",
    ]);
    for cell in cells {
        let Some(measured) = &cell.measured else {
            continue;
        };
        let at = document
            .plan
            .communication_ns
            .iter()
            .position(|ns| *ns == cell.communication_ns);
        let bytes = at.and_then(|at| grid.communications.get(at)?.bytes);
        let of_100 = |value: Option<f64>| {
            value.map_or(EMPTY.to_owned(), |value| {
                percent((value * 10.0).round() as i64, 1_000)
            })
        };
        table.add_row(vec![
            format!("  {}", words(cell.communication_ns)),
            bytes.map_or(EMPTY.to_owned(), |bytes| bytes.to_string()),
            ratio(measured.ratios.overhead),
            measured.overhead_error.map_or(EMPTY.to_owned(), ratio),
            of_100(measured.osu_percent),
            of_100(measured.imb_percent),
            measured.diagnosis.name().to_owned(),
        ]);
    }
    align_left(&mut table, 6);
    writeln!(output, "{}\n", table.trim_fmt())
}

/// Words in a column are aligned at the left, unlike numbers.
fn align_left(table: &mut comfy_table::Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
}

/// A row for each operation of each document.
fn write_side_by_side(documents: &[Document], output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "Overlap in several measurements")?;
    for (number, document) in (1..).zip(documents) {
        let library = document.plan.mpi_library.lines().next().unwrap_or_default();
        writeln!(
            output,
            "  {number}  {}: {library}, {} processes",
            document.plan.configuration,
            document.plan.hosts.len()
        )?;
    }
    writeln!(output)?;
    let mut table = empty_table(&[
        "operation",
        "measurement",
        "cells",
        "overhead ratio, median",
        "worst",
        "impact of idle MPI",
        "most cells",
    ]);
    for summary in Summary::of_all(documents) {
        table.add_row(vec![
            summary.operation.name().to_owned(),
            (summary.document + 1).to_string(),
            summary.cells.to_string(),
            summary.median_overhead.map_or(EMPTY.to_owned(), ratio),
            summary.worst_overhead.map_or(EMPTY.to_owned(), ratio),
            summary.impact.map_or(EMPTY.to_owned(), ratio),
            summary.verdict(),
        ]);
    }
    align_left(&mut table, 6);
    writeln!(output, "{}", table.trim_fmt())
}

/// A ratio with two decimals, or whole if it is large.
pub(super) fn ratio(value: f64) -> String {
    match value.abs() {
        // Not "-0.00".
        ..0.005 => "0.00".to_owned(),
        ..99.5 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

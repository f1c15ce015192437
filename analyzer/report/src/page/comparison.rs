//! Writes a comparison to files: pictures, the page that shows them, the JSON document.

use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{Comparison, Sides};
use collbench_text::{inert, quantity};
use collbench_viz as viz;
use collbench_viz::{Align, Cell, Fact, FigureGroup};

use crate::document::{COMPARISON_SCHEMA, ComparisonDocument, to_json};
use crate::page::cells::{duration, known};
use crate::page::{ReportDirectory, ReportError, own_trees, remove_pictures};
use crate::pictures::comparison::{self as pictures, Shown};
use crate::screen::comparison::{about_not_significant, instances, total_change_ns, verdict};
use crate::words::changes::{Row, advice, bytes, figures};
use crate::words::comparison::{self as words, letter};
use crate::words::difference::signed;
use crate::words::sides as sides_words;
use crate::words::tree_differences;

const DOCUMENT: &str = "comparison.json";
/// Spanning trees in the verdict.
const MAX_HEADLINES: usize = 5;

/// Writes `index.html`, `comparison.json` and the pictures of the first `top` operations into a
/// directory, which is created if necessary. `analyses` are the compared ones. Pictures of an
/// earlier comparison there are removed.
///
/// # Errors
/// [`ReportError`] if anything cannot be written.
pub fn write_comparison(
    comparison: &Comparison,
    analyses: &[Analysis],
    directory: &Path,
    top: usize,
) -> Result<(), ReportError> {
    let directory = ReportDirectory::at(directory)?;
    remove_pictures(
        &directory,
        (DOCUMENT, COMPARISON_SCHEMA),
        pictures::is_picture,
    );
    let write = |name: &str, content: &str| directory.write(name, content);
    let mut groups = Vec::new();
    for (row, operation) in comparison.operations.iter().enumerate().take(top) {
        let (shown, finding) = shown(comparison, row);
        let shown = pictures::of_operation(analyses, operation, row + 1, &shown);
        for picture in &shown {
            write(&picture.file, &picture.figure.picture.to_svg())?;
        }
        let known = analyses.iter().zip(&operation.indexes);
        let mut titles = known.filter_map(|(of, at)| {
            let operation = &of.operations[(*at)?];
            Some(crate::pictures::title(of, operation))
        });
        groups.push(FigureGroup {
            heading: titles.next().unwrap_or_default().into(),
            // The first row of the operation.
            row: rows(comparison)
                .iter()
                .position(|(o, _)| std::ptr::eq(*o, operation)),
            finding: finding.into(),
            facts: Vec::new(),
            figures: shown.into_iter().map(|shown| shown.figure).collect(),
        });
    }
    write("index.html", &page(comparison, groups).to_html())?;
    let document = ComparisonDocument::of(comparison, analyses);
    write(DOCUMENT, &to_json(&document))
}

/// What the pictures of an operation show: all traces, or of each side the run in the middle; and what differs.
fn shown(comparison: &Comparison, row: usize) -> (Shown, String) {
    let operation = &comparison.operations[row];
    let found = comparison.sides.as_ref().and_then(|sides| {
        let mut operations = sides.operations.iter();
        Some((sides, operations.find(|of| of.row == row)?))
    });
    let Some((sides, of)) = found else {
        let all = operation.differences.iter().map(|d| (operation, d));
        return (Shown::all(operation), statements(all));
    };
    let middle = |side: &[usize], times: &[Option<i64>]| {
        let known = side.iter().zip(times);
        let mut known: Vec<(i64, usize)> =
            known.filter_map(|(&at, ns)| Some(((*ns)?, at))).collect();
        known.sort_unstable();
        Some(known.get(known.len().saturating_sub(1) / 2)?.1)
    };
    let both = [
        middle(&sides.baseline, &of.baseline_ns),
        middle(&sides.other, &of.other_ns),
    ];
    let mean = of.differences.call_time_ns.mean.as_ref();
    let verdict = mean.map_or_else(|| "not known".to_owned(), sides_words::verdict);
    let shown = Shown {
        traces: both.into_iter().flatten().collect(),
        names: words::names(comparison),
        finding: verdict.replacen("? ", "B is not distinguishable from A,", 1),
    };
    (
        shown,
        sides_words::change(comparison, sides, of).unwrap_or_default(),
    )
}

/// All operations with their differences, grouped by operation; of two sides by change.
fn rows(comparison: &Comparison) -> Vec<Row<'_>> {
    if let Some(sides) = &comparison.sides {
        let operations = sides.operations.iter();
        return operations
            .map(|of| sides_words::row(comparison, of))
            .collect();
    }
    let operations = comparison.operations.iter();
    operations
        .flat_map(|operation| operation.differences.iter().map(move |d| (operation, d)))
        .collect()
}

/// The main differences and where to look, one statement per line.
fn statements<'a>(rows: impl Iterator<Item = Row<'a>>) -> String {
    let sentences = rows.filter_map(|row| {
        let other = letter(row.1.trace);
        Some(format!("{other} against A: {}", advice(&other, &row)?))
    });
    sentences.take(5).collect::<Vec<_>>().join("\n")
}

/// What was reconfigured in spanning trees of our own, and what changed though it was not.
fn headlines(rows: &[Row<'_>]) -> Vec<String> {
    let all = rows.iter().flat_map(|(operation, differences)| {
        differences.trees.iter().map(move |trees| {
            format!(
                "{} against A, {} over {}: {}",
                letter(differences.trace),
                operation.operation,
                tree_differences::names(trees),
                tree_differences::headline(trees)
            )
        })
    });
    all.take(MAX_HEADLINES).collect()
}

/// What differs, each against the first trace.
fn verdict_on_traces(comparison: &Comparison) -> String {
    let mut largest_first = rows(comparison);
    // Stable: of equal changes the first operation comes first.
    largest_first.sort_by_key(|row| std::cmp::Reverse(total_change_ns(row)));
    let trees = headlines(&largest_first);
    let mut verdict = statements(largest_first.into_iter());
    if verdict.is_empty() {
        verdict = "No operation differs clearly.".to_owned();
    }
    for headline in trees {
        verdict.push('\n');
        verdict.push_str(&headline);
    }
    let notes = comparison.runs.iter().filter_map(|run| {
        let rows = comparison.operations.iter().flat_map(|o| &o.differences);
        let note = about_not_significant(run, rows.filter(|row| row.trace == run.trace))?;
        Some(format!("{} against A: {note}.", letter(run.trace)))
    });
    for note in notes {
        verdict.push('\n');
        verdict.push_str(&note);
    }
    verdict
}

/// What differs between two sides, and what would tell the rest.
fn verdict_on_sides(comparison: &Comparison, sides: &Sides) -> String {
    let mut lines = vec![format!(
        "B against A, {}: {}",
        sides_words::runs(sides),
        sides_words::counts(sides)
    )];
    lines.push(format!("Runs: {}.", sides_words::whole(&sides.duration_ns)));
    let changes = sides_words::changes(comparison, sides);
    lines.extend(changes.into_iter().take(MAX_HEADLINES));
    lines.extend(sides_words::what_would_tell(comparison, sides));
    lines.extend(sides_words::apart(comparison, sides));
    lines.extend(sides_words::about_not_significant(sides));
    lines.join("\n")
}

fn page(comparison: &Comparison, groups: Vec<FigureGroup>) -> viz::Report {
    let verdict = match &comparison.sides {
        Some(sides) => verdict_on_sides(comparison, sides),
        None => verdict_on_traces(comparison),
    };
    let names = words::names(comparison);
    let facts = comparison
        .traces
        .iter()
        .enumerate()
        .map(|(index, compared)| Fact {
            name: names[index].clone().into(),
            value: format!(
                "{}: {}; {} on {}, {}, {}",
                inert::line(&compared.trace.directory, 100),
                inert::line(&compared.trace.command.join(" "), 200),
                quantity::counted(compared.trace.ranks, "rank"),
                quantity::counted(compared.trace.hosts.len() as u64, "host"),
                inert::line(&compared.trace.mpi_library, 60),
                quantity::duration(compared.trace.duration_ns),
            )
            .into(),
        });
    let remarks = comparison.remarks.iter().map(|remark| viz::Remark {
        code: remark.code().into(),
        text: words::remark(&names, remark).into(),
    });
    viz::Report {
        title: "collbench: comparison of traces".into(),
        lead: match &comparison.sides {
            None => "A is the baseline. Mean times of calls, with 95 % intervals of their change.",
            Some(_) => {
                "A is the baseline. Means of the runs of each side, with 95 % intervals of their change by the \
                 spread between runs. Pictures show the run of each side with the median time of a call."
            }
        }
        .into(),
        facts: facts.collect(),
        verdict: verdict.into(),
        remarks: remarks.collect(),
        operations: match &comparison.sides {
            Some(sides) => table_of_sides(comparison, sides),
            None => table(comparison),
        },
        stages: own_trees::differences(comparison),
        groups,
        closing: Vec::new(),
        ..viz::Report::default()
    }
}

fn table_of_sides(comparison: &Comparison, sides: &Sides) -> viz::Table {
    let columns = [
        ("operation", Align::Left),
        ("communicator", Align::Left),
        ("bytes", Align::Right),
        ("means of runs of A", Align::Right),
        ("means of runs of B", Align::Right),
        ("change from A (?: not distinguishable)", Align::Left),
        ("total change of a run", Align::Right),
    ];
    let rows = sides.operations.iter().filter_map(|of| {
        let (operation, differences) = sides_words::row(comparison, of);
        let figures = figures(operation)?;
        let mean = differences.call_time_ns.mean.as_ref();
        let total = differences.total_ns.difference;
        let name = operation.communicator.as_deref().unwrap_or("unknown");
        Some([
            Cell::words(&*operation.operation),
            Cell::words(inert::line(name, 60)),
            Cell::words(bytes(figures)),
            Cell::words(sides_words::range(&of.baseline_ns)),
            Cell::words(sides_words::range(&of.other_ns)),
            Cell::words(mean.map_or_else(|| "not known".to_owned(), sides_words::verdict)),
            Cell::number(signed(total), total),
        ])
    });
    viz::Table::new(columns, rows)
}

fn table(comparison: &Comparison) -> viz::Table {
    let columns = [
        ("operation", Align::Left),
        ("communicator", Align::Left),
        ("bytes", Align::Right),
        ("instances", Align::Right),
        ("mean in A", Align::Right),
        ("trace", Align::Left),
        ("change from A (?: not distinguishable)", Align::Left),
        ("total change", Align::Right),
    ];
    let rows = rows(comparison)
        .into_iter()
        .filter_map(|(operation, differences)| {
            let from = operation.traces[0].as_ref()?;
            let to = operation.traces[differences.trace].as_ref()?;
            let mean = from.call_time_ns.as_ref().map(|s| s.mean);
            let total = differences.total_ns.difference;
            let name = operation.communicator.as_deref().unwrap_or("unknown");
            Some([
                Cell::words(&*operation.operation),
                Cell::words(inert::line(name, 60)),
                Cell::words(bytes(from)),
                Cell::words(instances(from.instances, to.instances)),
                known(mean, duration),
                Cell::words(letter(differences.trace)),
                Cell::words(verdict(differences)),
                Cell::number(signed(total), total),
            ])
        });
    viz::Table::new(columns, rows)
}

//! Writes a comparison to files: pictures, the page that shows them, the JSON document.

use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::Comparison;
use collbench_text::{inert, quantity};
use collbench_viz as viz;
use collbench_viz::{Align, Cell, Column, Fact, FigureGroup};

use crate::document::{COMPARISON_SCHEMA, ComparisonDocument, to_json};
use crate::page::{ReportDirectory, ReportError, own_trees, remove_pictures};
use crate::pictures::comparison as pictures;
use crate::screen::comparison::{
    Row, about_not_significant, advice, bytes, instances, total_change_ns, verdict,
};
use crate::words::comparison::{self as words, letter};
use crate::words::difference::signed;
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
        let shown = pictures::of_operation(analyses, operation, row + 1);
        for picture in &shown {
            write(&picture.file, &picture.figure.picture.to_svg())?;
        }
        let index = operation.indexes[0].unwrap_or(0);
        groups.push(FigureGroup {
            heading: crate::pictures::title(&analyses[0], &analyses[0].operations[index]).into(),
            // The first row of the operation.
            row: rows(comparison)
                .iter()
                .position(|(o, _)| std::ptr::eq(*o, operation)),
            finding: statements(operation.differences.iter().map(|d| (operation, d))).into(),
            facts: Vec::new(),
            figures: shown.into_iter().map(|shown| shown.figure).collect(),
        });
    }
    write("index.html", &page(comparison, groups).to_html())?;
    let document = ComparisonDocument::of(comparison, analyses);
    write(DOCUMENT, &to_json(&document))
}

/// All operations with their differences, grouped by operation.
fn rows(comparison: &Comparison) -> Vec<Row<'_>> {
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

fn page(comparison: &Comparison, groups: Vec<FigureGroup>) -> viz::Report {
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
    let facts = comparison
        .traces
        .iter()
        .enumerate()
        .map(|(index, compared)| Fact {
            name: letter(index).into(),
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
        text: words::remark(remark).into(),
    });
    viz::Report {
        title: "collbench: comparison of traces".into(),
        lead: "A is the baseline. Mean times of calls, with 95 % intervals of their change.".into(),
        facts: facts.collect(),
        verdict: verdict.into(),
        remarks: remarks.collect(),
        operations: table(comparison),
        stages: own_trees::differences(comparison),
        groups,
        closing: Vec::new(),
        ..viz::Report::default()
    }
}

fn table(comparison: &Comparison) -> viz::Table {
    let column = |name: &str, align| Column {
        name: name.into(),
        align,
    };
    let columns = [
        column("operation", Align::Left),
        column("communicator", Align::Left),
        column("bytes", Align::Right),
        column("instances", Align::Right),
        column("mean in A", Align::Right),
        column("trace", Align::Left),
        column("change from A (?: not distinguishable)", Align::Left),
        column("total change", Align::Right),
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
                mean.map_or_else(
                    || Cell::words("-"),
                    |mean| Cell::number(quantity::duration(mean), mean),
                ),
                Cell::words(letter(differences.trace)),
                Cell::words(verdict(differences)),
                Cell::number(signed(total), total),
            ])
        });
    viz::Table::new(columns, rows)
}

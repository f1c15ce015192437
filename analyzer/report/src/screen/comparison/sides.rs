//! Two sides of several runs each, on a screen.

use collbench_analyzer::compare::{
    ComparedOperation, Comparison, ComparisonVerdict, Sides, SidesOperation,
};
use collbench_text::inert;

use crate::screen::comparison::{MAX_SITES, only_there, trees};
use crate::screen::lines::{Screen, cell, fitting_lines, table_lines};
use crate::words::changes::{Row, bytes, communicator, figures};
use crate::words::sides as words;

/// Operations shown.
const ROWS: usize = 14;
/// Columns for names of operations and communicators: on wider screens, and on narrow ones.
const NAMES: [[usize; 2]; 4] = [[24, 18], [18, 10], [14, 8], [10, 6]];
/// Sentences on what to look at.
const MAX_SENTENCES: usize = 3;

/// How the sides differ.
pub(super) fn sides(screen: &mut Screen, comparison: &Comparison, sides: &Sides) {
    screen.heading(&format!("B against A, {}", words::runs(sides)));
    screen.fact("run", &words::whole(&sides.duration_ns));
    let mut calls = format!("{} over all ranks", words::whole(&sides.collectives_ns));
    if let Some(wait_ns) = &sides.wait_ns {
        calls += &format!("; waiting {}", words::whole(wait_ns));
    }
    screen.fact("calls", &calls);
    screen.fact("of", &words::counts(sides));
    // Stable: those that differ first, each kind by the change of its total time.
    let mut operations: Vec<&SidesOperation> = sides.operations.iter().collect();
    operations.sort_by_key(|of| match of.differences.verdict {
        ComparisonVerdict::Slower | ComparisonVerdict::Faster => 0,
        ComparisonVerdict::TooFew => 2,
        _ => 1,
    });
    let n_more = operations.len().saturating_sub(ROWS);
    operations.truncate(ROWS);
    if operations.is_empty() {
        screen.item("no operation is in runs of both sides");
    } else {
        let lines = fitting_lines(&NAMES, screen.columns(), |names, is_narrow| {
            table(comparison, &operations, names, is_narrow)
        });
        for line in lines {
            screen.row(&line);
        }
    }
    if n_more > 0 {
        screen.rest(&format!("{n_more} more"));
    }
    let notes = words::about_not_significant(sides).into_iter();
    let changes = words::changes(comparison, sides).into_iter();
    for sentence in notes.chain(only_in(comparison, sides)) {
        screen.item(&sentence);
    }
    let rows = sides.operations.iter();
    let rows: Vec<Row<'_>> = rows.map(|of| words::row(comparison, of)).collect();
    trees::trees(screen, &rows.iter().collect::<Vec<_>>(), ("B", true));
    let all = (changes.take(MAX_SENTENCES))
        .chain(words::what_would_tell(comparison, sides))
        .chain(words::apart(comparison, sides))
        .chain(sides.sites.iter().take(MAX_SITES).map(words::site));
    for sentence in all {
        screen.item(&sentence);
    }
}

/// Operations that runs of one side only have, by time.
fn only_in(comparison: &Comparison, sides: &Sides) -> Vec<String> {
    let has = |row: &&ComparedOperation, side: &[usize]| {
        side.iter().any(|&trace| row.traces[trace].is_some())
    };
    let in_side = |name: &str, side: &[usize]| {
        let rows = sides.only_in.iter().map(|&row| &comparison.operations[row]);
        let mut rows: Vec<&ComparedOperation> = rows.filter(|row| has(row, side)).collect();
        let time = |row: &&ComparedOperation| Some(figures(row)?.call_time_ns.as_ref()?.total);
        rows.sort_by_key(|row| std::cmp::Reverse(time(row)));
        let known = rows.into_iter().filter_map(|row| {
            let communicator = row.communicator.as_deref();
            Some((&*row.operation, communicator, figures(row)?))
        });
        only_there(name, known)
    };
    let found = [in_side("A", &sides.baseline), in_side("B", &sides.other)];
    found.into_iter().flatten().collect()
}

fn table(
    comparison: &Comparison,
    operations: &[&SidesOperation],
    [operation_width, communicator_width]: [usize; 2],
    is_narrow: bool,
) -> Vec<String> {
    let cell = |text| cell(text, is_narrow);
    let heads = [
        "operation".to_owned(),
        "communicator".to_owned(),
        "root".to_owned(),
        "bytes".to_owned(),
        cell("means in A".to_owned()),
        cell("means in B".to_owned()),
        cell("B vs A (95 % interval)".to_owned()),
    ];
    let rows = operations.iter().filter_map(|of| {
        let (operation, differences) = words::row(comparison, of);
        let figures = figures(operation)?;
        let mean = differences.call_time_ns.mean.as_ref();
        Some([
            inert::line(&operation.operation, operation_width),
            communicator(operation, communicator_width),
            (figures.root).map_or_else(|| "-".to_owned(), |root| root.to_string()),
            bytes(figures),
            cell(words::range(&of.baseline_ns)),
            cell(words::range(&of.other_ns)),
            cell(mean.map_or_else(|| "not known".to_owned(), words::verdict)),
        ])
    });
    table_lines(heads, rows, |column| (2..6).contains(&column), Some(5))
}

//! Results to one screen for a person: what is wrong first.
//!
//! Everything that comes from the trace passes through [`inert::line`]; the only escapes are
//! those of the styles here, which the command's output leaves out where they are not wanted.

use std::fmt::Write;
use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{DamageSummary, Remark};
use collbench_stats::integers::sum_ns;
use collbench_text::{inert, quantity};
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::screen::lines::{BOLD, DEFAULT_COLUMNS, Screen, in_two_lines, lines_of};
use crate::words;
use crate::words::advice;

/// Lines of a screen; more only of a trace that is incomplete.
const HEIGHT: usize = 40;
/// Rows of operations shown, at most and at least; the JSON has all.
pub(crate) const MAX_OPERATIONS: usize = 12;
const MIN_OPERATIONS: usize = 6;
/// Lines of what is wrong with the program, of who is late, of what was seen inside, of what else is
/// worth knowing, and of remarks, on a screen of 100 columns.
const MAX_ERRORS: usize = 8;
pub(crate) const MAX_VERDICT: usize = 9;
const MAX_INSIDE: usize = 14;
const MAX_ALSO: usize = 5;
/// Lines of the algorithms in use.
const MAX_ALGORITHMS: usize = 6;
const MAX_REMARKS: usize = 3;
/// Columns for the name of a communicator, as far as there is room, and at least.
const COMMUNICATOR: usize = 18;
const MIN_COMMUNICATOR: usize = 8;
/// Columns for the name of an operation, and for a communicator, on narrow screens, at least.
const MIN_OPERATION: usize = 8;
const MIN_COMMUNICATOR_ID: usize = 4;
/// Lines shown of what is missing, of each kind.
const MAX_MISSING: usize = 8;

/// The screen, 100 columns wide. `report` is where the pictures are, if there are any.
#[must_use]
pub fn to_text(analysis: &Analysis, report: Option<&Path>) -> String {
    to_text_within(analysis, report, DEFAULT_COLUMNS)
}

/// The screen, as [`to_text`] gives it, on a terminal of so many columns.
#[must_use]
pub fn to_text_within(analysis: &Analysis, report: Option<&Path>, columns: usize) -> String {
    let mut before = Screen::new(columns);
    if !analysis.trace.complete {
        missing(&mut before, analysis);
    }
    what_ran(&mut before, analysis);
    if let Some(part) = words::restriction(analysis) {
        before.fact("part", &part);
    }
    if let Some(kept) = words::kept(analysis) {
        before.fact("kept", &kept);
    }
    let errors = errors_of_the_program(analysis).into_iter();
    before.items("Errors of the program", errors, MAX_ERRORS);
    let verdict = words::verdict(analysis);
    before.items("Load imbalance", verdict.into_iter(), MAX_VERDICT);
    let algorithms = words::algorithms::sentences(analysis);
    before.items("Algorithms", algorithms.into_iter(), MAX_ALGORITHMS);
    let inside = words::inside::paragraphs(analysis);
    before.items("Inside collectives", inside.into_iter(), MAX_INSIDE);
    before.items("Also", also(analysis).into_iter(), MAX_ALSO);

    let mut after = before.another();
    let remarks = analysis.remarks.iter();
    let remarks = remarks.filter(|remark| !is_shown_above(remark));
    let remarks: Vec<String> = remarks
        .map(|remark| {
            let sentence = words::remarks::remark(analysis, remark);
            format!("{}: {sentence}", remark.code())
        })
        .collect();
    after.items("Remarks", remarks.into_iter(), MAX_REMARKS);
    if let Some(report) = report {
        after.pictures(&inert::path(&report.join("index.html")));
    }

    // What the table takes beside its rows: an empty line, two of headers, one for the rest.
    let n_others = before.n_lines() + after.n_lines() + 4;
    let n_rows = HEIGHT.saturating_sub(n_others);
    let mut screen = before;
    operations(
        &mut screen,
        analysis,
        n_rows.clamp(MIN_OPERATIONS, MAX_OPERATIONS),
    );
    screen.text + &after.text
}

/// Whether a remark is on calls that contradict one another.
fn is_on_mismatches(remark: &Remark) -> bool {
    matches!(
        remark,
        Remark::Mismatched { .. } | Remark::MismatchedSizes { .. }
    )
}

/// What the program does wrong, also if that had no consequence. Mismatches in a run that hung are
/// described with the hang.
fn errors_of_the_program(analysis: &Analysis) -> Vec<String> {
    let is_error = |remark: &&Remark| {
        matches!(remark, Remark::NeverCompleted { .. })
            || (analysis.hang.is_none() && is_on_mismatches(remark))
    };
    let errors = analysis.remarks.iter().filter(is_error);
    errors
        .map(|remark| words::remarks::remark(analysis, remark))
        .collect()
}

/// Whether a remark is in another part of the screen.
fn is_shown_above(remark: &Remark) -> bool {
    is_on_mismatches(remark)
        || matches!(
            remark,
            Remark::NeverCompleted { .. } | Remark::Waiting { .. } | Remark::Restricted
        )
}

/// What is worth knowing beside who is late: periodic disturbances, outliers, groups of ranks, overlap.
fn also(analysis: &Analysis) -> Vec<String> {
    let disturbances = analysis.disturbances.iter();
    let mut sentences: Vec<String> = disturbances
        .map(|disturbance| advice::disturbance(analysis, disturbance))
        .collect();
    sentences.extend(advice::outliers(analysis));
    sentences.extend(advice::classes(analysis));
    sentences.extend(advice::overlaps(analysis));
    sentences
}

/// What is missing, before anything else: who waits in what for whom, then what each file lacks.
fn missing(screen: &mut Screen, analysis: &Analysis) {
    let until = match &analysis.hang {
        Some(hang) => format!(" (latest time stamp: {})", quantity::duration(hang.end_ns)),
        None => String::new(),
    };
    let covers = format!("The analysis covers what was recorded{until}.");
    screen.alarm("The trace is incomplete.", &covers);
    limited(screen, words::hang::sentences(analysis).into_iter());
    limited(screen, what_lacks(&analysis.trace.damage).into_iter());
    screen.text.push('\n');
}

/// What the files lack, for all ranks of the same finding together.
fn what_lacks(damage: &[DamageSummary]) -> Vec<String> {
    let mut findings: Vec<(&str, Vec<u32>)> = Vec::new();
    let mut sentences = Vec::new();
    let mut n_others = 0;
    for finding in damage {
        let Some(rank) = finding.rank else {
            sentences.push(inert::line(&finding.what, 300));
            continue;
        };
        // The name of the file, in front, is in the JSON.
        let what = finding
            .what
            .split_once(": ")
            .map_or(&*finding.what, |w| w.1);
        let n_known = findings.len();
        match findings.iter_mut().find(|(known, _)| *known == what) {
            Some((_, ranks)) => ranks.push(rank),
            // Of a badly damaged trace not every offset is worth a look.
            None if n_known < 64 => findings.push((what, vec![rank])),
            None => n_others += 1,
        }
    }
    for (what, mut ranks) in findings {
        ranks.dedup();
        sentences.push(format!(
            "{}: {}",
            inert::ranks(&ranks),
            inert::line(what, 300)
        ));
    }
    if n_others > 0 {
        sentences.push(quantity::counted(n_others, "other finding"));
    }
    sentences
}

pub(crate) fn what_ran(screen: &mut Screen, analysis: &Analysis) {
    let trace = &analysis.trace;
    let command: Vec<String> = trace
        .command
        .iter()
        .map(|word| inert::line(word, screen.columns()))
        .collect();
    screen.title(&command.join(" "));
    screen.fact("ran", &words::ran(analysis));
    screen.fact("calls", &words::calls(analysis));
    if let Some(efficiencies) = words::efficiencies::sentence(analysis) {
        screen.fact("POP", &efficiencies);
    }
    screen.fact("clock", &clock(analysis));
    if analysis.clock.hosts.len() > 1 {
        screen.fact("", &words::alignment(&analysis.clock));
    }
    if let Some(phases) = words::phases(analysis) {
        screen.fact("phase", &phases);
    }
    let names = words::names_by_library(analysis, screen.fact_columns());
    for (i, algorithms) in names.iter().enumerate() {
        screen.fact(if i == 0 { "names" } else { "" }, algorithms);
    }
}

fn clock(analysis: &Analysis) -> String {
    let clock = &analysis.clock;
    let granularity = clock.hosts.iter().map(|host| host.granularity_ns).max();
    let mut words = format!(
        "{}, resolution {}",
        clock.source,
        quantity::duration(granularity.unwrap_or(0))
    );
    let error = clock.hosts.iter().filter_map(|host| host.rate_error_ppm);
    if let Some(error) = error.reduce(f64::max) {
        let error = error.max(0.01);
        let _ = write!(words, ", rate within {error:.2} ppm");
    }
    if clock.hosts.len() == 1 {
        let _ = write!(words, "; {}", clock.method);
    }
    words
}

pub(crate) fn operations(screen: &mut Screen, analysis: &Analysis, n_rows: usize) {
    let _ = writeln!(
        screen.text,
        "\n{BOLD}Operations by time{BOLD:#} (summed over all ranks)"
    );
    if analysis.operations.is_empty() {
        let none = if analysis.restriction.is_some() {
            "none in the selected part"
        } else {
            "none was recorded"
        };
        screen.item(none);
        return;
    }
    for line in fitting_lines(analysis, n_rows, screen.columns()) {
        screen.row(&line);
    }
    let rest = &analysis.operations[analysis.operations.len().min(n_rows)..];
    if !rest.is_empty() {
        let time = rest
            .iter()
            .filter_map(|o| Some(o.call_time_ns.as_ref()?.total));
        screen.item(&format!(
            "and {} more, {} in total (each root, communicator and payload has a row of its own)",
            rest.len(),
            quantity::duration(sum_ns(time))
        ));
    }
}

/// The table, at most so many columns wide if possible. On a narrow screen names are shortened, and who
/// arrives last takes two lines.
fn fitting_lines(analysis: &Analysis, n_rows: usize, columns: usize) -> Vec<String> {
    let shown = analysis.operations.iter().take(n_rows);
    let longest = shown.map(|of| of.operation.len()).max().unwrap_or(0);
    let of = |has_two_lines, has_short_names| {
        move |communicator| Layout {
            has_two_lines,
            has_short_names,
            operation: longest,
            communicator,
        }
    };
    let wide = (MIN_COMMUNICATOR..=COMMUNICATOR).rev();
    // The id of a communicator says as much as its name.
    let narrow = (MIN_COMMUNICATOR_ID..=COMMUNICATOR).rev();
    let narrowest = (MIN_OPERATION..longest).rev().map(|operation| Layout {
        operation,
        ..of(true, true)(MIN_COMMUNICATOR_ID)
    });
    let layouts = (wide.clone().map(of(false, false)))
        .chain(wide.map(of(true, false)))
        .chain(narrow.map(of(true, true)))
        .chain(narrowest);
    let mut lines = Vec::new();
    for layout in layouts {
        lines = table(analysis, n_rows, layout);
        if lines.iter().all(|line| inert::columns(line) <= columns) {
            break;
        }
    }
    lines
}

/// How wide a table is.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Who arrives last, and instances with incomplete ones, take further lines.
    has_two_lines: bool,
    /// Operations are without `MPI_`.
    has_short_names: bool,
    /// Columns for names of operations.
    operation: usize,
    /// Columns for names of communicators.
    communicator: usize,
}

impl Layout {
    fn operation(self, name: &str) -> String {
        let short = name.strip_prefix("MPI_").filter(|_| self.has_short_names);
        inert::line(short.unwrap_or(name), self.operation)
    }

    fn arrives_last(self, text: String) -> String {
        match self.has_two_lines {
            true if text.contains(" (") => in_two_lines(&text),
            true => text.replacen(' ', "\n", 1),
            false => text,
        }
    }

    fn instances(self, text: String) -> String {
        if self.has_two_lines {
            text.replace(' ', "\n")
        } else {
            text
        }
    }
}

fn table(analysis: &Analysis, n_rows: usize, layout: Layout) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header([
        "operation",
        if layout.has_short_names {
            "comm."
        } else {
            "communicator"
        },
        "root",
        "bytes",
        "calls",
        "inst.",
        "time",
        "median",
        "waiting",
        if layout.has_two_lines {
            "arrives\nlast"
        } else {
            "arrives last"
        },
    ]);
    for operation in analysis.operations.iter().take(n_rows) {
        let time = operation.call_time_ns.as_ref();
        let instances = match operation.incomplete {
            0 => quantity::short_count(operation.instances),
            n => format!(
                "{} (+{} incomplete)",
                quantity::short_count(operation.instances),
                quantity::short_count(n)
            ),
        };
        table.add_row([
            layout.operation(&operation.operation),
            communicator_cell(analysis, operation.communicator, layout.communicator),
            operation
                .root
                .map_or_else(|| "-".to_owned(), |r| r.to_string()),
            words::bytes(operation),
            quantity::short_count(operation.calls),
            layout.instances(instances),
            time.map_or_else(|| "-".to_owned(), |time| quantity::duration(time.total)),
            time.map_or_else(|| "-".to_owned(), |time| quantity::duration(time.median)),
            words::waiting(operation),
            layout.arrives_last(words::arrivals::cell(analysis, operation)),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 1));
        if (2..9).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines_of(&table)
}

/// A name that fits: the whole, or the shortest that no other communicator has; else the id, and as
/// much of the name as fits behind it.
fn communicator_cell(analysis: &Analysis, id: Option<usize>, width: usize) -> String {
    let name = words::communicator(analysis, id, width + 1);
    let Some(id) = id.filter(|_| inert::columns(&name) > width) else {
        return name;
    };
    let communicators = &analysis.communicators;
    let is_only = |short: &String| {
        let mut alike = communicators
            .iter()
            .filter(|c| short_name(&c.name) == *short);
        alike.next().is_some() && alike.next().is_none()
    };
    let short = communicators.get(id).map(|c| short_name(&c.name));
    let fits = |short: &String| inert::columns(short) <= width && is_only(short);
    if let Some(short) = short
        .map(|short| inert::line(&short, width + 1))
        .filter(fits)
    {
        return short;
    }
    let front = format!("{id}: ");
    let rest = width.saturating_sub(front.len());
    if rest < 4 {
        return id.to_string();
    }
    format!("{front}{}", words::communicator(analysis, Some(id), rest))
}

/// The name of a communicator that has none of its own, without what all such names begin with, and
/// without what it was made of: `split 3` of `MPI_Comm_split 3 of MPI_COMM_WORLD`.
fn short_name(name: &str) -> String {
    let begins = ["MPI_Comm_", "MPI_COMM_", "MPI_"];
    let mut bare = begins.iter().filter_map(|begin| name.strip_prefix(begin));
    let Some(bare) = bare.next() else {
        return name.to_owned();
    };
    bare.split(" of ").next().unwrap_or(bare).to_owned()
}

fn limited(screen: &mut Screen, sentences: impl Iterator<Item = String>) {
    let mut n_more = 0u64;
    for (n, sentence) in sentences.enumerate() {
        if n < MAX_MISSING {
            screen.item(&sentence);
        } else {
            n_more += 1;
        }
    }
    if n_more > 0 {
        screen.item(&format!("and {n_more} more, see analysis.json"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_keeps_what_tells_a_communicator_apart() {
        for (name, short) in [
            ("MPI_Comm_split 12 of MPI_COMM_WORLD", "split 12"),
            ("MPI_Cart_create 1 of communicator 4", "Cart_create 1"),
            ("MPI_COMM_WORLD", "WORLD"),
            ("rows of the matrix", "rows of the matrix"),
        ] {
            assert_eq!(short_name(name), short);
        }
    }
}

//! Results to one screen for a person: 100 columns, what is wrong first.
//!
//! Everything that comes from the trace passes through [`inert::line`]; the only escapes are
//! those of the styles here, which the command's output leaves out where they are not wanted.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use collbench_analyzer::Analysis;
use collbench_analyzer::results::{DamageSummary, Remark};
use collbench_stats::integers::sum_ns;
use collbench_text::{inert, quantity};
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::words;
use crate::words::advice;

pub(crate) const WIDTH: usize = 100;
/// Lines of a screen; more only of a trace that is incomplete.
const HEIGHT: usize = 40;
/// Rows of operations shown, at most and at least; the JSON has all.
pub(crate) const MAX_OPERATIONS: usize = 12;
const MIN_OPERATIONS: usize = 6;
/// Lines of what is wrong with the program, of who is late, of what was seen inside, of what else is
/// worth knowing, and of remarks.
const MAX_ERRORS: usize = 8;
pub(crate) const MAX_VERDICT: usize = 9;
const MAX_INSIDE: usize = 14;
const MAX_ALSO: usize = 5;
/// Lines of how collectives are done.
const MAX_ALGORITHMS: usize = 6;
const MAX_REMARKS: usize = 3;
/// Columns in front of a fact.
const FACT: usize = 8;
/// Columns for the name of a communicator, as far as there is room, and at least.
const COMMUNICATOR: usize = 18;
const MIN_COMMUNICATOR: usize = 8;
/// Lines shown of what is missing, of each kind.
const MAX_MISSING: usize = 8;

pub(crate) const BOLD: Style = Style::new().bold();
const ALARM: Style = AnsiColor::Red.on_default().bold();

/// The screen. `report` is where the pictures are, if there are any.
#[must_use]
pub fn to_text(analysis: &Analysis, report: Option<&Path>) -> String {
    let mut before = String::new();
    if !analysis.trace.complete {
        missing(&mut before, analysis);
    }
    what_ran(&mut before, analysis);
    if let Some(kept) = words::kept(analysis) {
        fact(&mut before, "kept", &kept);
    }
    let errors = errors_of_the_program(analysis).into_iter();
    items(&mut before, "Errors of the program", errors, MAX_ERRORS);
    let verdict = words::verdict(analysis);
    items(
        &mut before,
        "Load imbalance",
        verdict.into_iter(),
        MAX_VERDICT,
    );
    let algorithms = words::overview::algorithms(analysis);
    items(
        &mut before,
        "How collectives are done",
        algorithms.into_iter(),
        MAX_ALGORITHMS,
    );
    let inside = words::inside::paragraphs(analysis);
    items(
        &mut before,
        "Inside the collectives",
        inside.into_iter(),
        MAX_INSIDE,
    );
    items(&mut before, "Also", also(analysis).into_iter(), MAX_ALSO);

    let mut after = String::new();
    let remarks = analysis.remarks.iter();
    let remarks = remarks.filter(|remark| !is_told_above(remark));
    let remarks: Vec<String> = remarks
        .map(|remark| {
            let sentence = words::remarks::remark(analysis, remark);
            format!("{}: {sentence}", remark.code())
        })
        .collect();
    items(&mut after, "Remarks", remarks.into_iter(), MAX_REMARKS);
    if let Some(report) = report {
        let path = inert::path(&report.join("index.html"));
        let _ = writeln!(after, "\n{BOLD}Pictures{BOLD:#}\n  {path}");
    }

    // What the table takes beside its rows: an empty line, two of headers, one for the rest.
    let n_others = before.lines().count() + after.lines().count() + 4;
    let n_rows = HEIGHT.saturating_sub(n_others);
    let mut text = before;
    operations(
        &mut text,
        analysis,
        n_rows.clamp(MIN_OPERATIONS, MAX_OPERATIONS),
    );
    text + &after
}

/// Whether a remark is on calls that contradict one another.
fn is_on_mismatches(remark: &Remark) -> bool {
    matches!(
        remark,
        Remark::Mismatched { .. } | Remark::MismatchedSizes { .. }
    )
}

/// What the program does wrong, whether it went well or not. Of a run that did not,
/// contradictions are told with what hung.
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

/// Whether a remark stands in another part of the screen.
fn is_told_above(remark: &Remark) -> bool {
    is_on_mismatches(remark)
        || matches!(
            remark,
            Remark::NeverCompleted { .. } | Remark::Waiting { .. }
        )
}

/// What is worth knowing beside who is late: rhythms, instances that stick out, groups of ranks.
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

/// A heading and sentences, as many as fit into so many lines; nothing without sentences.
pub(crate) fn items(
    text: &mut String,
    heading: &str,
    sentences: impl ExactSizeIterator<Item = String>,
    max_lines: usize,
) {
    let n = sentences.len();
    let mut n_lines = 0;
    for (index, sentence) in sentences.enumerate() {
        if index == 0 {
            let _ = writeln!(text, "\n{BOLD}{heading}{BOLD:#}");
        }
        let mut lines = String::new();
        item(&mut lines, &sentence);
        // The last line is for how many are left, unless this is the last sentence.
        let room = max_lines - usize::from(index + 1 < n);
        n_lines += lines.lines().count();
        if n_lines > room {
            item(text, "and more, see analysis.json");
            return;
        }
        text.push_str(&lines);
    }
}

/// What is missing, before anything else: who waits in what for whom, then what each file lacks.
fn missing(text: &mut String, analysis: &Analysis) {
    let until = match &analysis.hang {
        Some(hang) => format!(
            ", up to its latest stamp, at {}",
            quantity::duration(hang.end_ns)
        ),
        None => String::new(),
    };
    let _ = writeln!(
        text,
        "{ALARM}The trace is incomplete.{ALARM:#} What follows is what there is{until}."
    );
    limited(text, words::hang::sentences(analysis).into_iter());
    limited(text, what_lacks(&analysis.trace.damage).into_iter());
    text.push('\n');
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

pub(crate) fn what_ran(text: &mut String, analysis: &Analysis) {
    let trace = &analysis.trace;
    let command: Vec<String> = trace
        .command
        .iter()
        .map(|word| inert::line(word, WIDTH))
        .collect();
    let _ = writeln!(
        text,
        "{BOLD}{}{BOLD:#}",
        inert::line(&command.join(" "), WIDTH)
    );
    fact(text, "ran", &words::ran(analysis));
    fact(text, "calls", &words::calls(analysis));
    fact(text, "clock", &clock(analysis));
    if analysis.clock.hosts.len() > 1 {
        fact(text, "", &words::alignment(&analysis.clock));
    }
    if let Some(phases) = words::phases(analysis) {
        fact(text, "phase", &phases);
    }
    let names = words::algorithms(analysis, WIDTH - FACT);
    for (i, algorithms) in names.iter().enumerate() {
        fact(text, if i == 0 { "names" } else { "" }, algorithms);
    }
}

fn clock(analysis: &Analysis) -> String {
    let clock = &analysis.clock;
    let granularity = clock.hosts.iter().map(|host| host.granularity_ns).max();
    let mut words = format!(
        "{}, resolves {}",
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

pub(crate) fn operations(text: &mut String, analysis: &Analysis, n_rows: usize) {
    let _ = writeln!(
        text,
        "\n{BOLD}Operations by time{BOLD:#} (of all ranks together)"
    );
    if analysis.operations.is_empty() {
        let none = if words::is_restricted(analysis) {
            "none in what was asked for"
        } else {
            "none was recorded"
        };
        item(text, none);
        return;
    }
    // Names give way to figures: the id of a communicator says as much.
    let fits = |table: &String| table.lines().all(|line| inert::columns(line) <= WIDTH);
    let widths = (MIN_COMMUNICATOR..=COMMUNICATOR).rev();
    let mut tables = widths.map(|width| table(analysis, n_rows, width));
    let widest = tables.find(fits);
    let table = widest.unwrap_or_else(|| table(analysis, n_rows, MIN_COMMUNICATOR));
    for line in table.lines() {
        let _ = writeln!(text, "{}", inert::line(line, WIDTH));
    }
    let rest = &analysis.operations[analysis.operations.len().min(n_rows)..];
    if !rest.is_empty() {
        let time = rest
            .iter()
            .filter_map(|o| Some(o.call_time_ns.as_ref()?.total));
        item(
            text,
            &format!(
                "and {} more, {} together (another root, communicator or payload is another row)",
                rest.len(),
                quantity::duration(sum_ns(time))
            ),
        );
    }
}

/// The rows, with so many columns for the name of a communicator.
fn table(analysis: &Analysis, n_rows: usize, name_width: usize) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header([
        "operation",
        "communicator",
        "root",
        "bytes",
        "calls",
        "inst.",
        "time",
        "median",
        "waiting",
        "late",
    ]);
    for operation in analysis.operations.iter().take(n_rows) {
        let time = operation.call_time_ns.as_ref();
        let instances = match operation.incomplete {
            0 => quantity::short_count(operation.instances),
            n => format!(
                "{}+{}?",
                quantity::short_count(operation.instances),
                quantity::short_count(n)
            ),
        };
        table.add_row([
            operation.operation.to_string(),
            communicator_cell(analysis, operation.communicator, name_width),
            operation
                .root
                .map_or_else(|| "-".to_owned(), |r| r.to_string()),
            words::bytes(operation),
            quantity::short_count(operation.calls),
            instances,
            time.map_or_else(|| "-".to_owned(), |time| quantity::duration(time.total)),
            time.map_or_else(|| "-".to_owned(), |time| quantity::duration(time.median)),
            words::waiting(operation),
            words::mostly_last(analysis, operation),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 1));
        if (2..9).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines();
    lines.fold(String::new(), |text, line| text + line.trim_end() + "\n")
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
    if let Some(short) = short.map(|short| inert::line(&short, WIDTH)).filter(fits) {
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

pub(crate) fn fact(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(
        text,
        "{}",
        inert::line(&format!("  {name:<width$}{value}", width = FACT - 2), WIDTH)
    );
}

fn limited(text: &mut String, sentences: impl Iterator<Item = String>) {
    let mut n_more = 0u64;
    for (n, sentence) in sentences.enumerate() {
        if n < MAX_MISSING {
            item(text, &sentence)
        } else {
            n_more += 1
        }
    }
    if n_more > 0 {
        item(text, &format!("and {n_more} more, see the JSON"));
    }
}

/// A sentence, broken at spaces (and within words that fill a line), behind a dash.
pub(crate) fn item(text: &mut String, sentence: &str) {
    let mut line = String::from("  -");
    let mut width = 3;
    for mut word in unbroken(sentence) {
        loop {
            let columns = inert::columns(&word);
            if width + 1 + columns <= WIDTH {
                width += 1 + columns;
                line.push(' ');
                line.push_str(&word);
                break;
            }
            // Only a word that no line could hold is cut.
            let rest = if 4 + columns > WIDTH {
                line.push(' ');
                cut(&mut word, &mut line, WIDTH - width - 1)
            } else {
                word
            };
            let _ = writeln!(text, "{}", line.trim_end());
            (line, width, word) = (String::from("   "), 3, rest);
        }
    }
    let _ = writeln!(text, "{line}");
}

/// The words of a sentence, each number together with its unit.
fn unbroken(sentence: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(number)
                if UNITS.contains(&bare) && number.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// What is not to stand at the begin of a line, without its number.
const UNITS: [&str; 6] = ["%", "ns", "us", "ms", "s", "ppm"];

/// Moves what fits into so many columns from a word to a line; gives the rest.
fn cut(word: &mut String, line: &mut String, columns: usize) -> String {
    let mut left = columns;
    let mut end = word.len();
    for (at, c) in word.char_indices() {
        let column = inert::columns(c.encode_utf8(&mut [0; 4]));
        match left.checked_sub(column) {
            Some(rest) => left = rest,
            None => {
                end = at;
                break;
            }
        }
    }
    let rest = word.split_off(end);
    line.push_str(word);
    rest
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

    #[test]
    fn a_line_does_not_begin_with_the_unit_of_a_number() {
        for n_before in 60..100 {
            let mut text = String::new();
            let before = "x".repeat(n_before - 10);
            item(
                &mut text,
                &format!("{before} it took 2.58 us, 37 % (12 ms) more."),
            );
            for line in text.lines() {
                let first = line.trim_start_matches([' ', '-']);
                let is_unit = ["us,", "%", "ms)"]
                    .iter()
                    .any(|unit| first.starts_with(unit));
                assert!(!is_unit && inert::columns(line) <= WIDTH, "{text}");
            }
        }
    }
}

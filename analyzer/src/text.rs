//! Results to one screen for a person: 100 columns, what is wrong first.
//!
//! Everything that comes from the trace passes through [`inert::line`]; the only escapes are
//! those of the styles here, which the command's output leaves out where they are not wanted.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::analysis::{Analysis, DamageSummary, UnfinishedSummary};
use crate::inert;
use crate::sums::sum_ns;
use crate::words;

const WIDTH: usize = 100;
/// Rows of operations shown; the JSON has all.
const MAX_OPERATIONS: usize = 12;
/// Lines shown of what is missing, of each kind.
const MAX_MISSING: usize = 8;

const BOLD: Style = Style::new().bold();
const ALARM: Style = AnsiColor::Red.on_default().bold();

/// The screen. `report` is where the pictures are, if there are any.
#[must_use]
pub fn to_text(analysis: &Analysis, report: Option<&Path>) -> String {
    let mut text = String::new();
    if !analysis.trace.complete {
        missing(&mut text, analysis);
    }
    what_ran(&mut text, analysis);
    operations(&mut text, analysis);
    let _ = writeln!(text, "\n{BOLD}Load imbalance{BOLD:#}");
    for sentence in words::verdict(analysis) {
        item(&mut text, &sentence);
    }
    if !analysis.remarks.is_empty() {
        let _ = writeln!(text, "\n{BOLD}Remarks{BOLD:#}");
        for remark in &analysis.remarks {
            item(&mut text, &format!("{}: {}", remark.code, remark.text));
        }
    }
    if let Some(report) = report {
        let index = report.join("index.html");
        let path = inert::line(&index.to_string_lossy(), 4096);
        let _ = writeln!(text, "\n{BOLD}Pictures{BOLD:#}\n  {path}");
    }
    text
}

/// What is missing, before anything else: who waits in what for whom, then what each file lacks.
fn missing(text: &mut String, analysis: &Analysis) {
    let _ = writeln!(
        text,
        "{ALARM}The trace is incomplete.{ALARM:#} What follows is what there is."
    );
    let unfinished = analysis.unfinished.iter().filter(|u| !u.inside.is_empty());
    limited(text, unfinished.map(|u| who_waits(analysis, u)));
    limited(text, what_lacks(&analysis.trace.damage).into_iter());
    let calls = analysis.trace.damage.iter();
    limited(text, calls.filter_map(|finding| was_in(analysis, finding)));
    text.push('\n');
}

fn who_waits(analysis: &Analysis, unfinished: &UnfinishedSummary) -> String {
    let mut sentence = format!(
        "{} in {} (call {} on {}{})",
        inert::ranks(&unfinished.inside),
        unfinished.operations.join(", "),
        unfinished.sequence,
        words::communicator(analysis, Some(unfinished.communicator), 40),
        if unfinished.internal {
            ", by the MPI library itself"
        } else {
            ""
        },
    );
    if !unfinished.never_came.is_empty() {
        let _ = write!(
            sentence,
            "; {} never came",
            inert::ranks(&unfinished.never_came)
        );
    }
    if !unfinished.left.is_empty() {
        let _ = write!(sentence, "; {} had left", inert::ranks(&unfinished.left));
    }
    if unfinished.no_file > 0 {
        let others = words::counted(unfinished.no_file, "other process");
        let _ = write!(
            sentence,
            "; of {} there is no file",
            others.replace("processs", "processes")
        );
    }
    sentence
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
        sentences.push(words::counted(n_others, "other finding"));
    }
    sentences
}

/// A call under way that belongs to no instance shown: MPI_Abort, say.
fn was_in(analysis: &Analysis, finding: &DamageSummary) -> Option<String> {
    let call = finding
        .in_flight
        .as_ref()
        .filter(|call| call.sequence.is_none())?;
    let on = match call.communicator {
        Some(_) => format!(
            " on {}",
            words::communicator(analysis, call.communicator, 40)
        ),
        None => String::new(),
    };
    Some(format!(
        "{} in {}{on}",
        inert::ranks(&[finding.rank?]),
        call.operation
    ))
}

fn what_ran(text: &mut String, analysis: &Analysis) {
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
}

fn clock(analysis: &Analysis) -> String {
    let clock = &analysis.clock;
    let granularity = clock.hosts.iter().map(|host| host.granularity_ns).max();
    let mut words = format!(
        "{}, resolves {}",
        clock.source,
        words::duration(granularity.unwrap_or(0))
    );
    let error = clock.hosts.iter().filter_map(|host| host.rate_error_ppm);
    if let Some(error) = error.reduce(f64::max) {
        let error = error.max(0.01);
        let _ = write!(words, ", rate within {error:.2} ppm");
    }
    let _ = write!(words, "; {}", clock.method);
    words
}

fn operations(text: &mut String, analysis: &Analysis) {
    let _ = writeln!(
        text,
        "\n{BOLD}Operations by time{BOLD:#} (of all ranks together)"
    );
    if analysis.operations.is_empty() {
        item(text, "none was recorded");
        return;
    }
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
    for operation in analysis.operations.iter().take(MAX_OPERATIONS) {
        let time = operation.call_time_ns.as_ref();
        let instances = match operation.incomplete {
            0 => operation.instances.to_string(),
            n => format!("{}+{n}?", operation.instances),
        };
        table.add_row([
            operation.operation.to_owned(),
            communicator_cell(analysis, operation.communicator),
            operation
                .root
                .map_or_else(|| "-".to_owned(), |r| r.to_string()),
            words::bytes(operation),
            operation.calls.to_string(),
            instances,
            time.map_or_else(|| "-".to_owned(), |time| words::duration(time.total)),
            time.map_or_else(|| "-".to_owned(), |time| words::duration(time.median)),
            words::waiting(analysis, operation),
            words::mostly_last(analysis, operation),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 1));
        if (2..9).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let rest = &analysis.operations[analysis.operations.len().min(MAX_OPERATIONS)..];
    if !rest.is_empty() {
        let time = rest
            .iter()
            .filter_map(|o| Some(o.call_time_ns.as_ref()?.total));
        item(
            text,
            &format!(
                "and {} more, {} together (another root, communicator or payload is another row)",
                rest.len(),
                words::duration(sum_ns(time))
            ),
        );
    }
}

/// A name that fits, or as much as fits behind the id, so that two cut names are told apart.
fn communicator_cell(analysis: &Analysis, id: Option<usize>) -> String {
    const CELL: usize = 18;
    let name = words::communicator(analysis, id, CELL + 1);
    match id {
        Some(id) if name.chars().count() > CELL => {
            let front = format!("{id}: ");
            let rest = CELL.saturating_sub(front.len());
            format!("{front}{}", words::communicator(analysis, Some(id), rest))
        }
        _ => name,
    }
}

fn fact(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<6}{value}");
}

fn limited(text: &mut String, sentences: impl Iterator<Item = String>) {
    let mut n_more = 0u64;
    for (n, sentence) in sentences.enumerate() {
        match n < MAX_MISSING {
            true => item(text, &sentence),
            false => n_more += 1,
        }
    }
    if n_more > 0 {
        item(text, &format!("and {n_more} more, see the JSON"));
    }
}

/// A sentence, broken at spaces, behind a dash.
fn item(text: &mut String, sentence: &str) {
    let mut line = String::from("  -");
    for word in sentence.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > 4 {
            let _ = writeln!(text, "{line}");
            line = String::from("   ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

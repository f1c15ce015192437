//! A report as text for a terminal.

use std::fmt::Write;
use std::ops::Range;

use collbench_text::inert;
use collbench_text::quantity::{counted, grouped};
use comfy_table::{CellAlignment, Table, TableStyle};

use crate::decision::{DecidedBy, Decision};
use crate::explain::Explained;
use crate::report::{Differences, Report};
use crate::rules::Changed;

/// Columns of the longest name that is shown whole.
const WIDTH: usize = 100;

impl Report<'_> {
    /// The text: problems first, each with its place, then what decides the calls.
    #[must_use]
    pub fn to_text(&self) -> String {
        let file = &self.file;
        let mut text = format!("{file}: {}, read as by {}\n", self.format, self.library);
        for note in &self.notes {
            let _ = writeln!(text, "{}", inert::line(note, 400));
        }
        if let Some((at, why)) = &self.ignored {
            let why = inert::line(why, WIDTH);
            let _ = writeln!(text, "{file}:{at}: {why}");
        }
        if self.problems.is_empty() {
            text += "nothing wrong\n";
        } else {
            let n = counted(self.problems.len() as u64, "problem");
            let _ = writeln!(text, "\n{n}");
        }
        for problem in &self.problems {
            let _ = writeln!(
                text,
                "{file}:{}: {}\n    {}",
                problem.at,
                inert::line(&problem.what, 300),
                inert::line(&problem.effect, 300)
            );
            if let Some(instead) = &problem.instead {
                let _ = writeln!(text, "    instead: {}", inert::line(instead, 300));
            }
        }
        if let Some(calls) = &self.calls {
            text += "\n";
            text += &calls_to_text(calls);
        }
        text
    }
}

impl Differences<'_> {
    /// The text: the calls that are decided differently.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, (file, library)) in [("old", &self.old), ("new", &self.new)] {
            let _ = writeln!(text, "{name}: {file}, read as by {library}");
        }
        if self.changes.is_empty() {
            let n = counted(self.calls, "call");
            let _ = writeln!(text, "nothing changes for the {n} of the trace");
            return text;
        }
        let head = [
            "operation",
            "processes",
            "bytes of one",
            "calls",
            "old",
            "new",
        ];
        let mut rows = Vec::new();
        let mut remarks = Remarks::default();
        let is_same_change = |one: &Changed<'_>, next: &Changed<'_>| {
            is_alike(&one.old, &next.old) && one.new.decision == next.new.decision
        };
        for alike in self.changes.chunk_by(is_same_change) {
            let Changed { old, new } = &alike[0];
            let class = old.class;
            let last = alike[alike.len() - 1].old.bytes.1;
            let olds: Vec<_> = alike.iter().map(|change| &change.old).collect();
            rows.push([
                class.operation.name().to_owned(),
                class.n_processes.to_string(),
                range((old.bytes.0, last)),
                calls(&olds),
                with_line(old, &mut remarks),
                with_line(new, &mut remarks),
            ]);
        }
        text + &table(head, rows, 1..4) + &remarks.to_text()
    }
}

/// What follows, and the line that decides it.
fn with_line(explained: &Explained<'_>, remarks: &mut Remarks) -> String {
    let follows = follows(&explained.decision, remarks);
    match explained.decision.line {
        Some(line) => format!("{follows} (line {line})"),
        None => follows,
    }
}

/// Rows of calls. Neighbouring classes that are decided alike, and ran alike, have one row.
fn calls_to_text(all: &[Explained<'_>]) -> String {
    if all.is_empty() {
        return "the trace has no collectives on known communicators\n".to_owned();
    }
    let head = [
        "operation",
        "processes",
        "bytes of one",
        "size in file",
        "calls",
        "line",
        "follows",
        "ran",
    ];
    let mut rows = Vec::new();
    let mut remarks = Remarks::default();
    for alike in all.chunk_by(|one, next| is_alike(one, next)) {
        let first = &alike[0];
        let class = first.class;
        let of = |ends: &dyn Fn(&Explained<'_>) -> Option<(u64, u64)>| {
            let least = alike.iter().filter_map(|one| Some(ends(one)?.0)).min();
            let most = alike.iter().filter_map(|one| Some(ends(one)?.1)).max();
            least.zip(most).map_or_else(|| "-".to_owned(), range)
        };
        let line = first.decision.line;
        rows.push([
            class.operation.name().to_owned(),
            class.n_processes.to_string(),
            of(&|one| Some(one.bytes)),
            of(&|one| one.size),
            calls(&alike.iter().collect::<Vec<_>>()),
            line.map_or_else(|| "-".to_owned(), |line| line.to_string()),
            follows(&first.decision, &mut remarks),
            class.ran.clone().unwrap_or_else(|| "unknown".to_owned()),
        ]);
    }
    table(head, rows, 1..6) + &remarks.to_text()
}

fn is_alike(one: &Explained<'_>, next: &Explained<'_>) -> bool {
    let of = |explained: &Explained<'_>| {
        let class = explained.class;
        (class.operation, class.n_processes)
    };
    of(one) == of(next) && one.decision == next.decision && one.class.ran == next.class.ran
}

/// The calls of classes, and whether these are parts of them.
fn calls(all: &[&Explained<'_>]) -> String {
    let n: u64 = all.iter().map(|one| one.class.calls).sum();
    let of = if all.iter().all(|one| one.is_whole) {
        ""
    } else {
        "of "
    };
    format!("{of}{}", grouped(n))
}

/// What follows from a decision, with the numbers of remarks.
fn follows(decision: &Decision, remarks: &mut Remarks) -> String {
    let mut text = match (&decision.algorithm, &decision.by) {
        (Some(algorithm), DecidedBy::Failure(_)) => format!("{algorithm}, fails"),
        (None, DecidedBy::Failure(_)) => "fails".to_owned(),
        (Some(algorithm), _) => match &decision.replaced_by {
            Some(other) => format!("{other} (for {algorithm})"),
            None => algorithm.clone(),
        },
        (None, DecidedBy::Component(_)) => "another component".to_owned(),
        (None, _) => "library's choice".to_owned(),
    };
    let why = (decision.by != DecidedBy::Rule).then(|| decision.by.to_string());
    for remark in why.into_iter().chain(decision.depends.clone()) {
        let _ = write!(text, " [{}]", remarks.number(remark));
    }
    text
}

/// Remarks on rows, by number.
#[derive(Default)]
struct Remarks(Vec<String>);

impl Remarks {
    fn number(&mut self, remark: String) -> usize {
        let known = self.0.iter().position(|known| *known == remark);
        let nth = known.unwrap_or_else(|| {
            self.0.push(remark);
            self.0.len() - 1
        });
        nth + 1
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        for (nth, remark) in self.0.iter().enumerate() {
            let _ = writeln!(text, "[{}] {}", nth + 1, inert::line(remark, 400));
        }
        text
    }
}

/// A table whose cells are without control characters; `numbers` are its columns of numbers.
fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>, numbers: Range<usize>) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(head);
    let rows = rows.into_iter();
    table.add_rows(rows.map(|row| row.map(|cell| inert::line(&cell, WIDTH))));
    for (nth, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if numbers.contains(&nth) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines();
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn range((least, most): (u64, u64)) -> String {
    if least == most {
        grouped(least)
    } else {
        format!("{}-{}", grouped(least), grouped(most))
    }
}

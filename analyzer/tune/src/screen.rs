//! A report as text for a terminal.

use std::fmt::Write;

use collbench_text::inert;
use collbench_text::quantity::{counted, grouped};

use crate::decision::DecidedBy;
use crate::explain::Explained;
use crate::report::Report;

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
            let _ = writeln!(
                text,
                "{file}:{at}: the library ignores the whole file, without a word: {why}"
            );
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

/// Rows of calls.
fn calls_to_text(calls: &[Explained<'_>]) -> String {
    if calls.is_empty() {
        return "no collective of the trace has rules\n".to_owned();
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
    let mut rows = vec![head.map(str::to_owned)];
    let mut remarks = Vec::new();
    for explained in calls {
        let class = explained.class;
        let decision = &explained.decision;
        let mut follows = match (&decision.algorithm, &decision.by) {
            (Some(algorithm), DecidedBy::Failure(_)) => format!("{algorithm}, fails"),
            (None, DecidedBy::Failure(_)) => "fails".to_owned(),
            (Some(algorithm), _) => match &decision.replaced_by {
                Some(other) => format!("{other} (for {algorithm})"),
                None => algorithm.clone(),
            },
            (None, DecidedBy::Component(_)) => "another component".to_owned(),
            (None, _) => "library's choice".to_owned(),
        };
        let mut notes = Vec::new();
        if decision.by != DecidedBy::Rule {
            notes.push(decision.by.to_string());
        }
        notes.extend(decision.depends.clone());
        for note in notes {
            let nth = remarks.iter().position(|known| *known == note);
            let nth = nth.unwrap_or_else(|| {
                remarks.push(note);
                remarks.len() - 1
            });
            let _ = write!(follows, " [{}]", nth + 1);
        }
        rows.push([
            class.operation.name().to_owned(),
            class.n_processes.to_string(),
            range(explained.bytes),
            explained.size.map_or_else(|| "-".to_owned(), range),
            if explained.is_whole {
                grouped(class.calls)
            } else {
                format!("of {}", grouped(class.calls))
            },
            decision
                .line
                .map_or_else(|| "-".to_owned(), |line| line.to_string()),
            follows,
            class.ran.clone().unwrap_or_else(|| "unknown".to_owned()),
        ]);
    }
    let mut text = String::new();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().map(|row| inert::columns(&row[column]));
            cells.max().unwrap_or(0).min(WIDTH)
        })
        .collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = inert::line(cell, WIDTH);
            let missing = " ".repeat(width.saturating_sub(inert::columns(&cell)));
            let is_number = (1..=5).contains(&column);
            line += &if is_number {
                format!("{missing}{cell}  ")
            } else {
                format!("{cell}{missing}  ")
            };
        }
        text += line.trim_end();
        text += "\n";
    }
    for (nth, remark) in remarks.iter().enumerate() {
        let _ = writeln!(text, "[{}] {}", nth + 1, inert::line(remark, 400));
    }
    text
}

fn range((least, most): (u64, u64)) -> String {
    if least == most {
        grouped(least)
    } else {
        format!("{}-{}", grouped(least), grouped(most))
    }
}

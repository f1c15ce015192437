//! The lines of a screen: headings, facts and sentences, wrapped at its width.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use collbench_text::inert;
use comfy_table::{CellAlignment, Row, Table, TableStyle};

/// Columns of a screen whose terminal is not known, such as a file.
pub const DEFAULT_COLUMNS: usize = 100;
/// Below, hardly a word fits; above, lines are tedious to read.
const COLUMNS: (usize, usize) = (40, 120);

/// Columns before a fact.
const FACT: usize = 8;

pub(crate) const BOLD: Style = Style::new().bold();
const ALARM: Style = AnsiColor::Red.on_default().bold();

/// How many sentences are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Lines for them, of 100 columns.
    pub(crate) n_lines: usize,
    /// The first ones that are shown however long they are: one at least.
    pub(crate) n_always: usize,
}

impl Room {
    /// Room for so many lines, and for the first sentence in any case.
    pub(crate) fn of(n_lines: usize) -> Self {
        Self {
            n_lines,
            n_always: 1,
        }
    }
}

/// A screen that is being written.
///
/// Sentences are inert already: what comes from a trace has passed through [`inert::line`].
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) text: String,
    columns: usize,
    /// Where what there is no room for is to be seen; empty where it is only counted.
    rest_is_in: String,
}

impl Screen {
    /// An empty one of so many columns, or as near to that as can be read.
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            text: String::new(),
            columns: columns.clamp(COLUMNS.0, COLUMNS.1),
            rest_is_in: String::new(),
        }
    }

    /// Says where what there is no room for is to be seen.
    pub(crate) fn with_rest_in(self, rest_is_in: String) -> Self {
        Self { rest_is_in, ..self }
    }

    /// An empty one of the same width, with the rest at the same place.
    pub(crate) fn another(&self) -> Self {
        Self::new(self.columns).with_rest_in(self.rest_is_in.clone())
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Columns for the value of a fact.
    pub(crate) fn fact_columns(&self) -> usize {
        self.columns - FACT
    }

    pub(crate) fn n_lines(&self) -> usize {
        self.text.lines().count()
    }

    /// A line in bold, cut at the width.
    pub(crate) fn title(&mut self, title: &str) {
        let title = inert::line(title, self.columns);
        let _ = writeln!(self.text, "{BOLD}{title}{BOLD:#}");
    }

    /// An empty line and a heading.
    pub(crate) fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.text, "\n{BOLD}{heading}{BOLD:#}");
    }

    /// A heading and the path of a page.
    pub(crate) fn pictures(&mut self, path: &str) {
        self.heading("Pictures");
        let _ = writeln!(self.text, "  {path}");
    }

    /// A line of a table, which fits as far as that is possible; on a narrow terminal the rest goes on in the
    /// next line.
    pub(crate) fn row(&mut self, line: &str) {
        let columns = self.columns.max(DEFAULT_COLUMNS);
        let _ = writeln!(self.text, "{}", inert::line(line, columns));
    }

    /// A short name, and what is known under it.
    pub(crate) fn fact(&mut self, name: &str, value: &str) {
        let name = format!("  {name:<width$}", width = FACT - 3);
        self.wrapped(name, FACT - 1, &inert::line(value, usize::MAX));
    }

    /// A sentence, behind a dash.
    pub(crate) fn item(&mut self, sentence: &str) {
        self.wrapped("  -".to_owned(), 3, sentence);
    }

    /// What there is no room for, and where it is to be seen.
    pub(crate) fn rest(&mut self, what: &str) {
        let rest = match &*self.rest_is_in {
            "" => format!("and {what}"),
            place => format!("and {what}: see {place}"),
        };
        self.item(&rest);
    }

    /// A heading and sentences, as many as there is room for; nothing without sentences.
    pub(crate) fn items(&mut self, heading: &str, sentences: &[String], room: Room) {
        let max_lines = match self.columns {
            DEFAULT_COLUMNS.. => room.n_lines,
            // Shorter lines hold less than in proportion: each ends with a word that did not fit.
            columns => (room.n_lines * DEFAULT_COLUMNS).div_ceil(columns) + 1,
        };
        let n = sentences.len();
        let mut n_lines = 0;
        for (index, sentence) in sentences.iter().enumerate() {
            if index == 0 {
                self.heading(heading);
            }
            let mut lines = self.another();
            lines.item(sentence);
            // The last line is for how many are left, unless this is the last sentence.
            let left = max_lines - usize::from(index + 1 < n);
            n_lines += lines.n_lines();
            if n_lines > left && index >= room.n_always.max(1) {
                self.rest(&rest(&sentences[index..]));
                return;
            }
            self.text.push_str(&lines.text);
        }
    }

    /// A sentence that begins with an alarm.
    pub(crate) fn alarm(&mut self, alarm: &str, sentence: &str) {
        let mut plain = self.another();
        plain.wrapped(alarm.to_owned(), 1, sentence);
        let styled = format!("{ALARM}{alarm}{ALARM:#}");
        self.text += &plain.text.replacen(alarm, &styled, 1);
    }

    /// A sentence behind a prefix, broken at blanks (and within words that fill a line); further lines
    /// begin below column `indent`.
    fn wrapped(&mut self, prefix: String, indent: usize, sentence: &str) {
        let mut width = inert::columns(&prefix);
        let mut line = prefix;
        for mut word in unbroken(sentence) {
            loop {
                let columns = inert::columns(&word);
                if width + 1 + columns <= self.columns {
                    width += 1 + columns;
                    line.push(' ');
                    line.push_str(&word);
                    break;
                }
                // Only a word that no line could hold is cut.
                let rest = if indent + 1 + columns > self.columns {
                    line.push(' ');
                    cut(&mut word, &mut line, self.columns - width - 1)
                } else {
                    word
                };
                let _ = writeln!(self.text, "{}", line.trim_end());
                (line, width, word) = (" ".repeat(indent), indent, rest);
            }
        }
        let _ = writeln!(self.text, "{line}");
    }
}

/// Sentences that there is no room for: what they are about, where they begin with that, and how many there are.
fn rest(sentences: &[String]) -> String {
    let about = |sentence: &String| {
        let (about, _) = sentence.split_once(": ")?;
        let is_about_operation = about.starts_with("MPI_") && inert::columns(about) <= MAX_ABOUT;
        is_about_operation.then(|| about.to_owned())
    };
    let mut named: Vec<String> = sentences.iter().map_while(about).take(MAX_NAMED).collect();
    match sentences.len() - named.len() {
        0 => {}
        n if named.is_empty() => named.push(format!("{n} more")),
        n => named.push(format!("{n} others")),
    }
    named.join("; ")
}

/// What is named of sentences that there is no room for.
const MAX_NAMED: usize = 3;
/// Columns for what a sentence is about.
const MAX_ABOUT: usize = 60;

/// A cell in two lines: what is in parentheses in the second.
pub(crate) fn in_two_lines(cell: &str) -> String {
    cell.replacen(" (", "\n(", 1)
}

/// A cell as it is, or in two lines where there is little room.
pub(crate) fn cell(text: String, is_narrow: bool) -> String {
    if is_narrow { in_two_lines(&text) } else { text }
}

/// The lines of a table, some of whose columns hold numbers. A wider gap keeps the column `apart` from the next one.
pub(crate) fn table_lines(
    heads: impl Into<Row>,
    rows: impl IntoIterator<Item: Into<Row>>,
    has_numbers: impl Fn(usize) -> bool,
    apart: Option<usize>,
) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    table.set_header(heads);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        let after = if apart == Some(index) { 2 } else { 1 };
        column.set_padding((if index == 0 { 2 } else { 0 }, after));
        if has_numbers(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// The lines of a table, at most so many columns wide if possible: with the first of these widths of names that fits; cells
/// take one line, or else (`true`) two.
pub(crate) fn fitting_lines<W: Copy>(
    widths: &[W],
    columns: usize,
    lines: impl Fn(W, bool) -> Vec<String>,
) -> Vec<String> {
    let mut fitting = Vec::new();
    for is_narrow in [false, true] {
        for &width in widths {
            fitting = lines(width, is_narrow);
            if fitting.iter().all(|line| line.chars().count() <= columns) {
                return fitting;
            }
        }
    }
    fitting
}

/// The words of a sentence, each number together with its unit, and what it equals with a number.
fn unbroken(sentence: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(before) if word == "=" || before.ends_with(" =") => {
                before.push(' ');
                before.push_str(word);
            }
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

/// What does not begin a line, without its number.
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
    fn a_line_does_not_begin_with_the_unit_of_a_number() {
        for columns in [60, 80, 100, 120] {
            for n_before in columns - 40..columns {
                let mut screen = Screen::new(columns);
                let before = "x".repeat(n_before - 10);
                screen.item(&format!("{before} it took 2.58 us, 37 % (12 ms) more."));
                for line in screen.text.lines() {
                    let first = line.trim_start_matches([' ', '-']);
                    let is_unit = ["us,", "%", "ms)"]
                        .iter()
                        .any(|unit| first.starts_with(unit));
                    assert!(
                        !is_unit && inert::columns(line) <= columns,
                        "{}",
                        screen.text
                    );
                }
            }
        }
    }

    #[test]
    fn sentences_without_room_are_counted_and_named_by_what_they_are_about() {
        let long = |about: &str| format!("{about}: {}", "word ".repeat(60));
        let shown = |sentences: &[String], room: Room| {
            let mut screen = Screen::new(100).with_rest_in("r/index.html".to_owned());
            screen.items("Inside", sentences, room);
            screen.text
        };
        let sentences = ["MPI_Bcast on a", "MPI_Scan on b", "MPI_Reduce on c"].map(long);
        let text = shown(&sentences, Room::of(5));
        assert!(text.contains("MPI_Bcast on a: word"), "{text}");
        let rest = "  - and MPI_Scan on b; MPI_Reduce on c: see r/index.html\n";
        assert!(text.ends_with(rest), "{text}");
        // The first is shown however long it is, and so many more as are asked for.
        let text = shown(&sentences[..2], Room::of(1));
        assert!(text.contains("MPI_Bcast on a: word"), "{text}");
        let all = Room {
            n_lines: 1,
            n_always: 3,
        };
        assert!(!shown(&sentences, all).contains("see r/index.html"));
        let text = shown(&["one", "other"].map(long), Room::of(2));
        assert!(
            text.ends_with("  - and 1 more: see r/index.html\n"),
            "{text}"
        );
        let mut nowhere = Screen::new(100);
        nowhere.items("Inside", &["one", "other"].map(long), Room::of(2));
        assert!(nowhere.text.ends_with("  - and 1 more\n"), "{text}");
    }

    #[test]
    fn a_long_fact_goes_on_below_its_value() {
        let mut screen = Screen::new(60);
        screen.fact("clock", &"raw ".repeat(20));
        let expected = "  clock raw raw raw raw raw raw raw raw raw raw raw raw raw\n\
                        \x20       raw raw raw raw raw raw raw";
        assert_eq!(screen.text.trim_end(), expected);
    }
}

//! What is wrong with a tree file, and where.

use std::fmt;
use std::ops::Range;

/// Something that is wrong at one place of a tree file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was found.
    pub found: String,
    /// What was expected, or what to do.
    pub remedy: String,
}

impl Problem {
    /// At the begin of a range of bytes of a text.
    pub(crate) fn at(
        text: &Lines<'_>,
        span: Range<usize>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (line, column) = text.place(span.start);
        Self {
            line,
            column,
            found: found.into(),
            remedy: remedy.into(),
        }
    }
}

/// A text whose lines are known, so that a place in it is found fast: a tree that is spelled out has
/// thousands.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// Where each line begins, in bytes; the first one is 0.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    /// Line and column of a byte, both from 1; the column is in characters.
    pub(crate) fn place(&self, byte: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= byte);
        let start = self.starts[line - 1];
        let before = self.text.get(start..byte).unwrap_or("");
        (line as u32, 1 + before.chars().count() as u32)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            found,
            remedy,
        } = self;
        write!(f, "{line}:{column}: {found}; {remedy}")
    }
}

/// Everything that is wrong with a tree file, in the order of its lines; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

/// The name among `known` that is spelled most like `given`, if one is at all.
pub(crate) fn nearest<'k>(given: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let given = given.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&given, &name.to_lowercase());
    // A third of the letters may be wrong.
    let near = known.map(|name| (distance(name), name));
    let near = near.filter(|(wrong, name)| *wrong <= name.chars().count().max(3) / 3);
    near.min().map(|(_, name)| name)
}

/// `did you mean "shape"?`, or what there is to choose from.
pub(crate) fn suggestion<'k>(given: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match nearest(given, known.clone()) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => format!("expected {}", one_of(known)),
    }
}

/// `a, b or c`.
pub(crate) fn one_of<'k>(names: impl Iterator<Item = &'k str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
    }
}

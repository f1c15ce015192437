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
    /// At the begin of a range of bytes of the text.
    pub(crate) fn at(
        text: &str,
        span: Range<usize>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = 1 + before.matches('\n').count();
        let in_line = before.rsplit('\n').next().unwrap_or("");
        Self {
            line: line as u32,
            column: 1 + in_line.chars().count() as u32,
            found: found.into(),
            remedy: remedy.into(),
        }
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

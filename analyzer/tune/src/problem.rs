//! What is wrong with a rule file, and where.

use std::fmt;

use collbench_formats::Operation;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something in a rule file that does not do what it says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it is.
    pub at: Position,
    /// What is there.
    pub what: String,
    /// What the library makes of it.
    pub effect: String,
    /// What to write instead; `None` where only the author can know.
    pub instead: Option<String>,
}

impl Problem {
    /// One for which only the author can know what to write instead.
    pub(crate) fn new(at: Position, what: String, effect: impl Into<String>) -> Self {
        Self {
            at,
            what,
            effect: effect.into(),
            instead: None,
        }
    }

    /// The rules for an operation that the calls of a trace do not have.
    pub(crate) fn absent(at: Position, rules: &str, operation: Operation) -> Self {
        let name = operation.name();
        let effect = format!("the trace has no {name}: none of its calls reaches these rules");
        Self::new(at, format!("rules for {rules}"), effect)
    }
}

/// More problems of one file are not told.
pub(crate) const MAX_PROBLEMS: usize = 10_000;

/// What a check has found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one, with what to write instead where that is known.
    pub(crate) fn add(
        &mut self,
        at: Position,
        what: impl Into<String>,
        effect: impl Into<String>,
        instead: Option<&str>,
    ) {
        let instead = instead.map(str::to_owned);
        let problem = Problem::new(at, what.into(), effect);
        self.extend([Problem { instead, ..problem }]);
    }

    /// Adds those that another check has found.
    pub(crate) fn extend(&mut self, found: impl IntoIterator<Item = Problem>) {
        // Some of them may be the same.
        let n_left = (2 * MAX_PROBLEMS).saturating_sub(self.0.len());
        self.0.extend(found.into_iter().take(n_left));
    }

    /// By place, each once: the first [`MAX_PROBLEMS`].
    pub(crate) fn by_place(mut self) -> Vec<Problem> {
        self.0.sort();
        self.0.dedup();
        self.0.truncate(MAX_PROBLEMS);
        self.0
    }
}

impl fmt::Display for Problem {
    /// `LINE:COLUMN: what; effect; instead`, after the name of the file and a colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.at, self.what, self.effect)?;
        match &self.instead {
            Some(instead) => write!(f, "; {instead}"),
            None => Ok(()),
        }
    }
}

//! What is known of a rule file: problems, and what decides the calls of a trace.

use crate::explain::Explained;
use crate::problem::{Position, Problem};
use crate::rules::Changed;

/// Everything about a file.
#[derive(Debug, Clone)]
pub struct Report<'c> {
    /// Name of the file.
    pub file: String,
    /// Its format, in words.
    pub format: &'static str,
    /// The library that reads it.
    pub library: String,
    /// That and why the library ignores the whole file, or does not get past it, and where.
    pub ignored: Option<(Position, String)>,
    /// What is to be known of the run and the file as a whole.
    pub notes: Vec<String>,
    /// What is wrong, by place.
    pub problems: Vec<Problem>,
    /// What decides calls; `None` without a trace.
    pub calls: Option<Vec<Explained<'c>>>,
}

/// What changes from one file, or version of the library, to another.
#[derive(Debug, Clone)]
pub struct Differences<'c> {
    /// Name of the old file, and the library that reads it.
    pub old: (String, String),
    /// Name of the new file, and the library that reads it.
    pub new: (String, String),
    /// Calls of the trace, of all processes together, that both were asked about.
    pub calls: u64,
    /// The calls that are decided differently.
    pub changes: Vec<Changed<'c>>,
}

//! What is known of a rule file: problems, and what decides the calls of a trace.

use crate::explain::Explained;
use crate::problem::{Position, Problem};

/// Everything about a file, or about what changes from one file to another.
#[derive(Debug, Clone)]
pub struct Report<'c> {
    /// Name of the file.
    pub file: String,
    /// Its format, in words.
    pub format: &'static str,
    /// The library that reads it.
    pub library: String,
    /// Why the library ignores the whole file, and where.
    pub ignored: Option<(Position, String)>,
    /// What is to be known of the run and the file as a whole.
    pub notes: Vec<String>,
    /// What is wrong, by place.
    pub problems: Vec<Problem>,
    /// What decides calls; `None` without a trace.
    pub calls: Option<Vec<Explained<'c>>>,
}

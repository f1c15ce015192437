//! Names of hosts in a tree file.

use crate::document::At;
use crate::problem::Lines;

/// The name of a host in a tree file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedHost {
    /// The name; `*` stands for any characters.
    pub name: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl NamedHost {
    pub(crate) fn of(text: &Lines<'_>, name: &At<String>) -> Self {
        let (line, column) = text.place(name.span.start);
        Self {
            name: name.value.clone(),
            line,
            column,
        }
    }
}

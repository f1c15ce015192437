//! JSON with the place of every value and key, for files that people write by hand.
//!
//! Readers of rule files differ in what they let pass: one takes comments and a comma before a closing
//! bracket, another refuses both. What is not strict JSON but passes with some reader is therefore
//! an [`Irregularity`] beside the values, which the model of a reader judges; what no reader takes is
//! a [`JsonError`].
//!
//! Neither depth nor size of the text lead to recursion: open brackets lie on a stack of their own, no
//! deeper than the caller allows. The road not taken: `serde_json` has no positions, takes the last
//! of two equal keys in silence and refuses comments; crates that add spans to it keep the latter two.

mod parse;
mod scan;

use std::fmt;

use crate::problem::Position;

pub use parse::parse;

/// A text of JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The value that the text is.
    pub root: Value,
    /// What is not strict JSON, in the order of the text.
    pub irregularities: Vec<(Position, Irregularity)>,
}

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Its first character.
    pub at: Position,
    /// What it is.
    pub data: Data,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A string, its escapes resolved; what is not UTF-8 is replaced.
    String(String),
    /// Values in square brackets.
    Array(Vec<Value>),
    /// Keys and values in braces, in the order of the text, equal keys included.
    Object(Vec<Member>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key, its escapes resolved.
    pub key: String,
    /// Where the key begins, at its quotation mark.
    pub at: Position,
    /// Its value.
    pub value: Value,
}

impl Data {
    /// What it is, for a message.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// Something that is not JSON, which some readers let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Irregularity {
    /// A comment: `/* */`, or from `//` to the end of the line.
    Comment,
    /// A comma before a closing bracket.
    TrailingComma,
    /// A string in single quotation marks.
    SingleQuotes,
    /// A key that its object has already, there.
    DuplicateKey(Position),
    /// `True`, `NaN`, `Infinity` and the like.
    LooseLiteral,
    /// A number that JSON writes otherwise, such as `007`.
    LooseNumber,
    /// Text after the value.
    TextAfter,
}

/// What no reader of JSON takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Where it is.
    pub at: Position,
    /// What belongs there, such as "a key in quotation marks".
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            expected,
            found,
        } = self;
        write!(f, "{at}: {expected} expected, {found} found")
    }
}

impl std::error::Error for JsonError {}

#[cfg(test)]
pub(crate) mod tests;

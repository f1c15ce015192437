//! What interpreters say of a place in a script.

/// Why there is none.
pub(super) const NO_INTERPRETER: &str = "there is no interpreter of Python or R in the program";

/// A place in a script, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptLine {
    /// Empty where it is not known.
    pub(super) file: String,
    pub(super) function: String,
    /// 0 where it is not known.
    pub(super) line: u32,
}

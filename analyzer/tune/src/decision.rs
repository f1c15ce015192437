//! Who decides a call.

use std::fmt;

/// How the algorithm of a call is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Line of the file with the rule that matches the call, from 1; `None` where none does. It
    /// may yet not decide: see `by`.
    pub line: Option<usize>,
    /// Name of the algorithm that follows, as the library calls it; `None` where the library's
    /// own decision follows, whose result is not modelled.
    pub algorithm: Option<String>,
    /// The algorithm that the library takes instead of `algorithm` for these calls, because it cannot
    /// do `algorithm` for them; `None` where it does as it was told.
    pub replaced_by: Option<String>,
    /// What of this depends on something that is not known of the calls.
    pub depends: Option<String>,
    /// What decides.
    pub by: DecidedBy,
}

impl Decision {
    /// A decision of something whose result is not modelled.
    pub(crate) fn by_other(by: DecidedBy) -> Self {
        Self {
            line: None,
            algorithm: None,
            replaced_by: None,
            depends: None,
            by,
        }
    }

    /// Whether the same happens to the call, whatever decides it.
    #[must_use]
    pub fn does_as(&self, other: &Self) -> bool {
        let fails = |decision: &Self| matches!(decision.by, DecidedBy::Failure(_));
        let is_elsewhere = |decision: &Self| matches!(decision.by, DecidedBy::Component(_));
        (&self.algorithm, &self.replaced_by) == (&other.algorithm, &other.replaced_by)
            && fails(self) == fails(other)
            && is_elsewhere(self) == is_elsewhere(other)
    }
}

/// What decides a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecidedBy {
    /// The rule of this line.
    Rule,
    /// A setting of the run, named with its value, such as `coll_tuned_bcast_algorithm=6`.
    Setting(String),
    /// The decision built into the library, for this reason.
    Library(String),
    /// Another component of the library, for this reason.
    Component(String),
    /// Nothing: the call fails in the library, for this reason.
    Failure(String),
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("the rule"),
            Self::Setting(setting) => f.write_str(setting),
            Self::Library(why) => write!(f, "the library's own decision: {why}"),
            Self::Component(why) => write!(f, "another component: {why}"),
            Self::Failure(why) => write!(f, "none, the call fails: {why}"),
        }
    }
}

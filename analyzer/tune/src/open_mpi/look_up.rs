//! What is looked up in a rule file of `coll_tuned`, whatever its format.

/// Where the processes of a communicator are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// It is not known; one host is assumed.
    Unknown,
    /// On one host.
    OneHost,
    /// One on each of several hosts.
    OneOnEachHost,
    /// On several hosts, of which one has several.
    SeveralHosts,
}

impl Placement {
    /// Whether they may be on one host.
    pub(super) fn is_one_host(self) -> bool {
        matches!(self, Self::Unknown | Self::OneHost)
    }
}

/// What a file says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LookUp {
    /// The rule.
    Rule(Found),
    /// It has rules for the communicator, but none for the size.
    NoSize(&'static str),
    /// Nothing, for this reason.
    Nothing(String),
}

/// A rule that holds for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) line: usize,
    pub(super) does: Does,
}

/// What a rule says is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Does {
    pub(super) algorithm: i64,
    pub(super) fan_out: i64,
    pub(super) segment: i64,
}

impl LookUp {
    /// The rule, if there is one.
    pub(super) fn rule(&self) -> Option<&Found> {
        match self {
            Self::Rule(found) => Some(found),
            Self::NoSize(_) | Self::Nothing(_) => None,
        }
    }
}

//! Inputs of the results.

use crate::calls::findings::MatchFindings;
use crate::communicators::Communicators;
use crate::judge::details::Details;
use crate::selection::Selection;
use crate::sums::run_sums::Sums;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// Everything that the results are made of.
pub(crate) struct Inputs<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) clocks: &'a Clocks,
    pub(crate) communicators: &'a Communicators,
    pub(crate) sums: &'a Sums,
    pub(crate) findings: MatchFindings,
    /// What the user asked for.
    pub(crate) selection: &'a Selection,
    pub(crate) details: Details,
}

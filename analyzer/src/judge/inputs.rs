//! Inputs of the results.

use crate::Prepared;
use crate::calls::findings::MatchFindings;
use crate::communicators::Communicators;
use crate::judge::details::Details;
use crate::selection::{Selection, SelectionError};
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

impl<'a> Inputs<'a> {
    /// After all calls were matched: of these sums, which are settled first.
    ///
    /// # Errors
    /// [`SelectionError`] if no process marked the phase that is asked for.
    pub(crate) fn of(
        prepared: Prepared<'a, 'a>,
        sums: &'a mut Sums,
        findings: MatchFindings,
        (selection, details): (&'a Selection, Details),
    ) -> Result<Self, SelectionError> {
        sums.settle();
        selection.check_phase(&findings)?;
        let Prepared {
            run,
            clocks,
            communicators,
        } = prepared;
        Ok(Self {
            run,
            clocks,
            communicators,
            sums,
            findings,
            selection,
            details,
        })
    }
}

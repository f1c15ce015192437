//! What the results are made of.

use crate::clock::Clocks;
use crate::communicators::Communicators;
use crate::detail::Details;
use crate::irregularities::Irregularities;
use crate::run::Run;
use crate::tally::Tally;

/// Everything that went into the results.
pub(crate) struct Sources<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) clocks: &'a Clocks,
    pub(crate) communicators: &'a Communicators,
    pub(crate) tally: &'a Tally<'a>,
    pub(crate) irregularities: Irregularities,
    pub(crate) is_restricted: bool,
    pub(crate) details: Details,
}

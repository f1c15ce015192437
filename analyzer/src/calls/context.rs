//! Communicators and persistent collectives, as used while calls are matched.

use crate::communicators::Communicators;
use crate::communicators::persistent::Persistents;

/// The communicators and persistent collectives that calls are made on.
#[derive(Clone, Copy)]
pub(crate) struct MatchContext<'a> {
    pub(crate) communicators: &'a Communicators,
    pub(crate) persistents: &'a Persistents,
}

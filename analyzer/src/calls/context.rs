//! What all processes agree on while their calls are matched.

use crate::communicators::Communicators;
use crate::communicators::persistent::Persistents;

/// What all processes agree on: what their calls are made on.
#[derive(Clone, Copy)]
pub(crate) struct MatchContext<'a> {
    pub(crate) communicators: &'a Communicators,
    pub(crate) persistents: &'a Persistents,
}

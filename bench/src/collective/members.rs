//! Which processes of the job carry out an operation.

use serde::{Deserialize, Serialize};

use super::plan::Series;

/// The processes of a communicator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Members {
    /// So many, from process 0 on.
    First(usize),
    /// These, ascending, process 0 among them.
    Listed(Vec<usize>),
    /// Process 0 and this one.
    Pair(usize),
}

impl Members {
    /// Of a series whose processes do not depend on a measurement, as those of ping-pongs do.
    pub(super) fn of(series: &Series) -> Self {
        match &series.on_hosts {
            Some(on) => Self::Listed(on.ranks.clone()),
            None => Self::First(series.processes),
        }
    }

    /// World ranks, by rank in the communicator.
    pub(super) fn ranks(&self) -> Vec<usize> {
        match self {
            Self::First(n) => (0..*n).collect(),
            Self::Listed(ranks) => ranks.clone(),
            Self::Pair(partner) => vec![0, *partner],
        }
    }
}

//! Which calls a tree is for.

use bincode::{Decode, Encode};

use super::place::Place;
use super::wrapper::Level;
use crate::record::Operation;

/// A collective operation that trees can execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[allow(missing_docs, reason = "the names are those of the MPI standard")]
pub enum Collective {
    Allreduce,
    Reduce,
    Bcast,
    Barrier,
    Gather,
    Scatter,
    Allgather,
}

impl Collective {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Allreduce,
        Self::Reduce,
        Self::Bcast,
        Self::Barrier,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
    ];

    /// The one that is an operation of records; `None` if trees do not execute that.
    #[must_use]
    pub fn of(operation: Operation) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.operation() == operation)
    }

    /// The operation as it is in records.
    #[must_use]
    pub const fn operation(self) -> Operation {
        match self {
            Self::Allreduce => Operation::Allreduce,
            Self::Reduce => Operation::Reduce,
            Self::Bcast => Operation::Bcast,
            Self::Barrier => Operation::Barrier,
            Self::Gather => Operation::Gather,
            Self::Scatter => Operation::Scatter,
            Self::Allgather => Operation::Allgather,
        }
    }

    /// Its name in tree files: that of the MPI standard in lower case, without `MPI_`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allreduce => "allreduce",
            Self::Reduce => "reduce",
            Self::Bcast => "bcast",
            Self::Barrier => "barrier",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
        }
    }

    /// Whether each call names the rank that gives or gets the data. The other operations can have
    /// any rank at the root of their tree, or an exchange.
    #[must_use]
    pub const fn has_root(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Bcast | Self::Gather | Self::Scatter
        )
    }
}

/// The calls that a tree is for.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Calls {
    /// The operations, at least one.
    pub operations: Vec<Collective>,
    /// Least and greatest number of processes of the communicator, both included.
    pub ranks: (u32, u32),
    /// Least and greatest payload of one rank, bytes, both included. It is count times size of the
    /// type: what a rank contributes, in `MPI_Scatter` what it gets. A barrier has 0.
    pub bytes: (u64, u64),
    /// What the communicator extends [across](Level::across); `None`: anything.
    pub across: Option<Level>,
}

impl Calls {
    /// Whether a call of this operation with a payload of `bytes` for each rank is one of them, on a
    /// communicator that they are [on](Self::are_on).
    #[must_use]
    pub fn include(&self, operation: Collective, bytes: u64) -> bool {
        self.operations.contains(&operation) && (self.bytes.0..=self.bytes.1).contains(&bytes)
    }

    /// Whether they are on a communicator of processes at these places.
    #[must_use]
    pub fn are_on(&self, places: &[Place]) -> bool {
        (self.ranks.0..=self.ranks.1).contains(&(places.len() as u32))
            && self
                .across
                .is_none_or(|level| level == Level::across(places))
    }
}

//! What the numbers in records mean: communicators, and what was measured between clocks.

use bincode::{Decode, Encode};

use crate::record::Operation;

/// In a communicator index field: none.
pub const NO_COMMUNICATOR: u32 = u32::MAX;

/// Whether a communicator has one group or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CommunicatorKind {
    /// One group.
    Intra,
    /// Two groups, each the remote one of the other.
    Inter,
}

/// A communicator as one of its processes saw it when it was made.
///
/// The members are not listed: each member's file has this definition with the same `id` and
/// its own `rank`, so that a communicator costs a process the same whatever its size.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Communicator {
    /// The number that this process's records use.
    pub index: u32,
    /// The number on which all members agree, made of what all of them know: the parent's id,
    /// the position of the constructor among the calls on it, and the first member; or the
    /// groups, the tag and a counter.
    pub id: u64,
    /// Index of the communicator that the constructor was called on, or [`NO_COMMUNICATOR`].
    pub parent: u32,
    /// Number of the constructor's [`Operation`]; 0 for `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub constructor: u16,
    /// Position of the constructor among the calls on the parent, from 0; for constructors over
    /// groups, their number among those with the same groups and tag.
    pub position: u64,
    /// One group or two.
    pub kind: CommunicatorKind,
    /// Processes in the (local) group.
    pub size: u32,
    /// This process's rank in the (local) group.
    pub rank: u32,
    /// Processes in the remote group; 0 for [`CommunicatorKind::Intra`].
    pub remote_size: u32,
    /// World rank of rank 0 of the (local) group, or [`NO_RANK`](crate::NO_RANK).
    pub first_member: u32,
    /// World rank of rank 0 of the remote group, or [`NO_RANK`](crate::NO_RANK).
    pub remote_first_member: u32,
    /// The name at that time; empty for none.
    pub name: String,
}

impl Communicator {
    /// The constructor's operation; `None` for the predefined communicators.
    #[must_use]
    pub fn constructor(&self) -> Option<Operation> {
        Operation::from_code(self.constructor)
    }
}

/// The four stamps of one exchange between two clocks, in ticks of the clock they were taken on.
///
/// # Source
/// Hoefler et al. 2007, section 3; the names are those of `docs/metrics.md`, "Clocks".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OffsetSample {
    /// Send, at the reference.
    pub t1: u64,
    /// Receive, at the local host.
    pub t2: u64,
    /// Send, at the local host.
    pub t3: u64,
    /// Receive, at the reference.
    pub t4: u64,
}

/// A persistent collective, as its `MPI_X_init` set it up.
///
/// Instances of its starts are told apart by (communicator, `position`, number of the start):
/// persistent collectives may be started in another order than they were made in.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PersistentCollective {
    /// The number that this process's records use; counts all of the process, from 0.
    pub index: u32,
    /// Index of the communicator.
    pub communicator: u32,
    /// How many persistent collectives were made on this communicator before: the same number
    /// on all of its processes.
    pub position: u64,
    /// Number of the [`Operation`] (`MPI_Allreduce_init` ...).
    pub operation: u16,
    /// Root as in [`Record::root`](crate::Record::root).
    pub root: i32,
    /// Payload of each start in bytes; `None` where it could not be told.
    pub payload_bytes: Option<u64>,
}

impl PersistentCollective {
    /// The operation; `None` for one of a later version.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        Operation::from_code(self.operation)
    }
}

/// The neighbours of a process in the topology of a communicator.
///
/// Both lists are ranks in the communicator in the order in which neighborhood collectives take
/// them, with repetitions; [`NO_RANK`](crate::NO_RANK) stands for `MPI_PROC_NULL`, at the border
/// of a Cartesian topology that is not periodic.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Topology {
    /// Index of the communicator.
    pub communicator: u32,
    /// Those that this process receives from.
    pub in_neighbours: Vec<u32>,
    /// Those that it sends to.
    pub out_neighbours: Vec<u32>,
}

/// One entry of a definitions chunk.
///
/// Variants are only ever added at the end: their position is their number in the file.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Definition {
    /// A communicator that records refer to from here on.
    Communicator(Communicator),
    /// The program named a communicator.
    CommunicatorName {
        /// Index of the communicator.
        index: u32,
        /// The name given.
        name: String,
    },
    /// Exchanges between this process's clock (local) and that of another (reference).
    OffsetMeasurement {
        /// World rank of the process at the reference clock.
        reference_rank: u32,
        /// All exchanges, in the order in which they were made.
        samples: Vec<OffsetSample>,
    },
    /// A persistent collective that starts refer to from here on.
    PersistentCollective(PersistentCollective),
    /// The topology of a communicator that was defined just before.
    Topology(Topology),
    /// Whether the hosts of this world measured their clocks against one another.
    ClockExchanges {
        /// They did, or set out to.
        on: bool,
        /// Why not, or what ended it, in words; empty where nothing is to be said.
        reason: String,
    },
    /// A ping inside the host has shown that the clock of this process is not the one that boot id
    /// and time namespace say: it is a host clock of its own.
    ClockApart {
        /// World rank of the process at the clock of the host.
        rank: u32,
    },
    /// The recorder held the application up, to exchange stamps with other hosts.
    Pause {
        /// From, ticks.
        begin: u64,
        /// To, ticks, >= `begin`.
        end: u64,
    },
    /// An algorithm of the MPI library that records refer to from here on.
    Algorithm {
        /// The number that this process's records use.
        index: u32,
        /// Its name in the library.
        name: String,
    },
}

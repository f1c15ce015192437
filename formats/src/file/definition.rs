//! What the numbers in records mean: communicators, and what was measured between clocks.

use bincode::{Decode, Encode};

use crate::file::site::{CallSite, Module, ScriptFunction};
use crate::record::Operation;
use crate::tree::{Collective, Wrappers};

/// In a field that holds the index of a communicator: no communicator.
pub const NO_COMMUNICATOR: u32 = u32::MAX;

/// Whether a communicator has one group or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum CommunicatorKind {
    /// One group.
    Intra,
    /// Two groups, each the remote one of the other.
    Inter,
}

/// A communicator as one of its processes saw it when it was created.
///
/// The members are not listed: each member's file has this definition with the same `id` and
/// its own `rank`, so that a communicator costs a process the same whatever its size.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Communicator {
    /// The number that this process's records use.
    pub index: u32,
    /// The number on which all members agree. It is a hash of what all of them know: the parent's
    /// id, the position of the constructor among the calls on it, and the first member; or the
    /// groups, the tag and a counter.
    pub id: u64,
    /// Index of the communicator that the constructor was called on, or [`NO_COMMUNICATOR`].
    pub parent: u32,
    /// Number of the constructor's [`Operation`]; 0 for `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub constructor: u16,
    /// Position of the constructor among the calls on the parent, from 0. For constructors over
    /// groups: how many earlier ones had the same groups and tag.
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
    /// Its name when the communicator was defined; empty if it had none.
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
/// Hoefler et al. 2007, section 3; the names t1 to t4 are those of `docs/metrics.md`, "Clocks".
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
/// One start is identified by (communicator, `position`, number of the start), since persistent
/// collectives may be started in another order than they were initialized in.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PersistentCollective {
    /// The number that this process's records use: counts the persistent collectives of the process
    /// from 0.
    pub index: u32,
    /// Index of the communicator.
    pub communicator: u32,
    /// How many persistent collectives were initialized on this communicator before it: the same
    /// number on all of its processes.
    pub position: u64,
    /// Number of the [`Operation`] (`MPI_Allreduce_init` ...).
    pub operation: u16,
    /// Root as in [`Record::root`](crate::Record::root).
    pub root: i32,
    /// Payload of each start in bytes; `None` where it is not known.
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
/// them, with repetitions. [`NO_RANK`](crate::NO_RANK) is `MPI_PROC_NULL`, which is at the border
/// of a Cartesian topology that is not periodic.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Topology {
    /// Index of the communicator.
    pub communicator: u32,
    /// Processes that this process receives from.
    pub in_neighbours: Vec<u32>,
    /// Processes that this process sends to.
    pub out_neighbours: Vec<u32>,
}

/// A spanning tree of our own that executes collectives of a communicator.
///
/// All processes of the communicator define its trees in the same order: the n-th one is the same
/// on all. The process with rank 0 in the communicator says what the tree is.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SpanningTree {
    /// The number that this process's records use.
    pub index: u32,
    /// Index of the communicator.
    pub communicator: u32,
    /// Ranks of the tree in each process of the communicator: 1, or its number of threads if each of
    /// them contributes. Thread t of process p is rank p x threads + t of the tree.
    pub threads: u32,
    /// What people call it: where it stands in the tree file.
    pub name: String,
    /// The tree itself; `None` on all processes but the one with rank 0 in the communicator.
    pub wrappers: Option<Wrappers>,
}

/// A control point: which of several candidates the next calls of an operation use, and why. Written by the process
/// that decides, which has rank 0 in the communicator.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ControlPoint {
    /// When, ticks.
    pub at: u64,
    /// Index of the communicator.
    pub communicator: u32,
    /// The operation.
    pub operation: Collective,
    /// Line of the tree file where the tree with the candidates begins, from 1.
    pub line: u32,
    /// Whether values must be combined in the grouping of the first candidate, so that sums have the same bits.
    pub keeps_grouping: bool,
    /// Least and greatest payload of a rank, bytes, of the calls that it is about.
    pub bytes: (u64, u64),
    /// Their root, of operations that have one.
    pub root: Option<u32>,
    /// How many there were before it.
    pub calls: u64,
    /// The candidate in use from here on, by its position.
    pub in_use: u32,
    /// The one that was in use before.
    pub before: u32,
    /// Why, in one word.
    pub reason: String,
    /// What trying has cost so far without the first calls of each candidate, with these, and what it might have cost; ns
    /// over all processes.
    pub cost_ns: [u64; 3],
    /// All candidates, in the same order at each control point.
    pub candidates: Vec<CandidateAt>,
}

/// What is known of a candidate at a control point.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CandidateAt {
    /// What people call it: where it stands in the tree file, or the MPI library.
    pub name: String,
    /// What is thought of it, in one word.
    pub standing: String,
    /// Calls that it has executed.
    pub calls: u64,
    /// Time in one call over all processes, ns.
    pub total_ns: Option<u64>,
    /// How much longer its calls take than those of the candidate in use, with the interval, in millionths.
    pub gain: Option<[i64; 3]>,
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
        /// Whether they did, or began to.
        on: bool,
        /// Why not, or what ended it, in words; empty if there is nothing to report.
        reason: String,
    },
    /// A ping inside the host has shown that this process does not use the clock which its boot id
    /// and time namespace imply. It has a clock of its own, like a host.
    ClockApart {
        /// World rank of the process that reads the clock of the host.
        rank: u32,
    },
    /// The recorder held up the application, to exchange stamps with other hosts.
    Pause {
        /// When it began, ticks.
        begin: u64,
        /// When it ended, ticks, >= `begin`.
        end: u64,
    },
    /// An algorithm of the MPI library that records refer to from here on.
    Algorithm {
        /// The number that this process's records use.
        index: u32,
        /// Its name in the library.
        name: String,
    },
    /// A spanning tree of our own that records refer to from here on.
    SpanningTree(SpanningTree),
    /// An executable or library that call sites refer to from here on.
    Module(Module),
    /// A place in the program that records refer to from here on.
    CallSite(CallSite),
    /// A function of a script that call sites refer to from here on.
    ScriptFunction(ScriptFunction),
    /// From where a communicator was made that is already defined.
    CommunicatorSite {
        /// Index of the communicator.
        index: u32,
        /// Index of the call site of its constructor.
        site: u32,
    },
    /// Which of several candidates the next calls of an operation use.
    ControlPoint(ControlPoint),
}

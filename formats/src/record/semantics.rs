//! What the ranks of an operation wait for.

/// What the processes of one instance of an operation depend on.
///
/// `docs/metrics.md`, "Who i depends on"; the classes are those of Scalasca's wait states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// Everyone waits for everyone, without data: `MPI_Barrier`.
    Barrier,
    /// Everyone needs data from everyone: allreduce, allgather, alltoall, reduce_scatter ...
    AllToAll,
    /// All need the root, the root needs nobody: bcast, scatter.
    OneToMany,
    /// The root needs all, the others need nobody: reduce, gather.
    ManyToOne,
    /// Rank i needs all lower ranks (and not itself alone): scan, exscan.
    Prefix,
    /// A process needs its in-neighbours in the communicator's topology: neighbor_allgather ...
    Neighborhood,
    /// Creates a communicator, a file or a window; collective over the communicator it is called
    /// on. All processes wait for all: the new object has a communication context of its own, which
    /// no process can use before all have taken part (MPI 4.0, sections 7.4.2; 14.2.1, "the use of
    /// comm will not interfere with I/O behavior"; 12.2.1 to 12.2.4).
    Constructor,
    /// Initiates the creation of a communicator, which is complete later (`MPI_Comm_idup`);
    /// collective over the parent, but nobody waits in it.
    NonblockingConstructor,
    /// Creates a communicator; collective over a group only, so it has no position in the order of
    /// calls on the parent.
    GroupConstructor,
    /// Frees a communicator; collective by the standard, but no process need wait.
    Free,
    /// Collective by the standard, which leaves open whether processes wait for each other:
    /// operations on an open file (MPI 4.0, section 14.6: even between two `MPI_File_sync` a
    /// program has to call a barrier), and calls that only set something. It is known when each
    /// process arrived, but not who waited.
    Unspecified,
    /// Begins or ends MPI for a process; not counted as a call.
    Process,
}

impl Semantics {
    /// Whether calls of this class have a position in the order of calls on their communicator,
    /// and are matched by it.
    #[must_use]
    pub const fn is_matched(self) -> bool {
        !matches!(self, Self::GroupConstructor | Self::Process)
    }

    /// Whether no process need wait for another.
    #[must_use]
    pub const fn waits_for_nobody(self) -> bool {
        matches!(
            self,
            Self::Free | Self::NonblockingConstructor | Self::Process
        )
    }

    /// Whether it creates a communicator.
    #[must_use]
    pub const fn is_constructor(self) -> bool {
        matches!(
            self,
            Self::Constructor | Self::NonblockingConstructor | Self::GroupConstructor
        )
    }

    /// Whether the operation has a root rank.
    #[must_use]
    pub const fn is_rooted(self) -> bool {
        matches!(self, Self::OneToMany | Self::ManyToOne)
    }
}

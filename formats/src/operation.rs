//! The operations that can stand in a record, and what the ranks of each wait for.

/// What the processes of one instance of an operation depend on.
///
/// # Source
/// `metrics.md`, "who i depends on"; the classes are those of Scalasca's wait states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// Everyone waits for everyone, no data: `MPI_Barrier`.
    Barrier,
    /// Everyone needs something of everyone: allreduce, allgather, alltoall, reduce_scatter ...
    AllToAll,
    /// All need the root, the root needs nobody: bcast, scatter.
    OneToMany,
    /// The root needs all, the others need nobody: reduce, gather.
    ManyToOne,
    /// Rank i needs all lower ranks (and not itself alone): scan, exscan.
    Prefix,
    /// Makes a communicator; collective over the parent, all agree with all.
    Constructor,
    /// Begins to make a communicator, which is there later (`MPI_Comm_idup`); collective over the
    /// parent, but nobody waits in it.
    NonblockingConstructor,
    /// Makes a communicator; collective over a group only, so it has no place in the order of
    /// calls on the parent.
    GroupConstructor,
    /// Gives a communicator back; collective by the standard, but nobody need wait.
    Free,
    /// Begins or ends MPI for a process; counted nowhere.
    Process,
}

impl Semantics {
    /// Whether calls of this class have a position in the order of calls on their communicator,
    /// and are matched by it.
    #[must_use]
    pub const fn is_matched(self) -> bool {
        !matches!(self, Self::GroupConstructor | Self::Process)
    }

    /// Whether all of the communicator's processes wait for the last one to enter: barrier,
    /// N x N, and the constructors, which agree on a context.
    #[must_use]
    pub const fn is_synchronizing(self) -> bool {
        matches!(self, Self::Barrier | Self::AllToAll | Self::Constructor)
    }

    /// Whether no process need wait for another one in it.
    #[must_use]
    pub const fn waits_for_nobody(self) -> bool {
        matches!(
            self,
            Self::Free | Self::NonblockingConstructor | Self::Process
        )
    }

    /// Whether it makes a communicator.
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

macro_rules! operations {
    ($($code:literal $variant:ident $name:literal $semantics:ident;)*) => {
        /// An MPI operation, by the number that stands in records.
        ///
        /// Numbers are for ever: a reader of any version knows all that were ever given. 32 to
        /// 127 are kept for the nonblocking, persistent and neighborhood forms.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "the names are those of the MPI standard")]
        pub enum Operation { $($variant = $code,)* }

        impl Operation {
            /// Every operation of this version, ascending by number.
            pub const ALL: &'static [Operation] = &[$(Operation::$variant,)*];

            /// The operation with this number, `None` where this version knows none.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }

            /// The name of the standard, C spelling, without the `_c` of large counts.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What the ranks of an instance wait for.
            #[must_use]
            pub const fn semantics(self) -> Semantics {
                match self { $(Self::$variant => Semantics::$semantics,)* }
            }
        }
    };
}

operations! {
    1 Barrier "MPI_Barrier" Barrier;
    2 Bcast "MPI_Bcast" OneToMany;
    3 Gather "MPI_Gather" ManyToOne;
    4 Gatherv "MPI_Gatherv" ManyToOne;
    5 Scatter "MPI_Scatter" OneToMany;
    6 Scatterv "MPI_Scatterv" OneToMany;
    7 Allgather "MPI_Allgather" AllToAll;
    8 Allgatherv "MPI_Allgatherv" AllToAll;
    9 Alltoall "MPI_Alltoall" AllToAll;
    10 Alltoallv "MPI_Alltoallv" AllToAll;
    11 Alltoallw "MPI_Alltoallw" AllToAll;
    12 Reduce "MPI_Reduce" ManyToOne;
    13 Allreduce "MPI_Allreduce" AllToAll;
    14 ReduceScatter "MPI_Reduce_scatter" AllToAll;
    15 ReduceScatterBlock "MPI_Reduce_scatter_block" AllToAll;
    16 Scan "MPI_Scan" Prefix;
    17 Exscan "MPI_Exscan" Prefix;
    128 CommDup "MPI_Comm_dup" Constructor;
    129 CommDupWithInfo "MPI_Comm_dup_with_info" Constructor;
    130 CommIdup "MPI_Comm_idup" NonblockingConstructor;
    131 CommSplit "MPI_Comm_split" Constructor;
    132 CommSplitType "MPI_Comm_split_type" Constructor;
    133 CommCreate "MPI_Comm_create" Constructor;
    134 CommCreateGroup "MPI_Comm_create_group" GroupConstructor;
    135 CartCreate "MPI_Cart_create" Constructor;
    136 CartSub "MPI_Cart_sub" Constructor;
    137 GraphCreate "MPI_Graph_create" Constructor;
    138 DistGraphCreate "MPI_Dist_graph_create" Constructor;
    139 DistGraphCreateAdjacent "MPI_Dist_graph_create_adjacent" Constructor;
    140 IntercommCreate "MPI_Intercomm_create" Constructor;
    141 IntercommMerge "MPI_Intercomm_merge" Constructor;
    160 CommFree "MPI_Comm_free" Free;
    161 CommDisconnect "MPI_Comm_disconnect" Free;
    256 Init "MPI_Init" Process;
    257 InitThread "MPI_Init_thread" Process;
    258 Finalize "MPI_Finalize" Process;
    259 Abort "MPI_Abort" Process;
}

impl Operation {
    /// The number that stands in records.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// Whether users count it: everything but the beginning and the end of MPI.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        !matches!(self.semantics(), Semantics::Process)
    }
}

// A number has ten bits in a record.
const _: () = {
    let mut i = 0;
    while i < Operation::ALL.len() {
        assert!(Operation::ALL[i].code() > 0 && Operation::ALL[i].code() < 1024);
        i += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back_as_its_operation_and_names_are_unique() {
        let mut names: Vec<_> = Operation::ALL.iter().map(|op| op.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Operation::ALL.len());
        for &op in Operation::ALL {
            assert_eq!(Operation::from_code(op.code()), Some(op));
        }
        assert_eq!(Operation::from_code(0), None);
        assert_eq!(Operation::from_code(1023), None);
    }

    #[test]
    fn a_nonblocking_constructor_has_its_place_on_the_parent_but_no_wait() {
        let idup = Operation::CommIdup.semantics();
        assert!(idup.is_matched() && idup.is_constructor());
        assert!(idup.waits_for_nobody() && !idup.is_synchronizing());
        assert!(!Operation::CommDup.semantics().waits_for_nobody());
    }
}

//! The operations that a record can be about.

use super::Semantics;

macro_rules! operations {
    ($($code:literal $variant:ident $name:literal $semantics:ident;)*) => {
        /// An MPI operation, by its number in records.
        ///
        /// Numbers never change: a reader of any version knows all numbers of earlier versions. A
        /// collective with number n (1 to 31) has the nonblocking form n + 32 and the persistent
        /// form n + 64. A collective access to a file with number n has the nonblocking form n + 8
        /// and the split form n + 16.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "the names are those of the MPI standard")]
        pub enum Operation { $($variant = $code,)* }

        impl Operation {
            /// Every operation of this version, ascending by number.
            pub const ALL: &'static [Operation] = &[$(Operation::$variant,)*];

            /// The operation with this number; `None` if this version has none.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }

            /// Its name in the MPI standard, in C spelling, without the `_c` of large counts.
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
    20 NeighborAllgather "MPI_Neighbor_allgather" Neighborhood;
    21 NeighborAllgatherv "MPI_Neighbor_allgatherv" Neighborhood;
    22 NeighborAlltoall "MPI_Neighbor_alltoall" Neighborhood;
    23 NeighborAlltoallv "MPI_Neighbor_alltoallv" Neighborhood;
    24 NeighborAlltoallw "MPI_Neighbor_alltoallw" Neighborhood;
    33 Ibarrier "MPI_Ibarrier" Barrier;
    34 Ibcast "MPI_Ibcast" OneToMany;
    35 Igather "MPI_Igather" ManyToOne;
    36 Igatherv "MPI_Igatherv" ManyToOne;
    37 Iscatter "MPI_Iscatter" OneToMany;
    38 Iscatterv "MPI_Iscatterv" OneToMany;
    39 Iallgather "MPI_Iallgather" AllToAll;
    40 Iallgatherv "MPI_Iallgatherv" AllToAll;
    41 Ialltoall "MPI_Ialltoall" AllToAll;
    42 Ialltoallv "MPI_Ialltoallv" AllToAll;
    43 Ialltoallw "MPI_Ialltoallw" AllToAll;
    44 Ireduce "MPI_Ireduce" ManyToOne;
    45 Iallreduce "MPI_Iallreduce" AllToAll;
    46 IreduceScatter "MPI_Ireduce_scatter" AllToAll;
    47 IreduceScatterBlock "MPI_Ireduce_scatter_block" AllToAll;
    48 Iscan "MPI_Iscan" Prefix;
    49 Iexscan "MPI_Iexscan" Prefix;
    52 IneighborAllgather "MPI_Ineighbor_allgather" Neighborhood;
    53 IneighborAllgatherv "MPI_Ineighbor_allgatherv" Neighborhood;
    54 IneighborAlltoall "MPI_Ineighbor_alltoall" Neighborhood;
    55 IneighborAlltoallv "MPI_Ineighbor_alltoallv" Neighborhood;
    56 IneighborAlltoallw "MPI_Ineighbor_alltoallw" Neighborhood;
    65 BarrierInit "MPI_Barrier_init" Barrier;
    66 BcastInit "MPI_Bcast_init" OneToMany;
    67 GatherInit "MPI_Gather_init" ManyToOne;
    68 GathervInit "MPI_Gatherv_init" ManyToOne;
    69 ScatterInit "MPI_Scatter_init" OneToMany;
    70 ScattervInit "MPI_Scatterv_init" OneToMany;
    71 AllgatherInit "MPI_Allgather_init" AllToAll;
    72 AllgathervInit "MPI_Allgatherv_init" AllToAll;
    73 AlltoallInit "MPI_Alltoall_init" AllToAll;
    74 AlltoallvInit "MPI_Alltoallv_init" AllToAll;
    75 AlltoallwInit "MPI_Alltoallw_init" AllToAll;
    76 ReduceInit "MPI_Reduce_init" ManyToOne;
    77 AllreduceInit "MPI_Allreduce_init" AllToAll;
    78 ReduceScatterInit "MPI_Reduce_scatter_init" AllToAll;
    79 ReduceScatterBlockInit "MPI_Reduce_scatter_block_init" AllToAll;
    80 ScanInit "MPI_Scan_init" Prefix;
    81 ExscanInit "MPI_Exscan_init" Prefix;
    84 NeighborAllgatherInit "MPI_Neighbor_allgather_init" Neighborhood;
    85 NeighborAllgathervInit "MPI_Neighbor_allgatherv_init" Neighborhood;
    86 NeighborAlltoallInit "MPI_Neighbor_alltoall_init" Neighborhood;
    87 NeighborAlltoallvInit "MPI_Neighbor_alltoallv_init" Neighborhood;
    88 NeighborAlltoallwInit "MPI_Neighbor_alltoallw_init" Neighborhood;
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
    142 CommIdupWithInfo "MPI_Comm_idup_with_info" NonblockingConstructor;
    143 CommCreateFromGroup "MPI_Comm_create_from_group" GroupConstructor;
    144 IntercommCreateFromGroups "MPI_Intercomm_create_from_groups" GroupConstructor;
    145 CommSpawn "MPI_Comm_spawn" Constructor;
    146 CommSpawnMultiple "MPI_Comm_spawn_multiple" Constructor;
    147 CommAccept "MPI_Comm_accept" Constructor;
    148 CommConnect "MPI_Comm_connect" Constructor;
    149 CommJoin "MPI_Comm_join" GroupConstructor;
    160 CommFree "MPI_Comm_free" Free;
    161 CommDisconnect "MPI_Comm_disconnect" Free;
    192 FileOpen "MPI_File_open" Constructor;
    193 FileClose "MPI_File_close" Unspecified;
    194 FileSetSize "MPI_File_set_size" Unspecified;
    195 FilePreallocate "MPI_File_preallocate" Unspecified;
    196 FileSetInfo "MPI_File_set_info" Unspecified;
    197 FileSetView "MPI_File_set_view" Unspecified;
    198 FileSetAtomicity "MPI_File_set_atomicity" Unspecified;
    199 FileSync "MPI_File_sync" Unspecified;
    200 FileSeekShared "MPI_File_seek_shared" Unspecified;
    208 FileReadAll "MPI_File_read_all" Unspecified;
    209 FileWriteAll "MPI_File_write_all" Unspecified;
    210 FileReadAtAll "MPI_File_read_at_all" Unspecified;
    211 FileWriteAtAll "MPI_File_write_at_all" Unspecified;
    212 FileReadOrdered "MPI_File_read_ordered" Unspecified;
    213 FileWriteOrdered "MPI_File_write_ordered" Unspecified;
    216 FileIreadAll "MPI_File_iread_all" Unspecified;
    217 FileIwriteAll "MPI_File_iwrite_all" Unspecified;
    218 FileIreadAtAll "MPI_File_iread_at_all" Unspecified;
    219 FileIwriteAtAll "MPI_File_iwrite_at_all" Unspecified;
    224 FileReadAllBegin "MPI_File_read_all_begin" Unspecified;
    225 FileWriteAllBegin "MPI_File_write_all_begin" Unspecified;
    226 FileReadAtAllBegin "MPI_File_read_at_all_begin" Unspecified;
    227 FileWriteAtAllBegin "MPI_File_write_at_all_begin" Unspecified;
    228 FileReadOrderedBegin "MPI_File_read_ordered_begin" Unspecified;
    229 FileWriteOrderedBegin "MPI_File_write_ordered_begin" Unspecified;
    240 WinCreate "MPI_Win_create" Constructor;
    241 WinAllocate "MPI_Win_allocate" Constructor;
    242 WinAllocateShared "MPI_Win_allocate_shared" Constructor;
    243 WinCreateDynamic "MPI_Win_create_dynamic" Constructor;
    244 WinFree "MPI_Win_free" Barrier;
    245 WinFence "MPI_Win_fence" Barrier;
    246 WinSetInfo "MPI_Win_set_info" Unspecified;
    256 Init "MPI_Init" Process;
    257 InitThread "MPI_Init_thread" Process;
    258 Finalize "MPI_Finalize" Process;
    259 Abort "MPI_Abort" Process;
    260 SessionInit "MPI_Session_init" Process;
    261 SessionFinalize "MPI_Session_finalize" Process;
}

/// Added to a collective's number for its nonblocking form.
const NONBLOCKING: u16 = 32;
/// Added to a collective's number for its persistent form.
const PERSISTENT: u16 = 64;
/// Where the numbers of constructors begin.
const CONSTRUCTORS: u16 = 128;
/// Added to the number of a collective access to a file for its nonblocking form and, in the next
/// constant, for its split form.
const NONBLOCKING_ACCESS: u16 = 8;
const SPLIT_ACCESS: u16 = 16;

/// The forms that the standard has of each collective.
enum Form {
    Blocking,
    Nonblocking,
    Persistent,
    /// In two calls, `MPI_File_read_all_begin` and `_end`: the first one initiates, like a
    /// nonblocking call.
    Split,
}

impl Operation {
    /// The operation with this [`Operation::name`]; `None` if this version has none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|of| of.name() == name)
    }

    /// Its number in records.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// Whether the call only initiates the operation and returns a request.
    #[must_use]
    pub const fn is_nonblocking(self) -> bool {
        matches!(self.form(), Form::Nonblocking | Form::Split)
            || matches!(self.semantics(), Semantics::NonblockingConstructor)
    }

    /// Whether it is initialized once and then started any number of times. Its call records are
    /// the starts; they have no position in the order of calls on their communicator.
    #[must_use]
    pub const fn is_persistent(self) -> bool {
        matches!(self.form(), Form::Persistent)
    }

    /// Whether ranks arrive at it by initiating it: it is nonblocking or persistent.
    #[must_use]
    pub const fn is_initiated(self) -> bool {
        self.is_nonblocking() || self.is_persistent()
    }

    /// The blocking form of the operation; itself if it is neither nonblocking nor persistent. It
    /// has the same [`Operation::semantics`], except for constructors, whose nonblocking forms have
    /// semantics of their own.
    #[must_use]
    pub const fn blocking(self) -> Self {
        let kin = match self {
            Self::CommIdup => return Self::CommDup,
            Self::CommIdupWithInfo => return Self::CommDupWithInfo,
            _ => match self.form() {
                Form::Nonblocking if self.code() < CONSTRUCTORS => {
                    Self::from_code(self.code() - NONBLOCKING)
                }
                Form::Nonblocking => Self::from_code(self.code() - NONBLOCKING_ACCESS),
                Form::Persistent => Self::from_code(self.code() - PERSISTENT),
                Form::Split => Self::from_code(self.code() - SPLIT_ACCESS),
                Form::Blocking => None,
            },
        };
        match kin {
            Some(kin) => kin,
            None => self,
        }
    }

    /// Whether its calls have a position in the order of calls on their communicator, and are
    /// matched by it.
    #[must_use]
    pub const fn takes_position(self) -> bool {
        self.semantics().is_matched() && !self.is_persistent()
    }

    /// Whether a number is that of a persistent operation.
    #[inline]
    pub(crate) const fn is_persistent_code(code: u16) -> bool {
        code > PERSISTENT && code < CONSTRUCTORS
    }

    const fn form(self) -> Form {
        match self.code() {
            code if code > NONBLOCKING && code < PERSISTENT => Form::Nonblocking,
            code if Self::is_persistent_code(code) => Form::Persistent,
            216..=219 => Form::Nonblocking,
            224..=229 => Form::Split,
            _ => Form::Blocking,
        }
    }

    /// Whether it counts as a call: all operations but those that begin and end MPI.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        !matches!(self.semantics(), Semantics::Process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_gives_its_operation_and_names_are_unique() {
        let mut names: Vec<_> = Operation::ALL.iter().map(|op| op.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Operation::ALL.len());
        for &op in Operation::ALL {
            assert_eq!(Operation::from_name(op.name()), Some(op));
            assert_eq!(Operation::from_code(op.code()), Some(op));
        }
        assert_eq!(Operation::from_code(0), None);
        assert_eq!(Operation::from_code(1023), None);
    }

    #[test]
    fn every_collective_has_its_nonblocking_and_its_persistent_form() {
        let of = |blocking: &Operation| {
            let name = blocking.name().strip_prefix("MPI_").unwrap();
            (
                format!("MPI_I{}", name.to_lowercase()),
                format!("MPI_{name}_init"),
            )
        };
        let collectives: Vec<_> = Operation::ALL.iter().filter(|op| op.code() < 32).collect();
        assert_eq!(collectives.len(), 22);
        for blocking in collectives {
            let (nonblocking, persistent) = of(blocking);
            for name in [nonblocking, persistent] {
                let form = Operation::ALL.iter().find(|op| op.name() == name).unwrap();
                assert_eq!(form.blocking(), *blocking, "{name}");
                assert_eq!(form.semantics(), blocking.semantics(), "{name}");
                assert_eq!(form.is_persistent(), name.ends_with("_init"), "{name}");
                assert_ne!(form.is_persistent(), form.is_nonblocking(), "{name}");
                assert_eq!(form.takes_position(), form.is_nonblocking(), "{name}");
            }
            assert_eq!(blocking.blocking(), *blocking);
            assert!(!blocking.is_nonblocking() && blocking.takes_position());
        }
        assert_eq!(Operation::CommIdup.blocking(), Operation::CommDup);
        assert_eq!(
            Operation::CommIdupWithInfo.blocking(),
            Operation::CommDupWithInfo
        );
        assert!(Operation::CommIdup.is_nonblocking());
    }

    #[test]
    fn access_to_files_has_its_nonblocking_and_its_split_form() {
        let of_file: Vec<_> = Operation::ALL
            .iter()
            .filter(|op| op.name().starts_with("MPI_File_"))
            .collect();
        assert_eq!(of_file.len(), 25);
        for operation in of_file {
            let name = operation.name();
            let blocking = name
                .replace("_iread_", "_read_")
                .replace("_iwrite_", "_write_");
            let blocking = blocking.trim_end_matches("_begin");
            assert_eq!(operation.blocking().name(), blocking);
            assert_eq!(operation.is_nonblocking(), name != blocking, "{name}");
            assert!(operation.takes_position());
        }
    }

    #[test]
    fn a_nonblocking_constructor_has_a_position_on_the_parent_but_no_wait() {
        let idup = Operation::CommIdup.semantics();
        assert!(idup.is_matched() && idup.is_constructor());
        assert!(idup.waits_for_nobody());
        assert!(!Operation::CommDup.semantics().waits_for_nobody());
    }
}

//! What the tests of a file measure in a call of each collective.
//!
//! `get_avg_msgsize`, `get_total_msgsize`, `get_count`, `is_sendbuf_inplace`, `is_commutative`,
//! `is_op_built_in` and `is_block_regular` of `src/mpi/coll/src/csel.c`. A test that a collective
//! does not define ends the program at the first call that comes to it.

/// A collective, and what can be tested in a call of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Collective {
    /// As files call it.
    pub(super) name: &'static str,
    /// `avg_msg_size` is defined: the payload of one process (of `alltoall`, for one other).
    pub(super) average: bool,
    pub(super) total: Total,
    /// `count` is defined: elements, of all processes together for the v forms.
    pub(super) count: bool,
    /// `is_sendbuf_inplace` is defined.
    pub(super) in_place: bool,
    /// `is_commutative` is defined.
    pub(super) commutative: bool,
    /// `is_op_built_in` is defined.
    pub(super) built_in: bool,
    /// `is_block_regular` is defined.
    pub(super) regular: bool,
}

/// What `total_msg_size` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Total {
    /// Not defined.
    None,
    /// Payload of one process times processes.
    TimesProcesses,
    /// Payloads of all processes.
    Sum,
    /// Elements of one process times processes: the size of the type is set and then overwritten.
    Elements,
}

const fn of(name: &'static str, total: Total) -> Collective {
    Collective {
        name,
        average: false,
        total,
        count: false,
        in_place: false,
        commutative: false,
        built_in: false,
        regular: false,
    }
}

const fn exchange(name: &'static str, total: Total) -> Collective {
    Collective {
        in_place: true,
        ..of(name, total)
    }
}

const fn reduction(name: &'static str, total: Total) -> Collective {
    Collective {
        commutative: true,
        ..of(name, total).counted()
    }
}

/// A reduction that depends on whether the operation is built in.
const fn whole_reduction(name: &'static str) -> Collective {
    Collective {
        built_in: true,
        ..reduction(name, Total::TimesProcesses).averaged()
    }
}

const fn uneven_reduction(name: &'static str) -> Collective {
    Collective {
        regular: true,
        ..reduction(name, Total::Sum)
    }
}

impl Collective {
    const fn averaged(self) -> Self {
        Self {
            average: true,
            ..self
        }
    }

    const fn counted(self) -> Self {
        Self {
            count: true,
            ..self
        }
    }
}

/// In the order of `MPIR_Csel_coll_type_e`, which has the nonblocking ones among the others.
pub(super) static COLLECTIVES: [Collective; 44] = {
    use Total::{Elements, None, Sum, TimesProcesses};
    [
        of("allgather", TimesProcesses).counted(),
        of("allgatherv", Sum).counted(),
        whole_reduction("allreduce"),
        exchange("alltoall", TimesProcesses).averaged(),
        exchange("alltoallv", Sum),
        exchange("alltoallw", Sum),
        of("barrier", None),
        of("bcast", TimesProcesses).averaged().counted(),
        of("exscan", None),
        of("gather", Elements),
        of("gatherv", None),
        of("iallgather", TimesProcesses).counted(),
        of("iallgatherv", Sum).counted(),
        whole_reduction("iallreduce"),
        exchange("ialltoall", TimesProcesses).averaged(),
        exchange("ialltoallv", Sum),
        exchange("ialltoallw", Sum),
        of("ibarrier", None),
        of("ibcast", TimesProcesses).averaged(),
        of("iexscan", None),
        of("igather", Elements),
        of("igatherv", None),
        of("ineighbor_allgather", None),
        of("ineighbor_allgatherv", None),
        of("ineighbor_alltoall", None),
        of("ineighbor_alltoallv", None),
        of("ineighbor_alltoallw", None),
        whole_reduction("ireduce"),
        uneven_reduction("ireduce_scatter"),
        reduction("ireduce_scatter_block", Elements),
        of("iscan", None),
        of("iscatter", Elements),
        of("iscatterv", None),
        of("neighbor_allgather", None),
        of("neighbor_allgatherv", None),
        of("neighbor_alltoall", None),
        of("neighbor_alltoallv", None),
        of("neighbor_alltoallw", None),
        whole_reduction("reduce"),
        uneven_reduction("reduce_scatter"),
        reduction("reduce_scatter_block", TimesProcesses),
        of("scan", None),
        of("scatter", Elements),
        of("scatterv", None),
    ]
};

/// The collective that files call `name`.
pub(super) fn collective(name: &str) -> Option<&'static Collective> {
    COLLECTIVES
        .iter()
        .find(|collective| collective.name == name)
}

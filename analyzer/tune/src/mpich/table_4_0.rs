//! MPICH 4.0, as its sources have it: `src/mpi/coll/coll_algorithms.txt` (algorithms, restrictions,
//! parameters), `parse_container_params` and `MPII_Create_container` in
//! `src/mpi/coll/src/csel_container.c` (what files can say of them), `create_container` in
//! `src/mpid/ch4/src/ch4_init.c` (compositions), `parse_json_tree` in `src/mpi/coll/src/csel.c`.

use super::table_both;
use super::version::Restriction::{
    BuiltIn, Commutative, CountAtLeastPowerOfTwo, InPlace, NotInPlace, ParentComm, PowerOfTwo,
    SeveralProcesses,
};
use super::version::{Algorithms, Version, only, plain};

pub(super) const VERSION: Version = Version {
    number: "4.0",
    tested: Some("4.0.2"),
    algorithms: [ALGORITHMS, table_both::ALGORITHMS],
    other_spellings: &[],
    without_key: &[],
    // `MPIR_Ibarrier_allcomm_sched_auto` (made by `maint/gen_coll.py`) has no case for it.
    unknown_when_run: &["MPIR_Ibarrier_intra_tsp_recexch"],
    compositions: COMPOSITIONS,
    in_shared_memory: &[
        "MPIDI_POSIX_mpi_bcast_release_gather",
        "MPIDI_POSIX_mpi_barrier_release_gather",
        "MPIDI_POSIX_mpi_allreduce_release_gather",
        "MPIDI_POSIX_mpi_reduce_release_gather",
    ],
    any_of_anything: false,
    per_node_below: false,
    hierarchy_or_none: false,
    names_of_trees: false,
};

static COMPOSITIONS: &[&str] = &[
    "MPIDI_Barrier_intra_composition_alpha",
    "MPIDI_Barrier_intra_composition_beta",
    "MPIDI_Bcast_intra_composition_alpha",
    "MPIDI_Bcast_intra_composition_beta",
    "MPIDI_Bcast_intra_composition_gamma",
    "MPIDI_Allreduce_intra_composition_alpha",
    "MPIDI_Allreduce_intra_composition_beta",
    "MPIDI_Allreduce_intra_composition_gamma",
    "MPIDI_Reduce_intra_composition_alpha",
    "MPIDI_Reduce_intra_composition_beta",
    "MPIDI_Reduce_intra_composition_gamma",
    "MPIDI_Alltoall_intra_composition_alpha",
    "MPIDI_Alltoallv_intra_composition_alpha",
    "MPIDI_Alltoallw_intra_composition_alpha",
    "MPIDI_Allgather_intra_composition_alpha",
    "MPIDI_Allgatherv_intra_composition_alpha",
    "MPIDI_Gather_intra_composition_alpha",
    "MPIDI_Gatherv_intra_composition_alpha",
    "MPIDI_Scatter_intra_composition_alpha",
    "MPIDI_Scatterv_intra_composition_alpha",
    "MPIDI_Reduce_scatter_intra_composition_alpha",
    "MPIDI_Reduce_scatter_block_intra_composition_alpha",
    "MPIDI_Scan_intra_composition_alpha",
    "MPIDI_Scan_intra_composition_beta",
    "MPIDI_Exscan_intra_composition_alpha",
];

/// Those that the other version does not have like this.
static ALGORITHMS: &[Algorithms] = &[
    Algorithms {
        collective: "barrier",
        on: "intra",
        list: &[plain("dissemination"), only("smp", &[ParentComm])],
    },
    Algorithms {
        collective: "ibarrier",
        on: "intra",
        list: &[plain("sched_recursive_doubling"), plain("tsp_recexch")],
    },
    Algorithms {
        collective: "bcast",
        on: "intra",
        list: &[
            plain("binomial"),
            plain("scatter_recursive_doubling_allgather"),
            plain("scatter_ring_allgather"),
            only("smp", &[ParentComm]),
        ],
    },
    Algorithms {
        collective: "ibcast",
        on: "intra",
        list: &[
            plain("sched_binomial"),
            only("sched_smp", &[ParentComm]),
            only("sched_scatter_recursive_doubling_allgather", &[PowerOfTwo]),
            plain("sched_scatter_ring_allgather"),
            plain("tsp_tree").reads(&["chunk_size", "tree_type", "k"]),
            plain("tsp_scatterv_recexch_allgatherv").reads(&["scatterv_k", "allgatherv_k"]),
            plain("tsp_ring").reads(&["chunk_size"]),
        ],
    },
    Algorithms {
        collective: "allgather",
        on: "intra",
        list: &[
            plain("brucks"),
            only("recursive_doubling", &[PowerOfTwo]),
            plain("ring"),
        ],
    },
    Algorithms {
        collective: "alltoall",
        on: "intra",
        list: &[
            only("brucks", &[NotInPlace]),
            only("pairwise", &[NotInPlace]),
            only("pairwise_sendrecv_replace", &[InPlace]),
            only("scattered", &[NotInPlace]),
        ],
    },
    Algorithms {
        collective: "ireduce",
        on: "intra",
        list: &[
            only("sched_smp", &[Commutative, ParentComm]),
            plain("sched_binomial"),
            only(
                "sched_reduce_scatter_gather",
                &[CountAtLeastPowerOfTwo, BuiltIn],
            ),
            only("tsp_tree", &[Commutative])
                .needs(&[SeveralProcesses])
                .reads(&["buffer_per_child", "k", "tree_type", "chunk_size"]),
            plain("tsp_ring")
                .needs(&[SeveralProcesses])
                .reads(&["buffer_per_child"])
                .lacks(&["chunk_size"]),
        ],
    },
    Algorithms {
        collective: "allreduce",
        on: "intra",
        list: &[
            only("smp", &[Commutative, ParentComm]),
            plain("recursive_doubling"),
            only(
                "reduce_scatter_allgather",
                &[CountAtLeastPowerOfTwo, BuiltIn],
            ),
        ],
    },
];

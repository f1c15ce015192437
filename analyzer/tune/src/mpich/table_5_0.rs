//! MPICH 5.0, as its sources have it: `src/mpi/coll/coll_algorithms.txt` (algorithms, restrictions,
//! parameters), `parse_container_params` and `MPII_Create_container` in
//! `src/mpi/coll/src/csel_container.c` (what files can say of them), `create_container` in
//! `src/mpid/ch4/src/ch4_init.c` (compositions), `parse_json_tree` in `src/mpi/coll/src/csel.c`.

use super::table_both;
use super::version::Restriction::{
    BuiltIn, Commutative, CountAtLeastPowerOfTwo, InPlace, NotInPlace, ParentComm, PowerOfTwo,
    SeveralProcesses,
};
use super::version::{Algorithms, Version, intra, only, plain};

pub(super) const VERSION: Version = Version {
    number: "5.0",
    tested: None,
    algorithms: [table_both::ALGORITHMS, ALGORITHMS],
    other_spellings: &[(
        "MPIR_Ibarrier_intra_tsp_k_dissem",
        "MPIR_Ibarrier_intra_tsp_k_dissemination",
    )],
    without_key: &["MPIR_Ibcast_intra_tsp_scatterv_ring_allgatherv"],
    unknown_when_run: &[],
    compositions: [
        table_both::COMPOSITIONS,
        &[
            "MPIDI_Bcast_intra_composition_delta",
            "MPIDI_Alltoall_intra_composition_beta",
            "MPIDI_Allgather_intra_composition_beta",
        ],
    ],
    in_shared_memory: &[
        "MPIDI_POSIX_mpi_bcast_release_gather",
        "MPIDI_POSIX_mpi_barrier_release_gather",
        "MPIDI_POSIX_mpi_allreduce_release_gather",
        "MPIDI_POSIX_mpi_reduce_release_gather",
        "MPIDI_POSIX_mpi_bcast_ipc_read",
    ],
    any_of_anything: true,
    per_node_below: true,
    hierarchy_or_none: true,
    names_of_trees: true,
};

/// Those that the other version does not have like this.
static ALGORITHMS: &[Algorithms] = &[
    intra(
        "barrier",
        &[
            plain("k_dissemination").reads(&["k"]),
            plain("recexch").reads(&["k"]).lacks(&["single_phase_recv"]),
            only("smp", &[ParentComm]),
        ],
    ),
    intra(
        "ibarrier",
        &[
            plain("sched_recursive_doubling"),
            plain("tsp_recexch").lacks(&["k"]),
            plain("tsp_k_dissemination").lacks(&["k"]),
        ],
    ),
    intra(
        "bcast",
        &[
            plain("tree").reads(&[
                "tree_type",
                "k",
                "is_non_blocking",
                "topo_overhead",
                "topo_diff_groups",
                "topo_diff_switches",
                "topo_same_switches",
            ]),
            plain("pipelined_tree").reads(&[
                "tree_type",
                "k",
                "is_non_blocking",
                "chunk_size",
                "recv_pre_posted",
            ]),
        ],
    ),
    intra(
        "ibcast",
        &[
            plain("tsp_scatterv_ring_allgatherv").lacks(&["scatterv_k"]),
            plain("tsp_ring").reads(&["chunk_size"]),
        ],
    ),
    intra(
        "allgather",
        &[
            plain("brucks"),
            plain("k_brucks").reads(&["k"]),
            only("recursive_doubling", &[PowerOfTwo]),
            plain("ring"),
            plain("recexch_doubling").reads(&["k", "single_phase_recv"]),
            plain("recexch_halving").reads(&["k", "single_phase_recv"]),
        ],
    ),
    intra(
        "alltoall",
        &[
            only("brucks", &[NotInPlace]),
            only("k_brucks", &[NotInPlace]).reads(&["k"]),
            only("pairwise", &[NotInPlace]),
            only("pairwise_sendrecv_replace", &[InPlace]),
            only("scattered", &[NotInPlace]),
        ],
    ),
    intra(
        "ireduce",
        &[
            only("tsp_tree", &[Commutative])
                .needs(&[SeveralProcesses])
                .reads(&[
                    "buffer_per_child",
                    "k",
                    "tree_type",
                    "chunk_size",
                    "topo_overhead",
                    "topo_diff_groups",
                    "topo_diff_switches",
                    "topo_same_switches",
                ]),
            plain("tsp_ring")
                .needs(&[SeveralProcesses])
                .reads(&["buffer_per_child"])
                .lacks(&["chunk_size"]),
        ],
    ),
    intra(
        "allreduce",
        &[
            only("recursive_multiplying", &[Commutative]).reads(&["k"]),
            only(
                "reduce_scatter_allgather",
                &[CountAtLeastPowerOfTwo, BuiltIn],
            ),
            plain("tree").reads(&[
                "buffer_per_child",
                "k",
                "tree_type",
                "chunk_size",
                "topo_overhead",
                "topo_diff_groups",
                "topo_diff_switches",
                "topo_same_switches",
            ]),
            plain("recexch").reads(&["k", "single_phase_recv"]),
            only("ring", &[Commutative]),
            only("k_reduce_scatter_allgather", &[Commutative]).reads(&["k", "single_phase_recv"]),
            plain("ccl").reads(&["ccl"]),
        ],
    ),
];

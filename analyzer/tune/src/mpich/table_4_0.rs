//! MPICH 4.0, as its sources have it: `src/mpi/coll/coll_algorithms.txt` (algorithms, restrictions,
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
    number: "4.0",
    tested: Some("4.0.2"),
    algorithms: [table_both::ALGORITHMS, ALGORITHMS],
    other_spellings: &[],
    without_key: &[],
    // `MPIR_Ibarrier_allcomm_sched_auto` (made by `maint/gen_coll.py`) has no case for it.
    unknown_when_run: &["MPIR_Ibarrier_intra_tsp_recexch"],
    compositions: [table_both::COMPOSITIONS, &[]],
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

/// Those that the other version does not have like this.
static ALGORITHMS: &[Algorithms] = &[
    intra(
        "barrier",
        &[plain("dissemination"), only("smp", &[ParentComm])],
    ),
    intra(
        "ibarrier",
        &[plain("sched_recursive_doubling"), plain("tsp_recexch")],
    ),
    intra("ibcast", &[plain("tsp_ring").reads(&["chunk_size"])]),
    intra(
        "allgather",
        &[
            plain("brucks"),
            only("recursive_doubling", &[PowerOfTwo]),
            plain("ring"),
        ],
    ),
    intra(
        "alltoall",
        &[
            only("brucks", &[NotInPlace]),
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
                .reads(&["buffer_per_child", "k", "tree_type", "chunk_size"]),
            plain("tsp_ring")
                .needs(&[SeveralProcesses])
                .reads(&["buffer_per_child"])
                .lacks(&["chunk_size"]),
        ],
    ),
    intra(
        "allreduce",
        &[only(
            "reduce_scatter_allgather",
            &[CountAtLeastPowerOfTwo, BuiltIn],
        )],
    ),
];

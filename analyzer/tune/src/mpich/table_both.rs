//! Algorithms that MPICH 4.0 and 5.0 have alike, as `src/mpi/coll/coll_algorithms.txt` of both has them.

use super::version::Restriction::{
    BuiltIn, Commutative, CountAtLeastPowerOfTwo, InPlace, NodeConsecutive, NotInPlace,
    OrderedDisplacements, ParentComm, PowerOfTwo, Regular,
};
use super::version::{Algorithms, allcomm, inter, intra, only, plain};

pub(super) static COMPOSITIONS: &[&str] = &[
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

pub(super) static ALGORITHMS: &[Algorithms] = &[
    inter("barrier", &[plain("bcast")]),
    inter("ibarrier", &[plain("sched_bcast")]),
    intra(
        "bcast",
        &[
            plain("binomial"),
            plain("scatter_recursive_doubling_allgather"),
            plain("scatter_ring_allgather"),
            only("smp", &[ParentComm]),
        ],
    ),
    inter("bcast", &[plain("remote_send_local_bcast")]),
    intra(
        "ibcast",
        &[
            plain("sched_binomial"),
            only("sched_smp", &[ParentComm]),
            only("sched_scatter_recursive_doubling_allgather", &[PowerOfTwo]),
            plain("sched_scatter_ring_allgather"),
            plain("tsp_tree").reads(&["chunk_size", "tree_type", "k"]),
            plain("tsp_scatterv_recexch_allgatherv").reads(&["scatterv_k", "allgatherv_k"]),
        ],
    ),
    inter("ibcast", &[plain("sched_flat")]),
    intra("gather", &[plain("binomial")]),
    inter(
        "gather",
        &[plain("linear"), plain("local_gather_remote_send")],
    ),
    intra(
        "igather",
        &[plain("sched_binomial"), plain("tsp_tree").lacks(&["k"])],
    ),
    inter("igather", &[plain("sched_long"), plain("sched_short")]),
    allcomm("gatherv", &[plain("linear")]),
    allcomm("igatherv", &[plain("sched_linear"), plain("tsp_linear")]),
    intra("scatter", &[plain("binomial")]),
    inter(
        "scatter",
        &[plain("linear"), plain("remote_send_local_scatter")],
    ),
    intra(
        "iscatter",
        &[plain("sched_binomial"), plain("tsp_tree").lacks(&["k"])],
    ),
    inter(
        "iscatter",
        &[
            plain("sched_linear"),
            plain("sched_remote_send_local_scatter"),
        ],
    ),
    allcomm("scatterv", &[plain("linear")]),
    allcomm("iscatterv", &[plain("sched_linear"), plain("tsp_linear")]),
    inter("allgather", &[plain("local_gather_remote_bcast")]),
    intra(
        "iallgather",
        &[
            plain("sched_ring"),
            plain("sched_brucks"),
            only("sched_recursive_doubling", &[PowerOfTwo]),
            plain("tsp_ring"),
            plain("tsp_brucks").lacks(&["k"]),
            plain("tsp_recexch_doubling").lacks(&["k"]),
            plain("tsp_recexch_halving").lacks(&["k"]),
        ],
    ),
    inter("iallgather", &[plain("sched_local_gather_remote_bcast")]),
    intra(
        "allgatherv",
        &[
            plain("brucks"),
            only("recursive_doubling", &[PowerOfTwo]),
            plain("ring"),
        ],
    ),
    inter("allgatherv", &[plain("remote_gather_local_bcast")]),
    intra(
        "iallgatherv",
        &[
            plain("sched_brucks"),
            only("sched_recursive_doubling", &[PowerOfTwo]),
            plain("sched_ring"),
            only("tsp_recexch_doubling", &[OrderedDisplacements]).lacks(&["k"]),
            only("tsp_recexch_halving", &[OrderedDisplacements]).lacks(&["k"]),
            plain("tsp_ring"),
            plain("tsp_brucks").lacks(&["k"]),
        ],
    ),
    inter("iallgatherv", &[plain("sched_remote_gather_local_bcast")]),
    inter("alltoall", &[plain("pairwise_exchange")]),
    intra(
        "ialltoall",
        &[
            only("sched_brucks", &[NotInPlace]),
            only("sched_inplace", &[InPlace]),
            only("sched_pairwise", &[NotInPlace]),
            only("sched_permuted_sendrecv", &[NotInPlace]),
            plain("tsp_ring"),
            plain("tsp_brucks").lacks(&["k", "buffer_per_phase"]),
            plain("tsp_scattered").lacks(&["batch_size", "bblock"]),
        ],
    ),
    inter("ialltoall", &[plain("sched_pairwise_exchange")]),
    intra(
        "alltoallv",
        &[
            only("pairwise_sendrecv_replace", &[InPlace]),
            only("scattered", &[NotInPlace]),
        ],
    ),
    inter("alltoallv", &[plain("pairwise_exchange")]),
    intra(
        "ialltoallv",
        &[
            only("sched_blocked", &[NotInPlace]),
            only("sched_inplace", &[InPlace]),
            only("tsp_scattered", &[NotInPlace]).lacks(&["batch_size", "bblock"]),
            only("tsp_blocked", &[NotInPlace]).lacks(&["bblock"]),
            only("tsp_inplace", &[InPlace]),
        ],
    ),
    inter("ialltoallv", &[plain("sched_pairwise_exchange")]),
    intra(
        "alltoallw",
        &[
            only("pairwise_sendrecv_replace", &[InPlace]),
            only("scattered", &[NotInPlace]),
        ],
    ),
    inter("alltoallw", &[plain("pairwise_exchange")]),
    intra(
        "ialltoallw",
        &[
            only("sched_blocked", &[NotInPlace]),
            only("sched_inplace", &[InPlace]),
            only("tsp_blocked", &[NotInPlace]).lacks(&["bblock"]),
            only("tsp_inplace", &[InPlace]),
        ],
    ),
    inter("ialltoallw", &[plain("sched_pairwise_exchange")]),
    intra(
        "reduce",
        &[
            plain("binomial"),
            only("smp", &[Commutative, ParentComm]),
            only("reduce_scatter_gather", &[CountAtLeastPowerOfTwo, BuiltIn]),
        ],
    ),
    inter("reduce", &[plain("local_reduce_remote_send")]),
    intra(
        "ireduce",
        &[
            only("sched_smp", &[Commutative, ParentComm]),
            plain("sched_binomial"),
            only(
                "sched_reduce_scatter_gather",
                &[CountAtLeastPowerOfTwo, BuiltIn],
            ),
        ],
    ),
    inter("ireduce", &[plain("sched_local_reduce_remote_send")]),
    intra(
        "allreduce",
        &[
            only("smp", &[Commutative, ParentComm]),
            plain("recursive_doubling"),
        ],
    ),
    inter("allreduce", &[plain("reduce_exchange_bcast")]),
    intra(
        "iallreduce",
        &[
            plain("sched_naive"),
            only("sched_smp", &[Commutative, ParentComm]),
            plain("sched_recursive_doubling"),
            only(
                "sched_reduce_scatter_allgather",
                &[CountAtLeastPowerOfTwo, BuiltIn],
            ),
            plain("tsp_recexch_single_buffer").reads(&["k"]),
            plain("tsp_recexch_multiple_buffer").reads(&["k"]),
            plain("tsp_tree").reads(&["buffer_per_child", "k", "tree_type", "chunk_size"]),
            only("tsp_ring", &[Commutative]),
            only(
                "tsp_recexch_reduce_scatter_recexch_allgatherv",
                &[Commutative],
            )
            .reads(&["k"]),
        ],
    ),
    inter("iallreduce", &[plain("sched_remote_reduce_local_bcast")]),
    intra(
        "reduce_scatter",
        &[
            plain("noncommutative").needs(&[PowerOfTwo, Regular]),
            only("pairwise", &[Commutative]),
            plain("recursive_doubling"),
            only("recursive_halving", &[Commutative]),
        ],
    ),
    inter("reduce_scatter", &[plain("remote_reduce_local_scatter")]),
    intra(
        "ireduce_scatter",
        &[
            only("sched_noncommutative", &[PowerOfTwo]).needs(&[Regular]),
            plain("sched_recursive_doubling"),
            only("sched_pairwise", &[Commutative]),
            only("sched_recursive_halving", &[Commutative]),
            only("tsp_recexch", &[Commutative]).lacks(&["k"]),
        ],
    ),
    inter(
        "ireduce_scatter",
        &[plain("sched_remote_reduce_local_scatterv")],
    ),
    intra(
        "reduce_scatter_block",
        &[
            only("noncommutative", &[PowerOfTwo]),
            plain("recursive_doubling"),
            only("pairwise", &[Commutative]),
            only("recursive_halving", &[Commutative]),
        ],
    ),
    inter(
        "reduce_scatter_block",
        &[plain("remote_reduce_local_scatter")],
    ),
    intra(
        "ireduce_scatter_block",
        &[
            only("sched_noncommutative", &[PowerOfTwo]),
            plain("sched_recursive_doubling"),
            only("sched_pairwise", &[Commutative]),
            only("sched_recursive_halving", &[Commutative]),
            only("tsp_recexch", &[Commutative]).lacks(&["k"]),
        ],
    ),
    inter(
        "ireduce_scatter_block",
        &[plain("sched_remote_reduce_local_scatterv")],
    ),
    intra(
        "scan",
        &[
            only("smp", &[Commutative, NodeConsecutive]),
            plain("recursive_doubling"),
        ],
    ),
    intra(
        "iscan",
        &[
            only("sched_smp", &[Commutative, NodeConsecutive]),
            plain("sched_recursive_doubling"),
            plain("tsp_recursive_doubling"),
        ],
    ),
    intra("exscan", &[plain("recursive_doubling")]),
    intra("iexscan", &[plain("sched_recursive_doubling")]),
    allcomm(
        "ineighbor_allgather",
        &[plain("sched_linear"), plain("tsp_linear")],
    ),
    allcomm(
        "ineighbor_allgatherv",
        &[plain("sched_linear"), plain("tsp_linear")],
    ),
    allcomm(
        "ineighbor_alltoall",
        &[plain("sched_linear"), plain("tsp_linear")],
    ),
    allcomm(
        "ineighbor_alltoallv",
        &[plain("sched_linear"), plain("tsp_linear")],
    ),
    allcomm(
        "ineighbor_alltoallw",
        &[plain("sched_linear"), plain("tsp_linear")],
    ),
];

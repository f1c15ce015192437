//! Algorithms that MPICH 4.0 and 5.0 have alike, as `src/mpi/coll/coll_algorithms.txt` of both has them.

use super::version::Restriction::{
    BuiltIn, Commutative, CountAtLeastPowerOfTwo, InPlace, NodeConsecutive, NotInPlace,
    OrderedDisplacements, ParentComm, PowerOfTwo, Regular,
};
use super::version::{Algorithms, only, plain};

pub(super) static ALGORITHMS: &[Algorithms] = &[
    Algorithms {
        collective: "barrier",
        on: "inter",
        list: &[plain("bcast")],
    },
    Algorithms {
        collective: "ibarrier",
        on: "inter",
        list: &[plain("sched_bcast")],
    },
    Algorithms {
        collective: "bcast",
        on: "inter",
        list: &[plain("remote_send_local_bcast")],
    },
    Algorithms {
        collective: "ibcast",
        on: "inter",
        list: &[plain("sched_flat")],
    },
    Algorithms {
        collective: "gather",
        on: "intra",
        list: &[plain("binomial")],
    },
    Algorithms {
        collective: "gather",
        on: "inter",
        list: &[plain("linear"), plain("local_gather_remote_send")],
    },
    Algorithms {
        collective: "igather",
        on: "intra",
        list: &[plain("sched_binomial"), plain("tsp_tree").lacks(&["k"])],
    },
    Algorithms {
        collective: "igather",
        on: "inter",
        list: &[plain("sched_long"), plain("sched_short")],
    },
    Algorithms {
        collective: "gatherv",
        on: "allcomm",
        list: &[plain("linear")],
    },
    Algorithms {
        collective: "igatherv",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
    Algorithms {
        collective: "scatter",
        on: "intra",
        list: &[plain("binomial")],
    },
    Algorithms {
        collective: "scatter",
        on: "inter",
        list: &[plain("linear"), plain("remote_send_local_scatter")],
    },
    Algorithms {
        collective: "iscatter",
        on: "intra",
        list: &[plain("sched_binomial"), plain("tsp_tree").lacks(&["k"])],
    },
    Algorithms {
        collective: "iscatter",
        on: "inter",
        list: &[
            plain("sched_linear"),
            plain("sched_remote_send_local_scatter"),
        ],
    },
    Algorithms {
        collective: "scatterv",
        on: "allcomm",
        list: &[plain("linear")],
    },
    Algorithms {
        collective: "iscatterv",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
    Algorithms {
        collective: "allgather",
        on: "inter",
        list: &[plain("local_gather_remote_bcast")],
    },
    Algorithms {
        collective: "iallgather",
        on: "intra",
        list: &[
            plain("sched_ring"),
            plain("sched_brucks"),
            only("sched_recursive_doubling", &[PowerOfTwo]),
            plain("tsp_ring"),
            plain("tsp_brucks").lacks(&["k"]),
            plain("tsp_recexch_doubling").lacks(&["k"]),
            plain("tsp_recexch_halving").lacks(&["k"]),
        ],
    },
    Algorithms {
        collective: "iallgather",
        on: "inter",
        list: &[plain("sched_local_gather_remote_bcast")],
    },
    Algorithms {
        collective: "allgatherv",
        on: "intra",
        list: &[
            plain("brucks"),
            only("recursive_doubling", &[PowerOfTwo]),
            plain("ring"),
        ],
    },
    Algorithms {
        collective: "allgatherv",
        on: "inter",
        list: &[plain("remote_gather_local_bcast")],
    },
    Algorithms {
        collective: "iallgatherv",
        on: "intra",
        list: &[
            plain("sched_brucks"),
            only("sched_recursive_doubling", &[PowerOfTwo]),
            plain("sched_ring"),
            only("tsp_recexch_doubling", &[OrderedDisplacements]).lacks(&["k"]),
            only("tsp_recexch_halving", &[OrderedDisplacements]).lacks(&["k"]),
            plain("tsp_ring"),
            plain("tsp_brucks").lacks(&["k"]),
        ],
    },
    Algorithms {
        collective: "iallgatherv",
        on: "inter",
        list: &[plain("sched_remote_gather_local_bcast")],
    },
    Algorithms {
        collective: "alltoall",
        on: "inter",
        list: &[plain("pairwise_exchange")],
    },
    Algorithms {
        collective: "ialltoall",
        on: "intra",
        list: &[
            only("sched_brucks", &[NotInPlace]),
            only("sched_inplace", &[InPlace]),
            only("sched_pairwise", &[NotInPlace]),
            only("sched_permuted_sendrecv", &[NotInPlace]),
            plain("tsp_ring"),
            plain("tsp_brucks").lacks(&["k", "buffer_per_phase"]),
            plain("tsp_scattered").lacks(&["batch_size", "bblock"]),
        ],
    },
    Algorithms {
        collective: "ialltoall",
        on: "inter",
        list: &[plain("sched_pairwise_exchange")],
    },
    Algorithms {
        collective: "alltoallv",
        on: "intra",
        list: &[
            only("pairwise_sendrecv_replace", &[InPlace]),
            only("scattered", &[NotInPlace]),
        ],
    },
    Algorithms {
        collective: "alltoallv",
        on: "inter",
        list: &[plain("pairwise_exchange")],
    },
    Algorithms {
        collective: "ialltoallv",
        on: "intra",
        list: &[
            only("sched_blocked", &[NotInPlace]),
            only("sched_inplace", &[InPlace]),
            only("tsp_scattered", &[NotInPlace]).lacks(&["batch_size", "bblock"]),
            only("tsp_blocked", &[NotInPlace]).lacks(&["bblock"]),
            only("tsp_inplace", &[InPlace]),
        ],
    },
    Algorithms {
        collective: "ialltoallv",
        on: "inter",
        list: &[plain("sched_pairwise_exchange")],
    },
    Algorithms {
        collective: "alltoallw",
        on: "intra",
        list: &[
            only("pairwise_sendrecv_replace", &[InPlace]),
            only("scattered", &[NotInPlace]),
        ],
    },
    Algorithms {
        collective: "alltoallw",
        on: "inter",
        list: &[plain("pairwise_exchange")],
    },
    Algorithms {
        collective: "ialltoallw",
        on: "intra",
        list: &[
            only("sched_blocked", &[NotInPlace]),
            only("sched_inplace", &[InPlace]),
            only("tsp_blocked", &[NotInPlace]).lacks(&["bblock"]),
            only("tsp_inplace", &[InPlace]),
        ],
    },
    Algorithms {
        collective: "ialltoallw",
        on: "inter",
        list: &[plain("sched_pairwise_exchange")],
    },
    Algorithms {
        collective: "reduce",
        on: "intra",
        list: &[
            plain("binomial"),
            only("smp", &[Commutative, ParentComm]),
            only("reduce_scatter_gather", &[CountAtLeastPowerOfTwo, BuiltIn]),
        ],
    },
    Algorithms {
        collective: "reduce",
        on: "inter",
        list: &[plain("local_reduce_remote_send")],
    },
    Algorithms {
        collective: "ireduce",
        on: "inter",
        list: &[plain("sched_local_reduce_remote_send")],
    },
    Algorithms {
        collective: "allreduce",
        on: "inter",
        list: &[plain("reduce_exchange_bcast")],
    },
    Algorithms {
        collective: "iallreduce",
        on: "intra",
        list: &[
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
    },
    Algorithms {
        collective: "iallreduce",
        on: "inter",
        list: &[plain("sched_remote_reduce_local_bcast")],
    },
    Algorithms {
        collective: "reduce_scatter",
        on: "intra",
        list: &[
            plain("noncommutative").needs(&[PowerOfTwo, Regular]),
            only("pairwise", &[Commutative]),
            plain("recursive_doubling"),
            only("recursive_halving", &[Commutative]),
        ],
    },
    Algorithms {
        collective: "reduce_scatter",
        on: "inter",
        list: &[plain("remote_reduce_local_scatter")],
    },
    Algorithms {
        collective: "ireduce_scatter",
        on: "intra",
        list: &[
            only("sched_noncommutative", &[PowerOfTwo]).needs(&[Regular]),
            plain("sched_recursive_doubling"),
            only("sched_pairwise", &[Commutative]),
            only("sched_recursive_halving", &[Commutative]),
            only("tsp_recexch", &[Commutative]).lacks(&["k"]),
        ],
    },
    Algorithms {
        collective: "ireduce_scatter",
        on: "inter",
        list: &[plain("sched_remote_reduce_local_scatterv")],
    },
    Algorithms {
        collective: "reduce_scatter_block",
        on: "intra",
        list: &[
            only("noncommutative", &[PowerOfTwo]),
            plain("recursive_doubling"),
            only("pairwise", &[Commutative]),
            only("recursive_halving", &[Commutative]),
        ],
    },
    Algorithms {
        collective: "reduce_scatter_block",
        on: "inter",
        list: &[plain("remote_reduce_local_scatter")],
    },
    Algorithms {
        collective: "ireduce_scatter_block",
        on: "intra",
        list: &[
            only("sched_noncommutative", &[PowerOfTwo]),
            plain("sched_recursive_doubling"),
            only("sched_pairwise", &[Commutative]),
            only("sched_recursive_halving", &[Commutative]),
            only("tsp_recexch", &[Commutative]).lacks(&["k"]),
        ],
    },
    Algorithms {
        collective: "ireduce_scatter_block",
        on: "inter",
        list: &[plain("sched_remote_reduce_local_scatterv")],
    },
    Algorithms {
        collective: "scan",
        on: "intra",
        list: &[
            only("smp", &[Commutative, NodeConsecutive]),
            plain("recursive_doubling"),
        ],
    },
    Algorithms {
        collective: "iscan",
        on: "intra",
        list: &[
            only("sched_smp", &[Commutative, NodeConsecutive]),
            plain("sched_recursive_doubling"),
            plain("tsp_recursive_doubling"),
        ],
    },
    Algorithms {
        collective: "exscan",
        on: "intra",
        list: &[plain("recursive_doubling")],
    },
    Algorithms {
        collective: "iexscan",
        on: "intra",
        list: &[plain("sched_recursive_doubling")],
    },
    Algorithms {
        collective: "ineighbor_allgather",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
    Algorithms {
        collective: "ineighbor_allgatherv",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
    Algorithms {
        collective: "ineighbor_alltoall",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
    Algorithms {
        collective: "ineighbor_alltoallv",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
    Algorithms {
        collective: "ineighbor_alltoallw",
        on: "allcomm",
        list: &[plain("sched_linear"), plain("tsp_linear")],
    },
];

//! Open MPI 4.1.
//!
//! Follows `coll_tuned_dynamic_file.c` (`ompi_coll_tuned_read_rules_config_file`),
//! `coll_tuned_dynamic_rules.c` (`ompi_coll_tuned_get_com_rule_ptr`,
//! `ompi_coll_tuned_get_target_method_params`), `coll_tuned_module.c`
//! (`COLL_TUNED_EXECUTE_IF_DYNAMIC`), `coll_tuned_decision_dynamic.c` (the sizes, and the order of
//! file and forced algorithm), each `ompi_coll_tuned_OPERATION_intra_do_this` (the numbers) and each
//! `coll_base_OPERATION.c` (the limits of the algorithms).

use collbench_formats::Operation;

use super::version::{Algorithm, CountedSize, Limit, OperationTable, Part, VersionTable};

/// An algorithm without limits, parts and parameters.
pub(super) const fn plain(id: i64, name: &'static str, function: &'static str) -> Algorithm {
    Algorithm {
        id,
        name,
        function,
        limit: Limit::None,
        parts: &[],
        uses_fan_out: false,
        least_fan_out: 0,
        uses_segment: false,
        uses_requests: false,
    }
}

/// One that has a limit.
const fn limited(id: i64, name: &'static str, function: &'static str, limit: Limit) -> Algorithm {
    Algorithm {
        limit,
        ..plain(id, name, function)
    }
}

/// One that sends segments.
pub(super) const fn segmented(id: i64, name: &'static str, function: &'static str) -> Algorithm {
    Algorithm {
        uses_segment: true,
        ..plain(id, name, function)
    }
}

/// One that is composed of other operations.
pub(super) const fn composed(
    id: i64,
    name: &'static str,
    function: &'static str,
    parts: &'static [Part],
) -> Algorithm {
    Algorithm {
        parts,
        ..plain(id, name, function)
    }
}

pub(super) const TABLE: VersionTable = VersionTable {
    n_collectives: 22,
    version_line_since: 8,
    forced_goes_first: false,
    han_priority: 0,
    tuned_priority: 30,
    operations: &[
        &ALLGATHER,
        &ALLGATHERV,
        &ALLREDUCE,
        &ALLTOALL,
        &ALLTOALLV,
        &BARRIER,
        &BCAST,
        &EXSCAN,
        &GATHER,
        &REDUCE,
        &REDUCE_SCATTER,
        &REDUCE_SCATTER_BLOCK,
        &SCAN,
        &SCATTER,
    ],
};

pub(super) const ALLGATHER: OperationTable = OperationTable {
    id: 0,
    name: "allgather",
    operation: Operation::Allgather,
    size: CountedSize::AllProcesses,
    returns_without_data: true,
    algorithms: &[
        composed(
            1,
            "linear",
            "allgather_intra_basic_linear",
            &[Part::Same(Operation::Gather), Part::All(Operation::Bcast)],
        ),
        plain(2, "bruck", "allgather_intra_bruck"),
        limited(
            3,
            "recursive_doubling",
            "allgather_intra_recursivedoubling",
            Limit::PowerOfTwo("allgather_intra_bruck"),
        ),
        plain(4, "ring", "allgather_intra_ring"),
        limited(
            5,
            "neighbor",
            "allgather_intra_neighborexchange",
            Limit::Even("allgather_intra_ring"),
        ),
        limited(
            6,
            "two_proc",
            "allgather_intra_two_procs",
            Limit::TwoProcesses,
        ),
    ],
    otherwise: None,
};

pub(super) const ALLGATHERV: OperationTable = OperationTable {
    id: 1,
    name: "allgatherv",
    operation: Operation::Allgatherv,
    // The mean over all processes.
    size: CountedSize::OneProcess,
    returns_without_data: true,
    algorithms: &[
        // A gatherv, which has no rules, and a bcast, whose error is not looked at.
        plain(1, "default", "allgatherv_intra_basic_default"),
        plain(2, "bruck", "allgatherv_intra_bruck"),
        plain(3, "ring", "allgatherv_intra_ring"),
        limited(
            4,
            "neighbor",
            "allgatherv_intra_neighborexchange",
            Limit::Even("allgatherv_intra_ring"),
        ),
        limited(
            5,
            "two_proc",
            "allgatherv_intra_two_procs",
            Limit::TwoProcesses,
        ),
    ],
    otherwise: None,
};

pub(super) const ALLREDUCE: OperationTable = OperationTable {
    id: 2,
    name: "allreduce",
    operation: Operation::Allreduce,
    size: CountedSize::OneProcess,
    returns_without_data: true,
    algorithms: &[
        plain(1, "basic_linear", "allreduce_intra_basic_linear"),
        composed(
            2,
            "nonoverlapping",
            "allreduce_intra_nonoverlapping",
            &[Part::Same(Operation::Reduce), Part::Same(Operation::Bcast)],
        ),
        plain(3, "recursive_doubling", "allreduce_intra_recursivedoubling"),
        limited(
            4,
            "ring",
            "allreduce_intra_ring",
            Limit::ElementForEach("allreduce_intra_recursivedoubling"),
        ),
        Algorithm {
            limit: Limit::SegmentForEach("allreduce_intra_ring"),
            ..segmented(5, "segmented_ring", "allreduce_intra_ring_segmented")
        },
        limited(
            6,
            "rabenseifner",
            "allreduce_intra_redscat_allgather",
            Limit::ElementForPowerOfTwo("allreduce_intra_basic_linear"),
        ),
    ],
    otherwise: None,
};

pub(super) const ALLTOALL: OperationTable = OperationTable {
    id: 3,
    name: "alltoall",
    operation: Operation::Alltoall,
    size: CountedSize::AllProcesses,
    returns_without_data: true,
    algorithms: &[
        plain(1, "linear", "alltoall_intra_basic_linear"),
        plain(2, "pairwise", "alltoall_intra_pairwise"),
        plain(3, "modified_bruck", "alltoall_intra_bruck"),
        Algorithm {
            uses_requests: true,
            ..plain(4, "linear_sync", "alltoall_intra_linear_sync")
        },
        limited(
            5,
            "two_proc",
            "alltoall_intra_two_procs",
            Limit::TwoProcesses,
        ),
    ],
    otherwise: None,
};

pub(super) const ALLTOALLV: OperationTable = OperationTable {
    id: 4,
    name: "alltoallv",
    operation: Operation::Alltoallv,
    size: CountedSize::Nothing,
    returns_without_data: false,
    algorithms: &[
        plain(1, "basic_linear", "alltoallv_intra_basic_linear"),
        plain(2, "pairwise", "alltoallv_intra_pairwise"),
    ],
    otherwise: None,
};

pub(super) const BARRIER: OperationTable = OperationTable {
    id: 6,
    name: "barrier",
    operation: Operation::Barrier,
    size: CountedSize::Nothing,
    returns_without_data: false,
    algorithms: &[
        plain(1, "linear", "barrier_intra_basic_linear"),
        plain(2, "double_ring", "barrier_intra_doublering"),
        plain(3, "recursive_doubling", "barrier_intra_recursivedoubling"),
        plain(4, "bruck", "barrier_intra_bruck"),
        limited(
            5,
            "two_proc",
            "barrier_intra_two_procs",
            Limit::TwoProcesses,
        ),
        plain(6, "tree", "barrier_intra_tree"),
    ],
    otherwise: None,
};

pub(super) const BCAST: OperationTable = OperationTable {
    id: 7,
    name: "bcast",
    operation: Operation::Bcast,
    size: CountedSize::OneProcess,
    returns_without_data: true,
    algorithms: &[
        plain(1, "basic_linear", "bcast_intra_basic_linear"),
        Algorithm {
            uses_fan_out: true,
            ..segmented(2, "chain", "bcast_intra_chain")
        },
        segmented(3, "pipeline", "bcast_intra_pipeline"),
        Algorithm {
            limit: Limit::TwoHalves("bcast_intra_chain"),
            ..segmented(4, "split_binary_tree", "bcast_intra_split_bintree")
        },
        segmented(5, "binary_tree", "bcast_intra_bintree"),
        segmented(6, "binomial", "bcast_intra_binomial"),
        segmented(7, "knomial", "bcast_intra_knomial"),
        limited(
            8,
            "scatter_allgather",
            "bcast_intra_scatter_allgather",
            Limit::ElementForEach("bcast_intra_basic_linear"),
        ),
        limited(
            9,
            "scatter_allgather_ring",
            "bcast_intra_scatter_allgather_ring",
            Limit::ElementForEach("bcast_intra_basic_linear"),
        ),
    ],
    otherwise: None,
};

pub(super) const EXSCAN: OperationTable = OperationTable {
    id: 8,
    name: "exscan",
    operation: Operation::Exscan,
    size: CountedSize::OneElement,
    returns_without_data: true,
    algorithms: &[
        plain(1, "linear", "exscan_intra_linear"),
        plain(2, "recursive_doubling", "exscan_intra_recursivedoubling"),
    ],
    otherwise: Some("exscan_intra_linear"),
};

pub(super) const GATHER: OperationTable = OperationTable {
    id: 9,
    name: "gather",
    operation: Operation::Gather,
    size: CountedSize::AllProcesses,
    returns_without_data: true,
    algorithms: &[
        plain(1, "basic_linear", "gather_intra_basic_linear"),
        plain(2, "binomial", "gather_intra_binomial"),
        segmented(3, "linear_sync", "gather_intra_linear_sync"),
    ],
    otherwise: None,
};

pub(super) const REDUCE: OperationTable = OperationTable {
    id: 11,
    name: "reduce",
    operation: Operation::Reduce,
    size: CountedSize::OneProcess,
    returns_without_data: true,
    algorithms: &[
        plain(1, "linear", "reduce_intra_basic_linear"),
        Algorithm {
            uses_fan_out: true,
            uses_requests: true,
            ..segmented(2, "chain", "reduce_intra_chain")
        },
        Algorithm {
            uses_requests: true,
            ..segmented(3, "pipeline", "reduce_intra_pipeline")
        },
        Algorithm {
            uses_requests: true,
            ..segmented(4, "binary", "reduce_intra_binary")
        },
        Algorithm {
            uses_requests: true,
            ..segmented(5, "binomial", "reduce_intra_binomial")
        },
        Algorithm {
            uses_requests: true,
            ..segmented(6, "in-order_binary", "reduce_intra_in_order_binary")
        },
        limited(
            7,
            "rabenseifner",
            "reduce_intra_redscat_gather",
            Limit::ElementForPowerOfTwo("reduce_intra_basic_linear"),
        ),
    ],
    otherwise: None,
};

pub(super) const REDUCE_SCATTER: OperationTable = OperationTable {
    id: 12,
    name: "reduce_scatter",
    operation: Operation::ReduceScatter,
    size: CountedSize::AllProcesses,
    returns_without_data: true,
    algorithms: &[
        composed(
            1,
            "non-overlapping",
            "reduce_scatter_intra_nonoverlapping",
            &[Part::All(Operation::Reduce)],
        ),
        plain(
            2,
            "recursive_halving",
            "reduce_scatter_intra_basic_recursivehalving",
        ),
        plain(3, "ring", "reduce_scatter_intra_ring"),
        plain(4, "butterfly", "reduce_scatter_intra_butterfly"),
    ],
    otherwise: None,
};

pub(super) const REDUCE_SCATTER_BLOCK: OperationTable = OperationTable {
    id: 13,
    name: "reduce_scatter_block",
    operation: Operation::ReduceScatterBlock,
    size: CountedSize::AllProcesses,
    returns_without_data: true,
    algorithms: &[
        composed(
            1,
            "basic_linear",
            "reduce_scatter_block_basic_linear",
            &[Part::All(Operation::Reduce), Part::Same(Operation::Scatter)],
        ),
        plain(
            2,
            "recursive_doubling",
            "reduce_scatter_block_intra_recursivedoubling",
        ),
        plain(
            3,
            "recursive_halving",
            "reduce_scatter_block_intra_recursivehalving",
        ),
        plain(4, "butterfly", "reduce_scatter_block_intra_butterfly"),
    ],
    otherwise: None,
};

pub(super) const SCAN: OperationTable = OperationTable {
    id: 14,
    name: "scan",
    operation: Operation::Scan,
    size: CountedSize::OneElement,
    returns_without_data: true,
    algorithms: &[
        plain(1, "linear", "scan_intra_linear"),
        plain(2, "recursive_doubling", "scan_intra_recursivedoubling"),
    ],
    otherwise: Some("scan_intra_linear"),
};

pub(super) const SCATTER: OperationTable = OperationTable {
    id: 15,
    name: "scatter",
    operation: Operation::Scatter,
    size: CountedSize::AllProcesses,
    returns_without_data: true,
    algorithms: &[
        plain(1, "basic_linear", "scatter_intra_basic_linear"),
        plain(2, "binomial", "scatter_intra_binomial"),
        plain(3, "linear_nb", "scatter_intra_linear_nb"),
    ],
    otherwise: None,
};

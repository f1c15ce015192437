//! Open MPI 4.1.
//!
//! Follows `coll_tuned_dynamic_file.c` (`ompi_coll_tuned_read_rules_config_file`),
//! `coll_tuned_dynamic_rules.c` (`ompi_coll_tuned_get_com_rule_ptr`,
//! `ompi_coll_tuned_get_target_method_params`), `coll_tuned_module.c`
//! (`COLL_TUNED_EXECUTE_IF_DYNAMIC`), `coll_tuned_decision_dynamic.c` (the sizes, and the order of
//! file and forced algorithm), each `ompi_coll_tuned_OPERATION_intra_do_this` (the numbers) and each
//! `coll_base_OPERATION.c` (the limits of the algorithms).

use collbench_formats::Operation;

use super::version::{
    Algorithm, CountedSize, Limit, NAMES_BY_ID, OperationTable, Part, VersionTable,
};

/// A table without algorithms.
const fn table(id: i64, operation: Operation, size: CountedSize) -> OperationTable {
    OperationTable {
        id,
        name: NAMES_BY_ID[id as usize],
        operation,
        size,
        returns_without_data: true,
        algorithms: &[],
        otherwise: None,
    }
}

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

/// The algorithms of an earlier version, and one more.
pub(super) const fn with<const N: usize>(before: &[Algorithm], last: Algorithm) -> [Algorithm; N] {
    assert!(N == before.len() + 1);
    let mut all = [last; N];
    let mut at = 0;
    while at < before.len() {
        all[at] = before[at];
        at += 1;
    }
    all
}

/// One that sends segments.
const fn segmented(id: i64, name: &'static str, function: &'static str) -> Algorithm {
    Algorithm {
        uses_segment: true,
        ..plain(id, name, function)
    }
}

impl Algorithm {
    const fn limited(self, limit: Limit) -> Self {
        Self { limit, ..self }
    }

    /// It is composed of other operations.
    const fn composed(self, parts: &'static [Part]) -> Self {
        Self { parts, ..self }
    }

    const fn with_fan_out(self) -> Self {
        Self {
            uses_fan_out: true,
            ..self
        }
    }

    const fn with_requests(self) -> Self {
        Self {
            uses_requests: true,
            ..self
        }
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
    algorithms: &[
        plain(1, "linear", "allgather_intra_basic_linear")
            .composed(&[Part::Same(Operation::Gather), Part::All(Operation::Bcast)]),
        plain(2, "bruck", "allgather_intra_bruck"),
        plain(3, "recursive_doubling", "allgather_intra_recursivedoubling")
            .limited(Limit::PowerOfTwo("allgather_intra_bruck")),
        plain(4, "ring", "allgather_intra_ring"),
        plain(5, "neighbor", "allgather_intra_neighborexchange")
            .limited(Limit::Even("allgather_intra_ring")),
        plain(6, "two_proc", "allgather_intra_two_procs").limited(Limit::TwoProcesses),
    ],
    ..table(0, Operation::Allgather, CountedSize::AllProcesses)
};

pub(super) const ALLGATHERV: OperationTable = OperationTable {
    algorithms: &[
        // A gatherv, which has no rules, and a bcast, whose error is not looked at.
        plain(1, "default", "allgatherv_intra_basic_default"),
        plain(2, "bruck", "allgatherv_intra_bruck"),
        plain(3, "ring", "allgatherv_intra_ring"),
        plain(4, "neighbor", "allgatherv_intra_neighborexchange")
            .limited(Limit::Even("allgatherv_intra_ring")),
        plain(5, "two_proc", "allgatherv_intra_two_procs").limited(Limit::TwoProcesses),
    ],
    // The mean over all processes.
    ..table(1, Operation::Allgatherv, CountedSize::OneProcess)
};

pub(super) const ALLREDUCE: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "basic_linear", "allreduce_intra_basic_linear"),
        plain(2, "nonoverlapping", "allreduce_intra_nonoverlapping")
            .composed(&[Part::Same(Operation::Reduce), Part::Same(Operation::Bcast)]),
        plain(3, "recursive_doubling", "allreduce_intra_recursivedoubling"),
        plain(4, "ring", "allreduce_intra_ring")
            .limited(Limit::ElementForEach("allreduce_intra_recursivedoubling")),
        segmented(5, "segmented_ring", "allreduce_intra_ring_segmented")
            .limited(Limit::SegmentForEach("allreduce_intra_ring")),
        plain(6, "rabenseifner", "allreduce_intra_redscat_allgather")
            .limited(Limit::ElementForPowerOfTwo("allreduce_intra_basic_linear")),
    ],
    ..table(2, Operation::Allreduce, CountedSize::OneProcess)
};

pub(super) const ALLTOALL: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "linear", "alltoall_intra_basic_linear"),
        plain(2, "pairwise", "alltoall_intra_pairwise"),
        plain(3, "modified_bruck", "alltoall_intra_bruck"),
        plain(4, "linear_sync", "alltoall_intra_linear_sync").with_requests(),
        plain(5, "two_proc", "alltoall_intra_two_procs").limited(Limit::TwoProcesses),
    ],
    ..table(3, Operation::Alltoall, CountedSize::AllProcesses)
};

pub(super) const ALLTOALLV: OperationTable = OperationTable {
    returns_without_data: false,
    algorithms: &[
        plain(1, "basic_linear", "alltoallv_intra_basic_linear"),
        plain(2, "pairwise", "alltoallv_intra_pairwise"),
    ],
    ..table(4, Operation::Alltoallv, CountedSize::Nothing)
};

pub(super) const BARRIER: OperationTable = OperationTable {
    returns_without_data: false,
    algorithms: &[
        plain(1, "linear", "barrier_intra_basic_linear"),
        plain(2, "double_ring", "barrier_intra_doublering"),
        plain(3, "recursive_doubling", "barrier_intra_recursivedoubling"),
        plain(4, "bruck", "barrier_intra_bruck"),
        plain(5, "two_proc", "barrier_intra_two_procs").limited(Limit::TwoProcesses),
        plain(6, "tree", "barrier_intra_tree"),
    ],
    ..table(6, Operation::Barrier, CountedSize::Nothing)
};

pub(super) const BCAST: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "basic_linear", "bcast_intra_basic_linear"),
        segmented(2, "chain", "bcast_intra_chain").with_fan_out(),
        segmented(3, "pipeline", "bcast_intra_pipeline"),
        segmented(4, "split_binary_tree", "bcast_intra_split_bintree")
            .limited(Limit::TwoHalves("bcast_intra_chain")),
        segmented(5, "binary_tree", "bcast_intra_bintree"),
        segmented(6, "binomial", "bcast_intra_binomial"),
        segmented(7, "knomial", "bcast_intra_knomial"),
        plain(8, "scatter_allgather", "bcast_intra_scatter_allgather")
            .limited(Limit::ElementForEach("bcast_intra_basic_linear")),
        plain(
            9,
            "scatter_allgather_ring",
            "bcast_intra_scatter_allgather_ring",
        )
        .limited(Limit::ElementForEach("bcast_intra_basic_linear")),
    ],
    ..table(7, Operation::Bcast, CountedSize::OneProcess)
};

pub(super) const EXSCAN: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "linear", "exscan_intra_linear"),
        plain(2, "recursive_doubling", "exscan_intra_recursivedoubling"),
    ],
    otherwise: Some("exscan_intra_linear"),
    ..table(8, Operation::Exscan, CountedSize::OneElement)
};

pub(super) const GATHER: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "basic_linear", "gather_intra_basic_linear"),
        plain(2, "binomial", "gather_intra_binomial"),
        segmented(3, "linear_sync", "gather_intra_linear_sync"),
    ],
    ..table(9, Operation::Gather, CountedSize::AllProcesses)
};

pub(super) const REDUCE: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "linear", "reduce_intra_basic_linear"),
        segmented(2, "chain", "reduce_intra_chain")
            .with_fan_out()
            .with_requests(),
        segmented(3, "pipeline", "reduce_intra_pipeline").with_requests(),
        segmented(4, "binary", "reduce_intra_binary").with_requests(),
        segmented(5, "binomial", "reduce_intra_binomial").with_requests(),
        segmented(6, "in-order_binary", "reduce_intra_in_order_binary").with_requests(),
        plain(7, "rabenseifner", "reduce_intra_redscat_gather")
            .limited(Limit::ElementForPowerOfTwo("reduce_intra_basic_linear")),
    ],
    ..table(11, Operation::Reduce, CountedSize::OneProcess)
};

pub(super) const REDUCE_SCATTER: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "non-overlapping", "reduce_scatter_intra_nonoverlapping")
            .composed(&[Part::All(Operation::Reduce)]),
        plain(
            2,
            "recursive_halving",
            "reduce_scatter_intra_basic_recursivehalving",
        ),
        plain(3, "ring", "reduce_scatter_intra_ring"),
        plain(4, "butterfly", "reduce_scatter_intra_butterfly"),
    ],
    ..table(12, Operation::ReduceScatter, CountedSize::AllProcesses)
};

pub(super) const REDUCE_SCATTER_BLOCK: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "basic_linear", "reduce_scatter_block_basic_linear")
            .composed(&[Part::All(Operation::Reduce), Part::Same(Operation::Scatter)]),
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
    ..table(13, Operation::ReduceScatterBlock, CountedSize::AllProcesses)
};

pub(super) const SCAN: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "linear", "scan_intra_linear"),
        plain(2, "recursive_doubling", "scan_intra_recursivedoubling"),
    ],
    otherwise: Some("scan_intra_linear"),
    ..table(14, Operation::Scan, CountedSize::OneElement)
};

pub(super) const SCATTER: OperationTable = OperationTable {
    algorithms: &[
        plain(1, "basic_linear", "scatter_intra_basic_linear"),
        plain(2, "binomial", "scatter_intra_binomial"),
        plain(3, "linear_nb", "scatter_intra_linear_nb"),
    ],
    ..table(15, Operation::Scatter, CountedSize::AllProcesses)
};

//! Open MPI 6.0, as the sources of its branch `v6.0.x` and the published schema of its JSON have it: no
//! library of it was run.
//!
//! Follows each `coll_tuned_OPERATION_decision.c` (names and numbers), `coll_tuned_decision_dynamic.c`, and
//! `coll_base_allgather.c`, `coll_base_allreduce.c` and `coll_base_reduce.c` (what differs from 5.0).

use super::version::{Algorithm, Limit, OperationTable, VersionTable};
use super::{v4_1, v5_0};
use v4_1::{plain, with};

pub(super) const TABLE: VersionTable = VersionTable {
    n_collectives: 22,
    version_line_since: 0,
    forced_goes_first: true,
    han_priority: 35,
    tuned_priority: 30,
    operations: &[
        &ALLGATHER,
        &v5_0::ALLGATHERV,
        &ALLREDUCE,
        &v4_1::ALLTOALL,
        &v4_1::ALLTOALLV,
        &v4_1::BARRIER,
        &v4_1::BCAST,
        &v4_1::EXSCAN,
        &v4_1::GATHER,
        &REDUCE,
        &v4_1::REDUCE_SCATTER,
        &v4_1::REDUCE_SCATTER_BLOCK,
        &v4_1::SCAN,
        &v4_1::SCATTER,
    ],
};

/// One whose fan-out is a radix: with one below 2 it goes round without end.
const fn of_radix(id: i64, name: &'static str, function: &'static str) -> Algorithm {
    Algorithm {
        uses_fan_out: true,
        least_fan_out: 2,
        ..plain(id, name, function)
    }
}

const K_BRUCK: &str = "allgather_intra_k_bruck";

const ALLGATHER: OperationTable = {
    const BEFORE: &[Algorithm] = v5_0::ALLGATHER.algorithms;
    OperationTable {
        algorithms: &[
            BEFORE[0],
            of_radix(2, "bruck-k-fanout", K_BRUCK),
            Algorithm {
                limit: Limit::PowerOfTwo(K_BRUCK),
                ..BEFORE[2]
            },
            BEFORE[3],
            BEFORE[4],
            BEFORE[5],
            BEFORE[6],
            plain(8, "direct-messaging", "allgather_direct_messaging"),
        ],
        ..v5_0::ALLGATHER
    }
};

const ALLREDUCE: OperationTable = {
    const BEFORE: &[Algorithm] = v4_1::ALLREDUCE.algorithms;
    OperationTable {
        algorithms: &[
            BEFORE[0],
            BEFORE[1],
            BEFORE[2],
            BEFORE[3],
            BEFORE[4],
            Algorithm {
                limit: Limit::None,
                ..BEFORE[5]
            },
            plain(7, "allgather_reduce", "allreduce_intra_allgather_reduce"),
        ],
        ..v4_1::ALLREDUCE
    }
};

const REDUCE: OperationTable = OperationTable {
    algorithms: &with::<8>(
        v4_1::REDUCE.algorithms,
        of_radix(8, "knomial", "reduce_intra_knomial"),
    ),
    ..v4_1::REDUCE
};

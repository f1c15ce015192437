//! Open MPI 5.0: as [4.1](super::v4_1), but for what is here.
//!
//! Follows the same functions. A forced algorithm goes before the file
//! (`coll_tuned_decision_dynamic.c`); `ompi_coll_tuned_read_rules_config_file` reads a version line and
//! a fifth number from 5.0.7 on; `coll_han_component.c` has a priority of 35.

use super::v4_1::{self, plain, with};
use super::version::{OperationTable, VersionTable};

pub(super) const TABLE: VersionTable = VersionTable {
    n_collectives: 22,
    version_line_since: 7,
    forced_goes_first: true,
    han_priority: 35,
    tuned_priority: 30,
    operations: &[
        &ALLGATHER,
        &ALLGATHERV,
        &v4_1::ALLREDUCE,
        &v4_1::ALLTOALL,
        &v4_1::ALLTOALLV,
        &v4_1::BARRIER,
        &v4_1::BCAST,
        &v4_1::EXSCAN,
        &v4_1::GATHER,
        &v4_1::REDUCE,
        &v4_1::REDUCE_SCATTER,
        &v4_1::REDUCE_SCATTER_BLOCK,
        &v4_1::SCAN,
        &v4_1::SCATTER,
    ],
};

pub(super) const ALLGATHER: OperationTable = OperationTable {
    algorithms: &with::<7>(
        v4_1::ALLGATHER.algorithms,
        plain(7, "sparbit", "allgather_intra_sparbit"),
    ),
    ..v4_1::ALLGATHER
};

pub(super) const ALLGATHERV: OperationTable = OperationTable {
    algorithms: &with::<6>(
        v4_1::ALLGATHERV.algorithms,
        plain(6, "sparbit", "allgatherv_intra_sparbit"),
    ),
    ..v4_1::ALLGATHERV
};

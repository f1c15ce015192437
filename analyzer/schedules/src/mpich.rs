//! The algorithms of MPICH as schedules.
//!
//! Where a condition of an algorithm is not met, such as a power of two of processes, MPICH runs another one: name
//! that. Buffers are not in place, operations commute, the elements of all processes are equally many, and there
//! is at least one. What a process sends to itself is left out: it depends on the release where that goes.
//!
//! # Source
//! The functions of MPICH 4.0.2 and 5.0.2 with these names. That their messages are those of the schedules
//! is tested with both libraries.

mod along_trees;
mod exchanges;
mod groupings;
mod reductions;

use crate::call::{Call, Parameters};
use crate::open_mpi::{
    allgather, allreduce, alltoall, barrier, bcast, gather_scatter, reduce_scatter, scan,
};
use crate::program::Program;
use crate::schedule::Schedule;

pub use groupings::{grouping, numerics};

/// What one process does.
type Algorithm = fn(&Call, &Parameters, &mut Program);

/// A broadcast that divides the data by bytes, not by elements.
fn scatter_recursive_doubling(call: &Call, parameters: &Parameters, p: &mut Program) {
    bcast::scatter_recursive_doubling(&call.with_elements_of(1), parameters, p);
}

fn scatter_ring(call: &Call, parameters: &Parameters, p: &mut Program) {
    bcast::scatter_ring(&call.with_elements_of(1), parameters, p);
}

/// The names of the functions. Behind the name of one that takes any tree is what MPICH calls the tree.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("MPIR_Allgather_intra_brucks", allgather::bruck),
    (
        "MPIR_Allgather_intra_recursive_doubling",
        allgather::recursive_doubling,
    ),
    ("MPIR_Allgather_intra_ring", allgather::ring),
    ("MPIR_Allgatherv_intra_brucks", allgather::bruck),
    (
        "MPIR_Allgatherv_intra_recursive_doubling",
        allgather::recursive_doubling,
    ),
    ("MPIR_Allgatherv_intra_ring", exchanges::allgatherv_ring),
    (
        "MPIR_Allreduce_intra_recursive_doubling",
        allreduce::recursive_doubling,
    ),
    (
        "MPIR_Allreduce_intra_recursive_multiplying",
        reductions::recursive_multiplying,
    ),
    (
        "MPIR_Allreduce_intra_reduce_scatter_allgather",
        reductions::reduce_scatter_allgather,
    ),
    ("MPIR_Allreduce_intra_ring", reductions::ring),
    (
        "MPIR_Allreduce_intra_tree kary",
        along_trees::allreduce_k_ary,
    ),
    (
        "MPIR_Allreduce_intra_tree knomial_1",
        along_trees::allreduce_k_nomial_1,
    ),
    (
        "MPIR_Allreduce_intra_tree knomial_2",
        along_trees::allreduce_k_nomial_2,
    ),
    ("MPIR_Alltoall_intra_brucks", alltoall::bruck),
    ("MPIR_Alltoall_intra_pairwise", exchanges::pairwise),
    ("MPIR_Alltoall_intra_scattered", exchanges::scattered),
    ("MPIR_Alltoallv_intra_scattered", exchanges::scattered),
    ("MPIR_Barrier_intra_dissemination", barrier::bruck),
    (
        "MPIR_Barrier_intra_k_dissemination",
        exchanges::k_dissemination,
    ),
    ("MPIR_Bcast_intra_binomial", along_trees::bcast_binomial),
    (
        "MPIR_Bcast_intra_scatter_recursive_doubling_allgather",
        scatter_recursive_doubling,
    ),
    ("MPIR_Bcast_intra_scatter_ring_allgather", scatter_ring),
    ("MPIR_Bcast_intra_tree kary", along_trees::bcast_k_ary),
    (
        "MPIR_Bcast_intra_tree knomial_1",
        along_trees::bcast_k_nomial_1,
    ),
    (
        "MPIR_Bcast_intra_tree knomial_2",
        along_trees::bcast_k_nomial_2,
    ),
    (
        "MPIR_Exscan_intra_recursive_doubling",
        scan::exclusive_recursive_doubling,
    ),
    (
        "MPIR_Gather_intra_binomial",
        gather_scatter::gather_binomial,
    ),
    ("MPIR_Reduce_intra_binomial", along_trees::reduce_binomial),
    (
        "MPIR_Reduce_intra_reduce_scatter_gather",
        reductions::reduce_scatter_gather,
    ),
    (
        "MPIR_Reduce_scatter_intra_pairwise",
        reductions::reduce_scatter_pairwise,
    ),
    (
        "MPIR_Reduce_scatter_intra_recursive_doubling",
        reduce_scatter::recursive_doubling,
    ),
    (
        "MPIR_Reduce_scatter_intra_recursive_halving",
        reduce_scatter::recursive_halving,
    ),
    (
        "MPIR_Reduce_scatter_block_intra_noncommutative",
        reduce_scatter::block_butterfly,
    ),
    (
        "MPIR_Reduce_scatter_block_intra_pairwise",
        reductions::reduce_scatter_pairwise,
    ),
    (
        "MPIR_Reduce_scatter_block_intra_recursive_doubling",
        reduce_scatter::recursive_doubling,
    ),
    (
        "MPIR_Reduce_scatter_block_intra_recursive_halving",
        reduce_scatter::recursive_halving,
    ),
    (
        "MPIR_Scan_intra_recursive_doubling",
        scan::recursive_doubling,
    ),
    (
        "MPIR_Scatter_intra_binomial",
        gather_scatter::scatter_binomial,
    ),
];

/// The names of all algorithms, by operation.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name)
}

/// The schedule of an algorithm, such as `MPIR_Bcast_intra_binomial` or `MPIR_Bcast_intra_tree knomial_1`; `None`: its name
/// is not known. Of one process nothing is done.
///
/// Of the parameters, segments are those of `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`, which the ring of an
/// allreduce has too, requests those of `MPIR_CVAR_ALLTOALL_THROTTLE`.
#[must_use]
pub fn schedule(name: &str, call: &Call, parameters: &Parameters) -> Option<Schedule> {
    let (_, algorithm) = ALGORITHMS.iter().find(|(known, _)| *known == name)?;
    let processes = (0..call.n_processes).map(|rank| {
        let mut p = Program::new(rank);
        if call.n_processes > 1 {
            algorithm(call, parameters, &mut p);
        }
        p.finish()
    });
    Some(Schedule {
        processes: processes.collect(),
    })
}

//! The algorithms of Open MPI's collectives, by the names under which the library exports them.
//!
//! Whichever component chooses an algorithm calls it by its exported name, through the dynamic
//! linker. So a function of the same name in the preloaded library is called first. It records the
//! name and calls the library's function with unchanged arguments. A name that the library does not
//! have is never called.
//!
//! `ompi_coll_base_bcast_intra_generic`, which all broadcasts along a tree use, is not in the list:
//! it has no information that their own names do not have.

/// Passes the names to the macro `$callback`.
#[macro_export]
macro_rules! library_algorithms {
    ($callback:ident) => {
        $callback! {
            ompi_coll_base_allgather_intra_basic_linear;
            ompi_coll_base_allgather_intra_bruck;
            ompi_coll_base_allgather_intra_neighborexchange;
            ompi_coll_base_allgather_intra_recursivedoubling;
            ompi_coll_base_allgather_intra_ring;
            ompi_coll_base_allgather_intra_sparbit;
            ompi_coll_base_allgather_intra_two_procs;
            ompi_coll_base_allgatherv_intra_basic_default;
            ompi_coll_base_allgatherv_intra_bruck;
            ompi_coll_base_allgatherv_intra_neighborexchange;
            ompi_coll_base_allgatherv_intra_ring;
            ompi_coll_base_allgatherv_intra_sparbit;
            ompi_coll_base_allgatherv_intra_two_procs;
            ompi_coll_base_allreduce_intra_basic_linear;
            ompi_coll_base_allreduce_intra_nonoverlapping;
            ompi_coll_base_allreduce_intra_recursivedoubling;
            ompi_coll_base_allreduce_intra_redscat_allgather;
            ompi_coll_base_allreduce_intra_ring;
            ompi_coll_base_allreduce_intra_ring_segmented;
            ompi_coll_base_alltoall_intra_basic_linear;
            ompi_coll_base_alltoall_intra_bruck;
            ompi_coll_base_alltoall_intra_linear_sync;
            ompi_coll_base_alltoall_intra_pairwise;
            ompi_coll_base_alltoall_intra_two_procs;
            ompi_coll_base_alltoallv_intra_basic_linear;
            ompi_coll_base_alltoallv_intra_pairwise;
            ompi_coll_base_barrier_intra_basic_linear;
            ompi_coll_base_barrier_intra_bruck;
            ompi_coll_base_barrier_intra_doublering;
            ompi_coll_base_barrier_intra_recursivedoubling;
            ompi_coll_base_barrier_intra_tree;
            ompi_coll_base_barrier_intra_two_procs;
            ompi_coll_base_bcast_intra_basic_linear;
            ompi_coll_base_bcast_intra_binomial;
            ompi_coll_base_bcast_intra_bintree;
            ompi_coll_base_bcast_intra_chain;
            ompi_coll_base_bcast_intra_knomial;
            ompi_coll_base_bcast_intra_pipeline;
            ompi_coll_base_bcast_intra_scatter_allgather;
            ompi_coll_base_bcast_intra_scatter_allgather_ring;
            ompi_coll_base_bcast_intra_split_bintree;
            ompi_coll_base_exscan_intra_linear;
            ompi_coll_base_exscan_intra_recursivedoubling;
            ompi_coll_base_gather_intra_basic_linear;
            ompi_coll_base_gather_intra_binomial;
            ompi_coll_base_gather_intra_linear_sync;
            ompi_coll_base_reduce_intra_basic_linear;
            ompi_coll_base_reduce_intra_binary;
            ompi_coll_base_reduce_intra_binomial;
            ompi_coll_base_reduce_intra_chain;
            ompi_coll_base_reduce_intra_in_order_binary;
            ompi_coll_base_reduce_intra_pipeline;
            ompi_coll_base_reduce_intra_redscat_gather;
            ompi_coll_base_reduce_scatter_block_intra_butterfly;
            ompi_coll_base_reduce_scatter_block_intra_recursivedoubling;
            ompi_coll_base_reduce_scatter_block_intra_recursivehalving;
            ompi_coll_base_reduce_scatter_intra_basic_recursivehalving;
            ompi_coll_base_reduce_scatter_intra_butterfly;
            ompi_coll_base_reduce_scatter_intra_nonoverlapping;
            ompi_coll_base_reduce_scatter_intra_ring;
            ompi_coll_base_scan_intra_linear;
            ompi_coll_base_scan_intra_recursivedoubling;
            ompi_coll_base_scatter_intra_basic_linear;
            ompi_coll_base_scatter_intra_binomial;
            ompi_coll_base_scatter_intra_linear_nb;
        }
    };
}

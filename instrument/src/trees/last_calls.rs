//! What the last calls on a communicator have found by their arguments.

use collbench_paths::Kernel;

use crate::mpi::Handle;

/// What the last calls on a communicator have found.
#[derive(Debug, Default)]
pub(super) struct LastCalls {
    pub(super) allreduce: Option<LastReduction>,
    /// With its root.
    pub(super) reduce: Option<(LastReduction, u32)>,
    pub(super) bcast: Option<LastBcast>,
    /// The index of the tree.
    pub(super) barrier: Option<usize>,
}

/// An `MPI_Allreduce` or `MPI_Reduce` of a predefined operation of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastReduction {
    /// Elements.
    pub(super) n: usize,
    pub(super) datatype: Handle,
    pub(super) operation: Handle,
    pub(super) kernel: Kernel,
    pub(super) n_bytes: usize,
    /// The index of the tree.
    pub(super) tree: usize,
}

/// An `MPI_Bcast` of elements without gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastBcast {
    /// Elements.
    pub(super) n: usize,
    pub(super) datatype: Handle,
    pub(super) root: u32,
    pub(super) n_bytes: usize,
    /// The index of the tree.
    pub(super) tree: usize,
}

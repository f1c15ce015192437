//! World and rank of this process.

use std::hash::{BuildHasher, Hasher, RandomState};

use collbench_formats::Abi;

use crate::host::{LauncherRank, launched_job, launched_processes, mix};
use crate::mpi::{Handle, MpiLibrary, ProcessModel};

/// World and rank of this process. A world is the processes that were started together.
pub(super) struct ProcessInWorld {
    /// The identity of the world, on which its processes agree.
    pub(super) id: u64,
    pub(super) rank: u32,
    pub(super) world_size: u32,
    /// The communicator with the processes that spawned this world.
    pub(super) parent: Option<Handle>,
}

impl ProcessInWorld {
    /// World and rank of this process, as the MPI library (or else the launcher) knows them.
    ///
    /// # Safety
    /// MPI was initialized by `model` and has not ended.
    pub(super) unsafe fn of_this_process(library: &MpiLibrary, model: ProcessModel) -> Self {
        if library.abi == Abi::Unknown {
            // Handles are not understood, but the launcher knows the rank.
            let rank = LauncherRank::of_this_process().map_or(0, |LauncherRank(rank)| rank);
            let world_size = launched_processes().unwrap_or(1).max(rank + 1);
            return Self {
                id: world_identity(world_size),
                rank,
                world_size,
                parent: None,
            };
        }
        let (rank, world_size) = library.rank_and_size();
        let parent = match model {
            // SAFETY: the caller promises that MPI was initialized by the world model and has not
            // ended.
            ProcessModel::World => unsafe { library.parent() },
            ProcessModel::Sessions => None,
        };
        Self {
            id: world_identity(world_size),
            rank,
            world_size,
            parent,
        }
    }

    /// Whether the world was spawned by other processes.
    pub(super) fn is_spawned(&self) -> bool {
        self.parent.is_some()
    }
}

/// The identity of this world, on which its processes agree: computed from variables that the
/// launcher sets equally in all of them, and in no other job.
fn world_identity(world_size: u32) -> u64 {
    match launched_job() {
        Some(job) => {
            let words: Vec<u64> = job.bytes().map(u64::from).collect();
            mix(&words)
        }
        // Started without a launcher: the only process.
        None if world_size == 1 => RandomState::new().build_hasher().finish(),
        None => mix(&[u64::from(world_size)]),
    }
}

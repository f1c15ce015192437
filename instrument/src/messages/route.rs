//! What a thread keeps of the communicator that its last message travelled on.

use collbench_formats::{NO_RANK, UNKNOWN_COMMUNICATOR};

use crate::mpi::Handle;

/// From ranks in a communicator to world ranks, as long as an epoch lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    comm: Handle,
    epoch: u64,
    /// Index of its definition, or [`UNKNOWN_COMMUNICATOR`].
    index: u32,
    /// Null where ranks in it are world ranks.
    world_ranks: *const u32,
    n: u32,
}

impl Route {
    /// To the processes of a table, which is there as long as the epoch stays.
    pub(super) fn of_table(key: usize, epoch: u64, ranks: &[u32]) -> Self {
        Self {
            world_ranks: ranks.as_ptr(),
            n: ranks.len() as u32,
            ..Self::of_nothing(key, epoch)
        }
    }

    /// Of no communicator.
    pub(crate) const NONE: Self = Self {
        comm: 0,
        epoch: u64::MAX,
        index: UNKNOWN_COMMUNICATOR,
        world_ranks: std::ptr::null(),
        n: 0,
    };

    /// Where nothing is known of the processes; `key` stands for the communicator.
    pub(crate) fn of_nothing(key: usize, epoch: u64) -> Self {
        let nothing: &[u32] = &[];
        Self {
            comm: key,
            epoch,
            world_ranks: nothing.as_ptr(),
            ..Self::NONE
        }
    }

    /// Where ranks are world ranks.
    pub(crate) fn of_world(key: usize, epoch: u64) -> Self {
        Self {
            comm: key,
            epoch,
            ..Self::NONE
        }
    }

    pub(crate) fn with_index(self, index: u32) -> Self {
        Self { index, ..self }
    }

    #[inline]
    pub(crate) fn is_of(&self, key: usize, epoch: u64) -> bool {
        self.comm == key && self.epoch == epoch
    }

    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// World rank of `rank` in the communicator; [`NO_RANK`] for what is no rank.
    #[inline]
    pub(crate) fn world_rank(&self, rank: i32) -> u32 {
        match u32::try_from(rank) {
            Ok(rank) if self.world_ranks.is_null() => rank,
            // SAFETY: a table of `n` ranks, which is there as long as the epoch stays.
            Ok(rank) if rank < self.n => unsafe { *self.world_ranks.add(rank as usize) },
            _ => NO_RANK,
        }
    }
}

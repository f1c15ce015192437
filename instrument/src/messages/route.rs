//! What a thread keeps of the communicator that its last message travelled on.

use collbench_formats::{NO_RANK, UNKNOWN_COMMUNICATOR};

/// What messages a route is for, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteKey {
    /// What stands for the communicator: its handle, or what tags say of it.
    pub(crate) of: usize,
    /// In which communicators were as they are.
    pub(crate) epoch: u64,
}

/// From ranks in a communicator to world ranks, as long as an epoch lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    key: RouteKey,
    /// Index of its definition, or [`UNKNOWN_COMMUNICATOR`].
    index: u32,
    /// Null where ranks in it are world ranks.
    world_ranks: *const u32,
    n: u32,
}

impl Route {
    /// To the processes of a table, which is there as long as the epoch stays.
    pub(super) fn of_table(key: RouteKey, ranks: &[u32]) -> Self {
        Self {
            world_ranks: ranks.as_ptr(),
            n: ranks.len() as u32,
            ..Self::of_nothing(key)
        }
    }

    /// Of no communicator.
    pub(crate) const NONE: Self = Self {
        key: RouteKey {
            of: 0,
            epoch: u64::MAX,
        },
        index: UNKNOWN_COMMUNICATOR,
        world_ranks: std::ptr::null(),
        n: 0,
    };

    /// Where nothing is known of the processes.
    pub(crate) fn of_nothing(key: RouteKey) -> Self {
        let nothing: &[u32] = &[];
        Self {
            key,
            world_ranks: nothing.as_ptr(),
            ..Self::NONE
        }
    }

    /// Where ranks are world ranks.
    pub(crate) fn of_world(key: RouteKey) -> Self {
        Self { key, ..Self::NONE }
    }

    pub(crate) fn with_index(self, index: u32) -> Self {
        Self { index, ..self }
    }

    #[inline]
    pub(crate) fn is_of(&self, key: RouteKey) -> bool {
        self.key == key
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

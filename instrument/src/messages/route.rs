//! What a thread caches about the communicator of its last message.

use collbench_formats::{NO_RANK, UNKNOWN_COMMUNICATOR};

/// Which messages a route is valid for, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteKey {
    /// Identifies the communicator: its handle, or bits of the tag.
    pub(crate) of: usize,
    /// The epoch of the table of communicators in which it is valid.
    pub(crate) epoch: u64,
}

/// Maps ranks in a communicator to world ranks, within an epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    key: RouteKey,
    /// Index of the communicator's definition, or [`UNKNOWN_COMMUNICATOR`].
    index: u32,
    /// Null if ranks in it are world ranks.
    world_ranks: *const u32,
    n: u32,
}

impl Route {
    /// To the processes of a table, which exists until the epoch changes.
    pub(super) fn of_table(key: RouteKey, ranks: &[u32]) -> Self {
        Self {
            world_ranks: ranks.as_ptr(),
            n: ranks.len() as u32,
            ..Self::of_nothing(key)
        }
    }

    /// For no communicator.
    pub(crate) const NONE: Self = Self {
        key: RouteKey {
            of: 0,
            epoch: u64::MAX,
        },
        index: UNKNOWN_COMMUNICATOR,
        world_ranks: std::ptr::null(),
        n: 0,
    };

    /// For a communicator whose processes are not known.
    pub(crate) fn of_nothing(key: RouteKey) -> Self {
        let nothing: &[u32] = &[];
        Self {
            key,
            world_ranks: nothing.as_ptr(),
            ..Self::NONE
        }
    }

    /// For a communicator whose ranks are world ranks.
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

    /// World rank of `rank` in the communicator; [`NO_RANK`] for values that are not ranks.
    #[inline]
    pub(crate) fn world_rank(&self, rank: i32) -> u32 {
        match u32::try_from(rank) {
            Ok(rank) if self.world_ranks.is_null() => rank,
            // SAFETY: `rank` is below `n`, the length of the table, which exists until the epoch
            // changes.
            Ok(rank) if rank < self.n => unsafe { *self.world_ranks.add(rank as usize) },
            _ => NO_RANK,
        }
    }
}

//! A communicator, file or window, as the recorder needs it at every call.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::files_and_windows::WITHOUT_HANDLE;
use crate::mpi::{Handle, Neighbours};

/// A communicator (or file or window) as the recorder needs it at every call. Entries are never
/// freed, since records and other threads may still refer to them.
///
/// Aligned so that no two entries share a cache line, nor a pair of lines that is fetched together.
/// Otherwise threads that call on two communicators at once would contend for their counters.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CommunicatorEntry {
    /// Its index in records.
    pub index: u32,
    /// The identity on which all members agree.
    pub id: u64,
    /// Processes in the local group, > 0.
    pub size: u32,
    /// This process's rank in the local group.
    pub rank: u32,
    /// Processes in the remote group; 0 for an intracommunicator.
    pub remote_size: u32,
    /// World ranks of the first member of the local group and of the remote group.
    pub(super) first_members: [u32; 2],
    /// The neighbours of this process, if it has a topology.
    pub(crate) neighbours: Option<Box<Neighbours>>,
    /// Number of persistent collectives initialized on it.
    pub(super) persistents: AtomicU64,
    /// Number of calls of the application that were entered on it.
    pub(super) calls: AtomicU64,
    /// Number of internal calls of the MPI library that were entered on it.
    pub(super) internal_calls: AtomicU32,
    /// Number of files and windows that were opened on it, by
    /// [`FileOrWindow`](super::files_and_windows::FileOrWindow).
    pub(super) opened: [AtomicU32; 2],
    /// Of a file: 1 + the position of the split access that is under way; 0 if there is none.
    pub(super) access: AtomicU64,
    /// Where the leaders of the hosts exchange stamps next.
    pub(crate) measuring_point: MeasuringPoint,
}

impl CommunicatorEntry {
    /// Takes the position of a call that is entered now.
    ///
    /// MPI requires the application to order its calls on one communicator, so an atomic load and
    /// an atomic store are enough.
    #[inline]
    pub(crate) fn take_position(&self, internal: bool) -> u64 {
        if internal {
            let position = self.internal_calls.load(Ordering::Relaxed);
            self.internal_calls
                .store(position.wrapping_add(1), Ordering::Relaxed);
            u64::from(position)
        } else {
            let position = self.calls.load(Ordering::Relaxed);
            self.calls.store(position + 1, Ordering::Relaxed);
            position
        }
    }

    /// The position of the last call that the application entered on it; 0 before the first.
    pub(crate) fn last_position(&self) -> u64 {
        self.calls.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// Takes the number of a persistent collective that is initialized on it. MPI requires the
    /// application to order these calls too.
    pub(crate) fn take_persistent_position(&self) -> u64 {
        self.persistents.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that a split access to the file was begun at a position; MPI allows one at a time.
    pub(crate) fn begin_access(&self, position: u64) {
        self.access.store(position + 1, Ordering::Relaxed);
    }

    /// Takes the position of the split access that was begun.
    pub(crate) fn end_access(&self) -> Option<u64> {
        self.access.swap(0, Ordering::Relaxed).checked_sub(1)
    }

    /// The key of a file or window that has no handle yet.
    pub(super) fn key_without_handle(&'static self) -> Handle {
        std::ptr::from_ref(self) as Handle | WITHOUT_HANDLE
    }
}

/// The position among the calls on a communicator from which on the leaders exchange stamps; none
/// until it is set.
#[derive(Debug)]
pub(crate) struct MeasuringPoint(AtomicU64);

impl Default for MeasuringPoint {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl MeasuringPoint {
    /// Whether the leaders exchange stamps after a call at this position, if it synchronizes.
    #[inline]
    pub(crate) fn is_at(&self, position: u64) -> bool {
        position >= self.0.load(Ordering::Relaxed)
    }

    /// Sets the position. MPI requires the application to order its calls on one communicator, so
    /// the next call sees it.
    pub(crate) fn set(&self, position: u64) {
        self.0.store(position, Ordering::Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use collbench_formats::NO_RANK;

    use super::*;

    /// A communicator of this shape, for tests of other modules.
    pub(crate) fn entry(size: u32, rank: u32, remote_size: u32) -> CommunicatorEntry {
        CommunicatorEntry {
            index: 0,
            id: 0,
            size,
            rank,
            remote_size,
            first_members: [0, NO_RANK],
            ..CommunicatorEntry::default()
        }
    }
}

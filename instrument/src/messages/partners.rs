//! World ranks of the processes that messages are sent to and received from, by communicator.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::route::{Route, RouteKey};
use super::ucx_tag::Part;
use crate::communicators::CommunicatorIdentity;
use crate::mpi::{Handle, HandleMap, MpiLibrary, SPARE_BITS};

/// Bit in the key of the table for the local group of an intercommunicator; no handle has it.
pub(crate) const LOCAL_GROUP: Handle = SPARE_BITS[2];

/// World ranks of the processes that messages on a communicator may be sent to or received from.
#[derive(Debug, Default)]
pub(crate) struct Partners {
    tables: Mutex<HandleMap<Box<[u32]>>>,
    epoch: AtomicU64,
    /// By world rank, the lowest rank on its host, where that is known.
    hosts: OnceLock<Box<[u32]>>,
}

/// Bits in the key of a table that has only the processes on this host, or only one process of each
/// host; no handle has these bits.
const HOST_PART: Handle = SPARE_BITS[1];
const LEADERS_PART: Handle = SPARE_BITS[0];

/// The world ranks of a part of a communicator, as MPICH forms it: in the order of the
/// communicator, with the first process of each host as its leader.
fn ranks_of_part(all: &[u32], part: Part, own_rank: u32, hosts: &[u32]) -> Box<[u32]> {
    let host = |rank: u32| hosts.get(rank as usize);
    let mut seen = Vec::new();
    let is_in_part = |rank: &&u32| match part {
        Part::Whole => true,
        Part::Host => host(**rank) == host(own_rank),
        Part::Leaders => {
            let is_first = !seen.contains(&host(**rank));
            if is_first {
                seen.push(host(**rank));
            }
            is_first
        }
        Part::Merged => false,
    };
    all.iter().filter(is_in_part).copied().collect()
}

impl Partners {
    /// Adds the processes of a communicator that the library has just made ready.
    ///
    /// # Safety
    /// `comm` is a valid communicator.
    pub(crate) unsafe fn add(&self, library: &MpiLibrary, comm: Handle) {
        // SAFETY: the caller promises a valid communicator; the group that is asked for has this
        // size.
        let ranks = unsafe {
            match library.remote_size(comm) {
                0 => library.world_ranks(comm, false, library.size(comm)),
                n => library.world_ranks(comm, true, n),
            }
        };
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(comm, ranks.into_boxed_slice());
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Adds the processes of a communicator that a constructor created from `parent`; for an
    /// intercommunicator also those of the local group.
    ///
    /// # Safety
    /// `parent` is a valid communicator; so is `made`, unless it is a copy.
    pub(crate) unsafe fn add_made(
        &self,
        library: &MpiLibrary,
        made: Handle,
        parent: Handle,
        how: CommunicatorIdentity,
    ) {
        let asked = match how {
            CommunicatorIdentity::Copy => library.handle(parent),
            _ => made,
        };
        // SAFETY: the caller promises valid communicators; the group that is asked for has this
        // size.
        let [all, local] = unsafe {
            let local = library.world_ranks(asked, false, library.size(asked));
            match library.remote_size(asked) {
                0 => [local, Vec::new()],
                n => [library.world_ranks(asked, true, n), local],
            }
        };
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.insert(made, all.into_boxed_slice());
        if !local.is_empty() {
            tables.insert(made | LOCAL_GROUP, local.into_boxed_slice());
        }
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Forgets a communicator that is freed.
    pub(crate) fn forget(&self, comm: Handle) {
        for group in [comm, comm | LOCAL_GROUP] {
            for part in [0, HOST_PART, LEADERS_PART] {
                self.remove(group | part);
            }
        }
    }

    /// Sets which processes of the world share a host: by rank, the lowest rank on its host.
    pub(crate) fn know_hosts(&self, lowest: Vec<u32>) {
        // Later calls have the same value.
        let _ = self.hosts.set(lowest.into_boxed_slice());
    }

    /// The route to a part of the processes in the table of a communicator, in their order there;
    /// `None` stands for the table of the world. A route to no process where the hosts are not
    /// known, or which group comes first.
    pub(crate) fn route_of_part(
        &self,
        table: Option<Handle>,
        part: Part,
        own_rank: u32,
        key: RouteKey,
    ) -> Route {
        let Some(hosts) = self.hosts.get() else {
            return Route::of_nothing(key);
        };
        let bit = match part {
            Part::Whole => 0,
            Part::Host => HOST_PART,
            Part::Leaders => LEADERS_PART,
            Part::Merged => return Route::of_nothing(key),
        };
        let of_part = table.unwrap_or(0) | bit;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if !tables.contains_key(&of_part) {
            let world: Vec<u32>;
            let all: &[u32] = match table {
                Some(table) => tables.get(&table).map_or(&[], |ranks| ranks),
                None => {
                    world = (0..hosts.len() as u32).collect();
                    &world
                }
            };
            let ranks = ranks_of_part(all, part, own_rank, hosts);
            if !ranks.is_empty() {
                tables.insert(of_part, ranks);
            }
        }
        drop(tables);
        self.route(of_part, key)
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The route to the processes in the table of a communicator.
    pub(crate) fn route(&self, comm: Handle, key: RouteKey) -> Route {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let ranks: &[u32] = tables.get(&comm).map_or(&[], |ranks| ranks);
        Route::of_table(key, ranks)
    }

    pub(crate) fn remove(&self, comm: Handle) {
        // Must come first: a thread that checks the epoch after the table was removed finds it
        // changed.
        self.epoch.fetch_add(1, Ordering::Release);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.remove(&comm);
    }
}

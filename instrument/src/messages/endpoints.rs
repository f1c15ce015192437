//! The processes that endpoints of UCX lead to, derived from how MPICH creates them inside
//! `MPI_Init`.
//!
//! It creates them in a table with one location for each rank. This is checked: the locations must
//! be at equal distances, and the one of this process's rank must have the address of its own
//! worker.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::opaque::Opaque;
use crate::mpi::{Handle, HandleMap};

/// The first bytes of a worker's address, which include the worker's own random number.
pub(crate) type AddressBegin = [u8; 16];

/// What was observed of UCX inside `MPI_Init`.
static MADE: Mutex<Made> = Mutex::new(Made {
    endpoints: Vec::new(),
    own_addresses: Vec::new(),
});
/// Whether the process is inside `MPI_Init` and its endpoints are to be noted.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Made {
    endpoints: Vec<MadeEndpoint>,
    own_addresses: Vec<AddressBegin>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MadeEndpoint {
    /// The address where the library stores the endpoint.
    pub(crate) location: usize,
    pub(crate) endpoint: Handle,
    pub(crate) worker: Handle,
    pub(crate) leads_to: AddressBegin,
}

/// Begins to note endpoints that are created; to be called before `MPI_Init`.
pub(crate) fn watch_endpoints() {
    IS_WATCHED.store(true, Ordering::Release);
}

/// Whether endpoints that are created are noted now.
pub(crate) fn watches_endpoints() -> bool {
    IS_WATCHED.load(Ordering::Acquire)
}

/// Notes an endpoint that was created.
pub(crate) fn note_endpoint(endpoint: MadeEndpoint) {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.endpoints.push(endpoint);
}

/// Notes an address of this process.
pub(crate) fn note_own_address(begin: AddressBegin) {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.own_addresses.push(begin);
}

/// World ranks of the processes that endpoints lead to.
#[derive(Debug)]
pub(crate) struct Endpoints {
    /// The workers that they were created with.
    workers: Vec<Handle>,
    ranks: HandleMap<u32>,
}

impl Endpoints {
    /// The endpoints that this process, of rank `rank` among `world_size`, created in `MPI_Init`.
    ///
    /// # Errors
    /// [`Opaque`] if there are none, or if their locations are not as expected.
    pub(crate) fn find(rank: u32, world_size: u32) -> Result<Self, Opaque> {
        IS_WATCHED.store(false, Ordering::Release);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoints = std::mem::take(&mut made.endpoints);
        if endpoints.is_empty() {
            return Err(Opaque::NoTransport);
        }
        Self::of(endpoints, &made.own_addresses, rank, world_size).ok_or(Opaque::UnknownEndpoints)
    }

    fn of(
        mut endpoints: Vec<MadeEndpoint>,
        own_addresses: &[AddressBegin],
        rank: u32,
        world_size: u32,
    ) -> Option<Self> {
        endpoints.sort_by_key(|made| made.location);
        let distances = endpoints
            .windows(2)
            .map(|two| two[1].location - two[0].location);
        let mut distances = distances.peekable();
        let first = distances.peek().copied();
        let are_equal = distances.all(|distance| Some(distance) == first && distance > 0);
        let own = endpoints.get(rank as usize)?;
        let is_own = own_addresses.contains(&own.leads_to);
        let mut workers: Vec<Handle> = endpoints.iter().map(|made| made.worker).collect();
        workers.sort_unstable();
        workers.dedup();
        (are_equal && is_own && endpoints.len() == world_size as usize).then(|| Self {
            workers,
            ranks: endpoints
                .iter()
                .map(|made| made.endpoint)
                .zip(0..)
                .collect(),
        })
    }

    /// Whether the MPI library uses this worker to receive.
    #[inline]
    pub(crate) fn is_of(&self, worker: Handle) -> bool {
        self.workers.contains(&worker)
    }

    /// World rank of the process that an endpoint leads to; `None` if it is not a process of this
    /// world.
    #[inline]
    pub(crate) fn rank(&self, endpoint: Handle) -> Option<u32> {
        self.ranks.get(&endpoint).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(location: usize, endpoint: Handle, leads_to: u8) -> MadeEndpoint {
        MadeEndpoint {
            location,
            endpoint,
            worker: 5,
            leads_to: [leads_to; 16],
        }
    }

    #[test]
    fn endpoints_lead_to_ranks_in_the_order_of_their_places_and_only_if_all_fits() {
        let own = [[7; 16]];
        let made_in_turn = vec![made(132, 0x30, 9), made(100, 0x10, 8), made(116, 0x20, 7)];
        let endpoints = Endpoints::of(made_in_turn.clone(), &own, 1, 3).unwrap();
        assert_eq!(
            [0x10, 0x20, 0x30, 0x40].map(|endpoint| endpoints.rank(endpoint)),
            [Some(0), Some(1), Some(2), None]
        );
        assert!(endpoints.is_of(5) && !endpoints.is_of(6));
        // Another rank, another number of processes, a gap, one location for two endpoints.
        assert!(Endpoints::of(made_in_turn.clone(), &own, 2, 3).is_none());
        assert!(Endpoints::of(made_in_turn, &own, 1, 4).is_none());
        let apart = vec![made(100, 1, 8), made(116, 2, 7), made(140, 3, 9)];
        assert!(Endpoints::of(apart, &own, 1, 3).is_none());
        let twice = vec![made(100, 1, 8), made(100, 2, 7), made(100, 3, 9)];
        assert!(Endpoints::of(twice, &own, 1, 3).is_none());
        assert!(Endpoints::of(vec![made(100, 1, 7)], &own, 0, 1).is_some());
    }
}

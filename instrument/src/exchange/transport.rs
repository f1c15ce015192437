//! Messages of the recorder itself, sent by functions of the MPI library below all wrappers.
//!
//! There are two communicators, and receives of the application match messages on neither. Inside
//! `MPI_Init` the application has not posted any receive, so `MPI_COMM_WORLD` itself is used. Later
//! the leaders of the hosts use a communicator of their own, created over their group alone. It is
//! not a copy of `MPI_COMM_WORLD`, which would run the application's attribute functions, and the
//! other processes do not take part in its creation.

use std::ffi::c_int;
use std::ops::Range;

use super::ping::{Transport, WORDS};

use crate::host::{Clock, HostKey};
use crate::mpi::{Handle, MpiLibrary, address_of, call_mpi};

/// Below the 32,767 that every library allows, and unlikely to be used by an application.
const TAG: usize = 31_419;

/// A function of the MPI library failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the MPI library's {function} failed with code {code}")]
pub(crate) struct CallFailed {
    function: &'static str,
    code: c_int,
}

fn succeeded(function: &'static str, code: c_int) -> Result<(), CallFailed> {
    match code {
        0 => Ok(()),
        code => Err(CallFailed { function, code }),
    }
}

/// A communicator as a transport; its ranks are the hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommunicatorTransport {
    comm: Handle,
    byte: Handle,
    status_ignore: usize,
    clock: Clock,
}

impl CommunicatorTransport {
    /// `MPI_COMM_WORLD`, for use inside `MPI_Init` by all of its processes.
    pub(crate) fn of_world(library: &MpiLibrary, clock: Clock) -> Self {
        Self {
            comm: library.comm_world,
            byte: library.byte,
            status_ignore: library.status_ignore,
            clock,
        }
    }

    /// A new communicator of these world ranks, ascending; all of them create it together.
    pub(crate) fn among(
        library: &MpiLibrary,
        clock: Clock,
        world_ranks: &[u32],
    ) -> Result<Self, CallFailed> {
        let ranks: Vec<c_int> = world_ranks.iter().map(|&rank| rank as c_int).collect();
        let (mut all, mut group, mut comm): (Handle, Handle, Handle) = (0, 0, 0);
        let world = library.comm_world;
        let code = call_mpi!(c"PMPI_Comm_group"; world, address_of(&mut all));
        succeeded("MPI_Comm_group", code)?;
        let address = ranks.as_ptr() as usize;
        let code = call_mpi!(c"PMPI_Group_incl"; all, ranks.len(), address, address_of(&mut group));
        succeeded("MPI_Group_incl", code)?;
        let code = call_mpi!(c"PMPI_Comm_create_group"; world, group, TAG, address_of(&mut comm));
        let made = succeeded("MPI_Comm_create_group", code);
        call_mpi!(c"PMPI_Group_free"; address_of(&mut group));
        call_mpi!(c"PMPI_Group_free"; address_of(&mut all));
        made?;
        // Errors on it only concern the recorder.
        let code = call_mpi!(c"PMPI_Comm_set_errhandler"; comm, library.errors_return);
        succeeded("MPI_Comm_set_errhandler", code)?;
        Ok(Self {
            comm,
            ..Self::of_world(library, clock)
        })
    }

    /// Frees a communicator that was created here, together with the other processes.
    pub(crate) fn free(mut self) {
        call_mpi!(c"PMPI_Comm_free"; address_of(&mut self.comm));
    }

    /// The entries of all processes, by rank; all take part.
    ///
    /// Uses messages along a tree and back, and no collective of the library: every path is used in
    /// both directions, as [`joint_finalize`](super::joint_finalize) needs it.
    pub(crate) fn gather_all(
        &self,
        own_rank: u32,
        own: HostKey,
        n_ranks: u32,
    ) -> Result<Vec<HostKey>, CallFailed> {
        let mut all = vec![HostKey::default(); n_ranks as usize];
        all[own_rank as usize] = own;
        for child in children(own_rank, n_ranks).rev() {
            self.receive_bytes(child, all[below(child, n_ranks)].as_flattened_mut())?;
        }
        if let Some(parent) = parent(own_rank) {
            self.send_bytes(parent, all[below(own_rank, n_ranks)].as_flattened())?;
            self.receive_bytes(parent, all.as_flattened_mut())?;
        }
        for child in children(own_rank, n_ranks) {
            self.send_bytes(child, all.as_flattened())?;
        }
        Ok(all)
    }

    /// Waits for all processes, by messages along a tree and back.
    pub(crate) fn barrier(&self, own_rank: u32, n_ranks: u32) -> Result<(), CallFailed> {
        self.gather_all(own_rank, HostKey::default(), n_ranks)
            .map(drop)
    }

    /// Waits for all processes by the library's own barrier, whose messages no receive of the
    /// application can match, not even one that it left outstanding.
    pub(crate) fn barrier_of_library(&self) -> Result<(), CallFailed> {
        succeeded("MPI_Barrier", call_mpi!(c"PMPI_Barrier"; self.comm))
    }

    /// Whether a message from this process has come.
    pub(crate) fn has_come(&self, from: usize) -> Result<bool, CallFailed> {
        let mut has_come: c_int = 0;
        let code = call_mpi!(c"PMPI_Iprobe";
            from, TAG, self.comm, address_of(&mut has_come), self.status_ignore);
        succeeded("MPI_Iprobe", code)?;
        Ok(has_come != 0)
    }

    fn send_bytes(&self, to: u32, bytes: &[u8]) -> Result<(), CallFailed> {
        let (address, to) = (bytes.as_ptr() as usize, to as usize);
        let code = call_mpi!(c"PMPI_Send"; address, bytes.len(), self.byte, to, TAG, self.comm);
        succeeded("MPI_Send", code)
    }

    fn receive_bytes(&self, from: u32, bytes: &mut [u8]) -> Result<(), CallFailed> {
        let (address, from) = (bytes.as_mut_ptr() as usize, from as usize);
        let code = call_mpi!(c"PMPI_Recv";
            address, bytes.len(), self.byte, from, TAG, self.comm, self.status_ignore);
        succeeded("MPI_Recv", code)
    }
}

/// The parent of a rank in a binomial tree from rank 0: the rank without its lowest bit.
fn parent(rank: u32) -> Option<u32> {
    (rank > 0).then(|| rank & (rank - 1))
}

/// The children of a rank in that tree, the most distant first.
fn children(rank: u32, n_ranks: u32) -> impl DoubleEndedIterator<Item = u32> {
    let n_bits = match rank {
        0 => n_ranks.next_power_of_two().trailing_zeros(),
        _ => rank.trailing_zeros(),
    };
    let all = (0..n_bits).rev().map(move |bit| rank + (1 << bit));
    all.filter(move |&child| child < n_ranks)
}

/// A rank and all ranks below it in that tree.
fn below(rank: u32, n_ranks: u32) -> Range<usize> {
    let end = match rank {
        0 => n_ranks,
        _ => (rank + (1 << rank.trailing_zeros())).min(n_ranks),
    };
    rank as usize..end as usize
}

impl Transport for CommunicatorTransport {
    type Error = CallFailed;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn send(&mut self, to: usize, words: [u64; WORDS]) -> Result<(), CallFailed> {
        let length = size_of_val(&words);
        let address = words.as_ptr() as usize;
        let code = call_mpi!(c"PMPI_Send"; address, length, self.byte, to, TAG, self.comm);
        succeeded("MPI_Send", code)
    }

    fn receive(&mut self, from: usize) -> Result<[u64; WORDS], CallFailed> {
        let mut words = [0; WORDS];
        let length = size_of_val(&words);
        let address = words.as_mut_ptr() as usize;
        let code = call_mpi!(c"PMPI_Recv";
            address, length, self.byte, from, TAG, self.comm, self.status_ignore);
        succeeded("MPI_Recv", code)?;
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_below_its_parent_and_not_below_its_siblings() {
        for n_ranks in 1..=70 {
            for rank in 0..n_ranks {
                let of_rank: Vec<u32> = children(rank, n_ranks).collect();
                assert!(of_rank.iter().all(|&child| parent(child) == Some(rank)));
                // The rank itself and the ranks below its children, without a gap.
                let mut next = rank as usize + 1;
                for &child in of_rank.iter().rev() {
                    assert_eq!(below(child, n_ranks).start, next, "{n_ranks} ranks");
                    next = below(child, n_ranks).end;
                }
                assert_eq!(below(rank, n_ranks).end, next, "{rank} of {n_ranks}");
            }
            assert_eq!(below(0, n_ranks), 0..n_ranks as usize);
        }
    }
}

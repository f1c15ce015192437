//! Messages of the recorder itself, by the functions of the MPI library below all wrappers.
//!
//! Two ways, neither of which can meet a receive of the application. Inside `MPI_Init` the
//! application has not posted any, so `MPI_COMM_WORLD` itself will do. Later the leaders of the
//! hosts use a communicator of their own, made over their group alone: no copy of
//! `MPI_COMM_WORLD`, which would run the application's attribute functions, and nothing that
//! the other processes take part in.

use std::ffi::c_int;

use super::ping::{WORDS, Wire};
use super::roster::HostKey;
use crate::clock::Clock;
use crate::library::{Handle, MpiLibrary, call_mpi, place};

/// Below the 32,767 that every library allows, and unlikely to be anybody's.
const TAG: usize = 31_419;

/// A function of the MPI library has failed.
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

/// A communicator as a wire: hosts are its ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommunicatorWire {
    comm: Handle,
    byte: Handle,
    status_ignore: usize,
    clock: Clock,
}

impl CommunicatorWire {
    /// `MPI_COMM_WORLD`, for use inside `MPI_Init` in all of its processes.
    pub(crate) fn of_world(library: &MpiLibrary, clock: Clock) -> Self {
        Self {
            comm: library.comm_world,
            byte: library.byte,
            status_ignore: library.status_ignore,
            clock,
        }
    }

    /// A new communicator of these world ranks, ascending: all of them make it at once.
    pub(crate) fn among(
        library: &MpiLibrary,
        clock: Clock,
        world_ranks: &[u32],
    ) -> Result<Self, CallFailed> {
        let ranks: Vec<c_int> = world_ranks.iter().map(|&rank| rank as c_int).collect();
        let (mut all, mut group, mut comm): (Handle, Handle, Handle) = (0, 0, 0);
        let world = library.comm_world;
        let code = call_mpi!(c"PMPI_Comm_group"; world, place(&mut all));
        succeeded("MPI_Comm_group", code)?;
        let address = ranks.as_ptr() as usize;
        let code = call_mpi!(c"PMPI_Group_incl"; all, ranks.len(), address, place(&mut group));
        succeeded("MPI_Group_incl", code)?;
        let code = call_mpi!(c"PMPI_Comm_create_group"; world, group, TAG, place(&mut comm));
        let made = succeeded("MPI_Comm_create_group", code);
        call_mpi!(c"PMPI_Group_free"; place(&mut group));
        call_mpi!(c"PMPI_Group_free"; place(&mut all));
        made?;
        // What fails on it is the recorder's own affair.
        let code = call_mpi!(c"PMPI_Comm_set_errhandler"; comm, library.errors_return);
        succeeded("MPI_Comm_set_errhandler", code)?;
        Ok(Self {
            comm,
            ..Self::of_world(library, clock)
        })
    }

    /// Gives a communicator of one's own back, together with the others.
    pub(crate) fn free(mut self) {
        call_mpi!(c"PMPI_Comm_free"; place(&mut self.comm));
    }

    /// The entry of each process, by rank: all take part.
    pub(crate) fn gather_all(
        &self,
        own: HostKey,
        n_ranks: u32,
    ) -> Result<Vec<HostKey>, CallFailed> {
        let mut all = vec![HostKey::default(); n_ranks as usize];
        let length = size_of::<HostKey>();
        let (from, to) = (own.as_ptr() as usize, all.as_mut_ptr() as usize);
        let code = call_mpi!(c"PMPI_Allgather";
            from, length, self.byte, to, length, self.byte, self.comm);
        succeeded("MPI_Allgather", code)?;
        Ok(all)
    }

    /// Waits for all.
    pub(crate) fn barrier(&self) -> Result<(), CallFailed> {
        succeeded("MPI_Barrier", call_mpi!(c"PMPI_Barrier"; self.comm))
    }
}

impl Wire for CommunicatorWire {
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

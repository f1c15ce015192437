//! How the messages of this MPI library can be seen.

use collbench_formats::Abi;

use super::open_mpi;
use crate::messages::{Endpoints, MessageSource, Opaque};

/// Finds out how messages can be seen in this process, of rank `rank` among `world_size`, when MPI
/// is initialized.
///
/// # Errors
/// [`Opaque`]: why messages cannot be seen. Then nothing was changed.
pub(crate) fn find_messages(abi: Abi, rank: u32, world_size: u32) -> Result<MessageSource, Opaque> {
    match (open_mpi::find(), abi) {
        (Err(Opaque::NotOpenMpi), Abi::Mpich | Abi::Mpi5) => {
            Endpoints::find(rank, world_size).map(MessageSource::Tagged)
        }
        (found, _) => found.map(MessageSource::Tables),
    }
}

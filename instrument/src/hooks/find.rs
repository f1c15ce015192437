//! Where this MPI library's messages can be seen.

use collbench_formats::Abi;

use super::open_mpi;
use crate::messages::{Endpoints, MessageSource, Opaque};

/// Finds it in this process of rank `rank` among `world_size`, when MPI is initialized.
///
/// # Errors
/// [`Opaque`] says why messages cannot be seen; nothing has been changed then.
pub(crate) fn find_messages(abi: Abi, rank: u32, world_size: u32) -> Result<MessageSource, Opaque> {
    match (open_mpi::find(), abi) {
        (Err(Opaque::NotOpenMpi), Abi::Mpich | Abi::Mpi5) => {
            Endpoints::find(rank, world_size).map(MessageSource::Tagged)
        }
        (found, _) => found.map(MessageSource::Tables),
    }
}

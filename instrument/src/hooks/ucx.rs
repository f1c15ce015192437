//! The messages of MPICH's collectives over UCX, seen in the tagged operations of UCX, which the
//! library calls through the dynamic linker.
//!
//! A tag of 64 bits has the context of the communicator, the rank of the sender in it, and MPI's
//! tag. So a receive names its sender; the receiver of a send follows from the endpoint.
//!
//! All functions are called with unchanged arguments. Only the callback of a receive is replaced by
//! one that takes the time and calls the original: that is when the message has arrived.

use std::ffi::c_int;

use crate::messages::{
    AddressBegin, MadeEndpoint, note_endpoint, note_own_address, watches_endpoints,
};
use crate::mpi::Handle;

/// A value of UCX: every argument fits a machine word.
pub(super) type Word = usize;

/// `UCP_EP_PARAM_FIELD_REMOTE_ADDRESS`: the second word of the parameters is an address.
const HAS_ADDRESS: u64 = 1;

/// Passes on `ucp_ep_create`, and notes the endpoint that it created.
///
/// # Safety
/// The arguments are those of the function: `parameters` and `location` are valid addresses.
pub unsafe fn endpoint_call(
    worker: Word,
    parameters: Word,
    location: Word,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let code = real();
    if code == 0 && watches_endpoints() {
        // SAFETY: the caller promises valid parameters. The structure begins with a mask of its
        // fields and the address, and an address is longer than what is read of it.
        unsafe {
            let [fields, address] = (parameters as *const [u64; 2]).read();
            if fields & HAS_ADDRESS != 0 {
                note_endpoint(MadeEndpoint {
                    location,
                    worker,
                    endpoint: (location as *const Handle).read(),
                    leads_to: (address as *const AddressBegin).read_unaligned(),
                });
            }
        }
    }
    code
}

/// Passes on `ucp_worker_get_address`, and notes the address of this process.
///
/// # Safety
/// The arguments are those of the function: both are addresses that it stores its results at.
pub unsafe fn own_address_call(address: Word, length: Word, real: impl FnOnce() -> c_int) -> c_int {
    let code = real();
    if code == 0 && watches_endpoints() {
        // SAFETY: the call has succeeded, so there is an address of this length.
        unsafe {
            if (length as *const usize).read() >= size_of::<AddressBegin>() {
                let begin = (address as *const *const AddressBegin)
                    .read()
                    .read_unaligned();
                note_own_address(begin);
            }
        }
    }
    code
}

//! The functions that wrappers call in place of the library's.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use collbench_formats::tree::Collective;

use super::active::Trees;
use super::call::{Reduction, raised};
use super::moves::{Parts, allgather, barrier, bcast, gather, scatter};
use super::reductions::{allreduce, reduce};

/// Makes a function that stands in for one of the library: it has the same arguments, and calls it
/// if the call has no tree.
macro_rules! replacement {
    ($name:ident($($argument:ident),*) $replaced:expr) => {
        mod $name {
            use super::*;

            /// The address of the library's function.
            pub(super) static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

            pub(super) extern "C-unwind" fn replacement($($argument: usize),*) -> c_int {
                let replaced: Option<c_int> = $replaced;
                match replaced {
                    Some(code) => code,
                    None => library($($argument),*),
                }
            }

            #[inline]
            #[allow(
                clippy::too_many_arguments,
                reason = "those of the library's function"
            )]
            fn library($($argument: usize),*) -> c_int {
                // SAFETY: the address was stored before the address of the replacement was returned;
                // the library's function of this name takes these arguments, each of which fits a
                // machine word.
                unsafe {
                    let function = std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C-unwind" fn($(replacement!(@word $argument)),*) -> c_int,
                    >(LIBRARY.load(Ordering::Acquire));
                    function($($argument),*)
                }
            }
        }
    };
    (@word $argument:ident) => { usize };
}

macro_rules! both_widths {
    ($classic:ident, $large:ident($($argument:ident),*) |$width:ident| $replaced:expr) => {
        replacement!($classic($($argument),*) {
            const $width: bool = false;
            $replaced
        });
        replacement!($large($($argument),*) {
            const $width: bool = true;
            $replaced
        });
    };
}

replacement!(barrier_call(comm) raised(comm, barrier(comm)));
both_widths!(
    bcast_call,
    bcast_c_call(buffer, count, datatype, root, comm) | LARGE | {
        let code = bcast::<LARGE>(buffer, count, datatype, root, comm);
        raised(comm, code)
    }
);
both_widths!(
    allreduce_call,
    allreduce_c_call(sendbuf, recvbuf, count, datatype, operation, comm) | LARGE | {
        let code = allreduce::<LARGE>(Reduction {
            sendbuf,
            recvbuf,
            count,
            datatype,
            operation,
            comm,
        });
        raised(comm, code)
    }
);
both_widths!(
    reduce_call,
    reduce_c_call(sendbuf, recvbuf, count, datatype, operation, root, comm) | LARGE | {
        let code = reduce::<LARGE>(
            Reduction {
                sendbuf,
                recvbuf,
                count,
                datatype,
                operation,
                comm,
            },
            root,
        );
        raised(comm, code)
    }
);
both_widths!(
    allgather_call,
    allgather_c_call(
        sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
    ) | LARGE
        | {
            let code = allgather::<LARGE>(Parts {
                sendbuf,
                sendcount,
                sendtype,
                recvbuf,
                recvcount,
                recvtype,
                comm,
            });
            raised(comm, code)
        }
);
both_widths!(
    gather_call,
    gather_c_call(
        sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm
    ) | LARGE
        | {
            let code = gather::<LARGE>(
                Parts {
                    sendbuf,
                    sendcount,
                    sendtype,
                    recvbuf,
                    recvcount,
                    recvtype,
                    comm,
                },
                root,
            );
            raised(comm, code)
        }
);
both_widths!(
    scatter_call,
    scatter_c_call(
        sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm
    ) | LARGE
        | {
            let code = scatter::<LARGE>(
                Parts {
                    sendbuf,
                    sendcount,
                    sendtype,
                    recvbuf,
                    recvcount,
                    recvtype,
                    comm,
                },
                root,
            );
            raised(comm, code)
        }
);
replacement!(free_call(comm) forget_at(comm));
replacement!(disconnect_call(comm) forget_at(comm));
replacement!(finalize_call() end());

/// Forgets the communicator whose handle is at this address, before the library frees it: after
/// that, another thread may get the same handle.
fn forget_at(comm: usize) -> Option<c_int> {
    let trees = Trees::active()?;
    if comm != 0 {
        // SAFETY: MPI requires the address of a handle here, and it is not null.
        trees.forget(unsafe { trees.world.library.handle_at(comm, 0) });
    }
    None
}

/// Ends the use of trees, before MPI ends.
fn end() -> Option<c_int> {
    let trees = Trees::active()?;
    trees.forget_all();
    Trees::deactivate();
    // If that fails, the library frees it itself.
    let _ = trees.world.ours.free();
    trees.world.library.release();
    None
}

/// What stands in for the function of this name, which the library has at this address.
pub(super) fn replace(name: &CStr, address: *mut c_void) -> *mut c_void {
    let Some(trees) = Trees::active() else {
        return address;
    };
    let is_named = |collective: Collective| {
        let mut rules = trees.world.rules.rules.iter();
        rules.any(|rule| rule.calls.operations.contains(&collective))
    };
    macro_rules! replaced {
        ($($text:literal $collective:ident $module:ident;)*) => {
            match name.to_bytes() {
                $($text if is_named(Collective::$collective) => {
                    ($module::replacement as *const () as *mut c_void, &$module::LIBRARY)
                })*
                b"PMPI_Comm_free" => {
                    (free_call::replacement as *const () as *mut c_void, &free_call::LIBRARY)
                }
                b"PMPI_Comm_disconnect" => (
                    disconnect_call::replacement as *const () as *mut c_void,
                    &disconnect_call::LIBRARY,
                ),
                b"PMPI_Finalize" => {
                    (finalize_call::replacement as *const () as *mut c_void, &finalize_call::LIBRARY)
                }
                _ => return address,
            }
        };
    }
    let (replacement, library) = replaced! {
        b"PMPI_Barrier" Barrier barrier_call;
        b"PMPI_Bcast" Bcast bcast_call;
        b"PMPI_Bcast_c" Bcast bcast_c_call;
        b"PMPI_Allreduce" Allreduce allreduce_call;
        b"PMPI_Allreduce_c" Allreduce allreduce_c_call;
        b"PMPI_Reduce" Reduce reduce_call;
        b"PMPI_Reduce_c" Reduce reduce_c_call;
        b"PMPI_Allgather" Allgather allgather_call;
        b"PMPI_Allgather_c" Allgather allgather_c_call;
        b"PMPI_Gather" Gather gather_call;
        b"PMPI_Gather_c" Gather gather_c_call;
        b"PMPI_Scatter" Scatter scatter_call;
        b"PMPI_Scatter_c" Scatter scatter_c_call;
    };
    library.store(address, Ordering::Release);
    replacement
}

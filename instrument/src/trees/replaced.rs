//! The functions that wrappers call in place of the library's.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use collbench_formats::tree::Collective;

use super::active::Trees;
use super::adaptive::take_call_at_library;
use super::call::{Reduction, raised};
use super::control::tell_unmet;
use super::moves::{Parts, allgather, barrier, bcast, gather, scatter};
use super::reductions::{allreduce, reduce};
use crate::record::Local;

/// Makes a function that stands in for one of the library: it has the same arguments, and calls it
/// if the call has no tree. It is made twice: for operations with one tree for each call, and
/// (`ADAPTS`) for those with several candidates, of which the library may be one.
macro_rules! replacement {
    ($name:ident($($argument:ident),*) on $comm:expr, |$adapts:ident| $replaced:expr) => {
        mod $name {
            use super::*;

            /// The address of the library's function.
            pub(super) static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

            pub(super) extern "C-unwind" fn replacement<const $adapts: bool>(
                $($argument: usize),*
            ) -> c_int {
                let replaced: Option<c_int> = $replaced;
                match replaced {
                    Some(code) => code,
                    None if $adapts => as_candidate($comm, || library($($argument),*)),
                    None => library($($argument),*),
                }
            }

            /// The address of the function for operations with or without candidates.
            pub(super) fn address(adapts: bool) -> *mut c_void {
                if adapts {
                    replacement::<true> as *const () as *mut c_void
                } else {
                    replacement::<false> as *const () as *mut c_void
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
    (
        $classic:ident, $large:ident($($argument:ident),*) on $comm:expr,
        |$width:ident, $adapts:ident| $replaced:expr
    ) => {
        replacement!($classic($($argument),*) on $comm, |$adapts| {
            const $width: bool = false;
            $replaced
        });
        replacement!($large($($argument),*) on $comm, |$adapts| {
            const $width: bool = true;
            $replaced
        });
    };
}

replacement!(barrier_call(comm) on comm, |ADAPTS| raised(comm, barrier::<ADAPTS>(comm)));
both_widths!(
    bcast_call,
    bcast_c_call(buffer, count, datatype, root, comm) on comm, |LARGE, ADAPTS| {
        let code = bcast::<LARGE, ADAPTS>(buffer, count, datatype, root, comm);
        raised(comm, code)
    }
);
both_widths!(
    allreduce_call,
    allreduce_c_call(sendbuf, recvbuf, count, datatype, operation, comm) on comm, |LARGE, ADAPTS| {
        let code = allreduce::<LARGE, ADAPTS>(Reduction {
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
    reduce_c_call(sendbuf, recvbuf, count, datatype, operation, root, comm) on comm, |LARGE, ADAPTS| {
        let code = reduce::<LARGE, ADAPTS>(
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
    ) on comm, |LARGE, ADAPTS| {
            let code = allgather::<LARGE, ADAPTS>(Parts {
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
    ) on comm, |LARGE, ADAPTS| {
            let code = gather::<LARGE, ADAPTS>(
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
    ) on comm, |LARGE, ADAPTS| {
            let code = scatter::<LARGE, ADAPTS>(
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
replacement!(free_call(comm) on comm, |ADAPTS| forget_at(comm));
replacement!(disconnect_call(comm) on comm, |ADAPTS| forget_at(comm));
replacement!(finalize_call() on 0, |ADAPTS| end());

/// Calls the library, which may be the candidate whose turn it is on this communicator.
#[inline]
fn as_candidate(comm: usize, library: impl FnOnce() -> c_int) -> c_int {
    let call = take_call_at_library();
    let code = library();
    // After an error the communicator may be freed; the call counts as made when the next one begins.
    if let (0, Some(call), Some(trees)) = (code, call, Trees::active()) {
        // SAFETY: they exist until the program frees the communicator, which it does after this call.
        let of_communicator = unsafe { &mut *trees.of_communicator(Local::of_this_thread(), comm) };
        of_communicator.adaptive.ended_at_library(call);
    }
    code
}

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
    tell_unmet(&trees.world);
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
                    let adapts = trees.world.adapts(Collective::$collective);
                    ($module::address(adapts), &$module::LIBRARY)
                })*
                b"PMPI_Comm_free" => (free_call::address(false), &free_call::LIBRARY),
                b"PMPI_Comm_disconnect" => {
                    (disconnect_call::address(false), &disconnect_call::LIBRARY)
                }
                b"PMPI_Finalize" => (finalize_call::address(false), &finalize_call::LIBRARY),
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

//! The messages of Open MPI's own collectives, seen in its point-to-point layer: in the tables of
//! functions through which everything in the library sends, receives and waits.
//!
//! The tables are exported data. A function in them is replaced by one of this module, which
//! records and calls the original. The library notices no difference: the same function is called
//! with the same arguments, in the same order.

use std::ffi::{c_int, c_void};

use collbench_formats::Direction;

use super::message::{
    communicator_created, communicator_freed, message, start_messages, startable_message,
    wait_for_any, wait_for_many,
};
use crate::messages::{Opaque, PointToPoint, Post, RawMessage, Replaced, Table};
use crate::mpi::{Handle, find_datum};

/// A value of the library: every argument fits a machine word.
type Word = usize;

static ADD_COMM: Replaced = Replaced::new("_add_comm", || add_comm as *mut c_void);
static DEL_COMM: Replaced = Replaced::new("_del_comm", || del_comm as *mut c_void);
static IRECV: Replaced = Replaced::new("_irecv", || irecv as *mut c_void);
static RECV: Replaced = Replaced::new("_recv", || recv as *mut c_void);
static ISEND: Replaced = Replaced::new("_isend", || isend as *mut c_void);
static SEND: Replaced = Replaced::new("_send", || send as *mut c_void);
static IRECV_INIT: Replaced = Replaced::new("_irecv_init", || irecv_init as *mut c_void);
static ISEND_INIT: Replaced = Replaced::new("_isend_init", || isend_init as *mut c_void);
static START: Replaced = Replaced::new("_start", || start as *mut c_void);
static WAIT: Replaced = Replaced::new("_wait", || wait as *mut c_void);
static WAIT_ANY: Replaced = Replaced::new("_wait_any", || wait_any as *mut c_void);
static WAIT_ALL: Replaced = Replaced::new("_wait_all", || wait_all as *mut c_void);

/// `struct mca_pml_base_module_t`; Open MPI 5 has one more function before the receives.
static POINT_TO_POINT: Table = Table {
    name: c"mca_pml",
    layouts: &[
        &[
            (4, &ADD_COMM),
            (5, &DEL_COMM),
            (7, &IRECV),
            (8, &RECV),
            (10, &ISEND),
            (11, &SEND),
        ],
        &[
            (4, &ADD_COMM),
            (5, &DEL_COMM),
            (8, &IRECV),
            (9, &RECV),
            (11, &ISEND),
            (12, &SEND),
        ],
    ],
};

/// Other functions of the same table: requests that are made once and started later, which some
/// algorithms use.
static STARTED_LATER: Table = Table {
    name: c"mca_pml",
    layouts: &[
        &[(6, &IRECV_INIT), (9, &ISEND_INIT), (14, &START)],
        &[(7, &IRECV_INIT), (10, &ISEND_INIT), (15, &START)],
    ],
};

/// `struct ompi_request_fns_t`: how the library waits for requests. Only receives that it waits for
/// through this table have an end; where it reads the state of a request directly, they have none.
static REQUESTS: Table = Table {
    name: c"ompi_request_functions",
    layouts: &[&[(4, &WAIT), (5, &WAIT_ANY), (6, &WAIT_ALL)]],
};

/// Finds the tables of the library in this process, and checks their layout. MPI must be
/// initialized, since the library fills the tables then.
///
/// # Errors
/// [`Opaque`]: what is not as expected. Then nothing was changed.
pub(super) fn find() -> Result<PointToPoint, Opaque> {
    if find_datum(POINT_TO_POINT.name) == 0 {
        return Err(Opaque::NotOpenMpi);
    }
    let mut slots = POINT_TO_POINT.slots()?;
    // Without these, messages of the few algorithms that use them are not seen, and the algorithms
    // are reported as opaque.
    slots.extend(STARTED_LATER.slots().into_iter().flatten());
    slots.extend(REQUESTS.slots()?);
    Ok(PointToPoint(slots))
}

/// Calls the original function of the table.
macro_rules! original {
    ($function:ident; $($argument:ident),*) => {{
        let address = $function.original();
        #[allow(unused_unsafe, reason = "also used where the block around it is unsafe")]
        // SAFETY: the library's function of this name takes these arguments, each of which fits a
        // machine word, and they are passed on unchanged. Ours was put into the table only after
        // this address was stored.
        unsafe {
            std::mem::transmute::<
                *mut c_void,
                unsafe extern "C-unwind" fn($(original!(@ $argument)),*) -> c_int,
            >(address)($($argument),*)
        }
    }};
    (@ $argument:ident) => { Word };
}

extern "C-unwind" fn send(
    buffer: Word,
    count: Word,
    datatype: Handle,
    partner: Word,
    tag: Word,
    mode: Word,
    comm: Handle,
) -> c_int {
    let ends = RawMessage::new(Direction::Send, count, datatype, partner, tag, comm);
    message(
        ends,
        Post::Blocking,
        || original!(SEND; buffer, count, datatype, partner, tag, mode, comm),
    )
}

#[allow(clippy::too_many_arguments, reason = "those of the library's function")]
extern "C-unwind" fn isend(
    buffer: Word,
    count: Word,
    datatype: Handle,
    partner: Word,
    tag: Word,
    mode: Word,
    comm: Handle,
    request: Word,
) -> c_int {
    let ends = RawMessage::new(Direction::Send, count, datatype, partner, tag, comm);
    message(
        ends,
        Post::Started,
        || original!(ISEND; buffer, count, datatype, partner, tag, mode, comm, request),
    )
}

extern "C-unwind" fn recv(
    buffer: Word,
    count: Word,
    datatype: Handle,
    partner: Word,
    tag: Word,
    comm: Handle,
    status: Word,
) -> c_int {
    let ends = RawMessage::new(Direction::Receive, count, datatype, partner, tag, comm);
    message(
        ends,
        Post::Blocking,
        || original!(RECV; buffer, count, datatype, partner, tag, comm, status),
    )
}

extern "C-unwind" fn irecv(
    buffer: Word,
    count: Word,
    datatype: Handle,
    partner: Word,
    tag: Word,
    comm: Handle,
    request: Word,
) -> c_int {
    let ends = RawMessage::new(Direction::Receive, count, datatype, partner, tag, comm);
    message(
        ends,
        Post::Awaited { request },
        || original!(IRECV; buffer, count, datatype, partner, tag, comm, request),
    )
}

extern "C-unwind" fn irecv_init(
    buffer: Word,
    count: Word,
    datatype: Handle,
    partner: Word,
    tag: Word,
    comm: Handle,
    request: Word,
) -> c_int {
    let ends = RawMessage::new(Direction::Receive, count, datatype, partner, tag, comm);
    startable_message(
        ends,
        request,
        || original!(IRECV_INIT; buffer, count, datatype, partner, tag, comm, request),
    )
}

#[allow(clippy::too_many_arguments, reason = "those of the library's function")]
extern "C-unwind" fn isend_init(
    buffer: Word,
    count: Word,
    datatype: Handle,
    partner: Word,
    tag: Word,
    mode: Word,
    comm: Handle,
    request: Word,
) -> c_int {
    let ends = RawMessage::new(Direction::Send, count, datatype, partner, tag, comm);
    startable_message(
        ends,
        request,
        || original!(ISEND_INIT; buffer, count, datatype, partner, tag, mode, comm, request),
    )
}

extern "C-unwind" fn start(n: Word, requests: Word) -> c_int {
    // SAFETY: the library passes `n` requests.
    unsafe { start_messages(n, requests, || original!(START; n, requests)) }
}

extern "C-unwind" fn add_comm(comm: Handle) -> c_int {
    let code = original!(ADD_COMM; comm);
    if code == 0 {
        communicator_created(comm);
    }
    code
}

extern "C-unwind" fn del_comm(comm: Handle) -> c_int {
    communicator_freed(comm);
    original!(DEL_COMM; comm)
}

extern "C-unwind" fn wait(request: Word, status: Word) -> c_int {
    // SAFETY: the library passes the address of a request.
    unsafe { wait_for_many(request, 1, || original!(WAIT; request, status)) }
}

extern "C-unwind" fn wait_all(n: Word, requests: Word, statuses: Word) -> c_int {
    // SAFETY: the library passes an array of `n` requests.
    unsafe { wait_for_many(requests, n, || original!(WAIT_ALL; n, requests, statuses)) }
}

extern "C-unwind" fn wait_any(n: Word, requests: Word, which: Word, status: Word) -> c_int {
    // SAFETY: the library passes an array of `n` requests, and the address of an `int` for the
    // index of the one that is complete.
    unsafe {
        wait_for_any(
            requests,
            n,
            which,
            || original!(WAIT_ANY; n, requests, which, status),
        )
    }
}

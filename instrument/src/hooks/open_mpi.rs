//! The messages of Open MPI's own collectives: its point-to-point layer, by the tables of functions
//! through which everything in the library sends, receives and waits.
//!
//! The tables are exported data. A function in them is replaced by one of this module, which
//! records and calls the one that stood there. That takes nothing from the library: the same
//! function is called with the same arguments, in the same order.

use std::ffi::{c_int, c_void};

use collbench_formats::Direction;

use super::message::{
    communicator_created, communicator_freed, message, start_messages, startable_message,
    wait_for_any, wait_for_many,
};
use crate::messages::{Opaque, PointToPoint, Post, RawMessage, Replaced, Table};
use crate::mpi::{Handle, find_datum};

/// Something of the library: every argument fits a machine word.
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

/// `struct mca_pml_base_module_t`; Open MPI 5 has one function more before the receives.
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

/// The same table: requests that are made once and started later, of which some algorithms are made.
static STARTED_LATER: Table = Table {
    name: c"mca_pml",
    layouts: &[
        &[(6, &IRECV_INIT), (9, &ISEND_INIT), (14, &START)],
        &[(7, &IRECV_INIT), (10, &ISEND_INIT), (15, &START)],
    ],
};

/// `struct ompi_request_fns_t`: how the library waits for requests. Only receives that it waits for
/// through this table have an end; where it looks into a request by itself, they have none.
static REQUESTS: Table = Table {
    name: c"ompi_request_functions",
    layouts: &[&[(4, &WAIT), (5, &WAIT_ANY), (6, &WAIT_ALL)]],
};

/// Finds the tables of the library in this process, and checks their layout.
///
/// To be called when MPI is initialized: the library fills the tables then.
///
/// # Errors
/// [`Opaque`] says what is not as expected; nothing has been changed then.
pub(super) fn find() -> Result<PointToPoint, Opaque> {
    if find_datum(POINT_TO_POINT.name) == 0 {
        return Err(Opaque::NotOpenMpi);
    }
    let mut slots = POINT_TO_POINT.slots()?;
    // Without these what few algorithms send is not seen, and they are called opaque.
    slots.extend(STARTED_LATER.slots().into_iter().flatten());
    slots.extend(REQUESTS.slots()?);
    Ok(PointToPoint(slots))
}

/// Calls the function that stood in the table.
macro_rules! theirs {
    ($function:ident; $($argument:ident),*) => {{
        let address = $function.theirs();
        #[allow(unused_unsafe, reason = "also used where the block around it is unsafe")]
        // SAFETY: the library's function of this name takes these arguments, each of which fits a
        // machine word, and they are passed on as they came. Ours stands in the table only since
        // this address was stored.
        unsafe {
            std::mem::transmute::<
                *mut c_void,
                unsafe extern "C-unwind" fn($(theirs!(@ $argument)),*) -> c_int,
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
        || theirs!(SEND; buffer, count, datatype, partner, tag, mode, comm),
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
        || theirs!(ISEND; buffer, count, datatype, partner, tag, mode, comm, request),
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
        || theirs!(RECV; buffer, count, datatype, partner, tag, comm, status),
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
        || theirs!(IRECV; buffer, count, datatype, partner, tag, comm, request),
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
        || theirs!(IRECV_INIT; buffer, count, datatype, partner, tag, comm, request),
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
        || theirs!(ISEND_INIT; buffer, count, datatype, partner, tag, mode, comm, request),
    )
}

extern "C-unwind" fn start(n: Word, requests: Word) -> c_int {
    // SAFETY: the library passes so many requests.
    unsafe { start_messages(n, requests, || theirs!(START; n, requests)) }
}

extern "C-unwind" fn add_comm(comm: Handle) -> c_int {
    let code = theirs!(ADD_COMM; comm);
    if code == 0 {
        communicator_created(comm);
    }
    code
}

extern "C-unwind" fn del_comm(comm: Handle) -> c_int {
    communicator_freed(comm);
    theirs!(DEL_COMM; comm)
}

extern "C-unwind" fn wait(request: Word, status: Word) -> c_int {
    // SAFETY: the library passes the address of a request.
    unsafe { wait_for_many(request, 1, || theirs!(WAIT; request, status)) }
}

extern "C-unwind" fn wait_all(n: Word, requests: Word, statuses: Word) -> c_int {
    // SAFETY: the library passes an array of so many requests.
    unsafe { wait_for_many(requests, n, || theirs!(WAIT_ALL; n, requests, statuses)) }
}

extern "C-unwind" fn wait_any(n: Word, requests: Word, which: Word, status: Word) -> c_int {
    // SAFETY: the library passes an array of so many requests, and a place for the number of the
    // one that is complete.
    unsafe {
        wait_for_any(
            requests,
            n,
            which,
            || theirs!(WAIT_ANY; n, requests, which, status),
        )
    }
}

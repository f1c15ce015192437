//! Operations with their buffers, ready to be called again and again.

mod master_worker;
mod own_tree;

use std::ffi::{CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::rc::Rc;

use anyhow::{Context, ensure};
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use serde::{Deserialize, Serialize};

use super::operation::{Collective, MasterWorker, Operation, PingPong, Simple};
use master_worker::Team;

pub(super) use own_tree::OverTree;

/// What the messages consist of.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Element {
    /// Bytes, combined by MPI_BOR
    #[default]
    Byte,
    /// MPI_INT32_T, combined by MPI_SUM; lengths are multiples of 4
    Int,
    /// MPI_DOUBLE, combined by MPI_SUM; lengths are multiples of 8
    Double,
}

impl Element {
    /// Bytes of one.
    #[must_use]
    pub(super) fn size(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Int => 4,
            Self::Double => 8,
        }
    }

    /// What MPI calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Byte => "MPI_BYTE",
            Self::Int => "MPI_INT32_T",
            Self::Double => "MPI_DOUBLE",
        }
    }

    fn datatype(self) -> ffi::MPI_Datatype {
        // SAFETY: handles of predefined types, which the library sets before MPI_Init.
        unsafe {
            match self {
                Self::Byte => ffi::RSMPI_UINT8_T,
                Self::Int => ffi::RSMPI_INT32_T,
                Self::Double => ffi::RSMPI_DOUBLE,
            }
        }
    }

    fn combination(self) -> ffi::MPI_Op {
        // SAFETY: handles of predefined operations, which the library sets before MPI_Init.
        unsafe {
            match self {
                Self::Byte => ffi::RSMPI_BOR,
                Self::Int | Self::Double => ffi::RSMPI_SUM,
            }
        }
    }
}

/// Bytes that a buffered message takes besides its own: more than MPI_BSEND_OVERHEAD of any library.
const BUFFERED_OVERHEAD: u64 = 4096;

/// Space that so many buffered messages of this length take, bytes.
pub(super) fn buffered_space(bytes: u64, messages: u64) -> u64 {
    (bytes.saturating_add(BUFFERED_OVERHEAD)).saturating_mul(messages)
}

/// A cache line.
#[derive(Clone)]
#[repr(align(64))]
struct Line {
    _values: [f64; 8],
}

/// Space for messages, on a boundary of 64 bytes. It is written once: memory that never was is the same page of
/// zeros everywhere, from which messages are sent faster than from any other.
struct Buffer {
    lines: Vec<Line>,
}

impl Buffer {
    fn of(bytes: u64) -> Self {
        // A buffer of no bytes has an address too.
        let lines = (bytes / 64 + 1) as usize;
        Self {
            lines: vec![Line { _values: [1.0; 8] }; lines],
        }
    }

    fn address(&self) -> *mut c_void {
        self.lines.as_ptr().cast_mut().cast()
    }

    /// The first so many bytes, or all if there are fewer.
    fn bytes(&mut self, n: usize) -> &mut [u8] {
        let n = n.min(size_of_val(&self.lines[..]));
        // SAFETY: lines are numbers without space between them, and any bytes are numbers.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), n) }
    }
}

/// An operation on a communicator, with its arguments.
pub(super) struct Call {
    operation: Operation,
    comm: Rc<SimpleCommunicator>,
    rank: c_int,
    root: c_int,
    /// Elements of a block.
    count: c_int,
    element: ffi::MPI_Datatype,
    combination: ffi::MPI_Op,
    sent: Buffer,
    received: Buffer,
    /// By process, elements of its block; where it begins in elements and in bytes; its type.
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
    byte_displacements: Vec<c_int>,
    types: Vec<ffi::MPI_Datatype>,
    /// Of a persistent operation.
    request: Option<ffi::MPI_Request>,
    /// Made by constructors, to be freed.
    made: Vec<ffi::MPI_Comm>,
    attached: Option<Vec<u8>>,
    /// Of master and workers.
    team: Option<Team>,
    /// What executes it instead of the library.
    over_tree: Option<OverTree>,
    /// Bytes of an element, of a block, and of all blocks sent and received.
    n_element_bytes: u64,
    block_bytes: usize,
    all_bytes: [usize; 2],
}

macro_rules! blocking {
    ($blocking:ident $nonblocking:ident $name:literal; $($argument:expr),+) => {
        ffi::$blocking($($argument),+)
    };
}

macro_rules! nonblocking {
    ($request:ident; $blocking:ident $nonblocking:ident $name:literal; $($argument:expr),+) => {
        ffi::$nonblocking($($argument),+, $request)
    };
}

macro_rules! any_type {
    ($argument:expr) => {
        _
    };
}

macro_rules! persistent {
    ($request:ident; $blocking:ident $nonblocking:ident $name:literal; $($argument:expr),+) => {{
        let function = find_function(concat!($name, "_init"))?;
        // The prototype is that of the standard: the arguments of the blocking form, then MPI_Info
        // and MPI_Request.
        let function = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(
                $(any_type!($argument)),+,
                ffi::MPI_Info,
                *mut ffi::MPI_Request,
            ) -> c_int,
        >(function);
        function($($argument),+, ffi::RSMPI_INFO_NULL, $request)
    }};
}

/// The call of each collective, by a macro that gets its names and its arguments.
macro_rules! each_collective {
    ($of:expr, $a:ident, $call:ident $(, $first:ident)?) => {{
        let comm = $a.comm.as_raw();
        let (sent, received) = ($a.sent.address(), $a.received.address());
        let (count, element, operation, root) = ($a.count, $a.element, $a.combination, $a.root);
        let (counts, places) = ($a.counts.as_ptr(), $a.displacements.as_ptr());
        let (bytes, types) = ($a.byte_displacements.as_ptr(), $a.types.as_ptr());
        match $of {
            Collective::Barrier => {
                $call!($($first;)? MPI_Barrier MPI_Ibarrier "Barrier"; comm)
            }
            Collective::Bcast => {
                $call!($($first;)? MPI_Bcast MPI_Ibcast "Bcast"; sent, count, element, root, comm)
            }
            Collective::Gather => $call!($($first;)? MPI_Gather MPI_Igather "Gather";
                sent.cast_const(), count, element, received, count, element, root, comm),
            Collective::Gatherv => $call!($($first;)? MPI_Gatherv MPI_Igatherv "Gatherv";
                sent.cast_const(), count, element, received, counts, places, element, root, comm),
            Collective::Scatter => $call!($($first;)? MPI_Scatter MPI_Iscatter "Scatter";
                sent.cast_const(), count, element, received, count, element, root, comm),
            Collective::Scatterv => $call!($($first;)? MPI_Scatterv MPI_Iscatterv "Scatterv";
                sent.cast_const(), counts, places, element, received, count, element, root, comm),
            Collective::Allgather => $call!($($first;)? MPI_Allgather MPI_Iallgather "Allgather";
                sent.cast_const(), count, element, received, count, element, comm),
            Collective::Allgatherv => $call!(
                $($first;)? MPI_Allgatherv MPI_Iallgatherv "Allgatherv";
                sent.cast_const(), count, element, received, counts, places, element, comm),
            Collective::Alltoall => $call!($($first;)? MPI_Alltoall MPI_Ialltoall "Alltoall";
                sent.cast_const(), count, element, received, count, element, comm),
            Collective::Alltoallv => $call!($($first;)? MPI_Alltoallv MPI_Ialltoallv "Alltoallv";
                sent.cast_const(), counts, places, element, received, counts, places, element, comm),
            Collective::Alltoallw => $call!($($first;)? MPI_Alltoallw MPI_Ialltoallw "Alltoallw";
                sent.cast_const(), counts, bytes, types, received, counts, bytes, types, comm),
            Collective::Reduce => $call!($($first;)? MPI_Reduce MPI_Ireduce "Reduce";
                sent.cast_const(), received, count, element, operation, root, comm),
            Collective::Allreduce => $call!($($first;)? MPI_Allreduce MPI_Iallreduce "Allreduce";
                sent.cast_const(), received, count, element, operation, comm),
            Collective::ReduceScatter => $call!(
                $($first;)? MPI_Reduce_scatter MPI_Ireduce_scatter "Reduce_scatter";
                sent.cast_const(), received, counts, element, operation, comm),
            Collective::ReduceScatterBlock => $call!(
                $($first;)? MPI_Reduce_scatter_block MPI_Ireduce_scatter_block "Reduce_scatter_block";
                sent.cast_const(), received, count, element, operation, comm),
            Collective::Scan => $call!($($first;)? MPI_Scan MPI_Iscan "Scan";
                sent.cast_const(), received, count, element, operation, comm),
            Collective::Exscan => $call!($($first;)? MPI_Exscan MPI_Iexscan "Exscan";
                sent.cast_const(), received, count, element, operation, comm),
        }
    }};
}

/// A function of the MPI library by its name without the prefix: that of the standard, else the
/// extension of Open MPI 4.
fn find_function(name: &str) -> Option<*mut c_void> {
    ["MPI_", "MPIX_"].into_iter().find_map(|prefix| {
        let symbol = CString::new(format!("{prefix}{name}")).ok()?;
        // SAFETY: a C string; the default scope holds the MPI library, which is linked.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
        (!found.is_null()).then_some(found)
    })
}

/// Whether the MPI library of this process has the operation.
pub(super) fn is_available(operation: Operation) -> bool {
    match operation {
        Operation::Persistent(_) => {
            let name = operation.name();
            find_function(name.trim_start_matches("MPI_")).is_some()
        }
        _ => true,
    }
}

impl Call {
    /// The operation on `comm` with messages (blocks) of `bytes`, which the element divides; of
    /// master and workers with so many `pieces` for each worker.
    ///
    /// Collective over `comm`: a persistent operation is made here.
    ///
    /// # Errors
    /// States what MPI refused.
    pub(super) fn new(
        operation: Operation,
        comm: Rc<SimpleCommunicator>,
        root: usize,
        bytes: u64,
        element: Element,
        pieces: usize,
    ) -> anyhow::Result<Self> {
        let processes = comm.size() as usize;
        let [sent, received] = operation.blocks(processes);
        let count = c_int::try_from(bytes / element.size()).context("too many elements")?;
        let places = |step: u64| -> anyhow::Result<Vec<c_int>> {
            (0..processes as u64)
                .map(|process| c_int::try_from(process * step).context("too many bytes"))
                .collect()
        };
        let mut call = Self {
            operation,
            rank: comm.rank(),
            comm,
            root: root as c_int,
            count,
            element: element.datatype(),
            combination: element.combination(),
            sent: Buffer::of(bytes * sent as u64),
            received: Buffer::of(bytes * received as u64),
            counts: vec![count; processes],
            displacements: places(bytes / element.size())?,
            byte_displacements: places(bytes)?,
            types: vec![element.datatype(); processes],
            request: None,
            made: Vec::new(),
            attached: None,
            team: None,
            over_tree: None,
            n_element_bytes: element.size(),
            block_bytes: bytes as usize,
            all_bytes: [sent, received].map(|blocks| blocks * bytes as usize),
        };
        if let Operation::Persistent(collective) = operation {
            let mut request = MaybeUninit::uninit();
            let code = call.initialize(collective, request.as_mut_ptr());
            ensure!(
                code == Some(0),
                "{} is refused by this library",
                operation.name()
            );
            // SAFETY: the call has succeeded, so it has set the request.
            call.request = Some(unsafe { request.assume_init() });
        }
        if operation == Operation::PingPong(PingPong::Bsend) {
            call.attach(bytes, 1)?;
        }
        if let Operation::MasterWorker(kind) = operation {
            call.team = Some(Team::of(kind, processes, pieces)?);
            if kind == MasterWorker::Bsend && call.rank == 0 {
                let n_pieces = pieces * processes.saturating_sub(1);
                call.attach(bytes, n_pieces as u64)?;
            }
        }
        Ok(call)
    }

    /// Executes it over a tree from now on.
    pub(super) fn use_tree(&mut self, tree: OverTree) {
        self.over_tree = Some(tree);
    }

    /// What it calls.
    pub(super) fn operation(&self) -> Operation {
        self.operation
    }

    /// Calls it. Returns the return code, 0 if all is well.
    #[inline]
    pub(super) fn run(&mut self) -> c_int {
        match self.operation {
            Operation::Blocking(collective) if self.over_tree.is_some() => {
                self.over_tree(collective)
            }
            Operation::Blocking(collective) => self.blocking(collective),
            Operation::Nonblocking(collective) => {
                let mut request = MaybeUninit::uninit();
                let code = self.initiate(collective, request.as_mut_ptr());
                if code != 0 {
                    return code;
                }
                // SAFETY: the request was set by the call that has succeeded.
                unsafe { ffi::MPI_Wait(request.as_mut_ptr(), ffi::RSMPI_STATUS_IGNORE) }
            }
            Operation::Persistent(_) => {
                let Some(request) = &mut self.request else {
                    return 0;
                };
                // SAFETY: an inactive persistent request of this process.
                unsafe {
                    let code = ffi::MPI_Start(request);
                    if code != 0 {
                        return code;
                    }
                    ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE)
                }
            }
            Operation::CommDup => self.construct(|comm, made| {
                // SAFETY: a valid communicator, and a place for the new one.
                unsafe { ffi::MPI_Comm_dup(comm, made) }
            }),
            Operation::CommSplit => {
                let rank = self.rank;
                self.construct(|comm, made| {
                    // SAFETY: a valid communicator, and a place for the new one.
                    unsafe { ffi::MPI_Comm_split(comm, rank % 2, rank, made) }
                })
            }
            Operation::PingPong(kind) => self.ping_pong(kind),
            Operation::MasterWorker(kind) => self.master_worker(kind),
            Operation::Simple(simple) => self.simple(simple),
        }
    }

    /// Initiates the nonblocking form.
    ///
    /// `request` is set if the call succeeds, and must be completed before this call ends.
    #[inline]
    pub(super) fn initiate(&self, of: Collective, request: *mut ffi::MPI_Request) -> c_int {
        let a = self;
        // SAFETY: the communicator is valid; the buffers hold as many blocks as the collective
        // needs, and live as long as this call, in which the request is completed.
        unsafe { each_collective!(of, a, nonblocking, request) }
    }

    /// Frees what was made since the last time, outside of the measured time.
    pub(super) fn clean(&mut self) {
        for mut comm in self.made.drain(..) {
            // SAFETY: made by this process, and not freed yet.
            unsafe { ffi::MPI_Comm_free(&mut comm) };
        }
    }

    /// Over the tree. Returns 0, or the code of an error that it has reported.
    #[inline]
    fn over_tree(&mut self, of: Collective) -> c_int {
        let Some(tree) = &mut self.over_tree else {
            return self.blocking(of);
        };
        let [sent, received] = self.all_bytes;
        let buffers = (self.sent.bytes(sent), self.received.bytes(received));
        let why = match tree.run(of, self.root as u32, self.block_bytes, buffers) {
            Some(Ok(())) => return 0,
            Some(Err(error)) => error.to_string(),
            None => "there are no trees for it".to_owned(),
        };
        eprintln!(
            "collbench-bench: {} over a tree: {why}",
            self.operation.name()
        );
        ffi::MPI_ERR_OTHER as c_int
    }

    #[inline]
    fn blocking(&self, of: Collective) -> c_int {
        let a = self;
        // SAFETY: the communicator is valid, and the buffers hold as many blocks as needed.
        unsafe { each_collective!(of, a, blocking) }
    }

    /// Makes the persistent form; `None` if the library has none.
    fn initialize(&self, of: Collective, request: *mut ffi::MPI_Request) -> Option<c_int> {
        let a = self;
        // SAFETY: the function has the prototype of the standard; the buffers live as long as the
        // request, which is freed when this value is dropped.
        Some(unsafe { each_collective!(of, a, persistent, request) })
    }

    fn construct(
        &mut self,
        construct: impl FnOnce(ffi::MPI_Comm, *mut ffi::MPI_Comm) -> c_int,
    ) -> c_int {
        let mut made = MaybeUninit::uninit();
        let code = construct(self.comm.as_raw(), made.as_mut_ptr());
        if code == 0 {
            // SAFETY: the call has succeeded, so it has set the communicator.
            self.made.push(unsafe { made.assume_init() });
        }
        code
    }

    /// Attaches space for so many buffered messages.
    fn attach(&mut self, bytes: u64, messages: u64) -> anyhow::Result<()> {
        let mut space = vec![0; buffered_space(bytes, messages.max(1)) as usize];
        let size = c_int::try_from(space.len()).context("too many bytes")?;
        // SAFETY: the space lives until it is detached, when this value is dropped.
        let code = unsafe { ffi::MPI_Buffer_attach(space.as_mut_ptr().cast(), size) };
        ensure!(code == 0, "MPI_Buffer_attach returned {code}");
        self.attached = Some(space);
        Ok(())
    }

    #[inline]
    fn simple(&mut self, simple: Simple) -> c_int {
        let comm = self.comm.as_raw();
        let mut number: c_int = 0;
        // SAFETY: a valid communicator and places for the results.
        unsafe {
            match simple {
                Simple::Empty => 0,
                Simple::Wtime => {
                    std::hint::black_box(ffi::RSMPI_Wtime());
                    0
                }
                Simple::CommRank => ffi::MPI_Comm_rank(comm, &mut number),
                Simple::CommSize => ffi::MPI_Comm_size(comm, &mut number),
                Simple::Iprobe => ffi::MPI_Iprobe(
                    ffi::RSMPI_ANY_SOURCE,
                    ffi::RSMPI_ANY_TAG,
                    comm,
                    &mut number,
                    ffi::RSMPI_STATUS_IGNORE,
                ),
                Simple::Attach => {
                    let bytes = (self.sent.lines.len() * 64) as c_int;
                    let code = ffi::MPI_Buffer_attach(self.sent.address(), bytes);
                    if code != 0 {
                        return code;
                    }
                    let mut address: *mut c_void = ptr::null_mut();
                    ffi::MPI_Buffer_detach((&raw mut address).cast(), &mut number)
                }
            }
        }
    }

    /// Process 0 sends to process 1 of the communicator, which sends back; others do nothing.
    #[inline]
    fn ping_pong(&mut self, kind: PingPong) -> c_int {
        match (self.rank, kind) {
            (0 | 1, PingPong::Sendrecv | PingPong::SendrecvReplace) => self.exchange(kind),
            (0, _) => self.send_one(kind).max(self.receive_one(kind)),
            (1, _) => self.receive_one(kind).max(self.send_one(kind)),
            _ => 0,
        }
    }

    #[inline]
    fn send_one(&self, kind: PingPong) -> c_int {
        let (address, partner) = (self.sent.address().cast_const(), 1 - self.rank);
        let (count, element, comm) = (self.count, self.element, self.comm.as_raw());
        // SAFETY: the buffer holds the elements, and the communicator has two processes.
        unsafe {
            match kind {
                PingPong::Ssend => ffi::MPI_Ssend(address, count, element, partner, 0, comm),
                PingPong::Bsend => ffi::MPI_Bsend(address, count, element, partner, 0, comm),
                PingPong::Isend => {
                    let mut request = MaybeUninit::uninit();
                    let to = request.as_mut_ptr();
                    let code = ffi::MPI_Isend(address, count, element, partner, 0, comm, to);
                    if code != 0 {
                        return code;
                    }
                    ffi::MPI_Wait(to, ffi::RSMPI_STATUS_IGNORE)
                }
                _ => ffi::MPI_Send(address, count, element, partner, 0, comm),
            }
        }
    }

    #[inline]
    fn receive_one(&self, kind: PingPong) -> c_int {
        let (address, partner) = (self.received.address(), 1 - self.rank);
        let (count, element, comm) = (self.count, self.element, self.comm.as_raw());
        // SAFETY: the buffer holds the elements, and the communicator has two processes.
        unsafe {
            let ignored = ffi::RSMPI_STATUS_IGNORE;
            let tag = match kind {
                PingPong::AnyTag => ffi::RSMPI_ANY_TAG,
                _ => 0,
            };
            match kind {
                PingPong::Irecv => {
                    let mut request = MaybeUninit::uninit();
                    let to = request.as_mut_ptr();
                    let code = ffi::MPI_Irecv(address, count, element, partner, tag, comm, to);
                    if code != 0 {
                        return code;
                    }
                    return ffi::MPI_Wait(to, ignored);
                }
                PingPong::Iprobe => {
                    let mut is_there: c_int = 0;
                    while is_there == 0 {
                        let code = ffi::MPI_Iprobe(partner, tag, comm, &mut is_there, ignored);
                        if code != 0 {
                            return code;
                        }
                    }
                }
                _ => {}
            }
            ffi::MPI_Recv(address, count, element, partner, tag, comm, ignored)
        }
    }

    /// Both send and receive at once.
    #[inline]
    fn exchange(&self, kind: PingPong) -> c_int {
        let (partner, count, element) = (1 - self.rank, self.count, self.element);
        let (sent, received, comm) = (
            self.sent.address(),
            self.received.address(),
            self.comm.as_raw(),
        );
        // SAFETY: the buffers hold the elements, and the communicator has two processes.
        unsafe {
            let ignored = ffi::RSMPI_STATUS_IGNORE;
            if kind == PingPong::SendrecvReplace {
                return ffi::MPI_Sendrecv_replace(
                    sent, count, element, partner, 0, partner, 0, comm, ignored,
                );
            }
            ffi::MPI_Sendrecv(
                sent.cast_const(),
                count,
                element,
                partner,
                0,
                received,
                count,
                element,
                partner,
                0,
                comm,
                ignored,
            )
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.clean();
        if let Some(request) = &mut self.request {
            // SAFETY: an inactive persistent request of this process.
            unsafe { ffi::MPI_Request_free(request) };
        }
        if self.attached.is_some() {
            let (mut address, mut size): (*mut c_void, c_int) = (ptr::null_mut(), 0);
            // SAFETY: the space that was attached, which waits until its messages are delivered.
            unsafe { ffi::MPI_Buffer_detach((&raw mut address).cast(), &mut size) };
        }
    }
}

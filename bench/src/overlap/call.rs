//! The calls of the nonblocking collectives, with their buffers.

use std::ffi::{c_int, c_void};

use anyhow::ensure;
use mpi::ffi;

use super::operation::{ELEMENT, Operation};

const ROOT: c_int = 0;

/// An operation that can be begun any number of times, one at a time.
pub(super) struct Collective {
    operation: Operation,
    communicator: ffi::MPI_Comm,
    /// Elements that a process contributes.
    count: c_int,
    send: Vec<f64>,
    receive: Vec<f64>,
    /// By partner: `count`, and where its block begins, in elements, in bytes, and as an address.
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
    bytes: Vec<c_int>,
    addresses: Vec<ffi::MPI_Aint>,
    types: Vec<ffi::MPI_Datatype>,
}

/// An operation that has been begun.
pub(super) struct Begun<'a> {
    request: ffi::MPI_Request,
    /// The buffers must live until the operation is complete.
    _of: &'a mut Collective,
}

/// The communicators of the operations.
pub(super) struct Communicators {
    n_processes: c_int,
    is_root: bool,
    /// A ring of all processes.
    ring: ffi::MPI_Comm,
}

impl Communicators {
    /// Collective; MPI must be initialized.
    ///
    /// # Errors
    /// If the ring cannot be created.
    pub(super) fn of_world(n_processes: c_int, rank: c_int) -> anyhow::Result<Self> {
        let mut ring = std::mem::MaybeUninit::uninit();
        let (size, is_periodic) = (n_processes, 1);
        // SAFETY: one dimension with its size and whether it is periodic; MPI is initialized.
        let code = unsafe {
            ffi::MPI_Cart_create(
                ffi::RSMPI_COMM_WORLD,
                1,
                &raw const size,
                &raw const is_periodic,
                0,
                ring.as_mut_ptr(),
            )
        };
        ensure!(
            code == 0,
            "MPI_Cart_create of a ring failed with code {code}"
        );
        Ok(Self {
            n_processes,
            is_root: rank == ROOT,
            // SAFETY: the call has succeeded.
            ring: unsafe { ring.assume_init() },
        })
    }
}

impl Collective {
    /// The operation with buffers for messages of `length` elements, which are touched.
    ///
    /// # Errors
    /// If a count does not fit into an `int`.
    pub(super) fn new(
        communicators: &Communicators,
        operation: Operation,
        length: u64,
    ) -> anyhow::Result<Self> {
        let n_processes = communicators.n_processes as u64;
        let [send, receive] = operation.elements(length, n_processes);
        let (send, receive) = match operation {
            Operation::Igather | Operation::Igatherv if !communicators.is_root => (send, 0),
            Operation::Iscatter | Operation::Iscatterv if !communicators.is_root => (0, receive),
            Operation::Ibcast => (send, 0),
            _ => (send, receive),
        };
        let n_partners = if operation.has_neighbors() {
            2
        } else {
            n_processes
        };
        let count = c_int::try_from(length)?;
        let places = |unit: u64| -> Result<Vec<c_int>, _> {
            (0..n_partners)
                .map(|partner| c_int::try_from(partner * length * unit))
                .collect()
        };
        let bytes = places(ELEMENT)?;
        Ok(Self {
            operation,
            communicator: if operation.has_neighbors() {
                communicators.ring
            } else {
                // SAFETY: a constant of the MPI library.
                unsafe { ffi::RSMPI_COMM_WORLD }
            },
            count,
            send: vec![1.0; send as usize],
            receive: vec![2.0; receive as usize],
            counts: vec![count; n_partners as usize],
            displacements: places(1)?,
            addresses: bytes.iter().map(|&byte| byte as ffi::MPI_Aint).collect(),
            bytes,
            // SAFETY: a constant of the MPI library.
            types: vec![unsafe { ffi::RSMPI_DOUBLE }; n_partners as usize],
        })
    }

    /// Begins the operation. It must be completed by [`Begun::wait`].
    ///
    /// # Errors
    /// If the call fails.
    pub(super) fn begin(&mut self) -> anyhow::Result<Begun<'_>> {
        let mut request = std::mem::MaybeUninit::uninit();
        // SAFETY: the buffers have as many blocks of `count` elements as the operation reads and
        // writes, as `Operation::blocks` says; they live until the operation is complete.
        let code = unsafe { self.call(request.as_mut_ptr()) };
        ensure!(
            code == 0,
            "{} failed with code {code}",
            self.operation.name()
        );
        Ok(Begun {
            // SAFETY: the call has succeeded.
            request: unsafe { request.assume_init() },
            _of: self,
        })
    }

    /// # Safety
    /// The buffers must be as long as the operation needs, and live until it is complete.
    unsafe fn call(&mut self, request: *mut ffi::MPI_Request) -> c_int {
        let (n, root, comm) = (self.count, ROOT, self.communicator);
        let buffer: *mut c_void = self.send.as_mut_ptr().cast();
        let (send, receive) = (
            buffer.cast_const(),
            self.receive.as_mut_ptr().cast::<c_void>(),
        );
        let (counts, types) = (self.counts.as_ptr(), self.types.as_ptr());
        let places = self.displacements.as_ptr();
        let (bytes, addresses) = (self.bytes.as_ptr(), self.addresses.as_ptr());
        // SAFETY: as the caller promises; constants of the MPI library; arrays with an entry per
        // partner.
        unsafe {
            let (double, sum) = (ffi::RSMPI_DOUBLE, ffi::RSMPI_SUM);
            // Functions that take the same arguments.
            let rooted = |function: unsafe extern "C" fn(_, _, _, _, _, _, _, _, _) -> _| {
                function(send, n, double, receive, n, double, root, comm, request)
            };
            let equal = |function: unsafe extern "C" fn(_, _, _, _, _, _, _, _) -> _| {
                function(send, n, double, receive, n, double, comm, request)
            };
            let gathering = |function: unsafe extern "C" fn(_, _, _, _, _, _, _, _, _) -> _| {
                function(
                    send, n, double, receive, counts, places, double, comm, request,
                )
            };
            let varying = |function: unsafe extern "C" fn(_, _, _, _, _, _, _, _, _, _) -> _| {
                function(
                    send, counts, places, double, receive, counts, places, double, comm, request,
                )
            };
            let reducing = |function: unsafe extern "C" fn(_, _, _, _, _, _, _) -> _| {
                function(send, receive, n, double, sum, comm, request)
            };
            match self.operation {
                Operation::Ibcast => ffi::MPI_Ibcast(buffer, n, double, root, comm, request),
                Operation::Igather => rooted(ffi::MPI_Igather),
                Operation::Igatherv => ffi::MPI_Igatherv(
                    send, n, double, receive, counts, places, double, root, comm, request,
                ),
                Operation::Iscatter => rooted(ffi::MPI_Iscatter),
                Operation::Iscatterv => ffi::MPI_Iscatterv(
                    send, counts, places, double, receive, n, double, root, comm, request,
                ),
                Operation::Iallgather => equal(ffi::MPI_Iallgather),
                Operation::Iallgatherv => gathering(ffi::MPI_Iallgatherv),
                Operation::Ialltoall => equal(ffi::MPI_Ialltoall),
                Operation::Ialltoallv => varying(ffi::MPI_Ialltoallv),
                Operation::Ialltoallw => ffi::MPI_Ialltoallw(
                    send, counts, bytes, types, receive, counts, bytes, types, comm, request,
                ),
                Operation::Ireduce => {
                    ffi::MPI_Ireduce(send, receive, n, double, sum, root, comm, request)
                }
                Operation::Iallreduce => reducing(ffi::MPI_Iallreduce),
                Operation::IreduceScatter => {
                    ffi::MPI_Ireduce_scatter(send, receive, counts, double, sum, comm, request)
                }
                Operation::IreduceScatterBlock => reducing(ffi::MPI_Ireduce_scatter_block),
                Operation::Iscan => reducing(ffi::MPI_Iscan),
                Operation::Iexscan => reducing(ffi::MPI_Iexscan),
                Operation::IneighborAllgather => equal(ffi::MPI_Ineighbor_allgather),
                Operation::IneighborAllgatherv => gathering(ffi::MPI_Ineighbor_allgatherv),
                Operation::IneighborAlltoall => equal(ffi::MPI_Ineighbor_alltoall),
                Operation::IneighborAlltoallv => varying(ffi::MPI_Ineighbor_alltoallv),
                Operation::IneighborAlltoallw => ffi::MPI_Ineighbor_alltoallw(
                    send, counts, addresses, types, receive, counts, addresses, types, comm,
                    request,
                ),
            }
        }
    }
}

impl Begun<'_> {
    /// Waits until the operation is complete.
    ///
    /// # Errors
    /// If the call fails.
    pub(super) fn wait(mut self) -> anyhow::Result<()> {
        // SAFETY: a request of an operation that has begun and whose buffers still live.
        let code = unsafe { ffi::MPI_Wait(&raw mut self.request, ffi::RSMPI_STATUS_IGNORE) };
        ensure!(code == 0, "MPI_Wait failed with code {code}");
        Ok(())
    }
}

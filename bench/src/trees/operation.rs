//! Operations of one leaf, over a tree or over the MPI library.

use std::ffi::{c_int, c_void};

use anyhow::bail;
use collbench_formats::tree::Collective;
use collbench_paths::{
    Buffers, Elements, Kernel, MpiTransport, Reduction, Team, ThreadTransport, Transport, Word,
};
use mpi::ffi;

use super::recorder::Recorder;

/// The leaf, and the process, that is the root of operations.
const ROOT: u32 = 0;

/// Values that are combined, and how.
pub(crate) struct Values {
    kernel: Kernel,
    element_bytes: usize,
    datatype: ffi::MPI_Datatype,
    op: ffi::MPI_Op,
}

impl Values {
    /// Sums of 32-bit integers.
    pub(crate) fn sums_of_integers() -> Self {
        // SAFETY: constants of the library, which are never changed.
        let (datatype, op) = unsafe { (ffi::RSMPI_INT32_T, ffi::RSMPI_SUM) };
        Self {
            kernel: Kernel::new(Reduction::Sum, Elements::Int32).expect("MPI defines it"),
            element_bytes: size_of::<i32>(),
            datatype,
            op,
        }
    }

    /// Maxima of doubles.
    pub(crate) fn maxima_of_doubles() -> Self {
        // SAFETY: as above.
        let (datatype, op) = unsafe { (ffi::RSMPI_DOUBLE, ffi::RSMPI_MAX) };
        Self {
            kernel: Kernel::new(Reduction::Max, Elements::Double).expect("MPI defines it"),
            element_bytes: size_of::<f64>(),
            datatype,
            op,
        }
    }
}

/// Collective operations, as one leaf takes part in them. All leaves call the same ones in the same
/// order; the root is leaf 0. What is given has as many bytes on all leaves.
pub(crate) trait Operate {
    /// Combines what all leaves give; all get the result.
    ///
    /// # Errors
    /// Why it has failed. Then the leaves are no longer in step.
    fn allreduce(
        &mut self,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()>;

    /// Combines what all leaves give; the root gets the result.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    fn reduce(
        &mut self,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()>;

    /// Gives all leaves what the root has.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    fn bcast(&mut self, buffer: &mut [u8]) -> anyhow::Result<()>;

    /// Gathers what all leaves give at the root, in their order; elsewhere the result is empty.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce); over the library always with several leaves in a process.
    fn gather(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()>;

    /// Gives each leaf its part of what the root gives; the others give nothing.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    fn scatter(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()>;

    /// Gathers what all leaves give, in their order; all get it.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    fn allgather(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()>;

    /// Waits until all leaves have called it.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    fn barrier(&mut self) -> anyhow::Result<()>;
}

/// Two identical trees in turns, so that an operation does not disturb the next one.
pub(super) struct OverTrees<T: Transport> {
    pub(super) teams: [Team<T>; 2],
    /// The tree of the next operation.
    pub(super) next: usize,
    /// Where this leaf records the calls of its process, with the communicator.
    pub(super) recorder: Option<(Recorder, Word)>,
}

impl<T: Transport> OverTrees<T> {
    /// Executes an operation on the tree whose turn it is.
    #[inline]
    fn on_next(
        &mut self,
        call: (Collective, usize),
        execute: impl FnOnce(&mut Team<T>) -> Result<(), collbench_paths::Error>,
    ) -> anyhow::Result<()> {
        let team = &mut self.teams[self.next];
        self.next = 1 - self.next;
        match self.recorder {
            None => execute(team)?,
            Some((recorder, comm)) => {
                let (collective, bytes) = call;
                let root = collective.has_root().then_some(ROOT);
                recorder.recorded(comm, (collective, root, bytes), || execute(team))?;
            }
        }
        Ok(())
    }
}

impl<T: Transport> Operate for OverTrees<T> {
    fn allreduce(
        &mut self,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()> {
        self.on_next((Collective::Allreduce, given.len()), |team| {
            team.allreduce(Buffers::Two(given, result), &mut values.kernel)
        })
    }

    fn reduce(
        &mut self,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()> {
        self.on_next((Collective::Reduce, given.len()), |team| {
            team.reduce(Buffers::Two(given, result), &mut values.kernel, ROOT)
        })
    }

    fn bcast(&mut self, buffer: &mut [u8]) -> anyhow::Result<()> {
        self.on_next((Collective::Bcast, buffer.len()), |team| {
            team.bcast(buffer, ROOT)
        })
    }

    fn gather(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
        self.on_next((Collective::Gather, given.len()), |team| {
            team.gather(Some(given), result, ROOT)
        })
    }

    fn scatter(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
        self.on_next((Collective::Scatter, result.len()), |team| {
            team.scatter(given, Some(result), ROOT)
        })
    }

    fn allgather(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
        self.on_next((Collective::Allgather, given.len()), |team| {
            team.allgather(Some(given), result)
        })
    }

    fn barrier(&mut self) -> anyhow::Result<()> {
        self.on_next((Collective::Barrier, 0), Team::barrier)
    }
}

/// The operations of the MPI library on all processes. Several threads of a process are joined in
/// its memory, and its first thread calls the library.
pub(super) struct OverLibrary {
    threads: Option<Threads>,
}

/// The threads of this process.
struct Threads {
    team: Team<ThreadTransport<MpiTransport>>,
    is_first: bool,
    /// What they have together.
    joined: Vec<u8>,
}

impl OverLibrary {
    /// Of a process with several threads, of which this is one; `None`: with one.
    pub(super) fn new(team: Option<Team<ThreadTransport<MpiTransport>>>) -> Self {
        Self {
            threads: team.map(|team| Threads {
                is_first: team.transport().rank() == ROOT,
                team,
                joined: Vec::new(),
            }),
        }
    }

    fn check_one_thread(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.threads.is_none(),
            "the MPI library moves no parts for threads"
        );
        Ok(())
    }
}

fn succeeded(function: &str, code: c_int) -> anyhow::Result<()> {
    if code != 0 {
        bail!("{function} has returned {code}");
    }
    Ok(())
}

fn count(bytes: &[u8], values: &Values) -> c_int {
    (bytes.len() / values.element_bytes) as c_int
}

/// `MPI_Allreduce` of this process.
fn library_allreduce(given: &[u8], result: &mut [u8], values: &Values) -> anyhow::Result<()> {
    // SAFETY: MPI is initialized; both buffers hold as many elements of the type.
    let code = unsafe {
        ffi::MPI_Allreduce(
            given.as_ptr().cast(),
            result[..given.len()].as_mut_ptr().cast(),
            count(given, values),
            values.datatype,
            values.op,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    succeeded("MPI_Allreduce", code)
}

/// `MPI_Reduce` of this process.
fn library_reduce(given: &[u8], result: &mut [u8], values: &Values) -> anyhow::Result<()> {
    // SAFETY: as above.
    let code = unsafe {
        ffi::MPI_Reduce(
            given.as_ptr().cast(),
            result[..given.len()].as_mut_ptr().cast(),
            count(given, values),
            values.datatype,
            values.op,
            ROOT as c_int,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    succeeded("MPI_Reduce", code)
}

/// `MPI_Bcast` of this process.
fn library_bcast(buffer: &mut [u8]) -> anyhow::Result<()> {
    // SAFETY: MPI is initialized; the buffer has as many bytes as are given.
    let code = unsafe {
        ffi::MPI_Bcast(
            buffer.as_mut_ptr().cast(),
            buffer.len() as c_int,
            ffi::RSMPI_UINT8_T,
            ROOT as c_int,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    succeeded("MPI_Bcast", code)
}

/// `MPI_Gather` and `MPI_Scatter` have the same arguments.
type Parts = unsafe extern "C" fn(
    *const c_void,
    c_int,
    ffi::MPI_Datatype,
    *mut c_void,
    c_int,
    ffi::MPI_Datatype,
    c_int,
    ffi::MPI_Comm,
) -> c_int;

/// Gathers at the root, or scatters from it, parts of so many bytes of all processes.
fn library_parts(
    (name, function): (&str, Parts),
    given: &[u8],
    result: &mut [u8],
    n_bytes: usize,
) -> anyhow::Result<()> {
    let n = n_bytes as c_int;
    // SAFETY: MPI is initialized; the root has a part of each process, the others their own.
    let code = unsafe {
        function(
            given.as_ptr().cast(),
            n,
            ffi::RSMPI_UINT8_T,
            result.as_mut_ptr().cast(),
            n,
            ffi::RSMPI_UINT8_T,
            ROOT as c_int,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    succeeded(name, code)
}

/// `MPI_Allgather` of this process.
fn library_allgather(given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
    let n = given.len() as c_int;
    // SAFETY: MPI is initialized; there is room for what all give.
    let code = unsafe {
        ffi::MPI_Allgather(
            given.as_ptr().cast(),
            n,
            ffi::RSMPI_UINT8_T,
            result.as_mut_ptr().cast(),
            n,
            ffi::RSMPI_UINT8_T,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    succeeded("MPI_Allgather", code)
}

fn library_barrier() -> anyhow::Result<()> {
    // SAFETY: MPI is initialized.
    succeeded("MPI_Barrier", unsafe {
        ffi::MPI_Barrier(ffi::RSMPI_COMM_WORLD)
    })
}

impl Operate for OverLibrary {
    fn allreduce(
        &mut self,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()> {
        let Some(threads) = &mut self.threads else {
            return library_allreduce(given, result, values);
        };
        threads.join(given, values)?;
        if threads.is_first {
            library_allreduce(&threads.joined, result, values)?;
        }
        Ok(threads.team.bcast(result, ROOT)?)
    }

    fn reduce(
        &mut self,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()> {
        let Some(threads) = &mut self.threads else {
            return library_reduce(given, result, values);
        };
        threads.join(given, values)?;
        if threads.is_first {
            library_reduce(&threads.joined, result, values)?;
        }
        Ok(())
    }

    fn bcast(&mut self, buffer: &mut [u8]) -> anyhow::Result<()> {
        let Some(threads) = &mut self.threads else {
            return library_bcast(buffer);
        };
        if threads.is_first {
            library_bcast(buffer)?;
        }
        Ok(threads.team.bcast(buffer, ROOT)?)
    }

    fn gather(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
        self.check_one_thread()?;
        library_parts(("MPI_Gather", ffi::MPI_Gather), given, result, given.len())
    }

    fn scatter(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
        self.check_one_thread()?;
        let n_bytes = result.len();
        library_parts(("MPI_Scatter", ffi::MPI_Scatter), given, result, n_bytes)
    }

    fn allgather(&mut self, given: &[u8], result: &mut [u8]) -> anyhow::Result<()> {
        self.check_one_thread()?;
        library_allgather(given, result)
    }

    fn barrier(&mut self) -> anyhow::Result<()> {
        let Some(threads) = &mut self.threads else {
            return library_barrier();
        };
        threads.team.barrier()?;
        if threads.is_first {
            library_barrier()?;
        }
        Ok(threads.team.barrier()?)
    }
}

impl Threads {
    /// Joins what the threads give at the first one.
    fn join(&mut self, given: &[u8], values: &mut Values) -> anyhow::Result<()> {
        self.joined.resize(given.len(), 0);
        let buffers = Buffers::Two(given, &mut self.joined);
        Ok(self.team.reduce(buffers, &mut values.kernel, ROOT)?)
    }
}

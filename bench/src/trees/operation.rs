//! Operations of one leaf, over a tree or over the MPI library.

use std::ffi::c_int;

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
/// order; the root is leaf 0.
pub(crate) trait Operate {
    /// Executes an operation, with what this leaf gives and the place of its result. Where a leaf gives
    /// or gets nothing, that is empty; the buffer of a broadcast is that of the result on all leaves.
    ///
    /// # Errors
    /// Why it has failed. Then the leaves are no longer in step. The MPI library moves no parts for
    /// several leaves in a process.
    fn execute(
        &mut self,
        collective: Collective,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()>;
}

/// Two identical trees in turns, so that an operation does not disturb the next one.
pub(super) struct OverTrees<T: Transport> {
    pub(super) teams: [Team<T>; 2],
    /// The tree of the next operation.
    pub(super) next: usize,
    /// Where this leaf records the calls of its process, with the communicator.
    pub(super) recorder: Option<(Recorder, Word)>,
}

impl<T: Transport> Operate for OverTrees<T> {
    #[inline]
    fn execute(
        &mut self,
        collective: Collective,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()> {
        let team = &mut self.teams[self.next];
        self.next = 1 - self.next;
        let bytes = match collective {
            Collective::Bcast | Collective::Scatter => result.len(),
            _ => given.len(),
        };
        let kernel = &mut values.kernel;
        let mut execute = || match collective {
            Collective::Allreduce => team.allreduce(Buffers::Two(given, result), kernel),
            Collective::Reduce => team.reduce(Buffers::Two(given, result), kernel, ROOT),
            Collective::Bcast => team.bcast(result, ROOT),
            Collective::Barrier => team.barrier(),
            Collective::Gather => team.gather(Some(given), result, ROOT),
            Collective::Scatter => team.scatter(given, Some(result), ROOT),
            Collective::Allgather => team.allgather(Some(given), result),
        };
        match self.recorder {
            None => execute()?,
            Some((recorder, comm)) => {
                let root = collective.has_root().then_some(ROOT);
                recorder.recorded(comm, (collective, root, bytes), execute)?;
            }
        }
        Ok(())
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

    /// Waits until all leaves have called it.
    ///
    /// # Errors
    /// As [`Operate::execute`].
    pub(super) fn barrier(&mut self) -> anyhow::Result<()> {
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

fn succeeded(collective: Collective, code: c_int) -> anyhow::Result<()> {
    let function = collective.operation().name();
    anyhow::ensure!(code == 0, "{function} has returned {code}");
    Ok(())
}

fn library_barrier() -> anyhow::Result<()> {
    // SAFETY: MPI is initialized.
    let code = unsafe { ffi::MPI_Barrier(ffi::RSMPI_COMM_WORLD) };
    succeeded(Collective::Barrier, code)
}

/// The operation of this process.
fn library(
    collective: Collective,
    given: &[u8],
    result: &mut [u8],
    values: &Values,
) -> anyhow::Result<()> {
    let (n_given, n_result) = (given.len() as c_int, result.len() as c_int);
    let n_values = (given.len() / values.element_bytes) as c_int;
    let combines = matches!(collective, Collective::Allreduce | Collective::Reduce);
    assert!(!combines || given.len() <= result.len(), "no room");
    let (from, to) = (given.as_ptr().cast(), result.as_mut_ptr().cast());
    let (datatype, op, root) = (values.datatype, values.op, ROOT as c_int);
    // SAFETY: MPI is initialized, and its constants are never changed. Where values are combined, both
    // buffers hold as many of the type. Where parts are moved, the root has one of each process, or all
    // have room for what all give, and the others have their own.
    let code = unsafe {
        let (world, byte) = (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_UINT8_T);
        match collective {
            Collective::Allreduce => ffi::MPI_Allreduce(from, to, n_values, datatype, op, world),
            Collective::Reduce => ffi::MPI_Reduce(from, to, n_values, datatype, op, root, world),
            Collective::Bcast => ffi::MPI_Bcast(to, n_result, byte, root, world),
            Collective::Barrier => return library_barrier(),
            Collective::Gather => {
                ffi::MPI_Gather(from, n_given, byte, to, n_given, byte, root, world)
            }
            Collective::Scatter => {
                ffi::MPI_Scatter(from, n_result, byte, to, n_result, byte, root, world)
            }
            Collective::Allgather => {
                ffi::MPI_Allgather(from, n_given, byte, to, n_given, byte, world)
            }
        }
    };
    succeeded(collective, code)
}

impl Operate for OverLibrary {
    fn execute(
        &mut self,
        collective: Collective,
        given: &[u8],
        result: &mut [u8],
        values: &mut Values,
    ) -> anyhow::Result<()> {
        let Some(threads) = &mut self.threads else {
            return library(collective, given, result, values);
        };
        match collective {
            Collective::Barrier => return self.barrier(),
            Collective::Allreduce | Collective::Reduce => {
                threads.join(given, values)?;
                if threads.is_first {
                    library(collective, &threads.joined, result, values)?;
                }
            }
            Collective::Bcast if threads.is_first => library(collective, given, result, values)?,
            Collective::Bcast => {}
            Collective::Gather | Collective::Scatter | Collective::Allgather => {
                bail!("the MPI library moves no parts for threads")
            }
        }
        if collective != Collective::Reduce {
            threads.team.bcast(result, ROOT)?;
        }
        Ok(())
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

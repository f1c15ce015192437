//! What is measured: an MPI library, and cores that compute beside it.

use super::metrics::{Stamps, collective_time};
use super::operation::Operation;

/// What a run consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The nonblocking call, followed at once by its wait.
    Communication,
    /// The computation in processes without MPI, in all of them at once.
    WithoutMpi,
    /// The computation with MPI initialized and idle.
    Idle,
    /// The nonblocking call, the computation, then the wait.
    Overlap,
}

/// What all processes prepare before runs: buffers and matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) operation: Operation,
    /// Elements of 8 bytes that each process contributes to the operation; 0: no communication.
    pub(super) length: u64,
    /// Rows of the square matrices; 0: no computation.
    pub(super) rows: u64,
}

/// One run, by process.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) processes: Vec<Stamps>,
    /// Whether a process began too late, so that the run does not count.
    pub(super) is_late: bool,
}

impl Run {
    /// Last end minus first begin, ns.
    pub(super) fn collective_ns(&self) -> f64 {
        collective_time(&self.processes)
    }

    /// Last end minus last begin, ns: what the operation takes when all processes have begun, however
    /// late one of them was.
    pub(super) fn since_last_begin_ns(&self) -> f64 {
        let begin = self.processes.iter().map(|stamps| stamps.begin).max();
        let end = self.processes.iter().map(|stamps| stamps.end).max();
        begin
            .zip(end)
            .map_or(0.0, |(begin, end)| (end - begin) as f64)
    }

    /// Computation of the slowest process, ns.
    pub(super) fn slowest_computation_ns(&self) -> f64 {
        self.largest(|stamps| stamps.times().computation_ns)
    }

    /// Largest time of a process in calls of MPI, ns.
    pub(super) fn slowest_in_mpi_ns(&self) -> f64 {
        self.largest(|stamps| stamps.times().in_mpi_ns())
    }

    fn largest(&self, figure: impl Fn(&Stamps) -> f64) -> f64 {
        self.processes.iter().map(figure).fold(0.0, f64::max)
    }
}

/// The processes of a job, as the one that decides what is measured sees them.
pub(super) trait Subject {
    /// Number of elements up to which the operation can be measured: by memory, and by the counts
    /// that MPI takes.
    fn longest(&self, operation: Operation) -> u64;

    /// Number of rows up to which matrices can be multiplied, by memory.
    fn most_rows(&self) -> u64;

    /// Prepares all processes. Times that were measured before are then on the common clock.
    ///
    /// # Errors
    /// States which process cannot.
    fn prepare(&mut self, load: Load) -> anyhow::Result<()>;

    /// Runs a part in all processes, which begin at the same instant.
    ///
    /// # Errors
    /// States which process failed.
    fn run(&mut self, part: Part) -> anyhow::Result<Run>;
}

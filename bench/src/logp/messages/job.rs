//! All processes that take part, as the one that decides what is measured sees them.

use super::work::Work;

/// Executes work in all processes.
pub(in crate::logp) trait Job {
    /// Number of processes.
    fn n_processes(&self) -> usize;

    /// Time since the job began, ns.
    fn elapsed_ns(&self) -> f64;

    /// The times of all repetitions but the first, ns, for each process that sends requests,
    /// ascending.
    fn execute(&mut self, work: &Work) -> Vec<Vec<f64>>;
}

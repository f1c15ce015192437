//! What is handed over to be attributed.

use std::sync::Arc;

use crate::ahead::Held;
use crate::instance::{Instance, PartOfProcess, Polled};

/// What processes did.
#[derive(Debug, Default)]
pub struct Batch {
    /// In collectives.
    pub instances: Vec<Arc<Held>>,
    /// Before their next collectives; in order of time for each process.
    pub parts: Vec<PartOfProcess>,
    /// Gaps that are full of unsuccessful polls.
    pub polled: Vec<Polled>,
    /// When `MPI_Init` returned to processes, ns.
    pub begins: Vec<(u32, i64)>,
    /// The instance at the end of the run.
    pub end: Option<Instance>,
}

//! What is attributed at once.

use crate::history::{History, Sinces};
use crate::instance::Instance;

/// The waits of an instance for one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit<'u> {
    pub(crate) instance: &'u Instance,
    /// Slot of the process that was waited for.
    pub(crate) on: u32,
    /// Those that waited for it, and since when each is compared.
    pub(crate) sinces: &'u Sinces,
    /// Since when all members are compared, whoever waited, ns; `None`: they are not.
    pub(crate) all_since_ns: Option<i64>,
    /// Whether waits of others may be attributed to the causes of these.
    pub(crate) is_remembered: bool,
    /// How many instances in which all processes waited for the last there were before, and whether this is one.
    pub(crate) n_ends: u64,
    pub(crate) is_end: bool,
    /// Whether it is at the end of the run.
    pub(crate) is_last: bool,
    /// Whether all processes are members.
    pub(crate) has_all: bool,
    /// Who is compared since then is compared since `MPI_Init`, ns.
    pub(crate) origin_ns: Option<i64>,
    pub(crate) history: &'u History,
}

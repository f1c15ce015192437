//! What single waits are charged to.

use crate::cause::Cause;

/// The wait of one process in an instance that has an [id](crate::Instance::id), and its cause: of several the one
/// that has the largest part in the waits that ended at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    /// The instance.
    pub id: u64,
    /// The slot of the process that waited.
    pub slot: u32,
    /// The wait, ns.
    pub wait_ns: i64,
    /// Its cause.
    pub cause: Cause,
}

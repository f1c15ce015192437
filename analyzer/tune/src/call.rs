//! Calls that a rule file treats alike.

use collbench_formats::Operation;

/// Calls of one operation on communicators of one size, with payloads of one class of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallClass {
    /// What was called.
    pub operation: Operation,
    /// Processes of the communicator.
    pub n_processes: u32,
    /// Processes of the communicator on its hosts, the most first; empty where it is not known.
    pub processes_per_host: Vec<u32>,
    /// Smallest and largest payload of one process, bytes: what it contributes, or sends to each
    /// other process.
    pub bytes: (u64, u64),
    /// Number of calls, of all processes together.
    pub calls: u64,
    /// Instances of these calls that returned with an error at one process at least.
    pub failed: u64,
    /// The library's names of the algorithms that ran, else the name by which their messages were
    /// recognized; `None` where neither is known.
    pub ran: Option<String>,
}

/// Calls on a communicator of so many processes on each host, for tests.
#[cfg(test)]
pub(crate) fn class(operation: Operation, per_host: &[u32], bytes: (u64, u64)) -> CallClass {
    CallClass {
        operation,
        n_processes: per_host.iter().sum(),
        processes_per_host: per_host.to_vec(),
        bytes,
        calls: 1,
        failed: 0,
        ran: None,
    }
}

//! What carries data between processes, and what they share.

use std::ops::Deref;

use super::line::Line;
use super::reference::Reference;

/// Why a transport fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// A process has ended that others still wait for.
    #[error("rank {0} has ended")]
    Ended(u32),
    /// No shared memory can be had on this host.
    #[error("no shared memory: {0}")]
    Memory(String),
    /// A function of the MPI library has returned an error code.
    #[error("{function} has returned {code}")]
    Mpi {
        /// Which function.
        function: &'static str,
        /// What it returned.
        code: i32,
    },
}

/// A message that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The rank that sent it.
    pub from: u32,
    /// Its length.
    pub bytes: usize,
}

/// The processes of one communicator, as one of them sees them: messages between all of them, and
/// memory that those on one host share.
///
/// All ranks are ranks in this communicator. A transport is used by one thread at a time.
pub trait Transport {
    /// Memory that is shared with the other processes of this host.
    type Memory: Deref<Target = [Line]>;

    /// The rank of this process.
    fn rank(&self) -> u32;

    /// Memory of at least `n_lines` lines, all zero at first, which all processes of this host
    /// share. Each of them calls this equally often and with equal numbers; equal calls give the
    /// same memory.
    ///
    /// # Errors
    /// [`TransportError::Memory`] if there is none.
    fn share(&self, n_lines: usize) -> Result<Self::Memory, TransportError>;

    /// Sends a message. Messages with the same sender, receiver and tag stay in order. Does not
    /// wait for the receiver; `bytes` may be changed when this returns.
    ///
    /// # Errors
    /// [`TransportError`] if it cannot be sent.
    fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError>;

    /// Takes a message with this tag, from this sender or from any, if one has come. `into` is at
    /// least as long as any message that is sent with this tag.
    ///
    /// # Errors
    /// [`TransportError`] if nothing can be received.
    fn receive(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError>;

    /// Lets the communication library work on everything that is under way in this process,
    /// including what the program began: another process may need that before it can come here.
    ///
    /// # Errors
    /// [`TransportError`] if a process has ended that others wait for, or the library fails.
    fn progress(&self) -> Result<(), TransportError>;

    /// What this process is known by to the others of its host, for [`has_ended`](Self::has_ended);
    /// 0 if it is not.
    fn process(&self) -> u64 {
        0
    }

    /// Whether a process of this host has ended, as far as that is known.
    fn has_ended(&self, process: u64) -> bool {
        let _ = process;
        false
    }

    /// Copies what lies in the memory of another process of this host, which does not change it
    /// meanwhile. Returns whether the kernel has granted it, and it was all of that; otherwise
    /// `into` may have been changed.
    fn copy_from(&self, reference: &Reference, into: &mut [u8]) -> bool {
        let _ = (reference, into);
        false
    }

    /// Called after this process has waited for shared memory that rank `by` has changed. A
    /// simulated host takes the time here that waking up costs.
    fn woken(&self, by: u32) {
        let _ = by;
    }

    /// The clock of event collectors, in ticks.
    fn now(&self) -> u64;
}

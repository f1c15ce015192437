//! What carries values between processes, and what they share.

mod memory;

mod process;

mod in_process;

mod threads;

#[allow(unsafe_code)]
mod shared;

#[allow(unsafe_code)]
mod mpi;

pub use in_process::{InProcess, SimulatedCosts, SimulatedMemory};
pub use memory::{LINE_BYTES, Line};
pub(crate) use memory::{cell_lines, peek, publish, read};
pub use mpi::{MpiConstants, MpiFunctions, MpiTransport, MpiWorld, Word};
pub use process::{Received, Transport, TransportError};
pub use shared::SharedMemory;
pub use threads::{ThreadMemory, ThreadTransport};

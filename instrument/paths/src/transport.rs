//! What carries values between processes, and what they share.

mod line;

#[allow(unsafe_code)]
mod copy;

mod memory;

#[allow(unsafe_code)]
mod reference;

mod process;

mod in_process;

mod threads;

#[allow(unsafe_code)]
mod shared;

#[allow(unsafe_code)]
mod mpi;

pub(crate) use copy::{copy_in_at, copy_out_at};
pub use in_process::{InProcess, SimulatedCosts, SimulatedMemory};
pub(crate) use line::WORD_BYTES;
pub use line::{LINE_BYTES, Line};
pub(crate) use memory::{
    Cell, INLINE_BYTES, INLINE_WORDS, body_lines, is_inline, peek, peek_words, publish,
    publish_small, read, read_small, small, store_word,
};
pub use mpi::{MpiConstants, MpiFunctions, MpiTransport, MpiWorld, Word};
pub use process::{Received, Transport, TransportError};
pub use reference::Reference;
pub(crate) use reference::{Mark, REFERENCE_BYTES};
pub use shared::SharedMemory;
pub use threads::{ThreadMemory, ThreadTransport};

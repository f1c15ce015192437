//! Collective operations executed over spanning trees of our own.
//!
//! A tree ([`Wrappers`](collbench_formats::tree::Wrappers)) says how the paths of all processes
//! lead to the bottommost wrapper: greds join contributors, proxies cross to other hosts, a core
//! holds the result, partners of an exchange give each other what they have. A [`Team`] is one
//! process of a communicator that executes operations over such a tree, on a [`Transport`]. There is
//! nothing here about files or pictures, and no MPI library is linked.
//!
//! # The folders
//!
//! Each one imports only from those above it.
//!
//! | folder | what is in it |
//! | --- | --- |
//! | `values` | what values consist of, how they are combined ([`Combine`]), predefined operations on predefined types ([`Kernel`]) |
//! | `transport` | what carries values between processes ([`Transport`]): threads with a simulated network ([`InProcess`]), or processes of an MPI library ([`MpiTransport`]), or threads of either ([`ThreadTransport`]); shared memory |
//! | `tree` | a tree as it is executed: where paths join, where in memory which value lies, what each process does where data flow to a root or from it |
//! | `run` | one process that executes operations ([`Team`]): waiting ([`WaitPolicy`]), taking and forwarding of values, event collectors ([`Pass`]), the operations themselves, the memory for all that ([`tree_bytes`]) |
//!
//! # How values are forwarded
//!
//! On one host by cells in shared memory. A value is copied into its cell, and then the cell gets
//! the position of the value, which those who wait for it look at: one transfer of a cache line for
//! a small value. Each process says in a line of its own up to where it has finished; a cell is used
//! again when all have. So processes may run ahead of others for some operations, and wait then. To
//! other hosts by messages.
//!
//! # The order in which values are combined
//!
//! At a join: that of its contributors, as the tree gives it, from the last to the first: the values
//! a, b, c become a op (b op c). It does not depend on who comes when. The result is made in one
//! place, or in the same way in several places, and is the same to the bit on all processes.
//!
//! In operations with a root the tree is looked at from the root, wherever the core is: at a join on
//! its path, what comes from below is the last contributor.
//!
//! Operations that need the order of ranks get it on every tree: a value on its way is combined for
//! each run of consecutive ranks, and where runs meet they are combined.
//!
//! # Lengths that differ
//!
//! If processes give different lengths, that is an error of the program. It overruns nothing, and all
//! processes are in step afterwards: each value says whether another one follows.

// Unsafe code is only allowed where memory is mapped and functions of the MPI library are called.
#![deny(unsafe_code)]

mod values;

mod transport;

mod tree;

mod error;

mod run;

pub use error::Error;
pub use run::{
    Buffers, Collect, Idle, MAX_PROGRESS_INTERVAL, Pass, Team, TeamOptions, WaitPolicy, n_tags,
    tree_bytes,
};
pub use transport::{
    InProcess, LINE_BYTES, Line, MpiConstants, MpiFunctions, MpiTransport, MpiWorld, Received,
    Reference, SharedMemory, SimulatedCosts, SimulatedMemory, ThreadMemory, ThreadTransport,
    Transport, TransportError, Word,
};
pub use values::{Combine, Elements, Kernel, Reduction};

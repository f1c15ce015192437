//! Collective operations executed over spanning trees of our own.
//!
//! A tree ([`Wrappers`](collbench_formats::tree::Wrappers)) says how the paths of all processes lead to
//! the bottommost wrapper: greds join contributors, proxies cross to other hosts, a core holds the
//! result, partners of an exchange give each other what they have. A [`Team`] is one process of a
//! communicator that executes operations over such a tree, on a [`Transport`]. There is nothing
//! here about files or pictures, and no MPI library is linked.
//!
//! # The modules
//!
//! | module | what is in it |
//! | --- | --- |
//! | `error` | why an operation fails ([`Error`]) |
//! | `position`, `value` | which segment of which operation a value belongs to, and what is said about it |
//! | `memory` | shared memory: lines, and cells with one value each |
//! | `transport` | what carries data between processes ([`Transport`]) |
//! | `in_process` | threads as ranks, with a simulated network ([`InProcess`]) |
//! | `shared`, `mpi` | processes of an MPI library ([`MpiTransport`]), with memory that those of one host share |
//! | `wait` | spin, yield or sleep ([`WaitPolicy`]), and let the library progress meanwhile |
//! | `combine`, `kernels` | combining values ([`Combine`]), predefined operations on predefined types ([`Kernel`]) |
//! | `paths` | a tree as it is executed: where paths join, and what lies between two joins |
//! | `blocks` | what values consist of, and how they are put together |
//! | `layout` | where in the shared memory of a host which value lies |
//! | `collectors` | what event collectors record ([`Pass`]) |
//! | `one_way` | what each process does where data flow to a root, or from it |
//! | `worker` | waiting, taking and handing on of values by one process |
//! | `execution` | doing what was planned for operations that flow one way |
//! | `two_way` | to the bottommost wrapper and back: the last to arrive goes on |
//! | `team` | operations, segment by segment |
//! | `operations` | allreduce, barrier, allgather, reduce, bcast, gather, scatter |
//!
//! # How values are handed on
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
//! a, b, c become a op (b op c). It does not depend on who comes when, and the result is
//! made in one place or in the same way in all places: it is the same to the bit on all processes.
//! In operations with a root the tree is looked at from the root, wherever the core is: at a join on
//! its path, what comes from below is the last contributor.
//!
//! Operations that need the order of ranks get it on every tree: a value on its way is combined for
//! each run of consecutive ranks, and where runs meet they are combined.
//!
//! # What cannot be
//!
//! Lengths that differ between processes are errors of the program. They overrun nothing and leave
//! no process behind: each value says whether more follow.

// Unsafe code is only allowed where memory is mapped and functions of the MPI library are called.
#![deny(unsafe_code)]

mod error;

mod position;

mod value;

mod memory;

mod transport;

mod in_process;

#[allow(unsafe_code)]
mod shared;

#[allow(unsafe_code)]
mod mpi;

mod wait;

mod combine;

mod kernels;

mod paths;

mod blocks;

mod layout;

mod collectors;

mod one_way;

mod worker;

mod two_way;

mod execution;

mod team;

mod operations;

pub use collectors::{Collect, Pass};
pub use combine::Combine;
pub use error::Error;
pub use in_process::{InProcess, SimulatedCosts, SimulatedMemory};
pub use kernels::{Elements, Kernel, Reduction};
pub use memory::{LINE_BYTES, Line};
pub use mpi::{MpiConstants, MpiFunctions, MpiTransport, MpiWorld, Word};
pub use operations::Buffers;
pub use shared::SharedMemory;
pub use team::{Team, TeamOptions, n_tags};
pub use transport::{Received, Transport, TransportError};
pub use wait::{Idle, MAX_PROGRESS_INTERVAL, WaitPolicy};

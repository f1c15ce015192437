//! Collectives over spanning trees of our own, in place of the MPI library's.
//!
//! # Which calls are replaced
//!
//! What decides is the same in all processes of the communicator, or they would wait for each other
//! forever: the operation, the number of processes, the root, and the payload. Datatypes, buffers
//! in place and callers may differ. What is known to one process only, for example whether it may
//! share memory, is agreed on before a tree is used for the first time.
//!
//! # How they are replaced
//!
//! A wrapper calls the function of the MPI library whose address it has looked up at its first
//! call. Where a tree file names the operation, it finds the address of a function of this module
//! instead ([`replace_functions`](crate::mpi::replace_functions)), which calls the library's if the
//! call has no tree. So without trees nothing is on the way of a call, and a call over a tree is
//! recorded like any other.
//!
//! # The files
//!
//! Each one imports only from those above it.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `predefined` | datatypes and operations of the MPI standard, by handle |
//! | `datatypes` | values from and to the layout of a datatype |
//! | `reduce_local` | operations of the program, by `MPI_Reduce_local` |
//! | `hosts` | where the processes run |
//! | `devices` | whether buffers may be in the memory of other devices |
//! | `tags` | tags of messages, which no two trees share |
//! | `last_calls` | what the last calls on a communicator have found |
//! | `sites` | sites of hosts that the tree file does not name, by round trips between them |
//! | `learned` | what an earlier run has found about candidates |
//! | `adapt_log` | the file to which decisions about candidates are written |
//! | `world` | what all processes that were started together know |
//! | `adaptive` | calls for which there are several candidates: which one they use |
//! | `communicator` | the trees of a communicator, and what its processes agree on |
//! | `control` | control points, at which processes agree on which candidates come next |
//! | `active` | the trees of all communicators |
//! | `call` | a call that may have a tree: its datatypes and buffers |
//! | `again` | calls with the same arguments as the last ones but for their buffers |
//! | `reductions`, `moves` | the operations, from the arguments of a call to its result |
//! | `replaced` | the functions that wrappers call in place of the library's |
//! | `begin` | the agreement inside `MPI_Init` |

#[allow(unsafe_code)]
mod active;
mod adapt_log;
#[allow(unsafe_code)]
mod adaptive;
#[allow(unsafe_code)]
mod again;
#[allow(unsafe_code)]
mod begin;
#[allow(unsafe_code)]
mod call;
#[allow(unsafe_code)]
mod communicator;
#[allow(unsafe_code)]
mod control;
#[allow(unsafe_code)]
mod datatypes;
#[allow(unsafe_code)]
mod devices;
#[allow(unsafe_code)]
mod hosts;
mod last_calls;
mod learned;
mod moves;
mod predefined;
#[allow(unsafe_code)]
mod reduce_local;
#[allow(unsafe_code)]
mod reductions;
#[allow(unsafe_code)]
mod replaced;
mod sites;
mod tags;
mod world;

pub(crate) use begin::{NewWorld, begin_trees};
